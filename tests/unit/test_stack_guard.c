/* tests/unit/test_stack_guard.c - the three kinds of guard, the canary, and finding a slot.
 *
 * SPDX-License-Identifier: MIT
 */
#include "stack/stack.h"

#include "harness/test.h"
#include "os/inject.h"
#include "os/os.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { N = 12 };

static struct stack_pool pool;
static struct stack     *stacks[N];
static char              owners[N];

static void describe(void *owner, struct stack_owner *out)
{
        out->id = (char *)owner - owners + 100;
        out->name = "worker";
}

static void start(enum stack_guard_policy guards, int64_t budget)
{
        struct stack_config config = { .slab_size = (size_t)4 << 20, .guards = guards,
                                       .guard_budget = budget, .describe = describe };

        CHECK_EQ(w_stack_pool_init(&pool, &config), 0);
        CHECK_EQ(w_stack_reserve_many(&pool, W_STACK_DEFAULT, N), 0);
}

static void bind_all(void)
{
        for (int i = 0; i < N; i++)
                stacks[i] = w_stack_bind(&pool, NULL, W_STACK_DEFAULT, &owners[i]);
}

static void end(void)
{
        for (int i = 0; i < N; i++)
                w_stack_unbind(&pool, NULL, stacks[i]);
        w_stack_unreserve_many(&pool, W_STACK_DEFAULT, N);
        w_stack_pool_destroy(&pool, W_STACK_ALL_UNBOUND);
}

static struct stack_stats stats(void)
{
        return w_stack_stats(&pool, W_STACK_DEFAULT);
}

/* The kernel tries the access: EFAULT is what a signal would have been. */
static bool is_writable(char *addr)
{
        return syscall(SYS_getrandom, addr, 1, 4 /* GRND_INSECURE */) == 1;
}

static void check_guarded(const struct stack *stack)
{
        CHECK(is_writable(stack->low));
        CHECK(is_writable(stack->end - 1));
        CHECK(!is_writable(stack->low - 1));
        CHECK(!is_writable(stack->low - pool.guard_size));
}

TEST(every_bound_stack_is_guarded)
{
        start(W_GUARDS_AUTO, 0);
        bind_all();
        for (int i = 0; i < N; i++)
                check_guarded(stacks[i]);
        if (w_os_vm_has_light_guard())
                CHECK_EQ(stats().n_light, N);
        else
                CHECK_EQ(stats().n_heavy, N);
        end();
}

TEST(guard_is_installed_once_and_survives_reuse)
{
        start(W_GUARDS_AUTO, 0);
        for (int round = 0; round < 3; round++) {
                bind_all();
                for (int i = 0; i < N; i++) {
                        check_guarded(stacks[i]);
                        w_stack_unbind(&pool, NULL, stacks[i]);
                }
                /* Even when the pages were given back meanwhile. */
                w_stack_trim(&pool, w_os_now() + INT64_C(10000000000) * (round + 1));
        }
        CHECK_EQ(stats().n_light + stats().n_heavy, N);
        bind_all();
        end();
}

TEST(heavy_guards_guard)
{
        start(W_GUARDS_HEAVY, 0);
        bind_all();
        for (int i = 0; i < N; i++) {
                check_guarded(stacks[i]);
                CHECK_EQ(stacks[i]->guard, W_GUARD_HEAVY);
        }
        CHECK_EQ(stats().n_heavy, N);
        CHECK_EQ(stats().n_light, 0);
        end();
}

TEST(budget_is_45_percent_of_the_mappings)
{
        start(W_GUARDS_HEAVY, 0);
        int64_t expected = w_os_vm_map_limit() * 45 / 100 / 2;

        CHECK(llabs(pool.config.guard_budget - expected) <= 45);
        bind_all();
        end();
}

static void bind_over_budget(void *arg)
{
        (void)arg;
        start(W_GUARDS_HEAVY, 5);
        bind_all();
        CHECK_EQ(stats().n_heavy, 5);
        CHECK_EQ(stats().n_canary, N - 5);
        for (int i = 0; i < N; i++) {
                CHECK_EQ(stacks[i]->guard, i < 5 ? W_GUARD_HEAVY : W_GUARD_CANARY);
                if (i < 5)
                        check_guarded(stacks[i]);
                memset(stacks[i]->low, 0x5a, (size_t)(stacks[i]->end - stacks[i]->low));
                w_stack_check(&pool, stacks[i]);
        }
        end();
}

TEST(beyond_the_budget_a_canary_and_one_warning)
{
        char err[2048];
        int  status = test_run_child(bind_over_budget, NULL, err, sizeof(err));

        CHECK_MSG(status == 0, "%s", err);
        CHECK_STR(err, "weft: no guard pages for more stacks after 5 of them; "
                       "further overflows are noticed late or not at all\n");
}

static void bind_without_budget(void *arg)
{
        (void)arg;
        start(W_GUARDS_HEAVY, -1);
        bind_all();
        CHECK_EQ(stats().n_canary, N);
        end();
}

TEST(negative_budget_is_none)
{
        char err[2048];

        CHECK_EQ(test_run_child(bind_without_budget, NULL, err, sizeof(err)), 0);
}

/* ---- Canary ---------------------------------------------------------------------------------- */

struct damage {
        int  offset;            /* below the stack */
        bool only_check;
};

static void damage_and_check(void *arg)
{
        const struct damage *d = arg;

        start(W_GUARDS_CANARY, 0);
        bind_all();
        w_stack_check(&pool, stacks[7]);
        stacks[7]->low[-d->offset] ^= 0x10;
        if (d->only_check)
                w_stack_check(&pool, stacks[7]);
        else
                w_stack_unbind(&pool, NULL, stacks[7]);
}

