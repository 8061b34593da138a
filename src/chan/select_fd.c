/* chan/select_fd.c - the descriptors of a select.
 *
 * Protocols   cites select (chan/select.c), poll (net/poll.c).
 *
 * A select takes no data from a descriptor: it reports that the descriptor is ready, as poll(2)
 * does.
 *
 * SPDX-License-Identifier: MIT
 */
#include "chan/select.h"
#include "sched/thread/netpoll.h"

#include <errno.h>      /* -EBADF */

static uint32_t events_of(const struct select_case *cs)
{
        return cs->kind == WEFT_CASE_READABLE ? W_POLL_IN : W_POLL_OUT;
}

/* The events of the descriptor of cs; 0: none; or -Exxx. poll(2) would ignore a negative number. */
static int poll_case(const struct select_case *cs)
{
        if (cs->fd < 0 || cs->fd > INT_MAX)
                return -EBADF;
        int now = w_os_fd_poll((int)cs->fd, events_of(cs));

        return now > 0 && (now & W_POLL_NVAL) ? -EBADF : now;
}

void w_select_poll(const struct select *s)
{
        for (uint32_t i = 0; s->n_fds > 0 && i < s->n; i++) {
                struct select_case *cs = w_select_case(s, i);

                if (w_case_has_fd(cs)) {
                        cs->found = poll_case(cs);
                        cs->desc = NULL;
                }
        }
}

/* ---- Into the queues and out ----------------------------------------------------------------- */

static int join(struct select_case *cs, uint32_t i, struct wait *w)
{
        int rc, fd = (int)cs->fd;

        if (!w_netpoll(&rc))
                return rc;
        if (!cs->desc)
                cs->desc = w_desc_begin(fd, &rc);
        if (!cs->desc)
                return rc;
        cs->watching = (struct fd_wait){ .waiter = &w->waiter, .events = events_of(cs),
                                         .verdict = W_VERDICT_OTHER + i };
        return w_poll_join(cs->desc, fd, &cs->watching);
}

int w_select_join_fds(const struct select *s, struct wait *w)
{
        if (s->n_fds == 0)
                return W_SELECT_NONE;
        w_netpoll_wait_begins();
        for (uint32_t i = 0; i < s->n; i++) {
                struct select_case *cs = w_select_case(s, i);
                int rc = w_case_has_fd(cs) ? join(cs, i, w) : 0;

                if (rc < 0) {
                        s->cases[i].result = rc;
                        return (int)i;
                }
        }
        return W_SELECT_NONE;
}

void w_select_leave_fds(const struct select *s)
{
        if (s->n_fds == 0)
                return;
        for (uint32_t i = 0; i < s->n; i++) {
                struct select_case *cs = w_select_case(s, i);

                if (w_case_has_fd(cs) && cs->desc)
                        (void)w_poll_leave(cs->desc, &cs->watching);
        }
        w_netpoll_wait_ends();
}

void w_select_end_fds(const struct select *s)
{
        for (uint32_t i = 0; s->n_fds > 0 && i < s->n; i++) {
                struct select_case *cs = w_select_case(s, i);

                if (!w_case_has_fd(cs) || !cs->desc)
                        continue;
                (void)w_desc_end(cs->desc, (int)cs->fd);
                cs->desc = NULL;
        }
}

int w_select_fd_happened(const struct select *s, uint32_t i)
{
        struct select_case *cs = w_select_case(s, i);
        int                 rc = w_poll_leave(cs->desc, &cs->watching);

        if (rc == 0)
                rc = poll_case(cs);
        if (rc == 0)
                return W_SELECT_NONE;
        s->cases[i].result = rc;
        return (int)i;
}
