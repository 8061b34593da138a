/* weft/inside.h - looking at what runs. Part of weft.h, which includes it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEFT_INSIDE_H
#define WEFT_INSIDE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Set size to sizeof(weft_stats_t) before the call; fields beyond what the library knows stay as
 * they are. Counters are of this run, and exact once nothing runs. */
typedef struct weft_stats_t {
        uint64_t size;
        uint64_t goroutines;            /* alive */
        uint64_t threads, threads_idle, threads_spinning;
        uint64_t procs, procs_idle;
        uint64_t spawned;               /* goroutines so far */
        uint64_t switches;              /* from one goroutine to another or to the scheduler */
        uint64_t steals;
        uint64_t handoffs;              /* of a P to another thread: it was taken, or goroutines are
                                         * locked to their threads, or one that was held gets it */
        uint64_t takes;                 /* of Ps: from threads in regions, that block or compute
                                         * while others wait; and wherever the world was stopped */
        uint64_t preemptions;           /* of goroutines that compute: the thread was held, or a
                                         * checkpoint, the end of a region or a call that may wait
                                         * yielded for others */
        uint64_t parks;                 /* times a goroutine waited: all, and by reason below */
        uint64_t parks_park, parks_join, parks_chan_recv, parks_chan_send, parks_select;
        uint64_t parks_sleep, parks_mutex, parks_rwmutex, parks_cond, parks_sem, parks_wg;
        uint64_t parks_once, parks_scope_close;
        uint64_t stacks_reserved;
        /* How long goroutines waited between ready and running: entry i counts those of 2^i to
         * 2^(i+1) ns. One in 256 is timed, and every one that was woken by a foreign thread. */
        uint64_t ready_to_run[40];
        uint64_t parks_io;
} weft_stats_t;
/* 0; -EINVAL: no size; -ESHUTDOWN. */
int weft_stats(weft_stats_t *st);

/* Writes every goroutine to fd: id, name, state, why and how long it waits, where it was created,
 * and the calls that led to where it is; one with a question mark may be over. Those for which the
 * latter two are the same share them, below their lines. Stops the world and,
 * with preempt=all, for a moment the threads that run goroutines, by the preempt signal: not in
 * system calls that it would end early. Those, and with other settings all that wait in the kernel,
 * are looked at as they are. Who computes and cannot be stopped is said to. All go on before it is
 * written, which is done in a blocking region: a goroutine may read it. Where fd does not wait, and
 * nobody reads for a second, the rest is lost. Any thread; not in a blocking region. May switch. */
void weft_dump(int fd);

/* Stops the world and checks every invariant of the scheduler: 0, or the program aborts and says
 * what is wrong. -ESHUTDOWN. Any thread; not in a blocking region. May switch. */
int weft_check(void);

#ifdef __cplusplus
}
#endif
#endif
