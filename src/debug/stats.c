/* debug/stats.c - weft_stats: the counters of all Ps, added up.
 *
 * SPDX-License-Identifier: MIT
 */
#include "debug/stats.h"

#include "sched/sched.h"

#include "sched/run/foreign.h"
#include "sched/thread/thread.h"
#include "weft.h"

#include <errno.h>      /* -Exxx */
#include <string.h>

_Static_assert(W_ARRAY_LEN(((weft_stats_t *)0)->ready_to_run) == W_READY_BUCKETS,
               "the public histogram has the same buckets");

/* The counter for each wait reason. */
static const size_t entry_of[W_N_WAIT_REASONS] = {
        [W_WAIT_IO] = offsetof(weft_stats_t, parks_io),
        [W_WAIT_PARK] = offsetof(weft_stats_t, parks_park),
        [W_WAIT_JOIN] = offsetof(weft_stats_t, parks_join),
        [W_WAIT_CHAN_RECV] = offsetof(weft_stats_t, parks_chan_recv),
        [W_WAIT_CHAN_SEND] = offsetof(weft_stats_t, parks_chan_send),
        [W_WAIT_SELECT] = offsetof(weft_stats_t, parks_select),
        [W_WAIT_SLEEP] = offsetof(weft_stats_t, parks_sleep),
        [W_WAIT_MUTEX] = offsetof(weft_stats_t, parks_mutex),
        [W_WAIT_RWMUTEX] = offsetof(weft_stats_t, parks_rwmutex),
        [W_WAIT_COND] = offsetof(weft_stats_t, parks_cond),
        [W_WAIT_SEM] = offsetof(weft_stats_t, parks_sem),
        [W_WAIT_GROUP] = offsetof(weft_stats_t, parks_wg),
        [W_WAIT_ONCE] = offsetof(weft_stats_t, parks_once),
        [W_WAIT_SCOPE_CLOSE] = offsetof(weft_stats_t, parks_scope_close),
};

static void add_parks(weft_stats_t *st, struct p_stats *s)
{
        for (uint32_t i = W_WAIT_NONE + 1; i < W_N_WAIT_REASONS; i++) {
                uint64_t n = w_load_rlx(&s->parks[i]);            /* counter */

                *(uint64_t *)(void *)((char *)st + entry_of[i]) += n;
                st->parks += n;
        }
}

static void add_p(weft_stats_t *st, struct p_stats *s)
{
        st->spawned += w_load_rlx(&s->spawned);                   /* counter */
        st->switches += w_load_rlx(&s->switches);                 /* counter */
        st->steals += w_load_rlx(&s->steals);                     /* counter */
        st->takes += w_load_rlx(&s->takes);                       /* counter */
        st->handoffs += w_load_rlx(&s->handoffs);                 /* counter */
        st->preemptions += w_load_rlx(&s->preemptions);           /* counter */
        add_parks(st, s);
        for (uint32_t i = 0; i < W_READY_BUCKETS; i++)
                st->ready_to_run[i] += w_load_rlx(&s->ready_to_run[i]);   /* counter */
}

void w_stats_collect(weft_stats_t *st)
{
        *st = (weft_stats_t){ .size = sizeof(*st) };
        for (uint32_t i = 0; i < w_n_p(); i++)
                add_p(st, &w_sched.all_p[i]->stats);
        add_p(st, &w_sched.without_p);
        st->goroutines = (uint64_t)w_g_count_alive();
        st->threads_spinning = w_load_rlx(&w_sched.n_spinning);   /* counter */
        w_lock(&w_sched.lock);
        st->procs = w_n_procs();
        st->threads = w_sched.n_m;
        st->threads_idle = w_sched.n_idle_m + w_sched.n_dedicated_asleep +
                           w_n_event_waiters_locked();
        st->procs_idle = w_load_rlx(&w_sched.n_idle_p);           /* counter */
        w_unlock(&w_sched.lock);
        st->stacks_reserved = w_stack_stats(&w_sched.stacks, w_sched.config.stack_size).n_reserved;
}

W_EXPORT int weft_stats(weft_stats_t *st)
{
        weft_stats_t all;

        if (!st || st->size < sizeof(st->size))
                return -EINVAL;
        if (!w_foreign_enter())
                return -ESHUTDOWN;
        W_ENTER();
        w_stats_collect(&all);
        W_LEAVE();
        w_foreign_exit();
        size_t   known = st->size < sizeof(all) ? (size_t)st->size : sizeof(all);
        uint64_t size = st->size;

        memcpy(st, &all, known);
        st->size = size;
        return 0;
}
