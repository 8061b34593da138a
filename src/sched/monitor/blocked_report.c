/* sched/monitor/blocked_report.c - one report for each place at which goroutines block their
 * threads outside a blocking region.
 *
 * Protocols   owns blocked-report; cites take (sched/preempt/take.c).
 *
 * When the monitor has taken the P of a blocked M, it finds out where the goroutine is blocked: it
 * copies the calls that led there from the goroutine's stack. How long the block lasts is known
 * when the M enters weft again. Then the goroutine itself writes the report, with names of
 * functions. The monitor must not look names up: that may wait for a lock of the dynamic linker,
 * which the blocked thread may hold. If a goroutine is still blocked after a second, the monitor
 * reports it without names. There is no second report of that block.
 *
 * A goroutine that enters before the monitor has found its place reports the place of its entry.
 * Two reports are for the same place if the goroutines began in the same function and entered weft
 * at the same line; or if both are still blocked, in the same function, equally deep in their
 * stacks. If the kernel does not tell what a thread does, only goroutines that enter again report.
 *
 * PROTOCOL blocked-report
 *
 * Goal      For each stay in user code that blocks there is at most one report, and no thread reads
 *           a stack that is gone.
 * Parties   monitor; M.
 * Words     m.block, under sched.lock: since, told, the goroutine, the place.
 *           m.blocked_since (PROTOCOL take): makes the M read m.block.
 * Monitor   1. Takes the P.
 *           2. Asks the kernel where the M is; no lock held.
 *           3. Under the lock: if m.lost_p is set, m.where is unchanged and the M has a goroutine,
 *              block := since, not told, the goroutine and the place.
 *           4. A second later: asks the kernel again. Under the lock: if block.since is set and
 *              m.where and the place are the same, told := true, copies the block. Reports.
 * M         Entry, retake TAKEN -> LOST:
 *           1. Switches to g0, m.curg := NULL.
 *           2. Under the lock copies m.block, since := 0.
 *           3. Reports, unless told. Switches back.
 * P is given   The thread that gives the M a P again: since := 0, lost_p := NULL.
 * Why the stack stays   Suppose that the M was in user code while the monitor had the lock. Then
 *           the M cannot pass the lock of its own step 2: its goroutine neither ends nor moves. It
 *           may run until then, and the copy may be nonsense. The M writes to the stack meanwhile,
 *           so the stack is read as words.
 * Why no block is reported twice   Step 4 of the monitor and step 2 of the M hold the same lock.
 * Tests     flow/sched/monitor/test_blocked_report.c,
 *           flow/sched/monitor/test_blocked_report_where.c, sim scenarios blocked_report,
 *           blocked_other; mutants blocked-*; windows blocked-before-check, blocked-seen-in-user.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/monitor/blocked_report.h"

#include "base/fatal.h"
#include "base/window.h"
#include "sched/inspect/frames.h"
#include "sched/sched.h"
#include "sched/self.h"
#include "sched/switch.h"

enum { LONG_NS = 1000000000, TELL_BYTES = 2048 };

/* ---- Places ---------------------------------------------------------------------------------- */

/* True once for each place, as long as the table has room. The end of the run clears the table. */
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

/* The first frame is the weft call that the goroutine has made, the second is the caller of that
 * call. If the goroutine's function has returned, there is no second frame, and the result is the
 * same for all goroutines. */
static uintptr_t entered_from(struct frames at)
{
        uintptr_t inner = (uintptr_t)w_frames_next(&at);
        uintptr_t caller = (uintptr_t)w_frames_next(&at);

        return caller ? caller : inner;
}

/* ---- Reports --------------------------------------------------------------------------------- */

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

/* `back`: where the goroutine entered weft; NULL: it is still blocked. Collects the lines in a
 * buffer, for few writes: if stderr is not read, the monitor gives up after the first write. */
static void write_report(const struct block *b, struct frames *back)
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

/* Copies what the monitor knows about the block. If it knows nothing, the calls are unknown. */
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

/* Runs on g0, because a goroutine's stack may be small. */
static void report(void *arg)
{
        struct back *b = arg;
        struct block block;

        end_block(b->m, &block);
        describe(&block, b->g, b->since);
        if (is_new(entry_of(entered_from(b->frames), block.fn)) && !block.told)
                write_report(&block, &b->frames);
}

