/* net/desc_ref.h - references to descriptors' numbers.
 *
 * Every call uses a number between w_desc_begin and w_desc_end: weft_close of another caller takes
 * effect when the last user has ended. PROTOCOL poll stands in net/poll.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_NET_DESC_REF_H
#define W_NET_DESC_REF_H

#include "wait/wait.h"

#include <errno.h>      /* -ESHUTDOWN */

struct desc;

/* Begins a use of fd. NULL: *rc says why. -EBADF: fd is being closed, or no such number exists;
 * -ENOMEM. Context: any thread, a run is on. */
struct desc *w_desc_begin(int fd, int *rc);
/* Ends it. Returns 0, or the result of close(2) if this was the last use after a close.
 * Context: no lock held; may switch: yes. */
int w_desc_end(struct desc *d, int fd);

/* Begins a public, cancellable call on fd: enters the runtime, checks the scopes and begins a use
 * of fd. NULL: *rc says why, and there is nothing to end. *where: the result of w_enter, for
 * w_desc_call_end and for code that leaves the runtime in between. Context: any thread, in user
 * code; may switch: yes. */
W_INLINE struct desc *w_desc_call_begin(int fd, uint32_t *where, int *rc)
{
        *rc = -ESHUTDOWN;
        if (!w_call_begin())
                return NULL;
        *where = w_enter();
        *rc = w_call_check();
        struct desc *d = *rc < 0 ? NULL : w_desc_begin(fd, rc);

        if (W_LIKELY(d != NULL))
                return d;
        w_leave(*where);
        w_call_end();
        return NULL;
}

W_INLINE void w_desc_call_end(struct desc *d, int fd, uint32_t where)
{
        (void)w_desc_end(d, fd);
        w_leave(where);
        w_call_end();
}

/* All waiters get -EBADF, and so do calls that begin from now on. False: another caller closes the
 * number already. The caller must be a user, and must still end its use. */
W_MUST_CHECK bool w_desc_close(struct desc *d);
/* close(2), in a blocking region: a socket may linger, and a terminal may wait until all is
 * written. Context: no lock held; may switch: yes. */
int w_desc_close_file(int fd);

/* Is it a regular file or the like, for which the poller cannot wait? Context: a user. */
bool w_desc_is_file(struct desc *d, int fd);

/* Registers fd, which weft has just made and no other code knows. What was known of the number is
 * forgotten, and the poller is told once. A socket that is being connected must come here after
 * connect(2) has begun; before that the poller reports it as closed.
 *
 * Returns
 *   0
 *   -EPERM    the poller cannot wait for such a file
 *   -EMFILE, -ENFILE, -ENOMEM, -ENOSPC
 * After an error the caller closes fd. */
W_MUST_CHECK int w_desc_made(int fd);
/* The same for a connection that accept(2) returned for `listener`. Context: a user of that. */
W_MUST_CHECK int w_desc_accepted(struct desc *listener, int fd);

#endif
