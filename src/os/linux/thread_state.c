/* os/linux/thread_state.c - what a thread does at this moment, as the kernel sees it. Contract:
 * os/thread_state.h.
 *
 * A signal makes some system calls end early, whatever the handler's flags are: the calls that
 * sleep for a time or wait for one of many descriptors. The kernel tells in which call a thread
 * waits, with its stack pointer and program counter.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/os.h"

#include "base/fatal.h"
#include "os/linux/errno_call.h"
#include "os/linux/procfs.h"

#include <linux/futex.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

enum { N_ARGS = 6, N_NUMBERS = N_ARGS + 2 };

/* ---- Whether a signal ends the wait ---------------------------------------------------------- */

/* True: the call waits for a limited time and returns when a handler ran. */
static bool has_timeout(int fd, int option)
{
        struct timeval t = { 0 };
        socklen_t      len = sizeof(t);

        return W_SYS(getsockopt(fd, SOL_SOCKET, option, &t, &len)) == 0 && (t.tv_sec || t.tv_usec);
}

static bool waits_on_word_for_ever(uint64_t op, uint64_t timeout)
{
        int command = (int)op & FUTEX_CMD_MASK;

        return (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET) && !timeout;
}

/* The calls in which programs wait most. A thread in any other call is left alone. */
static bool goes_on(long call, const uint64_t args[N_ARGS])
{
        switch (call) {
        case SYS_read: case SYS_readv: case SYS_recvfrom: case SYS_recvmsg: case SYS_accept:
        case SYS_accept4:
                return !has_timeout((int)args[0], SO_RCVTIMEO);
        case SYS_write: case SYS_writev: case SYS_sendto: case SYS_sendmsg:
                return !has_timeout((int)args[0], SO_SNDTIMEO);
        case SYS_futex:
                return waits_on_word_for_ever(args[1], args[3]);
        case SYS_wait4: case SYS_waitid: case SYS_flock: case SYS_openat:
                return true;
        default:
                return call < 0;        /* it waits for memory, or a debugger stopped it */
        }
}

/* ---- /proc/self/task ------------------------------------------------------------------------- */

static int file_of(int tid, const char *file, char *text, size_t size)
{
        char path[64];

        w_format(path, sizeof(path), "/proc/self/task/%d/%s", tid, file);
        return w_file_read(path, text, size);
}

static const char *hex(const char *text, uint64_t *out)
{
        *out = 0;
        text += strspn(text, " \t");
        if (text[0] == '0' && text[1] == 'x')
                text += 2;
        for (;; text++) {
                if (*text >= '0' && *text <= '9')
                        *out = *out << 4 | (uint64_t)(*text - '0');
                else if (*text >= 'a' && *text <= 'f')
                        *out = *out << 4 | (uint64_t)(*text - 'a' + 10);
                else
                        return text;
        }
}

/* "number 6 arguments sp pc", or "-1 sp pc" for a thread that waits outside a system call. */
static bool parse(const char *text, struct w_os_thread_state *out)
{
        uint64_t    n[N_NUMBERS] = { 0 };
        int64_t     call;
        const char *at = strchr(text, ' ');

        if (!at || !w_file_number(text, &call))
                return false;
        int first = call < 0 ? N_ARGS : 0;

        for (int i = first; i < N_NUMBERS; i++)
                at = hex(at, &n[i]);
        *out = (struct w_os_thread_state){ .goes_on = goes_on((long)call, n),
                                    .sp = (const void *)(uintptr_t)n[N_ARGS],
                                    .pc = (const void *)(uintptr_t)n[N_ARGS + 1] };
        return out->sp && out->pc;
}

int w_os_thread_state(int tid, struct w_os_thread_state *out)
{
        char text[256];
        int  n = file_of(tid, "syscall", text, sizeof(text));

        if (n < 0)
                return n;
        if (strncmp(text, "running", 7) == 0) {
                *out = (struct w_os_thread_state){ .computes = true };
                return 0;
        }
        return parse(text, out) ? 0 : -EINVAL;
}

int w_os_signal_is_blocked(int tid, int signo)
{
        static const char name[] = "SigBlk:";
        char     text[4096];
        uint64_t mask;
        int      n = file_of(tid, "status", text, sizeof(text));

        if (n < 0)
                return n;
        const char *at = strstr(text, name);

        if (!at)
                return -EINVAL;
        hex(at + sizeof(name) - 1, &mask);
        return mask & W_SIG_BIT(signo) ? 1 : 0;
}
