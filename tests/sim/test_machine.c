/* tests/sim/test_machine.c - the simulated machine itself: signals, stores, time, failing calls,
 * stacks.
 *
 * test: sources=lib/extra/sim_test.c
 *
 * SPDX-License-Identifier: MIT
 */
#include "arch/fiber.h"
#include "base/atomic.h"
#include "lib/extra/sim_test.h"

#include <errno.h>
#include <signal.h>     /* SIGUSR1 */
#include <string.h>

/* ---- Signals -------------------------------------------------------------------------------- */

static w_atomic_u32 n_arrived;

static bool on_arrival(int sig)
{
        SIM_CHECK(sig == SIGUSR1, "signal %d", sig);
        w_add_acqrel(&n_arrived, 1);
        return false;
}

static void raise_and_sleep(void)
{
        n_arrived.raw = 0;
        int rc = w_os_signal_catch(SIGUSR1, on_arrival);

        SIM_CHECK(rc == 0 && sim_raise(SIGUSR1), "the signal is not caught");
        while (!w_load_acq(&n_arrived))
                (void)w_os_futex_wait(&n_arrived, 0, w_os_now() + 1000000000);
        SIM_CHECK(sim_now() < 1000000000, "the signal came when the sleep was over");
        SIM_CHECK(w_load_acq(&n_arrived) == 1, "it came %u times", w_load_acq(&n_arrived));
        w_os_signal_release(SIGUSR1);
}

TEST(no_thread_sleeps_while_a_signal_is_pending_for_it)
{
        for (uint64_t seed = 1; seed <= 300; seed++)
                sim_test_must_pass(raise_and_sleep, seed, (struct sim_config){ .cpus = 1 });
}

/* ---- Stores --------------------------------------------------------------------------------- */

static w_atomic_u32 x, y;
static uint32_t     seen_by_other;

static void read_x(void *arg)
{
        (void)arg;
        seen_by_other = w_load_acq(&x);
}

static void store_then_work(void)
{
        x.raw = 0;
        struct w_os_thread t = sim_test_start(read_x, NULL);

        w_store_rel(&x, 1);
        SIM_CHECK(w_load_rlx(&x) == 1, "the thread does not see its own store");
        sim_work(1000);
        w_os_thread_join(&t);
        SIM_CHECK(x.raw == 1, "the store never arrived");
}

TEST(own_store_is_seen_at_once_and_by_others_later)
{
        int n_early = 0, n_late = 0;

        for (uint64_t seed = 1; seed <= 300; seed++) {
                sim_test_must_pass(store_then_work, seed, (struct sim_config){ .cpus = 1 });
                n_early += seen_by_other == 1;
                n_late += seen_by_other == 0;
        }
        CHECK(n_early > 0 && n_late > 0);
}

/* Two relaxed stores; what the other finds when it sees the second shows the kind of the
 * machine. */
static uint32_t n_reordered;

static void read_both(void *arg)
{
        (void)arg;
        for (int i = 0; i < 30; i++)
                if (w_load_acq(&y) && !w_load_acq(&x))
                        n_reordered++;
}

static void store_both(void)
{
        x.raw = y.raw = 0;
        struct w_os_thread t = sim_test_start(read_both, NULL);

        w_store_rlx(&x, 1);
        w_store_rlx(&y, 1);
        sim_work(100);
        w_os_thread_join(&t);
}

TEST(relaxed_stores_pass_each_other_on_the_weak_machine_only)
{
        n_reordered = 0;
        for (uint64_t seed = 1; seed <= 400; seed++)
                sim_test_must_pass(store_both, seed, (struct sim_config){ .no_weak = true });
        CHECK_EQ(n_reordered, 0);
        for (uint64_t seed = 1; seed <= 400; seed++)
                sim_test_must_pass(store_both, seed, (struct sim_config){ .no_weak = false });
        CHECK(n_reordered > 0);
}

static W_ATOMIC(int32_t) balance;
static W_ATOMIC(uint8_t) small;

