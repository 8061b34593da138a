/* tests/flow/sched/preempt/test_preempt_thread_count.c - goroutines continue beside ten of each
 * kind that occupies its thread, and no more threads run than there are Ps.
 *
 * test: procs=1,2,4 valgrind=no
 * Valgrind reports the threads of a child that ends as leaks, and fails by its exit status. It also
 * takes a change from a goroutine's stack to a near signal stack and back for a large frame that is
 * gone, with everything between the two; with both stacks registered it loses count.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/others.h"

#include <sys/resource.h>

enum { N_OF_EACH = 10, N_PINGING = 100, N_ROUNDS = 4, THREADS_MAX = 64 };

static w_atomic_u64    counts[N_OF_EACH];
static pthread_mutex_t locked_by_sleeper = PTHREAD_MUTEX_INITIALIZER;
static int             ends[2];
static w_atomic_u32    n_back;

/* ---- Goroutines continue --------------------------------------------------------------------- */

static W_ATOMIC(struct m *) threads[THREADS_MAX];
static w_atomic_u32         until_go_on; /* the pinging goroutines run until go_on is set */

/* Registers the caller's thread as a thread that runs user code now and then. */
static void note_thread(void)
{
        struct m *mp = w_m();

        for (int i = 0; i < THREADS_MAX; i++) {
                struct m *seen = NULL;

                if (w_cas_acqrel(&threads[i], &seen, mp) || seen == mp)
                        return;
        }
        CHECK_MSG(false, "more than %d threads", THREADS_MAX);
}

static void compute_on(void *count)
{
        note_thread();
        while (!w_load_acq(&others_done))
                w_add_rlx((w_atomic_u64 *)count, 1);              /* counter */
        w_add_acqrel(&n_back, 1);
}

static void reads(void *arg)
{
        char c = 0;

        (void)arg;
        note_thread();
        CHECK_EQ(test_read(ends[0], &c, 1), 1);
        w_add_acqrel(&n_back, 1);
}

static void locks(void *arg)
{
        (void)arg;
        note_thread();
        CHECK_EQ(pthread_mutex_lock(&locked_by_sleeper), 0);
        CHECK_EQ(pthread_mutex_unlock(&locked_by_sleeper), 0);
        w_add_acqrel(&n_back, 1);
}

static void pinging(void *arg)
{
        (void)arg;
        for (int i = 0;
             i < N_ROUNDS || (w_load_acq(&until_go_on) && !w_load_acq(&others_done)); i++) {
                note_thread();
                w_add_acqrel(&others_n_pings, 1);
                CHECK_EQ(weft_sleep(WEFT_MS(1)), 0);
        }
}

/* Ten goroutines of each kind that occupies its thread, and a hundred that want to run. */
static void main_all_kinds(void *arg)
{
        int64_t pings[N_PINGING];

        (void)arg;
        CHECK_EQ(pthread_mutex_lock(&locked_by_sleeper), 0);
        for (int i = 0; i < N_OF_EACH; i++) {
                (void)sched_go(compute_on, &counts[i]);
                (void)sched_go(reads, NULL);
                (void)sched_go(locks, NULL);
        }
        for (int i = 0; i < N_PINGING; i++)
                pings[i] = sched_go(pinging, NULL);
        for (int i = 0; i < N_PINGING; i++)
                sched_join(pings[i]);
        CHECK(w_load_acq(&others_n_pings) >= N_PINGING * N_ROUNDS);
        w_store_rel(&others_done, 1);
        CHECK_EQ(write(ends[1], "0123456789", N_OF_EACH), N_OF_EACH);
        CHECK_EQ(pthread_mutex_unlock(&locked_by_sleeper), 0);
        while (w_load_acq(&n_back) != 3 * N_OF_EACH)
                CHECK_EQ(weft_sleep(WEFT_MS(1)), 0);
}

static void run_all_kinds(int procs)
{
        weft_config cfg = { .procs = procs, .preempt = WEFT_PREEMPT_ALL, .shutdown_ms = 300000 };

        if (test_is_slow())
                test_skip("thirty threads that hang, on a machine that is slow");
        test_set_dump(sched_dump);
        CHECK_EQ(pipe(ends), 0);
        CHECK_EQ(sched_run_left(&cfg, main_all_kinds, NULL), 0);
}

TEST(goroutines_go_on_beside_ten_of_each_kind)
{
        run_all_kinds(1);
}

/* ---- No more threads than Ps ----------------------------------------------------------------- */

enum { PER_WHILE = 40, OTHERS_MAX = 5 };

static uint64_t n_samples, n_over;      /* while there was a CPU for every thread */
static uint64_t n_all, n_ran;           /* samples in all, and threads in them */

