/* tests/sim/scenario_threads.c - threads that start late or not at all, and joining them.
 *
 * A tree of threads in which every start may fail. What each thread did is visible to the thread
 * that joined it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/scenario.h"

enum { N_CHILDREN = 3, DEPTH = 3, N_TREES = 4 };

struct node {
        struct worker worker;
        uint32_t      depth;
        uint32_t      n_done;   /* plain: read after the join */
};

static uint32_t grow(uint32_t depth, uint32_t *n_started);

static void branch(void *arg)
{
        struct node *node = arg;
        uint32_t     n_started = 0;
        uint32_t     n_done = grow(node->depth, &n_started);

        SIM_CHECK(n_done == n_started, "%u done of %u started", n_done, n_started);
        sim_work(sim_random(500));
        node->n_done = n_done + 1;
}

/* Starts up to N_CHILDREN threads, continues without those that fail, joins the rest in any
 * order. */
static uint32_t grow(uint32_t depth, uint32_t *n_started)
{
        struct node nodes[N_CHILDREN];
        bool        runs[N_CHILDREN] = { false };
        uint32_t    n_done = 0;
        uint32_t    first = sim_random(N_CHILDREN);

        for (uint32_t i = 0; depth > 0 && i < N_CHILDREN; i++) {
                nodes[i] = (struct node){ .depth = depth - 1 };
                runs[i] = worker_try_start(&nodes[i].worker, "branch", branch, &nodes[i]) == 0;
        }
        for (uint32_t i = 0; i < N_CHILDREN; i++) {
                struct node *node = &nodes[(first + i) % N_CHILDREN];

                if (!runs[(first + i) % N_CHILDREN])
                        continue;
                worker_join(&node->worker);
                n_done += node->n_done;
                *n_started += node->n_done;
        }
        return n_done;
}

static void threads_main(void)
{
        struct w_os_sigmask before, after;
        uint32_t            n_started = 0;

        w_os_signals_get(&before);
        for (int i = 0; i < N_TREES; i++)
                (void)grow(DEPTH, &n_started);
        w_os_signals_get(&after);
        SIM_CHECK(before.bits[0] == after.bits[0], "starting threads changed the signal mask");
        SIM_CHECK(w_os_tid() == 1000, "main is thread %d", w_os_tid());
}

SIM_SCENARIO(threads, "a tree of threads of which some cannot be started", threads_main,
             .calls_fail = true)

/* ---- Broken --------------------------------------------------------------------------------- */

static void idle(void *arg)
{
        (void)arg;
}

static void threads_leak_main(void)
{
        struct worker a, b;

        if (worker_try_start(&a, "a", idle, NULL) != 0)
                return;
        if (worker_try_start(&b, "b", idle, NULL) != 0)
                return;         /* and forgets a */
        worker_join(&a);
        worker_join(&b);
}

SIM_MUTANT(threads_leak, "the second start fails and the first thread is forgotten",
           threads_leak_main, .calls_fail = true)

static uint32_t result;

static void work_late(void *arg)
{
        (void)arg;
        w_plain_store(&result, 1);
}

static void threads_read_before_join_main(void)
{
        struct worker a;

        result = 0;
        worker_start(&a, "late", work_late, NULL);
        sim_work(300);
        uint32_t seen = w_plain_load(&result);

        worker_join(&a);
        SIM_CHECK(seen == 1, "the thread had not done its work yet");
}

SIM_MUTANT(threads_read_before_join, "a result is read before the join",
           threads_read_before_join_main, SIM_USUAL)
