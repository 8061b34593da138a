/* net/io.h - one call on a descriptor: tried, waited for, made in a blocking region.
 *
 * A call is a small function that is tried, with what it needs around its struct io:
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
        W_IO_TRY,               /* does not wait: -EAGAIN: it would have to; -EOPNOTSUPP: it cannot
                                 * be done without */
        W_IO_BLOCKING,              /* waits as long as it takes; only after -EOPNOTSUPP, or where a
                                 * file cannot be waited for */
};

/* Key: c the caller's, set before the call   e the engine's own, 0 at first */
struct io {
        int       fd;           /* c */
        uint32_t  events;       /* c  what it waits for: W_POLL_IN or W_POLL_OUT */
        bool      nowait;       /* c  -EAGAIN rather than a wait */
        bool      never_waits;  /* c  for it asks for nothing, or at a place in a file */
        bool      is_long;      /* c  so much that to copy it from a file takes a region */
        bool      is_addressed; /* c  it sends to somebody who may have no room, though fd has */
        bool      defers_error;        /* c  an error behind bytes is for the next call: see kept */
        /* c  One attempt: how much it moved, or any other number >= 0; -Exxx */
        intptr_t (*call)(struct io *io, enum io_how how);
        /* c  After an attempt that has moved something: true: there is more to do. NULL: no */
        bool     (*more)(struct io *io, size_t moved);
        struct desc *d;         /* e */
        uint32_t  where;         /* e  what w_enter said */
        bool      is_file;      /* e  known to be a regular file or the like */
        bool      woken;        /* e  it has waited, and is the one who tries */
        bool      holds;        /* e  see w_desc_reserve */
        bool      drained;          /* c  an attempt has taken all that was there, and can tell */
        bool      gave_up;      /* e  the last error is of the wait, not of an attempt */
        int64_t   pause;        /* e  the next one, if it was told in vain; 0: it goes on waiting */
};

/* Begins, makes the call until there is no more to do, and ends: how much it has moved, or the
 * error if it has moved nothing. With `keeps` a later one is kept, see PROTOCOL deferred-error
 * (net/deferred_error.c). Cancellable. Context: any thread, not inside; may switch: yes. */
W_MUST_CHECK intptr_t w_io_run(struct io *io);

/* For calls, and what comes after them: is this a regular file or the like? A TCP socket that weft
 * has made? */
bool w_io_is_file(struct io *io);
bool w_io_is_tcp(struct io *io);

#endif