void w_blocked_report_return(struct m *mp, const void *frame)
{
        struct g   *gp = mp->curg;
        struct back b = { .m = mp, .g = gp, .since = mp->blocked_since };

        mp->blocked_since = 0;
        if (!gp || mp->on_g0)           /* in a region: no report */
                return;
        b.frames = (struct frames){ .at = frame, .low = frame, .end = gp->stack->end };
        w_on_g0(report, &b);
}

/* ---- The monitor ----------------------------------------------------------------------------- */

/* Returns a number for the place. Goroutines that block at the same place get equal numbers; others
 * hardly ever do. 0: the place is unknown. */
static uintptr_t place_in(const struct stack *stack, const struct w_os_thread_state *state)
{
        uintptr_t depth = (uintptr_t)stack->top - (uintptr_t)state->sp;
        bool      own = depth < (uintptr_t)(stack->top - stack->low);

        return state->pc ? (uintptr_t)state->pc ^ (own ? depth << 4 : 0) : 0;
}

static void set_check_time_locked(struct m *mp, int64_t at)
{
        mp->block.look_at = at;
        if (at < w_sched.sysmon.blocked_next_at)
                w_sched.sysmon.blocked_next_at = at;
}

/* mp was in user code, at the place in `state`. It may have entered since. Then it waits for the
 * lock, on g0, and m.curg may be NULL or not. */
static void describe_m_locked(struct m *mp, const struct w_os_thread_state *state, int64_t since)
{
        const struct g  *gp = *(struct g *const volatile *)&mp->curg;
        struct block    *b = &mp->block;
        struct w_os_regs regs = { .pc = state->pc, .sp = state->sp };

        if (!gp)
                return;
        describe(b, gp, since);
        b->told = false;
        b->where = w_load_rlx(&mp->where);                          /* guarded by the lock */
        b->pc = state->pc;
        b->sp = state->sp;
        b->site = place_in(gp->stack, state);
        w_backtrace_take(&b->calls, mp, gp, &regs);
        set_check_time_locked(mp, since + LONG_NS);
}

/* Reads where mp is blocked. False: it computes, or the kernel does not tell. */
static bool read_state(const struct m *mp, struct w_os_thread_state *out)
{
        int rc = w_os_thread_state((int)w_load_rlx(&mp->tid), out);      /* hint */

        if (rc < 0)
                *out = (struct w_os_thread_state){ .pc = NULL };
        return rc == 0 && !out->computes;
}

void w_blocked_report_locate(struct m *mp, uint32_t where, int64_t since)
{
        struct w_os_thread_state state;

        if (!read_state(mp, &state))
                state.pc = state.sp = NULL;
        W_WINDOW("blocked-before-check");
        w_lock(&w_sched.lock);
        if (mp->lost_p && w_load_acq(&mp->where) == where) {        /* [MK1] */
                W_WINDOW("blocked-seen-in-user");
                describe_m_locked(mp, &state, since);
        }
        w_unlock(&w_sched.lock);
}

int64_t w_blocked_report_next(void)
{
        return w_sched.sysmon.blocked_next_at;
}

/* Returns the next M to check. NULL: none. Only one M at a time is checked, because goroutines wait
 * for the monitor. */
static struct m *find_due_locked(int64_t now)
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
        w_sched.sysmon.blocked_next_at = next;
        return found;
}

static struct m *find_due(int64_t now)
{
        w_lock(&w_sched.lock);
        struct m *mp = find_due_locked(now);

        w_unlock(&w_sched.lock);
        return mp;
}

/* True: mp is still where it was, that place was not reported yet, and *out must be reported. An M
 * that is blocked elsewhere by now, or computes (state is NULL), reports itself. */
static bool must_report(struct m *mp, int64_t now, const struct w_os_thread_state *state,
                        struct block *out)
{
        struct block *b = &mp->block;
        bool          tells = false;

        w_lock(&w_sched.lock);
        if (b->since && b->look_at <= now) {    /* else mp has entered, and is blocked anew */
                bool stays = state && state->pc == b->pc && state->sp == b->sp &&
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
        struct w_os_thread_state state;
        struct block      block;

        if (now < w_sched.sysmon.blocked_next_at)
                return 0;
        struct m *mp = find_due(now);

        if (!mp)
                return 0;
        bool waits = read_state(mp, &state);

        if (must_report(mp, now, waits ? &state : NULL, &block))
                write_report(&block, NULL);
        return 1;
}
