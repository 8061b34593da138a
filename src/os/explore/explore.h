/* os/explore/explore.h - CONTRACT: the explorer tries every execution of a small scenario.
 *
 * A scenario is a handful of threads that call the real sources, built with W_HOOKED. The explorer
 * runs it again and again on one OS thread, each time deciding differently who runs next and which
 * value a load returns, until no decision within the bounds is left: then the result is "complete".
 * Nothing is kept between two executions but the list of decisions (stateless search, depth first).
 *
 * The machine it models is C11's, as views over store histories:
 *   - each location has the history of its stores; modification order is execution order;
 *   - each thread has a view: per location the oldest store it may still read, per thread how much
 *     of its past is ordered before (happens-before);
 *   - a load returns any store not older than the view, and moves the view there;
 *   - a release store carries its thread's view, an acquire load that reads it joins that view; a
 *     relaxed store carries the view of the last full fence before it, a relaxed load's is joined
 *     by the next full fence; a read-modify-write hands on what the store before it carried
 *     (release sequence; the same thread's later plain stores do not, as in C++20);
 *   - a read-modify-write reads the newest store, a successful CAS too; a failing CAS is a load;
 *   - full fences are in one order, and each sees at least what the earlier ones had seen of every
 *     location (C++20's repair of C11; every machine does it). They order no ordinary memory by
 *     themselves: C11's do not either;
 *   - ordinary memory (w_plain_load, w_plain_store) is checked: two accesses, one a write, that no
 *     happens-before orders are the failure "data race", whatever their values;
 *   - futex wait compares with the newest value and sleeps in one step; it orders nothing. Who of
 *     several sleepers is woken, whether a deadline fires, and (if the scenario asks) waking up for
 *     no reason are decisions like any other.
 * What it does not model: loads that read stores of the future (load buffering), and modification
 * orders other than execution order. A thread that reads the same stale store of a location four
 * times in a row reads a newer one then: C11 wants stores visible in finite time. For the first gap
 * there is w_explore_claimed() below.
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
        W_EXPLORE_DEADLOCK,     /* everybody sleeps: some wake was lost */
        W_EXPLORE_RACE,         /* ordinary memory without happens-before */
        W_EXPLORE_STEPS,        /* no end in sight, in a scenario that may not spin */
        W_EXPLORE_OUTCOME,      /* an outcome that is not allowed, or a required one never seen */
};

struct explore_scenario {
        const char *name;
        const char *about;              /* one line for --list */
        struct {
                const char *name;
                void      (*fn)(void);
        } threads[W_EXPLORE_THREADS];   /* ends at the first without fn */
        /* Before each execution: all memory of the scenario as it shall be. Its atomic accesses are
         * ordinary ones, and happen before everything. */
        void (*setup)(void);
        /* After each execution that ended by itself: may check, and returns an outcome, 0..63. */
        int  (*check)(void);
        uint64_t allowed;               /* outcomes that may be seen; 0: any */
        uint64_t required;              /* outcomes that must be seen once the search is complete */
        enum explore_failure must_fail; /* a self-test of the engine: this must be found */
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
        uint64_t             pruned;    /* of them cut at the step limit */
        double               seconds;
        bool                 complete;
        uint64_t             seen;      /* outcomes */
        enum explore_failure failure;
        char                 text[512]; /* what failed */
        char                 trail[W_EXPLORE_TRAIL + 32];       /* replays it */
};

/* Runs one scenario. On failure the interleaving has been printed on stdout. */
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

/* Says that for the rest of this execution only the calling thread touches this memory: atomic
 * accesses there are ordinary ones and no steps. Anyone else who comes there ends the program. */
void w_explore_own(const void *addr, size_t size);

/* Says that what this thread last read from the atomic object at `addr` counts: nobody may have
 * overwritten it, or overwrite it, without that read happening before. This is how the scenario of
 * a copy-then-claim protocol closes the load-buffering gap: a machine that lets loads wait could
 * read an overwrite that nothing orders after the load. */
void w_explore_claimed(const void *addr);

#endif
