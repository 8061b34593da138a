/* hooks/hooks.c - the table through which the scheduler calls the layers above it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "net/poll.h"
#include "sched/run/hooks.h"
#include "scope/tree.h"
#include "signal/signal.h"
#include "wait/wait.h"
#include "wait/waitqueue.h"
#include "weft.h"

const struct run_hooks w_run_hooks = {
        .signals_begin = w_signals_run_begin,
        .signals_ending = w_signals_run_ending,
        .signals_deliver = w_signals_deliver,
        .wait_shut_down = w_wait_shut_down,
        .wait_run_ended = w_waitq_run_ended,
        .scopes_run_ended = w_scopes_run_ended,
        .poll_deliver = w_poll_deliver,
        .check = weft_check,
};
