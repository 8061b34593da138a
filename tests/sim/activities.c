/* tests/sim/activities.c - what goroutines do in scenarios about Ps and threads: they lock
 * themselves to threads, live in scopes, are called by timers.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/activities.h"

void check_thread(const struct locked_state *it)
{
        SIM_CHECK(it->depth == 0 || w_m() == it->at, "goroutine %ld runs on M%u, locked to M%u",
                  (long)weft_id(), w_m()->thread.id, it->at->thread.id);
        SIM_CHECK(w_m()->locked_g == (it->depth ? w_g() : NULL),
                  "goroutine %ld runs on a thread that is another's", (long)weft_id());
}

void lock_it(struct locked_state *it)
{
        weft_thread_lock();
        if (it->depth++ == 0)
                it->at = w_m();
        check_thread(it);
}

void unlock_it(struct locked_state *it)
{
        if (it->depth == 0)
                return;
        it->depth--;
        weft_thread_unlock();
        check_thread(it);
}

static int passing_child(void *arg)
{
        const struct passing *p = arg;

        p->some_while(NULL);
        if (sim_random(3) == 0)
                return -EDOM;
        return weft_sleep((int64_t)sim_random(20000));
}

int in_scope(const struct passing *p)
{
        weft_scope s;
        int        rc = weft_scope_open(&s, sim_random(2) ? (int64_t)sim_random(20000) : -1);

        if (rc < 0)
                return rc;
        for (uint32_t i = sim_random(3); i > 0; i--)
                (void)!weft_scope_go(&s, passing_child, (void *)(uintptr_t)p);
        p->some_while(NULL);
        (void)weft_sleep((int64_t)sim_random(5000));
        if (sim_random(2))
                weft_scope_cancel(&s);
        (void)weft_scope_close(&s);
        return 0;
}

void by_timer(const struct passing *p)
{
        weft_timer *t = weft_timer_new((int64_t)sim_random(5000), p->some_while, NULL);

        p->some_while(NULL);
        if (t && sim_random(2))
                (void)!weft_timer_reset(t, (int64_t)sim_random(5000));
        p->some_while(NULL);
        weft_timer_free(t);
}
