/* signal/signal.h - what the scheduler calls through its hooks (sched/run/hooks.h).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SIGNAL_SIGNAL_H
#define W_SIGNAL_SIGNAL_H

#include <stdint.h>

/* Before goroutine 1 runs, and when the phase is ENDING. */
void w_signals_run_begin(void);
void w_signals_run_ending(void);
/* Sends the signals that arrived to their channels. Context: the monitor. */
void w_signals_deliver(void);
/* How many channels a signal may come through at any time. A goroutine that waits for such a
 * channel is not deadlocked. A hint unless nothing runs. Context: any thread. */
uint32_t w_signal_waits(void);

#endif
