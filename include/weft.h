/* weft.h - goroutines for C.
 *
 * The only header that a program includes; it includes the headers in weft/. The comments use these
 * words:
 *
 * Error        A call that can fail returns a negative error number, for example -ENOMEM. No call
 *              reports an error through errno.
 * Time         int64_t nanoseconds, on CLOCK_MONOTONIC.
 * Processor    The right to run goroutines. There are weft_procs(0) of them, and that many
 *              goroutines can run at the same time.
 * Foreign thread   A thread that weft did not create. It may make every call while a runtime runs,
 *              except where the comment says otherwise. A call that waits blocks this thread only.
 * -ESHUTDOWN   No runtime runs, or it is ending. Every call that needs one can return it, or NULL.
 * May switch   The goroutine may return from the call on another thread. Calls without this note
 *              return on the thread on which they were made.
 * Cancellable  The call returns -ETIMEDOUT or -ECANCELED once a scope tells it to: see Scopes.
 * Fatal        Misuse ends the program: a line "weft: fatal: ..." on stderr, a list of all
 *              goroutines, then abort().
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
/* One number, to compare: 10203 is 1.2.3. */
#define WEFT_VERSION \
        (WEFT_VERSION_MAJOR * 10000 + WEFT_VERSION_MINOR * 100 + WEFT_VERSION_PATCH)

/* Every function of the library. */
#define WEFT_API        __attribute__((visibility("default")))
/* The compiler warns if a program ignores the result. */
#define WEFT_MUST_CHECK __attribute__((warn_unused_result))

