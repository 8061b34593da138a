/* base/tuning.h - constants that are smaller under the simulator and the explorer.
 *
 * An engine (W_HOOKED: os/sim, os/explore) chooses which thread runs and repeats short runs many
 * times. Each constant here has the value of the shipped library first and the engine's value
 * second. The queue capacities W_RUNQ_CAP and W_PARENTS_CAP are set by the build. All other
 * differences are in base: atomic.h, thread.h, lock.h, window.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_BASE_TUNING_H
#define W_BASE_TUNING_H

#include "base/compiler.h"

#if defined(W_HOOKED)
#define W_TUNED(shipped, engine) (engine)
#else
#define W_TUNED(shipped, engine) (shipped)
#endif

/* ---- Spinning: under an engine it only makes runs longer ------------------------------------- */

enum {
        /* base/lock.c: rounds of 30 pauses before a thread sleeps, about 1 us in all, as in Go. */
        W_TUNE_LOCK_ROUNDS = W_TUNED(4, 0),

        /* sync/mutex.c: reads of a locked mutex before the caller parks, and the pauses between two
         * reads. The pauses are long on purpose: while one P pauses, the other P goes through many
         * short sections with the word in its own cache. */
        W_TUNE_MUTEX_SPINS = W_TUNED(4, 1),
        W_TUNE_MUTEX_PAUSES = W_TUNED(30, 0),

        /* sched/steal.c: pauses before a thief takes `next`, about 3 us. */
        W_TUNE_STEAL_PAUSES = W_TUNED(100, 0),
};

/* ---- The monitor: an engine's time is better spent on other threads -------------------------- */

enum {
        /* sched/monitor/sysmon.c: rounds with the shortest sleep before the sleep grows. 50 are a
         * millisecond, as in Go. */
        W_TUNE_MONITOR_ROUNDS = W_TUNED(50, 3),
        /* sched/monitor/sysmon.c: rounds with every P idle before the monitor sleeps deeply, while
         * a P may be used again any moment. */
        W_TUNE_MONITOR_IDLE_ROUNDS = W_TUNED(10, 2),
};

/* ---- Limits: an engine has few threads ------------------------------------------------------- */

enum {
        /* sched/monitor/retake.c: Ms that run without a P. At the limit, an M keeps its P in code
         * outside a blocking region. */
        W_TUNE_LOST_MAX = W_TUNED(512, 8),

        /* net/resolve.c: threads that look up names at the same time. */
        W_TUNE_LOOKUPS_MAX = W_TUNED(32, 2),
};

/* ---- Tables by address: an engine has one entry ---------------------------------------------- */

/* Under an engine the choice of an entry must not depend on the address of an object, or a run
 * could not be replayed. */

/* wait/waitqueue.c: 2^12 buckets are 256 KiB, of which only touched pages get memory. */
#define W_TUNE_BUCKET_BITS  W_TUNED(12, 0)
/* scope/tree.c: locks for the trees of scopes. */
#define W_TUNE_SCOPE_LOCKS  W_TUNED(64, 1)

/* ---- Memory: an engine maps and zeroes it in each of many runs ------------------------------- */

/* net/desc.c: a table of two levels for every number that an int can hold; an engine's table has
 * 256 numbers. */
#define W_TUNE_DESC_LEAF_BITS W_TUNED(10, 3)
#define W_TUNE_DESC_TOP_BITS  W_TUNED(21, 5)
/* stack/pool.c: the default size of a slab of stacks. */
#define W_TUNE_SLAB_SIZE      ((size_t)W_TUNED(256, 4) << 20)

/* stack/mark.c, debug builds: stacks are cleared to measure how deep they are used. An engine's own
 * frames are on these stacks too, and are deeper with a log than without. A run must not depend on
 * the log. */
#define W_TUNE_CLEAR_STACKS   W_TUNED(1, 0)

#endif
