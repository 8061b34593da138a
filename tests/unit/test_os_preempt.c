/* tests/unit/test_os_preempt.c - a timer on a thread's CPU time interrupts it while it computes,
 * and only then; a sent signal interrupts it at once; the state that the kernel reports about it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "harness/storm.h"
#include "lib/os.h"

#include <dlfcn.h>
#include <poll.h>
#include <string.h>
#include <sys/auxv.h>

static w_atomic_u32        n_signals;
static const void *volatile done_at, *volatile signal_sp;
static volatile int        signal_cause;
static volatile bool       signal_in_handler;
static pid_t volatile      signal_tid;

static void on_preempt(const struct w_os_regs *regs, enum w_os_preempt_cause why)
{
        done_at = regs->pc;
        signal_sp = regs->sp;
        signal_cause = (int)why;
        signal_in_handler = regs->in_handler;
        signal_tid = w_os_tid();
        w_add_acqrel(&n_signals, 1);
}

/* Where signals arrive outside libc. */
static __attribute__((noinline)) void compute(int64_t limit_ns)
{
        int64_t until = w_os_now() + limit_ns;

        while (w_load_acq(&n_signals) == 0 && w_os_now() < until)
                for (volatile int i = 0; i < 100000; i++)
                        ;
}

static void begin(struct w_os_cpu_timer *timer)
{
        w_store_rlx(&n_signals, 0);
        CHECK_EQ(w_os_preempt_watch(W_SIG_URG, on_preempt), 0);
        int rc = w_os_cpu_timer_make(timer, w_os_tid());

        if (rc == -EINVAL && test_is_emulated())
                test_skip("the emulator has no timers on the CPU time of threads");
        CHECK_EQ(rc, 0);
}

TEST(a_thread_that_computes_is_interrupted_once)
{
        struct w_os_cpu_timer timer;

        begin(&timer);
        w_os_cpu_timer_arm(&timer, 1);
        compute(2000000000);
        CHECK_EQ(w_load_acq(&n_signals), 1);
        CHECK_EQ(signal_tid, w_os_tid());
        CHECK(done_at);
        w_os_cpu_timer_delete(&timer);
        w_os_preempt_unwatch();
}

TEST(a_thread_that_sleeps_is_not_interrupted)
{
        struct w_os_cpu_timer timer;

        begin(&timer);
        w_os_cpu_timer_arm(&timer, 20000000);
        w_os_sleep_until(w_os_now() + 30000000);
        CHECK_EQ(w_load_acq(&n_signals), 0);
        w_os_cpu_timer_delete(&timer);
        w_os_preempt_unwatch();
}

/* ---- Sent ------------------------------------------------------------------------------------ */

TEST(a_sent_signal_gives_the_registers)
{
        uintptr_t here = (uintptr_t)__builtin_frame_address(0); /* ASan moves variables */

        w_store_rlx(&n_signals, 0);
        CHECK_EQ(w_os_preempt_watch(W_SIG_URG, on_preempt), 0);
        CHECK_EQ(w_os_preempt_send(w_os_tid()), 0);
        compute(2000000000);
        CHECK_EQ(w_load_acq(&n_signals), 1);
        CHECK_EQ(signal_cause, W_PREEMPT_BY_SEND);
        CHECK(done_at);
        CHECK((uintptr_t)signal_sp - here < 65536 || here - (uintptr_t)signal_sp < 65536);
        w_os_preempt_unwatch();
}

static void send_to_self(int sig)
{
        (void)sig;
        w_store_rlx(&n_signals, 0);
        CHECK_EQ(w_os_preempt_send(w_os_tid()), 0);
        compute(2000000000);
}

