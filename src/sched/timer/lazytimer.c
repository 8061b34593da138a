/* sched/timer/lazytimer.c - lazy timers: set, postponed and stopped without touching the heap.
 *
 * PROTOCOL lazytimer
 *
 * Goal      A lazy timer fires once for each time that it was set, unless it was stopped or set
 *           again before; then it does not fire for the old time. Stopping and postponing cost one
 *           change of a word, from any thread. The record outlives its slot in the heap.
 * Parties   setter, stopper, freer (any thread); firer and sweeper (hold the heap's lock); mover
 *           (of PROTOCOL timers, sched/timer/timers.c; holds the locks of two heaps).
 * Words     word   when << 3 | HEAPED | SET | FREED
 *                  HEAPED   in a heap; changes under the heap's lock only
 *                  SET      will fire
 *                  FREED    the record is free once it is not HEAPED
 *                  The key in the heap is no later than `when`, or a setter that holds the lock is
 *                  about to lower the key.
 *           heap   changes under the lock of the heap that it names. A thread that holds that lock
 *                  and still reads the same heap has the right heap.
 * Setter    1. HEAPED, and the new time is not earlier than `when`: word := new time, SET [AL1].
 *              Done; the firer will see the new time.
 *           2. Otherwise, under the heap's lock: word := new time, SET, HEAPED [AL1]; push the
 *              timer or lower its key.
 * Stopper   SET -> not SET [AL1]: it was in time.
 * Freer     word := not SET, FREED [AL1]. Not HEAPED: the record is free.
 * Firer     The key is due.
 *           1. SET, and `when` is later: key := when. Done.
 *           2. SET, due and periodic: word := next time [AL1], key := next time. Prepare the call.
 *              Done; the timer stays.
 *           3. SET and due: SET -> not SET [AL1]. Prepare the goroutine.
 *           4. Not SET: take the timer out of the heap; HEAPED -> not HEAPED [AL1]. FREED: the
 *              record is free. The timer was set again in between: push it again, key := when.
 * Sweeper   More than a quarter of the timers in the heap are not SET: drop all of them. Setters
 *           that push a timer sweep, and now and then stoppers do.
 * Mover     heap := the other heap [AL2].
 * Closed    The heap of a timer that is in no heap may have been closed. A setter that holds its
 *           lock sees that: heap := heap of P 0 [AL2], then the setter begins again.
 * Edges     [AL1] what each party did before   word CAS and xchg-acqrel -> the next party: CAS,
 *                                              xchg-acqrel and load-acquire
 *           [AL2] the heap itself   heap store-release -> heap load-acquire
 * Why not for an old time   The firer moves SET by a CAS on the very time that it saw.
 * Why a record is freed once   HEAPED and FREED change in one word. The party that makes the word
 *           FREED and not HEAPED frees the record.
 * No memory for the goroutine   The timer stays set, and the firer tries again RETRY_NS later,
 *           unless the timer was set again at that very moment.
 * Rejected  Removal at every stop (two locked instructions and a sift, although most timers are
 *           stopped before they fire). Moving the timer to the setter's heap (the word would have
 *           to name the heap).
 * Tests     unit/test_timers.c, flow/time/test_timer.c, explorer scenarios timers-lazy*,
 *           timers-close-*, sim scenarios timers_*, mutants timers-*.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/timer/lazytimer.h"

#include "base/assert.h"
#include "base/records.h"
#include "sched/sched.h"
#include "sched/spawn.h"

#include <errno.h>      /* -ENOMEM */

enum lazytimer_bit { HEAPED = 1, SET = 2, FREED = 4, N_BITS = 3 };

enum {
        RETRY_NS = 1000000,
        CACHE_MAX = 64,         /* cached records per P; spills down to half */
        SWEEP_MIN = 64,         /* stopped timers that are worth a pass over the heap */
};

#define LATEST (INT64_MAX >> N_BITS)    /* 36 years after the machine's start: never */

static struct {
        struct lock    lock;    /* class lazytimers */
        struct records records; /* with the central free list */
} all;