static void count_below_zero(void)
{
        int32_t seen = -1;

        balance.raw = 0;
        small.raw = 0;
        SIM_CHECK(w_sub_rlx(&balance, 1) == 0, "sub returns the value before");
        SIM_CHECK(w_cas_rlx(&balance, &seen, -2), "-1 is not -1 but %d", seen);
        w_store_rlx(&balance, -3);
        SIM_CHECK(w_load_rlx(&balance) == -3, "-3 is %d", w_load_rlx(&balance));
        SIM_CHECK(w_xchg_rlx(&balance, 5) == -3, "xchg");
        SIM_CHECK(w_or_rlx(&balance, 2) == 5 && w_and_rlx(&balance, 3) == 7, "or, and");
        SIM_CHECK(!w_cas_rlx(&balance, &seen, 0) && seen == 3, "found %d", seen);
        SIM_CHECK(w_sub_rlx(&small, 1) == 0 && w_add_rlx(&small, 2) == 255, "8 bits");
        SIM_CHECK(w_load_rlx(&small) == 1 && w_load_rlx(&balance) == 3, "in the end");
}

TEST(operations_compute_what_they_are_named_for)
{
        for (uint64_t seed = 1; seed <= 20; seed++)
                sim_test_must_pass(count_below_zero, seed, (struct sim_config){ .cpus = 1 });
        count_below_zero();     /* outside a run the same, straight in memory */
}

/* ---- Time, failing calls -------------------------------------------------------------------- */

static int n_interrupted;

static void count_signal(void)
{
        n_interrupted++;
        (void)w_load_rlx(&x);   /* the handler may itself be interrupted */
}

static void work_under_signals(void)
{
        int64_t began = w_os_now();

        sim_on_interrupt(count_signal);
        sim_work(10000);
        SIM_CHECK(w_os_now() - began >= 10000, "too early");
}

TEST(signals_land_inside_work)
{
        n_interrupted = 0;
        for (uint64_t seed = 1; seed <= 50; seed++)
                sim_test_must_pass(work_under_signals, seed, (struct sim_config){ .cpus = 1 });
        CHECK(n_interrupted > 10);
}

static int n_starved;

enum { N_LOADS = 1000, SCARCE_NS = 1000000 };

static void load_a_lot(void)
{
        int64_t began = sim_now();

        for (int i = 0; i < N_LOADS; i++)
                (void)w_load_acq(&x);
        SIM_CHECK(sim_now() - began < SCARCE_NS, "steps took %ld ns", (long)(sim_now() - began));
        sim_cpus_are_scarce(SCARCE_NS);
        began = sim_now();
        for (int i = 0; i < N_LOADS; i++)
                (void)w_load_acq(&x);
        n_starved += sim_now() - began > SCARCE_NS;
}

TEST(threads_lose_scarce_cpus_at_any_step)
{
        n_starved = 0;
        for (uint64_t seed = 1; seed <= 50; seed++)
                sim_test_must_pass(load_a_lot, seed, (struct sim_config){ .cpus = 1 });
        CHECK(n_starved > 10);
}

static int n_failed_calls, n_calls;

static void call_what_may_fail(void)
{
        struct w_os_thread t;
        void              *p;

        for (int i = 0; i < 10; i++) {
                int rc = w_os_thread_start(&t, "other", 0, sim_test_nothing, NULL);

                SIM_CHECK(rc == 0 || rc == -EAGAIN, "start: %d", rc);
                n_failed_calls += rc != 0;
                if (rc == 0)
                        w_os_thread_join(&t);
                rc = w_os_vm_map(&p, w_os_page_size());
                SIM_CHECK(rc == 0 || rc == -ENOMEM, "map: %d", rc);
                n_failed_calls += rc != 0;
                if (rc == 0)
                        w_os_vm_unmap(p, w_os_page_size());
                n_calls += 2;
        }
}

