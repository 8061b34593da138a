/* net/connect.c - connecting a socket.
 *
 * Protocols   cites poll (net/poll.c), close-notify (net/close_notify.c), offload (net/offload.c).
 *
 * While a connection is being made, connect(2) is called again after each event that the poller
 * reports. If the listener of a unix socket has a full queue, the poller cannot wait for room:
 * connect(2) is called again after a pause. A blocking socket is connected by another thread. If
 * the caller leaves, it shuts the socket down, so that the thread returns. A thread that calls
 * connect(2) only after that returns when the kernel gives up; the number stays in use until then.
 *
 * SPDX-License-Identifier: MIT
 */
#include "net/connect.h"

#include "net/close_notify.h"
#include "net/offload.h"
#include "net/poll.h"
#include "wait/wait.h"

#include "weft.h"

#include <errno.h>      /* -Exxx */
#include <string.h>

enum {
        PAUSE_MIN_NS = 500000, PAUSE_MAX_NS = 50000000,
        THREADS_MAX = 256,              /* workers that may connect at the same time */
};

/* ---- Non-blocking sockets -------------------------------------------------------------------- */

static bool is_under_way(int rc)
{
        return rc == -EINPROGRESS || rc == -EALREADY;
}

int w_connect_finish(struct desc *d, int fd, const void *addr, uint32_t len, int rc)
{
        int64_t pause = PAUSE_MIN_NS;
        bool    woken = false, waited = false;

        while (is_under_way(rc) || rc == -EAGAIN) {
                if (rc == -EAGAIN) {
                        rc = w_close_notify_sleep(d, w_time_after(w_os_now(), pause), NULL, NULL);
                        pause = pause < PAUSE_MAX_NS / 2 ? 2 * pause : PAUSE_MAX_NS;
                } else {
                        rc = w_poll_wait(d, fd, W_POLL_OUT, woken ? W_POLL_AGAIN : W_POLL_FIRST);
                        woken = rc == 0;
                }
                waited = true;
                if (rc == 0)
                        rc = w_os_socket_connect(fd, addr, len);
        }
        if (woken)
                w_poll_tried(d, fd, W_POLL_OUT);
        return waited && rc == -EISCONN ? 0 : rc;
}

/* ---- Blocking sockets ------------------------------------------------------------------------ */

static void run_connect(union offload_job *m)
{
        m->connect.rc = w_os_socket_connect(m->connect.fd, m->connect.addr, m->connect.len);
}

static void drop_connect(union offload_job *m)
{
        (void)w_desc_end(m->connect.d, m->connect.fd);
}

static struct offload_kind connects = W_OFFLOAD_KIND(connects, .name = "connect",
                                                   .most = THREADS_MAX, .run = run_connect,
                                                   .drop = drop_connect);

/* The thread may outlive this call, so it has a use of the descriptor of its own. */
static int connect_elsewhere(struct desc *d, int fd, const void *addr, uint32_t len)
{
        union offload_job m = { .connect = { .fd = fd, .len = len } };
        int                 rc;

        memcpy(m.connect.addr, addr, len);
        m.connect.d = w_desc_begin(fd, &rc);
        if (!m.connect.d)
                return rc;
        rc = w_offload_call(&connects, &m, d);
        if (rc < 0) {
                w_os_socket_shut(fd);
                return rc;
        }
        (void)w_desc_end(m.connect.d, fd);
        return m.connect.rc;
}

/* ---- Public ---------------------------------------------------------------------------------- */

static int connect_on(struct desc *d, int fd, const void *addr, uint32_t len)
{
        int waits = w_os_socket_waits(fd, W_OS_CONNECTING);

        if (waits < 0)
                return waits;
        return waits ? connect_elsewhere(d, fd, addr, len)
                     : w_connect_finish(d, fd, addr, len, w_os_socket_connect(fd, addr, len));
}

W_EXPORT int weft_connect(int fd, const struct sockaddr *sa, unsigned int len)
{
        if (!sa)
                return -EFAULT;
        if (len > sizeof(((struct w_os_addr *)0)->bytes))
                return -EINVAL;
        uint32_t     where;
        int          rc;
        struct desc *d = w_desc_call_begin(fd, &where, &rc);

        if (!d)
                return rc;
        rc = connect_on(d, fd, sa, len);
        w_desc_call_end(d, fd, where);
        return rc;
}
