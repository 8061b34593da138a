/* tests/flow/sched/preempt/test_preempt.c - goroutines that compute for long take turns with all
 * other goroutines; see test_preempt_thread_count.c for how many threads run.
 *
 * test: procs=1,2,4 valgrind=no
 * Valgrind reports the threads of a child that ends as leaks, and fails by its exit status. It also
 * takes a change from a goroutine's stack to a near signal stack and back for a large frame that
 * is gone, with everything between the two; with both stacks registered it loses count.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/others.h"
#include "sched/sched.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static w_atomic_u64 counts[4];
static w_atomic_u32 n_back;

static void compute_on(void *count)
{
        while (!w_load_acq(&others_done))
                w_add_rlx((w_atomic_u64 *)count, 1);              /* counter */
}

/* ---- Locks of a preempted goroutine ---------------------------------------------------------- */

static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;

/* It loses its P and is preempted while other goroutines want its lock. */
static void locks_and_computes(void *arg)
{
        int64_t until = w_os_now() + 60000000;

        (void)arg;
        CHECK_EQ(pthread_mutex_lock(&shared_lock), 0);
        w_store_rel(&others_done, 1);
        while (w_os_now() < until)
                for (int i = 0; i < 10000; i++)
                        w_cpu_pause();
        CHECK_EQ(pthread_mutex_unlock(&shared_lock), 0);
}

static void wants_lock(void *arg)
{
        (void)arg;
        CHECK_EQ(pthread_mutex_lock(&shared_lock), 0);
        w_add_acqrel(&n_back, 1);
        CHECK_EQ(pthread_mutex_unlock(&shared_lock), 0);
}

GO_TEST(a_preempted_goroutine_with_a_lock_goes_on)
{
        int64_t holder = sched_go(locks_and_computes, NULL);

        while (!w_load_acq(&others_done))
                CHECK_EQ(weft_sleep(WEFT_MS(1)), 0);
        sync_together(8, wants_lock, NULL);
        sched_join(holder);
        CHECK_EQ(w_load_acq(&n_back), 8);
}

/* ---- Not preempted, or preempted for too long ------------------------------------------------ */

static char large[1 << 20];

/* No thread is stopped in libc; the goroutine loses its P all the same. */
static void computes_in_libc(void *arg)
{
        (void)arg;
        while (!w_load_acq(&others_done))
                memset(large, 1, sizeof(large));
}

static void main_libc(void *arg)
{
        (void)arg;
        others_go_on(computes_in_libc, NULL, 1);
}

TEST(a_goroutine_that_computes_in_libc_loses_its_p)
{
        weft_config cfg = { .procs = 1 };

        CHECK_EQ(sched_run_left(&cfg, main_libc, NULL), 0);
}

/* The only P is not taken from its M: the other goroutine goes on without a P. */
static void main_patience(void *arg)
{
        int64_t id = sched_go(compute_on, &counts[0]);

        (void)arg;
        while (w_load_acq(&counts[0]) == 0)
                CHECK_EQ(weft_sleep(WEFT_MS(1)), 0);
        weft_nopreempt_begin();
        w_os_sleep_until(w_os_now() + 20000000);
        uint64_t n = w_load_acq(&counts[0]);

        while (w_load_acq(&counts[0]) == n)
                w_os_sleep_until(w_os_now() + 1000000);
        weft_nopreempt_end();
        w_store_rel(&others_done, 1);
        sched_join(id);
}

TEST(a_preempted_goroutine_goes_on_if_no_p_is_granted)
{
        weft_config cfg = { .procs = 1 };

        CHECK_EQ(sched_run_left(&cfg, main_patience, NULL), 0);
}

/* ---- weft_nopreempt_begin, _end -------------------------------------------------------------- */

static void compute_for(int64_t ns)
{
        int64_t until = w_os_now() + ns;

        while (w_os_now() < until)
                w_cpu_pause();
}

static void main_nopreempt(void *arg)
{
        (void)arg;
        int64_t id = sched_go(others_ping, NULL);

        weft_nopreempt_begin();
        weft_nopreempt_begin();
        compute_for(60000000);
        weft_nopreempt_end();
        w_os_sleep_until(w_os_now() + 30000000);
        CHECK_EQ(weft_checkpoint(), 0);
        CHECK_EQ(w_load_acq(&others_n_pings), 0);
        weft_yield();                           /* lets other goroutines run as usual */
        CHECK_EQ(w_load_acq(&others_n_pings), 1);
        compute_for(30000000);
        CHECK_EQ(w_load_acq(&others_n_pings), 1);
        while (w_load_acq(&others_n_pings) == 1)
                CHECK_EQ(weft_sleep(WEFT_MS(1)), 0);
        uint32_t n = w_load_acq(&others_n_pings);

        compute_for(30000000);
        CHECK_EQ(w_load_acq(&others_n_pings), n);
        weft_nopreempt_end();
        sched_join(id);
}

TEST(no_goroutine_runs_beside_nopreempt)
{
        weft_config cfg = { .procs = 1 };

        CHECK_EQ(sched_run_left(&cfg, main_nopreempt, NULL), 0);
}

/* The monitor's own word: to read it is a race, which does no harm here. */
static W_NO_SANITIZE bool was_notified(void)
{
        return *(const volatile int64_t *)&w_sched.all_p[0]->sample.nopreempt_since == W_FOREVER;
}

