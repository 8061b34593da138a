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

/* Numbers about this run. All counters count from the start of the run. They are exact only while
 * no goroutine runs. */
typedef struct weft_stats_t {
        uint64_t size;                  /* set by the caller: see weft_stats */
        uint64_t goroutines;            /* alive now */
        /* Threads of the runtime now: all, those that sleep without work, those that search. */
        uint64_t threads, threads_idle, threads_spinning;
        uint64_t procs, procs_idle;     /* processors now: all, and those that no thread uses */
        uint64_t spawned;               /* goroutines that were started */
        uint64_t switches;              /* from a goroutine to another one or to the scheduler */
        uint64_t steals;                /* of goroutines that waited for another processor */
        uint64_t handoffs;              /* of a processor to another thread: after it was taken,
                                         * to a goroutine that is locked to its thread, or back
                                         * to a preempted goroutine */
        uint64_t takes;                 /* of a processor from a thread in user code: goroutines
                                         * waited, and the thread was in a blocking region,
                                         * blocked or computed; or all goroutines were stopped */
        uint64_t preemptions;           /* of goroutines that compute. Their thread was stopped.
                                         * Or they yielded in weft_checkpoint, at the end of a
                                         * blocking region, or in a call that may wait */
        uint64_t parks;                 /* how often goroutines have waited. The fields parks_...
                                         * count the same waits by reason */
        uint64_t parks_park, parks_join, parks_chan_recv, parks_chan_send, parks_select;
        uint64_t parks_sleep, parks_mutex, parks_rwmutex, parks_cond, parks_sem, parks_wg;
        uint64_t parks_once, parks_scope_close;
        uint64_t stacks_reserved;       /* stacks of the default size that goroutines have, or
                                         * that are kept for new goroutines */
        /* Time from runnable to running. Entry i counts the goroutines that took 2^i to 2^(i+1) ns.
         * One wakeup in 256 is measured, and each wakeup by a foreign thread. */
        uint64_t ready_to_run[40];
        uint64_t parks_io;              /* waits for descriptors */
} weft_stats_t;
/* Fills *st. Before the call the caller must set st->size to sizeof(weft_stats_t). The call writes
 * at most st->size bytes, and does not change fields that the library does not know.
 *
 * Returns
 *    0           *st is filled
 *   -EINVAL      st is NULL, or st->size is less than 8
 *   -ESHUTDOWN   no runtime runs */
WEFT_API int weft_stats(weft_stats_t *st);

/* Writes a list of all goroutines to fd. Each entry has the id, the name, the state, what the
 * goroutine waits for and since when. The functions that the goroutine is in follow, and where the
 * goroutine was created. A question mark means that the function may have returned already.
 * Goroutines with the same functions share one list of functions, below their header lines. Errors
 * of fd are ignored. Does nothing if no runtime runs. Fatal inside a blocking region. May switch.
 *
 * All goroutines are stopped for a moment. With WEFT_PREEMPT_ALL the preempt signal stops threads
 * that run user code. weft does not send the signal to a thread if it would end a system call of
 * the thread early. A thread that is in the kernel is examined without a stop. If a thread computes
 * and cannot be stopped, its entry tells this.
 *
 * The goroutines go on before the list is written. A goroutine may therefore read the list, for
 * example from a pipe. If fd is non-blocking, and nothing reads from it for one second, the rest of
 * the list is lost. */
WEFT_API void weft_dump(int fd);

/* Stops all goroutines for a moment, and checks the invariants of the scheduler. A broken invariant
 * is fatal. Fatal inside a blocking region. May switch. Returns 0 if all invariants hold, or
 * -ESHUTDOWN if no runtime runs. */
WEFT_API int weft_check(void);

#ifdef __cplusplus
}
#endif
#endif
