/* tests/flow/sched/test_submission_soak.c - submissions at changing rates, and a watchdog that
 * checks whether work waits while a P is idle.
 *
 * The watchdog is a foreign thread. It checks PROTOCOL idle (sched/idle.c): there is never, for
 * longer than a moment, runnable work, an idle P and no spinner or starting thread. A P for which a
 * thread has been woken is not idle any more, however long the kernel takes to run that thread; so
 * a slow machine is no false alarm.
 *
 * In check some hundred thousand submissions; TEST_LONG=1, as `make stress` sets it: 10^9.
 *
 * test: procs=1,2,4 timeout=900
 * The long form makes 10^9 submissions.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sched.h"

#include "base/rand.h"
#include "os/os.h"
#include "sched/sched.h"

enum {
        CHECK_EVERY_NS  = 500000,
        CHECKS_MAX      = 40,            /* 20 ms, and as many chances to be gone */
        QUIET_NS       = 2000000,
        LONG_NS        = 30000000,
        SUBMITTERS_MAX = 8,
};

static uint64_t     bursts_between;     /* long pauses: they would take most of a long run */
static w_atomic_u64 n_submitted, n_ran, target;
static w_atomic_u32 stop_watching;
static w_atomic_u32 n_worst;            /* most checks in a row that saw work wait */

/* ---- The watchdog ---------------------------------------------------------------------------- */

static bool work_is_left_lying(void)
{
        if (w_load_rlx(&w_sched.n_idle_p) == 0 || w_load_rlx(&w_sched.n_spinning) != 0)
                return false;
        if (w_load_rlx(&w_sched.n_globq) != 0)
                return true;
        for (uint32_t i = 0; i < w_n_procs(); i++)
                if (!w_p_has_no_work(w_sched.all_p[i]))
                        return true;
        return false;
}

static void watch(void *arg)
{
        uint32_t in_a_row = 0;

        (void)arg;
        while (!w_load_acq(&stop_watching)) {
                in_a_row = work_is_left_lying() ? in_a_row + 1 : 0;
                if (in_a_row > w_load_rlx(&n_worst))
                        w_store_rlx(&n_worst, in_a_row);
                CHECK_MSG(in_a_row < CHECKS_MAX, "work and an idle P, and no M spins, for %u ms",
                          CHECKS_MAX * CHECK_EVERY_NS / 1000000);
                w_os_sleep_until(w_os_now() + CHECK_EVERY_NS);
        }
}

/* ---- The load -------------------------------------------------------------------------------- */

static void compute(int64_t ns)
{
        int64_t end = w_os_now() + ns;

        while (w_os_now() < end)
                ;
}

static void task(void *arg)
{
        if ((uintptr_t)arg)
                compute((int64_t)(uintptr_t)arg);
        w_add_rlx(&n_ran, 1);
}

/* One burst: between one and thousands, most of them empty, some that compute. */
static void burst(uint64_t *rand)
{
        uint32_t n = 1u << (w_rand(rand) % 11);

        for (uint32_t i = 0; i < n; i++) {
                uint64_t ns = w_rand(rand) % 1024 == 0 ? w_rand(rand) % 20000 : 0;

                (void)sched_go(task, (void *)(uintptr_t)ns);
        }
        w_add_rlx(&n_submitted, n);
}

/* The other Ps run out of work; then some comes, and no goroutine here has time for it, for longer
 * than it may wait. */
static void leave_it_to_others(uint64_t *rand)
{
        compute(QUIET_NS);
        for (uint64_t n = 1 + w_rand(rand) % 4; n > 0; n--) {
                (void)sched_go(task, NULL);
                w_add_rlx(&n_submitted, 1);
        }
        compute(LONG_NS);
}

/* A pause in which the other Ps run out of work: computing, yielding, or none at all. */
static void pause_a_while(uint64_t *rand)
{
        if (w_rand(rand) % bursts_between == 0)
                leave_it_to_others(rand);
        switch (w_rand(rand) % 4) {
        case 0:
                compute((int64_t)(w_rand(rand) % 100000));
                break;
        case 1:
                for (uint64_t i = w_rand(rand) % 8; i > 0; i--)
                        weft_yield();
                break;
        default:
                break;
        }
}

static void submitter(void *arg)
{
        uint64_t rand = (uintptr_t)arg + 1;

        while (w_load_rlx(&n_submitted) < w_load_rlx(&target)) {
                burst(&rand);
                pause_a_while(&rand);
                if (weft_count() > 20000)       /* no faster than they run */
                        weft_yield();
        }
}

/* One less than there are Ps, so that one is idle whenever they all compute. */
static int n_submitters(void)
{
        int n = sched_procs() - 1;

        return n < 1 ? 1 : n > SUBMITTERS_MAX ? SUBMITTERS_MAX : n;
}

static void soak(void *arg)
{
        struct w_os_thread watchdog;
        int64_t            ids[SUBMITTERS_MAX];
        int                n = n_submitters();

        (void)arg;
        CHECK_EQ(w_os_thread_start(&watchdog, "watchdog", 0, watch, NULL), 0);
        for (int i = 0; i < n; i++)
                ids[i] = sched_go(submitter, (void *)(uintptr_t)i);
        for (int i = 0; i < n; i++)
                sched_join(ids[i]);
        while (w_load_rlx(&n_ran) < w_load_rlx(&n_submitted))
                weft_yield();
        CHECK_EQ(w_load_rlx(&n_ran), w_load_rlx(&n_submitted));
        w_store_rel(&stop_watching, 1);
        w_os_thread_join(&watchdog);
}

static void submit_and_watch(uint64_t n, uint64_t between)
{
        w_store_rlx(&target, n);
        bursts_between = between;
        sched_run(soak, NULL);
}

TEST(no_work_is_left_lying)
{
        submit_and_watch(sched_scale(60000), 64);
}

TEST(no_work_is_left_lying_in_a_billion_submissions)
{
        const char *set = getenv("TEST_LONG");

        if (!set || *set != '1')
                test_skip("long form: set TEST_LONG=1 or use make stress");
        if (test_is_slow())
                test_skip("too large for this build");
        submit_and_watch(1000000000, 8192);
        printf("10^9 submissions; work was seen to wait in at most %u checks in a row\n",
               w_load_rlx(&n_worst));
}
