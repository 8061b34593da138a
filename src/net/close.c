/* net/close.c - weft_close, and weft_fd_wait.
 *
 * Protocols   cites poll (net/poll.c).
 *
 * SPDX-License-Identifier: MIT
 */
#include "net/unix_path.h"
#include "net/poll.h"
#include "wait/wait.h"

#include "weft.h"

#include <errno.h>      /* -Exxx */

/* Maps the other names of poll(2) to the directions that weft knows. */
static uint32_t directions_of(uint32_t events)
{
        enum { RDNORM = 0x040, WRNORM = 0x100, WRBAND = 0x200 };
        uint32_t known = W_POLL_IN | W_POLL_PRI | W_POLL_OUT | W_POLL_RDHUP;

        return (events & known) | (events & RDNORM ? W_POLL_IN : 0u) |
               (events & (WRNORM | WRBAND) ? W_POLL_OUT : 0u);
}

static int wait_until_ready(struct desc *d, int fd, uint32_t events)
{
        for (;;) {
                int now = w_os_fd_poll(fd, events);

                if (now != 0)
                        return now > 0 && (now & W_POLL_NVAL) ? -EBADF : now;
                int rc = w_poll_wait(d, fd, directions_of(events), W_POLL_OBSERVE);

                if (rc < 0)
                        return rc;
        }
}

W_EXPORT int weft_fd_wait(int fd, short events)
{
        uint32_t     where;
        int          rc;
        struct desc *d = w_desc_call_begin(fd, &where, &rc);

        if (!d)
                return rc;
        rc = wait_until_ready(d, fd, (unsigned short)events);
        w_desc_call_end(d, fd, where);
        return rc;
}

W_EXPORT int weft_close(int fd)
{
        if (!w_call_begin())
                return w_os_fd_close(fd);       /* there can be no waiter */
        W_ENTER();
        int          rc;
        struct desc *d = w_desc_begin(fd, &rc);
        bool         closes = d && w_desc_close(d);

        if (closes)
                w_unix_path_remove(d, &w_where_before_);
        if (d && !closes)
                rc = -EBADF;
        if (d) {
                int closed = w_desc_end(d, fd);

                rc = closes ? closed : rc;
        } else if (rc == -ENOMEM) {
                rc = w_desc_close_file(fd);     /* no call has ever used the number */
        }
        W_LEAVE();
        w_call_end();
        return rc;
}
