/* tests/sim/scenario_ring.c - PROTOCOL runq (sched/queue/runq.c) on the simulated machine.
 *
 * One owner puts numbered items into a ring of eight and takes some back, two thieves take the
 * rest, a full ring spills. Every item comes out exactly once; without `next` each party gets them
 * in the order in which they were put.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/runq_pop.h"
#include "sim/scenario.h"

#include <string.h>

struct g {
        uint32_t number;
};

enum { N_ITEMS = 150, N_THIEVES = 2 };

static struct runq  ring;
static struct g     items[N_ITEMS];
static uint32_t     n_taken[N_ITEMS];
static uint32_t     n_put;
static bool         uses_next;
static w_atomic_u32 finished;
static uint32_t   (*grab)(struct runq *victim, struct g **out);
static struct g  *(*push)(struct runq *q, struct g *gp);

struct taker {
        uint32_t at_least;      /* the lowest number that may still come, in runs without `next` */
};

static void count(struct g *gp)
{
        SIM_CHECK(gp >= items && gp < items + N_ITEMS, "something came out that was never put in");
        SIM_CHECK(n_taken[gp->number]++ == 0, "item %u came out twice", gp->number);
}

static void take(struct taker *t, struct g *gp)
{
        count(gp);
        SIM_CHECK(uses_next || gp->number >= t->at_least, "item %u came out after item %u",
                  gp->number, t->at_least - 1);
        t->at_least = gp->number + 1;
}

/* ---- Thieves -------------------------------------------------------------------------------- */

static uint32_t grab_real(struct runq *victim, struct g **out)
{
        return w_runq_grab(victim, out, sim_random(2) ? W_GRAB_RING : W_GRAB_NEXT_TOO);
}

static uint32_t rob_to_own(struct runq *own, struct taker *taker)
{
        struct g *gp = w_runq_steal(own, &ring, W_GRAB_NEXT_TOO);
        uint32_t  n = 0;

        for (; gp; gp = runq_pop(own), n++)
                take(taker, gp);
        return n;
}

static uint32_t rob(struct runq *own, struct taker *taker)
{
        struct g *got[W_RUNQ_HALF];

        if (own && sim_random(2))
                return rob_to_own(own, taker);
        uint32_t n = grab(&ring, got);

        for (uint32_t i = 0; i < n; i++)
                take(taker, got[i]);
        return n;
}

/* The owner is done and the ring was empty after that: nothing can come any more. */
static void steal(void *arg)
{
        struct taker taker = { 0 };

        for (;;) {
                bool last = w_load_acq(&finished);      /* [RI1] */

                if (rob(arg, &taker) == 0 && last)
                        return;
                if (sim_random(4) == 0)
                        sim_work(sim_random(300));
        }
}

/* ---- Owner ---------------------------------------------------------------------------------- */

/* The oldest half comes in order; the new one after it overtakes what stays in the ring. */
static void spill(struct taker *taker, struct g *gp)
{
        struct g *out[W_RUNQ_SPILL];
        uint32_t  n = gp ? w_runq_spill(&ring, gp, out) : 0;

        if (n == 0)
                return;
        SIM_CHECK(n == W_RUNQ_SPILL && out[n - 1] == gp, "%u spilled", n);
        for (uint32_t i = 0; i < W_RUNQ_HALF; i++)
                take(taker, out[i]);
        count(gp);
}

static void put_batch(struct taker *taker)
{
        struct g *batch[3];
        uint32_t  n = 0;

        for (; n < 3 && n_put < N_ITEMS; n++)
                batch[n] = &items[n_put++];
        for (uint32_t i = w_runq_push_batch(&ring, batch, n); i < n; i++)
                spill(taker, batch[i]);
}

static void put_some(struct taker *taker)
{
        if (sim_random(8) == 0)
                put_batch(taker);
        else if (uses_next && sim_random(2))
                spill(taker, w_runq_push_next(&ring, &items[n_put++]));
        else
                spill(taker, push(&ring, &items[n_put++]));
}

static void pop_one(struct taker *taker)
{
        if (sim_random(4) == 0)
                w_runq_keep_next(&ring);
        struct g *gp = sim_random(8) ? runq_pop(&ring) : w_runq_pop_ring(&ring);

        if (gp)
                take(taker, gp);
}

static void own(void)
{
        struct taker taker = { 0 };

        while (n_put < N_ITEMS) {
                put_some(&taker);
                if (sim_random(3) == 0)
                        pop_one(&taker);
        }
        for (struct g *gp; (gp = w_xchg_acq(&ring.next, NULL));)  /* what no thief may take */
                take(&taker, gp);
}