/* With a signal stack, and within a handler on it. */
TEST(a_signal_within_a_handler_is_recognized)
{
        struct sigaction     action = { .sa_handler = send_to_self, .sa_flags = SA_ONSTACK };
        struct w_os_altstack stack = { 0 };

#if defined(W_TSAN)
        test_skip("it delays what arrives in a handler until that is over");
#endif
        CHECK_EQ(w_os_altstack_install(&stack), 0);
        CHECK_EQ(w_os_preempt_watch(W_SIG_URG, on_preempt), 0);
        CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
        send_to_self(0);
        CHECK_EQ(w_load_acq(&n_signals), 1);
        CHECK(!signal_in_handler);
        CHECK_EQ(raise(SIGUSR1), 0);
        CHECK_EQ(w_load_acq(&n_signals), 1);
        CHECK(signal_in_handler);
        w_os_preempt_unwatch();
        w_os_altstack_remove(&stack);
}

static int          ends[2];
static w_atomic_u32 tid_of_other;

static void read_one(void *arg)
{
        char c;

        (void)arg;
        w_store_rel(&tid_of_other, (uint32_t)w_os_tid());
        w_os_signals_restore(arg);
        test_storm_spare();             /* its handler would end calls */
        CHECK_EQ(read(ends[0], &c, 1), 1);
}

static void poll_one(void *arg)
{
        struct pollfd p = { .fd = ends[0], .events = POLLIN };

        (void)arg;
        w_store_rel(&tid_of_other, (uint32_t)w_os_tid());
        CHECK_EQ(poll(&p, 1, 10000), 1);
}

/* The other thread's id; it waits for something. */
static int start_waiting(struct w_os_thread *thread, void (*fn)(void *),
                         struct w_os_thread_state *state)
{
        static struct w_os_sigmask none;

        if (test_is_emulated())
                test_skip("the emulator's threads are not the threads of the kernel");
        CHECK_EQ(pipe(ends), 0);
        CHECK_EQ(w_os_thread_start(thread, "other", 1 << 20, fn, &none), 0);
        while (!w_load_acq(&tid_of_other))
                w_os_yield();
        int tid = (int)w_load_acq(&tid_of_other);

        do {
                int rc = w_os_thread_state(tid, state);

                if (rc < 0)
                        test_skip("the kernel does not show what threads wait for");
                w_os_sleep_until(w_os_now() + 1000000);
        } while (state->computes || w_os_thread_is_ready(tid) != 0);
        CHECK_EQ(w_os_thread_state(tid, state), 0);
        return tid;
}

static void finish(struct w_os_thread *thread)
{
        CHECK_EQ(write(ends[1], "a", 1), 1);
        w_os_thread_join(thread);
}

TEST(a_read_goes_on_after_a_signal)
{
        struct w_os_thread       thread;
        struct w_os_thread_state state;

        w_store_rlx(&n_signals, 0);
        CHECK_EQ(w_os_preempt_watch(W_SIG_URG, on_preempt), 0);
        int tid = start_waiting(&thread, read_one, &state);

        CHECK(!state.computes && state.goes_on && state.pc && state.sp);
        CHECK_EQ(w_os_signal_is_blocked(tid, W_SIG_URG), 0);
#if !defined(W_TSAN)                    /* TSan waits for the call to return */
        CHECK_EQ(w_os_preempt_send(tid), 0);
        while (w_load_acq(&n_signals) == 0)
                w_os_yield();
#endif
        finish(&thread);
        w_os_preempt_unwatch();
}

TEST(a_poll_would_not_go_on)
{
        struct w_os_thread       thread;
        struct w_os_thread_state state;
        int                      tid = start_waiting(&thread, poll_one, &state);

        CHECK(!state.computes && !state.goes_on && state.pc && state.sp);
        CHECK_EQ(w_os_signal_is_blocked(tid, W_SIG_URG), 1);    /* as it was started */
        finish(&thread);
}

TEST(the_state_of_a_thread_that_computes_is_read)
{
        struct w_os_thread_state state;

        if (w_os_thread_state(w_os_tid(), &state) == 0)
                CHECK(state.computes || state.pc);      /* it is in the call that asks */
        CHECK(w_os_thread_state(1 << 29, &state) < 0);
        CHECK(w_os_signal_is_blocked(1 << 29, W_SIG_URG) < 0);
}

static __attribute__((noinline)) const void *return_address(void)
{
        return __builtin_extract_return_addr(__builtin_return_address(0));
}

