/* tests/unit/test_os_fault.c - memory faults are seen first, and passed on.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/fatal.h"
#include "lib/os_fault.h"

#include <setjmp.h>
#include <stdlib.h>
#include <sys/mman.h>

/* ---- Passing on ------------------------------------------------------------------------------ */

TEST(fault_is_seen_and_passed_to_an_info_handler)
{
        os_fault_map_page();
        os_fault_set_info_handler(SIGSEGV, os_fault_mend_with_info, 0);
        os_fault_watch();
        os_fault_break_page();
        KEEPS_ERRNO(os_fault_touch(123));        /* both handlers spoil it on purpose */
        CHECK_EQ(os_fault_n_seen, 1);
        CHECK(os_fault_seen_addr == os_fault_page + 123);
        CHECK_EQ(os_fault_n_mended, 1);
        CHECK(os_fault_mended_addr == os_fault_page + 123);
        CHECK_EQ(os_fault_mended_sig, SIGSEGV);
}

TEST(fault_is_passed_to_a_plain_handler_each_time)
{
        os_fault_map_page();
        os_fault_set_handler(SIGSEGV, os_fault_mend, 0);
        os_fault_watch();
        for (int i = 1; i <= 5; i++) {
                os_fault_break_page();
                os_fault_touch(0);
                CHECK_EQ(os_fault_n_seen, i);
                CHECK_EQ(os_fault_n_mended, i);
        }
}

static void watch_and_touch(void *arg)
{
        (void)arg;
        os_fault_watch();
        os_fault_touch(64);
}

TEST(fault_without_an_earlier_handler_kills)
{
        os_fault_map_page();
        os_fault_break_page();
        test_expect_death(watch_and_touch, NULL, SIGSEGV, "");
}

static void say_fault(void *addr)
{
        w_say("fault at page + %zu", (size_t)((char *)addr - os_fault_page));
}

static void watch_aloud_and_touch(void *arg)
{
        (void)arg;
        if (w_os_faults_watch(say_fault) == 0)
                os_fault_touch(77);
}

TEST(fault_is_reported_before_it_kills)
{
        os_fault_map_page();
        os_fault_break_page();
        test_expect_death(watch_aloud_and_touch, NULL, SIGSEGV, "weft: fault at page + 77");
}

static void ignore_and_touch(void *arg)
{
        signal(SIGSEGV, SIG_IGN);
        watch_and_touch(arg);
}

TEST(fault_cannot_be_ignored)
{
        os_fault_map_page();
        os_fault_break_page();
        test_expect_death(ignore_and_touch, NULL, SIGSEGV, "");
}

static void mend_once_and_touch_twice(void *arg)
{
        (void)arg;
        os_fault_set_handler(SIGSEGV, os_fault_mend, (int)SA_RESETHAND);
        os_fault_watch();
        os_fault_touch(0);
        w_say("once is %d", os_fault_n_mended);
        os_fault_break_page();
        os_fault_touch(0);
}

TEST(one_shot_handler_has_one_shot)
{
        os_fault_map_page();
        os_fault_break_page();
        test_expect_death(mend_once_and_touch_twice, NULL, SIGSEGV, "weft: once is 1");
}

static sigjmp_buf out_of_here;

static void jump_out(int sig)
{
        (void)sig;
        siglongjmp(out_of_here, 1);
}

TEST(earlier_handler_may_jump_out)
{
        volatile int n_jumps = 0;

        os_fault_map_page();
        os_fault_set_handler(SIGSEGV, jump_out, 0);
        os_fault_watch();
        os_fault_break_page();
        for (int i = 0; i < 3; i++) {
                if (sigsetjmp(out_of_here, 1) == 0)
                        os_fault_touch(0);
                else
                        n_jumps = n_jumps + 1;
        }
        CHECK_EQ(n_jumps, 3);
        CHECK_EQ(os_fault_n_seen, 3);
}

/* ---- Masks ----------------------------------------------------------------------------------- */

static volatile bool usr1_blocked, usr2_blocked, segv_blocked;

static void note_mask_and_mend(int sig)
{
        sigset_t now;

        CHECK(pthread_sigmask(SIG_BLOCK, NULL, &now) == 0);
        usr1_blocked = sigismember(&now, SIGUSR1);
        usr2_blocked = sigismember(&now, SIGUSR2);
        segv_blocked = sigismember(&now, SIGSEGV);
        os_fault_mend(sig);
}