/* Also if it waits for a CPU. Not in the runtime, nor preempted and about to sleep. */
static bool runs_user_code(struct m *mp)
{
        return w_os_thread_is_ready((int)w_load_acq(&mp->tid)) > 0 &&
               w_where_is_user(w_load_acq(&mp->where)) &&
               w_load_acq(&mp->grant) != W_GRANT_WAITING;
}

/* Counts the threads that ran user code at both of two samples. All threads cannot be sampled at
 * one moment, and when a P goes from one thread to the next both run user code, one after the
 * other. */
static uint32_t n_running(void)
{
        bool     did[THREADS_MAX] = { false };
        uint32_t n = 0;

        for (int sample = 0; sample < 2; sample++)
                for (int i = 0; i < THREADS_MAX; i++) {
                        struct m *mp = w_load_acq(&threads[i]);

                        if (!mp || (sample == 1 && !did[i]))
                                continue;
                        did[i] = runs_user_code(mp);
                        n += sample == 1 && did[i];
                }
        return n;
}

/* The time that all CPUs were used by other processes, in hundredths of a second. */
static int64_t used_by_others(void)
{
        long long     n[8] = { 0 };
        struct rusage own;
        FILE         *file = fopen("/proc/stat", "r");

        CHECK(file);
        CHECK_EQ(fscanf(file, "cpu %lld %lld %lld %lld %lld %lld %lld %lld", &n[0], &n[1], &n[2],
                        &n[3], &n[4], &n[5], &n[6], &n[7]), 8);
        CHECK_EQ(fclose(file), 0);
        CHECK_EQ(getrusage(RUSAGE_SELF, &own), 0);
        int64_t us = (own.ru_utime.tv_sec + own.ru_stime.tv_sec) * INT64_C(1000000) +
                     own.ru_utime.tv_usec + own.ru_stime.tv_usec;

        return n[0] + n[1] + n[2] + n[5] + n[6] + n[7] - us / 10000;
}

/* Counts separately if there was a CPU for every thread, the sampling one included: a thread that
 * waits for a CPU cannot be stopped. */
static void sample_for_a_while(void)
{
        uint32_t procs = (uint32_t)sched_procs(), over = 0;
        int64_t  before = used_by_others();

        for (int i = 0; i < PER_WHILE; i++) {
                uint32_t n = n_running();

                n_all++;
                n_ran += n;
                over += n > procs;
                w_os_sleep_until(w_os_now() + 4000000);
        }
        if (used_by_others() - before > OTHERS_MAX || (int)procs >= w_os_cpu_count(0))
                return;
        n_samples += PER_WHILE;
        n_over += over;
}

static void sampler(void *arg)
{
        (void)arg;
        w_os_sleep_until(w_os_now() + 200000000);       /* until each M has lost its P once */
        for (int i = getenv("TEST_LONG") ? 50 : 6; i > 0; i--)
                sample_for_a_while();
        for (int i = 0; i < N_OF_EACH; i++)             /* each goroutine gets its turn */
                while (w_load_acq(&counts[i]) == 0)
                        w_os_sleep_until(w_os_now() + 1000000);
        w_store_rel(&others_done, 1);
}

/* Always: most goroutines that compute are preempted. If there was a CPU for every thread: too many
 * threads ran in less than one sample in twenty. The long form asserts that; the short form has few
 * samples. */
static void check_samples(uint64_t procs)
{
        uint64_t one_in = getenv("TEST_LONG") ? 20 : 4;

        if (getenv("TEST_LONG"))
                printf("in %lu of %lu samples more ran than there are Ps; %lu.%02lu on average\n",
                       (unsigned long)n_over, (unsigned long)n_samples,
                       (unsigned long)(n_ran / n_all), (unsigned long)(n_ran * 100 / n_all % 100));
        CHECK_MSG(n_ran < n_all * (procs + N_OF_EACH / 2), "%lu ran in %lu samples",
                  (unsigned long)n_ran, (unsigned long)n_all);
        CHECK_MSG(n_over * one_in <= n_samples,
                  "in %lu of %lu samples more ran than there are Ps", (unsigned long)n_over,
                  (unsigned long)n_samples);
}

TEST(no_more_threads_run_than_there_are_ps)
{
        struct sync_thread thread;
        int                procs = sched_procs();

#if defined(W_TSAN)
        test_skip("signals are delayed here");
#endif
        if (procs > w_os_cpu_count(0))
                test_skip("more Ps than CPUs: a thread that waits for a CPU cannot stop");
        w_store_rel(&until_go_on, 1);
        sync_thread_start(&thread, sampler, NULL);
        run_all_kinds(procs);
        sync_thread_join(&thread);
        check_samples((uint64_t)procs);
}
