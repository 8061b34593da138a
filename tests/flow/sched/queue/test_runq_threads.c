/* tests/flow/sched/queue/test_runq_threads.c - the run queue between real threads: nothing lost,
 * nothing doubled, never "empty" with something in it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/runq_pop.h"
#include "harness/test.h"

#include "base/rand.h"
#include "base/thread.h"
#include "os/os.h"

#include <string.h>

struct g {
        uint64_t content;       /* ordinary: ThreadSanitizer sees whether it is handed over */
        uint32_t n_taken;       /* o  by its one taker */
};

enum {
        STACK   = 256 << 10,
        BARE    = W_RUNQ_CAP - 1,
        N_G     = 60000,
        THIEVES = 2,
        ROUNDS  = 1000,
};

static struct runq   q, thief_q[THIEVES];
static struct g      gs[N_G];
static w_atomic_u32  n_out;             /* goroutines taken by any party */
static w_atomic_u32  round_start, round_end;

/* ---- One thread, bare queues: every fill level ----------------------------------------------- */

TEST(runq_every_fill_level_comes_back)
{
        for (uint32_t n = 0; n <= BARE; n++) {
                CHECK(w_runq_is_empty(&q));
                for (uint32_t i = 0; i < n; i++)
                        CHECK(w_runq_push(&q, &gs[i]) == NULL);
                for (uint32_t i = 0; i < n; i++)
                        CHECK(runq_pop(&q) == &gs[i]);
                CHECK(runq_pop(&q) == NULL);
                CHECK(w_runq_is_empty(&q));
        }
}

static uint32_t drain(struct runq *from)
{
        uint32_t n = 0;

        for (struct g *gp; (gp = runq_pop(from)); n++)
                gp->n_taken++;
        return n;
}

TEST(runq_every_fill_level_is_halved_by_a_steal)
{
        for (uint32_t n = 0; n <= BARE; n++) {
                memset(gs, 0, sizeof(gs[0]) * (n + 1));
                for (uint32_t i = 0; i < n; i++)
                        CHECK(w_runq_push(&q, &gs[i]) == NULL);
                struct g *gp = w_runq_steal(&thief_q[0], &q, W_GRAB_RING);
                uint32_t  stolen = 0;

                if (gp) {
                        gp->n_taken++;
                        stolen = 1 + drain(&thief_q[0]);
                }
                CHECK_EQ(stolen, (n + 1) / 2);
                CHECK_EQ(drain(&q), n - stolen);
                for (uint32_t i = 0; i < n; i++)
                        CHECK_EQ(gs[i].n_taken, 1);
        }
}

/* ---- Is it ever "empty" while it holds something? -------------------------------------------- */

static void await(w_atomic_u32 *word, uint32_t value)
{
        for (int i = 0; w_load_acq(word) < value; i++) {          /* pairs with step() */
                w_cpu_pause();
                if (i % 64 == 63)
                        w_os_yield();
        }
}

static void step(w_atomic_u32 *word)
{
        (void)w_add_acqrel(word, 1);
}

/* Race windows pause only threads that weft knows. */
static void be(struct thread *self, uint32_t id)
{
        *self = (struct thread){ .id = id, .window_rand = test_seed() + id };
        w_self_set(self);
}

static void onlooker(void *arg)
{
        struct thread self;

        (void)arg;
        be(&self, 1);
        for (uint32_t round = 1; round <= ROUNDS; round++) {
                await(&round_start, round);
                for (int i = 0; i < 20; i++)
                        CHECK(!w_runq_is_empty(&q));
                step(&round_end);
        }
        w_self_set(NULL);
}

static void busy_pause(uint64_t n)
{
        for (uint64_t i = 0; i < n; i++)
                w_cpu_pause();
}

