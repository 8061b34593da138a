/* tests/unit/test_os_thread.c - kernel threads.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/os.h"

#include "base/note.h"

#include <pthread.h>
#include <sys/prctl.h>

/* More than the smallest stack: libc takes this from every thread's stack. */
enum { MUCH = 300 * 1024 };
static _Thread_local volatile char much[MUCH];

struct seen {
        int      n_runs;
        int      tid;
        int      cancel_state;
        size_t   stack_size;
        char     name[16];
        sigset_t mask;
};

static void look_around(void *arg)
{
        struct seen   *seen = arg;
        pthread_attr_t attr;

        seen->n_runs++;
        seen->tid = w_os_tid();
        prctl(PR_GET_NAME, seen->name);
        pthread_sigmask(SIG_BLOCK, NULL, &seen->mask);
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &seen->cancel_state);
        CHECK(pthread_getattr_np(pthread_self(), &attr) == 0);
        CHECK(pthread_attr_getstacksize(&attr, &seen->stack_size) == 0);
        pthread_attr_destroy(&attr);
        much[MUCH - 1] = 1;
}

static void run(struct seen *seen, const char *name, size_t stack_size)
{
        struct w_os_thread thread;
        int                rc;

        memset(seen, 0, sizeof(*seen));
        KEEPS_ERRNO(rc = w_os_thread_start(&thread, name, stack_size, look_around, seen));
        CHECK_EQ(rc, 0);
        w_os_thread_join(&thread);
        CHECK_EQ(seen->n_runs, 1);
}

TEST(start_runs_the_function_on_another_thread)
{
        struct seen seen;

        run(&seen, "worker", 0);
        CHECK(seen.tid != w_os_tid());
        CHECK_EQ(w_os_tid(), syscall(SYS_gettid));
}

static void wait_for_note(void *note)
{
        w_note_sleep(note);
}

TEST(try_join_does_not_wait)
{
        struct note        note = { 0 };
        struct w_os_thread thread;

        CHECK_EQ(w_os_thread_start(&thread, "waits", 0, wait_for_note, &note), 0);
        CHECK(!w_os_thread_try_join(&thread));
        w_note_wake(&note);
        while (!w_os_thread_try_join(&thread))
                w_os_yield();
}

TEST(start_names_the_thread)
{
        struct seen seen;

        run(&seen, "weft sysmon", 0);
        CHECK_STR(seen.name, "weft sysmon");
        run(&seen, "fifteen bytes..", 0);
        CHECK_STR(seen.name, "fifteen bytes..");
        run(&seen, "a name that is too long", 0);
        CHECK_STR(seen.name, "a name that is ");
        run(&seen, NULL, 0);
}

static bool own_of_libc(int sig)
{
        return sig == 32 || sig == 33;
}

TEST(start_blocks_every_signal_in_the_new_thread)
{
        struct seen seen;
        int         last = test_is_emulated() ? 62 : 64;     /* qemu keeps two for itself */

        run(&seen, "worker", 0);
        for (int sig = 1; sig <= last; sig++)
                if (sig != SIGKILL && sig != SIGSTOP && !own_of_libc(sig))
                        CHECK_MSG(sigismember(&seen.mask, sig), "signal %d is not blocked", sig);
}

TEST(start_leaves_the_mask_of_the_caller)
{
        struct seen seen;
        sigset_t    set, before, after;

        sigemptyset(&set);
        sigaddset(&set, SIGUSR2);
        pthread_sigmask(SIG_BLOCK, &set, NULL);
        pthread_sigmask(SIG_BLOCK, NULL, &before);
        run(&seen, "worker", 0);
        pthread_sigmask(SIG_BLOCK, NULL, &after);
        for (int sig = 1; sig <= 64; sig++)
                CHECK_EQ(sigismember(&after, sig), sigismember(&before, sig));
}

TEST(start_disables_cancellation)
{
        struct seen seen;

        run(&seen, "worker", 0);
        CHECK_EQ(seen.cancel_state, PTHREAD_CANCEL_DISABLE);
}

TEST(start_gives_at_least_the_stack_asked_for)
{
        const size_t sizes[] = { 1, 16 * 1024, 100001, 1024 * 1024 };
        struct seen  seen;

        for (size_t i = 0; i < W_ARRAY_LEN(sizes); i++) {
                run(&seen, "worker", sizes[i]);
                CHECK(seen.stack_size >= sizes[i]);
        }
}

