/* os/explore/engine.h - what the explorer's files share. Model and contract: os/explore/explore.h.
 *
 * No allocation, no system call per step: one static record, reset by counters and epochs.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_OS_EXPLORE_ENGINE_H
#define W_OS_EXPLORE_ENGINE_H

#include "arch/fiber.h"
#include "base/atomic.h"
#include "base/thread.h"
#include "os/explore/explore.h"
#include "os/os.h"

enum {
        EX_LOCS     = 40,       /* locations of one execution */
        EX_LANES    = EX_LOCS + W_EXPLORE_THREADS,
        EX_STORES   = 1024,     /* stores of one execution */
        EX_HISTORY  = 96,       /* stores to one location */
        EX_STEPS    = 600,      /* of one execution */
        EX_STALE_REPEATS = 4,   /* how often in a row the same old store is read */
        EX_STACK    = 128 << 10,
};

/* Lane i < EX_LOCS: index of the oldest store of location i that may be read. Lane EX_LOCS + t: the
 * clock of thread t up to which the past of t happens before. A lane has 16 bits, so that a join is
 * six vector instructions. */
struct ex_view {
        int16_t at[EX_LANES] __attribute__((aligned(16)));
};

struct ex_store {
        uint64_t             value;
        int                  thread;    /* -1: before the start */
        int                  clock;     /* of the thread that stored it */
        const struct w_site *site;
        bool                 carries;
        struct ex_view       carried;   /* what an acquire load of this store joins */
        int16_t              saw[W_EXPLORE_THREADS];    /* happens-before of that thread */
};

/* The clock of each thread at its last access of one kind, for the race check; 0: none. */
struct ex_accesses {
        int16_t by[W_EXPLORE_THREADS];
};

struct ex_loc {
        uintptr_t          addr;
        unsigned           size;
        int                index;
        int                n_stores;    /* 0: accessed only as ordinary memory */
        bool               ordinary;    /* accessed as ordinary memory */
        bool               raw_newer;   /* ordinary memory was written after the newest store */
        bool               has_claims;
        uint16_t           history[EX_HISTORY];         /* indices into w_ex.stores */
        int16_t            last_read[W_EXPLORE_THREADS];
        int16_t            last_read_clock[W_EXPLORE_THREADS];
        uint8_t            stale_repeats[W_EXPLORE_THREADS];
        int16_t            claimed_clock[W_EXPLORE_THREADS];    /* 0: nothing claimed */
        struct ex_accesses plain_reads, plain_writes, atomic_reads, atomic_writes;
};

struct ex_thread {
        struct fiber   fiber;
        struct thread  own;
        struct w_os_foreign foreign;
        struct thread *self;            /* what w_self() returns: own, or set by the scenario */
        int            id;
        const char    *name;
        bool           made;            /* the fiber exists and waits for the next execution */
        bool           arrived;         /* control has just come here: no preemption at this step */
        bool           woken;
        bool           timed_out;
        bool           has_fenced;      /* `fenced` holds a view */
        bool           has_pending;     /* `pending` holds a view */
        uintptr_t      sleeps_on;       /* futex word, 0: none */
        int64_t        deadline_at;
        uintptr_t      own_at;          /* memory that no other thread accesses */
        size_t         own_size;
        struct ex_view view;            /* what this thread may read, and its happens-before */
        struct ex_view fenced;          /* view at its last full fence; relaxed stores carry it */
        struct ex_view pending;         /* carried by what it read relaxed; joined by a fence */
};

struct ex_choice {
        uint8_t taken, of;
};

struct explorer {
        const struct explore_scenario *scenario;
        int      n_threads;
        int      bound, stale;
        bool     logging;

        /* One execution. */
        bool     running;               /* false: the hooks make ordinary accesses */
        bool     ended;                 /* every thread has returned */
        bool     pruned;
        uint32_t epoch;
        int      n_steps, n_preemptions, n_stale, n_spurious;
        int      n_locs, n_stores;
        uint32_t runnable;              /* bit per thread */
        uint32_t timed;                 /* the same: sleeps with a deadline, and may time out */
        uint32_t unfinished;
        int64_t  now;
        struct ex_thread *cur;
        struct ex_view    fences;       /* what all full fences so far have seen */
        enum explore_failure failure;
        char     text[512];
        int      outcome;

        /* The search. */
        int      depth, n_trail;
        bool     replaying;
        struct ex_choice trail[W_EXPLORE_TRAIL];

        struct fiber     main;
        struct thread    main_own;
        struct thread   *main_self;     /* in setup and check */
        struct w_os_foreign main_foreign;
        struct ex_thread threads[W_EXPLORE_THREADS];
        struct ex_loc    locs[EX_LOCS];
        struct ex_store  stores[EX_STORES];
};

extern struct explorer w_ex;

/* trail.c */
int  w_ex_choose(int n);                        /* 0..n-1; a search tries every value */
bool w_ex_trail_next(void);                       /* to the next branch; false: none is left */
void w_ex_trail_text(char *out, size_t size);
bool w_ex_trail_parse(const char *text);

/* threads.c */
void w_ex_threads_reset(void);
void w_ex_threads_run(void);                      /* one execution, from start to end */
void w_ex_step(void);                             /* before each step: another thread may run */
void w_ex_sleep(uintptr_t addr, int64_t deadline_at);     /* returns when woken or timed out */
int  w_ex_wake(uintptr_t addr, int n);
void w_ex_yield(void);
W_NORETURN void w_ex_fail(enum explore_failure failure, const char *fmt, ...) W_PRINTF(2, 3);
W_NORETURN void w_ex_prune(void);

/* memory.c, plain.c */
void w_ex_memory_reset(void);
struct ex_loc *w_ex_loc_find(const void *addr, unsigned size);
struct ex_loc *w_ex_loc_atomic(const void *addr, unsigned size);
struct ex_store *w_ex_newest(struct ex_loc *l);
void w_ex_plain_check_atomic(const struct ex_loc *l, bool is_write, const struct w_site *site);
void w_ex_claim_check_store(const struct ex_loc *l, const struct ex_store *s);

/* witness.c: another process, which calls print() for the trail of a failure. */
void w_ex_witness_call(void (*print)(void));
void w_ex_witness_dismiss(const char *trail);     /* "": there was no failure */

/* log.c. Arguments are evaluated only while an execution is printed. */
#define w_ex_log(...)    EX_IF_LOGGING_(w_ex_log_line(__VA_ARGS__))
#define w_ex_log_op(...) EX_IF_LOGGING_(w_ex_log_op_line(__VA_ARGS__))
#define EX_IF_LOGGING_(call) do { if (W_UNLIKELY(w_ex.logging)) call; } while (0)
void w_ex_log_line(const char *fmt, ...) W_PRINTF(1, 2);
void w_ex_log_op_line(const char *op, enum w_order order, const struct w_site *site,
                    const char *fmt, ...) W_PRINTF(4, 5);
const char *w_ex_log_value(const struct ex_loc *l, uint64_t value);     /* in one of four buffers */
const char *w_ex_log_read(const struct ex_loc *l, int index);           /* value and its thread */

W_INLINE void w_ex_join(struct ex_view *into, const struct ex_view *from, int n_lanes)
{
        for (int i = 0; i < n_lanes; i++)
                into->at[i] = into->at[i] > from->at[i] ? into->at[i] : from->at[i];
}

W_INLINE int16_t *w_ex_clock(struct ex_view *v, int thread)
{
        return &v->at[EX_LOCS + thread];
}

#endif
