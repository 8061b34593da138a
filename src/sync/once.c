/* sync/once.c - calls a function once, for any number of callers.
 *
 * Protocols   cites waitqueue (wait/waitqueue.c), wake (wait/wake.c).
 *
 * PROTOCOL once
 *
 * Goal      one call of one function. Every caller returns after the function has ended, by return
 *           or by weft_exit.
 * Parties   runner, the first caller; waiters, the later callers.
 * Words     word
 *             NEW       not called yet
 *             RUNNING   the runner runs the function
 *             DONE      the function has ended
 *             QUEUED    a bit beside RUNNING: there may be waiters
 *           runner: the number of the runner, to recognize a call from inside the function.
 * Runner
 *   1. CAS NEW -> RUNNING.
 *   2. Push an unwind record on its goroutine, so that weft_exit does step 4.
 *   3. Call the function, in user code.
 *   4. CAS RUNNING -> DONE [ON1]. With QUEUED set: under the bucket's lock store DONE [ON1] and
 *      take all waiters out of the queue; unlock; wake them.
 * Waiter
 *   1. DONE [ON1]: return.
 *   2. Under the bucket's lock: step 1 again, else CAS QUEUED in. Wait.
 * Edges     [ON1] what the function did   runner: word CAS/store-release -> waiter: word
 *           load-acquire. A waiter that parked is ordered by the wake.
 * Why a number is enough to know the runner   only the runner itself finds its own number in the
 *           word `runner`: it wrote the number before it called the function.
 * Lifetime  the word is not touched after DONE. See PROTOCOL waitqueue.
 * Tests     flow/sync/test_once.c, crash/test_sync.c, explore scenarios sync-once*, sim scenario
 *           sync_once, mutants sync-once-*.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/assert.h"
#include "sched/sched.h"
#include "wait/waitqueue.h"
#include "wait/wait.h"

#include "sched/exit.h"
#include "weft.h"

enum { NEW, RUNNING, DONE, QUEUED = 4 };

struct once {
        w_atomic_u64 word;      /* a  [ON1] */
        w_atomic_u64 runner;    /* the runner's number; callers compare it with their own */
        uint64_t     reserved[2];
};

_Static_assert(sizeof(weft_once) == sizeof(struct once), "fixed for ever");

/* In the runner's frame. */
struct running {
        struct unwind unwind;
        struct once  *once;
};

/* The id of the calling goroutine; on a foreign thread its kernel thread id, with the highest bit
 * set. */
static uint64_t caller_number(void)
{
        const struct g *gp = w_g();

        return gp ? (uint64_t)gp->id : UINT64_C(1) << 63 | (uint64_t)w_os_tid();
}

/* ---- Waiters --------------------------------------------------------------------------------- */

/* Under the bucket's lock: true if the function has ended, else sets QUEUED. */
static bool is_done_or_set_queued(struct once *o)
{
        uint64_t seen = w_load_acq(&o->word);                     /* [ON1] */

        while (seen != DONE)
                if (w_cas_acq(&o->word, &seen, RUNNING | QUEUED)) /* [ON1] */
                        return false;
        return true;
}

static void wait_until_done(struct once *o)
{
        struct wait        w;
        struct waitq_entry entry;

        W_ENTER();
        W_CHECK(w_load_rlx(&o->runner) != caller_number(),        /* own word, if it is equal */
                "weft_once_do called from its own function: %p", (void *)o);
        w_wait_begin(&w, W_FOREVER, W_WITHOUT_RUN);
        w_waitq_entry_init(&entry, w_waitq_key(o, 0), &w.waiter);
        struct bucket *b = w_waitq_lock(entry.key);

        if (is_done_or_set_queued(o)) {
                w_waitq_unlock(b);
        } else {
                w_waitq_append(b, &entry);
                (void)w_wait_park(&w, W_WAIT_ONCE, w_waitq_unlock, b);
        }
        w_wait_end(&w);
        W_LEAVE();
}

/* ---- The runner ------------------------------------------------------------------------------ */

static W_NOINLINE void release_all(struct once *o)
{
        uintptr_t        key = w_waitq_key(o, 0);
        struct list_node woken;

        W_ENTER();
        bool           run;
        struct bucket *b = w_waitq_lock_to_wake(key, &run);

        w_list_init(&woken);
        w_store_rel(&o->word, DONE);                              /* [ON1] */
        (void)w_waitq_claim_all(b, key, run, &woken);
        w_waitq_unlock_and_wake(b, &woken, run);
        W_LEAVE();
}

static void finish(struct once *o)
{
        uint64_t running = RUNNING;

        if (!w_cas_rel(&o->word, &running, DONE))                 /* [ON1] */
                release_all(o);
}

static void finish_by_exit(struct unwind *u)
{
        finish(W_CONTAINER_OF(u, struct running, unwind)->once);
}

static void push_record(struct running *running)
{
        W_ENTER();
        struct g *gp = w_g();

        w_store_rlx(&running->once->runner, caller_number());     /* own word */
        if (gp)
                w_unwind_push(gp, &running->unwind);
        W_LEAVE();
}

static void pop_record(struct running *running)
{
        W_ENTER();
        struct g *gp = w_g();

        if (gp)
                w_unwind_pop(gp, &running->unwind);
        W_LEAVE();
}

static void run(struct once *o, void (*fn)(void *), void *arg)
{
        struct running running = { .unwind = { .fn = finish_by_exit }, .once = o };

        push_record(&running);
        fn(arg);
        pop_record(&running);
        finish(o);
}

/* ---- Public ---------------------------------------------------------------------------------- */

W_EXPORT void weft_once_do(weft_once *once, void (*fn)(void *), void *arg)
{
        struct once *o = (struct once *)(void *)once;
        uint64_t     seen = NEW;

        if (W_LIKELY(w_load_acq(&o->word) == DONE))               /* [ON1] */
                return;
        W_CHECK(fn, "weft_once_do without a function: %p", (void *)o);
        if (w_cas_acq(&o->word, &seen, RUNNING))                  /* [ON1] */
                run(o, fn, arg);
        else if (seen != DONE)
                wait_until_done(o);
}
