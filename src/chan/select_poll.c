/* chan/select_poll.c - finds a case that is ready, and does it.
 *
 * Protocols   cites select (chan/select.c), chan (chan/chan.c).
 *
 * SPDX-License-Identifier: MIT
 */
#include "chan/select.h"
#include "chan/step.h"
#include "sched/sched.h"

static w_atomic_u64 n_without_p;        /* counter: seeds random numbers without a P */

uint32_t w_select_random(uint32_t n)
{
        struct p *pp = w_p();

        if (W_LIKELY(pp != NULL))
                return w_rand_below(&pp->rand, n);
        uint64_t state = w_add_rlx(&n_without_p, 1);              /* counter */

        return w_rand_below(&state, n);
}

/* Without the locks this is a hint. With the locks, "ready" may be wrong and "not ready" is right:
 * the wait of a waiter in the queue may have ended already. */
static bool seems_ready(const struct select_case *cs)
{
        switch (cs->kind) {
        case WEFT_CASE_RECV:
                return cs->chan && !w_chan_recv_would_wait(cs->chan);
        case WEFT_CASE_SEND:
                return cs->chan && !w_chan_send_would_wait(cs->chan);
        case WEFT_CASE_JOIN:
                return w_join_look(cs->id) != -EAGAIN;
        case WEFT_CASE_AFTER:
                return cs->ns <= 0;
        case WEFT_CASE_READABLE:
        case WEFT_CASE_WRITABLE:
                return cs->found != 0;
        default:
                return false;
        }
}

/* The k-th ready case replaces the case picked before with chance 1/k. Each ready case then has the
 * same chance in the end, without a random order. */
int w_select_pick(const struct select *s)
{
        uint32_t n_ready = 0;
        int      picked = W_SELECT_NONE;

        for (uint32_t i = 0; i < s->n; i++)
                if (seems_ready(w_select_case(s, i)) &&
                    (++n_ready == 1 || w_select_random(n_ready) == 0))
                        picked = (int)i;
        return picked;
}

int w_select_do(const struct select *s, uint32_t i, struct waiter **asleep)
{
        struct select_case *cs = w_select_case(s, i);

        switch (cs->kind) {
        case WEFT_CASE_RECV:
                return w_chan_recv_locked(cs->chan, cs->elem, asleep);
        case WEFT_CASE_SEND:
                return w_chan_send_locked(cs->chan, cs->elem, asleep);
        case WEFT_CASE_JOIN:
                return w_join_look(cs->id);
        case WEFT_CASE_READABLE:
        case WEFT_CASE_WRITABLE:
                return cs->found;
        default:
                return 0;
        }
}
