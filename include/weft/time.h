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

/* The time on CLOCK_MONOTONIC. Works without a runtime, too. */
WEFT_API int64_t weft_now(void);

/* Sleeps for ns nanoseconds or a little longer. ns <= 0 yields. Cancellable. May switch.
 *
 * Returns
 *    0           the time has passed
 *   -ETIMEDOUT, -ECANCELED   a scope ended the sleep
 *   -ESHUTDOWN   no runtime runs */
WEFT_API int weft_sleep(int64_t ns);

/* Makes a timer that runs fn(arg) once, ns nanoseconds from now, in a new goroutine. NULL: no
 * memory, no fn, or no runtime runs. The timer is freed by weft_timer_free or at the end of the
 * run. */
typedef struct weft_timer weft_timer;
WEFT_API WEFT_MUST_CHECK weft_timer *weft_timer_new(int64_t ns, void (*fn)(void *), void *arg);
/* Stops a timer. Returns
 *    1           it was pending and will not fire
 *    0           it had fired or was stopped before
 *   -EINVAL      t is NULL
 *   -ESHUTDOWN   no runtime runs */
WEFT_API int weft_timer_stop(weft_timer *t);
/* Sets the timer to fire ns nanoseconds from now, whether it is pending, has fired or was stopped.
 * Returns
 *    1           it was pending; the old time is void
 *    0           it was not pending
 *   -ENOMEM      nothing has changed
 *   -EINVAL      t is NULL
 *   -ESHUTDOWN   no runtime runs */
WEFT_API WEFT_MUST_CHECK int weft_timer_reset(weft_timer *t, int64_t ns);
/* Stops the timer and frees it. Allowed at any time, also in fn. NULL is ignored. */
WEFT_API void weft_timer_free(weft_timer *t);

/* Makes a channel that receives an int64_t every `period` nanoseconds: the time at which this tick
 * was due. Its capacity is 1; a slow reader misses ticks. To stop it, close the channel or drop its
 * last reference. NULL: no memory, period <= 0, or no runtime runs. */
WEFT_API WEFT_MUST_CHECK weft_chan *weft_tick(int64_t period);

/* ---- Signals --------------------------------------------------------------------------------- */

/* Makes a channel of int that receives the number of each signal in the set that arrives. Its
 * capacity is 16; a number is dropped if there is no room. Every channel gets its own copy. Signals
 * that arrive in quick succession may be reported once, but at least once after the last. No code
 * of the program runs in a signal handler.
 *
 * While a channel wants a signal, the program's own action for it is suspended. The action is
 * restored when the last such channel is closed or freed, or the run ends, unless the program has
 * installed another one meanwhile. weft's threads have the signal mask of the caller of weft_run:
 * a signal that all threads block does not arrive. A signal that an instruction raises, such as
 * SIGFPE for a division by zero, is not sent to the channel but takes the program's own action.
 *
 * NULL: set is NULL or empty, or contains SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, the preempt signal
 * (SIGURG unless weft_config names another) or an unknown signal; no memory; or no runtime runs.
 *
 * SIGQUIT. Under weft_run, unless a channel wants it, SIGQUIT writes all goroutines to stderr and
 * the program goes on. A handler that the program had installed runs too. If SIGQUIT was ignored,
 * it stays ignored. WEFT_DEBUG=dump=0 turns this off. */
WEFT_API WEFT_MUST_CHECK weft_chan *weft_signal(const sigset_t *set);

#ifdef __cplusplus
}
#endif
#endif
