/* net/desc_ref.c - numbers in use, and files that weft makes.
 *
 * Protocols   cites poll (net/poll.c), poll-edge (net/poll_edge.c), close-notify
 *             (net/close_notify.c), deferred-error (net/deferred_error.c).
 *
 * Every call begins and ends a use of its number. The last end after weft_close really closes it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/assert.h"
#include "net/close_notify.h"
#include "net/desc.h"
#include "net/unix_path.h"
#include "net/poll.h"
#include "sched/thread/netpoll.h"
#include "sched/sched.h"

#include "sched/ready.h"
#include "weft.h"

#include <errno.h>      /* -Exxx */

static bool add_user(struct desc *d, uint32_t bits)
{
        uint32_t users = w_load_rlx(&d->users);                   /* hint: the CAS decides */

        do {
                if (users & W_DESC_CLOSING)
                        return false;
        } while (!w_cas_acqrel(&d->users, &users, users + bits)); /* [PL1] */
        return true;
}

struct desc *w_desc_begin(int fd, int *rc)
{
        struct desc *d = w_desc_get(fd);

        *rc = fd < 0 ? -EBADF : !d ? -ENOMEM : !add_user(d, 1) ? -EBADF : 0;
        return *rc < 0 ? NULL : d;
}

/* The number may belong to another file from now on. */
static void forget_file_locked(struct desc *d)
{
        w_store_rlx(&d->no_file, 0);                              /* hint */
        w_store_rlx(&d->deferred, 0);                             /* guarded by the lock */
}

bool w_desc_is_file(struct desc *d, int fd)
{
        struct w_os_file file = { 0 };

        if (W_LIKELY(w_load_rlx(&d->no_file)))                    /* hint */
                return false;
        if (w_os_fd_ask(fd, &file) == 0 && !file.is_file)
                w_store_rlx(&d->no_file, 1);                      /* hint */
        return file.is_file;
}

/* Every caller may switch. An M is in user code during close(2), however deeply the call is nested
 * in the runtime. */
int w_desc_close_file(int fd)
{
        struct m *mp = w_m();

        if (W_LIKELY(mp != NULL))
                w_leave_on(mp);
        weft_block_begin();
        int rc = w_os_fd_close(fd);

        weft_block_end();
        (void)w_enter();
        return rc;
}

static W_NOINLINE int really_close(struct desc *d, int fd)
{
        struct queue woken = { 0 };
        int          rc;

        w_lock(&d->lock);
        W_ASSERT(w_list_empty(&d->waits) && d->reserved == 0);
        d->seq++;
        d->trying = 0;
        w_store_rlx(&d->edge, 0);                                 /* guarded by PL1 */
        forget_file_locked(d);
        if (d->known)
                w_os_poller_forget(w_netpoll(&rc), fd);
        d->known = false;
        w_unlock(&d->lock);
        w_store_rel(&d->users, 0);                                /* [PL1] */
        rc = w_desc_close_file(fd);
        w_close_notify_wake();
        w_lock(&d->lock);
        w_poll_change_locked(d, &woken);
        w_unlock(&d->lock);
        w_ready_many(&woken);
        return rc;
}

int w_desc_end(struct desc *d, int fd)
{
        uint32_t before = w_sub_acqrel(&d->users, 1);             /* [PL1] */

        return W_LIKELY(before != (W_DESC_CLOSING | 1)) ? 0 : really_close(d, fd);
}

bool w_desc_close(struct desc *d)
{
        struct queue woken = { 0 };

        if (!add_user(d, W_DESC_CLOSING))
                return false;
        w_lock(&d->lock);
        w_poll_close_locked(d, &woken);
        w_edge_end_locked(d, &woken);
        w_unlock(&d->lock);
        w_ready_many(&woken);
        w_close_notify_wake();
        return true;
}

/* ---- Files that weft makes ------------------------------------------------------------------- */

static int begin_edge_locked(struct desc *d, struct w_os_poller *poller, int fd, uint32_t edge)
{
        d->seq++;
        int rc = w_os_poller_watch(poller, fd, d->seq);

        if (rc == -EEXIST) {            /* a waiter for an older file registered the number */
                w_os_poller_forget(poller, fd);
                rc = w_os_poller_watch(poller, fd, d->seq);
        }
        d->known = rc == 0;
        if (rc == 0)
                w_edge_begin_locked(d, edge);
        return rc;
}

/* Waiters that are still in the queue of that number wait for a file that other code has closed. */
static int take_up(int fd, uint32_t edge)
{
        struct queue        woken = { 0 };
        int                 rc;
        struct w_os_poller *poller = w_netpoll(&rc);
        struct desc        *d = poller ? w_desc_get(fd) : NULL;

        if (!d)
                return rc < 0 ? rc : -ENOMEM;
        w_lock(&d->lock);
        struct unix_path *path = d->path;

        w_poll_lose_locked(d, &woken);
        forget_file_locked(d);
        w_store_rlx(&d->no_file, 1);                              /* hint: the poller can wait */
        d->path = NULL;
        rc = begin_edge_locked(d, poller, fd, edge);
        w_unlock(&d->lock);
        w_ready_many(&woken);
        w_unix_path_forget(path);               /* of a unix socket that other code has closed */
        return rc;
}

int w_desc_made(int fd)
{
        return take_up(fd, W_EDGE_MADE | (w_os_fd_is_tcp(fd) > 0 ? W_EDGE_TCP : 0u));
}

/* A connection inherits the properties of a listener that weft made: no system call is needed. */
int w_desc_accepted(struct desc *listener, int fd)
{
        uint32_t edge = w_load_rlx(&listener->edge);              /* guarded: see PROTOCOL poll */

        if (edge)
                return take_up(fd, edge);
        w_os_socket_no_delay(fd);
        return w_desc_made(fd);
}
