/* time/tick.c - weft_tick: a channel that receives the time at regular intervals.
 *
 * Protocols   cites lazytimer (sched/timer/lazytimer.c), chan (chan/chan.c).
 *
 * A lazy timer feeds the channel. The timer has no reference to the channel, so that the channel
 * ends when the user drops the last reference. Only while the timer sends, outside the lock of its
 * heap, it has a reference. It takes the reference under that lock, and only if another reference
 * is left. The end of the channel takes that lock before it frees the timer.
 *
 * SPDX-License-Identifier: MIT
 */
#include "chan/chan.h"
#include "sched/timer/lazytimer.h"
#include "sched/sched.h"

#include "sched/run/foreign.h"
#include "weft.h"

_Static_assert(sizeof(struct chan_feeder) <= sizeof(((struct lazytimer *)0)->room), "fits");

static struct chan_feeder *feeder_of(struct lazytimer *a)
{
        return (struct chan_feeder *)(void *)a->room;
}

static void stop_tick(struct chan_feeder *feeder)
{
        w_lazytimer_free_now(W_CONTAINER_OF((void *)feeder, struct lazytimer, room));
}

/* False: the last reference is gone. */
static bool try_ref(struct chan *c)
{
        uint32_t n = w_load_rlx(&c->n_refs);                      /* hint: the CAS decides */

        while (n != 0)
                if (w_cas_rlx(&c->n_refs, &n, n + 1))             /* guarded: n > 0, it is alive */
                        return true;
        return false;
}

/* This tick is missed if an earlier tick is still in the channel. It is also missed if another
 * thread has already sent a later tick. */
static void send_tick(const struct timer_call *r)
{
        struct chan *c = r->arg;

        int missed = w_chan_try_send_time(c, r->due);

        (void)missed;
        w_chan_unref(c);
}

static void hold_tick(struct lazytimer *a, struct timer_call *r)
{
        if (!try_ref(a->arg))
                return;
        r->call = send_tick;
        r->arg = a->arg;
}

static struct chan *new_tick(int64_t period)
{
        struct chan      *c = w_chan_new(sizeof(int64_t), 1);
        struct lazytimer *a = NULL;

        if (c)
                a = w_lazytimer_new(&(struct lazytimer){ .arg = c, .period = period,
                                                         .hold = hold_tick });
        if (!a)
                goto out;
        feeder_of(a)->stop = stop_tick;
        w_chan_feed(c, feeder_of(a));
        if (w_lazytimer_set(a, w_time_after(w_os_now(), period)) < 0)
                goto out;
        return c;
out:
        if (c)
                w_chan_unref(c);
        return NULL;
}

W_EXPORT weft_chan *weft_tick(int64_t period)
{
        if (period <= 0 || !w_foreign_enter())
                return NULL;
        W_ENTER();
        struct chan *c = new_tick(period);

        W_LEAVE();
        w_foreign_exit();
        return (weft_chan *)(void *)c;
}
