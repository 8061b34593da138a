/* net/desc_ref.c - numbers in use: each call begins and ends with one; the last one after
 * weft_close really closes it. And those that weft makes.
 *
 * Called by   io, fd, accept, connect, child, select (around every call); listen, dial, accept.
 * Protocols   cites poll (net/poll.c), poll-edge (net/poll_edge.c), close-notify
 *             (net/close_notify.c), kept (net/deferred_error.c).
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

/* The number may lead to another file than before. */
static void forget_file_locked(struct desc *d)
{
        w_store_rlx(&d->no_file, 0);                              /* hint */
        w_store_rlx(&d->deferred, 0);                                 /* guarded by the lock */
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

/* All calls of weft's that come here may switch: whatever they are nested in, this one is outside
 * for a while. */
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
        w_store_rlx(&d->own, 0);                                  /* guarded by PL1 */
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

/* ---- Files that weft has made ---------------------------------------------------------------- */

static int begin_edge_locked(struct desc *d, struct w_os_poller *poller, int fd, uint32_t own)
{
        d->seq++;
        int rc = w_os_poller_watch(poller, fd, d->seq);

        if (rc == -EEXIST) {            /* somebody waited for it who meant an older file */
                w_os_poller_forget(poller, fd);
                rc = w_os_poller_watch(poller, fd, d->seq);
        }
        d->known = rc == 0;
        if (rc == 0)
                w_edge_begin_locked(d, own);
        return rc;
}

/* Whoever still waits under that number waits for a file that other code has closed. */
static int take_up(int fd, uint32_t own)
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
        w_store_rlx(&d->no_file, 1);                              /* hint: it can be waited for */
        d->path = NULL;
        rc = begin_edge_locked(d, poller, fd, own);
        w_unlock(&d->lock);
        w_ready_many(&woken);
        w_unix_path_forget(path);            /* other code has closed a unix socket */
        return rc;
}

int w_desc_made(int fd)
{
        return take_up(fd, W_EDGE_MADE | (w_os_fd_is_tcp(fd) > 0 ? W_EDGE_TCP : 0u));
}

/* Of a listener that weft has made it has all that the others are asked and told. */
int w_desc_accepted(struct desc *listener, int fd)
{
        uint32_t own = w_load_rlx(&listener->own);                /* guarded: a user, see poll */

        if (own)
                return take_up(fd, own);
        w_os_socket_no_delay(fd);
        return w_desc_made(fd);
}

bool w_desc_is_made(struct desc *d)
{
        return w_load_rlx(&d->own);                               /* guarded: a user, see poll */
}
