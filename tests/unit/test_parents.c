/* tests/unit/test_parents.c - parents: newest first for the owner, oldest first for thieves.
 *
 * SPDX-License-Identifier: MIT
 */
#include "harness/test.h"
#include "sched/queue/parents.h"

struct g {
        int unused;
};

static struct parents ps;
static struct g       gs[W_PARENTS_CAP + 1];

static void fill(uint32_t n)
{
        for (uint32_t i = 0; i < n; i++)
                CHECK(w_parents_push(&ps, &gs[i]));
}

TEST(parents_all_zero_is_empty)
{
        CHECK(w_parents_is_empty(&ps));
        CHECK(w_parents_pop(&ps) == NULL);
        CHECK(w_parents_take_oldest(&ps) == NULL);
        CHECK_EQ(w_parents_len_hint(&ps), 0);
}

TEST(parents_newest_first_for_the_owner)
{
        fill(3);
        CHECK(!w_parents_is_empty(&ps));
        for (int i = 2; i >= 0; i--)
                CHECK(w_parents_pop(&ps) == &gs[i]);
        CHECK(w_parents_is_empty(&ps));
}

TEST(parents_oldest_first_for_a_thief)
{
        fill(3);
        for (int i = 0; i < 3; i++)
                CHECK(w_parents_take_oldest(&ps) == &gs[i]);
        CHECK(w_parents_is_empty(&ps));
        CHECK(w_parents_pop(&ps) == NULL);
        CHECK_EQ(w_parents_len_hint(&ps), 0);
}

/* What a thief leaves is a hole, and the owner steps over it. */
TEST(parents_from_both_ends)
{
        fill(4);
        CHECK(w_parents_take_oldest(&ps) == &gs[0]);
        CHECK(w_parents_pop(&ps) == &gs[3]);
        CHECK(w_parents_take_oldest(&ps) == &gs[1]);
        CHECK(w_parents_push(&ps, &gs[5]));
        CHECK(w_parents_pop(&ps) == &gs[5]);
        CHECK(w_parents_pop(&ps) == &gs[2]);
        CHECK(w_parents_pop(&ps) == NULL);
}

TEST(parents_full_refuses_one_more)
{
        fill(W_PARENTS_CAP);
        CHECK(!w_parents_push(&ps, &gs[W_PARENTS_CAP]));
        CHECK(w_parents_pop(&ps) == &gs[W_PARENTS_CAP - 1]);
        CHECK(w_parents_push(&ps, &gs[W_PARENTS_CAP]));
        CHECK_EQ(w_parents_len_hint(&ps), W_PARENTS_CAP);
}
