/* net/io.h - one call on a descriptor: tried, waited for, or made in a blocking region.
 *
 * A call is a small function for one attempt, and a record around struct io with what it needs:
 *
 *   static intptr_t read_it(struct io *io, enum io_how how);
 *   struct transfer t = { .io = { .fd = fd, .events = W_POLL_IN, .call = read_it }, ... };
 *   done = w_io_run(&t.io);
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_NET_IO_H
#define W_NET_IO_H

#include "net/poll.h"

enum io_how {
        W_IO_TRY,               /* does not block. -EAGAIN: it would have to block; -EOPNOTSUPP:
                                 * this file has no call that does not block */
        W_IO_BLOCKING,          /* blocks as long as it takes; only after -EOPNOTSUPP, or for a file
                                 * that the poller cannot wait for */
};

/* Key: c the caller's, set before the call   e private to io.c, 0 at first */
struct io {
        int       fd;           /* c */
        uint32_t  events;       /* c  what it waits for: W_POLL_IN or W_POLL_OUT */
        bool      nowait;       /* c  return -EAGAIN instead of waiting */
        bool      never_waits;  /* c  moves nothing, or moves at an offset in a file */
        bool      is_long;      /* c  copying so much from a file needs a blocking region */
        bool      is_addressed; /* c  sends to a receiver that may lack room when fd has */
        bool      defers_error; /* c  an error after some bytes is for the next call */
        /* c  One attempt: the number of bytes moved, or another number >= 0; -Exxx */
        intptr_t (*call)(struct io *io, enum io_how how);
        /* c  After an attempt that moved something. True: there is more to do. NULL: never */
        bool     (*more)(struct io *io, size_t moved);
        struct desc *d;         /* e */
        uint32_t  where;        /* e  the result of w_enter */
        bool      is_file;      /* e  known to be a regular file or the like */
        bool      woken;        /* e  it was woken to try, and must pass the descriptor on */
        bool      reserved;     /* e  see w_poll_reserve */
        bool      drained;      /* c  set by an attempt that knows that it took all */
        bool      gave_up;      /* e  the last error is of the wait, not of an attempt */
        int64_t   pause;        /* e  before the next try, after a vain wakeup; 0: wait */
};

/* Makes the call until there is no more to do. Returns the number of bytes moved, or the error if
 * it moved nothing. A later error is kept for the next call if defers_error is set: see PROTOCOL
 * deferred-error (net/deferred_error.c). Cancellable. Context: any thread, in user code; may
 * switch: yes. */
W_MUST_CHECK intptr_t w_io_run(struct io *io);

/* Is this a regular file or the like, for which a thread waits, not the poller? For the functions
 * `call` and `more`. */
bool w_io_is_file(struct io *io);

#endif
