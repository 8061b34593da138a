/* sync/once.c - a function that is called once, however many ask.
 *
 * Called by   user code.
 * Protocols   cites waitqueue (wait/waitqueue.c), wake (wait/wake.c).
 *
 * PROTOCOL once
 *
 * Goal      one call of one function; everyone returns after it has ended, whether by return or by
 *           weft_exit.
 * Parties   runner, the first to come; the others.
 * Words     word: NEW, RUNNING, DONE; QUEUED beside RUNNING: somebody may wait. runner: who runs
 *           it, to tell a call from inside from a call by others.
 * Runner    1 CAS NEW -> RUNNING   2 leaves a record with its goroutine, so that an exit does step
 *           4   3 calls the function, outside   4 CAS RUNNING -> DONE [ON1]; with QUEUED: under the
 *           bucket's lock DONE [ON1], takes all out of the line, unlocks, wakes them
 * Others    1 DONE [ON1]: return   2 under the bucket's lock: again 1, else CAS QUEUED in; wait
 * Edges     [ON1] what the function did   runner: word CAS/store-release -> others: word
 *           load-acquire. Who waited is ordered by the wake.
 * Why it is enough to know the runner by a number   only the runner itself finds its own there: it
 *           wrote it before it called the function.
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

#include "weft.h"

enum { NEW, RUNNING, DONE, QUEUED = 4 };

struct once {
        w_atomic_u64 word;      /* a  [ON1] */
        w_atomic_u64 runner;    /* the runner's own; others compare it with themselves */
        uint64_t     reserved[2];
};

_Static_assert(sizeof(weft_once) == sizeof(struct once), "fixed for ever");

/* In the runner's frame. */
struct running {
        struct unwind unwind;
        struct once  *once;
};

/* A goroutine's id or, with the highest bit, the kernel's number of another thread. */
static uint64_t myself(void)
{
        const struct g *gp = w_g();

        return gp ? (uint64_t)gp->id : UINT64_C(1) << 63 | (uint64_t)w_os_tid();
}

/* ---- Others ---------------------------------------------------------------------------------- */

/* Under the lock of the bucket: true if it is done, else QUEUED is set. */
static bool is_done_or_announce(struct once *o)
{
        uint64_t seen = w_load_acq(&o->word);                     /* [ON1] */

        while (seen != DONE)
                if (w_cas_acq(&o->word, &seen, RUNNING | QUEUED)) /* [ON1] */
                        return false;
        return true;
}

static void wait_until_done(struct once *o)
{
        struct wait  w;
        struct waitq_entry place;

        W_ENTER();
        W_CHECK(w_load_rlx(&o->runner) != myself(),               /* own word, if it is equal */
                "weft_once_do called from its own function: %p", (void *)o);
        w_wait_begin(&w, W_FOREVER, W_WITHOUT_RUN);
        w_waitq_entry_init(&place, w_waitq_key(o, 0), &w.waiter);
        struct bucket *b = w_waitq_lock(place.key);

        if (is_done_or_announce(o)) {
                w_waitq_unlock(b);
        } else {
                w_waitq_append(b, &place);
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

static void leave_record(struct running *running)
{
        W_ENTER();
        struct g *gp = w_g();

        w_store_rlx(&running->once->runner, myself());            /* own word */
        if (gp)
                w_unwind_push(gp, &running->unwind);
        W_LEAVE();
}

static void take_record(struct running *running)
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

        leave_record(&running);
        fn(arg);
        take_record(&running);
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