static void fault_with_mask(int flags)
{
        struct sigaction action = { .sa_handler = note_mask_and_mend, .sa_flags = flags };
        sigset_t         usr1;

        sigemptyset(&action.sa_mask);
        sigaddset(&action.sa_mask, SIGUSR2);
        CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
        sigemptyset(&usr1);
        sigaddset(&usr1, SIGUSR1);
        CHECK(pthread_sigmask(SIG_BLOCK, &usr1, NULL) == 0);
        os_fault_map_page();
        os_fault_watch();
        os_fault_break_page();
        os_fault_touch(0);
        CHECK_EQ(os_fault_n_mended, 1);
        CHECK(usr1_blocked && usr2_blocked);
}

TEST(earlier_handler_runs_with_its_own_mask)
{
        sigset_t now;

        fault_with_mask(0);
        CHECK(segv_blocked);
        CHECK(pthread_sigmask(SIG_BLOCK, NULL, &now) == 0);
        CHECK(sigismember(&now, SIGUSR1));
        CHECK(!sigismember(&now, SIGUSR2));
        CHECK(!sigismember(&now, SIGSEGV));
}

TEST(earlier_handler_that_may_nest_is_not_blocked)
{
        fault_with_mask(SA_NODEFER);
        CHECK(!segv_blocked);
}

/* ---- Signals that were sent ------------------------------------------------------------------ */

static void watch_and_kill(void *arg)
{
        os_fault_watch();
        kill(getpid(), *(int *)arg);
        w_say("still here, seen %d", os_fault_n_seen);
        _exit(0);
}

TEST(sent_signal_kills_where_it_would_have)
{
        int segv = SIGSEGV, bus = SIGBUS;

        test_expect_death(watch_and_kill, &segv, SIGSEGV, "");
        test_expect_death(watch_and_kill, &bus, SIGBUS, "");
}

TEST(sent_signal_is_ignored_where_it_would_have_been)
{
        signal(SIGSEGV, SIG_IGN);
        os_fault_watch();
        CHECK(kill(getpid(), SIGSEGV) == 0);
        CHECK_EQ(os_fault_n_seen, 0);
}

TEST(sent_signal_goes_to_the_earlier_handler_unseen)
{
        os_fault_map_page();
        os_fault_set_handler(SIGBUS, os_fault_mend, 0);
        os_fault_watch();
        CHECK(kill(getpid(), SIGBUS) == 0);
        CHECK_EQ(os_fault_n_mended, 1);
        CHECK_EQ(os_fault_mended_sig, SIGBUS);
        CHECK_EQ(os_fault_n_seen, 0);
}

/* ---- SIGBUS ---------------------------------------------------------------------------------- */

static char *beyond_end;

static void map_beyond_end(int sig)
{
        os_fault_n_mended = os_fault_n_mended + 1;
        os_fault_mended_sig = sig;
        CHECK(mmap(beyond_end, os_fault_page_size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == beyond_end);
}

TEST(bus_errors_are_seen_too)
{
        char name[] = "/tmp/weft-test-XXXXXX";
        int  fd = mkstemp(name);

        CHECK(fd >= 0);
        unlink(name);
        os_fault_page_size = w_os_page_size();
        beyond_end = mmap(NULL, os_fault_page_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        CHECK(beyond_end != MAP_FAILED);
        os_fault_set_handler(SIGBUS, map_beyond_end, 0);
        os_fault_watch();
        ((volatile char *)beyond_end)[5] = 1;
        CHECK_EQ(os_fault_n_seen, 1);
        CHECK(os_fault_seen_addr == beyond_end + 5);
        CHECK_EQ(os_fault_n_mended, 1);
        CHECK_EQ(os_fault_mended_sig, SIGBUS);
        close(fd);
}

/* ---- Exhausted stacks ------------------------------------------------------------------------ */

static W_NOINLINE int recurse(volatile int *depth)
{
        volatile char frame[512];

        frame[0] = 1;
        *depth = *depth + 1;
        return *depth < 0 ? 0 : recurse(depth) + frame[0];
}

static void say_overflow(void *addr)
{
        (void)addr;
        w_say("no stack left");
}

static void overflow(void *arg)
{
        struct w_os_altstack stack;
        struct w_os_sigmask  none = { { 0, 0 } };
        volatile int         depth = 0;

        (void)arg;
        if (w_os_altstack_install(&stack) != 0)
                _exit(3);
        w_os_signals_restore(&none);
        _exit(recurse(&depth));
}

static void overflow_in_thread(void *arg)
{
        struct w_os_thread thread;

        if (w_os_faults_watch(say_overflow) != 0)
                _exit(4);
        if (w_os_thread_start(&thread, "deep", 64 * 1024, overflow, arg) != 0)
                _exit(5);
        w_os_thread_join(&thread);
}

TEST(fault_on_an_exhausted_stack_is_seen)
{
        test_expect_death(overflow_in_thread, NULL, SIGSEGV, "weft: no stack left");
}
