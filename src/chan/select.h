/* chan/select.h - what a weft_case is inside, and the parts of a select.
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

/* A weft_case. Key: u the user's   o the call of weft_select; what waits in line is others' as
 * struct chan_waiter and struct joiner say. */
struct select_case {
        uint64_t kind;                  /* u  WEFT_CASE_* */
        union {
                struct chan *chan;      /* u  NULL: never ready */
                int64_t      id;        /* u  */
                int64_t      ns;        /* u  */
                int64_t      fd;        /* u  */
        };
        void    *elem;                  /* u  */
        uint32_t order;                 /* o  not of this case: the place's in the lock order */
        int      found;                 /* o  of a descriptor: what poll(2) said, or -Exxx */
        union {
                struct chan_waiter in_line;
                struct join_waiter joining;
                struct {
                        struct fd_wait watching;
                        struct desc   *desc;    /* o  NULL: it does not use it yet */
                };
        };
};

_Static_assert(sizeof(struct select_case) <= sizeof(((weft_case *)0)->opaque),
               "a weft_case has room for it");

W_INLINE struct select_case *w_case_of(weft_case *cs)
{
        return (struct select_case *)(void *)cs->opaque;
}

/* What the cases of one call amount to. */
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

/* Below n, each as likely. */
uint32_t w_select_random(uint32_t n);

/* One of those that seem ready, each as likely; W_SELECT_NONE. Without locks it may be wrong by the
 * time it is used; with the locks of all channels it is not. */
W_MUST_CHECK int w_select_pick(const struct select *s);

/* Does case i, with its channel's lock held: its result, or -EAGAIN. *asleep as in chan/step.h. */
W_MUST_CHECK int w_select_do(const struct select *s, uint32_t i, struct waiter **asleep);

/* ---- select_lock.c --------------------------------------------------------------------------- */

/* Finds the order: by address of channels. */
void w_select_sort(struct select *s);
void w_select_lock_all(const struct select *s);
void w_select_unlock_all(const struct select *s);

/* ---- select_fd.c ----------------------------------------------------------------------------- */

/* What there is on each descriptor now, to case.found. */
void w_select_look(const struct select *s);

/* Into the line of every descriptor: the waiter may be claimed from now on. W_SELECT_NONE, or the
 * index of one that cannot be waited for, with its result in place. In both cases
 * w_select_leave_fds comes later. No lock is held. */
W_MUST_CHECK int w_select_join_fds(const struct select *s, struct wait *w);
void w_select_leave_fds(const struct select *s);
/* The last of these waits is over: the numbers may be closed now. May switch: yes. */
void w_select_end_fds(const struct select *s);

/* Case i has ended the wait: i with its result in place, or W_SELECT_NONE: somebody was quicker. */
W_MUST_CHECK int w_select_fd_happened(const struct select *s, uint32_t i);

/* ---- select_wait.c --------------------------------------------------------------------------- */

/* With all locks held, which are released: puts every case in line, sleeps, takes them out again.
 * The index of what happened, with its result in place, or why the wait was given up;
 * W_SELECT_NONE: nothing has, it has to begin again. May switch: yes. */
W_MUST_CHECK int w_select_wait_unlock(struct select *s, struct wait *w);

#endif
