/* net/poll.h - waiting for descriptors.
 *
 * PROTOCOL poll stands in net/poll.c. Around every use of a number:
 *
 *   d = w_desc_begin(fd, &rc)                weft_close cannot close the number meanwhile
 *   rc = w_poll_wait(d, fd, events, how)     0: try again; -Exxx
 *   w_poll_tried(d, fd, events)              after a call that followed such a wait
 *   w_desc_end(d, fd)                        the last end after a close really closes it
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_NET_POLL_H
#define W_NET_POLL_H

#include "base/list.h"
#include "net/desc_ref.h"
#include "os/os.h"

struct desc;
struct waiter;

enum poll_how {
        W_POLL_FIRST,           /* the caller did not wait before */
        W_POLL_AGAIN,           /* the caller has tried, after a wait that returned 0. It must wait
                                 * in this way again, or call w_poll_tried */
        W_POLL_OBSERVE,         /* the caller only observes, and will take nothing away */
};

/* What a caller that wants to read or write must do first. */
enum poll_first {
        W_POLL_TRY,             /* try; no other waiter relies on this try */
        W_POLL_TRY_WOKEN,       /* try, as after a wait that returned 0 */
        W_POLL_WAIT,            /* nothing can be there: wait with W_POLL_FIRST */
};

/* For a descriptor that weft made (net/poll_edge.c): saves a wait that returns at once, or a try
 * that would block. w_poll_wait is correct without it too. some: false if the caller moves nothing
 * and will not wait. */
enum poll_first w_edge_first(struct desc *d, uint32_t events, bool some);

/* Waits for one of events (W_POLL_*), or for an error. Of the waiters that will try, only the first
 * is woken. It passes the descriptor on to the next waiter by w_poll_tried, or by waiting again.
 *
 * Returns
 *   0         an event may have happened: try
 *   -EBADF    the descriptor was closed meanwhile
 *   -EPERM    the poller cannot wait for such a file
 *   -ETIMEDOUT, -ECANCELED, -ESHUTDOWN
 *   -EMFILE, -ENFILE, -ENOMEM, -ENOSPC
 * Context: a goroutine or a foreign thread; no lock held; may switch: yes. */
W_MUST_CHECK int w_poll_wait(struct desc *d, int fd, uint32_t events, enum poll_how how);
void w_poll_tried(struct desc *d, int fd, uint32_t events);
/* Replaces w_poll_tried if w_desc_is_tcp, after a w_os_fd_read_tcp that left nothing. */
void w_poll_drained(struct desc *d, uint32_t events);

/* Reserves a direction (events: W_POLL_IN or W_POLL_OUT) for a call that may block, and for the
 * poll before that call. Only one caller at a time may do this, or two callers would see the same
 * event. False: another caller has reserved the direction; when that caller unreserves it, a waiter
 * is told of the events that are left. Not for descriptors that weft made, which never block.
 * Context: a user. */
W_MUST_CHECK bool w_poll_reserve(struct desc *d, uint32_t events);
void w_poll_unreserve(struct desc *d, int fd, uint32_t events);

/* An entry in a descriptor's wait queue: in the waiter's frame, or in its weft_case.
 * Key: i immutable while it waits   d the lock of its number */
struct fd_wait {
        struct list_node link;          /* d  in desc.waits */
        struct waiter   *waiter;        /* i */
        uint32_t         events;        /* i */
        uint32_t         verdict;       /* i  for its waiter; 0: what has happened */
        uint8_t          happened;      /* d  a verdict of net/poll.c; 0: nothing */
        bool             tries;         /* i  false: it only observes */
        bool             queued;        /* d */
};

/* For an observer that waits for other things too: enters the wait queue. From now on, until
 * w_poll_leave, its waiter may be claimed with `verdict`. The caller has checked that w_netpoll is
 * available, and has called w_netpoll_wait_begins. Returns the errors of w_poll_wait; after an
 * error w is not in the queue. Context: no lock held; may switch: no. */
W_MUST_CHECK int w_poll_join(struct desc *d, int fd, struct fd_wait *w);
/* Leaves the queue, if w is still in it. -EBADF: the descriptor was closed; 0: it may be ready, or
 * not. */
int w_poll_leave(struct desc *d, struct fd_wait *w);

/* Claims the waiters for these events and puts them into `woken`, for w_ready_many. Foreign threads
 * among them are woken at once. */
void w_poll_deliver(const struct w_os_event *events, int n, struct queue *woken);

#endif
