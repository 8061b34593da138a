/* sched/timer/timers.c - heaps of timers: arming, disarming, firing due timers.
 *
 * PROTOCOL timers
 *
 * Goal      A timer fires once, not before its time and soon after it. Once it is disarmed, no
 *           thread touches its record any more. Arming allocates nothing where it must not fail.
 * Parties   armer (the M that holds a P, for the P's heap; or a thread without a P, for any heap),
 *           disarmer (any thread), firer (any M with a P, on g0: fires its own heap when it
 *           searches, the heaps of other Ps when it steals), mover (the stopper of the world, when
 *           the P of a heap is removed).
 * Words     the heap and `closed`, under its lock; next_at, the key of its first timer; timer.home.
 * Armer     1. Lock.
 *           2. home := this heap.
 *           3. Push.
 *           4. Write next_at; unlock.
 *           5. The timer became the first of its heap: PROTOCOL timekeeper
 *              (sched/timer/timekeeper.c).
 *           Without a P, the chosen heap may be closed: use the heap of P 0, which never is.
 * Disarmer  1. Load home [TM1]; NULL: done.
 *           2. Lock. home unchanged: remove the timer, home := NULL, unlock; done.
 *           3. home is another heap by now: unlock, go to 1.
 * Mover     Meanwhile no M fires.
 *           1. Lock both heaps.
 *           2. All timers go to the other heap; home := that heap.
 *           3. Close the old heap; unlock both.
 * Firer     1. next_at is later than now: done.
 *           2. Lock. While the first timer is due: remove it, claim its goroutine, home := NULL
 *              [TM1]. That is the last touch of the record. Unlock.
 *           3. The claimed goroutines go to the own queue; if there are several, to idle Ps too
 *              (sched/ready.c).
 * Lazy timer   PROTOCOL lazytimer (sched/timer/lazytimer.c) says what happens when it is due. Its
 *           call is made without the lock, one timer at a time.
 * Memory    A full array is replaced by an array of twice the size, mapped before the lock is
 *           taken. A thread that does not hold the P leaves one slot free. So the M that holds the
 *           P, which read `tight` before its goroutine parked, finds a slot in the commit.
 * Edges     [TM1] the record is free again   firer: home store-release -> disarmer: load-acquire
 *           next_at is ordered by TM2 of PROTOCOL timekeeper, ID1 and ID2 of PROTOCOL idle
 *           (sched/idle.c).
 * Why a frame may go after disarm   If home is NULL, the firer's last touch is over. Otherwise the
 *           disarmer takes the lock, under which the firer does all its work. The mover works under
 *           it too: it holds the locks of the old home and the new home.
 * Why not early   A key is the time that was requested, and the firer reads the clock before the
 *           heap.
 * Rejected  Lazy removal of timers in frames (the frame goes away). One heap for all Ps (a lock
 *           that every sleep takes). A timer wheel (it rounds, and must be turned).
 * Tests     unit/test_timers.c, flow/time/test_sleep.c, explorer scenarios timers-*, sim scenarios
 *           timers_*, mutants timers-*; window timer-before-home.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/timer/timers.h"

#include "base/assert.h"
#include "base/window.h"
#include "sched/queue/queue.h"
#include "sched/ready.h"
#include "sched/sched.h"
#include "sched/thread/lockthread.h"
#include "sched/timer/lazytimer.h"
#include "sched/timer/timekeeper.h"

#include <errno.h>      /* -ENOMEM */
#include <string.h>

