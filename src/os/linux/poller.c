/* os/linux/poller.c - events on descriptors of any kind. Contract: os/poller.h.
 *
 * One epoll instance; a descriptor is armed for one event at a time, or watched, edge-triggered.
 * The wakeup is an eventfd that stays readable until it is cleared, so that it also ends a wait
 * that is about to begin. Waits are in nanoseconds: epoll_pwait2, or ppoll on the epoll descriptor
 * for kernels before 5.11 and where a seccomp filter that is older than epoll_pwait2 refuses it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/os.h"

#include "base/assert.h"
#include "base/sanitizer.h"
#include "os/linux/errno_call.h"

#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SAME(name) ((int)W_POLL_##name == (int)EPOLL##name && (int)W_POLL_##name == POLL##name)

_Static_assert(SAME(IN) && SAME(PRI) && SAME(OUT) && SAME(ERR) && SAME(HUP) && SAME(RDHUP) &&
               (int)W_POLL_NVAL == POLLNVAL, "epoll and poll use the same bits");

enum { EVENTS_AT_ONCE = 128 };

#define WAKEUP UINT64_MAX       /* as event data; no descriptor is negative */

/* ---- Begin and end --------------------------------------------------------------------------- */

static int make_wakeup(const struct w_os_poller *poller)
{
        struct epoll_event ev = { .events = EPOLLIN, .data.u64 = WAKEUP };
        int wakeup = (int)W_SYS_AT(W_CALL_POLLER, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));

        if (wakeup < 0)
                return wakeup;
        int rc = (int)W_SYS_AT(W_CALL_POLLER, epoll_ctl(poller->fd, EPOLL_CTL_ADD, wakeup, &ev));

        if (rc == 0)
                return wakeup;
        (void)W_SYS(close(wakeup));
        return rc;
}

int w_os_poller_open(struct w_os_poller *poller)
{
        poller->fd = (int)W_SYS_AT(W_CALL_POLLER, epoll_create1(EPOLL_CLOEXEC));
        if (poller->fd < 0)
                return poller->fd;
        poller->wakeup = make_wakeup(poller);
        if (poller->wakeup >= 0)
                return 0;
        (void)W_SYS(close(poller->fd));
        return poller->wakeup;
}

void w_os_poller_close(struct w_os_poller *poller)
{
        (void)W_SYS(close(poller->wakeup));
        (void)W_SYS(close(poller->fd));
}

/* ---- Descriptors ----------------------------------------------------------------------------- */

static struct epoll_event event_of(int fd, uint32_t seq, uint32_t events)
{
        return (struct epoll_event){
                .events = events | EPOLLONESHOT,
                .data.u64 = (uint64_t)seq << 32 | (uint32_t)fd,
        };
}

int w_os_poller_add(struct w_os_poller *poller, int fd, uint32_t seq, uint32_t events)
{
        struct epoll_event ev = event_of(fd, seq, events);

        return (int)W_SYS_AT(W_CALL_POLLER, epoll_ctl(poller->fd, EPOLL_CTL_ADD, fd, &ev));
}

int w_os_poller_arm(struct w_os_poller *poller, int fd, uint32_t seq, uint32_t events)
{
        struct epoll_event ev = event_of(fd, seq, events);

        return (int)W_SYS(epoll_ctl(poller->fd, EPOLL_CTL_MOD, fd, &ev));
}

static struct epoll_event watched(int fd, uint32_t seq)
{
        struct epoll_event ev = event_of(fd, seq, 0);

        ev.events = EPOLLIN | EPOLLPRI | EPOLLOUT | EPOLLRDHUP | EPOLLET;
        return ev;
}

int w_os_poller_watch(struct w_os_poller *poller, int fd, uint32_t seq)
{
        struct epoll_event ev = watched(fd, seq);

        return (int)W_SYS_AT(W_CALL_POLLER, epoll_ctl(poller->fd, EPOLL_CTL_ADD, fd, &ev));
}

int w_os_poller_remind(struct w_os_poller *poller, int fd, uint32_t seq)
{
        struct epoll_event ev = watched(fd, seq);

        return (int)W_SYS(epoll_ctl(poller->fd, EPOLL_CTL_MOD, fd, &ev));
}

void w_os_poller_forget(struct w_os_poller *poller, int fd)
{
        (void)W_SYS(epoll_ctl(poller->fd, EPOLL_CTL_DEL, fd, NULL));
}

/* ---- Waiting --------------------------------------------------------------------------------- */

static int64_t rest_until(int64_t at)
{
        if (at <= 0)
                return 0;
        int64_t rest = at == W_FOREVER ? W_FOREVER : at - w_os_now();

#if defined(W_TSAN)
        enum { SLICE_NS = 10000000 };   /* TSan delays signals to a sleeping thread: futex.c */

        if (rest > SLICE_NS)
                rest = SLICE_NS;
#endif
        return rest > 0 ? rest : 0;
}

static int wait_in_ns(int fd, struct epoll_event *evs, int n, int64_t ns)
{
        struct timespec ts = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };

#if defined(SYS_epoll_pwait2)
        int rc = (int)W_SYS(syscall(SYS_epoll_pwait2, fd, evs, n, ns == W_FOREVER ? NULL : &ts,
                                    NULL, 0));

        if (rc != -ENOSYS && rc != -EPERM)
                return rc;
#endif
        struct pollfd pfd = { .fd = fd, .events = POLLIN };
        int ready = (int)W_SYS(ppoll(&pfd, 1, ns == W_FOREVER ? NULL : &ts, NULL));

        return ready <= 0 ? ready : (int)W_SYS(epoll_wait(fd, evs, n, 0));
}

/* Some architectures have no system call epoll_wait. */
static int look(int fd, struct epoll_event *evs, int n)
{
        return (int)W_SYSCALL(epoll_wait(fd, evs, n, 0), SYS_epoll_pwait, fd, evs, n, 0);
}

int w_os_poller_wait(struct w_os_poller *poller, struct w_os_event *out, int n,
                     int64_t deadline_at)
{
        struct epoll_event evs[EVENTS_AT_ONCE];
        int64_t            ns = rest_until(deadline_at);
        int                n_out = 0;

        if (n > EVENTS_AT_ONCE)
                n = EVENTS_AT_ONCE;
        int n_evs = ns == 0 ? look(poller->fd, evs, n)
                            : wait_in_ns(poller->fd, evs, n, ns);

        if (n_evs == -EINTR)
                return 0;
        W_CHECK(n_evs >= 0, "waiting for descriptors failed: %s", w_error_name(n_evs));
        for (int i = 0; i < n_evs; i++) {
                uint64_t data = evs[i].data.u64;

                if (data == WAKEUP)
                        continue;
                out[n_out++] = (struct w_os_event){ (int)(uint32_t)data, (uint32_t)(data >> 32),
                                                    evs[i].events };
        }
        return n_out;
}

void w_os_poller_wake(struct w_os_poller *poller)
{
        uint64_t one = 1;

        (void)W_SYS(write(poller->wakeup, &one, sizeof(one)));     /* full: it is set */
}

void w_os_poller_wake_clear(struct w_os_poller *poller)
{
        uint64_t count;

        (void)W_SYS(read(poller->wakeup, &count, sizeof(count)));
}