/* The owner, with one in the queue, adds a second in each of the two ways and takes one. */
static void play_round(uint64_t *rand)
{
        bool in_next = w_rand(rand) & 1;

        CHECK((in_next ? w_runq_push_next(&q, &gs[0]) : w_runq_push(&q, &gs[0])) == NULL);
        step(&round_start);
        busy_pause(w_rand(rand) % 64);
        CHECK((w_rand(rand) & 1 ? w_runq_push_next(&q, &gs[1]) : w_runq_push(&q, &gs[1])) == NULL);
        CHECK(runq_pop(&q));
}

TEST(runq_is_never_empty_while_it_holds_one)
{
        struct w_os_thread t;
        uint64_t           rand = test_seed() | 1;
        struct thread      self;

        be(&self, 0);
        CHECK_EQ(w_os_thread_start(&t, "onlooker", STACK, onlooker, NULL), 0);
        for (uint32_t round = 1; round <= ROUNDS; round++) {
                play_round(&rand);
                await(&round_end, round);
                CHECK(runq_pop(&q));
                CHECK(w_runq_is_empty(&q));
        }
        w_os_thread_join(&t);
}

/* ---- One owner, two thieves ------------------------------------------------------------------ */

static void take(struct g *gp)
{
        CHECK_EQ(gp->content, (uint64_t)(gp - gs) * 3 + 1);
        gp->n_taken++;
        (void)w_add_rlx(&n_out, 1);     /* counter */
}

static void steal_all(void *arg)
{
        struct runq  *mine = arg;
        struct thread self;

        be(&self, (uint32_t)(mine - thief_q) + 1);
        step(&round_start);
        for (int i = 0; w_load_rlx(&n_out) < N_G; i++) {          /* counter */
                struct g *gp = w_runq_steal(mine, &q, i % 4 == 3 ? W_GRAB_NEXT_TOO : W_GRAB_RING);

                for (; gp; gp = runq_pop(mine))
                        take(gp);
                if (i % 64 == 63)
                        w_os_yield();
        }
        w_self_set(NULL);
}

static void put(struct g *gp, bool in_next)
{
        struct g *out[W_RUNQ_SPILL];
        struct g *left = in_next ? w_runq_push_next(&q, gp) : w_runq_push(&q, gp);
        uint32_t  n = left ? w_runq_spill(&q, left, out) : 0;

        for (uint32_t i = 0; i < n; i++)
                take(out[i]);
}

/* Now and then it waits until others have taken something, so that they get their share also where
 * there are fewer processors than threads. */
static void own_all(uint64_t *rand)
{
        for (int i = 0; i < N_G; i++) {
                uint64_t r = w_rand(rand);

                gs[i].content = (uint64_t)i * 3 + 1;
                put(&gs[i], r % 8 == 0);
                if (r % 16 == 1)
                        w_runq_keep_next(&q);
                struct g *gp = r / 64 % 4 == 0 ? runq_pop(&q) : NULL;
                if (gp)
                        take(gp);
                if (r % 512 == 2)
                        await(&n_out, w_load_rlx(&n_out) + (w_runq_len_hint(&q) > 1));
        }
}

TEST(runq_every_goroutine_comes_out_once)
{
        struct w_os_thread threads[THIEVES];
        uint64_t           rand = test_seed() | 1;
        struct thread      self;

        be(&self, 0);
        q.head.raw = q.tail.raw = UINT32_MAX - N_G / 2;
        for (int i = 0; i < THIEVES; i++)
                CHECK_EQ(w_os_thread_start(&threads[i], "thief", STACK, steal_all, &thief_q[i]),
                         0);
        await(&round_start, THIEVES);
        own_all(&rand);
        for (struct g *gp; w_load_rlx(&n_out) < N_G;)             /* counter */
                if ((gp = runq_pop(&q)))
                        take(gp);
        for (int i = 0; i < THIEVES; i++)
                w_os_thread_join(&threads[i]);
        for (int i = 0; i < N_G; i++)
                CHECK_EQ(gs[i].n_taken, 1);
        CHECK(w_runq_is_empty(&q));
}
