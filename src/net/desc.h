/* net/desc.h - the record of a descriptor's number. For net/poll.c, desc_ref.c, poll_edge.c,
 * deferred_error.c, unix_path.c and desc.c only.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_NET_DESC_H
#define W_NET_DESC_H

#include "base/atomic.h"
#include "base/list.h"
#include "base/lock.h"

/* Bits of desc.users beside their number. */
#define W_DESC_CLOSING (UINT32_C(1) << 31)

enum { W_N_DIRECTIONS = 4 };    /* in, urgent, out, end of input: those that can be asked for */

/* What weft knows of a descriptor that it has made itself: bits of desc.own. */
enum {
        W_EDGE_MADE = 1,
        W_EDGE_TCP  = 2,         /* a short read takes all there is; see w_os_fd_read_tcp */
};

/* One way, in or out, of a descriptor that weft has made: PROTOCOL poll-edge (net/poll_edge.c). */
struct edge_dir {
        w_atomic_uptr    word;          /* a  [OW1] */
        struct list_node waits;         /* d  struct edge_wait, who waits longest first */
};

enum { W_DIR_IN, W_DIR_OUT, W_N_DIRS };

/* What every call and every event looks at comes first, in one line of the cache.
 * Key: d lock   a edge named */
struct desc {
        _Alignas(W_CACHELINE)
        struct lock      lock;          /* class poll */
        w_atomic_u32     users;         /* a  [PL1] calls under way, and W_DESC_CLOSING */
        uint32_t         seq;           /* d  of what the poller knows; events that carry another
                                         *    are of a file that is gone */
        w_atomic_u32     own;           /* d  W_OWN_*; 0: others have made it, or it is closed */
        w_atomic_u32     seen;          /* d  W_POLL_*: ends and errors that were told of it */
        w_atomic_u32     no_file;       /* hint: not a regular file, so waited for by the poller */
        w_atomic_u32     deferred;      /* d  W_POLL_IN, W_POLL_OUT: see PROTOCOL deferred-error */
        struct edge_dir   dirs[W_N_DIRS];
        struct list_node waits;         /* d  struct fd_wait, who waits longest first */
        uint32_t         trying;        /* d  W_POLL_*: somebody who was woken is about to try */
        uint32_t         reserved;          /* d  W_POLL_*: see w_desc_reserve */
        uint32_t         n_to_know;     /* d  those who do not */
        uint32_t         n_for[W_N_DIRECTIONS]; /* d  how many wait for each */
        bool             known;         /* d  the poller knows it, unless others have closed it */
        int              deferred_error[2]; /* d  of these */
        uint64_t         deferred_of[2];    /* d  which file they are of */
        struct unix_path *path;         /* d  the file of a unix socket: net/unix_path.c */
};

_Static_assert(offsetof(struct desc, dirs[W_DIR_OUT].word) < W_CACHELINE, "the first line");

/* The record of that number. w_desc_get makes it: NULL: no memory, or there is no such number. */
struct desc *w_desc_find(int fd);
struct desc *w_desc_get(int fd);

/* ---- net/poll.c, for net/desc_ref.c. All with the lock
 * ------------------------------------------ */

/* All who wait are told -EBADF; all look again. */
void w_poll_close_locked(struct desc *d, struct queue *woken);
void w_poll_change_locked(struct desc *d, struct queue *woken);
/* Other code has closed the file that the poller knew: likewise, and nobody else will wait. */
void w_poll_lose_locked(struct desc *d, struct queue *woken);

/* ---- net/poll_edge.c. All with the lock
 * ------------------------------------------------------------ */

/* A file that weft has just made has the number from now on. */
void w_edge_begin_locked(struct desc *d, uint32_t own);
/* Nobody waits any more, nor will: -EBADF. */
void w_edge_end_locked(struct desc *d, struct queue *woken);
/* Something has happened: W_POLL_*. */
void w_edge_deliver_locked(struct desc *d, uint32_t events, struct queue *woken);

/* ---- And without ----------------------------------------------------------------------------- */

/* See w_poll_wait (again: W_POLL_AGAIN), w_poll_tried, w_poll_drained. */
W_MUST_CHECK int w_edge_wait(struct desc *d, uint32_t events, bool again);
void w_edge_tried(struct desc *d, uint32_t events);
void w_edge_drained(struct desc *d, uint32_t events);

#endif
