/* tests/unit/test_os_fault_watch.c - the watcher of faults, and the handlers before and after it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/fatal.h"
#include "lib/os_fault.h"

TEST(only_one_watcher_at_a_time)
{
        int rc;

        os_fault_watch();
        KEEPS_ERRNO(rc = w_os_faults_watch(os_fault_note));
        CHECK_EQ(rc, -EBUSY);
        KEEPS_ERRNO(w_os_faults_unwatch());
        os_fault_watch();
        w_os_faults_unwatch();
}

static struct sigaction current(int sig)
{
        struct sigaction now;

        CHECK(sigaction(sig, NULL, &now) == 0);
        return now;
}

TEST(unwatch_restores_what_was_there)
{
        os_fault_map_page();
        os_fault_set_handler(SIGSEGV, os_fault_mend, SA_NODEFER);
        os_fault_set_info_handler(SIGBUS, os_fault_mend_with_info, 0);
        os_fault_watch();
        CHECK(current(SIGSEGV).sa_handler != os_fault_mend);
        CHECK(current(SIGSEGV).sa_flags & SA_ONSTACK);
        w_os_faults_unwatch();
        CHECK(current(SIGSEGV).sa_handler == os_fault_mend);
        CHECK(current(SIGSEGV).sa_flags & SA_NODEFER);
        CHECK(current(SIGBUS).sa_sigaction == os_fault_mend_with_info);
        os_fault_break_page();
        os_fault_touch(0);
        CHECK_EQ(os_fault_n_seen, 0);
        CHECK_EQ(os_fault_n_mended, 1);
}

TEST(unwatch_leaves_a_handler_installed_later)
{
        os_fault_map_page();
        os_fault_watch();
        os_fault_set_handler(SIGSEGV, os_fault_mend, 0);
        w_os_faults_unwatch();
        CHECK(current(SIGSEGV).sa_handler == os_fault_mend);
        CHECK(current(SIGBUS).sa_handler == SIG_DFL);
}

/* A handler that was installed on top of ours and passes on to it, as crash reporters do. */
static struct sigaction below_reporter;
static volatile int     n_reported;

static void reporter(int sig, siginfo_t *info, void *context)
{
        n_reported = n_reported + 1;
        below_reporter.sa_sigaction(sig, info, context);
}

static void install_reporter(void)
{
        struct sigaction action = { .sa_sigaction = reporter, .sa_flags = SA_SIGINFO };

        CHECK(sigaction(SIGSEGV, &action, &below_reporter) == 0);
}

TEST(handler_on_top_that_passes_on_does_not_turn_into_a_loop)
{
        os_fault_map_page();
        os_fault_set_handler(SIGSEGV, os_fault_mend, 0);
        os_fault_watch();
        install_reporter();
        os_fault_break_page();
        os_fault_touch(0);
        CHECK_EQ(n_reported, 1);
        CHECK_EQ(os_fault_n_seen, 1);
        CHECK_EQ(os_fault_n_mended, 1);
        w_os_faults_unwatch();
        os_fault_break_page();
        os_fault_touch(0);               /* through ours, which has no watcher */
        CHECK_EQ(n_reported, 2);
        CHECK_EQ(os_fault_n_seen, 1);
        CHECK_EQ(os_fault_n_mended, 2);
        os_fault_watch();
        os_fault_break_page();
        os_fault_touch(0);
        CHECK_EQ(n_reported, 3);
        CHECK_EQ(os_fault_n_seen, 2);
        CHECK_EQ(os_fault_n_mended, 3);
        w_os_faults_unwatch();
}

TEST(watching_again_after_the_handler_on_top_is_gone)
{
        os_fault_map_page();
        os_fault_set_handler(SIGSEGV, os_fault_mend, 0);
        os_fault_watch();
        install_reporter();
        w_os_faults_unwatch();
        CHECK(sigaction(SIGSEGV, &below_reporter, NULL) == 0);  /* and ours is on top again */
        os_fault_watch();
        os_fault_break_page();
        os_fault_touch(0);
        CHECK_EQ(os_fault_n_seen, 1);
        CHECK_EQ(os_fault_n_mended, 1);
        w_os_faults_unwatch();
        CHECK(current(SIGSEGV).sa_handler == os_fault_mend);
}

static void faulting_callback(void *addr)
{
        (void)addr;
        w_say("now the report breaks");
        os_fault_touch(1);
}

static void watch_badly_and_touch(void *arg)
{
        (void)arg;
        if (w_os_faults_watch(faulting_callback) == 0)
                os_fault_touch(0);
}

TEST(fault_inside_the_report_ends_the_program)
{
        os_fault_map_page();
        os_fault_break_page();
        test_expect_death(watch_badly_and_touch, NULL, SIGSEGV, "now the report breaks");
}

TEST(watch_refused_at_each_call_leaves_everything_as_it_was)
{
        uint32_t k = 0;
        int      rc;

        NEEDS_INJECTION();
        os_fault_set_handler(SIGSEGV, os_fault_mend, 0);
        os_fault_set_handler(SIGBUS, os_storm_signal, 0);
        do {
                w_inject_once(W_CALL_SIGACTION, ++k, EINVAL);
                KEEPS_ERRNO(rc = w_os_faults_watch(os_fault_note));
                if (w_inject_hits() == 0)
                        break;
                CHECK_EQ(rc, -EINVAL);
                CHECK(current(SIGSEGV).sa_handler == os_fault_mend);
                CHECK(current(SIGBUS).sa_handler == os_storm_signal);
        } while (k < 100);
        CHECK_EQ(rc, 0);
        CHECK_EQ(k, 5);
        w_os_faults_unwatch();
        CHECK(current(SIGSEGV).sa_handler == os_fault_mend);
        CHECK(current(SIGBUS).sa_handler == os_storm_signal);
}
