/* tests/harness/storm.c - a process that sends signals to another's threads.
 *
 * SPDX-License-Identifier: MIT
 */
#include "harness/storm.h"

#include "harness/test.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* By default it is ignored: programs that a test starts do not die of a late one. */
enum { STRIKE = SIGWINCH };

static void strike(int sig)
{
        (void)sig;
}

static void strike_all(pid_t whom, const char *tasks)
{
        DIR *dir = opendir(tasks);

        if (!dir)
                return;
        for (struct dirent *d; (d = readdir(dir));) {
                long tid = strtol(d->d_name, NULL, 10);

                if (tid > 0)
                        (void)syscall(SYS_tgkill, whom, tid, STRIKE);   /* it may have ended */
        }
        closedir(dir);
}

/* The descriptor stands for the process, also if its number is another's by now. */
static void storm(pid_t whom)
{
        char tasks[64];

        (void)close_range(0, ~0u, 0);   /* whoever reads the test's output waits for its end */
        struct pollfd end = { .fd = (int)syscall(SYS_pidfd_open, whom, 0), .events = POLLIN };

        snprintf(tasks, sizeof(tasks), "/proc/%d/task", (int)whom);
        while (end.fd >= 0 && poll(&end, 1, 1) == 0)
                strike_all(whom, tasks);
        _exit(0);
}

static bool is_asked_for(void)
{
        return getenv("TEST_STORM") != NULL;
}

static void set_handler(void (*handler)(int))
{
        struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK };

        CHECK(sigaction(STRIKE, &action, NULL) == 0);
}

/* The kernel takes back those on their way, and none that is ignored interrupts anything. */
void test_storm_pause(void)
{
        if (is_asked_for())
                set_handler(SIG_IGN);
}

void test_storm_resume(void)
{
        if (is_asked_for())
                set_handler(strike);
}

void test_storm_spare(void)
{
        sigset_t set;

        sigemptyset(&set);
        sigaddset(&set, STRIKE);
        CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
}

void test_storm_begin(void)
{
        pid_t self = getpid();
        int   status;

        if (!is_asked_for())
                return;
        set_handler(strike);
        pid_t between = fork();         /* so that it is no child of the test's */

        CHECK(between >= 0);
        if (between == 0) {
                if (fork() == 0)
                        storm(self);
                _exit(0);
        }
        while (waitpid(between, &status, 0) < 0)
                CHECK(errno == EINTR);
}
