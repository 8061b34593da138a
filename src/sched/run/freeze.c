/* sched/run/freeze.c - every thread that runs a goroutine stops where it is, also without a P.
 *
 * Called by   dump, with the world stopped; held (the handler's part).
 * Protocols   owns freeze; cites world (sched/run/world.c), take (sched/preempt/take.c), hogs
 *             (sched/preempt/preempt.c), abandon (sched/run/abandon.c).
 *
 * With the world stopped every P is the stopper's, but goroutines in user code run on without one.
 * Here their threads stop as well, in the handler of the signal that holds threads that compute
 * (preempt=all; else nobody has a handler, and nobody is sent anything). A thread may be hit
 * anywhere, also with a lock of libc's in its hands: until all go on the stopper calls nothing that
 * might want one.
 *
 * PROTOCOL freeze
 *
 * Goal      between begin and end the registers, the stack and the goroutine of every M that is
 *           said to stand do not change; every one of them goes on afterwards; the stopper waits
 *           for nobody for ever, and no call of the program's returns EINTR for it.
 * Parties   stopper, one: that of PROTOCOL world, with the world stopped; M (its handler).
 * Words     m.still: MOVES; ASKED, to stand; STANDS; PAUSES, it is held, PROTOCOL preempt, and may
 *           go on by itself; CAUGHT, it is held and may not.   m.regs.   n_answers.
 * Whom      the Ms that have lost their P, m.lost_p, sched.lock. While the world is stopped nobody
 *           gets one, so there are no others, and none that comes later. Who gives up its goroutine
 *           gives up lost_p first, under the lock: as long as it is set the thread is there.
 * Stopper   1 under sched.lock, for each that is not settled: lost_p is gone: so is the M. PAUSES
 *           -> CAUGHT [FZ1]. INSIDE by its mark, or struck: later. It waits in the kernel in what a
 *           signal would cut short: left alone. Else MOVES -> ASKED, and the signal is sent, again
 *           each time: it may have hit inside   2 not all settled: sleeps on n_answers for a while;
 *           again from 1   3 after a second: ASKED -> MOVES; fails: it stands [FZ1]
 * M         struck, and outside by its mark: regs, then ASKED -> STANDS [FZ1], n_answers + 1, wakes
 *           the stopper; sleeps until it is not STANDS [FZ2]. Inside: nothing
 * M held    regs, then MOVES -> PAUSES [FZ1]; finds ASKED: stands first. When it is to go on:
 *           PAUSES -> MOVES; finds CAUGHT: sleeps until it is PAUSES again [FZ2]
 * End       STANDS -> MOVES, CAUGHT -> PAUSES [FZ2]; wakes each. No lock is taken for that
 * Edges     [FZ1] m.regs, m.curg, the stack   M: CAS-acqrel on still -> stopper: load-acquire, CAS
 *           [FZ2] what the stopper has read   end: CAS-acqrel on still -> M: load-acquire, CAS
 *           [FZ3] that it stands   M: n_answers add-release -> stopper: load-acquire
 * Why nobody stands for ever   an M stands only by the move of a word that the stopper has set, and
 *           the stopper looks at each that it has asked once more before it forgets it: either its
 *           own move back wins, or it knows that the M stands. A signal that comes later finds
 *           MOVES and means nothing.
 * Why nobody waits for who stands   it is outside, so it has no lock of weft's; n_answers and still
 *           need none. Who is inside and wants a lock of libc's waits until the end, which does not
 *           wait for it.
 * Not stopped   threads that are not weft's, and the monitor.
 * The run ends meanwhile   PROTOCOL abandon waits for those that are struck, and for the stopper.
 * EINTR     handlers restart what can be restarted; for the rest the kernel is asked first which
 *           call it is that an M waits in. One that begins to sleep between the look and the signal
 *           is hit in its first microseconds.
 * Rejected  stopping Ms inside, at the next leave (a load more in every call, and they may hold
 *           locks); SIGSTOP (stops the process); ptrace (not for one's own threads).
 * Tests     flow/sched/run/test_freeze_world.c, test_freeze_dump.c, sim scenarios freeze_*,
 *           world_all, mutants freeze-*.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/run/freeze.h"

#include "base/assert.h"
#include "base/window.h"

enum {
        PATIENCE_NS = 1000000000,       /* a thread may have to wait for a CPU */
        STUCK_NS = 20000000,            /* who waits in the kernel for so long does not answer */
        BLOCKED_NS = 100000000,         /* the signal, by more than the handler */
        FIRST_PAUSE_NS = 50000,
        LAST_PAUSE_NS = 5000000,
};

static bool move(struct m *mp, enum m_freeze from, enum m_freeze to)
{
        uint32_t seen = from;

        return w_cas_acqrel(&mp->freeze, &seen, to);               /* [FZ1][FZ2] */
}

