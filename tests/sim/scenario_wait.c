/* tests/sim/scenario_wait.c - PROTOCOL wake: a box of values, and takers that may give up.
 *
 * The box stands for every object with a lock and a wait queue: a poster hands its value to the
 * first taker that it can claim, into the taker's frame. Takers are goroutines, some of them in a
 * scope, and a foreign thread; deadlines and a cancellation compete with the posts. No value is
 * lost or handed over twice, and a taker's records are written over as soon as its wait has ended.
 *
 * test: seeds=quarter
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/run/foreign.h"
#include "sim/sched_world.h"
#include "wait/wait.h"

#include <errno.h>      /* ETIME and others */
#include <string.h>

enum { N_TAKERS = 3, TAKES = 3, N_POSTERS = 2, POSTS = 5, VALUE = 77 };

struct record {
        struct list_node link;
        struct waiter   *waiter;
        uint32_t         value;         /* plain: handed over by the claim */
};

static struct {
        struct lock      lock;          /* class chan, as a channel's */
        struct list_node line;          /* under lock: struct record */
        uint32_t         n_dedicated;        /* under lock: values for the next taker */
        uint32_t         n_taken;       /* plain: simulated threads run one at a time */
        weft_scope       scope;
} box;

static void unlock_box(void *arg)
{
        (void)arg;
        w_unlock(&box.lock);
}

static void post(void)
{
        struct waiter *won = NULL;

        w_lock(&box.lock);
        for (struct list_node *n; !won && (n = w_list_pop_front(&box.line));) {
                struct record *r = W_CONTAINER_OF(n, struct record, link);

                if (w_wake_claim(r->waiter, W_VERDICT_OTHER) == W_CLAIM_WON) {
                        won = r->waiter;
                        w_plain_store(&r->value, VALUE);
                }
        }
        if (!won)
                box.n_dedicated++;
        w_unlock(&box.lock);
        if (won)
                w_wake_up(won);
}

static int wait_in_queue(struct wait *w, struct record *r)
{
        uint32_t verdict;

        *r = (struct record){ .waiter = &w->waiter };
        w_list_init(&r->link);
        w_lock(&box.lock);
        if (box.n_dedicated > 0) {
                box.n_dedicated--;
                w_unlock(&box.lock);
                return 0;
        }
        w_list_push_back(&box.line, &r->link);
        verdict = w_wait_park(w, W_WAIT_SEM, unlock_box, NULL);
        if (verdict == W_VERDICT_OTHER) {
                SIM_CHECK(w_plain_load(&r->value) == VALUE, "woken with nothing in hand");
                return 0;
        }
        SIM_CHECK(r->value == 0, "a value was handed over, and the wait ended otherwise");
        w_lock(&box.lock);
        w_list_unlink(&r->link);
        w_unlock(&box.lock);
        return w_wait_error(w, verdict);
}

/* 0, or the error. */
static int take(int64_t patience)
{
        struct wait   w;
        struct record r;
        int           rc = w_call_check();

        if (rc < 0)
                return rc;
        w_wait_begin(&w, patience == W_FOREVER ? W_FOREVER : w_os_now() + patience, W_CANCELLABLE);
        rc = wait_in_queue(&w, &r);
        w_wait_end(&w);
        memset(&w, 0x5a, sizeof(w));            /* what comes after it in this frame */
        memset(&r, 0x5a, sizeof(r));
        __asm__ volatile("" ::"r"(&w), "r"(&r) : "memory");
        box.n_taken += rc == 0;
        return rc;
}

/* ---- Takers ---------------------------------------------------------------------------------- */

static int64_t some_patience(void)
{
        return 200 + sim_random(4000);
}

static void take_some(void *arg)
{
        (void)arg;
        for (int i = 0; i < TAKES; i++) {
                W_ENTER();
                int rc = take(some_patience());

                W_LEAVE();
                SIM_CHECK(rc == 0 || rc == -ETIME, "take returned %d", rc);
        }
}