TEST(start_with_an_impossible_stack_size_returns_an_error)
{
        const size_t       sizes[] = { SIZE_MAX, SIZE_MAX - 4095, (size_t)1 << 49,
                                       (size_t)1 << 47 };
        struct w_os_thread thread;
        struct seen        seen;

        NOT_UNDER_VALGRIND("valgrind refuses it in its own way");
        for (size_t i = 0; i < W_ARRAY_LEN(sizes); i++) {
                int rc;

                KEEPS_ERRNO(rc = w_os_thread_start(&thread, "x", sizes[i], look_around, &seen));
                CHECK_MSG(rc == -ENOMEM || rc == -EAGAIN, "size %zx: %d", sizes[i], rc);
        }
}

TEST(start_and_join_many_times_leaks_nothing)
{
        struct seen           seen;
        struct test_resources before;

        for (int i = 0; i < 5; i++)     /* libc and the sanitizers cache some memory */
                run(&seen, "first", 0);
        w_os_sleep_until(w_os_now() + 1000000);         /* joined threads linger in /proc */
        before = test_resources_now();
        for (int i = 0; i < 30; i++)
                run(&seen, "worker", 0);
        test_check_no_leak(&before);
}

static void start_some(void *arg)
{
        struct seen seen;

        (void)arg;
        for (int i = 0; i < 10; i++)
                run(&seen, "inner", 0);
}

TEST(start_works_from_several_threads_at_once)
{
        struct w_os_thread threads[4];

        for (int i = 0; i < 4; i++)
                CHECK_EQ(w_os_thread_start(&threads[i], "outer", 0, start_some, NULL), 0);
        for (int i = 0; i < 4; i++)
                w_os_thread_join(&threads[i]);
}

TEST(start_refused_returns_the_error_and_restores_the_mask)
{
        struct w_os_thread  thread;
        struct w_os_sigmask before, after;
        struct seen         seen = { 0 };
        int                 rc;

        NEEDS_INJECTION();
        w_os_signals_get(&before);
        w_inject_once(W_CALL_THREAD, 1, EAGAIN);
        KEEPS_ERRNO(rc = w_os_thread_start(&thread, "never", 0, look_around, &seen));
        CHECK_EQ(rc, -EAGAIN);
        CHECK_EQ(seen.n_runs, 0);
        w_os_signals_get(&after);
        CHECK(memcmp(&before, &after, sizeof(before)) == 0);
        w_inject_from(W_CALL_THREAD, 1, EINVAL);
        CHECK_EQ(w_os_thread_start(&thread, "never", 0, look_around, &seen), -EINVAL);
        w_inject_off();
        run(&seen, "worker", 0);
}

TEST(start_is_not_disturbed_by_signals)
{
        struct os_storm storm;
        struct seen  seen;

        os_storm_start(&storm);
        do
                run(&seen, "worker", 0);
        while (os_storm_seen() < 5);
        os_storm_stop(&storm);
}

TEST(yield_returns)
{
        KEEPS_ERRNO(w_os_yield());
}

static void wait_for_word(void *word)
{
        while (!w_load_acq((w_atomic_u32 *)word))
                w_os_yield();
}

/* A thread that has ended is gone soon, not at once. */
TEST(count_counts_threads)
{
#if defined(W_TSAN)
        test_skip("a sanitizer may add threads of its own");
#endif
        struct w_os_thread thread;
        w_atomic_u32       word = W_ATOMIC_INIT(0);
        int                before, during, after;

        KEEPS_ERRNO(before = w_os_thread_count());
        CHECK(before >= 1);
        CHECK_EQ(w_os_thread_start(&thread, "one", 0, wait_for_word, &word), 0);
        during = w_os_thread_count();
        w_store_rel(&word, 1);
        w_os_thread_join(&thread);
        CHECK_EQ(during, before + 1);
        do
                after = w_os_thread_count();
        while (after > before);
        CHECK_EQ(after, before);
}

TEST(count_may_not_be_known)
{
        int rc;

        NEEDS_INJECTION();
        w_inject_once(W_CALL_OPEN, 1, EMFILE);
        KEEPS_ERRNO(rc = w_os_thread_count());
        CHECK_EQ(rc, -EMFILE);
}
