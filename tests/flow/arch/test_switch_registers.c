/* tests/flow/arch/test_switch_registers.c - a million random switches lose no register.
 *
 * Every fiber, the thread's own stack among them, fills all callee-saved registers with random
 * values right before it calls the switch and compares right after (in assembly: flow/
 * switch_probe.c), keeps doubles live across it, and has its own rounding mode and exception masks.
 *
 * test: libs=m sources=switch_probe.c
 *
 * SPDX-License-Identifier: MIT
 */
#include "harness/test.h"

#include "arch/fiber.h"
#include "base/rand.h"
#include "flow/arch/switch_probe.h"

#include <fenv.h>

enum { N_FIBERS = 8, STACK_SIZE = 64 * 1024, N_SWITCHES = 1000 * 1000 };

static _Alignas(64) unsigned char stacks[N_FIBERS][STACK_SIZE];
static struct fiber               fibers[N_FIBERS];     /* 0 is the thread's own stack */
static uint64_t                   rand_state;
static long                       n_left;
static long                       n_arrived[N_FIBERS];

static void fill(struct probe *p)
{
        for (int i = 0; i < PROBE_WORDS; i++)
                p->before[i] = w_rand(&rand_state);
}

static void compare(const struct probe *p, int self)
{
        for (int i = 0; i < PROBE_WORDS; i++)
                CHECK_MSG(p->before[i] == p->after[i],
                          "fiber %d: %s was %#llx before the switch and is %#llx after it", self,
                          probe_names[i], (unsigned long long)p->before[i],
                          (unsigned long long)p->after[i]);
}

/* Valgrind keeps the rounding mode of the vector unit and nothing else, so there the masks stay. */
static void maybe_change_fpenv(void)
{
        static const int modes[] = { FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO };
        static const int traps[] = { 0, FE_DIVBYZERO, FE_OVERFLOW | FE_INVALID };
        uint64_t         r = w_rand(&rand_state);

        if (r % 16 != 0)
                return;
        CHECK_EQ(fesetround(modes[(r >> 8) % 4]), 0);
        if (probe_has_traps()) {
                (void)fedisableexcept(FE_ALL_EXCEPT);
                CHECK(feenableexcept(traps[(r >> 16) % 3]) >= 0);
        }
}

static void switch_and_compare(int self, int to)
{
        struct probe p;
        double       a = (double)w_rand_below(&rand_state, 1000000);
        double       b = (double)w_rand_below(&rand_state, 1000000);
        double       sum = a + b;
        float        c = (float)w_rand_below(&rand_state, 1000);

        maybe_change_fpenv();
        uint64_t control = probe_fp_control();
        int      mode = fegetround();

        fill(&p);
        probe_switch(&p, &fibers[self], &fibers[to]);
        compare(&p, self);
        CHECK(a + b == sum && c >= 0 && c < 1000);
        CHECK_EQ(fegetround(), mode);
        CHECK_MSG(probe_fp_control() == control, "fiber %d: control words %#llx, before %#llx",
                  self, (unsigned long long)probe_fp_control(), (unsigned long long)control);
        n_arrived[self]++;
}

static void hop_about(int self)
{
        while (n_left > 0) {
                int step = 1 + (int)w_rand_below(&rand_state, N_FIBERS - 1);

                n_left--;
                switch_and_compare(self, (self + step) % N_FIBERS);
        }
}

static void fiber_main(void *arg)
{
        int self = (int)(intptr_t)arg;

        w_fiber_begin(&fibers[self]);
        CHECK(w_fpenv_is_default());
        hop_about(self);
        w_fiber_switch(&fibers[self], &fibers[0]);
}

TEST(switch_loses_no_register_in_a_million)
{
        rand_state = test_seed();
        n_left = test_is_slow() ? N_SWITCHES / 2 : N_SWITCHES;
        w_fiber_adopt(&fibers[0]);
        for (int i = 1; i < N_FIBERS; i++)
                w_fiber_make(&fibers[i], stacks[i], STACK_SIZE, stacks[i] + STACK_SIZE,
                             fiber_main, (void *)(intptr_t)i);
        hop_about(0);
        CHECK_EQ(n_left, 0);
        for (int i = 0; i < N_FIBERS; i++)
                CHECK(n_arrived[i] > 0);
        for (int i = 1; i < N_FIBERS; i++)
                w_fiber_destroy(&fibers[i]);
}
