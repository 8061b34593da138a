/* The generator, and the order that visits each position once. */
#include "base/rand.h"

#include "harness/test.h"

#include <string.h>

TEST(rand_below_stays_below_and_reaches_all)
{
        uint64_t state = test_seed();
        int      seen[7] = { 0 };

        for (int i = 0; i < 7000; i++)
                seen[w_rand_below(&state, 7)]++;
        for (int i = 0; i < 7; i++)
                CHECK_MSG(seen[i] > 700 && seen[i] < 1300, "value %d came %d times of 7000", i,
                          seen[i]);
}

TEST(rand_same_seed_same_numbers)
{
        uint64_t a = 42, b = 42;

        for (int i = 0; i < 100; i++)
                CHECK(w_rand(&a) == w_rand(&b));
        CHECK(w_rand(&a) != w_rand(&a));
}

static void check_visits_each_once(const struct visit_steps *steps, uint64_t *rand)
{
        static uint8_t seen[W_VISIT_MAX];
        struct visit   v = w_visit_begin(steps, rand);
        uint32_t       at, n = 0;

        memset(seen, 0, sizeof(seen));
        while (w_visit_next(&v, &at)) {
                CHECK(at < steps->n);
                CHECK(!seen[at]);
                seen[at] = 1;
                n++;
        }
        CHECK_EQ(n, steps->n);
}

TEST(visit_reaches_each_position_once_for_every_count)
{
        static struct visit_steps steps;
        uint64_t                  rand = test_seed();

        for (uint32_t n = 1; n <= 130; n++) {
                w_visit_steps_build(&steps, n);
                for (int round = 0; round < 5; round++)
                        check_visits_each_once(&steps, &rand);
        }
        w_visit_steps_build(&steps, W_VISIT_MAX);
        check_visits_each_once(&steps, &rand);
}

TEST(visit_orders_differ_from_round_to_round)
{
        static struct visit_steps steps;
        uint64_t                  rand = 1;
        uint32_t                  firsts = 0;

        w_visit_steps_build(&steps, 8);
        CHECK_EQ(steps.n_steps, 4); /* 1 3 5 7 */
        for (int round = 0; round < 200; round++) {
                struct visit v = w_visit_begin(&steps, &rand);
                uint32_t     at;

                CHECK(w_visit_next(&v, &at));
                firsts |= UINT32_C(1) << at;
        }
        CHECK_EQ(firsts, 0xff);
}
