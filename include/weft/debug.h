/* weft/debug.h - statistics, dumps and checks of a running program. Part of weft.h, which includes
 * it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEFT_DEBUG_H
#define WEFT_DEBUG_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Numbers about this run. The counters are exact while no goroutine runs. The P of the comments is
 * a processor. */
typedef struct weft_stats_t {
        uint64_t size;
        uint64_t goroutines;            /* alive */
        uint64_t threads, threads_idle, threads_spinning;
        uint64_t procs, procs_idle;
        uint64_t spawned;               /* goroutines started so far */
        uint64_t switches;              /* from a goroutine to another one or to the scheduler */
        uint64_t steals;
        uint64_t handoffs;              /* of a P to another thread: after it was taken, to a
                                         * goroutine that is locked to its thread, or back to a
                                         * preempted goroutine */
        uint64_t takes;                 /* of the P of a thread that was in a blocking region,
                                         * blocked or computed while goroutines waited, or was in
                                         * user code when all goroutines were stopped */
        uint64_t preemptions;           /* of goroutines that compute: their thread was stopped,
                                         * or they yielded for others in weft_checkpoint, at the
                                         * end of a blocking region or in a call that may wait */
        uint64_t parks;                 /* how often goroutines have waited; by reason below */
        uint64_t parks_park, parks_join, parks_chan_recv, parks_chan_send, parks_select;
        uint64_t parks_sleep, parks_mutex, parks_rwmutex, parks_cond, parks_sem, parks_wg;
        uint64_t parks_once, parks_scope_close;
        uint64_t stacks_reserved;
        /* Time from runnable to running: entry i counts the goroutines that took 2^i to 2^(i+1) ns.
         * Measured for one wakeup in 256, and for each wakeup by a foreign thread. */
        uint64_t ready_to_run[40];
        uint64_t parks_io;
} weft_stats_t;
/* Fills *st. The caller sets st->size to sizeof(weft_stats_t) before the call. Fields that the
 * library does not know are not changed.
 *
 * Returns
 *    0           *st is filled
 *   -EINVAL      st is NULL or st->size is not set
 *   -ESHUTDOWN   no runtime runs */
WEFT_API int weft_stats(weft_stats_t *st);

/* Writes a list of all goroutines to fd. For each: id, name, state, what it waits for and since
 * when, the functions that it is in, and where it was created. A function with a question mark may
 * have returned already. Goroutines with the same functions share one list, below their header
 * lines. Fatal inside a blocking region. May switch.
 *
 * All goroutines are stopped for a moment. With WEFT_PREEMPT_ALL a thread that runs user code is
 * stopped by the preempt signal, unless the signal would end its system call early. A thread that
 * is in the kernel is examined as it is. If a thread computes and cannot be stopped, the list says
 * so.
 *
 * The list is written after the goroutines go on, in a blocking region, so a goroutine may read it.
 * If fd is non-blocking and nothing reads it for one second, the rest is lost. */
WEFT_API void weft_dump(int fd);

/* Stops all goroutines for a moment and checks the invariants of the scheduler. A broken invariant
 * is fatal. Returns 0, or -ESHUTDOWN if no runtime runs. Fatal inside a blocking region. May
 * switch. */
WEFT_API int weft_check(void);

#ifdef __cplusplus
}
#endif
#endif
