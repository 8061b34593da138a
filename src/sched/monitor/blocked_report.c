/* sched/monitor/blocked_report.c - one report for each place at which goroutines block their
 * threads.
 *
 * Called by   retake (a P was taken from who blocks), m (an entry finds that the P was taken),
 *             sysmon (one that does not come back).
 * Protocols   owns blocked-report; cites take (sched/preempt/take.c).
 *
 * Where a goroutine blocks the monitor sees, when it has taken its P: the calls that led there are
 * copied from its stack. For how long is known when it is back, and then it tells itself, with the
 * names of functions: to find them may mean to wait for a lock of the linker's, which the monitor
 * must not do, as the one that blocks may hold it. Who is not back after a second is told of by the
 * monitor, without names, and not again.
 *
 * One that is back before the monitor has looked tells what it came to. Two reports are for the
 * same place if the goroutines began in the same function and came back to the same line, or if
 * they did not come back and block in the same function, equally deep in their stacks.
 * Where the kernel does not tell what a thread does only those tell that come back.
 *
 * PROTOCOL blocked-report
 *
 * Goal      of each stay that blocks at most one tells, and nobody looks at a stack that is gone.
 * Parties   monitor; M.
 * Words     m.block, under sched.lock: since, told, who and where; m.blocked_since, PROTOCOL take:
 *           makes the M look at it.
 * Monitor   1 takes the P   2 asks the kernel where the M is, no lock   3 under the lock: it has
 *           lost_p, its mark is what it was, and it has a goroutine: block := since, not told, who
 *           and where   4 a second later: asks the kernel again; under the lock: since, the same
 *           mark and the same place: told := true, copies it; tells
 * M         entry, flag TAKEN -> LOST: to g0, m.curg := NULL; under the lock copies block, since :=
 *           0; tells unless told; back
 * Others    whoever gives the M a P again: since := 0, with lost_p
 * Why the stack stays   who was outside when the monitor had the lock comes as far as the M's lock
 *           and no farther: its goroutine neither ends nor moves. It may run until then, and what
 *           is copied be nonsense: its own code writes to it, so it is read as words.
 * Why nobody tells twice   step 4 and the M's copy are under one lock.
 * Tests     flow/sched/monitor/test_blocked_report.c,
 *           flow/sched/monitor/test_blocked_report_where.c, sim scenarios blocked_told,
 *           blocked_other; mutants blocked-*; windows blocked-before-look, blocked-seen-outside.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/monitor/blocked_report.h"

#include "base/fatal.h"
#include "base/window.h"
#include "sched/inspect/frames.h"
#include "sched/sched.h"

enum { LONG_NS = 1000000000, TELL_BYTES = 2048 };

/* ---- Places ---------------------------------------------------------------------------------- */

/* True once for each, as long as there is room; the run forgets them when it ends. */
static bool is_new(uintptr_t place)
{
        for (uint32_t i = 0; i < W_BLOCKED_PLACES; i++) {
                uintptr_t found = w_load_rlx(&w_sched.blocked_at[i]);     /* hint */

                if (!found && w_cas_rlx(&w_sched.blocked_at[i], &found, place))   /* hint */
                        return true;
                if (found == place)
                        return false;
        }
        return false;
}

/* Never 0. */
static uintptr_t entry_of(uintptr_t site, const void *fn)
{
        return (site ^ (uintptr_t)fn << 16) | 1;
}

/* From the call of weft's that the goroutine has made, the first frame, to whoever made it; when
 * its function has returned that is the same for all. */
static uintptr_t came_back_to(struct frames at)
{
        uintptr_t inner = (uintptr_t)w_frames_next(&at);
        uintptr_t caller = (uintptr_t)w_frames_next(&at);

        return caller ? caller : inner;
}

/* ---- Telling --------------------------------------------------------------------------------- */

static void say(const struct block *b, bool stays)
{
        const char *quote = b->name[0] ? "\"" : "";

        w_say("goroutine %ld%s%s%s%s blocked its thread %ld ms outside a blocking region%s",
              (long)b->id, b->name[0] ? " " : "", quote, b->name, quote,
              (long)((w_os_now() - b->since) / 1000000), stays ? ", and still does" : "");
}

static void write_call(void *arg, const void *pc, bool maybe)
{
        if (maybe)
                w_frame_write_maybe(arg, pc);
        else
                w_frame_write(arg, pc);
}

static void write_call_unnamed(void *arg, const void *pc, bool maybe)
{
        w_frame_write_unnamed(arg, pc, maybe);
}

/* `back`: where it came to; NULL: it stays. In few writes: where nobody reads the monitor gives up
 * after the first. */
static void tell(const struct block *b, struct frames *back)
{
        char         buf[TELL_BYTES];
        struct lines err = w_lines_err();
        backtrace_fn    *write = back ? write_call : write_call_unnamed;

        err.buf = buf;
        err.room = sizeof(buf);

        say(b, !back);
        if (b->calls.n_frames) {
                w_line_write(&err, "at\n");
                w_backtrace_each(&b->calls, write, &err);
        } else if (back) {
                w_line_write(&err, "before it came to\n");
                w_frames_write(&err, back);
        }
        w_line_write(&err, "began in\n");
        write(&err, b->fn, false);
        w_lines_flush(&err);
}

/* ---- The goroutine --------------------------------------------------------------------------- */

struct back {
        struct m     *m;
        struct g     *g;
        int64_t       since;
        struct frames frames;
};

static void describe(struct block *b, const struct g *gp, int64_t since)
{
        const struct g_cold *cold = w_g_cold(gp);

        b->since = since;
        b->id = gp->id;
        b->fn = (const void *)(uintptr_t)cold->fn.plain;
        w_name_copy(b->name, cold->name);
}

