/* chan/select.h - the layout of a weft_case, and the parts of a select.
 *
 * PROTOCOL select stands in chan/select.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_CHAN_SELECT_H
#define W_CHAN_SELECT_H

#include "chan/chan.h"
#include "net/poll.h"
#include "wait/join.h"
#include "wait/wait.h"

#include "weft.h"

#include <limits.h>

/* A weft_case. Key: u the user   o the call of weft_select. Other parties use the records in the
 * union as struct chan_waiter, struct joiner and struct fd_wait say. */
struct select_case {
        uint64_t kind;                  /* u  WEFT_CASE_* */
        union {
                struct chan *chan;      /* u  NULL: never ready */
                int64_t      id;        /* u  */
                int64_t      ns;        /* u  */
                int64_t      fd;        /* u  */
        };
        void    *elem;                  /* u  */
        uint32_t order;                 /* o  slot k of the lock order: an index of a case */
        int      found;                 /* o  of a descriptor: result of poll(2), or -Exxx */
        union {
                struct chan_waiter chan_wait;
                struct join_waiter joining;
                struct {
                        struct fd_wait watching;
                        struct desc   *desc;    /* o  NULL: not in use yet */
                };
        };
};

_Static_assert(sizeof(struct select_case) <= sizeof(((weft_case *)0)->opaque),
               "a weft_case has room for it");

W_INLINE struct select_case *w_case_of(weft_case *cs)
{
        return (struct select_case *)(void *)cs->opaque;
}

/* A summary of the cases of one call. */
struct select {
        weft_case *cases;
        uint32_t   n;
        uint32_t   n_chans;             /* cases with a channel; first in the lock order */
        uint32_t   n_joins;
        uint32_t   n_fds;
        bool       has_default, has_after;
        uint32_t   default_at;
};

W_INLINE struct select_case *w_select_case(const struct select *s, uint32_t i)
{
        return w_case_of(&s->cases[i]);
}

W_INLINE bool w_case_has_chan(const struct select_case *cs)
{
        return (cs->kind == WEFT_CASE_RECV || cs->kind == WEFT_CASE_SEND) && cs->chan;
}

W_INLINE bool w_case_has_fd(const struct select_case *cs)
{
        return cs->kind == WEFT_CASE_READABLE || cs->kind == WEFT_CASE_WRITABLE;
}

/* ---- select_poll.c --------------------------------------------------------------------------- */

enum { W_SELECT_NONE = INT_MIN };

/* A random number below n, uniform. */
uint32_t w_select_random(uint32_t n);

/* One of the cases that seem ready, each with the same chance; W_SELECT_NONE: no case. Without
 * locks the answer may be out of date when it is used; with the locks of all channels it is not. */
W_MUST_CHECK int w_select_pick(const struct select *s);

/* Does case i, with its channel's lock held: its result, or -EAGAIN. *asleep as in chan/step.h. */
W_MUST_CHECK int w_select_do(const struct select *s, uint32_t i, struct waiter **asleep);

/* ---- select_lock.c --------------------------------------------------------------------------- */

/* Finds the lock order: the cases sorted by the address of their channel. */
void w_select_sort(struct select *s);
void w_select_lock_all(const struct select *s);
void w_select_unlock_all(const struct select *s);

/* ---- select_fd.c ----------------------------------------------------------------------------- */

/* Polls each descriptor, and stores the result in case.found. */
void w_select_poll(const struct select *s);

/* Enters the queue of every descriptor: the waiter may be claimed from now on. W_SELECT_NONE, or
 * the index of a case that cannot wait, with its result stored. In both cases the caller must call
 * w_select_leave_fds later. No lock is held. */
W_MUST_CHECK int w_select_join_fds(const struct select *s, struct wait *w);
void w_select_leave_fds(const struct select *s);
/* The select will not wait again: the descriptors may be closed now. May switch: yes. */
void w_select_end_fds(const struct select *s);

/* Case i has ended the wait. Returns i, with its result stored, or W_SELECT_NONE: the descriptor is
 * not ready any more. */
W_MUST_CHECK int w_select_fd_happened(const struct select *s, uint32_t i);

/* ---- select_wait.c --------------------------------------------------------------------------- */

/* Puts every case into its queue, parks, and takes the cases out again. All locks are held, and
 * released. May switch: yes. Returns
 *   an index        that case happened, its result is stored
 *   -Exxx           a scope or the end of the run has ended the wait
 *   W_SELECT_NONE   nothing happened: the caller must begin again */
W_MUST_CHECK int w_select_wait_unlock(struct select *s, struct wait *w);

#endif
