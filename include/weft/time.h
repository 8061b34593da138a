/* weft/time.h - sleeping, timers, tickers; signals as channels. Part of weft.h, which includes it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEFT_TIME_H
#define WEFT_TIME_H

#include <stdint.h>
#include <sys/select.h>         /* sigset_t, without all that <signal.h> brings along */

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Time ------------------------------------------------------------------------------------ */

/* Returns the time on CLOCK_MONOTONIC. Works without a runtime, too. */
WEFT_API int64_t weft_now(void);

/* Sleeps for ns nanoseconds or a little longer. If ns is 0 or negative, the call yields, as
 * weft_yield does. Cancellable. May switch.
 *
 * Returns
 *    0           the time has passed
 *   -ETIMEDOUT, -ECANCELED   a scope ended the call
 *   -ESHUTDOWN   no runtime runs */
WEFT_API int weft_sleep(int64_t ns);

/* Makes a timer that runs fn(arg) once, ns nanoseconds from now, in a new goroutine. If ns is 0 or
 * negative, the timer fires at once. If there is no memory for the goroutine when the timer fires,
 * weft tries again every millisecond. weft_timer_free or the end of the run frees the timer. No
 * call may use the timer after that.
 *
 * Returns
 *   a timer      it is pending
 *   NULL         no memory, fn is NULL, or no runtime runs */
typedef struct weft_timer weft_timer;
WEFT_API WEFT_MUST_CHECK weft_timer *weft_timer_new(int64_t ns, void (*fn)(void *), void *arg);
/* Stops a timer. Does not wait for fn.
 *
 * Returns
 *    1           the timer was pending, and will not fire
 *    0           the timer has fired, or was stopped before. If it has fired, fn may be running, or
 *                may not have begun yet
 *   -EINVAL      t is NULL
 *   -ESHUTDOWN   no runtime runs */
WEFT_API int weft_timer_stop(weft_timer *t);
/* Sets the timer to fire ns nanoseconds from now. The timer may be pending, may have fired, or may
 * have been stopped.
 *
 * Returns
 *    1           the timer was pending. It will not fire at its old time
 *    0           the timer was not pending
 *   -ENOMEM      no memory. Nothing has changed
 *   -EINVAL      t is NULL
 *   -ESHUTDOWN   no runtime runs */
WEFT_API WEFT_MUST_CHECK int weft_timer_reset(weft_timer *t, int64_t ns);
/* Stops the timer and frees it. Does not wait for fn. Allowed at any time, also in fn. Does nothing
 * if t is NULL. */
WEFT_API void weft_timer_free(weft_timer *t);

/* Makes a channel that receives an int64_t every `period` nanoseconds: the time at which the tick
 * was due. The first tick is due one period from now. The capacity of the channel is 1. A receiver
 * that is too slow misses ticks. To stop the ticks, close the channel or drop its last reference.
 *
 * Returns
 *   a channel    the caller has one reference to it
 *   NULL         no memory, period is 0 or negative, or no runtime runs */
WEFT_API WEFT_MUST_CHECK weft_chan *weft_tick(int64_t period);

/* ---- Signals --------------------------------------------------------------------------------- */

/* Makes a channel of int. When a signal of the set arrives, the channel receives its number. The
 * capacity of the channel is 16. If there is no room, the number is dropped. If several channels
 * want a signal, each of them gets the number. If a signal arrives several times in quick
 * succession, the channel may receive its number only once, but always after the last arrival. weft
 * runs no code of the program in a signal handler.
 *
 * Actions. While a channel wants a signal, the program's own action for this signal is suspended.
 * The action is restored when the last such channel is closed or freed, or when the run ends. It is
 * not restored if the program has installed another action meanwhile. weft's threads have the
 * signal mask of the caller of weft_run or weft_start. A signal that all threads block does not
 * arrive. If an instruction raises a signal, such as SIGFPE for a division by zero, the program's
 * own action is taken. The channel does not receive this signal.
 *
 * SIGQUIT. Under weft_run, SIGQUIT writes all goroutines to stderr, and the program goes on. If the
 * program has installed a handler for SIGQUIT, the handler runs, too. This does not happen while a
 * channel wants SIGQUIT, if SIGQUIT was ignored at the start of the run, or with
 * WEFT_DEBUG=dump=0.
 *
 * Returns
 *   a channel    the caller has one reference to it
 *   NULL         set is NULL or empty; set contains SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, the preempt
 *                signal (see weft_config) or an unknown signal; no memory; or no runtime runs */
WEFT_API WEFT_MUST_CHECK weft_chan *weft_signal(const sigset_t *set);

#ifdef __cplusplus
}
#endif
#endif
