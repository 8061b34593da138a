/* chan/chan.h - struct chan: its elements, and the waiters on either side.
 *
 * For the files of chan/ and for code in weft that feeds a channel (ticks, signals). PROTOCOL chan
 * stands in chan/chan.c, PROTOCOL select in chan/select.c. The steps that both the plain calls and
 * select take under the lock are in chan/step.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_CHAN_CHAN_H
#define W_CHAN_CHAN_H

#include "base/list.h"
#include "base/lock.h"
#include "sched/m.h"
#include "wait/wake.h"

enum { W_CHAN_INLINE = 64 };    /* bytes of buffer in the record itself */

/* One waiting party, in the frame of its call or in its weft_case. Key: c the channel's lock, and
 * after a won claim the winner until w_wake_up; i immutable while it waits. */
struct chan_waiter {
        struct list_node link;          /* c  in senders or receivers, or on no list */
        struct waiter   *waiter;        /* i  its wake word decides the wait */
        void            *elem;          /* i  to copy from or to; NULL: no copy */
        uint32_t         verdict;       /* i  the value for the claim */
        int32_t          rc;            /* c  from the winner: 0, or -EPIPE */
};

/* The waiters of one side, oldest first. */
struct chan_side {
        struct list_node waiting;       /* c  struct chan_waiter */
        w_atomic_u32     n;             /* a  [CH1] how many; stored under the lock */
};

/* A source of elements inside weft. stop is called once, with no lock held, when the elements are
 * not needed any more: at the close or when the last reference is dropped, whichever is first. */
struct chan_feeder {
        void (*stop)(struct chan_feeder *feeder);
};

/* Key: c lock   i immutable   a edge named */
struct chan {
        struct queue_node   link;       /* for the pool of free records; must be the first field */
        struct lock         lock;       /* class chan */
        size_t              elem_size;  /* i */
        size_t              cap;        /* i  elements */
        char               *buffer;     /* i  cap elements; `room` if they fit there */
        w_atomic_u64        n;          /* a  [CH1] elements in the buffer; stored under the lock */
        size_t              head;       /* c  index of the oldest */
        w_atomic_u32        closed;     /* a  [CH2] 0 -> 1, under the lock */
        w_atomic_u32        n_refs;     /* a  [CH3] */
        struct chan_side    receivers;
        struct chan_side    senders;
        struct chan_feeder *feeder;     /* c  NULL: none, or stopped already */
        int64_t             fed_at;     /* c  latest time from w_chan_try_send_time */
        _Alignas(16) char   room[W_CHAN_INLINE];
};

/* The public name of struct chan. */
struct weft_chan;

W_INLINE struct chan *w_chan_of(struct weft_chan *c)
{
        return (struct chan *)(void *)c;
}

/* ---- memory.c -------------------------------------------------------------------------------- */

/* A channel record with room for cap elements; all other fields are uninitialised. NULL: no memory,
 * or the sizes overflow. Context: any thread, a run is on; no lock held. */
W_MUST_CHECK struct chan *w_chan_get(size_t elem_size, size_t cap);
void w_chan_put(struct chan *c);

/* ---- chan.c ---------------------------------------------------------------------------------- */

/* A new channel with one reference, or NULL. */
W_MUST_CHECK struct chan *w_chan_new(size_t elem_size, size_t cap);
void w_chan_ref(struct chan *c);
void w_chan_unref(struct chan *c);
/* 0, or -EPIPE: it was closed before. */
int w_chan_close(struct chan *c);
/* Sets the feeder. Context: before any other party knows the channel. */
void w_chan_feed(struct chan *c, struct chan_feeder *feeder);

/* ---- send.c, recv.c -------------------------------------------------------------------------- */

/* 0, -EPIPE, or -EAGAIN: no room (or element), and no waiter on the other side. Never waits, needs
 * no P; wakes a waiter after it has released the lock. Context: any, also g0. */
W_MUST_CHECK int w_chan_try_send(struct chan *c, const void *elem);
W_MUST_CHECK int w_chan_try_recv(struct chan *c, void *elem);

/* The same, but these wait if they must; cancellable. */
W_MUST_CHECK int w_chan_send(struct chan *c, const void *elem);
W_MUST_CHECK int w_chan_recv(struct chan *c, void *elem);

/* For feeders: sends a time, an int64_t above 0. -EAGAIN also if a later time was sent before: two
 * threads may feed at once, and receivers must see the times in order. */
W_MUST_CHECK int w_chan_try_send_time(struct chan *c, int64_t at);

/* As w_chan_try_send, but adds the woken goroutine to `woken`, for w_ready_many. */
W_MUST_CHECK int w_chan_try_send_gather(struct chan *c, const void *elem, struct queue *woken);

/* Waits until a scope is cancelled or expires: what send and receive do on a NULL channel. */
W_MUST_CHECK int w_chan_wait_for_ever(enum wait_reason reason);

#endif
