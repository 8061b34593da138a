/* sched/run/freeze.c - stops every thread that runs a goroutine, also the threads without a P.
 *
 * Protocols   owns freeze; cites world (sched/run/world.c), take (sched/preempt/take.c), preempt
 *             (sched/preempt/preempt.c), abandon (sched/run/abandon.c).
 *
 * With the world stopped, the stopper has every P, but goroutines in user code run on without a P.
 * Here their threads stop as well, in the handler of the signal that preempts Ms (preempt=all; with
 * other settings no thread has a handler, and no signal is sent). A thread may be hit anywhere,
 * also while it holds a lock of libc. So until all threads continue, the stopper calls nothing that
 * might need such a lock.
 *
 * PROTOCOL freeze
 *
 * Goal      Between begin and end the registers, the stack and the goroutine of every M reported as
 *           frozen do not change. Every frozen M continues afterwards. The stopper waits for no M
 *           for ever. No call of the program returns EINTR because of a freeze.
 * Parties   stopper (the one stopper of PROTOCOL world, with the world stopped); M (in its
 *           handler).
 * Words     m.regs, n_answers, and m.freeze:
 *             THAWED             the M runs
 *             FREEZING           the stopper has asked the M to freeze
 *             FROZEN             the M sleeps in its handler until the end
 *             PREEMPTED          the M was stopped by PROTOCOL preempt, and may continue by itself
 *             PREEMPTED_FROZEN   the M was stopped by PROTOCOL preempt, and must not continue yet
 * Which Ms  The Ms that have lost their P: m.lost_p, under sched.lock. While the world is stopped
 *           no M gets a P, so no other M runs a goroutine, and no such M comes later. An M that
 *           gives up its goroutine clears lost_p first, under the lock. As long as lost_p is set,
 *           the thread exists.
 * Stopper   1. Under sched.lock, for each M that is not settled:
 *              lost_p is clear: the M has given up its goroutine; settled.
 *              PREEMPTED -> PREEMPTED_FROZEN [FZ1]: settled.
 *              In the runtime by m.where, or in its handler: try again later.
 *              In a system call that a signal would cut short: leave it alone; settled.
 *              Else THAWED -> FREEZING and send the signal. Send it in every round: an earlier
 *              signal may have hit the M in the runtime.
 *           2. Not all settled: sleep on n_answers for a while, then go to 1.
 *           3. After a second: FREEZING -> THAWED. The CAS fails: the M is frozen [FZ1].
 * M, in its handler
 *           1. In the runtime by m.where: do nothing.
 *           2. Write regs, then FREEZING -> FROZEN [FZ1].
 *           3. n_answers + 1 [FZ3], wake the stopper.
 *           4. Sleep until m.freeze is not FROZEN [FZ2].
 * Preempted M
 *           1. Write regs, then THAWED -> PREEMPTED [FZ1]. It finds FREEZING: freeze first.
 *           2. Before it continues: PREEMPTED -> THAWED. It finds PREEMPTED_FROZEN: sleep until
 *              m.freeze is PREEMPTED again [FZ2].
 * End       FROZEN -> THAWED, PREEMPTED_FROZEN -> PREEMPTED [FZ2]; wake each M. Takes no lock.
 * Edges     [FZ1] m.regs, m.curg, the stack   M: CAS-acqrel on freeze -> stopper: load-acquire, CAS
 *           [FZ2] what the stopper has read   end: CAS-acqrel on freeze -> M: load-acquire, CAS
 *           [FZ3] that the M is frozen   M: n_answers add-release -> stopper: load-acquire
 * Why no M stays frozen   An M freezes only by moving a word that the stopper has set. The stopper
 *           checks each M that it asked once more before it forgets the M: either its own move back
 *           wins, or it knows that the M is frozen. A signal that comes later finds THAWED and has
 *           no effect.
 * Why no thread needs a frozen M   A frozen M is in user code, so it holds no runtime lock;
 *           n_answers and m.freeze need none. An M in the runtime that needs a lock of libc waits
 *           until the end, and the end does not wait for that M.
 * Not stopped   foreign threads and the monitor.
 * The run ends meanwhile   PROTOCOL abandon waits for Ms in their handlers, and for the stopper.
 * EINTR     Handlers restart what can be restarted. For the rest the stopper first asks the kernel
 *           which system call an M waits in. An M that begins to sleep between that check and the
 *           signal is hit in its first microseconds.
 * Rejected  Stopping Ms in the runtime when they leave it (one more load in every call, and they
 *           may hold locks); SIGSTOP (stops the process); ptrace (not for threads of the same
 *           process).
 * Tests     flow/sched/run/test_freeze_world.c, flow/sched/inspect/test_freeze_dump.c, sim
 *           scenarios freeze_*, world_all, mutants freeze-*.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/run/freeze.h"

#include "base/assert.h"
#include "base/window.h"
#include "sched/sched.h"

enum {
        PATIENCE_NS = 1000000000,       /* a thread may have to wait for a CPU */
        STUCK_NS = 20000000,            /* in the kernel for longer: the M does not answer */
        BLOCKED_NS = 100000000,         /* the signal is blocked for longer than a handler takes */
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

