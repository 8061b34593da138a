/* tests/sim/worker.c - threads for scenarios: contract in scenario.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/scenario.h"

#include <errno.h>      /* EAGAIN */

enum { MAX_TRIES = 100 };       /* no seed lets more than two in five calls fail */

static void begin(void *arg)
{
        struct worker *w = arg;

        w_self_set(&w->self);
        w->fn(w->arg);
        SIM_CHECK(w->self.n_held == 0, "a worker ends with %u locks held", w->self.n_held);
        w_self_set(NULL);
}

int worker_try_start(struct worker *w, const char *name, void (*fn)(void *), void *arg)
{
        *w = (struct worker){ .fn = fn, .arg = arg };
        return w_os_thread_start(&w->thread, name, 0, begin, w);
}

void worker_start(struct worker *w, const char *name, void (*fn)(void *), void *arg)
{
        int rc = worker_try_start(w, name, fn, arg);

        for (int tries = 1; rc == -EAGAIN && tries < MAX_TRIES; tries++) {
                w_os_yield();
                rc = worker_try_start(w, name, fn, arg);
        }
        SIM_CHECK(rc == 0, "thread %s was not started: %d", name, rc);
}

void worker_join(struct worker *w)
{
        w_os_thread_join(&w->thread);
}