#ifdef __cplusplus
#define WEFT_NORETURN [[noreturn]]
extern "C" {
#else
#define WEFT_NORETURN _Noreturn
#endif

/* ---- errno ------------------------------------------------------------------------------------
 *
 * Compilers compute the address of errno once per function. A goroutine that has moved to another
 * thread since then would read the errno of its old thread. This macro computes the address at each
 * use, and the runtime carries the value along with the goroutine. Define WEFT_KEEP_ERRNO before
 * the include to keep the C library's macro. */
WEFT_API int *weft_errno(void);
#ifndef WEFT_KEEP_ERRNO
#include <errno.h>
#undef errno
#define errno (*weft_errno())
#endif

/* ---- Times ----------------------------------------------------------------------------------- */

#define WEFT_US(n)   ((int64_t)(n) * 1000)
#define WEFT_MS(n)   ((int64_t)(n) * 1000000)
#define WEFT_SEC(n)  ((int64_t)(n) * 1000000000)
#define WEFT_FOREVER INT64_MAX

/* ---- Running --------------------------------------------------------------------------------- */

enum {
        WEFT_PREEMPT_DEFAULT = 0,
        WEFT_PREEMPT_OFF = 1,
        WEFT_PREEMPT_BLOCKED = 2,
        WEFT_PREEMPT_ALL = 3
};

/* Options of a runtime. 0 in a field means its default. A field that is set takes precedence over
 * the environment variable, and the variable over what the runtime detects. */
typedef struct weft_config {
        size_t size;            /* sizeof(weft_config); 0: the fields of the first release */
        int    procs;           /* processors, 1 to 1024. 0: WEFT_PROCS, else as many as
                                 * weft_procs(WEFT_PROCS_AUTO) finds */
        int    max_threads;     /* see weft_max_threads. 0: WEFT_MAX_THREADS, else 10000 */
        size_t stack_size;      /* bytes per goroutine, 16 KiB to 1 GiB. 0: WEFT_STACK, else
                                 * 64 KiB. Goroutine 1 gets at least 1 MiB */
        /* Which goroutines can lose their processor to waiting goroutines after about 10 ms without
         * a weft call:
         *   WEFT_PREEMPT_ALL      (default) goroutines that block their thread or that compute. The
         *                         thread of a goroutine that computes is stopped until it is its
         *                         turn again
         *   WEFT_PREEMPT_BLOCKED  only goroutines that block their thread
         *   WEFT_PREEMPT_OFF      neither. Only a blocking region (weft_block_begin) gives up its
         *                         processor */
        int    preempt;
        int    preempt_signal;  /* weft sends it to stop threads that compute. 0: SIGURG. If
                                 * it comes from elsewhere, the program's own handler runs */
        int    shutdown_ms;     /* how long the end of a run waits for threads that are in
                                 * user code or in the kernel. 0: 1000 */
        int    file_threads;    /* goroutines that can wait for the disk at the same time, see
                                 * weft_pread. 0: 64 */
        int    idle_ms;         /* a thread without work ends after this time. 0: 10000 */
} weft_config;

/* Runs fn(arg) as goroutine 1 and returns when fn returns. Goroutines that are alive then are
 * dropped: they never run again. If fn ends by weft_exit, weft_run returns when the last goroutine
 * has ended. weft_run_with takes options (cfg; NULL: the defaults).
 *
 * Returns
 *    0        the run is over, and its threads have ended. A thread that was in user code or in the
 *             kernel for longer than shutdown_ms is left behind: see weft_threads_left
 *   -EBUSY    a runtime runs already in this process
 *   -EINVAL   no fn, or a wrong option; a wrong environment variable is named on stderr
 *   -EAGAIN   the system refuses a thread
 *   -ENOMEM
 *
 * Threads. Goroutine 1 starts on the calling thread, and weft_run returns on it. This thread runs
 * no other goroutine; while goroutine 1 runs elsewhere, it sleeps. There is one exception: if the
 * system refuses further threads, it runs other goroutines too, and weft_run cannot return before
 * such a goroutine gives the thread back.
 *
 * Deadlock. If every goroutine waits and nothing is left that could wake one (a timer, a
 * descriptor, a signal channel, another thread of the process), the program ends with "all
 * goroutines are asleep - deadlock!". If only other threads are left, the program goes on, and a
 * line on stderr says so.
 *
 * Fork. A goroutine or a foreign thread may fork. The child must exec or _exit; a weft call that
 * needs the runtime is fatal in it. A child that was forked while no runtime ran, and while no
 * other thread was in a weft call, may start its own runtime.
 *
 * Exit. exit() is allowed at any time; other goroutines run until the process has ended.
 * pthread_exit in a goroutine is fatal. */
WEFT_API WEFT_MUST_CHECK int weft_run(void (*fn)(void *), void *arg);
WEFT_API WEFT_MUST_CHECK int weft_run_with(const weft_config *cfg, void (*fn)(void *), void *arg);

/* Starts a runtime in the background, for programs with their own main loop. The caller stays a
 * foreign thread: it and all other threads can start goroutines, send, receive and wait. There is
 * no main goroutine; the goroutine that is started first has id 1, and its end ends nothing else.
 * No deadlock is reported. Returns what weft_run_with returns (0 once the runtime runs). */
WEFT_API WEFT_MUST_CHECK int weft_start(const weft_config *cfg);
/* Ends the runtime that weft_start started, as weft_run does when fn returns: goroutines that are
 * alive never run again, and calls in which foreign threads wait return -ESHUTDOWN. Called by a
 * foreign thread.
 *
 * Returns
 *    0           the runtime has ended; threads may be left behind: see weft_threads_left
 *   -EBUSY       the caller is a goroutine
 *   -ESHUTDOWN   weft_start has started no runtime, or another thread is stopping it. A runtime of
 *                weft_run is never stopped by this call */
WEFT_API int weft_stop(void);

/* The number of threads that the last run has left behind. If a thread is in user code or in the
 * kernel for longer than shutdown_ms at the end of a run, the run ends without it, and a line on
 * stderr says how many there are. Such a thread stops for ever at its next weft call; with
 * WEFT_PREEMPT_ALL also when it computes in its own code. Its stack stays allocated.
 *
 * Returns 0 if every thread of that run has ended, or if no run has ended yet. Works without a
 * runtime, too. */
WEFT_API int weft_threads_left(void);

/* ---- Goroutines ------------------------------------------------------------------------------ */

enum { WEFT_CHILD_FIRST = 1 };  /* the new goroutine runs at once, and its parent later */

typedef struct weft_attr {
        size_t      size;       /* sizeof(weft_attr); 0: the fields of the first release */
        const char *name;       /* see weft_name; NULL: none */
        size_t      stack_size; /* 16 KiB to 1 GiB. 0: that of weft_config */
        unsigned    flags;
} weft_attr;

/* Starts fn(arg) as a goroutine.
 *
 * Returns
 *   > 0          its id. Ids are not used twice in one run
 *   -EINVAL      no fn; weft_go_with: a wrong stack size or flag
 *   -E2BIG       weft_go_copy: more than 4096 bytes
 *   -ENOMEM      no memory for a goroutine or its stack
 *   -ESHUTDOWN   no runtime runs */
WEFT_API WEFT_MUST_CHECK int64_t weft_go(void (*fn)(void *), void *arg);
/* The same, but fn gets a copy of the size bytes at arg. The copy is aligned to 16 bytes and exists
 * until fn returns. */
WEFT_API WEFT_MUST_CHECK int64_t weft_go_copy(void (*fn)(void *), const void *arg, size_t size);
/* The same with a name, a stack size or flags (attr; NULL: none). May switch with
 * WEFT_CHILD_FIRST. */
WEFT_API WEFT_MUST_CHECK int64_t weft_go_with(const weft_attr *attr, void (*fn)(void *), void *arg);

/* Waits until goroutine id has ended. Cancellable. May switch.
 *
 * Returns
 *    0           it has ended, now or at any time before
 *   -ESRCH       no goroutine of this run had this id
 *   -EDEADLK     it is the caller
 *   -ETIMEDOUT, -ECANCELED   a scope ended the wait
 *   -ESHUTDOWN   no runtime runs */
WEFT_API int weft_join(int64_t id);

/* Lets other goroutines run. On a foreign thread it is sched_yield(2). May switch. */
WEFT_API void weft_yield(void);

/* Ends the calling goroutine from any depth of calls. The destructors of its local values run.
 * Fatal on a foreign thread. */
WEFT_NORETURN WEFT_API void weft_exit(void);

/* The id of the calling goroutine. It is 1 for the first goroutine of a run and 0 on a foreign
 * thread. */
WEFT_API int64_t weft_id(void);
/* Names the calling goroutine for dumps and other reports. The name is copied and cut to 31 bytes.
 * Control characters and double quotes become question marks. NULL removes the name. */
WEFT_API void weft_name(const char *name);

/* Yields if other goroutines should have a turn: for long loops without other weft calls. Returns 1
 * if it has yielded, else 0. May switch. */
WEFT_API int weft_checkpoint(void);

/* The number of goroutines that are alive. 0 if no runtime runs. */
WEFT_API int64_t weft_count(void);

/* Local values: each goroutine has its own value, NULL at first, for each key. At the end of a
 * goroutine destroy(value) is called for each value that is not NULL, unless destroy is NULL or the
 * key has been freed. Keys do not belong to a run. There are at least 1024.
 *
 * weft_key_new returns
 *    0        *key is a new key
 *   -EAGAIN   all keys are in use
 *   -EINVAL   key is NULL
 * weft_local_set returns
 *    0        the value is set
 *   -EPERM    the caller is a foreign thread
 *   -EINVAL   there is no such key
 *   -ENOMEM
 * weft_local_get returns NULL also on a foreign thread. */
typedef struct weft_key { unsigned id; } weft_key;
WEFT_API WEFT_MUST_CHECK int weft_key_new(weft_key *key, void (*destroy)(void *));
WEFT_API void weft_key_free(weft_key key);
WEFT_API WEFT_MUST_CHECK int weft_local_set(weft_key key, void *value);
WEFT_API void *weft_local_get(weft_key key);

/* ---- Park ------------------------------------------------------------------------------------ */

/* For libraries with callbacks. Each goroutine can have one token. weft_park waits until the caller
 * has its token and takes it. weft_unpark gives goroutine id its token; if the goroutine is not
 * parked, it keeps the token for its next weft_park. A second token before that has no effect.
 * weft_park is cancellable and may switch.
 *
 * weft_park returns
 *    0           it has taken the token
 *   -EPERM       the caller is a foreign thread
 *   -ETIMEDOUT, -ECANCELED   a scope ended the wait; the token, if there is one, is not taken
 *   -ESHUTDOWN   no runtime runs
 * weft_unpark returns
 *    0           goroutine id has its token
 *   -ESRCH       no goroutine with this id is alive
 *   -ESHUTDOWN   no runtime runs */
WEFT_API int weft_park(void);
WEFT_API int weft_unpark(int64_t id);

/* ---- Blocking code ---------------------------------------------------------------------------
 *
 * For code that may block its thread: a system call, or a library with its own waits. Between begin
 * and end, in a blocking region, other goroutines can have the processor, and the goroutine stays
 * on its thread. A weft call that waits is fatal inside a region; other weft calls are allowed.
 * Regions nest and cost a few nanoseconds. On a foreign thread they do nothing. Code that blocks
 * outside a region loses its processor only after about 10 ms. weft_block_end may switch. */
WEFT_API void weft_block_begin(void);
WEFT_API void weft_block_end(void);

/* Calls fn(arg) in a blocking region and on the thread's own stack, which has at least 1 MiB: for
 * resolvers, regular expressions and libraries with unknown needs. Returns 0 once fn has
 * returned, or -EINVAL if fn is NULL. May switch after fn. */
WEFT_API int weft_blocking(void (*fn)(void *), void *arg);

/* Between begin and end the goroutine keeps its processor, even while it computes or blocks. With
 * one processor no other goroutine runs in between, unless the code makes a weft call that waits or
 * yields. Begin and end nest. If other goroutines have to wait after 100 ms, a line on stderr names
 * the goroutine. To end the goroutine before the last end is fatal. On a foreign thread both do
 * nothing. May switch: weft_nopreempt_begin, if the goroutine has already lost its processor. */
WEFT_API void weft_nopreempt_begin(void);
WEFT_API void weft_nopreempt_end(void);

/* ---- Processors and threads ------------------------------------------------------------------ */

/* Sets the number of processors: how many goroutines can run at the same time.
 *
 *   1 to 1024         that number from now on
 *   WEFT_PROCS_AUTO   the CPUs that the process may use, limited by the CPU quotas of its cgroups.
 *                     While goroutines run, a change is noticed after about a second. This is the
 *                     default if neither weft_config nor WEFT_PROCS names a number
 *   0                 changes nothing, to read the number
 *
 * A change stops all goroutines for a moment and is fatal inside a blocking region. May switch.
 *
 * Returns
 *   > 0          the number before the call
 *   -EINVAL      n is out of range
 *   -ENOMEM      nothing has changed
 *   -ESHUTDOWN   no runtime runs */
enum { WEFT_PROCS_AUTO = -1 };
WEFT_API int weft_procs(int n);

/* Sets how many threads the runtime may have, 2 to 1000000; 0 changes nothing. If the runtime needs
 * one more, that is fatal.
 *
 * Returns
 *   > 0          the limit before the call
 *   -EINVAL      n is out of range, or the runtime has more threads already
 *   -ESHUTDOWN   no runtime runs */
WEFT_API int weft_max_threads(int n);

/* Locks the calling goroutine to its thread: from lock to unlock it runs on this thread only, and
 * no other goroutine does. For code that depends on its thread: thread-local state of libraries,
 * GUI calls, namespaces, priorities. While the goroutine waits, its processor is free for others.
 * Locks nest.
 *
 * If a goroutine ends while it is locked, its thread ends too. So leave a thread locked if its
 * state cannot be restored. The thread that called weft_run does not end, but runs no goroutine any
 * more. Goroutine 1 stays on the thread of weft_run if weft_thread_lock is its first call. Fatal: a
 * call on a foreign thread, and an unlock without a lock. */
WEFT_API void weft_thread_lock(void);
WEFT_API void weft_thread_unlock(void);

/* ---- Scopes ----------------------------------------------------------------------------------
 *
 * A scope gives a deadline and a way to cancel to all calls made in it. A call is in the scope if
 * it is made between open and close by the goroutine or thread that opened the scope, or by a
 * child: a goroutine that weft_scope_go started in the scope or in a scope opened within it.
 *
 * Once the deadline has passed, every cancellable call in the scope returns -ETIMEDOUT. Once the
 * scope was cancelled, it returns -ECANCELED. If both are true, the earlier one counts. This holds
 * for a call that waits, for every later call, and for a call that would not have to wait. Calls
 * that are not cancellable, and code between calls, are not interrupted. The comment of a call says
 * whether it is cancellable. */
typedef struct weft_scope { uint64_t opaque[32]; } weft_scope;

/* Opens a scope with a deadline: the timeout from now. WEFT_FOREVER: no deadline; <= 0: a deadline
 * that has passed already. *s need not be initialised. The same goroutine or thread must close it
 * with weft_scope_close. Scopes nest and are closed in reverse order. It is fatal to end with an
 * open scope, and to close in another order.
 * A foreign thread can open scopes while a runtime runs. The end of the run cancels its open
 * scopes; it can still close them afterwards.
 *
 * Returns
 *    0           s is open
 *   -EINVAL      s is NULL
 *   -ESHUTDOWN   no runtime runs */
WEFT_API WEFT_MUST_CHECK int weft_scope_open(weft_scope *s, int64_t timeout);
/* Starts fn(arg) as a goroutine in s, a child of s. The caller must be in s: it has opened s, or is
 * a child. The first child that returns a value other than 0 cancels s. A child that ends by
 * weft_exit counts as returning 0. A goroutine that plain weft_go starts is in no scope.
 *
 * Returns
 *   > 0                      the id
 *   -ETIMEDOUT, -ECANCELED   the deadline has passed, or s was cancelled
 *   -EINVAL, -ENOMEM, -ESHUTDOWN   as weft_go */
WEFT_API WEFT_MUST_CHECK int64_t weft_scope_go(weft_scope *s, int (*fn)(void *), void *arg);
/* Cancels s. Any goroutine or thread may call it while s is open; otherwise it is fatal. */
WEFT_API void weft_scope_cancel(weft_scope *s);
/* Waits until every child of s has ended and closes s. Not cancellable. May switch.
 *
 * Returns
 *    0           every child has returned 0
 *   other        the first value other than 0 that a child has returned
 *   -EINVAL      s is NULL
 *   -ESHUTDOWN   on a foreign thread only: the run has ended before all children had. s is closed.
 *                The children that were left never run again, except on threads that were left
 *                behind: see weft_threads_left */
WEFT_API int weft_scope_close(weft_scope *s);
/* Returns what has happened to s itself, regardless of the scopes around it: 0, -ETIMEDOUT or
 * -ECANCELED. After the close it returns the status at the close. -EINVAL: s is NULL. */
WEFT_API int weft_scope_status(const weft_scope *s);
/* Returns what the next cancellable call would return because of a scope: 0, -ETIMEDOUT or
 * -ECANCELED. */
WEFT_API int weft_cancelled(void);
/* A shield protects cleanup code that has to wait. Between begin and end, the scopes that were open
 * at the begin do not affect the calls of this goroutine or thread. A scope that is opened in
 * between does. Shields nest. An end without a begin in the innermost scope is fatal. */
WEFT_API void weft_shield_begin(void);
WEFT_API void weft_shield_end(void);

/* ---- Version --------------------------------------------------------------------------------- */

/* The version of the library at run time, "MAJOR.MINOR.PATCH". The macros above say which version
 * the program was compiled with. Works without a runtime, too. */
WEFT_API const char *weft_version(void);
/* The same as a number, as in WEFT_VERSION. */
WEFT_API int weft_version_number(void);

#ifdef __cplusplus
}
#endif

#include "weft/chan.h"          /* weft_chan_send, weft_chan_recv, weft_select */
#include "weft/sync.h"          /* weft_mutex_lock, weft_cond_wait, weft_wg_wait */
#include "weft/time.h"          /* weft_sleep, weft_timer_new, weft_tick, weft_signal */
#include "weft/debug.h"         /* weft_stats, weft_dump, weft_check */
#include "weft/io.h"            /* weft_read, weft_write, weft_listen, weft_dial, weft_close */
#include "weft/typed.h"         /* WEFT_CHAN(int), weft_make, weft_send, weft_recv */

#endif
