/* net/desc.h - the record of a descriptor's number. Private to src/net.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_NET_DESC_H
#define W_NET_DESC_H

#include "base/atomic.h"
#include "base/list.h"
#include "base/lock.h"

/* A bit of desc.users; the other bits are the number of users. */
#define W_DESC_CLOSING (UINT32_C(1) << 31)

enum { W_N_DIRECTIONS = 4 };    /* that a caller can ask for: in, urgent, out, end of input */

/* Bits of desc.edge: what weft knows of a descriptor that it made itself. */
enum {
        W_EDGE_MADE = 1,
        W_EDGE_TCP  = 2,        /* a short read takes all there is; see w_os_fd_read_tcp */
};

/* One direction, in or out, of a descriptor that weft made: PROTOCOL poll-edge
 * (net/poll_edge.c). */
struct edge_dir {
        w_atomic_uptr    word;          /* a  [OW1] */
        struct list_node waits;         /* d  struct edge_wait, the longest wait first */
};

enum { W_DIR_IN, W_DIR_OUT, W_N_DIRS };

/* The fields that every call and every event reads come first, in one cache line.
 * Key: d lock   a edge named */
struct desc {
        _Alignas(W_CACHELINE)
        struct lock      lock;          /* class poll */
        w_atomic_u32     users;         /* a  [PL1] calls in progress, and W_DESC_CLOSING */
        uint32_t         seq;           /* d  of the file that the poller knows; events with another
                                         *    seq are of a file that is gone */
        w_atomic_u32     edge;          /* d  W_EDGE_*; 0: a foreign descriptor, or closed */
        w_atomic_u32     seen;          /* d  W_POLL_*: ends and errors that were reported */
        w_atomic_u32     no_file;       /* hint: no regular file, so the poller can wait for it */
        w_atomic_u32     deferred;      /* d  W_POLL_IN, W_POLL_OUT: see PROTOCOL deferred-error */
        struct edge_dir  dirs[W_N_DIRS];
        struct list_node waits;         /* d  struct fd_wait, the longest wait first */
        uint32_t         trying;        /* d  W_POLL_*: a woken waiter is about to try */
        uint32_t         reserved;      /* d  W_POLL_*: see w_poll_reserve */
        uint32_t         n_observers;   /* d  waiters in `waits` that will not try */
        uint32_t         n_for[W_N_DIRECTIONS]; /* d  number of waiters for each direction */
        bool             known;         /* d  the poller knows it, unless other code closed it */
        int              deferred_error[2]; /* d  the deferred errors, and */
        uint64_t         deferred_of[2];    /* d  the file that they came from */
        struct unix_path *path;         /* d  the file of a unix socket: net/unix_path.c */
};

_Static_assert(offsetof(struct desc, dirs[W_DIR_OUT].word) < W_CACHELINE, "the first line");

/* Returns the record of fd. w_desc_get creates it if needed; NULL: no memory, or fd is not a valid
 * number. */
struct desc *w_desc_find(int fd);
struct desc *w_desc_get(int fd);

/* Has weft_close been called for it? Context: a user of the number. */
W_INLINE bool w_desc_is_closing(struct desc *d)
{
        return w_load_rlx(&d->users) & W_DESC_CLOSING;            /* guarded by the lock of d */
}

/* Did weft make it? Calls on such a descriptor never block. Context: a user of the number. */
W_INLINE bool w_desc_is_made(struct desc *d)
{
        return w_load_rlx(&d->edge);                              /* guarded: see PROTOCOL poll */
}

/* Did weft make it, and is it a TCP socket? Context: a user of the number. */
W_INLINE bool w_desc_is_tcp(struct desc *d)
{
        return w_load_rlx(&d->edge) & W_EDGE_TCP;                 /* guarded: see PROTOCOL poll */
}

/* ---- net/poll.c, for net/desc_ref.c. All with the lock --------------------------------------- */

/* All waiters get -EBADF. */
void w_poll_close_locked(struct desc *d, struct queue *woken);
/* All waiters look again. */
void w_poll_change_locked(struct desc *d, struct queue *woken);
/* Other code closed the file that the poller knew: all waiters get -EBADF, and the number becomes
 * foreign. */
void w_poll_lose_locked(struct desc *d, struct queue *woken);

/* ---- net/poll_edge.c. All with the lock ------------------------------------------------------ */

/* The number now belongs to a file that weft has just made. edge: W_EDGE_*. */
void w_edge_begin_locked(struct desc *d, uint32_t edge);
/* All waits end with -EBADF, and no new wait can begin. */
void w_edge_end_locked(struct desc *d, struct queue *woken);
/* The poller reported events (W_POLL_*). */
void w_edge_deliver_locked(struct desc *d, uint32_t events, struct queue *woken);

/* ---- net/poll_edge.c, without the lock ------------------------------------------------------- */

/* See w_poll_wait (again: W_POLL_AGAIN), w_poll_tried, w_poll_drained. */
W_MUST_CHECK int w_edge_wait(struct desc *d, uint32_t events, bool again);
void w_edge_tried(struct desc *d, uint32_t events);
void w_edge_drained(struct desc *d, uint32_t events);

#endif