/* ---- Records --------------------------------------------------------------------------------- */

void w_lazytimers_init(void)
{
        w_lock_init(&all.lock, W_LOCK_lazytimers);
        w_records_init(&all.records, sizeof(struct lazytimer));
}

void w_lazytimers_destroy(void)
{
        w_records_destroy(&all.records);
}

static struct lazytimer *get_record(struct p *pp)
{
        struct queue_node *n = pp ? w_queue_pop(&pp->free_lazytimers) : NULL;

        if (n)
                return (struct lazytimer *)(void *)n;
        w_lock(&all.lock);
        struct lazytimer *a = w_records_get(&all.records);

        w_unlock(&all.lock);
        return a;
}

static void give_back(struct p *pp, uint32_t keep)
{
        w_lock(&all.lock);
        while (pp->free_lazytimers.n > keep)
                w_records_put(&all.records, w_queue_pop(&pp->free_lazytimers));
        w_unlock(&all.lock);
}

static void put_record(struct lazytimer *a)
{
        struct p *pp = w_p();

        if (!pp) {
                w_lock(&all.lock);
                w_records_put(&all.records, a);
                w_unlock(&all.lock);
                return;
        }
        w_queue_push_front(&pp->free_lazytimers, (struct queue_node *)(void *)a);
        if (W_UNLIKELY(pp->free_lazytimers.n > CACHE_MAX))
                give_back(pp, CACHE_MAX / 2);
}

void w_lazytimer_cache_drain(struct p *pp)
{
        give_back(pp, 0);
}

/* Leaves `heap` alone: another thread may still read it, see w_lazytimer_free_now(). */
static void fill(struct lazytimer *a, const struct lazytimer *like)
{
        a->timer = (struct timer){ 0 };
        a->word.raw = 0;        /* unpublished */
        a->period = like->period;
        a->fn = like->fn;
        a->arg = like->arg;
        a->created_at = like->created_at;
        a->hold = like->hold;
        a->room[0] = NULL;
}

struct lazytimer *w_lazytimer_new(const struct lazytimer *like)
{
        struct p     *pp = w_p();
        struct lazytimer *a = get_record(pp);

        if (!a)
                return NULL;
        struct p *home = pp ? pp : w_sched.all_p[((uintptr_t)a >> 7) % w_n_p()];

        fill(a, like);
        w_store_rel(&a->heap, &home->timers);                     /* [AL2] */
        return a;
}

/* ---- The word -------------------------------------------------------------------------------- */

/* Context: with the lock of that heap. */
static struct timers *heap_locked(const struct lazytimer *a)
{
        return w_load_rlx(&a->heap);                              /* guarded by the lock */
}

void w_lazytimer_moved(struct timer *t, struct timers *to)
{
        w_store_rel(&((struct lazytimer *)t)->heap, to);              /* [AL2] */
}

/* Locks the heap that `a` is in or must go into, and makes room. NULL: no memory. */
static struct timers *lock_heap(struct lazytimer *a)
{
        for (;;) {
                struct timers *ts = w_load_acq(&a->heap);         /* [AL2] */

                if (w_timers_lock_with_room(ts) < 0)
                        return NULL;
                if (W_LIKELY(heap_locked(a) == ts && !ts->closed))
                        return ts;
                if (heap_locked(a) == ts)
                        w_store_rel(&a->heap, &w_sched.all_p[0]->timers);       /* [AL2] */
                w_unlock(&ts->lock);
        }
}

static int64_t when_of(uint64_t word)
{
        return (int64_t)(word >> N_BITS);
}

static uint64_t word_for(int64_t when, uint64_t bits)
{
        return (uint64_t)(when < LATEST ? when : LATEST) << N_BITS | bits;
}

static void check_alive(const struct lazytimer *a, uint64_t word)
{
        W_CHECK(!(word & FREED), "timer %p is used after it was freed", (const void *)a);
}

/* ---- Stopped timers in the heap -------------------------------------------------------------- */

