/* tests/lib/os.c - what the tests of os/linux share.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/os.h"

bool os_kernel_faults_at(const void *addr)
{
        int ends[2];

        CHECK(pipe(ends) == 0);
        ssize_t n = syscall(SYS_write, ends[1], addr, 1);
        bool    faults = n < 0 && errno == EFAULT;
        CHECK(faults || n == 1);
        close(ends[0]);
        close(ends[1]);
        return faults;
}

static volatile sig_atomic_t os_storm_signals;

void os_storm_signal(int sig)
{
        (void)sig;
        os_storm_signals = os_storm_signals + 1;
}

void os_storm_start(struct os_storm *s)
{
        struct sigaction  action = { .sa_handler = os_storm_signal };
        struct sigevent   event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1 };
        struct itimerspec often = { { 0, 1000000 }, { 0, 1000000 } };

        event._sigev_un._tid = w_os_tid();
        CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
        CHECK(timer_create(CLOCK_MONOTONIC, &event, &s->timer) == 0);
        CHECK(timer_settime(s->timer, 0, &often, NULL) == 0);
}

int os_storm_seen(void)
{
        struct timespec none = { 0, 0 };

        nanosleep(&none, NULL);
        return os_storm_signals;
}

void os_storm_stop(struct os_storm *s)
{
        CHECK(timer_delete(s->timer) == 0);
}
