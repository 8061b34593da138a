/* sched/monitor/activity.c - what it is that keeps an M outside: it blocks, it computes, or it gets
 * no CPU.
 *
 * Called by   retake (for those that are outside while their P is needed), thread (an M ends).
 *
 * The kernel tells how long a thread has run and how long it has waited for a CPU. Over a window of
 * at least 10 ms:
 *   blocked   it did neither for more than half of it, and is not waiting for a CPU now. The kernel
 *             counts a wait when it is over: a thread that gets no CPU for the whole window looks
 *             as if it slept, so it is asked for its state as well;
 *   hog       it has run for half of 10 ms since it was first seen here, in one window or many. Run
 *             time lags by a tick, so all of 10 ms cannot be asked for. It is summed up, because on
 *             an overloaded machine those who compute mostly wait, and must lose their Ps in the
 *             end;
 *   starved   else. Another thread would only make that worse; a new window begins.
 * Where the monitor itself came late the clock proves nothing, and a new window begins; but what
 * was run until then was run.
 * Half, not all, because a goroutine in a storm of page faults runs a little between them.
 *
 * Reading costs 1 us, so it is done at most once in a millisecond for each P, and only if that P is
 * needed.
 *
 * PROTOCOL cpu-usage
 *
 * Goal      the descriptor of an M is open as long as the monitor may want it, is closed once, and
 *           nobody reads from a descriptor that was closed: its number may be a file of the
 *           program's by then.
 * Parties   monitor; the M when it ends, or whoever leaves it behind.
 * Words     m.usage_fd: NONE, GONE, or the descriptor and 1.
 * Monitor   1 takes the descriptor out, or opens one; GONE: nothing to do   2 reads   3 CAS NONE ->
 *           descriptor; fails: the M has ended, closes it
 * M         exchanges it for GONE; closes what it got
 * Why once  whoever has taken it out of the word owns it. A record that was given to another thread
 *           meanwhile gets the old descriptor in step 3: reading it then fails, and closes it.
 * Orders    none: the number is all that is passed on, and the kernel keeps its own.
 * Tests     sim scenarios blocked_*; flow/sched/monitor/test_blocked_report.c,
 *           flow/sched/monitor/test_take_unused_p.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/monitor/activity.h"

#include "base/window.h"
#include "sched/sched.h"

#include "weft.h"

#include <errno.h>      /* -ESRCH */

enum {
        WINDOW_NS = 10000000,
        COMPUTES_NS = WINDOW_NS / 2,
        READ_EVERY_NS = 1000000,
};

enum { NOT_SEEN = -1 };                 /* instead of how much it had run */

enum { NONE = 0 };
#define GONE UINT32_MAX

/* ---- Asking the kernel ----------------------------------------------------------------------- */

/* A descriptor that is the caller's, or -Exxx. */
static int borrow(struct m *mp)
{
        uint32_t have = w_load_rlx(&mp->usage_fd);                  /* hint: decided by the CAS */

        if (have == NONE)
                return w_os_cpu_usage_open((int)w_load_rlx(&mp->tid)); /* hint */
        if (have == GONE || !w_cas_rlx(&mp->usage_fd, &have, NONE)) /* guarded: see PROTOCOL */
                return -ESRCH;
        return (int)have - 1;
}

static void give_back(struct m *mp, int fd)
{
        uint32_t none = NONE;

        if (!w_cas_rlx(&mp->usage_fd, &none, (uint32_t)fd + 1))     /* guarded: see PROTOCOL */
                w_os_cpu_usage_close(fd);
}

static int read_use(struct m *mp, struct w_os_cpu_usage *out)
{
        int fd = borrow(mp);

        if (fd < 0)
                return fd;
        W_WINDOW("use-borrowed");
        int rc = w_os_cpu_usage_read(fd, out);

        if (rc < 0)
                w_os_cpu_usage_close(fd);
        else
                give_back(mp, fd);
        return rc;
}

void w_activity_end(struct m *mp)
{
        uint32_t have = w_xchg_rlx(&mp->usage_fd, GONE);            /* guarded: see PROTOCOL */

        if (have != NONE && have != GONE)
                w_os_cpu_usage_close((int)have - 1);
}

/* ---- Judging --------------------------------------------------------------------------------- */

static void begin_window(struct sample *w, const struct w_os_cpu_usage *use, int64_t now)
{
        w->base = *use;
        w->base_at = now;
}

static enum activity judge(const struct sample *w, const struct w_os_cpu_usage *use, int64_t now)
{
        int64_t busy = use->run - w->base.run + use->wait - w->base.wait;
        bool    idle = 2 * busy < now - w->base_at;

        if (idle) {
                int ready = w_os_thread_is_ready((int)w_load_rlx(&w->m->tid));       /* hint */

                if (ready <= 0)
                        return ready < 0 ? W_ACTIVITY_UNKNOWN : W_ACTIVITY_BLOCKED;
        }
        return use->run - w->first_run >= COMPUTES_NS ? W_ACTIVITY_RUNNING : W_ACTIVITY_STARVED;
}

static bool is_left_alone(enum activity verdict)
{
        return verdict == W_ACTIVITY_STARVED ||
               (verdict == W_ACTIVITY_RUNNING && w_sched.config.preempt != WEFT_PREEMPT_ALL);
}

void w_activity_update(struct sample *w, int64_t now)
{
        struct w_os_cpu_usage use;

        if (now - w->read_at < READ_EVERY_NS || (w->has_base && now - w->base_at < WINDOW_NS))
                return;
        w->read_at = now;
        if (read_use(w->m, &use) < 0) {
                w->verdict = now - w->since < WINDOW_NS ? W_ACTIVITY_NOT_YET : W_ACTIVITY_UNKNOWN;
                return;
        }
        w->run = use.run;
        if (!w->has_base) {
                w->has_base = true;
                if (w->first_run == NOT_SEEN)
                        w->first_run = use.run;
                begin_window(w, &use, now);
                return;
        }
        w->verdict = judge(w, &use, now);
        if (is_left_alone(w->verdict))
                begin_window(w, &use, now);
}

int64_t w_activity_next(const struct sample *w)
{
        return w->has_base ? w->base_at + WINDOW_NS : W_FOREVER;
}

void w_activity_rebase(struct sample *w, int64_t now)
{
        w->since = now;
        w->has_base = false;
        if (w->verdict != W_ACTIVITY_RUNNING)
                w->verdict = W_ACTIVITY_NOT_YET;
}

void w_activity_forget(struct sample *w, int64_t now)
{
        w->verdict = W_ACTIVITY_NOT_YET;
        w_activity_rebase(w, now);
        w->preempt_by_at = 0;
        w->first_run = NOT_SEEN;
}