static void main_nopreempt_long(void *arg)
{
        (void)arg;
        int64_t id = sched_go(others_ping, NULL);

        weft_nopreempt_begin();
        do
                compute_for(150000000);
        while (!was_notified());
        weft_nopreempt_end();
        sched_join(id);
}

static void run_nopreempt_long(void *arg)
{
        weft_config cfg = { .procs = 1 };

        CHECK_EQ(sched_run_left(&cfg, main_nopreempt_long, arg), 0);
}

TEST(a_long_nopreempt_is_reported)
{
        char said[4096];
        int  status = test_run_child(run_nopreempt_long, NULL, said, sizeof(said));

        CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %#x\n%s",
                  (unsigned)status, said);
        CHECK_MSG(strstr(said, "weft: goroutine 1 has kept others from running for 100 ms"),
                  "%s", said);
        CHECK(strstr(said, "kept") == strstr(said, "goroutine 1 has") + strlen("goroutine 1 has "));
}

static void main_ends_too_much(void *arg)
{
        (void)arg;
        weft_nopreempt_end();
}

static void run_ends_too_much(void *arg)
{
        sched_run(main_ends_too_much, arg);
}

TEST(an_end_without_a_begin_is_fatal)
{
        char said[4096];
        int  status = test_run_child(run_ends_too_much, NULL, said, sizeof(said));

        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
        CHECK_MSG(strstr(said, "weft: fatal: goroutine 1 calls weft_nopreempt_end without a begin"),
                  "%s", said);
}

/* ---- The program's own use of the signal ----------------------------------------------------- */

static volatile sig_atomic_t n_urgent;

static void on_urgent(int sig)
{
        (void)sig;
        n_urgent++;
}

static void main_urgent(void *arg)
{
        int64_t ids[4];

        (void)arg;
        for (int i = 0; i < 4; i++)
                ids[i] = sched_go(compute_on, &counts[i]);
        for (int i = 0; i < 10; i++) {
                CHECK_EQ(raise(SIGURG), 0);
                CHECK_EQ(weft_sleep(WEFT_MS(5)), 0);
        }
        w_store_rel(&others_done, 1);
        for (int i = 0; i < 4; i++)
                sched_join(ids[i]);
}

TEST(the_programs_handler_gets_its_own_signals)
{
        struct sigaction own = { .sa_handler = on_urgent }, after;

        CHECK_EQ(sigaction(SIGURG, &own, NULL), 0);
        sched_run(main_urgent, NULL);
        CHECK_EQ(n_urgent, 10);
        CHECK_EQ(sigaction(SIGURG, NULL, &after), 0);
        CHECK(after.sa_handler == on_urgent);
}

static struct sigaction below;

/* A library that uses the signal too, and passes on the signals that are not its own. */
static void on_urgent_pass_on(int sig, siginfo_t *info, void *context)
{
        n_urgent++;
        if ((below.sa_flags & SA_SIGINFO) && info->si_code != SI_TIMER)
                below.sa_sigaction(sig, info, context);
}

/* The monitor reports it when it has a CPU. Under TSan there is nothing to report. */
static bool reported_signal(void)
{
#if defined(W_TSAN)
        return true;
#else
        return *(volatile bool *)&w_sched.preempt.reported_signal;
#endif
}

static void main_replaced(void *arg)
{
        struct sigaction own = { .sa_sigaction = on_urgent_pass_on, .sa_flags = SA_SIGINFO };
        int64_t          id = sched_go(compute_on, &counts[0]);

        (void)arg;
        CHECK_EQ(sigaction(SIGURG, &own, &below), 0);
        do
                CHECK_EQ(weft_sleep(WEFT_MS(50)), 0);
        while (!reported_signal());
        w_store_rel(&others_done, 1);
        sched_join(id);
}

static void main_raises(void *arg)
{
        (void)arg;
        CHECK_EQ(raise(SIGURG), 0);
}

static void run_replaced(void *arg)
{
        weft_config cfg = { .procs = 1 }, other = { .preempt_signal = SIGRTMIN + 3 };

        CHECK_EQ(sched_run_left(&cfg, main_replaced, arg), 0);
        n_urgent = 0;
        CHECK_EQ(sched_run_left(&cfg, main_raises, arg), 0);
        CHECK_EQ(n_urgent, 1);
        CHECK_EQ(sched_run_left(&other, main_raises, arg), 0);
        CHECK_EQ(n_urgent, 2);
}

TEST(a_handler_on_top_is_called_once_also_in_later_runs)
{
        char said[4096];
        int  status = test_run_child(run_replaced, NULL, said, sizeof(said));

        CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %#x\n%s",
                  (unsigned)status, said);
#if !defined(W_TSAN)
        CHECK_MSG(strstr(said, "was replaced"), "%s", said);
#endif
}

static void nothing(void *arg)
{
        (void)arg;
}

TEST(signals_that_cannot_be_used_are_refused)
{
        static const int bad[] = { SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, 32, 65, -1 };

        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                weft_config cfg = { .preempt_signal = bad[i] };

                CHECK_EQ(weft_run_with(&cfg, nothing, NULL), -EINVAL);
        }
}

static void main_other_signal(void *arg)
{
        others_go_on(compute_on, &counts[0], others_more_than_ps());
        (void)arg;
}

TEST(another_signal_does_it_as_well)
{
        weft_config cfg = { .preempt_signal = SIGRTMIN + 3 };

        CHECK_EQ(sched_run_left(&cfg, main_other_signal, NULL), 0);
}