/* ---- The M, in its handler ------------------------------------------------------------------- */

static void wait_while(struct m *mp, enum m_freeze freeze)
{
        while (w_load_acq(&mp->freeze) == freeze)                   /* [FZ2] */
                (void)w_os_futex_wait(&mp->freeze, freeze, W_FOREVER);
}

/* It is outside, by its mark: nobody inside waits for what it may have locked. */
void w_freeze_answer(struct m *mp, const struct w_os_regs *regs)
{
        if (w_load_acq(&mp->freeze) != W_FREEZING ||            /* [FZ2] */
            !w_where_is_user(w_load_rlx(&mp->where)) || !mp->curg)     /* own word */
                return;
        mp->regs = *regs;
        W_WINDOW("freeze-before-answer");
        if (!move(mp, W_FREEZING, W_FROZEN))
                return;         /* too late */
        w_add_rel(&w_sched.n_answers, 1);                         /* [FZ3] */
        w_os_futex_wake(&w_sched.n_answers, 1);
        wait_while(mp, W_FROZEN);
}

void w_freeze_pause(struct m *mp, const struct w_os_regs *regs)
{
        mp->regs = *regs;
        while (!move(mp, W_THAWED, W_PREEMPTED))
                w_freeze_answer(mp, regs);
}

void w_freeze_resume(struct m *mp)
{
        while (!move(mp, W_PREEMPTED, W_THAWED))
                wait_while(mp, W_PREEMPTED_FROZEN);
}

/* ---- The stopper ----------------------------------------------------------------------------- */

static void settle(struct frozen_m *look, enum m_seen how)
{
        look->how = how;
        if (how != W_SEEN_FROZEN)
                return;
        look->g = look->m->curg;
        look->regs = look->m->regs;
}

/* What was asked is not asked any more, unless it was done. */
static void settle_unless_frozen(struct frozen_m *look, enum m_seen how)
{
        bool stands = !move(look->m, W_FREEZING, W_THAWED) &&
                      w_load_acq(&look->m->freeze) == W_FROZEN;            /* [FZ1] */

        settle(look, stands ? W_SEEN_FROZEN : how);
}

/* ---- Whom to disturb ------------------------------------------------------------------------- */

static bool is_past(int64_t *since, int64_t ns)
{
        int64_t now = w_os_now();

        if (!*since)
                *since = now;
        return now - *since > ns;
}

/* Nobody is sent what it does not take: it would come when the run is over, and mean something
 * else. Who is in the handler blocks the signal, too, and for a moment before and after. */
static bool is_deaf_locked(struct frozen_m *look, int tid)
{
        int  signo = w_sched.config.preempt_signal;
        bool never = w_sched.sigmask.bits[0] & W_SIG_BIT(signo);

        return never || !w_os_preempt_is_watched() ||
               (!w_is_in_handler(w_load_acq(&look->m->handler_seq)) &&     /* [LF1] */
                w_os_signal_is_blocked(tid, signo) != 0 && is_past(&look->blocked_at, BLOCKED_NS));
}

static bool takes_it_now(const struct frozen_m *look, int tid)
{
        return !w_is_in_handler(w_load_acq(&look->m->handler_seq)) &&      /* [LF1] */
               w_os_signal_is_blocked(tid, w_sched.config.preempt_signal) == 0;
}

/* m.curg of one that is outside is what it was, if its mark still is; and what was seen is not its
 * handler's, if it has not been struck since. */
static W_NO_SANITIZE void settle_waits(struct frozen_m *look, uint32_t where, uint32_t handler_seq,
                                       const struct w_os_thread_state *sight)
{
        struct g *gp = look->m->curg;

        if (w_is_in_handler(handler_seq) ||
            w_load_acq(&look->m->handler_seq) != handler_seq ||   /* [LF1] */
            w_load_acq(&look->m->where) != where)                   /* [MK1] */
                return;         /* once more */
        look->g = gp;
        look->regs = (struct w_os_regs){ .pc = sight->pc, .sp = sight->sp };
        settle_unless_frozen(look, W_SEEN_IN_SYSCALL);
}

static void ask_locked(struct frozen_m *look, int tid)
{
        if (!takes_it_now(look, tid))
                return;         /* later */
        (void)is_past(&look->asked_at, 0);
        (void)move(look->m, W_THAWED, W_FREEZING);
        W_WINDOW("freeze-asked");
        int rc = w_os_preempt_send(tid);

        (void)rc;       /* it is sent again */
}

/* What it waits for in the kernel goes on after a signal, or no signal ends it: it was asked, and
 * is still there. */
static bool is_to_be_asked(struct frozen_m *look, const struct w_os_thread_state *sight)
{
        return sight->computes ||
               (sight->goes_on && !(look->asked_at && is_past(&look->asked_at, STUCK_NS)));
}

