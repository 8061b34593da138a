/* tests/unit/test_os_stderr.c - writing to stderr, abort, and the seed.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/os.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>

static void say(const char *text)
{
        KEEPS_ERRNO(w_os_write_err(text, strlen(text)));
}

static void say_hello(void *arg)
{
        (void)arg;
        say("hello ");
        say("");
        say("there\n");
}

TEST(write_err_goes_to_stderr)
{
        char err[64];
        int  status = test_run_child(say_hello, NULL, err, sizeof(err));

        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        CHECK_STR(err, "hello there\n");
}

/* More than a pipe holds. */
enum { LARGE = 300 * 1024 };
static char large[LARGE + 1];

static void say_large(void *arg)
{
        bool nonblocking = arg != NULL;

        if (nonblocking)
                fcntl(2, F_SETFL, O_NONBLOCK);
        w_os_write_err(large, LARGE);
}

/* How much of it came. */
static size_t hear_large(void *arg)
{
        static char err[LARGE + 16];

        memset(large, 'x', LARGE);
        large[LARGE - 1] = '.';
        int status = test_run_child(say_large, arg, err, sizeof(err));
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        CHECK_EQ(strncmp(err, large, strlen(err)), 0);
        return strlen(err);
}

TEST(write_err_writes_all_of_a_large_text)
{
        CHECK_EQ(hear_large(NULL), LARGE);
}

/* The reader has 20 ms each time that the pipe is full; it may get no CPU for longer. */
TEST(write_err_writes_all_to_a_nonblocking_pipe_that_is_read)
{
        size_t n = hear_large(large);

        for (int i = 0; i < 10 && n < LARGE; i++)
                n = hear_large(large);
        CHECK_EQ(n, LARGE);
}

TEST(write_err_gives_up_without_a_reader)
{
        int ends[2];

        CHECK(pipe2(ends, O_NONBLOCK) == 0);
        CHECK(dup2(ends[1], 2) == 2);
        KEEPS_ERRNO(w_os_write_err(large, LARGE));
}

static bool sigpipe_pending(void)
{
        sigset_t set;

        sigemptyset(&set);
        CHECK(sigpending(&set) == 0);
        return sigismember(&set, SIGPIPE);
}

static void break_stderr(void)
{
        int ends[2];

        CHECK(pipe(ends) == 0);
        CHECK(dup2(ends[1], 2) == 2);
        close(ends[0]);
        close(ends[1]);
}

TEST(write_err_to_a_broken_pipe_does_not_kill)
{
        break_stderr();
        say("not seen\n");
        CHECK(!sigpipe_pending());
}

TEST(write_err_leaves_a_waiting_sigpipe_to_its_owner)
{
        sigset_t set;

        sigemptyset(&set);
        sigaddset(&set, SIGPIPE);
        CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
        CHECK(raise(SIGPIPE) == 0);
        break_stderr();
        say("not seen\n");
        CHECK(sigpipe_pending());
        CHECK(pthread_sigmask(SIG_BLOCK, NULL, &set) == 0);
        CHECK(sigismember(&set, SIGPIPE));
}

TEST(write_err_to_a_closed_descriptor_returns)
{
        close(2);
        say("not seen\n");
}

static void end(void *arg)
{
        (void)arg;
        w_os_signals_block(NULL);
        w_os_abort();
}

TEST(abort_ends_the_process_even_with_signals_blocked)
{
        test_expect_death(end, NULL, SIGABRT, "");
}

/* ---- The seed -------------------------------------------------------------------------------- */

static void say_seed(void *arg)
{
        uint64_t seed;

        (void)arg;
        KEEPS_ERRNO(seed = w_os_random_seed());
        w_os_write_err((const char *)&seed, sizeof(seed));
}

static void check_seeds_differ(void)
{
        char a[16], b[16];

        CHECK_EQ(test_run_child(say_seed, NULL, a, sizeof(a)), 0);
        CHECK_EQ(test_run_child(say_seed, NULL, b, sizeof(b)), 0);
        CHECK(memcmp(a, b, 8) != 0);
}

TEST(seed_differs_from_process_to_process)
{
        check_seeds_differ();
}

TEST(seed_differs_even_where_the_kernel_gives_none)
{
        NEEDS_INJECTION();
        w_inject_from(W_CALL_RANDOM, 1, ENOSYS);
        check_seeds_differ();
        (void)w_os_random_seed();
        CHECK_EQ(w_inject_hits(), 1);
}
