/* tests/unit/test_runq.c - the run queue by itself, one thread: order, fullness, halves, `next`.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/runq_pop.h"
#include "harness/test.h"

#include <string.h>

struct g {
        int unused;
};

static struct runq q, other;
static struct g    gs[3 * W_RUNQ_CAP];

static void fill(uint32_t first, uint32_t n)
{
        for (uint32_t i = 0; i < n; i++)
                CHECK(w_runq_push(&q, &gs[first + i]) == NULL);
}

static void check_pops(struct runq *from, uint32_t first, uint32_t n)
{
        for (uint32_t i = 0; i < n; i++) {
                struct g *gp = runq_pop(from);
                CHECK_EQ(gp - gs, first + i);
        }
}

static void check_is_empty(struct runq *queue)
{
        CHECK(w_runq_is_empty(queue));
        CHECK_EQ(w_runq_len_hint(queue), 0);
        CHECK(runq_pop(queue) == NULL);
}

TEST(runq_all_zero_is_empty)
{
        check_is_empty(&q);
}

TEST(runq_is_first_in_first_out)
{
        fill(0, W_RUNQ_CAP);
        CHECK_EQ(w_runq_len_hint(&q), W_RUNQ_CAP);
        check_pops(&q, 0, W_RUNQ_CAP);
        check_is_empty(&q);
}

TEST(runq_positions_wrap_around)
{
        q.head.raw = q.tail.raw = UINT32_MAX - 5;
        for (int round = 0; round < 5; round++) {
                fill(0, W_RUNQ_CAP);
                CHECK(w_runq_push(&q, &gs[300]) == &gs[300]);
                CHECK_EQ(w_runq_len_hint(&q), W_RUNQ_CAP);
                check_pops(&q, 0, W_RUNQ_CAP);
                check_is_empty(&q);
        }
}

TEST(runq_grab_wraps_around)
{
        struct g *out[W_RUNQ_HALF];

        q.head.raw = q.tail.raw = UINT32_MAX - 1;
        fill(0, 5);
        CHECK_EQ(w_runq_grab(&q, out, W_GRAB_RING), 3);
        for (int i = 0; i < 3; i++)
                CHECK(out[i] == &gs[i]);
        check_pops(&q, 3, 2);
}

TEST(runq_push_full_returns_it)
{
        fill(0, W_RUNQ_CAP);
        CHECK(w_runq_push(&q, &gs[W_RUNQ_CAP]) == &gs[W_RUNQ_CAP]);
        check_pops(&q, 0, 1);
        CHECK(w_runq_push(&q, &gs[W_RUNQ_CAP]) == NULL);
        check_pops(&q, 1, W_RUNQ_CAP);
}

TEST(runq_spill_moves_oldest_half_and_new_one)
{
        struct g *out[W_RUNQ_SPILL];

        fill(0, W_RUNQ_CAP);
        CHECK_EQ(w_runq_spill(&q, &gs[W_RUNQ_CAP], out), W_RUNQ_SPILL);
        for (int i = 0; i < W_RUNQ_HALF; i++)
                CHECK(out[i] == &gs[i]);
        CHECK(out[W_RUNQ_HALF] == &gs[W_RUNQ_CAP]);
        check_pops(&q, W_RUNQ_HALF, W_RUNQ_HALF);
        check_is_empty(&q);
}

TEST(runq_spill_with_room_appends)
{
        struct g *out[W_RUNQ_SPILL];

        fill(0, 3);
        CHECK_EQ(w_runq_spill(&q, &gs[3], out), 0);
        check_pops(&q, 0, 4);
}

TEST(runq_next_goes_first_and_says_so)
{
        fill(0, 2);
        CHECK(w_runq_push_next(&q, &gs[9]) == NULL);
        CHECK_EQ(w_runq_len_hint(&q), 3);
        CHECK(w_runq_pop_next(&q) == &gs[9]);
        CHECK(w_runq_pop_next(&q) == NULL);
        CHECK(w_runq_pop_ring(&q) == &gs[0]);
}

TEST(runq_next_displaces_to_the_tail)
{
        fill(0, 2);
        CHECK(w_runq_push_next(&q, &gs[2]) == NULL);
        CHECK(w_runq_push_next(&q, &gs[9]) == NULL);
        CHECK(runq_pop(&q) == &gs[9]);
        check_pops(&q, 0, 3);
        check_is_empty(&q);
}

TEST(runq_next_displaced_from_a_full_ring_is_returned)
{
        fill(0, W_RUNQ_CAP);
        CHECK(w_runq_push_next(&q, &gs[400]) == NULL);
        CHECK(w_runq_push_next(&q, &gs[401]) == &gs[400]);
        CHECK(runq_pop(&q) == &gs[401]);
        check_pops(&q, 0, W_RUNQ_CAP);
}

TEST(runq_next_alone_is_not_empty)
{
        CHECK(w_runq_push_next(&q, &gs[0]) == NULL);
        CHECK(!w_runq_is_empty(&q));
        CHECK_EQ(w_runq_len_hint(&q), 1);
}

TEST(runq_pop_ring_leaves_next)
{
        fill(0, 1);
        CHECK(w_runq_push_next(&q, &gs[9]) == NULL);
        CHECK(w_runq_pop_ring(&q) == &gs[0]);
        CHECK(w_runq_pop_ring(&q) == NULL);
        CHECK(runq_pop(&q) == &gs[9]);
}

TEST(runq_grab_takes_half_rounded_up)
{
        struct g *out[W_RUNQ_HALF];

        for (uint32_t n = 0; n <= W_RUNQ_CAP; n++) {
                memset(&q, 0, sizeof(q));
                fill(0, n);
                uint32_t got = w_runq_grab(&q, out, W_GRAB_NEXT_TOO);
                CHECK_EQ(got, (n + 1) / 2);
                for (uint32_t i = 0; i < got; i++)
                        CHECK(out[i] == &gs[i]);
                check_pops(&q, got, n - got);
                check_is_empty(&q);
        }
}

TEST(runq_grab_takes_next_only_in_the_last_round)
{
        struct g *out[W_RUNQ_HALF];

        fill(0, 1);
        CHECK(w_runq_push_next(&q, &gs[9]) == NULL);
        CHECK_EQ(w_runq_grab(&q, out, W_GRAB_NEXT_TOO), 1);
        CHECK(out[0] == &gs[0]);
        CHECK_EQ(w_runq_grab(&q, out, W_GRAB_RING), 0);
        CHECK_EQ(w_runq_grab(&q, out, W_GRAB_NEXT_TOO), 1);
        CHECK(out[0] == &gs[9]);
        check_is_empty(&q);
}

TEST(runq_kept_next_is_not_grabbed_until_popped)
{
        struct g *out[W_RUNQ_HALF];

        CHECK(w_runq_push_next(&q, &gs[0]) == NULL);
        w_runq_keep_next(&q);
        CHECK_EQ(w_runq_grab(&q, out, W_GRAB_NEXT_TOO), 0);
        CHECK(runq_pop(&q) == &gs[0]);
        CHECK(w_runq_push_next(&q, &gs[1]) == NULL);
        CHECK_EQ(w_runq_grab(&q, out, W_GRAB_NEXT_TOO), 1);
        CHECK(out[0] == &gs[1]);
}

TEST(runq_kept_next_may_be_grabbed_once_the_ring_was_preferred)
{
        struct g *out[W_RUNQ_HALF];

        fill(0, 1);
        CHECK(w_runq_push_next(&q, &gs[9]) == NULL);
        w_runq_keep_next(&q);
        CHECK(w_runq_pop_ring(&q) == &gs[0]);
        CHECK_EQ(w_runq_grab(&q, out, W_GRAB_NEXT_TOO), 1);
        CHECK(out[0] == &gs[9]);
}

TEST(runq_steal_runs_the_oldest_and_keeps_the_rest)
{
        fill(0, 9);
        CHECK(w_runq_steal(&other, &q, W_GRAB_RING) == &gs[0]);
        check_pops(&other, 1, 4);
        check_pops(&q, 5, 4);
        check_is_empty(&other);
        CHECK(w_runq_steal(&other, &q, W_GRAB_RING) == NULL);
}

static void steal_into_full(void *arg)
{
        (void)arg;
        fill(0, W_RUNQ_CAP);
        memcpy(&other, &q, sizeof(q));
        (void)w_runq_steal(&other, &q, W_GRAB_RING);
}

TEST(runq_steal_without_room_is_fatal)
{
        test_expect_death(steal_into_full, NULL, 6,
                          "runq: stole 128 goroutines into a queue with room for 0");
}

TEST(runq_batch_fills_what_fits)
{
        struct g *batch[W_RUNQ_CAP];

        for (int i = 0; i < W_RUNQ_CAP; i++)
                batch[i] = &gs[10 + i];
        fill(0, 10);
        CHECK_EQ(w_runq_push_batch(&q, batch, 0), 0);
        CHECK_EQ(w_runq_push_batch(&q, batch, 3), 3);
        CHECK_EQ(w_runq_push_batch(&q, batch + 3, W_RUNQ_CAP - 3), W_RUNQ_CAP - 13);
        CHECK_EQ(w_runq_push_batch(&q, batch, 1), 0);
        check_pops(&q, 0, W_RUNQ_CAP);
        check_is_empty(&q);
}

TEST(runq_head_and_tail_have_lines_of_their_own)
{
        size_t tail = offsetof(struct runq, tail), head = offsetof(struct runq, head);

        CHECK(tail / W_CACHELINE != head / W_CACHELINE);
        CHECK(offsetof(struct runq, slots) / W_CACHELINE != head / W_CACHELINE);
        CHECK_EQ((uintptr_t)&q % W_CACHELINE, 0);
}
