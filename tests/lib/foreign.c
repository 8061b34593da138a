/* tests/lib/foreign.c - foreign threads and their scopes.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/foreign.h"

void foreign_main(void *arg)
{
        struct foreign *g = arg;

        g->fn(g->arg);
        CHECK(!w_foreign_scope(w_os_foreign())->innermost);
        weft_wg_done(&g->done);
}

void foreign_start(struct foreign *g, void (*fn)(void *), void *arg)
{
        *g = (struct foreign){ .fn = fn, .arg = arg };
        weft_wg_add(&g->done, 1);
        sync_thread_start(&g->thread, foreign_main, g);
}

void foreign_join(struct foreign *g)
{
        CHECK_EQ(weft_wg_wait(&g->done), 0);
        sync_thread_join(&g->thread);
}

void foreign_run(void (*fn)(void *), void *arg)
{
        struct foreign g;

        foreign_start(&g, fn, arg);
        foreign_join(&g);
}

bool foreign_is_asleep(weft_scope *public)
{
        struct scope     *s = (struct scope *)(void *)public;
        bool              asleep = false;

        w_lock(s->lock);
        struct list_node *n = w_list_first(&s->members);

        if (n) {
                struct wait *w = W_CONTAINER_OF(n, struct wait, member);

                asleep = w_load_rlx(&w->waiter.word) == W_VERDICT_PARKED; /* guarded by the lock */
        }
        w_unlock(s->lock);
        return asleep;
}

void foreign_await_asleep(weft_scope *s)
{
        while (!foreign_is_asleep(s))
                weft_yield();
}
