/* weft.h - goroutines for C.
 *
 * The one header a program includes. Calls that can fail return a negative error number (-ENOMEM),
 * never -1 with errno. Times are int64_t nanoseconds. "May switch" in a comment means: the
 * goroutine may come back from that call on another thread.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEFT_H
#define WEFT_H

#include <stddef.h>
#include <stdint.h>

#define WEFT_VERSION_MAJOR 0
#define WEFT_VERSION_MINOR 1
#define WEFT_VERSION_PATCH 0

#ifdef __cplusplus
#define WEFT_NORETURN [[noreturn]]
extern "C" {
#else
#define WEFT_NORETURN _Noreturn
#endif

/* ---- errno ------------------------------------------------------------------------------------
 *
 * Compilers compute errno's address once per function; a goroutine that has changed threads since
 * would read another thread's. So errno asks anew each time, and its value travels with the
 * goroutine. Define WEFT_KEEP_ERRNO before the include to keep the C library's macro. */
int *weft_errno(void);
#ifndef WEFT_KEEP_ERRNO
#include <errno.h>
#undef errno
#define errno (*weft_errno())
#endif

/* ---- Running --------------------------------------------------------------------------------- */

enum {
        WEFT_PREEMPT_DEFAULT = 0,
        WEFT_PREEMPT_OFF = 1,
        WEFT_PREEMPT_BLOCKED = 2,
        WEFT_PREEMPT_ALL = 3
};

/* Zero in any field means its default; what is set here wins over the environment. */
typedef struct weft_config {
        size_t size;            /* sizeof(weft_config); 0: the fields of the first release */
        int    procs;           /* 0: WEFT_PROCS, else as many CPUs as there are; 1 to 1024 */
        int    max_threads;     /* 0: WEFT_MAX_THREADS, else 10000 */
        size_t stack_size;      /* 0: WEFT_STACK, else 64 KiB; goroutine 1 gets at least 1 MiB */
        int    preempt;         /* reserved for the coming monitor; WEFT_PREEMPT_DEFAULT */
        int    preempt_signal;  /* reserved likewise; 0 */
        int    shutdown_ms;     /* 0: 1000; how long the end waits for threads in user code */
        int    file_threads;    /* reserved for the coming I/O; 0 */
        int    idle_ms;         /* 0: 10000; threads without work end after this */
} weft_config;

/* Runs fn(arg) as goroutine 1 on the calling thread and returns when fn has returned and that
 * thread, which runs goroutines too, is back; goroutines that are left then never run again. If fn
 * ends by weft_exit, returns when all others have ended. 0, or the number of threads that did not
 * come back within shutdown_ms and stay behind; -EBUSY: a runtime runs already; -EINVAL: bad
 * configuration, named on stderr where it came from the environment; -EAGAIN, -ENOMEM. */
int weft_run(void (*fn)(void *), void *arg);
int weft_run_with(const weft_config *cfg, void (*fn)(void *), void *arg);

/* ---- Goroutines ------------------------------------------------------------------------------ */

enum { WEFT_CHILD_FIRST = 1 };  /* the new goroutine runs at once, its parent waits its turn */

typedef struct weft_attr {
        size_t      size;       /* sizeof(weft_attr), or 0 */
        const char *name;       /* copied, cut at 31 bytes; NULL: none */
        size_t      stack_size; /* 0: the run's; 16 KiB to 1 GiB */
        unsigned    flags;
} weft_attr;

/* Starts fn(arg) as a goroutine. Its id, which is positive and never reused in this run, or
 * -EINVAL, -ENOMEM, -ESHUTDOWN. */
int64_t weft_go(void (*fn)(void *), void *arg);
/* fn gets a private copy of arg, aligned to 16, until it returns. -E2BIG: more than 4096 bytes. */
int64_t weft_go_copy(void (*fn)(void *), const void *arg, size_t size);
/* May switch with WEFT_CHILD_FIRST. */
int64_t weft_go_with(const weft_attr *attr, void (*fn)(void *), void *arg);

/* Waits until that goroutine has ended; 0 also if it did long ago. -ESRCH: no such id was given;
 * -EDEADLK: the caller's own; -EPERM: not called by a goroutine. May switch. */
int weft_join(int64_t id);

/* Lets others run. On a thread that is not weft's: sched_yield. May switch. */
void weft_yield(void);

/* Ends the calling goroutine from any depth; destructors of its local values run. */
WEFT_NORETURN void weft_exit(void);

/* 1 for the first goroutine of a run, 0 outside goroutines. */
int64_t weft_id(void);
void    weft_name(const char *name);

/* For hot loops: yields if others should have their turn, and returns 1 then. May switch. */
int weft_checkpoint(void);

/* Goroutines alive. */
int64_t weft_count(void);

/* Goroutine-local values. destroy(value) runs at the goroutine's end unless the value is NULL. At
 * least 1024 keys; -EAGAIN: none left. */
typedef struct weft_key { unsigned id; } weft_key;
int   weft_key_new(weft_key *key, void (*destroy)(void *));
void  weft_key_free(weft_key key);
int   weft_local_set(weft_key key, void *value);
void *weft_local_get(weft_key key);

/* ---- Park ------------------------------------------------------------------------------------ */

/* One token per goroutine: park waits for it and takes it; unpark gives it, from any thread, and it
 * is kept if it comes first. Two are one. park: 0, -EPERM outside goroutines. unpark: 0, -ESRCH if
 * no goroutine with that id is alive. park may switch. */
int weft_park(void);
int weft_unpark(int64_t id);

/* ---- Looking inside -------------------------------------------------------------------------- */

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
        uint64_t handoffs, takes, preemptions;
        uint64_t parks;                 /* times a goroutine waited: all, and by reason below */
        uint64_t parks_park, parks_join;
        uint64_t stacks_reserved;
        /* How long goroutines waited between ready and running: entry i counts those of 2^i to
         * 2^(i+1) ns. One in 256 is timed, and every one that was woken by a foreign thread. */
        uint64_t ready_to_run[40];
} weft_stats_t;
/* 0; -EINVAL: no size; -ESHUTDOWN. */
int weft_stats(weft_stats_t *st);

/* Writes every goroutine to fd: id, name, state, why and how long it waits, where it was created,
 * and for those that wait the calls that led there. Stops the world while it looks. Any goroutine;
 * from elsewhere nothing is written. May switch. */
void weft_dump(int fd);

/* Stops the world and checks every invariant of the scheduler: 0, or the program aborts and says
 * what is wrong. -EPERM outside goroutines. May switch. */
int weft_check(void);

/* The version of the library that is running, "MAJOR.MINOR.PATCH": compare with the macros above,
 * which say what the program was compiled against. Any thread, any time. */
const char *weft_version(void);

#ifdef __cplusplus
}
#endif

#endif