/* Clears HEAPED; the caller must not touch `a` afterwards. False: `a` is set, and stays. */
static bool drop_word_locked(struct timers *ts, struct lazytimer *a)
{
        uint64_t word = w_load_acq(&a->word);                     /* [AL1] */

        do {
                if (word & SET)
                        return false;
        } while (!w_cas_acqrel(&a->word, &word, word & ~(uint64_t)HEAPED));     /* [AL1] */
        w_sub_rlx(&ts->n_dead, 1);                                /* counter */
        if (word & FREED)
                put_record(a);
        return true;
}

static void sweep_locked(struct timers *ts)
{
        struct heap *h = &ts->heap;
        uint32_t     kept = 0;

        for (uint32_t i = 0; i < h->n; i++) {
                struct timer *t = h->slots[i].item;

                if (!t->claim && drop_word_locked(ts, (struct lazytimer *)t))
                        continue;
                h->slots[kept] = h->slots[i];
                h->moved(t, kept++);
        }
        h->n = kept;
        w_heap_rebuild(h);
        w_timers_changed_locked(ts);
}

/* n_dead may be too high or too low for a moment, even negative. Only the sweep itself examines the
 * timers. */
static bool worth_a_sweep_locked(struct timers *ts)
{
        int64_t n = (int32_t)w_load_rlx(&ts->n_dead);             /* counter */

        return n >= SWEEP_MIN && 4 * n > ts->heap.n;
}

/* At every power of two the stopper itself checks whether a sweep is worth it: perhaps no setter
 * pushes any more. */
static void count_dead(struct timers *ts)
{
        uint32_t n = w_add_rlx(&ts->n_dead, 1) + 1;               /* counter */

        if (W_LIKELY(n < 4 * SWEEP_MIN || (n & (n - 1)) != 0))
                return;
        w_lock(&ts->lock);
        if (worth_a_sweep_locked(ts))
                sweep_locked(ts);
        w_unlock(&ts->lock);
}

/* ---- Setting, stopping, freeing -------------------------------------------------------------- */

static int set_locked(struct lazytimer *a, int64_t when)
{
        struct timers *ts = lock_heap(a);

        if (!ts)
                return -ENOMEM;
        int64_t  before = w_timers_next_at(ts);
        uint64_t old = w_xchg_acqrel(&a->word, word_for(when, SET | HEAPED));   /* [AL1] */

        check_alive(a, old);
        if (!(old & HEAPED)) {
                if (worth_a_sweep_locked(ts))
                        sweep_locked(ts);
                w_timers_push_locked(ts, &a->timer, when);
        } else {
                if (!(old & SET))
                        w_sub_rlx(&ts->n_dead, 1);                /* counter */
                if (w_timers_key_locked(ts, &a->timer) > when)
                        w_timers_rekey_locked(ts, &a->timer, when);
        }
        w_timers_unlock_told(ts, before);
        return (old & SET) != 0;
}

int w_lazytimer_set(struct lazytimer *a, int64_t when)
{
        struct timers *ts = w_load_acq(&a->heap);                 /* [AL2] */
        uint64_t       old = w_load_rlx(&a->word);                /* hint: the CAS decides */

        do {
                check_alive(a, old);
                if (!(old & HEAPED) || when < when_of(old))
                        return set_locked(a, when);
        } while (!w_cas_acqrel(&a->word, &old, word_for(when, SET | HEAPED)));  /* [AL1] */
        if (!(old & SET))
                w_sub_rlx(&ts->n_dead, 1);                        /* counter */
        return (old & SET) != 0;
}

bool w_lazytimer_is_set(const struct timer *t)
{
        const struct lazytimer *a = W_CONTAINER_OF(t, const struct lazytimer, timer);

        return w_load_acq(&a->word) & SET;                        /* [AL1] */
}

