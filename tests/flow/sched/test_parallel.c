/* tests/flow/sched/test_parallel.c - goroutines in parallel: no goroutine starves, and each gets a
 * thread.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sched.h"
#include "sched/sched.h"

#include <time.h>
#include <unistd.h>

/* ---- All Ps at once -------------------------------------------------------------------------- */

struct relay {
        w_atomic_u32 turn;
        uint32_t     n;
        uint32_t     n_rounds;
};

struct runner {
        struct relay *relay;
        uint32_t      me;
};

/* No yield: this ends only if all of them run at the same time. On a machine with fewer CPUs the
 * kernel must be fair. */
static void run_relay(void *arg)
{
        struct runner *r = arg;

        for (uint32_t i = 0; i < r->relay->n_rounds; i++) {
                while (w_load_acq(&r->relay->turn) % r->relay->n != r->me)
                        w_os_yield();
                w_add_acqrel(&r->relay->turn, 1);
        }
}

static void relay_once(uint32_t n)
{
        struct relay  relay = { .n = n, .n_rounds = 50 };
        struct runner runners[8];
        int64_t       ids[8];

        CHECK(n <= 8);
        for (uint32_t i = 0; i < n; i++)
                runners[i] = (struct runner){ &relay, i };
        for (uint32_t i = 1; i < n; i++)
                ids[i] = sched_go(run_relay, &runners[i]);
        run_relay(&runners[0]);
        for (uint32_t i = 1; i < n; i++)
                sched_join(ids[i]);
        CHECK_EQ(w_load_acq(&relay.turn), n * relay.n_rounds);
}

GO_TEST(as_many_goroutines_as_ps_run_at_the_same_time)
{
        for (uint32_t i = 0; test_again(i, 2, 20); i++)
                relay_once((uint32_t)sched_procs());
}

/* The same from full rest: every other thread has gone to sleep before each relay. */
GO_TEST(sleeping_threads_are_woken_for_parallel_work)
{
        for (uint32_t i = 0; test_again(i, 2, 20); i++) {
                while (w_load_rlx(&w_sched.n_idle_p) + 1 < w_n_procs())
                        w_os_yield();
                relay_once((uint32_t)sched_procs());
        }
}

/* One goroutine wakes a second, which wakes the next: work that appears all at once reaches every
 * P. */
static w_atomic_u32 n_together;

static void meet(void *arg)
{
        w_add_acqrel(&n_together, 1);
        while (w_load_acq(&n_together) < *(uint32_t *)arg)
                w_os_yield();
}

GO_TEST(work_that_appears_at_once_reaches_every_p)
{
        uint32_t n = (uint32_t)sched_procs();

        for (int round = 0; round < 50; round++) {
                int64_t ids[8];

                w_store_rel(&n_together, 0);
                for (uint32_t i = 1; i < n; i++)
                        ids[i] = sched_go(meet, &n);
                meet(&n);
                for (uint32_t i = 1; i < n; i++)
                        sched_join(ids[i]);
        }
}

/* ---- Fairness -------------------------------------------------------------------------------- */

static w_atomic_u32 stop;

static void yield_until_stopped(void *arg)
{
        w_atomic_u32 *n = arg;

        while (!w_load_acq(&stop)) {
                w_add_acqrel(n, 1);
                weft_yield();
        }
}

/* Every goroutine that yields runs again: the slowest is not far behind the fastest. */
GO_TEST(every_yielding_goroutine_makes_progress)
{
        enum { N = 10 };
        static w_atomic_u32 counts[N];
        int64_t             ids[N];

        for (int i = 0; i < N; i++)
                ids[i] = sched_go(yield_until_stopped, &counts[i]);
        for (int i = 0; i < N; i++)
                sched_await(&counts[i], 1000);
        w_store_rel(&stop, 1);
        for (int i = 0; i < N; i++)
                sched_join(ids[i]);
}

struct volley {
        int64_t      ids[2];
        w_atomic_u32 n;
};

static void volley_second(void *arg)
{
        struct volley *v = arg;

        while (!w_load_acq(&stop)) {
                w_add_acqrel(&v->n, 1);
                weft_unpark(v->ids[0]);
                weft_park();
        }
        weft_unpark(v->ids[0]);
}

static void volley_first(void *arg)
{
        struct volley *v = arg;

        v->ids[0] = weft_id();
        v->ids[1] = sched_go(volley_second, v);
        while (!w_load_acq(&stop)) {
                weft_unpark(v->ids[1]);
                weft_park();
        }
        weft_unpark(v->ids[1]);
        sched_join(v->ids[1]);
}

