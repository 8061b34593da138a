/* chan/select_wait.c - enters every queue, parks once, and leaves every queue.
 *
 * Protocols   cites select (chan/select.c), wake (wait/wake.c), ids (sched/ids.c).
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/assert.h"
#include "base/window.h"
#include "chan/select.h"
#include "chan/step.h"

static struct chan_side *side_of(const struct select_case *cs)
{
        return cs->kind == WEFT_CASE_SEND ? &cs->chan->senders : &cs->chan->receivers;
}

/* ---- Into the queues ------------------------------------------------------------------------- */

/* Takes out the joins of the first n cases. */
static void leave_joins(const struct select *s, uint32_t n)
{
        for (uint32_t i = 0; s->n_joins > 0 && i < n; i++) {
                struct select_case *cs = w_select_case(s, i);

                if (cs->kind == WEFT_CASE_JOIN)
                        w_id_unjoin(&cs->joining.joiner);
        }
}

/* W_SELECT_NONE, or the index of a join case: its goroutine has ended, and its result is stored. In
 * the second case no join is in a queue. */
static int enqueue_joins(const struct select *s, struct wait *w)
{
        for (uint32_t i = 0; s->n_joins > 0 && i < s->n; i++) {
                struct select_case *cs = w_select_case(s, i);
                struct lock        *held;

                if (cs->kind != WEFT_CASE_JOIN)
                        continue;
                cs->joining.waiter = &w->waiter;
                cs->joining.verdict = W_VERDICT_OTHER + i;
                int rc = w_join_begin_lock(&cs->joining, cs->id, &held);

                if (rc == -EAGAIN) {
                        w_unlock(held);
                        continue;
                }
                leave_joins(s, i);
                s->cases[i].result = rc;
                return (int)i;
        }
        return W_SELECT_NONE;
}

static void enqueue_chans(const struct select *s, struct wait *w)
{
        for (uint32_t k = 0; k < s->n_chans; k++) {
                uint32_t            i = w_select_case(s, k)->order;
                struct select_case *cs = w_select_case(s, i);

                cs->chan_wait = (struct chan_waiter){ .waiter = &w->waiter, .elem = cs->elem,
                                                      .verdict = W_VERDICT_OTHER + i };
                w_chan_enqueue(side_of(cs), &cs->chan_wait);
        }
}

/* ---- Out of the queues ----------------------------------------------------------------------- */

/* Takes the lock of every channel, also of the channel that ended the wait. A partner that still
 * uses one of the records, or copies an element, holds that lock. */
static void leave_chans(const struct select *s)
{
        struct chan *locked = NULL;

        for (uint32_t k = 0; k < s->n_chans; k++) {
                struct select_case *cs = w_select_case(s, w_select_case(s, k)->order);

                if (cs->chan != locked) {
                        if (locked)
                                w_unlock_quick(&locked->lock);
                        locked = cs->chan;
                        w_lock_quick(&locked->lock);
                }
                w_chan_unlink(side_of(cs), &cs->chan_wait);
        }
        if (locked)
                w_unlock_quick(&locked->lock);
}

/* ---- The wait -------------------------------------------------------------------------------- */

/* The WEFT_AFTER with the earliest time. */
static int after_case(const struct select *s)
{
        int first = W_SELECT_NONE;

        for (uint32_t i = 0; i < s->n; i++) {
                struct select_case *cs = w_select_case(s, i);

                if (cs->kind == WEFT_CASE_AFTER &&
                    (first < 0 || cs->ns < w_select_case(s, (uint32_t)first)->ns))
                        first = (int)i;
        }
        W_CHECK(first >= 0, "a select without a time-out timed out");
        s->cases[first].result = 0;
        return first;
}

static int what_happened(const struct select *s, const struct wait *w, uint32_t verdict)
{
        if (W_UNLIKELY(verdict < W_VERDICT_OTHER)) {
                int rc = w_wait_error(w, verdict);

                return rc == -ETIME ? after_case(s) : rc;
        }
        uint32_t            i = verdict - W_VERDICT_OTHER;
        struct select_case *cs = w_select_case(s, i);

        W_CHECK(i < s->n, "a select of %u cases was ended by case %u", s->n, i);
        if (w_case_has_fd(cs))
                return w_select_fd_happened(s, i);
        s->cases[i].result = cs->kind == WEFT_CASE_JOIN ? 0 : cs->chan_wait.rc;
        return (int)i;
}

static void unlock_nothing(void *arg)
{
        (void)arg;
}

int w_select_wait_unlock(struct select *s, struct wait *w)
{
        int ended = enqueue_joins(s, w);

        if (ended >= 0) {
                w_select_unlock_all(s);
                return ended;
        }
        enqueue_chans(s, w);
        w_select_unlock_all(s);
        W_WINDOW("select-before-park");
        uint32_t verdict = w_wait_park(w, W_WAIT_SELECT, unlock_nothing, NULL);

        leave_chans(s);
        leave_joins(s, s->n);
        return what_happened(s, w, verdict);
}
