/* net/accept.c - the next connection to a listening socket.
 *
 * Called by   user code.
 * Protocols   cites poll (net/poll.c), close-notify (net/close_notify.c).
 *
 * Tries first, unless the socket is one that waits: then nobody calls accept(2) who was not told
 * that there is something, and of weft's callers one at a time. Only if other code is quicker does
 * the call wait, in a blocking region. Sockets that weft has made do not wait, nor need what comes
 * of them be told or asked anything: an accept on them is one call of the kernel, and one more for
 * the poller.
 *
 * Nothing is accepted before there is a poller. If there is no room then for what was accepted,
 * weft's own record of it or the poller's, that is tried again after pauses, as if there had been
 * none to accept it. Whoever has to leave before that is done takes it along.
 *
 * SPDX-License-Identifier: MIT
 */
#include "net/close_notify.h"
#include "net/poll.h"
#include "sched/thread/netpoll.h"
#include "wait/wait.h"

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
        bool         waits;             /* accept(2) would */
        bool         woken;             /* it has waited, and is the one who tries */
        int64_t      pause;             /* the next one, if there is no room */
        int          got;               /* accepted, and not taken up yet; NOTHING */
        int          found;             /* when it was about to pause; NOTHING */
};

/* ---- Trying ---------------------------------------------------------------------------------- */

static int accept_blocking(struct accepting *a, uint32_t *before)
{
        int now = w_os_fd_poll(a->fd, W_POLL_IN);

        if (now <= 0)
                return now < 0 ? now : -EAGAIN;
        w_leave(*before);
        weft_block_begin();
        int rc = w_os_socket_accept(a->fd);

        weft_block_end();
        *before = w_enter();
        return rc;
}

static int accept_in_region(struct accepting *a, uint32_t *before)
{
        if (!a->woken || !w_desc_reserve(a->d, W_POLL_IN))
                return -EAGAIN;
        int rc = accept_blocking(a, before);

        w_desc_unreserve(a->d, a->fd, W_POLL_IN);
        return rc;
}

/* That connection is gone; the next one may be well. */
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

/* What could not be kept is left to others who accept here, perhaps in another process. */
static int accept_next(struct accepting *a, uint32_t *before)
{
        int rc;

        if (!w_netpoll(&rc))
                return rc;
        return a->waits ? accept_in_region(a, before) : w_os_socket_accept(a->fd);
}

static int try_now(struct accepting *a, uint32_t *before)
{
        if (a->got == NOTHING) {
                int next = accept_next(a, before);

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

/* Something may have been closed meanwhile. What would have to be tried in a region is not: that
 * costs it one pause. So does finding nothing: it may be the wait that there is no room for. */
static bool try_again(void *arg)
{
        struct accepting *a = arg;

        if (a->waits && a->got == NOTHING)
                return false;
        int rc = try_now(a, NULL);

        if (rc == -EAGAIN || is_shortage(rc))
                return false;
        a->found = rc;
        return true;
}

/* Others get on in any case: the sleep may be short for want of memory. */
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

static int accept_one(struct accepting *a, uint32_t *before)
{
        for (;;) {
                int rc = a->found == NOTHING ? try_now(a, before) : a->found;

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

/* Who has to leave with a connection in hand returns it: to close it would be to lose it, and its
 * peer would hear that it was accepted. It is to weft as if others had made it: it works as well,
 * but each wait arms the poller. */
static int accept_and_keep(struct accepting *a, uint32_t *before)
{
        int waits = w_desc_is_made(a->d) ? 0 : w_os_socket_waits(a->fd, W_OS_ACCEPTING);

        if (waits < 0)
                return waits;
        a->waits = waits;
        a->woken = w_poll_first(a->d, W_POLL_IN, true) == W_POLL_TRY_WOKEN;
        int rc = accept_one(a, before);

        if (a->woken)
                w_poll_tried(a->d, a->fd, W_POLL_IN);
        return a->got == NOTHING ? rc : a->got;
}

W_EXPORT int weft_accept(int fd)
{
        struct accepting a = { .fd = fd, .pause = PAUSE_MIN_NS, .got = NOTHING,
                               .found = NOTHING };

        if (!w_call_begin())
                return -ESHUTDOWN;
        uint32_t before = w_enter();
        int      rc = w_call_check();

        a.d = rc < 0 ? NULL : w_desc_begin(fd, &rc);
        if (a.d) {
                rc = accept_and_keep(&a, &before);
                (void)w_desc_end(a.d, fd);
        }
        w_leave(before);
        w_call_end();
        return rc;
}
