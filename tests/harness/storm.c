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

/* By default it is ignored: a late signal does not kill programs that a test starts. */
enum { STORM_SIGNAL = SIGWINCH };

static void on_signal(int sig)
{
        (void)sig;
}

static void signal_all(pid_t target, const char *tasks)
{
        DIR *dir = opendir(tasks);

        if (!dir)
                return;
        for (struct dirent *d; (d = readdir(dir));) {
                long tid = strtol(d->d_name, NULL, 10);

                if (tid > 0)
                        (void)syscall(SYS_tgkill, target, tid, STORM_SIGNAL);  /* may be gone */
        }
        closedir(dir);
}

/* The descriptor stands for the process, also if its number belongs to another process by now. */
static void storm(pid_t target)
{
        char tasks[64];

        (void)close_range(0, ~0u, 0);   /* the reader of the test's output waits for its end */
        struct pollfd end = { .fd = (int)syscall(SYS_pidfd_open, target, 0), .events = POLLIN };

        snprintf(tasks, sizeof(tasks), "/proc/%d/task", (int)target);
        while (end.fd >= 0 && poll(&end, 1, 1) == 0)
                signal_all(target, tasks);
        _exit(0);
}

static bool is_asked_for(void)
{
        return getenv("TEST_STORM") != NULL;
}

static void set_handler(void (*handler)(int))
{
        struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK };

        CHECK(sigaction(STORM_SIGNAL, &action, NULL) == 0);
}

/* The kernel discards pending signals, and an ignored signal interrupts nothing. */
void test_storm_pause(void)
{
        if (is_asked_for())
                set_handler(SIG_IGN);
}

void test_storm_resume(void)
{
        if (is_asked_for())
                set_handler(on_signal);
}

void test_storm_spare(void)
{
        sigset_t set;

        sigemptyset(&set);
        sigaddset(&set, STORM_SIGNAL);
        CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
}

void test_storm_begin(void)
{
        pid_t self = getpid();
        int   status;

        if (!is_asked_for())
                return;
        set_handler(on_signal);
        pid_t between = fork();         /* so that it is not a child of the test */

        CHECK(between >= 0);
        if (between == 0) {
                if (fork() == 0)
                        storm(self);
                _exit(0);
        }
        while (waitpid(between, &status, 0) < 0)
                CHECK(errno == EINTR);
}
