/* tests/lib/guest.c - foreign threads and their scopes.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/guest.h"

void guest_main(void *arg)
{
        struct guest *g = arg;

        g->fn(g->arg);
        CHECK(!w_foreign_scope(w_os_foreign())->innermost);
        weft_wg_done(&g->done);
}

void guest_start(struct guest *g, void (*fn)(void *), void *arg)
{
        *g = (struct guest){ .fn = fn, .arg = arg };
        weft_wg_add(&g->done, 1);
        sync_thread_start(&g->thread, guest_main, g);
}

void guest_join(struct guest *g)
{
        CHECK_EQ(weft_wg_wait(&g->done), 0);
        sync_thread_join(&g->thread);
}

void guest_run(void (*fn)(void *), void *arg)
{
        struct guest g;

        guest_start(&g, fn, arg);
        guest_join(&g);
}

bool guest_is_asleep(weft_scope *public)
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

void guest_await_asleep(weft_scope *s)
{
        while (!guest_is_asleep(s))
                weft_yield();
}
