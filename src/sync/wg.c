/* sync/wg.c - a wait group: a count, and the waiters until it is zero.
 *
 * Protocols   cites waitqueue (wait/waitqueue.c), wake (wait/wake.c).
 *
 * PROTOCOL wait-group
 *
 * Goal      a wait returns once the count is zero. The adder that takes the count to zero does not
 *           touch the object afterwards: a waiter often frees the object at once.
 * Parties   adder (done is an add of -1), waiter.
 * Words     word: the count; QUEUED: there may be waiters, set under the bucket's lock while the
 *           count is not zero.
 * Adder
 *   1. The sum is not zero, or no QUEUED: CAS the sum in [WG1].
 *   2. Under the bucket's lock: compute the sum again. It is not zero any more: CAS the sum in
 *      [WG1], done. Else CAS the whole word to 0 [WG1].
 *   3. Take all waiters out of the queue. Unlock the bucket, wake the waiters.
 * Waiter
 *   1. Count is 0 [WG1]: return.
 *   2. Under the bucket's lock: step 1 again, else CAS QUEUED in. Wait.
 *   3. Woken: return without reading the word. Cancelled: leave the queue.
 * Edges     [WG1] what came before each done   word CAS-acqrel -> wait: word load-acquire
 *           The last adder acquires from all earlier adders. The wake passes this on to the waiter.
 * Why no waiter sleeps for ever   QUEUED and the count are one word: either the adder that takes
 *           the count to zero sees QUEUED, or the waiter sees zero.
 * Lifetime  the CAS to zero is an adder's last access to the object. With waiters it is made under
 *           the bucket's lock, so that a new object at this address finds an empty queue.
 * Rejected  counting the waiters in the word (a cancelled waiter would have to count itself down).
 * Tests     flow/sync/test_wg.c, flow/sync/test_sync_lifetime.c, explore scenarios sync-wg*, sim
 *           scenario sync_wg, mutants sync-wg-*; window waitqueue-before-wake.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/assert.h"
#include "sched/sched.h"
#include "wait/waitqueue.h"
#include "wait/wait.h"

#include "sched/run/run.h"
#include "weft.h"

#define COUNT  UINT64_C(0x7fffffff)
#define QUEUED (UINT64_C(1) << 32)

struct wg {
        w_atomic_u64 word;      /* a  [WG1] */
        uint64_t     reserved;
};

_Static_assert(sizeof(weft_wg) == sizeof(struct wg), "fixed for ever");

static struct wg *wg_of(weft_wg *w)
{
        return (struct wg *)(void *)w;
}

/* ---- Add ------------------------------------------------------------------------------------- */

static uint64_t sum(const struct wg *g, uint64_t seen, int n)
{
        int64_t count = (int64_t)(seen & COUNT) + n;

        W_CHECK(count >= 0, "negative wait group counter: %p", (const void *)g);
        W_CHECK(count <= (int64_t)COUNT, "wait group counter overflow: %p", (const void *)g);
        return (uint64_t)count;
}

/* Adds n. False: nothing was added, because the count would be zero and there may be waiters. With
 * the bucket locked it always adds. *released: the count is zero now. */
static bool add(struct wg *g, int n, bool locked, bool *released)
{
        uint64_t seen = w_load_rlx(&g->word);                     /* guarded by the CAS */
        uint64_t count;

        do {
                count = sum(g, seen, n);
                if (count == 0 && seen & QUEUED && !locked)
                        return false;
        } while (!w_cas_acqrel(&g->word, &seen, count ? (seen & QUEUED) | count : 0));  /* [WG1] */
        *released = count == 0;
        return true;
}

static W_NOINLINE void release_all(struct wg *g, int n)
{
        uintptr_t        key = w_waitq_key(g, 0);
        struct list_node woken;
        bool             released = false;

        W_ENTER();
        bool           run;
        struct bucket *b = w_waitq_lock_to_wake(key, &run);

        w_list_init(&woken);
        (void)add(g, n, true, &released);
        if (released)
                (void)w_waitq_claim_all(b, key, run, &woken);
        w_waitq_unlock_and_wake(b, &woken, run);
        W_LEAVE();
}

/* ---- Wait ------------------------------------------------------------------------------------ */

/* Under the bucket's lock: true if the count is zero, else sets QUEUED. */
static bool is_zero_or_set_queued(struct wg *g)
{
        uint64_t seen = w_load_acq(&g->word);                     /* [WG1] */

        while (seen & COUNT)
                if (w_cas_acqrel(&g->word, &seen, seen | QUEUED)) /* [WG1] */
                        return false;
        return true;
}

static W_NOINLINE int wait_slow(struct wg *g)
{
        struct wait        w;
        struct waitq_entry entry;
        int                rc = 0;

        w_wait_begin(&w, W_FOREVER, W_CANCELLABLE);
        w_waitq_entry_init(&entry, w_waitq_key(g, 0), &w.waiter);
        struct bucket *b = w_waitq_lock(entry.key);

        if (is_zero_or_set_queued(g)) {
                w_waitq_unlock(b);
        } else {
                w_waitq_append(b, &entry);
                uint32_t verdict = w_wait_park(&w, W_WAIT_GROUP, w_waitq_unlock, b);

                if (verdict < W_VERDICT_OTHER) {
                        w_waitq_withdraw(&entry);
                        rc = w_wait_error(&w, verdict);
                }
        }
        w_wait_end(&w);
        return rc;
}

/* ---- Public ---------------------------------------------------------------------------------- */

W_EXPORT void weft_wg_add(weft_wg *w, int n)
{
        bool released;

        if (W_UNLIKELY(!add(wg_of(w), n, false, &released)))
                release_all(wg_of(w), n);
}

W_EXPORT void weft_wg_done(weft_wg *w)
{
        weft_wg_add(w, -1);
}

W_EXPORT int weft_wg_wait(weft_wg *w)
{
        if (!w_m() && !w_run_is_on())
                return -ESHUTDOWN;
        W_ENTER();
        int rc = w_call_check();

        if (rc == 0 && w_load_acq(&wg_of(w)->word) & COUNT)       /* [WG1] */
                rc = wait_slow(wg_of(w));
        W_LEAVE();
        return rc;
}
