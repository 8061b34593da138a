/* signal/signal.h - what the scheduler calls through its hooks (sched/run/hooks.h).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SIGNAL_SIGNAL_H
#define W_SIGNAL_SIGNAL_H

#include <stdint.h>

/* Called before goroutine 1 runs, and when the phase is ENDING. */
void w_signals_run_begin(void);
void w_signals_run_ending(void);
/* Sends the signals that arrived to their channels. Context: the monitor. */
void w_signals_deliver(void);
/* The number of channels through which a signal may come at any time. A goroutine that waits for
 * such a channel is not deadlocked. The number is a hint, unless no thread runs. Context: any
 * thread. */
uint32_t w_signal_waits(void);

#endif
