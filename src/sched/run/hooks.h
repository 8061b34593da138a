/* sched/run/hooks.h - what the scheduler calls in the layers above it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_RUN_HOOKS_H
#define W_SCHED_RUN_HOOKS_H

#include "base/atomic.h"
#include "base/list.h"
#include "os/os.h"

/* hooks/hooks.c defines the table; it stands above all layers. The scheduler uses no other name of
 * an upper layer. There is no registration at run time. A linker takes from a static library only
 * the files that something refers to, but these hooks must work in a program that never calls the
 * layer itself. */
struct run_hooks {
        /* signal/: before goroutine 1 runs, and when the phase is ENDING. */
        void (*signals_begin)(void);
        void (*signals_ending)(void);
        /* signal/: sends the signals that arrived to their channels. Context: the monitor. */
        void (*signals_deliver)(void);
        /* wait/: tells every foreign thread that waits that the run ends. */
        void (*wait_shut_down)(void);
        /* wait/, scope/: the Ms are gone; forgets the goroutines that still waited. */
        void (*wait_run_ended)(void);
        void (*scopes_run_ended)(void);
        /* net/: claims the waiters for these events and puts them into `woken`; the caller wakes
         * them by w_ready_many. Foreign threads among the waiters are woken at once. */
        void (*poll_deliver)(const struct w_os_event *events, int n, struct queue *woken);
        /* debug/: weft_check, for WEFT_DEBUG=check=1. */
        int (*check)(void);
};

extern const struct run_hooks w_run_hooks;

#endif