static void play(uint32_t (*with_grab)(struct runq *, struct g **),
                 struct g *(*with_push)(struct runq *, struct g *), bool with_next, bool with_own)
{
        static struct runq theirs[N_THIEVES];
        struct worker      thieves[N_THIEVES];

        memset(&ring, 0, sizeof(ring));
        memset(theirs, 0, sizeof(theirs));
        memset(n_taken, 0, sizeof(n_taken));
        ring.head.raw = ring.tail.raw = sim_random(2) ? UINT32_MAX - 20 : 0;    /* wraps */
        for (uint32_t i = 0; i < N_ITEMS; i++)
                items[i].number = i;
        n_put = finished.raw = 0;
        uses_next = with_next;
        grab = with_grab;
        push = with_push;
        for (int i = 0; i < N_THIEVES; i++)
                worker_start(&thieves[i], "thief", steal, with_own ? &theirs[i] : NULL);
        own();
        w_store_rel(&finished, 1);                              /* [RI1] */
        for (int i = 0; i < N_THIEVES; i++)
                worker_join(&thieves[i]);
        for (int i = 0; i < N_ITEMS; i++)
                SIM_CHECK(n_taken[i] == 1, "item %d came out %u times", i, n_taken[i]);
        SIM_CHECK(w_runq_is_empty(&ring), "the ring is not empty in the end");
}

static void ring_main(void)
{
        play(grab_real, w_runq_push, sim_random(2) == 0, true);
}

SIM_SCENARIO(ring, "one owner and two thieves at a ring of eight", ring_main, SIM_USUAL)

/* ---- Broken --------------------------------------------------------------------------------- */

/* The owner may reuse the slots as soon as head has moved. */
static uint32_t grab_claim_first(struct runq *victim, struct g **out)
{
        uint32_t h = w_load_acq(&victim->head);                 /* [RQ3] */
        uint32_t n = w_load_acq(&victim->tail) - h;             /* [RQ1] */

        n -= n / 2;
        if (n == 0 || n > W_RUNQ_HALF || !w_cas_acqrel(&victim->head, &h, h + n))
                return n ? grab_claim_first(victim, out) : 0;
        for (uint32_t i = 0; i < n; i++)
                out[i] = w_load_rlx(&victim->slots[(h + i) % W_RUNQ_CAP]);      /* too late */
        return n;
}

static void ring_claim_first_main(void)
{
        play(grab_claim_first, w_runq_push, false, false);
}

SIM_MUTANT(ring_claim_first, "a thief claims first and copies after", ring_claim_first_main,
           SIM_USUAL)

/* Two thieves may copy the same slots, and both believe that they own them. */
static uint32_t grab_no_claim(struct runq *victim, struct g **out)
{
        uint32_t h = w_load_acq(&victim->head);                 /* [RQ3] */
        uint32_t n = w_load_acq(&victim->tail) - h;             /* [RQ1] */

        n -= n / 2;
        if (n > W_RUNQ_HALF)
                return 0;
        for (uint32_t i = 0; i < n; i++)
                out[i] = w_load_rlx(&victim->slots[(h + i) % W_RUNQ_CAP]);      /* own word? no */
        w_store_rel(&victim->head, h + n);                      /* [RQ2] but not alone */
        return n;
}

static void ring_no_claim_main(void)
{
        play(grab_no_claim, w_runq_push, false, false);
}

SIM_MUTANT(ring_no_claim, "head is stored, not compared and swapped", ring_no_claim_main,
           SIM_USUAL)

/* Only the weak machine shows this bug. */
static struct g *push_relaxed(struct runq *q, struct g *gp)
{
        uint32_t h = w_load_acq(&q->head);                      /* [RQ2] */
        uint32_t t = w_load_rlx(&q->tail);                      /* own word */

        if (t - h >= W_RUNQ_CAP)
                return gp;
        w_store_rlx(&q->slots[t % W_RUNQ_CAP], gp);             /* guarded by nothing */
        w_store_rlx(&q->tail, t + 1);
        return NULL;
}

static void ring_relaxed_tail_main(void)
{
        play(grab_real, push_relaxed, false, false);
}

SIM_MUTANT(ring_relaxed_tail, "the tail is published without release", ring_relaxed_tail_main,
           SIM_USUAL)

/* A thief that puts an item back breaks the rule of the single producer. */
static uint32_t grab_and_put_back(struct runq *victim, struct g **out)
{
        uint32_t n = w_runq_grab(victim, out, W_GRAB_RING);

        if (n > 1 && !w_runq_push(victim, out[n - 1]))
                n--;
        return n;
}

static void ring_two_producers_main(void)
{
        play(grab_and_put_back, w_runq_push, true, false);
}

SIM_MUTANT(ring_two_producers, "a thief puts one back into the victim's ring",
           ring_two_producers_main, SIM_USUAL)