/* Where nothing was called. The first address of a function will not do: the function before it in
 * memory may end in a call that does not return. */
static const void *after_no_call(void)
{
        const void *pc;

#if defined(__x86_64__)
        __asm__("lea 1f(%%rip), %0\n\t.fill 8, 1, 0x90\n1:" : "=r"(pc));
#else
        __asm__("adr %0, 1f\n\tnop\n\tnop\n1:" : "=r"(pc));
#endif
        return pc;
}

TEST(a_return_address_is_distinguished_from_other_words)
{
        const void *volatile pc = return_address();
        int word = 0;

        if (test_is_emulated())
                test_skip("the emulator does not read memory for others");
        w_os_code_learn();
        CHECK(w_os_is_code(pc) && w_os_is_return_address(pc));
        CHECK(w_os_is_code(after_no_call()) && !w_os_is_return_address(after_no_call()));
        CHECK(!w_os_is_code(&word) && !w_os_is_return_address(&word));
        CHECK(!w_os_is_code(NULL) && !w_os_is_return_address(NULL));
}

TEST(code_is_found_without_the_linker)
{
        struct w_os_symbol symbol = { 0 };
        const void        *in_libc = dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
        int                word = 0;

        w_os_code_learn();
        w_os_code_learn();
        CHECK(w_os_code_find(return_address(), &symbol));
        CHECK_STR(symbol.object, "the program");
        CHECK(w_os_code_find(in_libc, &symbol));
        CHECK(!symbol.name && strstr(symbol.object, "libc") && !strchr(symbol.object, '/'));
        CHECK(symbol.offset > 0 && symbol.offset < (uintptr_t)in_libc);
        CHECK(!w_os_code_find(&word, &symbol) && !w_os_code_find(NULL, &symbol));
}

TEST(code_that_may_hold_locks_of_libc_is_no_safepoint)
{
        CHECK_EQ(w_os_preempt_watch(W_SIG_URG, on_preempt), 0);
        CHECK(!w_os_is_safepoint(dlsym(RTLD_DEFAULT, "qsort")));
        CHECK(!w_os_is_safepoint(dlsym(RTLD_DEFAULT, "malloc")));
        CHECK(!w_os_is_safepoint((const void *)getauxval(AT_SYSINFO_EHDR)) ||
              !getauxval(AT_SYSINFO_EHDR));
#if !defined(W_ASAN) && !defined(W_TSAN)        /* the allocator may be program text */
        CHECK(w_os_is_safepoint((const void *)(uintptr_t)compute));
#endif
        w_os_preempt_unwatch();
}

TEST(a_timer_that_was_never_made_does_nothing)
{
        struct w_os_cpu_timer none = { 0 };

        w_os_cpu_timer_arm(&none, 1);
        w_os_cpu_timer_delete(&none);
}

TEST(no_watch_with_a_signal_that_cannot_be_caught)
{
        CHECK_EQ(w_os_preempt_watch(SIGKILL, on_preempt), -EINVAL);
        CHECK_EQ(w_os_preempt_watch(0, on_preempt), -EINVAL);
        CHECK_EQ(w_os_preempt_watch(65, on_preempt), -EINVAL);
}

static volatile sig_atomic_t n_program;

static void on_program(int sig)
{
        (void)sig;
        n_program++;
}

TEST(a_signal_from_the_program_goes_to_the_earlier_handler)
{
        struct sigaction own = { .sa_handler = on_program }, after;

        CHECK_EQ(sigaction(SIGURG, &own, NULL), 0);
        CHECK_EQ(w_os_preempt_watch(SIGURG, on_preempt), 0);
        CHECK(w_os_preempt_is_watched());
        CHECK_EQ(raise(SIGURG), 0);
        CHECK_EQ(n_program, 1);
        CHECK_EQ(w_load_acq(&n_signals), 0);
        CHECK_EQ(sigaction(SIGURG, &own, NULL), 0);
        CHECK(!w_os_preempt_is_watched());
        w_os_preempt_unwatch();
        CHECK_EQ(sigaction(SIGURG, NULL, &after), 0);
        CHECK(after.sa_handler == on_program);
}