int64_t w_time_after(int64_t now, int64_t ns)
{
        if (ns <= 0)
                return now;
        return ns >= W_FOREVER - now ? W_FOREVER : now + ns;
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static void moved(void *item, uint32_t index)
{
        struct timer *t = item;

        t->index = index;
}

void w_timers_init(struct timers *ts)
{
        *ts = (struct timers){ .heap.moved = moved, .tight = true,
                               .next_at = W_ATOMIC_INIT(W_FOREVER) };
        w_lock_init(&ts->lock, W_LOCK_timers);
}

static size_t slots_bytes(uint32_t cap)
{
        return cap * sizeof(struct heap_slot);
}

void w_timers_free(struct timers *ts)
{
        if (ts->heap.slots)
                w_os_vm_unmap(ts->heap.slots, slots_bytes(ts->heap.cap));
        ts->heap = (struct heap){ 0 };
}

/* True: the heap has room for `spare` more timers. */
static bool has_room(const struct timers *ts, uint32_t spare)
{
        return ts->heap.cap - ts->heap.n >= spare;
}

/* Replaces the array by one of `cap` slots. Returns the array that the caller must unmap: the old
 * array; or `slots`, if the heap has grown meanwhile. */
static struct heap_slot *swap_array_locked(struct timers *ts, struct heap_slot *slots, uint32_t cap)
{
        struct heap_slot *old = ts->heap.slots;

        if (ts->heap.cap >= cap)
                return slots;
        if (old)
                memcpy(slots, old, slots_bytes(ts->heap.n));
        ts->heap.slots = slots;
        ts->heap.cap = cap;
        return old;
}

static int grow(struct timers *ts, uint32_t from)
{
        uint32_t cap = from ? 2 * from : (uint32_t)(w_os_page_size() / sizeof(struct heap_slot));
        void    *memory;
        int      rc = w_os_vm_map(&memory, slots_bytes(cap));

        if (rc < 0)
                return -ENOMEM;
        w_lock(&ts->lock);
        void *old = swap_array_locked(ts, memory, cap);

        w_unlock(&ts->lock);
        if (old)
                w_os_vm_unmap(old, slots_bytes(old == memory ? cap : from));
        return 0;
}

int w_timers_lock_with_room(struct timers *ts)
{
        struct p *pp = w_p();
        uint32_t  spare = pp && ts == &pp->timers ? 1 : 2;

        for (;;) {
                w_lock(&ts->lock);
                if (has_room(ts, spare))
                        return 0;
                uint32_t cap = ts->heap.cap;

                w_unlock(&ts->lock);
                if (grow(ts, cap) < 0)
                        return -ENOMEM;
        }
}

int w_timer_reserve(void)
{
        struct p *pp = w_p();

        if (W_LIKELY(!pp || !pp->timers.tight))
                return 0;
        int rc = w_timers_lock_with_room(&pp->timers);

        if (rc < 0)
                return rc;
        w_unlock(&pp->timers.lock);
        pp->timers.tight = false;
        return 0;
}

/* ---- The heap, under its lock ---------------------------------------------------------------- */

void w_timers_changed_locked(struct timers *ts)
{
        W_ASSERT(w_lock_held(W_LOCK_timers));
        int64_t first = ts->heap.n ? ts->heap.slots[0].key : W_FOREVER;

        if (w_timers_next_at(ts) != first)
                w_store_rlx(&ts->next_at, (uint64_t)first);       /* guarded by TM2 */
}

void w_timers_push_locked(struct timers *ts, struct timer *t, int64_t when)
{
        struct p *pp = w_p();

        w_heap_push(&ts->heap, when, t);
        w_timers_changed_locked(ts);
        if (pp && ts == &pp->timers)
                ts->tight = !has_room(ts, 1);
}

void w_timers_rekey_locked(struct timers *ts, struct timer *t, int64_t when)
{
        w_heap_rekey(&ts->heap, t->index, when);
        w_timers_changed_locked(ts);
}

void w_timers_remove_locked(struct timers *ts, struct timer *t)
{
        (void)w_heap_remove(&ts->heap, t->index);
        w_timers_changed_locked(ts);
}

int64_t w_timers_key_locked(const struct timers *ts, const struct timer *t)
{
        return ts->heap.slots[t->index].key;
}

/* An M on g0 that holds this P is about to search, and need not notify: PROTOCOL timekeeper says
 * why (sched/timer/timekeeper.c). An M that holds the only P need not notify either. */
void w_timers_unlock_told(struct timers *ts, int64_t first_before)
{
        int64_t first = w_timers_next_at(ts);

        w_unlock(&ts->lock);
        if (first >= first_before)
                return;
        struct m *mp = w_m();

        if (mp && mp->p && ts == &mp->p->timers && (!mp->curg || w_n_procs() == 1))
                return;
        w_timekeeper_notify(first);
}

/* ---- Arming and disarming -------------------------------------------------------------------- */

/* Locks a heap for a thread without a P. The timers of such threads spread over the heaps of all
 * Ps. If the P is removed, locks the heap of P 0 instead. NULL: no memory. */
static struct timers *lock_some_heap(const struct timer *t)
{
        struct timers *ts = &w_sched.all_p[((uintptr_t)t >> 6) % w_n_p()]->timers;

        if (w_timers_lock_with_room(ts) < 0)
                return NULL;
        if (W_LIKELY(!ts->closed))
                return ts;
        w_unlock(&ts->lock);
        ts = &w_sched.all_p[0]->timers;
        return w_timers_lock_with_room(ts) < 0 ? NULL : ts;
}

bool w_timer_arm(struct timer *t, int64_t when)
{
        struct p      *pp = w_p();
        struct timers *ts = pp ? &pp->timers : lock_some_heap(t);

        if (W_UNLIKELY(!ts))
                return false;
        if (W_LIKELY(pp != NULL))
                w_lock(&ts->lock);
        int64_t before = w_timers_next_at(ts);

        W_ASSERT(!w_load_rlx(&t->home) && has_room(ts, 1) && !ts->closed);      /* own word */
        w_store_rlx(&t->home, ts);                                /* guarded by the lock */
        w_timers_push_locked(ts, t, when);
        w_timers_unlock_told(ts, before);
        return true;
}

/* Locks the heap that t is in; NULL: none. t may move to another heap before the lock is taken. */
static struct timers *lock_home(struct timer *t)
{
        for (;;) {
                struct timers *ts = w_load_acq(&t->home);         /* [TM1] */

                if (!ts)
                        return NULL;
                w_lock(&ts->lock);
                if (W_LIKELY(w_load_rlx(&t->home) == ts))         /* guarded by the lock */
                        return ts;
                w_unlock(&ts->lock);
        }
}

bool w_timer_disarm(struct timer *t)
{
        struct timers *ts = lock_home(t);

        if (!ts)
                return false;
        w_timers_remove_locked(ts, t);
        w_store_rlx(&t->home, NULL);                              /* guarded by the lock */
        w_unlock(&ts->lock);
        return true;
}

/* ---- Firing ---------------------------------------------------------------------------------- */

static struct g *fire_frame_locked(struct timers *ts, struct timer *t)
{
        (void)w_heap_remove(&ts->heap, 0);
        struct g *gp = t->claim(t);

        W_WINDOW("timer-before-home");
        w_store_rel(&t->home, NULL);                              /* [TM1] */
        if (gp && !w_g_try_move(gp, G_WAITING, G_RUNNABLE))
                w_g_move(gp, G_WAITING_LOCKED, G_RUNNABLE);
        return gp;
}

/* Fires due timers, and collects the woken goroutines in `woken`. True: it stopped because *r has a
 * call that must be made without the lock. */
static bool fire_locked(struct timers *ts, int64_t now, struct queue *woken, struct timer_call *r)
{
        r->call = NULL;
        while (!r->call && ts->heap.n && ts->heap.slots[0].key <= now) {
                struct timer *t = ts->heap.slots[0].item;
                struct g     *gp = t->claim ? fire_frame_locked(ts, t)
                                            : w_lazytimer_due_locked(t, now, r);

                if (gp)
                        w_queue_push(woken, &gp->link);
        }
        w_timers_changed_locked(ts);
        return r->call != NULL;
}

/* The goroutine with the earliest timer runs next on pp, the rest in the order of their timers. */
static void queue_woken(struct p *pp, struct queue *woken)
{
        w_lockthread_sort_out(woken);
        struct queue_node *first = w_queue_pop(woken);

        if (!first)
                return;
        w_queue_put_next(pp, W_CONTAINER_OF(first, struct g, link));
        if (woken->n)
                w_ready_publish(pp, woken);
}

uint32_t w_timers_run(struct timers *ts, int64_t now)
{
        struct queue woken = { 0 };
        struct timer_call  r;
        bool         more;

        do {
                w_lock(&ts->lock);
                more = fire_locked(ts, now, &woken, &r);
                w_unlock(&ts->lock);
                if (more)
                        r.call(&r);
        } while (more);
        uint32_t n = woken.n;

        queue_woken(w_p(), &woken);
        return n;
}

int64_t w_timers_first(int64_t after)
{
        int64_t first = W_FOREVER;

        for (uint32_t i = 0; i < w_n_procs(); i++) {
                int64_t at = w_timers_next_at(&w_sched.all_p[i]->timers);

                if (at > after && at < first)
                        first = at;
        }
        return first;
}

/* Skips lazy timers that were stopped: these stay in the heap for some time. */
static bool has_pending_locked(const struct timers *ts)
{
        for (uint32_t i = 0; i < ts->heap.n; i++) {
                struct timer *t = ts->heap.slots[i].item;

                if (t->claim ? ts->heap.slots[i].key != W_FOREVER : w_lazytimer_is_set(t))
                        return true;
        }
        return false;
}

bool w_timers_pending(void)
{
        bool pending = false;

        for (uint32_t i = 0; i < w_n_p() && !pending; i++) {
                struct timers *ts = &w_sched.all_p[i]->timers;

                w_lock(&ts->lock);
                pending = has_pending_locked(ts);
                w_unlock(&ts->lock);
        }
        return pending;
}

/* ---- Moving ---------------------------------------------------------------------------------- */

/* Locks both heaps, with room in `to` for all timers of `from` and one more for the M of its P. */
static int lock_both(struct timers *from, struct timers *to)
{
        for (;;) {
                w_lock(&from->lock);
                w_lock(&to->lock);      /* no other thread holds the locks of two heaps */
                if (has_room(to, from->heap.n + 1))
                        return 0;
                uint32_t cap = to->heap.cap;

                w_unlock(&to->lock);
                w_unlock(&from->lock);
                if (grow(to, cap) < 0)
                        return -ENOMEM;
        }
}

static void move_locked(struct timers *from, struct timers *to)
{
        for (uint32_t i = 0; i < from->heap.n; i++) {
                struct timer *t = from->heap.slots[i].item;

                w_heap_push(&to->heap, from->heap.slots[i].key, t);
                if (t->claim)
                        w_store_rel(&t->home, to);                /* [TM1] */
                else
                        w_lazytimer_moved(t, to);
        }
        uint32_t n_dead = w_xchg_rlx(&from->n_dead, 0);           /* counter */

        w_add_rlx(&to->n_dead, n_dead);                           /* counter */
        from->heap.n = 0;
}

int w_timers_close(struct timers *from, struct timers *to)
{
        W_ASSERT(from != to && !to->closed);
        if (lock_both(from, to) < 0)
                return -ENOMEM;
        move_locked(from, to);
        from->closed = true;
        w_timers_changed_locked(to);
        w_timers_changed_locked(from);
        w_unlock(&to->lock);
        w_unlock(&from->lock);
        return 0;
}

void w_timers_open(struct timers *ts)
{
        w_lock(&ts->lock);
        ts->closed = false;
        ts->tight = true;
        w_unlock(&ts->lock);
}

/* ---- Checking -------------------------------------------------------------------------------- */

void w_timers_check(struct timers *ts)
{
        w_lock(&ts->lock);
        const struct heap *h = &ts->heap;
        int64_t            first = h->n ? h->slots[0].key : W_FOREVER;

        W_CHECK(h->n <= h->cap && w_heap_ordered(h), "check: a heap of timers is out of order");
        W_CHECK(!ts->closed || h->n == 0, "check: %u timers of a P that is gone", h->n);
        W_CHECK(w_timers_next_at(ts) == first, "check: a timer is due at %ld, told %ld",
                (long)first, (long)w_timers_next_at(ts));
        for (uint32_t i = 0; i < h->n; i++)
                W_CHECK(((struct timer *)h->slots[i].item)->index == i,
                        "check: timer %p does not know its place", h->slots[i].item);
        w_unlock(&ts->lock);
}
