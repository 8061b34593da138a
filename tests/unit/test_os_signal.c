/* tests/unit/test_os_signal.c - masks and signal stacks.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/os.h"

#include <sys/auxv.h>
#include <sys/mman.h>

/* ---- Masks ----------------------------------------------------------------------------------- */

static bool blocked(int sig)
{
        sigset_t now;

        CHECK(pthread_sigmask(SIG_BLOCK, NULL, &now) == 0);
        return sigismember(&now, sig);
}

TEST(block_blocks_everything_and_restore_undoes_it)
{
        struct w_os_sigmask before, old, after;

        KEEPS_ERRNO(w_os_signals_get(&before));
        KEEPS_ERRNO(w_os_signals_block(&old));
        CHECK(memcmp(&before, &old, sizeof(old)) == 0);
        CHECK(blocked(SIGINT) && blocked(SIGSEGV) && blocked(SIGRTMIN) && blocked(SIGRTMIN + 20));
        KEEPS_ERRNO(w_os_signals_restore(&old));
        CHECK(!blocked(SIGINT) && !blocked(SIGRTMIN + 20));
        w_os_signals_get(&after);
        CHECK(memcmp(&before, &after, sizeof(old)) == 0);
}

TEST(block_nested_keeps_what_the_outer_one_blocked)
{
        struct w_os_sigmask outer, inner;

        w_os_signals_block(&outer);
        w_os_signals_block(&inner);
        w_os_signals_restore(&inner);
        CHECK(blocked(SIGINT));
        w_os_signals_restore(&outer);
        CHECK(!blocked(SIGINT));
}

TEST(block_without_room_for_the_old_mask)
{
        w_os_signals_block(NULL);
        CHECK(blocked(SIGINT));
}

TEST(block_keeps_a_mask_of_high_signals)
{
        sigset_t            set;
        struct w_os_sigmask old;

        sigemptyset(&set);
        sigaddset(&set, SIGRTMIN + 20);
        CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
        w_os_signals_block(&old);
        w_os_signals_restore(&old);
        CHECK(blocked(SIGRTMIN + 20));
        CHECK(!blocked(SIGRTMIN + 19));
}

TEST(block_leaves_the_two_signals_of_libc)
{
        uint64_t raw = 0;

        w_os_signals_block(NULL);
        CHECK(syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &raw, sizeof(raw)) == 0);
        CHECK_EQ(raw >> 31 & 3, 0);     /* signals 32 and 33 */
}

/* ---- Signal stacks --------------------------------------------------------------------------- */

/* Every test begins without a signal stack: AddressSanitizer gives each thread one. It is put back
 * in the end, because AddressSanitizer needs it. */
static stack_t of_sanitizer;

static void forget_signal_stack(void)
{
        stack_t none = { .ss_flags = SS_DISABLE };

        CHECK(sigaltstack(&none, &of_sanitizer) == 0);
}

static void remember_signal_stack(void)
{
        of_sanitizer.ss_flags &= SS_DISABLE;
        CHECK(sigaltstack(&of_sanitizer, NULL) == 0);
}

static stack_t signal_stack_now(void)
{
        stack_t now;

        CHECK(sigaltstack(NULL, &now) == 0);
        return now;
}

static volatile uintptr_t handler_sp;

static W_NO_SANITIZE void note_sp(int sig)
{
        (void)sig;
        handler_sp = (uintptr_t)__builtin_frame_address(0);
}

static bool handler_runs_on(const struct w_os_altstack *stack)
{
        struct sigaction action = { .sa_handler = note_sp, .sa_flags = SA_ONSTACK };

        CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
        CHECK(raise(SIGUSR1) == 0);
        return handler_sp - (uintptr_t)stack->base < stack->size;
}

TEST(altstack_is_where_handlers_run)
{
        struct w_os_altstack stack;
        int                  rc;

        forget_signal_stack();
        KEEPS_ERRNO(rc = w_os_altstack_install(&stack));
        CHECK_EQ(rc, 0);
        CHECK(stack.base != NULL);
        CHECK(handler_runs_on(&stack));
        KEEPS_ERRNO(w_os_altstack_remove(&stack));
        CHECK(stack.base == NULL);
        CHECK(signal_stack_now().ss_flags & SS_DISABLE);
        remember_signal_stack();
}

TEST(altstack_is_large_enough_and_guarded_below)
{
        struct w_os_altstack stack;

        forget_signal_stack();
        CHECK_EQ(w_os_altstack_install(&stack), 0);
        stack_t now = signal_stack_now();
        CHECK(now.ss_size >= 64 * 1024);
        CHECK(now.ss_size >= 4 * getauxval(AT_MINSIGSTKSZ));
        CHECK((char *)now.ss_sp + now.ss_size == (char *)stack.base + stack.size);
        CHECK(os_kernel_faults_at((char *)now.ss_sp - 1));
        CHECK(os_kernel_faults_at(stack.base));
        CHECK(!os_kernel_faults_at(now.ss_sp));
        memset(now.ss_sp, 1, now.ss_size);
        w_os_altstack_remove(&stack);
        remember_signal_stack();
}