TEST(calls_fail_only_where_the_scenario_asks_for_it)
{
        for (uint64_t seed = 1; seed <= 100; seed++)
                sim_test_must_pass(call_what_may_fail, seed, (struct sim_config){ .cpus = 1 });
        CHECK_EQ(n_failed_calls, 0);
        for (uint64_t seed = 1; seed <= 100; seed++)
                sim_test_must_pass(call_what_may_fail, seed,
                                   (struct sim_config){ .calls_fail = true });
        CHECK(n_failed_calls > n_calls / 50 && n_failed_calls < n_calls / 2);
}

static int first_error;

static void note_error(int rc)
{
        if (first_error == 0)
                first_error = rc;
}

static void watch_nothing(void *addr)
{
        (void)addr;
}

/* Seven calls that can fail: the signal stack takes two. */
static void use_everything(void)
{
        struct w_os_altstack altstack;
        struct w_os_thread   thread;
        void                *slab = NULL;
        int                  rc;

        first_error = 0;
        note_error(rc = w_os_vm_map(&slab, 2 * w_os_page_size()));
        if (rc == 0) {
                note_error(w_os_vm_guard_heavy(slab, w_os_page_size()));
                w_os_vm_unmap(slab, 2 * w_os_page_size());
        }
        note_error(w_os_altstack_install(&altstack));
        w_os_altstack_remove(&altstack);
        note_error(rc = w_os_faults_watch(watch_nothing));
        if (rc == 0)
                w_os_faults_unwatch();
        note_error(w_os_membarrier_init());
        note_error(rc = w_os_thread_start(&thread, "other", 0, sim_test_nothing, NULL));
        if (rc == 0)
                w_os_thread_join(&thread);
}

TEST(the_kth_call_fails_for_every_k_and_nothing_leaks)
{
        sim_test_must_pass(use_everything, 1, (struct sim_config){ .cpus = 1 });
        uint32_t n = sim_test_result.n_fallible;

        CHECK_EQ(first_error, 0);
        CHECK_EQ(n, 7);
        for (uint32_t k = 1; k <= n; k++) {
                sim_test_must_pass(use_everything, 1, (struct sim_config){ .fail_at = k });
                CHECK_MSG(first_error < 0, "call %u did not fail", k);
        }
        sim_test_must_pass(use_everything, 1, (struct sim_config){ .fail_at = n + 1 });
        CHECK_EQ(first_error, 0);
}

static w_atomic_u32 flag;

static void read_after_a_while(void *arg)
{
        (void)arg;
        w_os_sleep_until(w_os_now() + 500000);
        SIM_CHECK(w_load_acq(&flag) == 1, "a store was buffered for half a millisecond");
}

static void store_and_compute(void)
{
        flag.raw = 0;
        struct w_os_thread t = sim_test_start(read_after_a_while, NULL);

        w_store_rel(&flag, 1);
        sim_work(1000000);
        w_os_thread_join(&t);
}

TEST(no_store_stays_buffered_while_time_passes)
{
        for (uint64_t seed = 1; seed <= 300; seed++)
                sim_test_must_pass(store_and_compute, seed, (struct sim_config){ .no_late = true });
}

static void count_cpus(void)
{
        SIM_CHECK(w_os_cpu_count(0) == 7 && w_os_cpu_quota() == 3, "cpus");
}

TEST(processors_are_those_of_the_scenario)
{
        sim_test_must_pass(count_cpus, 1, (struct sim_config){ .cpus = 7, .quota = 3 });
}

static void start_too_many(void)
{
        static struct w_os_thread threads[SIM_MAX_THREADS];
        int n = 0;

        while (n < SIM_MAX_THREADS &&
               w_os_thread_start(&threads[n], "many", 0, sim_test_nothing, NULL) == 0)
                n++;
        SIM_CHECK(n == SIM_MAX_THREADS - 1, "%d threads beside main", n);
        while (n)
                w_os_thread_join(&threads[--n]);
}

