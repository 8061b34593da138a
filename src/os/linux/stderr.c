/* os/linux/stderr.c - messages, abort and the random seed. Contract: os/report.h,
 * os/clock.h.
 *
 * Signal handlers write messages too: raw calls only, no lock, no cancellation point.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/os.h"

#include "os/linux/errno_call.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { STDERR = 2, ERR_TIMEOUT_NS = 20000000 };

/* ---- Writing --------------------------------------------------------------------------------- */

/* The descriptor is non-blocking and full: waits up to `timeout` for a reader. */
static bool has_room(int fd, int64_t timeout)
{
        struct pollfd   p = { .fd = fd, .events = POLLOUT };
        struct timespec left = { .tv_sec = timeout / 1000000000, .tv_nsec = timeout % 1000000000 };
        intptr_t        n;

        do
                n = W_SYS(syscall(SYS_ppoll, &p, 1, &left, NULL, 0));
        while (n == -EINTR);    /* the kernel has written the rest of the time to `left` */
        return n > 0 && (p.revents & POLLOUT);
}

static bool write_all(int fd, const char *text, size_t len, int64_t timeout)
{
        while (len) {
                intptr_t n = W_SYS(syscall(SYS_write, fd, text, len));

                if (n == -EINTR || (n == -EAGAIN && has_room(fd, timeout)))
                        continue;
                if (n <= 0)
                        return false;
                text += n;
                len -= (size_t)n;
        }
        return true;
}

/* Consumes the SIGPIPE that the write may have sent to this thread. The caller makes sure that no
 * SIGPIPE was pending before the write: that signal would not be ours. */
static void eat_sigpipe(const sigset_t *pipe_only)
{
        struct timespec at_once = { 0 };

        while (W_SYS(syscall(SYS_rt_sigtimedwait, pipe_only, NULL, &at_once, _NSIG / 8)) == -EINTR)
                continue;
}

bool w_os_write(int fd, const char *text, size_t len, int64_t timeout)
{
        sigset_t waiting, pipe_only, mask;

        /* A reader that closed the other end must not kill the program. */
        sigemptyset(&pipe_only);
        sigaddset(&pipe_only, SIGPIPE);
        (void)pthread_sigmask(SIG_BLOCK, &pipe_only, &mask);    /* cannot fail, nor the next two */
        sigemptyset(&waiting);
        (void)W_SYS(sigpending(&waiting));
        bool all = write_all(fd, text, len, timeout);

        if (!sigismember(&waiting, SIGPIPE))
                eat_sigpipe(&pipe_only);
        (void)pthread_sigmask(SIG_SETMASK, &mask, NULL);
        return all;
}

void w_os_write_err(const char *text, size_t len)
{
        (void)w_os_write(STDERR, text, len, ERR_TIMEOUT_NS);      /* there is no other channel */
}

W_NORETURN void w_os_abort(void)
{
        abort();
}

/* ---- Seed ------------------------------------------------------------------------------------ */

/* Differs between processes even where the kernel gives no random numbers. */
static uint64_t poor_seed(void)
{
        const void *given = (const void *)getauxval(AT_RANDOM);
        uint64_t    seed = 0;

        if (given)
                memcpy(&seed, given, sizeof(seed));
        return seed ^ (uint64_t)w_os_now() * 0x9e3779b97f4a7c15u ^ (uint64_t)getpid() << 40;
}

uint64_t w_os_random_seed(void)
{
        enum { NEVER_BLOCK = 1 };       /* GRND_NONBLOCK */
        uint64_t seed;

        if (W_SYS_AT(W_CALL_RANDOM, syscall(SYS_getrandom, &seed, sizeof(seed), NEVER_BLOCK)) !=
            sizeof(seed))
                return poor_seed();
        return seed;
}