static void look_at_outside_locked(struct frozen_m *look, uint32_t where)
{
        int               tid = (int)w_load_rlx(&look->m->tid);   /* guarded by the lock */
        uint32_t          handler_seq = w_load_acq(&look->m->handler_seq);  /* [LF1] */
        struct w_os_thread_state sight;
        bool              seen = w_os_thread_state(tid, &sight) == 0;
        bool              deaf = !w_sched.may_preempt || is_deaf_locked(look, tid);

        if (seen && !deaf && is_to_be_asked(look, &sight))
                ask_locked(look, tid);
        else if (seen && !sight.computes)
                settle_waits(look, where, handler_seq, &sight);
        else
                settle_unless_frozen(look, W_SEEN_RUNNING);
}

static void look_at_locked(struct frozen_m *look)
{
        struct m *mp = look->m;
        uint32_t  freeze = w_load_acq(&mp->freeze);                 /* [FZ1] */
        uint32_t  where = w_load_acq(&mp->where);                   /* [MK1] */

        if (!mp->lost_p)
                settle_unless_frozen(look, W_SEEN_EXITED);
        else if (freeze == W_FROZEN || move(mp, W_PREEMPTED, W_PREEMPTED_FROZEN))
                settle(look, W_SEEN_FROZEN);
        else if (w_where_is_user(where))
                look_at_outside_locked(look, where);
}

/* True: everyone is settled. */
static bool look_at_all(struct freeze *f)
{
        bool all = true;

        w_lock(&w_sched.lock);
        for (uint32_t i = 0; i < f->n; i++) {
                if (f->ms[i].how == W_SEEN_NOT_YET)
                        look_at_locked(&f->ms[i]);
                all = all && f->ms[i].how != W_SEEN_NOT_YET;
        }
        w_unlock(&w_sched.lock);
        return all;
}

static void give_up(struct freeze *f)
{
        for (uint32_t i = 0; i < f->n; i++)
                if (f->ms[i].how == W_SEEN_NOT_YET)
                        settle_unless_frozen(&f->ms[i], W_SEEN_RUNNING);
}

/* Whoever is to be looked at. Not the caller: it has its P. */
static void fill_locked(struct freeze *f, uint32_t room)
{
        W_LIST_EACH(n, &w_sched.all_m) {
                struct m *mp = W_CONTAINER_OF(n, struct m, all_link);

                if (mp->lost_p && f->n < room)
                        f->ms[f->n++] = (struct frozen_m){ .m = mp };
        }
}

/* Memory first: nothing is to be had later. */
static void set_up(struct freeze *f)
{
        void *memory = NULL;

        *f = (struct freeze){ 0 };
        w_lock(&w_sched.lock);
        uint32_t room = w_sched.n_lost;

        w_unlock(&w_sched.lock);
        size_t page = w_os_page_size();

        f->bytes = (room * sizeof(struct frozen_m) + page - 1) & ~(page - 1);
        if (room == 0 || w_os_vm_map(&memory, f->bytes) < 0)
                return;
        f->ms = memory;
        w_lock(&w_sched.lock);
        fill_locked(f, room);
        w_unlock(&w_sched.lock);
}

void w_freeze_begin(struct freeze *f)
{
        W_ASSERT(w_lock_held(W_LOCK_stop) && w_load_rlx(&w_sched.stopping));    /* own word */
        set_up(f);
        int64_t limit = w_os_now() + PATIENCE_NS, pause = FIRST_PAUSE_NS;

        for (;;) {
                uint32_t n_answers = w_load_acq(&w_sched.n_answers);      /* [FZ3] */

                if (look_at_all(f))
                        return;
                int64_t now = w_os_now();

                if (now >= limit)
                        break;
                if (w_os_futex_wait(&w_sched.n_answers, n_answers, now + pause) == 0)
                        continue;       /* they do answer: no reason to come more seldom */
                pause = pause < LAST_PAUSE_NS ? 2 * pause : pause;
        }
        give_up(f);
}

void w_freeze_end(struct freeze *f)
{
        for (uint32_t i = 0; i < f->n; i++) {
                struct m *mp = f->ms[i].m;

                if (f->ms[i].how != W_SEEN_FROZEN)
                        continue;
                if (!move(mp, W_FROZEN, W_THAWED))
                        (void)move(mp, W_PREEMPTED_FROZEN, W_PREEMPTED);
                W_WINDOW("freeze-before-wake");
                w_os_futex_wake(&mp->freeze, 1);
        }
}

void w_freeze_free(struct freeze *f)
{
        if (f->ms)
                w_os_vm_unmap(f->ms, f->bytes);
        *f = (struct freeze){ 0 };
}