/* The M freezes only in user code, where it holds no lock that a thread in the runtime waits
 * for. */
void w_freeze_answer(struct m *mp, const struct w_os_regs *regs)
{
        if (w_load_acq(&mp->freeze) != W_FREEZING ||            /* [FZ2] */
            !w_where_is_user(w_load_rlx(&mp->where)) || !mp->curg)     /* own word */
                return;
        mp->regs = *regs;
        W_WINDOW("freeze-before-answer");
        if (!move(mp, W_FREEZING, W_FROZEN))
                return;         /* too late */
        w_add_rel(&w_sched.world.n_answers, 1);                         /* [FZ3] */
        w_os_futex_wake(&w_sched.world.n_answers, 1);
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

static void settle(struct frozen_m *fm, enum m_seen how)
{
        fm->how = how;
        if (how != W_SEEN_FROZEN)
                return;
        fm->g = fm->m->curg;
        fm->regs = fm->m->regs;
}

/* Withdraws the request, unless the M has frozen already. */
static void settle_unless_frozen(struct frozen_m *fm, enum m_seen how)
{
        bool frozen = !move(fm->m, W_FREEZING, W_THAWED) &&
                      w_load_acq(&fm->m->freeze) == W_FROZEN;            /* [FZ1] */

        settle(fm, frozen ? W_SEEN_FROZEN : how);
}

/* ---- Which Ms to signal ---------------------------------------------------------------------- */

static bool is_past(int64_t *since, int64_t ns)
{
        int64_t now = w_os_now();

        if (!*since)
                *since = now;
        return now - *since > ns;
}

/* No signal is sent to an M that blocks it: the signal would arrive when the run is over, and mean
 * something else. An M in its handler blocks the signal too, and for a moment before and after. */
static bool refuses_signal_locked(struct frozen_m *fm, int tid)
{
        int  signo = w_sched.config.preempt_signal;
        bool never = w_sched.sigmask.bits[0] & W_SIG_BIT(signo);

        return never || !w_os_preempt_is_watched() ||
               (!w_is_in_handler(w_load_acq(&fm->m->handler_seq)) &&     /* [LF1] */
                w_os_signal_is_blocked(tid, signo) != 0 && is_past(&fm->blocked_at, BLOCKED_NS));
}

static bool accepts_signal_now(const struct frozen_m *fm, int tid)
{
        return !w_is_in_handler(w_load_acq(&fm->m->handler_seq)) &&      /* [LF1] */
               w_os_signal_is_blocked(tid, w_sched.config.preempt_signal) == 0;
}

/* m.curg of an M in user code is unchanged if m.where is unchanged. The registers are not those of
 * its handler if handler_seq is even and unchanged. */
static W_NO_SANITIZE void settle_in_syscall(struct frozen_m *fm, uint32_t where,
                                            uint32_t handler_seq,
                                            const struct w_os_thread_state *state)
{
        struct g *gp = fm->m->curg;

        if (w_is_in_handler(handler_seq) ||
            w_load_acq(&fm->m->handler_seq) != handler_seq ||   /* [LF1] */
            w_load_acq(&fm->m->where) != where)                   /* [MK1] */
                return;         /* next round */
        fm->g = gp;
        fm->regs = (struct w_os_regs){ .pc = state->pc, .sp = state->sp };
        settle_unless_frozen(fm, W_SEEN_IN_SYSCALL);
}

static void ask_locked(struct frozen_m *fm, int tid)
{
        if (!accepts_signal_now(fm, tid))
                return;         /* later */
        (void)is_past(&fm->asked_at, 0);
        (void)move(fm->m, W_THAWED, W_FREEZING);
        W_WINDOW("freeze-asked");
        int rc = w_os_preempt_send(tid);

        (void)rc;       /* sent again in the next round */
}

/* True: the M computes, or waits in a system call that continues after a signal. False also for an
 * M that was asked and is still in the kernel: no signal ends its wait. */
static bool should_ask(struct frozen_m *fm, const struct w_os_thread_state *state)
{
        return state->computes ||
               (state->goes_on && !(fm->asked_at && is_past(&fm->asked_at, STUCK_NS)));
}

static void check_in_user_locked(struct frozen_m *fm, uint32_t where)
{
        int      tid = (int)w_load_rlx(&fm->m->tid);              /* guarded by the lock */
        uint32_t handler_seq = w_load_acq(&fm->m->handler_seq);   /* [LF1] */
        struct w_os_thread_state state;
        bool     seen = w_os_thread_state(tid, &state) == 0;
        bool     refuses = !w_sched.preempt.allowed || refuses_signal_locked(fm, tid);

        if (seen && !refuses && should_ask(fm, &state))
                ask_locked(fm, tid);
        else if (seen && !state.computes)
                settle_in_syscall(fm, where, handler_seq, &state);
        else
                settle_unless_frozen(fm, W_SEEN_RUNNING);
}

static void check_locked(struct frozen_m *fm)
{
        struct m *mp = fm->m;
        uint32_t  freeze = w_load_acq(&mp->freeze);                 /* [FZ1] */
        uint32_t  where = w_load_acq(&mp->where);                   /* [MK1] */

        if (!mp->lost_p)
                settle_unless_frozen(fm, W_SEEN_EXITED);
        else if (freeze == W_FROZEN || move(mp, W_PREEMPTED, W_PREEMPTED_FROZEN))
                settle(fm, W_SEEN_FROZEN);
        else if (w_where_is_user(where))
                check_in_user_locked(fm, where);
}

/* True: every M is settled. */
static bool check_all(struct freeze *f)
{
        bool all = true;

        w_lock(&w_sched.lock);
        for (uint32_t i = 0; i < f->n; i++) {
                if (f->ms[i].how == W_SEEN_NOT_YET)
                        check_locked(&f->ms[i]);
                all = all && f->ms[i].how != W_SEEN_NOT_YET;
        }
        w_unlock(&w_sched.lock);
        return all;
}

static void settle_rest(struct freeze *f)
{
        for (uint32_t i = 0; i < f->n; i++)
                if (f->ms[i].how == W_SEEN_NOT_YET)
                        settle_unless_frozen(&f->ms[i], W_SEEN_RUNNING);
}

/* Collects every M without a P that runs a goroutine. The caller is not among them: it has its
 * P. */
static void collect_locked(struct freeze *f, uint32_t room)
{
        W_LIST_EACH(n, &w_sched.all_m) {
                struct m *mp = W_CONTAINER_OF(n, struct m, all_link);

                if (mp->lost_p && f->n < room)
                        f->ms[f->n++] = (struct frozen_m){ .m = mp };
        }
}

/* Maps the memory before any thread is frozen. Afterwards nothing is allocated. */
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
        collect_locked(f, room);
        w_unlock(&w_sched.lock);
}

void w_freeze_begin(struct freeze *f)
{
        W_ASSERT(w_lock_held(W_LOCK_world) && w_load_rlx(&w_sched.world.stopping));   /* own word */
        set_up(f);
        int64_t limit = w_os_now() + PATIENCE_NS, pause = FIRST_PAUSE_NS;

        for (;;) {
                uint32_t n_answers = w_load_acq(&w_sched.world.n_answers);      /* [FZ3] */

                if (check_all(f))
                        return;
                int64_t now = w_os_now();

                if (now >= limit)
                        break;
                if (w_os_futex_wait(&w_sched.world.n_answers, n_answers, now + pause) == 0)
                        continue;       /* Ms answer: no reason to check less often */
                pause = pause < LAST_PAUSE_NS ? 2 * pause : pause;
        }
        settle_rest(f);
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
