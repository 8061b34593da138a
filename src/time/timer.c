/* time/timer.c - weft_timer: calls a function at a later time, in a goroutine of its own.
 *
 * Protocols   cites lazytimer (sched/timer/lazytimer.c).
 *
 * A weft_timer is a lazy timer with a function.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/timer/lazytimer.h"
#include "sched/sched.h"

#include "sched/run/foreign.h"
#include "weft.h"

#include <errno.h>      /* -Exxx */

static struct lazytimer *lazytimer_of(weft_timer *t)
{
        return (struct lazytimer *)(void *)t;
}

static struct lazytimer *new_lazytimer(int64_t ns, const struct lazytimer *like)
{
        struct lazytimer *a = w_lazytimer_new(like);

        if (a && w_lazytimer_set(a, w_time_after(w_os_now(), ns)) < 0) {
                w_lazytimer_free(a);
                a = NULL;
        }
        return a;
}

W_EXPORT weft_timer *weft_timer_new(int64_t ns, void (*fn)(void *), void *arg)
{
        struct lazytimer like = { .fn = fn, .arg = arg, .created_at = __builtin_return_address(0) };

        if (!fn || !w_foreign_enter())
                return NULL;
        W_ENTER();
        struct lazytimer *a = new_lazytimer(ns, &like);

        W_LEAVE();
        w_foreign_exit();
        return (weft_timer *)(void *)a;
}

W_EXPORT int weft_timer_stop(weft_timer *t)
{
        if (!t)
                return -EINVAL;
        if (!w_foreign_enter())
                return -ESHUTDOWN;
        W_ENTER();
        int pending = w_lazytimer_stop(lazytimer_of(t));

        W_LEAVE();
        w_foreign_exit();
        return pending;
}

W_EXPORT int weft_timer_reset(weft_timer *t, int64_t ns)
{
        if (!t)
                return -EINVAL;
        if (!w_foreign_enter())
                return -ESHUTDOWN;
        W_ENTER();
        int rc = w_lazytimer_set(lazytimer_of(t), w_time_after(w_os_now(), ns));

        W_LEAVE();
        w_foreign_exit();
        return rc;
}

/* Does nothing after the end of the timer's run: the end of the run has freed the record. */
W_EXPORT void weft_timer_free(weft_timer *t)
{
        if (!t || !w_foreign_enter())
                return;
        W_ENTER();
        w_lazytimer_free(lazytimer_of(t));
        W_LEAVE();
        w_foreign_exit();
}
