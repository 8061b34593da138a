/* sched/inspect/schedtrace.c - WEFT_DEBUG=schedtrace=MS: one line about the scheduler every MS
 * milliseconds.
 *
 * The line has Go's format, so that readers and scripts that know it can read it. scheddetail=1
 * adds a line for each P and goroutine. No thread is stopped for this: values that change meanwhile
 * are printed as they were read.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/monitor/sysmon.h"
#include "sched/sched.h"
#include "sched/thread/thread.h"

enum { QUEUES_MAX = 16 };

static struct {
        int64_t began_at, next_at;
} trace;

/* The lengths of the first queues, as many as fit the line, are in brackets. */
static void trace_line(void)
{
        char   text[256];
        size_t n = 0;
        long   ms = (long)((w_os_now() - trace.began_at) / 1000000);

        w_lock(&w_sched.lock);
        uint32_t threads = w_sched.n_m;
        uint32_t idle = w_sched.n_idle_m + w_sched.n_dedicated_asleep + w_n_event_waiters_locked();
        uint32_t procs = w_n_procs();

        w_unlock(&w_sched.lock);
        for (uint32_t i = 0; i < procs && i < QUEUES_MAX; i++)
                n += w_format(text + n, sizeof(text) - n, "%u ",
                              w_p_len_hint(w_sched.all_p[i]));
        w_say("SCHED %ldms: procs=%u idleprocs=%u threads=%u spinningthreads=%u "
              "needspinning=%u idlethreads=%u runqueue=%u [ %s]",
              ms, procs, w_load_rlx(&w_sched.n_idle_p), threads,        /* hint */
              w_load_rlx(&w_sched.n_spinning), w_load_rlx(&w_sched.need_spinning), /* hint */
              idle, w_load_rlx(&w_sched.n_globq), text);                          /* hint */
}

/* Uninstrumented: id and reason belong to the thread that changes the goroutine's state, and are
 * read here without synchronization. An inconsistent value appears only in a debug line. */
W_NO_SANITIZE static bool trace_g(void *record, void *arg)
{
        const struct g *gp = record;
        enum g_state    state = w_g_state(gp);

        (void)arg;
        if (w_g_is_alive(state))
                w_say("  G%ld: status=%s(%s)", (long)gp->id, w_g_state_name(state),
                      state == G_WAITING ? w_wait_reason_name(gp->reason) : "");
        return true;
}

W_NO_SANITIZE static void trace_detail(void)
{
        for (uint32_t i = 0; i < w_n_p(); i++) {
                struct p *pp = w_sched.all_p[i];
                struct m *mp = w_load_rlx(&pp->m);                /* hint */

                w_say("  P%u: status=%u m=%d runqsize=%u", i, w_load_rlx(&pp->status),    /* hint */
                      mp ? (int)mp->thread.id : -1, w_p_len_hint(pp));
        }
        w_g_each(trace_g, NULL);
}

void w_schedtrace_begin(int64_t now)
{
        int64_t period = (int64_t)w_sched.config.schedtrace_ms * 1000000;

        trace.began_at = now;
        trace.next_at = period ? now + period : W_FOREVER;
}

int64_t w_schedtrace_next(void)
{
        return trace.next_at;
}

void w_schedtrace(int64_t now)
{
        if (W_LIKELY(now < trace.next_at))
                return;
        trace.next_at += (int64_t)w_sched.config.schedtrace_ms * 1000000;
        trace_line();
        if (w_sched.config.scheddetail)
                trace_detail();
}
