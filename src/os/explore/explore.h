/* os/explore/explore.h - CONTRACT: the explorer tries every execution of a small scenario.
 *
 * A scenario is a handful of threads that call the real sources, built with W_HOOKED. The explorer
 * runs the scenario again and again on one OS thread. Each execution decides differently which
 * thread runs next and which value a load returns. When no decision within the bounds is left, the
 * result is "complete". Nothing is kept between two executions but the list of decisions (stateless
 * search, depth first).
 *
 * The explorer models the machine of C11, as views over store histories:
 *   - each location has the history of its stores; modification order is execution order;
 *   - each thread has a view. For each location the view holds the oldest store that the thread may
 *     still read; for each thread, how much of that thread's past is ordered before
 *     (happens-before);
 *   - a load returns any store that is not older than the view, and moves the view there;
 *   - a release store carries the view of its thread; an acquire load of that store joins the view;
 *   - a relaxed store carries the view of its thread's last full fence before it; what a relaxed
 *     load reads is joined by the next full fence of its thread;
 *   - a read-modify-write also carries what the store before it carried (release sequence). Later
 *     plain stores of the same thread do not carry it, as in C++20;
 *   - a read-modify-write reads the newest store, and so does a successful CAS; a failing CAS is a
 *     load;
 *   - full fences are in one order. Each fence sees at least what the earlier fences had seen of
 *     every location (C++20's repair of C11; every machine does this). Fences alone order no
 *     ordinary memory, as in C11;
 *   - ordinary memory (w_plain_load, w_plain_store) is checked. Two accesses, one of them a write,
 *     that no happens-before orders are the failure "data race", whatever their values;
 *   - futex wait compares with the newest value and sleeps in one step; it orders nothing. The
 *     explorer decides which of several sleepers is woken, whether a deadline fires, and (if the
 *     scenario asks) whether a sleep ends for no reason.
 * What it does not model: loads that read stores of the future (load buffering), and modification
 * orders other than execution order. w_explore_claimed() below closes the first gap. A thread that
 * has read the same stale store of a location four times in a row reads a newer store next: C11
 * wants stores to become visible in finite time.
 *
 * Bounds: a preemption is a switch away from a thread that could go on; a stale read is a load that
 * does not return the newest store. "Complete" means complete within both bounds.
 *
 * Context: everything here belongs to the one thread that runs the explorer.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_OS_EXPLORE_EXPLORE_H
#define W_OS_EXPLORE_EXPLORE_H

#include "base/compiler.h"

#include <stdbool.h>

enum {
        W_EXPLORE_THREADS   = 8,
        W_EXPLORE_UNLIMITED = -1,
        W_EXPLORE_TRAIL     = 4096,     /* decisions in one execution */
};

enum explore_failure {
        W_EXPLORE_OK,
        W_EXPLORE_ASSERTION,    /* w_fatal, w_os_abort, or a check of the scenario */
        W_EXPLORE_DEADLOCK,     /* every thread sleeps: a wake was lost */
        W_EXPLORE_RACE,         /* ordinary memory without happens-before */
        W_EXPLORE_STEPS,        /* too many steps, in a scenario that may not spin */
        W_EXPLORE_OUTCOME,      /* an outcome is not allowed, or a required outcome is missing */
};

struct explore_scenario {
        const char *name;
        const char *about;              /* one line for --list */
        struct {
                const char *name;
                void      (*fn)(void);
        } threads[W_EXPLORE_THREADS];   /* the list ends at the first entry without fn */
        /* Called before each execution: sets all memory of the scenario to its initial state. Its
         * atomic accesses are ordinary accesses, and happen before everything else. */
        void (*setup)(void);
        /* Called after each execution in which every thread returned. May make checks, and returns
         * an outcome, 0..63. */
        int  (*check)(void);
        uint64_t allowed;               /* outcomes that may be seen; 0: any */
        uint64_t required;              /* outcomes that must be seen once the search is complete */
        enum explore_failure must_fail; /* a self-test of the engine: it must find this failure */
        bool may_spin;                  /* the step limit prunes in place of failing */
        int  spurious;                  /* how many sleeps may end for no reason */
        int  bound;                     /* default for preemptions; 0: 2 */
        int  stale;                     /* default for stale reads; 0: unlimited */
};

struct explore_options {
        int         bound;              /* preemptions; W_EXPLORE_UNLIMITED */
        int         stale;              /* stale reads; W_EXPLORE_UNLIMITED */
        uint64_t    max_executions;     /* 0: no limit */
        double      seconds;            /* 0: no limit */
        const char *replay;             /* one execution, printed; NULL: search */
        bool        quiet;              /* no progress lines */
};

struct explore_result {
        uint64_t             executions;
        uint64_t             pruned;    /* those cut at the step limit */
        double               seconds;
        bool                 complete;
        uint64_t             seen;      /* outcomes */
        enum explore_failure failure;
        char                 text[512]; /* what failed */
        char                 trail[W_EXPLORE_TRAIL + 32];       /* replays the failure */
};

/* Runs one scenario. After a failure it prints the interleaving on stdout. */
void w_explore_run(const struct explore_scenario *scenario, const struct explore_options *options,
                   struct explore_result *result);

/* Is `text` something w_explore_run can replay? */
bool w_explore_trail_ok(const char *text);

const char *w_explore_failure_name(enum explore_failure failure);

/* ---- For scenarios --------------------------------------------------------------------------- */

/* Ends the execution as a failure. */
W_NORETURN void w_explore_fail(const char *fmt, ...) W_PRINTF(1, 2);

#define EXPLORE_CHECK(cond) do {                                                                \
        if (!(cond))                                                                            \
                w_explore_fail("%s at %s:%d", #cond, __FILE__, __LINE__);                       \
} while (0)

/* Declares that for the rest of this execution only the calling thread accesses this memory. Atomic
 * accesses there are ordinary accesses, and not steps. An access by another thread ends the
 * program. */
void w_explore_own(const void *addr, size_t size);

/* Declares that the thread relies on the value that it last read from the atomic object at `addr`.
 * The read must happen before every overwrite of that value by another thread, also before an
 * overwrite that was made already. With this call the scenario of a copy-then-claim protocol closes
 * the load-buffering gap: a machine that delays loads could read an overwrite that nothing orders
 * after the load. */
void w_explore_claimed(const void *addr);

#endif
