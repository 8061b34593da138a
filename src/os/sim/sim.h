/* os/sim/sim.h - the simulated machine, as those see it who write scenarios for it.
 *
 * The library's own sources, built with W_HOOKED, run on one OS thread. Threads are fibers, time is
 * virtual, and before every atomic access and every call of os/os.h a generator that is seeded once
 * per run may let another thread go on, drain a buffered store, fail the call or delay a wake-up.
 * The same scenario and seed give the same run, step for step.
 *
 * What is simulated, and what is not:
 *   - each thread has a store buffer, so that a missing StoreLoad fence shows. Loads are never
 *     reordered and read-modify-writes empty the own buffer: this is x86 (TSO), and in some runs a
 *     weaker machine on which relaxed stores pass each other. C11 in full is the explorer's job;
 *   - plain memory is not buffered. An atomic object must therefore not change its role (be set
 *     through `raw`, freed, or leave its frame) while a store to it may still be buffered: a
 *     read-modify-write, w_fence_full() or a call of os/os.h by the same thread empties the buffer;
 *   - every thread has a CPU of its own; spending time is a call, sim_work(), and so is having to
 *     wait for that CPU, sim_starve().
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_OS_SIM_SIM_H
#define W_OS_SIM_SIM_H

#include "base/compiler.h"

#include <stdbool.h>
#include <stdio.h>      /* FILE */

struct thread;

/* All zero is the usual hostile machine: spurious and late wake-ups, weak stores in some runs, and
 * calls that always succeed. */
struct sim_config {
        bool     calls_fail;    /* per seed: thread, memory, membarrier and signal calls may fail */
        uint32_t fail_at;       /* not 0: exactly the fail_at-th call that can fail does */
        bool     no_spurious;   /* a futex sleep ends only by wake or deadline */
        bool     no_late;       /* wake-ups and starts take effect at once */
        bool     no_weak;       /* TSO in every run */
        bool     may_leave;     /* threads may still exist, memory be mapped, when main returns */
        uint32_t max_steps;     /* 0: SIM_MAX_STEPS; more is reported as a live-lock */
        int      cpus;          /* w_os_cpu_count; 0: 4 */
        int      quota;         /* w_os_cpu_quota */
};

enum { SIM_MAX_STEPS = 200000, SIM_MAX_THREADS = 64 };

struct sim_scenario {
        const char              *name;
        const char              *what;          /* one line for --list */
        void                   (*run)(void);    /* the first thread, m0; starts the others */
        struct sim_config        config;
        bool                     must_fail;     /* broken on purpose: some seed must show it */
        struct sim_scenario     *next;          /* registry of the runner */
};

struct sim_result {
        bool     failed;
        uint64_t steps;
        uint64_t switches;
        uint32_t n_fallible;    /* calls that could have failed */
        int64_t  ended_at;      /* virtual time */
        char     report[6000];  /* if it failed: what, how to replay, where each thread stands */
};

/* How the report names the runner in its replay command. */
extern const char *sim_program;

/* One run, complete with a fresh machine. `log` may be NULL. Context: not inside a run. */
void sim_run(const struct sim_scenario *scenario, uint64_t seed, FILE *log,
             struct sim_result *result);

/* ---- For code inside a run ------------------------------------------------------------------ */

/* Ends the run as failed. */
W_NORETURN void sim_fail(const char *fmt, ...) W_PRINTF(1, 2);

#define SIM_CHECK(cond, ...) do {                                                               \
        if (W_UNLIKELY(!(cond)))                                                                \
                sim_fail(__VA_ARGS__);                                                          \
} while (0)

/* The calling thread computes for that long; the others go on meanwhile. Strikes land here. */
void sim_work(int64_t ns);

/* The calling thread would compute but gets no CPU for that long. */
void sim_starve(int64_t ns);

/* fn runs on a thread in the middle of its sim_work(), at seeded moments: where a signal or the
 * taking of a P would hit user code. NULL: nothing strikes. Forgotten at the end of the run. */
void sim_on_strike(void (*fn)(void));

/* fn runs between any two steps, whoever runs, and takes none itself: it reads memory as it is, and
 * buffers by sim_peek(). For invariants that hold at all times. NULL: none. Forgotten likewise. */
void sim_on_step(void (*fn)(void));

/* The value of a word as the thread with that record (base/thread.h) sees it, its buffered stores
 * included; NULL or no such thread: as it is in memory. No step. */
uint64_t sim_peek(const struct thread *whose, const void *addr, unsigned size);

/* Virtual time. No step. */
int64_t sim_now(void);

/* A memory fault at addr on the calling thread: the watcher of w_os_faults_watch() sees it; if
 * there is none or it returns, the run has failed. */
void sim_fault(void *addr);

/* From the run's own stream: uniform in [0, n). */
uint32_t sim_random(uint32_t n);

/* Is the page of addr a guard? Guards are recorded, not enforced. */
bool sim_is_guarded(const void *addr);

/* Pages that are mapped now. */
size_t sim_mapped_pages(void);

#endif