bool w_lazytimer_stop(struct lazytimer *a)
{
        struct timers *ts = w_load_acq(&a->heap);                 /* [AL2] */
        uint64_t       old = w_load_acq(&a->word);                /* [AL1] */

        do {
                check_alive(a, old);
                if (!(old & SET))
                        return false;
        } while (!w_cas_acqrel(&a->word, &old, old & ~(uint64_t)SET));  /* [AL1] */
        count_dead(ts);
        return true;
}

void w_lazytimer_free(struct lazytimer *a)
{
        struct timers *ts = w_load_acq(&a->heap);                 /* [AL2] */
        uint64_t       old = w_load_acq(&a->word);                /* [AL1] */

        do
                check_alive(a, old);
        while (!w_cas_acqrel(&a->word, &old, (old & ~(uint64_t)SET) | FREED));  /* [AL1] */
        if (!(old & HEAPED))
                put_record(a);
        else if (old & SET)
                count_dead(ts);
}

/* A firer in `hold` has the lock of the timer's heap, and moved the word before it was FREED. So
 * the heap that is read afterwards is the right heap, also if the timer has just moved there. The
 * record may belong to another timer by now: then no firer is in `hold` any more, and one more lock
 * is harmless. */
void w_lazytimer_free_now(struct lazytimer *a)
{
        w_lazytimer_free(a);
        struct timers *ts = w_load_acq(&a->heap);                 /* [AL2] */

        w_lock(&ts->lock);
        w_unlock(&ts->lock);
}

/* ---- Due ------------------------------------------------------------------------------------- */

/* Returns the next time after now, in whole periods from `when`. Missed times are skipped. */
static int64_t next_period(int64_t when, int64_t period, int64_t now)
{
        return w_time_after(when, w_time_after(now - when, period) / period * period);
}

/* `a` is due and not set any more: takes it out of the heap, unless it was set again. It must be
 * out of the heap before HEAPED is cleared: from then on the record may belong to another timer. */
static void leave_locked(struct lazytimer *a)
{
        struct timers *ts = heap_locked(a);

        w_timers_remove_locked(ts, &a->timer);
        if (!drop_word_locked(ts, a))
                w_timers_push_locked(ts, &a->timer, when_of(w_load_acq(&a->word)));     /* [AL1] */
}

static struct g *once_locked(struct lazytimer *a, uint64_t word, int64_t now)
{
        if (!w_cas_acqrel(&a->word, &word, word & ~(uint64_t)SET))      /* [AL1] */
                return NULL;            /* stopped or set again: the loop sees it again */
        w_add_rlx(&heap_locked(a)->n_dead, 1);                    /* counter */
        struct g *gp = w_spawn_hidden(a->fn, a->arg, a->created_at);

        if (gp) {
                leave_locked(a);
                return gp;
        }
        word &= ~(uint64_t)SET;
        if (w_cas_acqrel(&a->word, &word, word | SET))            /* [AL1] */
                w_sub_rlx(&heap_locked(a)->n_dead, 1);            /* counter */
        w_timers_rekey_locked(heap_locked(a), &a->timer, now + RETRY_NS);
        return NULL;
}

static void period_locked(struct lazytimer *a, uint64_t word, int64_t now, struct timer_call *r)
{
        int64_t when = when_of(word);
        int64_t next = next_period(when, a->period, now);

        if (!w_cas_acqrel(&a->word, &word, word_for(next, SET | HEAPED)))       /* [AL1] */
                return;
        w_timers_rekey_locked(heap_locked(a), &a->timer, next);
        r->due = when;
        a->hold(a, r);
}

struct g *w_lazytimer_due_locked(struct timer *t, int64_t now, struct timer_call *r)
{
        struct lazytimer *a = (struct lazytimer *)t;
        uint64_t      word = w_load_acq(&a->word);                /* [AL1] */

        r->call = NULL;
        if (!(word & SET))
                leave_locked(a);
        else if (when_of(word) > now)
                w_timers_rekey_locked(heap_locked(a), t, when_of(word));
        else if (a->fn)
                return once_locked(a, word, now);
        else
                period_locked(a, word, now, r);
        return NULL;
}