/* Once before memory is counted: sanitizers keep mappings that describe ours. */
static void install_and_remove(void)
{
        struct w_os_altstack stack;

        CHECK_EQ(w_os_altstack_install(&stack), 0);
        w_os_altstack_remove(&stack);
}

TEST(altstack_installed_and_removed_leaks_nothing)
{
        struct test_resources before;

        forget_signal_stack();
        install_and_remove();
        before = test_resources_now();
        for (int i = 0; i < 10; i++)
                install_and_remove();
        test_check_no_leak(&before);
        remember_signal_stack();
}

static char of_application[256 * 1024];

TEST(altstack_of_the_application_is_left_alone)
{
        struct w_os_altstack stack = { of_application, 1 };
        stack_t              app = { .ss_sp = of_application, .ss_size = sizeof(of_application) };

        forget_signal_stack();
        CHECK(sigaltstack(&app, NULL) == 0);
        CHECK_EQ(w_os_altstack_install(&stack), 0);
        CHECK(stack.base == NULL && stack.size == 0);
        w_os_altstack_remove(&stack);
        CHECK(signal_stack_now().ss_sp == of_application);
        remember_signal_stack();
}

TEST(altstack_replaced_by_the_application_is_not_taken_from_it)
{
        struct w_os_altstack stack;
        stack_t              app = { .ss_sp = of_application, .ss_size = sizeof(of_application) };

        forget_signal_stack();
        CHECK_EQ(w_os_altstack_install(&stack), 0);
        CHECK(sigaltstack(&app, NULL) == 0);
        w_os_altstack_remove(&stack);
        CHECK(stack.base == NULL);
        CHECK(signal_stack_now().ss_sp == of_application);
        remember_signal_stack();
}

static struct w_os_altstack standing_on;

static void remove_while_in_use(int sig)
{
        (void)sig;
        w_os_altstack_remove(&standing_on);
}

static void raise_on_altstack(void *arg)
{
        struct sigaction action = { .sa_handler = remove_while_in_use, .sa_flags = SA_ONSTACK };

        (void)arg;
        sigaction(SIGUSR1, &action, NULL);
        raise(SIGUSR1);
}

TEST(altstack_removed_by_a_handler_standing_on_it_is_fatal)
{
        forget_signal_stack();
        CHECK_EQ(w_os_altstack_install(&standing_on), 0);
        test_expect_death(raise_on_altstack, NULL, SIGABRT, "signal stack cannot be removed");
        w_os_altstack_remove(&standing_on);
        remember_signal_stack();
}

static void check_refused(enum w_os_call kind, uint32_t k, int error)
{
        struct w_os_altstack  stack = { of_application, 1 };
        struct test_resources before = test_resources_now();
        int                   rc;

        w_inject_once(kind, k, error);
        KEEPS_ERRNO(rc = w_os_altstack_install(&stack));
        CHECK_EQ(w_inject_hits(), 1);
        CHECK_EQ(rc, -error);
        CHECK(stack.base == NULL);
        CHECK(signal_stack_now().ss_flags & SS_DISABLE);
        test_check_no_leak(&before);
}

TEST(altstack_refused_at_each_call_leaves_nothing)
{
        NEEDS_INJECTION();
        forget_signal_stack();
        install_and_remove();           /* so that the probe of the guard is not the subject */
        check_refused(W_CALL_SIGALTSTACK, 1, EPERM);
        check_refused(W_CALL_SIGALTSTACK, 2, ENOMEM);
        check_refused(W_CALL_MMAP, 1, ENOMEM);
        check_refused(W_CALL_MADVISE, 1, ENOMEM);
        remember_signal_stack();
}

TEST(altstack_without_light_guard_gets_a_heavy_one)
{
        struct w_os_altstack stack;

        NEEDS_INJECTION();
        forget_signal_stack();
        if (w_os_vm_has_light_guard()) {
                w_inject_once(W_CALL_MADVISE, 2, EINVAL);
                CHECK_EQ(w_os_altstack_install(&stack), 0);
                CHECK_EQ(w_inject_hits(), 1);
        } else {
                w_inject_off();
                CHECK_EQ(w_os_altstack_install(&stack), 0);
        }
        CHECK_EQ(w_inject_calls(W_CALL_MPROTECT), 1);
        CHECK(os_kernel_faults_at(stack.base));
        CHECK(handler_runs_on(&stack));
        w_os_altstack_remove(&stack);
        remember_signal_stack();
}

TEST(altstack_without_any_guard_is_refused)
{
        struct w_os_altstack stack;

        NEEDS_INJECTION();
        forget_signal_stack();
        w_inject_from(W_CALL_MADVISE, 1, EINVAL);       /* no huge pages, no light guard */
        install_and_remove();
        struct test_resources before = test_resources_now();
        w_inject_once(W_CALL_MPROTECT, 1, ENOMEM);
        CHECK_EQ(w_os_altstack_install(&stack), -ENOMEM);
        CHECK(signal_stack_now().ss_flags & SS_DISABLE);
        test_check_no_leak(&before);
        remember_signal_stack();
}