/* A pair that hands over through `next` for ever must not starve a goroutine in the ring (main,
 * which yields) or in the global queue. */
GO_TEST(pairs_that_hand_over_do_not_starve_others)
{
        static struct volley pairs[4];
        int64_t              ids[4];

        for (int i = 0; i < 4; i++)
                ids[i] = sched_go(volley_first, &pairs[i]);
        for (int i = 0; i < 4; i++)
                sched_await(&pairs[i].n, 200);
        for (int i = 0; i < 200; i++)
                weft_yield();
        w_store_rel(&stop, 1);
        for (int i = 0; i < 4; i++)
                sched_join(ids[i]);
}

/* More than a ring holds: half spills to the global queue, from where all must come back. */
static w_atomic_u32 n_through;

static void pass(void *arg)
{
        (void)arg;
        weft_yield();
        w_add_acqrel(&n_through, 1);
}

GO_TEST(goroutines_beyond_a_ring_all_run)
{
        uint32_t n = sched_scale(4000);

        for (uint32_t i = 0; i < n; i++)
                sched_go(pass, NULL);
        CHECK(w_load_rlx(&w_sched.n_globq) > 0 || n <= W_RUNQ_CAP || sched_procs() > 1);
        sched_await(&n_through, n);
}

/* ---- Chains ---------------------------------------------------------------------------------- */

struct link {
        int64_t next;           /* id of the goroutine to wake */
        int    *value;
};

static w_atomic_u32 n_linked;

static void forward(void *arg)
{
        struct link *l = arg;

        weft_park();
        ++*l->value;
        if (l->next)
                CHECK_EQ(weft_unpark(l->next), 0);
        w_add_acqrel(&n_linked, 1);
}

GO_TEST(a_value_passes_a_chain_of_ten_thousand)
{
        uint32_t     n = sched_scale(10000);
        struct link *links = calloc(n, sizeof(*links));
        int          value = 0;
        int64_t      next = 0;

        CHECK(links);
        for (uint32_t i = 0; i < n; i++) {
                links[i] = (struct link){ next, &value };
                next = sched_go(forward, &links[i]);
        }
        CHECK_EQ(weft_unpark(next), 0);
        sched_await(&n_linked, n);
        CHECK_EQ(value, n);
        while (weft_count() > 1)
                weft_yield();
        free(links);
}

static w_atomic_u32 n_left;

static void spawn_next(void *arg)
{
        (void)arg;
        if (w_sub_acqrel(&n_left, 1) > 1)
                sched_go(spawn_next, NULL);
}

static uint32_t n_records;

static bool count_record(void *gp, void *arg)
{
        (void)gp, (void)arg;
        n_records++;
        return true;
}

/* Records and stacks are used again: a chain of many needs only a few. */
GO_TEST(a_chain_of_spawns_reuses_records)
{
        w_store_rel(&n_left, sched_scale(100000));
        sched_go(spawn_next, NULL);
        while ((int32_t)w_load_acq(&n_left) > 0 || weft_count() > 1)
                weft_yield();
        w_g_each(count_record, NULL);
        CHECK_MSG(n_records <= 64u * 5, "%u records for a chain", n_records);
}

static void spawn_tree(void *arg)
{
        intptr_t depth = (intptr_t)arg;

        w_add_acqrel(&n_through, 1);
        if (depth == 0)
                return;
        int64_t left = sched_go(spawn_tree, (void *)(depth - 1));
        int64_t right = sched_go(spawn_tree, (void *)(depth - 1));

        sched_join(left);
        sched_join(right);
}

GO_TEST(a_tree_of_joins_ends)
{
        intptr_t depth = test_is_slow() ? 9 : 12;

        sched_join(sched_go(spawn_tree, (void *)depth));
        CHECK_EQ(w_load_acq(&n_through), (2 << depth) - 1);
}

/* ---- Rest ------------------------------------------------------------------------------------ */

/* Threads that have nothing to do use no CPU. */
GO_TEST(no_m_spins_at_rest)
{
        struct timespec begin, end;

        for (int i = 0; i < 100; i++)
                sched_go(pass, NULL);
        sched_await(&n_through, 100);
        usleep(50000);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
        usleep(300000);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
        int64_t used = (end.tv_sec - begin.tv_sec) * 1000000000 + end.tv_nsec - begin.tv_nsec;

        CHECK_MSG(used < 100000000, "%lld us of CPU time in 300 ms of rest",
                  (long long)used / 1000);
        while (w_load_rlx(&w_sched.n_spinning))         /* a thread that gets no CPU */
                usleep(1000);
}