/* What was seen of it; of what was not the calls are unknown. */
static void end_block(struct m *mp, struct block *out)
{
        w_lock(&w_sched.lock);
        *out = mp->block;
        mp->block.since = 0;
        w_unlock(&w_sched.lock);
        if (!out->since) {
                out->told = false;
                out->calls.n_frames = 0;
        }
}

/* On g0: a goroutine's stack may be small. */
static void report(void *arg)
{
        struct back *b = arg;
        struct block block;

        end_block(b->m, &block);
        describe(&block, b->g, b->since);
        if (is_new(entry_of(came_back_to(b->frames), block.fn)) && !block.told)
                tell(&block, &b->frames);
}

void w_blocked_report_return(struct m *mp, const void *frame)
{
        struct g   *gp = mp->curg;
        struct back b = { .m = mp, .g = gp, .since = mp->blocked_since };

        mp->blocked_since = 0;
        if (!gp || mp->on_g0)           /* in a region: no block was seen */
                return;
        b.frames = (struct frames){ .at = frame, .low = frame, .end = gp->stack->end };
        w_on_g0(report, &b);
}

/* ---- The monitor ----------------------------------------------------------------------------- */

/* Equal for goroutines that block at the same place, and mostly for those only. */
static uintptr_t place_in(const struct stack *stack, const struct w_os_thread_state *sight)
{
        uintptr_t depth = (uintptr_t)stack->top - (uintptr_t)sight->sp;
        bool      own = depth < (uintptr_t)(stack->top - stack->low);

        return sight->pc ? (uintptr_t)sight->pc ^ (own ? depth << 4 : 0) : 0;
}

static void look_again_locked(struct m *mp, int64_t at)
{
        mp->block.look_at = at;
        if (at < w_sched.blocked_next_at)
                w_sched.blocked_next_at = at;
}

/* mp was in user code, and where `sight` says. It may have entered since: then it waits for the
 * lock, on g0, with its goroutine or without it. */
static void look_locked(struct m *mp, const struct w_os_thread_state *sight, int64_t since)
{
        const struct g  *gp = *(struct g *const volatile *)&mp->curg;
        struct block    *b = &mp->block;
        struct w_os_regs regs = { .pc = sight->pc, .sp = sight->sp };

        if (!gp)
                return;
        describe(b, gp, since);
        b->told = false;
        b->where = w_load_rlx(&mp->where);                          /* guarded by the lock */
        b->pc = sight->pc;
        b->sp = sight->sp;
        b->site = place_in(gp->stack, sight);
        w_backtrace_take(&b->calls, mp, gp, &regs);
        look_again_locked(mp, since + LONG_NS);
}

/* Where it waits. False: it computes, or that cannot be known. */
static bool see(const struct m *mp, struct w_os_thread_state *out)
{
        int rc = w_os_thread_state((int)w_load_rlx(&mp->tid), out);      /* hint */

        if (rc < 0)
                *out = (struct w_os_thread_state){ .pc = NULL };
        return rc == 0 && !out->computes;
}

void w_blocked_report_locate(struct m *mp, uint32_t where, int64_t since)
{
        struct w_os_thread_state sight;

        if (!see(mp, &sight))
                sight.pc = sight.sp = NULL;
        W_WINDOW("blocked-before-look");
        w_lock(&w_sched.lock);
        if (mp->lost_p && w_load_acq(&mp->where) == where) {        /* [MK1] */
                W_WINDOW("blocked-seen-outside");
                look_locked(mp, &sight, since);
        }
        w_unlock(&w_sched.lock);
}

int64_t w_blocked_report_next(void)
{
        return w_sched.blocked_next_at;
}

/* Whom to see to now, one at a time: others wait for the monitor. NULL: nobody. */
static struct m *find_locked(int64_t now)
{
        struct m *found = NULL;
        int64_t   next = W_FOREVER;

        W_LIST_EACH(n, &w_sched.all_m) {
                struct m *mp = W_CONTAINER_OF(n, struct m, all_link);

                if (!mp->block.since)
                        continue;
                if (!found && mp->block.look_at <= now)
                        found = mp;
                else if (mp->block.look_at < next)
                        next = mp->block.look_at;
        }
        w_sched.blocked_next_at = next;
        return found;
}

static struct m *find(int64_t now)
{
        w_lock(&w_sched.lock);
        struct m *mp = find_locked(now);

        w_unlock(&w_sched.lock);
        return mp;
}

/* True: it is where it was, nobody has told of that place, and *out is to be told. Who waits
 * elsewhere by now, or computes (sight: NULL), tells itself. */
static bool settle(struct m *mp, int64_t now, const struct w_os_thread_state *sight,
                   struct block *out)
{
        struct block *b = &mp->block;
        bool          tells = false;

        w_lock(&w_sched.lock);
        if (b->since && b->look_at <= now) {    /* else it was back, and blocks anew */
                bool stays = sight && sight->pc == b->pc && sight->sp == b->sp &&
                             w_load_acq(&mp->where) == b->where;            /* [MK1] */

                tells = stays && is_new(entry_of(b->site, b->fn));
                b->told = tells;
                b->look_at = W_FOREVER;
                *out = *b;
        }
        w_unlock(&w_sched.lock);
        return tells;
}

uint32_t w_blocked_report_check(int64_t now)
{
        struct w_os_thread_state sight;
        struct block      block;

        if (now < w_sched.blocked_next_at)
                return 0;
        struct m *mp = find(now);

        if (!mp)
                return 0;
        bool waits = see(mp, &sight);

        if (settle(mp, now, waits ? &sight : NULL, &block))
                tell(&block, NULL);
        return 1;
}
