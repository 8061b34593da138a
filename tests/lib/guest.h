/* tests/lib/guest.h - threads that are not weft's, and scopes of theirs.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_LIB_GUEST_H
#define TESTS_LIB_GUEST_H

#include "lib/scope.h"
#include "lib/sync.h"
#include "scope/tree.h"
#include "wait/wait.h"

#include <errno.h>

struct guest {
        struct sync_thread thread;
        void             (*fn)(void *);
        void              *arg;
        weft_wg            done;
};

static inline void guest_main(void *arg)
{
        struct guest *g = arg;

        g->fn(g->arg);
        CHECK(!w_os_foreign()->scope);
        weft_wg_done(&g->done);
}

static inline void guest_start(struct guest *g, void (*fn)(void *), void *arg)
{
        *g = (struct guest){ .fn = fn, .arg = arg };
        weft_wg_add(&g->done, 1);
        sync_thread_start(&g->thread, guest_main, g);
}

/* Leaves the P to others meanwhile: what the guest does may need it. */
static inline void guest_join(struct guest *g)
{
        CHECK_EQ(weft_wg_wait(&g->done), 0);
        sync_thread_join(&g->thread);
}

/* fn(arg) on a thread of its own, from beginning to end. */
static inline void guest_run(void (*fn)(void *), void *arg)
{
        struct guest g;

        guest_start(&g, fn, arg);
        guest_join(&g);
}

static inline bool guest_is_asleep(weft_scope *public)
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

/* Until somebody sleeps in s, which has it as innermost. */
static inline void guest_await_asleep(weft_scope *s)
{
        while (!guest_is_asleep(s))
                weft_yield();
}

/* Until somebody waits in the close of s. */
static inline void guest_await_closing(weft_scope *public)
{
        struct scope *s = (struct scope *)(void *)public;
        bool          closing;

        do {
                weft_yield();
                w_lock(s->lock);
                closing = s->closer != NULL;
                w_unlock(s->lock);
        } while (!closing);
}

#endif