TEST(thread_limit_is_an_error_not_an_accident)
{
        sim_test_must_pass(start_too_many, 1, (struct sim_config){ .cpus = 1 });
}

static int claimed;

static void claim(void *addr)
{
        claimed++;
        sim_fail("claimed %s", addr == &claimed ? "the right one" : "another");
}

static void fault(void)
{
        SIM_CHECK(w_os_faults_watch(claim) == 0, "watch");
        SIM_CHECK(w_os_faults_watch(claim) == -EBUSY, "watched twice");
        sim_fault(&claimed);
}

static void fault_unwatched(void)
{
        sim_fault(&claimed);
}

TEST(faults_go_to_their_watcher)
{
        sim_test_must_fail(fault, 1, "claimed the right one");
        sim_test_must_fail(fault_unwatched, 1, "memory fault that no handler claims");
}

/* ---- Stacks of the code under test ---------------------------------------------------------- */

/* A thread leaves its first stack for another, as goroutines will, and is interrupted there. */
struct elsewhere {
        struct fiber home, away;
        char        *stack;
        uint32_t     sum;
};

enum { AWAY_BYTES = 32 << 10, N_TRIPS = 20 };

static W_NOINLINE uint32_t add_up(uint32_t n)
{
        volatile uint32_t part = n;     /* something that must survive on this stack */

        (void)w_load_acq(&x);
        return n == 0 ? 0 : part + add_up(n - 1);
}

static void go_away(void *arg)
{
        struct elsewhere *e = arg;

        w_fiber_begin(&e->away);
        for (;;) {
                e->sum += add_up(10);
                w_fiber_switch(&e->away, &e->home);
        }
}

static void commute(void *arg)
{
        struct elsewhere *e = arg;

        w_fiber_adopt(&e->home);
        w_fiber_make(&e->away, e->stack, AWAY_BYTES, e->stack + AWAY_BYTES, go_away, e);
        for (int i = 0; i < N_TRIPS; i++) {
                e->sum += add_up(3);
                w_fiber_switch(&e->home, &e->away);
        }
        w_fiber_destroy(&e->away);
        w_fiber_destroy(&e->home);
}

static void commute_in_company(void)
{
        static char        stacks[3][AWAY_BYTES] __attribute__((aligned(64)));
        static struct elsewhere places[3];
        struct w_os_thread threads[3];

        for (int i = 0; i < 3; i++) {
                places[i] = (struct elsewhere){ .stack = stacks[i] };
                threads[i] = sim_test_start(commute, &places[i]);
        }
        for (int i = 0; i < 3; i++) {
                w_os_thread_join(&threads[i]);
                SIM_CHECK(places[i].sum == N_TRIPS * (55 + 6), "sum %u", places[i].sum);
        }
}

TEST(threads_may_run_on_stacks_that_they_made)
{
        uint64_t n_switches = 0;

        for (uint64_t seed = 1; seed <= 100; seed++) {
                sim_test_must_pass(commute_in_company, seed, (struct sim_config){ .cpus = 1 });
                n_switches += sim_test_result.switches;
        }
        /* Undisturbed there would be six a run. */
        CHECK_MSG(n_switches > 100 * 12, "only %d switches", (int)n_switches);
}

static void fail_away(void *arg)
{
        struct elsewhere *e = arg;

        w_fiber_begin(&e->away);
        (void)w_load_acq(&x);
        sim_fail("failed away from home");
}

static void fail_elsewhere(void)
{
        static char             stack[AWAY_BYTES] __attribute__((aligned(64)));
        static struct elsewhere e;

        w_fiber_adopt(&e.home);
        w_fiber_make(&e.away, stack, AWAY_BYTES, stack + AWAY_BYTES, fail_away, &e);
        w_fiber_switch(&e.home, &e.away);
}

TEST(run_may_fail_on_any_stack)
{
        for (uint64_t seed = 1; seed <= 10; seed++)
                sim_test_must_fail(fail_elsewhere, seed, "failed away from home");
}
