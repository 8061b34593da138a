/* net/accept.c - the next connection to a listening socket.
 *
 * Protocols   cites poll (net/poll.c), close-notify (net/close_notify.c).
 *
 * A non-blocking socket is tried first. On a blocking socket a caller calls accept(2) only after an
 * event, in a blocking region, and weft admits one caller at a time. The call blocks there only if
 * code other than weft accepts the connection first. A listener that weft made never blocks, and
 * its connections need no further setup: an accept on it is one system call, and one more for the
 * poller.
 *
 * No connection is accepted before the poller exists. If weft's table or the poller has no room for
 * an accepted connection, the caller pauses and tries again to register the connection. A caller
 * that must leave before the connection is registered returns it all the same.
 *
 * SPDX-License-Identifier: MIT
 */
#include "net/close_notify.h"
#include "net/desc.h"
#include "net/poll.h"
#include "sched/thread/netpoll.h"
#include "wait/wait.h"

#include "sched/switch.h"
#include "weft.h"

#include <errno.h>      /* -Exxx */

enum {
        PAUSE_MIN_NS = 5000000, PAUSE_MAX_NS = 100000000,
        NOTHING = -4096,                /* neither a descriptor nor an error */
};

/* One call. */
struct accepting {
        struct desc *d;
        int          fd;
        bool         blocks;            /* accept(2) would block */
        bool         woken;             /* it was woken to try, and must pass the listener on */
        int64_t      pause;             /* how long to pause next, if there is no room */
        int          got;               /* accepted, but not registered yet; or NOTHING */
        int          found;             /* the result of a try before a pause; or NOTHING */
};

/* ---- Trying ---------------------------------------------------------------------------------- */

static int accept_blocking(struct accepting *a, uint32_t *where)
{
        int now = w_os_fd_poll(a->fd, W_POLL_IN);

        if (now <= 0)
                return now < 0 ? now : -EAGAIN;
        w_leave(*where);
        weft_block_begin();
        int rc = w_os_socket_accept(a->fd);

        weft_block_end();
        *where = w_enter();
        return rc;
}

static int accept_in_region(struct accepting *a, uint32_t *where)
{
        if (!a->woken || !w_poll_reserve(a->d, W_POLL_IN))
                return -EAGAIN;
        int rc = accept_blocking(a, where);

        w_poll_unreserve(a->d, a->fd, W_POLL_IN);
        return rc;
}

/* That connection is gone; the next connection may be good. */
static bool is_aborted(int rc)
{
        switch (rc) {
        case -ECONNABORTED:
        case -EPROTO:
        case -ENETDOWN:
        case -ENOPROTOOPT:
        case -EHOSTDOWN:
        case -ENONET:
        case -EHOSTUNREACH:
        case -ENETUNREACH:
                return true;
        default:
                return false;
        }
}

/* Without a poller the connection is left to other callers, perhaps in another process. */
static int accept_next(struct accepting *a, uint32_t *where)
{
        int rc;

        if (!w_netpoll(&rc))
                return rc;
        return a->blocks ? accept_in_region(a, where) : w_os_socket_accept(a->fd);
}

static int try_now(struct accepting *a, uint32_t *where)
{
        if (a->got == NOTHING) {
                int next = accept_next(a, where);

                if (next < 0)
                        return next;
                a->got = next;
        }
        int rc = w_desc_accepted(a->d, a->got);

        return rc < 0 ? rc : a->got;
}

/* ---- Waiting --------------------------------------------------------------------------------- */

static bool is_shortage(int rc)
{
        return rc == -EMFILE || rc == -ENFILE || rc == -ENOMEM || rc == -ENOBUFS || rc == -ENOSPC;
}

/* Called just before the sleep: a descriptor that was closed meanwhile may have made room. If the
 * accept needs a blocking region it is not tried here, which costs one pause. -EAGAIN costs a pause
 * too: perhaps there is no room for the wait itself. */
static bool try_again(void *arg)
{
        struct accepting *a = arg;

        if (a->blocks && a->got == NOTHING)
                return false;
        int rc = try_now(a, NULL);

        if (rc == -EAGAIN || is_shortage(rc))
                return false;
        a->found = rc;
        return true;
}

/* Yields after a sleep without a result: if memory is short, the sleep may be short too. */
static int back_off(struct accepting *a)
{
        int rc = w_close_notify_sleep(a->d, w_time_after(w_os_now(), a->pause), try_again, a);

        a->pause = a->pause < PAUSE_MAX_NS / 2 ? 2 * a->pause : PAUSE_MAX_NS;
        if (rc == 0 && a->found == NOTHING)
                w_yield();
        return rc;
}

static int wait_for_one(struct accepting *a)
{
        int rc = w_poll_wait(a->d, a->fd, W_POLL_IN, a->woken ? W_POLL_AGAIN : W_POLL_FIRST);

        a->woken = rc == 0;
        return rc;
}

static int accept_one(struct accepting *a, uint32_t *where)
{
        for (;;) {
                int rc = a->found == NOTHING ? try_now(a, where) : a->found;

                if (rc >= 0)
                        return rc;
                a->found = NOTHING;
                if (rc == -EAGAIN)
                        rc = wait_for_one(a);
                else if (is_aborted(rc))
                        rc = w_call_check();
                if (is_shortage(rc))
                        rc = back_off(a);
                if (rc < 0)
                        return rc;
        }
}

/* ---- Public ---------------------------------------------------------------------------------- */

/* A caller that must leave with an accepted connection returns that connection. Closing it would
 * lose it, although its peer has been told that it was accepted. Weft treats an unregistered
 * connection as a foreign descriptor: it works, but each wait arms the poller. */
static int accept_and_keep(struct accepting *a, uint32_t *where)
{
        int blocks = w_desc_is_made(a->d) ? 0 : w_os_socket_waits(a->fd, W_OS_ACCEPTING);

        if (blocks < 0)
                return blocks;
        a->blocks = blocks;
        a->woken = w_desc_is_made(a->d) &&
                   w_edge_first(a->d, W_POLL_IN, true) == W_POLL_TRY_WOKEN;
        int rc = accept_one(a, where);

        if (a->woken)
                w_poll_tried(a->d, a->fd, W_POLL_IN);
        return a->got == NOTHING ? rc : a->got;
}

W_EXPORT int weft_accept(int fd)
{
        struct accepting a = { .fd = fd, .pause = PAUSE_MIN_NS, .got = NOTHING,
                               .found = NOTHING };

        uint32_t where;
        int      rc;

        a.d = w_desc_call_begin(fd, &where, &rc);
        if (!a.d)
                return rc;
        rc = accept_and_keep(&a, &where);
        w_desc_call_end(a.d, fd, where);
        return rc;
}
