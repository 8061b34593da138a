/* time/timer.c - a function that runs at some later time, in a goroutine of its own.
 *
 * Called by   user code.
 * Protocols   cites alarm (sched/timer/lazytimer.c).
 *
 * A weft_timer is an alarm with a function.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/timer/lazytimer.h"
#include "sched/sched.h"

#include "weft.h"

#include <errno.h>      /* -Exxx */

static struct alarm *alarm_of(weft_timer *t)
{
        return (struct alarm *)(void *)t;
}

static struct alarm *new_alarm(int64_t ns, const struct alarm *like)
{
        struct alarm *a = w_alarm_new(like);

        if (a && w_alarm_set(a, w_time_after(w_os_now(), ns)) < 0) {
                w_alarm_free(a);
                a = NULL;
        }
        return a;
}

W_EXPORT weft_timer *weft_timer_new(int64_t ns, void (*fn)(void *), void *arg)
{
        struct alarm like = { .fn = fn, .arg = arg, .created_at = __builtin_return_address(0) };

        if (!fn || !w_guest_begin())
                return NULL;
        W_ENTER();
        struct alarm *a = new_alarm(ns, &like);

        W_LEAVE();
        w_guest_end();
        return (weft_timer *)(void *)a;
}

W_EXPORT int weft_timer_stop(weft_timer *t)
{
        if (!t)
                return -EINVAL;
        if (!w_guest_begin())
                return -ESHUTDOWN;
        W_ENTER();
        int pending = w_alarm_stop(alarm_of(t));

        W_LEAVE();
        w_guest_end();
        return pending;
}

W_EXPORT int weft_timer_reset(weft_timer *t, int64_t ns)
{
        if (!t)
                return -EINVAL;
        if (!w_guest_begin())
                return -ESHUTDOWN;
        W_ENTER();
        int rc = w_alarm_set(alarm_of(t), w_time_after(w_os_now(), ns));

        W_LEAVE();
        w_guest_end();
        return rc;
}

/* After the end of its run the record is gone already. */
W_EXPORT void weft_timer_free(weft_timer *t)
{
        if (!t || !w_guest_begin())
                return;
        W_ENTER();
        w_alarm_free(alarm_of(t));
        W_LEAVE();
        w_guest_end();
}
