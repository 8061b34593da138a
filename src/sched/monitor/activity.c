/* sched/monitor/activity.c - what an M does while it stays in user code: it is blocked, it computes
 * or it gets no CPU.
 *
 * Protocols   owns cpu-usage.
 *
 * The kernel tells how long a thread has run and how long it has waited for a CPU. Over a window of
 * at least 10 ms an M is
 *   blocked   if it did neither for more than half of the window, and does not wait for a CPU now.
 *             The kernel counts a wait only when it is over: a thread that gets no CPU for the
 *             whole window looks as if it slept. Therefore its state is read as well.
 *   running   if it has run for half of 10 ms since it was first sampled here, in one window or in
 *             several. Run time lags by a tick, so the full 10 ms cannot be required. It is summed
 *             up because on an overloaded machine Ms that compute mostly wait, and must lose their
 *             Ps in the end.
 *   starved   otherwise. One more thread would make the lack of CPUs worse. A new window begins.
 * If the monitor itself came late, the clock proves nothing and a new window begins. The run time
 * until then still counts. The limit is half of the window, not all of it, because a goroutine in a
 * storm of page faults runs a little between the faults.
 *
 * A read costs 1 us, so it happens at most once in a millisecond for each P, and only if that P is
 * needed.
 *
 * PROTOCOL cpu-usage
 *
 * Goal      The descriptor of an M is open as long as the monitor may want it, and is closed once.
 *           No thread reads from a closed descriptor: its number may be a file of the program by
 *           then.
 * Parties   monitor; M, when it ends; ender, which abandons Ms.
 * Words     m.usage_fd   NONE       no descriptor
 *                        GONE       the M has ended
 *                        otherwise  the descriptor + 1
 * Monitor   1. Takes the descriptor out of the word, or opens one. GONE: nothing to do.
 *           2. Reads.
 *           3. CAS NONE -> descriptor. CAS fails: the M has ended; closes the descriptor.
 * M, ender  Exchange the word for GONE; close the descriptor that was in it.
 * Why it is closed once   The thread that takes the descriptor out of the word owns it. If the
 *           record went to another thread meanwhile, step 3 gives that record the old descriptor.
 *           The next read fails, and closes it.
 * Orders    None: only the number is passed on, and the kernel orders its own data.
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

enum { NOT_SEEN = -1 };                 /* no CPU time is known */

enum { NONE = 0 };
#define GONE UINT32_MAX

/* ---- Asking the kernel ----------------------------------------------------------------------- */

/* Returns a descriptor that the caller owns, or -Exxx. */
static int borrow_fd(struct m *mp)
{
        uint32_t have = w_load_rlx(&mp->usage_fd);                  /* hint: decided by the CAS */

        if (have == NONE)
                return w_os_cpu_usage_open((int)w_load_rlx(&mp->tid)); /* hint */
        if (have == GONE || !w_cas_rlx(&mp->usage_fd, &have, NONE)) /* guarded: see PROTOCOL */
                return -ESRCH;
        return (int)have - 1;
}

static void return_fd(struct m *mp, int fd)
{
        uint32_t none = NONE;

        if (!w_cas_rlx(&mp->usage_fd, &none, (uint32_t)fd + 1))     /* guarded: see PROTOCOL */
                w_os_cpu_usage_close(fd);
}

static int read_usage(struct m *mp, struct w_os_cpu_usage *out)
{
        int fd = borrow_fd(mp);

        if (fd < 0)
                return fd;
        W_WINDOW("usage-borrowed");
        int rc = w_os_cpu_usage_read(fd, out);

        if (rc < 0)
                w_os_cpu_usage_close(fd);
        else
                return_fd(mp, fd);
        return rc;
}

void w_activity_end(struct m *mp)
{
        uint32_t have = w_xchg_rlx(&mp->usage_fd, GONE);            /* guarded: see PROTOCOL */

        if (have != NONE && have != GONE)
                w_os_cpu_usage_close((int)have - 1);
}

/* ---- Verdicts -------------------------------------------------------------------------------- */

static void begin_window(struct sample *s, const struct w_os_cpu_usage *usage, int64_t now)
{
        s->base = *usage;
        s->base_at = now;
}

static enum activity judge(const struct sample *s, const struct w_os_cpu_usage *usage, int64_t now)
{
        int64_t busy = usage->run - s->base.run + usage->wait - s->base.wait;
        bool    idle = 2 * busy < now - s->base_at;

        if (idle) {
                int ready = w_os_thread_is_ready((int)w_load_rlx(&s->m->tid));       /* hint */

                if (ready <= 0)
                        return ready < 0 ? W_ACTIVITY_UNKNOWN : W_ACTIVITY_BLOCKED;
        }
        return usage->run - s->first_run >= COMPUTES_NS ? W_ACTIVITY_RUNNING : W_ACTIVITY_STARVED;
}

/* True: with this activity the M keeps its P, and a new window begins. */
static bool keeps_p(enum activity activity)
{
        return activity == W_ACTIVITY_STARVED ||
               (activity == W_ACTIVITY_RUNNING && w_sched.config.preempt != WEFT_PREEMPT_ALL);
}

void w_activity_update(struct sample *s, int64_t now)
{
        struct w_os_cpu_usage usage;

        if (now - s->read_at < READ_EVERY_NS || (s->has_base && now - s->base_at < WINDOW_NS))
                return;
        s->read_at = now;
        if (read_usage(s->m, &usage) < 0) {
                s->activity = now - s->since < WINDOW_NS ? W_ACTIVITY_NOT_YET : W_ACTIVITY_UNKNOWN;
                return;
        }
        s->run = usage.run;
        if (!s->has_base) {
                s->has_base = true;
                if (s->first_run == NOT_SEEN)
                        s->first_run = usage.run;
                begin_window(s, &usage, now);
                return;
        }
        s->activity = judge(s, &usage, now);
        if (keeps_p(s->activity))
                begin_window(s, &usage, now);
}

int64_t w_activity_next(const struct sample *s)
{
        return s->has_base ? s->base_at + WINDOW_NS : W_FOREVER;
}

void w_activity_rebase(struct sample *s, int64_t now)
{
        s->since = now;
        s->has_base = false;
        if (s->activity != W_ACTIVITY_RUNNING)
                s->activity = W_ACTIVITY_NOT_YET;
}

void w_activity_forget(struct sample *s, int64_t now)
{
        s->activity = W_ACTIVITY_NOT_YET;
        w_activity_rebase(s, now);
        s->preempt_by_at = 0;
        s->first_run = NOT_SEEN;
}
