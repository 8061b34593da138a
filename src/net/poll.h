/* net/poll.h - descriptors by number, and who waits for them.
 *
 * PROTOCOL poll stands in net/poll.c. Around every use of a number:
 *
 *   d = w_desc_begin(fd, &rc)         keeps the number from being closed by weft_close
 *   rc = w_poll_wait(d, fd, events, how)     0: look again; -Exxx
 *   w_poll_tried(d, fd, events)       after a call that came of such a wait
 *   w_desc_end(d, fd)                 the last one after a close really closes it
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_NET_POLL_H
#define W_NET_POLL_H

#include "base/list.h"
#include "os/os.h"

struct desc;
struct waiter;

/* NULL: *rc says why. -EBADF: it is being closed, or no such number exists; -ENOMEM. Context: any
 * thread, a run is on. */
struct desc *w_desc_begin(int fd, int *rc);
/* 0, or what close(2) says if this was the last after a close. Context: no lock held; may switch:
 * yes. */
int w_desc_end(struct desc *d, int fd);
/* close(2), in a blocking region: a socket may linger, a terminal wait until all is written.
 * Context as above. */
int w_desc_close_file(int fd);

/* Has weft_close been called for it? Context: as a user. */
bool w_desc_is_closing(struct desc *d);

/* True: a regular file or the like: nobody waits for it in the poller. Context: as a user. */
bool w_desc_is_file(struct desc *d, int fd);

enum poll_how {
        W_POLL_FIRST,           /* the caller did not wait before */
        W_POLL_AGAIN,           /* it has tried, after a wait that returned 0: so must all that
                                 * follow, and w_poll_tried unless this is called again */
        W_POLL_TO_KNOW,         /* it wants to know, and takes nothing away */
};

/* What the caller is to do first, who wants to try. */
enum poll_first {
        W_POLL_TRY,             /* try; nobody expects anything of it */
        W_POLL_TRY_WOKEN,       /* try, as after a wait that returned 0 */
        W_POLL_WAIT,            /* nothing can be there: wait, W_POLL_FIRST */
};

/* Saves a wait that returns at once, or a try in vain; w_poll_wait is right without it too. Not
 * `some`: nothing is wanted, and it does not wait. */
enum poll_first w_poll_first(struct desc *d, uint32_t events, bool some);

/* Waits until one of events (W_POLL_*), or an error, may be the case: 0. Of those who are going to
 * try something only the first is woken; it lets the next one know by w_poll_tried or by waiting
 * again. -EBADF: closed meanwhile; -EPERM: nobody can wait for such a file; -ETIMEDOUT, -ECANCELED,
 * -ESHUTDOWN; -EMFILE, -ENFILE, -ENOMEM, -ENOSPC. Context: goroutine or a thread that is not
 * weft's; no lock held; may switch: yes. */
W_MUST_CHECK int w_poll_wait(struct desc *d, int fd, uint32_t events, enum poll_how how);
void w_poll_tried(struct desc *d, int fd, uint32_t events);
/* In place of w_poll_tried, on a descriptor of which w_desc_is_tcp, after a w_os_fd_read_tcp that
 * has left nothing. */
void w_poll_drained(struct desc *d, uint32_t events);

/* Around a call that waits if there is nothing, and the look before it: for each direction (events:
 * W_POLL_IN or W_POLL_OUT) by one at a time, or two would be told of the same. False: somebody else
 * holds it: who waits then hears of what is left once that one has let go. Not for what weft has
 * made, which never waits. Context: as a user. */
W_MUST_CHECK bool w_desc_reserve(struct desc *d, uint32_t events);
void w_desc_unreserve(struct desc *d, int fd, uint32_t events);

/* fd, which weft has just made and nobody else knows, has that number from now on: what was known
 * of the number is forgotten, and the poller is told once for all. 0, or -Exxx: the caller closes
 * it. -EMFILE, -ENFILE, -ENOMEM, -ENOSPC, -EPERM: nobody can wait for such a file. A socket that is
 * to be connected comes here when that has begun: before, the poller takes it for closed. */
W_MUST_CHECK int w_desc_made(int fd);
/* The same for what accept(2) has made of `listener`. Context: a user of that. */
W_MUST_CHECK int w_desc_accepted(struct desc *listener, int fd);
/* Weft has made it, so that calls on it do not wait; a TCP socket. Context: as a user. */
bool w_desc_is_made(struct desc *d);
bool w_desc_is_tcp(struct desc *d);

/* A record in a descriptor's line: in the frame of who waits, or in its weft_case.
 * Key: i immutable while it waits   d the lock of its number */
struct fd_wait {
        struct list_node link;          /* d  in desc.waits */
        struct waiter   *waiter;        /* i */
        uint32_t         events;        /* i */
        uint32_t         verdict;       /* i  for its waiter; 0: what has happened */
        uint8_t          happened;      /* d  READY and so on; 0: nothing */
        bool             tries;         /* i  else it only wants to know */
        bool             queued;        /* d */
};

/* For who waits for other things too and wants to know: into line. From now on, until w_poll_leave,
 * its waiter may be claimed with `verdict`. The caller has seen that w_netpoll can be had, and has
 * said that it waits. Errors as of w_poll_wait; then it is not in line. Context: no lock held; may
 * switch: no. */
W_MUST_CHECK int w_poll_join(struct desc *d, int fd, struct fd_wait *w);
/* Out of line, if it is in there. -EBADF: the descriptor was closed; 0: it may be ready, or not. */
int w_poll_leave(struct desc *d, struct fd_wait *w);

/* Everyone who waits is told -EBADF, and so is who begins from now on. False: somebody else does so
 * already, or the number is not in use. The caller, who has begun, still ends. */
W_MUST_CHECK bool w_desc_close(struct desc *d);

#endif