TEST(damaged_canary_is_an_overflow)
{
        static const int offsets[] = { 1, 100, 256 };

        for (size_t i = 0; i < W_ARRAY_LEN(offsets); i++) {
                struct damage at_unbind = { offsets[i], false }, at_check = { offsets[i], true };

                test_expect_death(damage_and_check, &at_unbind, SIGABRT,
                                  "weft: fatal: stack overflow in goroutine 107 \"worker\" "
                                  "(64 KiB)\n");
                test_expect_death(damage_and_check, &at_check, SIGABRT,
                                  "found after the fact: what lies below the stack may be damaged");
        }
}

static void use_whole_stack(void *arg)
{
        (void)arg;
        start(W_GUARDS_CANARY, 0);
        for (int round = 0; round < 2; round++) {
                bind_all();
                for (int i = 0; i < N; i++) {
                        memset(stacks[i]->low, 0xff, (size_t)(stacks[i]->end - stacks[i]->low));
                        w_stack_check(&pool, stacks[i]);
                        w_stack_unbind(&pool, NULL, stacks[i]);
                }
                CHECK(w_stack_trim(&pool, w_os_now() + INT64_C(10000000000)) == 0);
        }
        bind_all();
        end();
}

TEST(canary_is_outside_the_stack)
{
        char err[2048];
        int  status = test_run_child(use_whole_stack, NULL, err, sizeof(err));

        CHECK_MSG(status == 0, "%s", err);
}

/* ---- Finding --------------------------------------------------------------------------------- */

static void check_found(const void *addr, const struct stack *expected, bool expected_in_guard)
{
        bool in_guard = !expected_in_guard;

        CHECK(w_stack_find(&pool, addr, &in_guard) == expected);
        CHECK_EQ(in_guard, expected_in_guard);
}

TEST(find_knows_slot_and_guard_to_the_byte)
{
        start(W_GUARDS_AUTO, 0);
        bind_all();
        for (int i = 0; i < N; i++) {
                check_found(stacks[i]->low - pool.guard_size, stacks[i], true);
                check_found(stacks[i]->low - 1, stacks[i], true);
                check_found(stacks[i]->low, stacks[i], false);
                check_found(stacks[i]->top - 1, stacks[i], false);
                check_found(stacks[i]->end - 1, stacks[i], false);
                CHECK(w_load_rlx(&stacks[i]->owner) == &owners[i]);         /* own word */
        }
        end();
}

TEST(find_refuses_what_is_not_a_slot)
{
        bool in_guard;
        int  local = 0;

        start(W_GUARDS_AUTO, 0);
        CHECK(!w_stack_find(&pool, NULL, &in_guard));
        bind_all();
        CHECK(!w_stack_find(&pool, NULL, &in_guard));
        CHECK(!w_stack_find(&pool, (void *)UINTPTR_MAX, &in_guard));
        CHECK(!w_stack_find(&pool, &local, &in_guard));
        CHECK(!w_stack_find(&pool, &pool, &in_guard));
        CHECK(!w_stack_find(&pool, stacks[0], &in_guard));      /* the record, not the slot */
        CHECK(!w_stack_find(&pool, stacks[0]->low - pool.guard_size - 1, &in_guard));
        end();
}

TEST(find_sees_every_slab)
{
        enum { MANY = 300 };
        static struct stack *many[MANY];
        bool in_guard;

        start(W_GUARDS_AUTO, 0);
        bind_all();
        for (int i = 0; i < MANY; i++) {
                size_t size = W_STACK_MIN << (i % 6);

                CHECK_EQ(w_stack_reserve_many(&pool, size, 1), 0);
                many[i] = w_stack_bind(&pool, NULL, size, &owners[0]);
        }
        CHECK(stats().n_slabs > 10);
        for (int i = 0; i < MANY; i++) {
                CHECK(w_stack_find(&pool, many[i]->top - 1, &in_guard) == many[i]);
                w_stack_unbind(&pool, NULL, many[i]);
        }
        w_stack_pool_destroy(&pool, W_STACK_ABANDON);
}

/* ---- Refusals (debug builds can ask for them) ------------------------------------------------ */

#if defined(W_DEBUG)

/* Locked memory refuses light guards one by one. */
TEST(refused_light_guard_becomes_heavy)
{
        if (!w_os_vm_has_light_guard())
                test_skip("this system has no light guards");
        start(W_GUARDS_AUTO, 0);
        w_inject_once(W_CALL_MADVISE, 3, EINVAL);
        bind_all();
        w_inject_off();
        CHECK_EQ(stacks[2]->guard, W_GUARD_HEAVY);
        CHECK_EQ(stats().n_light, N - 1);
        for (int i = 0; i < N; i++)
                check_guarded(stacks[i]);
        end();
}

static void bind_with_refusals(void *arg)
{
        (void)arg;
        start(W_GUARDS_HEAVY, 0);
        w_inject_from(W_CALL_MPROTECT, 4, ENOMEM);
        bind_all();
        w_inject_off();
        CHECK_EQ(stats().n_heavy, 3);
        CHECK_EQ(stats().n_canary, N - 3);
        end();
}

TEST(refused_heavy_guard_becomes_a_canary)
{
        char err[2048];
        int  status = test_run_child(bind_with_refusals, NULL, err, sizeof(err));

        CHECK_MSG(status == 0, "%s", err);
        CHECK(strstr(err, "weft: no guard pages for more stacks after 3 of them;"));
}

#else

static const char no_injection[] = "only debug builds can refuse calls";

TEST(refused_light_guard_becomes_heavy)
{
        test_skip(no_injection);
}

TEST(refused_heavy_guard_becomes_a_canary)
{
        test_skip(no_injection);
}

#endif