static int take_in_scope(void *arg)
{
        int rc;

        (void)arg;
        do {
                W_ENTER();
                rc = take(sim_random(2) ? W_FOREVER : some_patience());
                W_LEAVE();
        } while (rc == 0 || rc == -ETIME);
        SIM_CHECK(rc == -ECANCELED, "take returned %d", rc);
        SIM_CHECK(weft_cancelled() == rc, "the cause of the end has changed");
        return 0;
}

static void take_foreign(void *arg)
{
        (void)arg;
        foreign_begin();
        for (int i = 0; i < TAKES; i++) {
                SIM_CHECK(w_foreign_enter(), "no run");
                int rc = take(some_patience());

                w_foreign_exit();
                SIM_CHECK(rc == 0 || rc == -ETIME, "take returned %d", rc);
        }
}

static void post_some(void *arg)
{
        (void)arg;
        for (int i = 0; i < POSTS; i++) {
                W_ENTER();
                post();
                W_LEAVE();
                sim_work(sim_random(1500));
                if (sim_random(2))
                        weft_yield();
        }
}

static void first(void *arg)
{
        int64_t       ids[N_TAKERS + N_POSTERS];
        struct worker thread;

        (void)arg;
        SIM_CHECK(weft_scope_open(&box.scope, WEFT_FOREVER) == 0, "no scope");
        SIM_CHECK(weft_scope_go(&box.scope, take_in_scope, NULL) > 0, "no child");
        SIM_CHECK(weft_scope_go(&box.scope, take_in_scope, NULL) > 0, "no child");
        worker_start(&thread, "taker", take_foreign, NULL);
        for (int i = 0; i < N_TAKERS + N_POSTERS; i++)
                ids[i] = sched_go(i < N_TAKERS ? take_some : post_some, NULL);
        if (sim_random(2))
                sched_join(ids[N_TAKERS]);
        weft_scope_cancel(&box.scope);
        SIM_CHECK(weft_scope_close(&box.scope) == 0, "a child failed");
        for (int i = 0; i < N_TAKERS + N_POSTERS; i++)
                sched_join(ids[i]);
        worker_join(&thread);
        SIM_CHECK(w_list_empty(&box.line), "a waiter is left in the queue");
        SIM_CHECK(box.n_taken + box.n_dedicated == N_POSTERS * POSTS, "%u taken, %u left of %d",
                  box.n_taken, box.n_dedicated, N_POSTERS * POSTS);
}

static void reset_box(void)
{
        memset(&box, 0, sizeof(box));
        w_lock_init(&box.lock, W_LOCK_chan);
        w_list_init(&box.line);
}

static void wait_main(void)
{
        reset_box();
        sched_run_well(NULL, first);
}

SIM_SCENARIO(wait_box, "takers with deadlines, in a scope, on a thread; no value lost or doubled",
             wait_main, .max_steps = SCHED_MAX_STEPS)

/* ---- Waits that one party only can end ------------------------------------------------------- */

static void take_patiently(void *arg)
{
        (void)arg;
        for (int i = 0; i < N_POSTERS * POSTS; i++) {
                W_ENTER();
                int rc = take(W_FOREVER);

                W_LEAVE();
                SIM_CHECK(rc == 0, "take returned %d", rc);
        }
}

static void first_sole(void *arg)
{
        int64_t ids[1 + N_POSTERS];

        (void)arg;
        for (int i = 0; i <= N_POSTERS; i++)
                ids[i] = sched_go(i ? post_some : take_patiently, NULL);
        for (int i = 0; i <= N_POSTERS; i++)
                sched_join(ids[i]);
        SIM_CHECK(box.n_dedicated == 0, "%u values are left", box.n_dedicated);
}

static void sole_main(void)
{
        reset_box();
        sched_run_well(NULL, first_sole);
}

SIM_SCENARIO(wait_sole, "one taker that has nothing but the box to wait for",
             sole_main, .max_steps = SCHED_MAX_STEPS)
