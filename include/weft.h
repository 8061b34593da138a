/* weft.h - goroutines for C.
 *
 * A program includes this header only. This header includes the headers in weft/. The comments use
 * these words:
 *
 * Runtime      The threads that run goroutines, and their data. A process has one at most.
 * Run          The time from the start of a runtime to its end.
 * Error        A call that can fail returns a negative error number, for example -ENOMEM. weft
 *              calls do not change errno. weft_getaddrinfo is the exception to both rules.
 * Time         int64_t nanoseconds, on CLOCK_MONOTONIC.
 * Processor    The right to run goroutines. A runtime has weft_procs(0) processors, and that many
 *              goroutines can run at the same time.
 * User code    All code that is not weft's: the program, its libraries, the C library.
 * Foreign thread   A thread that weft did not create. While a runtime runs, it may make every call,
 *              except where the comment says otherwise. A call that waits blocks this thread only.
 * -ESHUTDOWN   No runtime runs, or the runtime is ending. A call that needs a runtime then returns
 *              -ESHUTDOWN, or NULL if it returns a pointer. If it returns nothing, it does nothing.
 * May switch   The goroutine may return from the call on another thread. Calls without this note
 *              return on the thread on which they were made.
 * Cancellable  A scope can end the call with -ETIMEDOUT or -ECANCELED: see Scopes.
 * Fatal        The call ends the program, because the program has misused weft. stderr gets a line
 *              "weft: fatal: ..." and a list of all goroutines. Then weft calls abort().
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
/* The version as one number, for comparisons. 10203 is version 1.2.3. */
#define WEFT_VERSION \
        (WEFT_VERSION_MAJOR * 10000 + WEFT_VERSION_MINOR * 100 + WEFT_VERSION_PATCH)

/* Marks every function that the library exports. */
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
 * Compilers may compute the address of errno once per function. If a call of this function then
 * moves the goroutine to another thread, the function reads the errno of the old thread. weft's
 * macro errno computes the address at each use. The value of errno moves with the goroutine. A
 * program that defines WEFT_KEEP_ERRNO before the include keeps the C library's macro.
 *
 * weft_errno returns the address of errno on the calling thread. Works without a runtime, too. */
WEFT_API int *weft_errno(void);
#ifndef WEFT_KEEP_ERRNO
#include <errno.h>
#undef errno
#define errno (*weft_errno())
#endif

/* ---- Times ----------------------------------------------------------------------------------- */

/* n microseconds, milliseconds or seconds, in nanoseconds. */
#define WEFT_US(n)   ((int64_t)(n) * 1000)
#define WEFT_MS(n)   ((int64_t)(n) * 1000000)
#define WEFT_SEC(n)  ((int64_t)(n) * 1000000000)
#define WEFT_FOREVER INT64_MAX  /* as a timeout: no deadline; as a time to sleep: without end */

/* ---- Running --------------------------------------------------------------------------------- */

enum {
        WEFT_PREEMPT_DEFAULT = 0,
        WEFT_PREEMPT_OFF = 1,
        WEFT_PREEMPT_BLOCKED = 2,
        WEFT_PREEMPT_ALL = 3
};

/* Options of a runtime. A field that is 0 has its default. Environment variables can set defaults:
 * WEFT_PROCS, WEFT_MAX_THREADS, WEFT_STACK, and WEFT_DEBUG=preempt=off (or blocked, or all). weft
 * reads the struct during the call only. No field may be negative. */
typedef struct weft_config {
        size_t size;            /* sizeof(weft_config). 0 means that the struct has the fields of
                                 * the first release, which are these */
        int    procs;           /* processors, 1 to 1024. Default: WEFT_PROCS, else the number that
                                 * weft_procs(WEFT_PROCS_AUTO) finds */
        int    max_threads;     /* see weft_max_threads. Default: WEFT_MAX_THREADS, else 10000 */
        size_t stack_size;      /* bytes per goroutine, 16 KiB to 1 GiB. Default: WEFT_STACK, else
                                 * 64 KiB. Goroutine 1 of weft_run has at least 1 MiB */
        /* Which goroutines may lose their processor after about 10 ms without a weft call, if other
         * goroutines wait for a processor:
         *   WEFT_PREEMPT_ALL      (default) goroutines that block their thread, and goroutines that
         *                         compute. A signal stops the thread of a goroutine that computes
         *                         until the goroutine gets a processor again
         *   WEFT_PREEMPT_BLOCKED  only goroutines that block their thread
         *   WEFT_PREEMPT_OFF      none. Only a blocking region (weft_block_begin) gives up its
         *                         processor */
        int    preempt;
        int    preempt_signal;  /* the signal that stops threads that compute. Default: SIGURG. Not
                                 * SIGKILL, SIGSTOP, SIGSEGV or SIGBUS. If other code sends this
                                 * signal, the program's own handler runs */
        int    shutdown_ms;     /* how long the end of a run waits for threads that are in user
                                 * code or in the kernel. Default: 1000 */
        int    file_threads;    /* how many goroutines can wait for the disk at the same time: see
                                 * weft_pread. Default: 64 */
        int    idle_ms;         /* how long a thread without work lives. Default: 10000 */
} weft_config;

/* Runs fn(arg) as goroutine 1. weft_run returns when fn has returned. Goroutines that are still
 * alive are then dropped: they never run again, and weft frees their stacks. If fn ends by
 * weft_exit, weft_run returns when the last goroutine has ended. weft_run_with takes options; cfg
 * may be NULL. After weft_run has returned, the process may call it again.
 *
 * Returns
 *    0        the run is over, and its threads have ended. A thread that was in user code or in the
 *             kernel for longer than shutdown_ms is left behind: see weft_threads_left
 *   -EBUSY    a runtime runs already in this process, or the caller is a goroutine
 *   -EINVAL   fn is NULL, or an option is wrong. If an environment variable is wrong, a line on
 *             stderr names it
 *   -EAGAIN   the system refuses a thread, or memory because of RLIMIT_MEMLOCK
 *   -ENOMEM   no memory for the runtime
 *
 * Threads. Goroutine 1 starts on the calling thread, and weft_run returns on the calling thread.
 * This thread runs no other goroutine. It sleeps while goroutine 1 waits or runs on another thread.
 * There is one exception. If the system refuses further threads, the calling thread runs other
 * goroutines, too. weft_run then cannot return before such a goroutine waits, yields or ends.
 *
 * Deadlock. If every goroutine waits, and nothing is left that could wake one, the program ends
 * with "all goroutines are asleep - deadlock!". A timer, a descriptor, a signal channel or another
 * thread of the process could wake a goroutine. If only other threads are left, the program goes
 * on, and a line on stderr reports that all goroutines are asleep.
 *
 * Fork. A goroutine or a foreign thread may fork. The child must call exec or _exit. In the child a
 * weft call that needs the runtime is fatal. There is one exception. If no runtime ran at the fork,
 * and no other thread was in a weft call, the child may start its own runtime.
 *
 * Exit. Any thread may call exit() at any time. Other goroutines run until the process has ended.
 * pthread_exit in a goroutine is fatal. */
WEFT_API WEFT_MUST_CHECK int weft_run(void (*fn)(void *), void *arg);
WEFT_API WEFT_MUST_CHECK int weft_run_with(const weft_config *cfg, void (*fn)(void *), void *arg);

/* Starts a runtime in the background, for programs with their own main loop. cfg may be NULL. The
 * caller stays a foreign thread. All foreign threads can start goroutines, send, receive and wait.
 * There is no main goroutine: the goroutine that is started first has id 1, but its end does not
 * end the run. No deadlock is reported, and SIGQUIT keeps its action (see weft_signal).
 *
 * Returns
 *    0        the runtime runs
 *   -EBUSY, -EINVAL, -EAGAIN, -ENOMEM   as weft_run_with */
WEFT_API WEFT_MUST_CHECK int weft_start(const weft_config *cfg);
/* Ends the runtime that weft_start has started, and waits for its threads. A foreign thread must
 * make this call. Goroutines that are alive are dropped, as by weft_run. Calls in which foreign
 * threads wait return -ESHUTDOWN.
 *
 * Returns
 *    0           the runtime has ended. Threads may be left behind: see weft_threads_left
 *   -EBUSY       the caller is a goroutine
 *   -ESHUTDOWN   there is no runtime of weft_start, or another thread is stopping it. This call
 *                never stops a runtime of weft_run */
WEFT_API int weft_stop(void);

/* Returns the number of threads that the last run left behind when it ended. The number is 0 if all
 * its threads have ended, or if no run has ended yet. Works without a runtime, too.
 *
 * A thread is left behind if, at the end of a run, it stays in user code or in the kernel for
 * longer than shutdown_ms. A line on stderr then reports the number. Such a thread stops for ever
 * at its next weft call. With WEFT_PREEMPT_ALL it also stops if it computes in the program's code.
 * Its stack stays allocated. */
WEFT_API int weft_threads_left(void);

/* ---- Goroutines ------------------------------------------------------------------------------ */

enum { WEFT_CHILD_FIRST = 1 };  /* the new goroutine runs at once, and its parent later */

/* Options of a goroutine. weft reads the struct and copies the name during the call. */
typedef struct weft_attr {
        size_t      size;       /* sizeof(weft_attr). 0 means the fields of the first release */
        const char *name;       /* see weft_name. NULL means no name */
        size_t      stack_size; /* bytes, 16 KiB to 1 GiB. 0 means stack_size of weft_config */
        unsigned    flags;      /* 0 or WEFT_CHILD_FIRST */
} weft_attr;

/* Starts fn(arg) as a goroutine. The goroutine ends when fn returns.
 *
 * Returns
 *   > 0          the id of the goroutine. A run uses each id once
 *   -EINVAL      fn is NULL. weft_go_copy: arg is NULL, but size is not 0. weft_go_with: attr has a
 *                wrong stack size or flag
 *   -E2BIG       weft_go_copy: size is more than 4096
 *   -ENOMEM      no memory for the goroutine or its stack
 *   -ESHUTDOWN   no runtime runs */
WEFT_API WEFT_MUST_CHECK int64_t weft_go(void (*fn)(void *), void *arg);
/* As weft_go, but fn gets a copy of the size bytes at arg. The copy is aligned to 16 bytes, and
 * exists as long as fn runs. If arg is NULL, fn gets NULL. */
WEFT_API WEFT_MUST_CHECK int64_t weft_go_copy(void (*fn)(void *), const void *arg, size_t size);
/* As weft_go, with options; attr may be NULL. May switch with WEFT_CHILD_FIRST. */
WEFT_API WEFT_MUST_CHECK int64_t weft_go_with(const weft_attr *attr, void (*fn)(void *), void *arg);

/* Waits until goroutine id has ended. Any number of callers may wait for the same goroutine.
 * Cancellable. May switch.
 *
 * Returns
 *    0           the goroutine has ended, during this call or before it
 *   -ESRCH       no goroutine of this run has had this id
 *   -EDEADLK     id is the calling goroutine
 *   -ETIMEDOUT, -ECANCELED   a scope ended the call
 *   -ESHUTDOWN   no runtime runs */
WEFT_API int weft_join(int64_t id);

/* Lets other goroutines run. On a foreign thread, and inside a blocking region, it calls
 * sched_yield(2). May switch. */
WEFT_API void weft_yield(void);

/* Ends the calling goroutine from any depth of calls. The destroy functions of its local values run
 * (see weft_key_new). Fatal on a foreign thread. */
WEFT_NORETURN WEFT_API void weft_exit(void);

/* Returns the id of the calling goroutine, or 0 on a foreign thread. The first goroutine of a run
 * has id 1. */
WEFT_API int64_t weft_id(void);
/* Names the calling goroutine, for dumps and other reports. weft copies at most 31 bytes of the
 * name. Control characters and double quotes become question marks. NULL removes the name. Does
 * nothing on a foreign thread. */
WEFT_API void weft_name(const char *name);

/* For long loops without other weft calls. Yields if the goroutine has run for about 10 ms, or if
 * weft needs its processor. Returns 1 if it has yielded, else 0. Returns 0 on a foreign thread. May
 * switch. */
WEFT_API int weft_checkpoint(void);

/* Returns the number of goroutines that are alive, or 0 if no runtime runs. */
WEFT_API int64_t weft_count(void);

/* Local values. Each goroutine has its own value for each key. The value is NULL at first.
 *
 * When a goroutine ends, it calls destroy(value) for each value that is not NULL. It does not do
 * this if destroy is NULL or the key was freed. If a destroy function sets values again, they are
 * destroyed, too, in at most three further rounds. Goroutines that the end of a run drops call no
 * destroy function.
 *
 * Keys do not belong to a run: a key stays valid until weft_key_free. There can be 1024 keys or
 * more at the same time. weft_key_free ignores a key that was freed before.
 *
 * weft_key_new returns
 *    0        *key is a new key
 *   -EAGAIN   all keys are in use
 *   -EINVAL   key is NULL
 * weft_local_set returns
 *    0        the value is set
 *   -EPERM    the caller is a foreign thread
 *   -EINVAL   there is no such key, or it was freed
 *   -ENOMEM   no memory for the value
 * weft_local_get returns the value. It returns NULL on a foreign thread. The key must not have been
 * freed. */
typedef struct weft_key { unsigned id; } weft_key;
WEFT_API WEFT_MUST_CHECK int weft_key_new(weft_key *key, void (*destroy)(void *));
WEFT_API void weft_key_free(weft_key key);
WEFT_API WEFT_MUST_CHECK int weft_local_set(weft_key key, void *value);
WEFT_API void *weft_local_get(weft_key key);

/* ---- Park ------------------------------------------------------------------------------------ */

/* For libraries with callbacks. Each goroutine has a token or has none; at first it has none.
 * weft_park waits until the calling goroutine has a token, and takes the token away. weft_unpark
 * gives goroutine id a token. If this goroutine is not in weft_park, it keeps the token for its
 * next weft_park. If it already has a token, weft_unpark changes nothing. weft_park is cancellable
 * and may switch.
 *
 * weft_park returns
 *    0           the token was taken
 *   -EPERM       the caller is a foreign thread
 *   -ETIMEDOUT, -ECANCELED   a scope ended the call. The token, if there is one, was not taken
 *   -ESHUTDOWN   no runtime runs
 * weft_unpark returns
 *    0           goroutine id has a token now
 *   -ESRCH       no goroutine with this id is alive
 *   -ESHUTDOWN   no runtime runs */
WEFT_API int weft_park(void);
WEFT_API int weft_unpark(int64_t id);

/* ---- Blocking code ---------------------------------------------------------------------------
 *
 * For code that may block its thread: a system call, or a library with its own waits. The code
 * between weft_block_begin and weft_block_end is a blocking region. In the region the goroutine
 * stays on its thread, and other goroutines may get its processor. Code that blocks outside a
 * region loses its processor only after about 10 ms.
 *
 * Regions nest. A begin or an end costs a few nanoseconds. On a foreign thread both do nothing.
 * weft_block_end may switch. Fatal: a weft call that has to wait inside a region, an end without a
 * begin, and the end of the goroutine inside a region. Other weft calls are allowed inside. */
WEFT_API void weft_block_begin(void);
WEFT_API void weft_block_end(void);

/* Calls fn(arg) in a blocking region, and on the stack of the thread. This stack has at least
 * 1 MiB. For resolvers, regular expressions, and libraries that may need a large stack. A foreign
 * thread just calls fn(arg). Returns 0 after fn has returned, or -EINVAL if fn is NULL. May switch
 * after fn has returned. */
WEFT_API int weft_blocking(void (*fn)(void *), void *arg);

/* Between begin and end the goroutine keeps its processor, even while it computes or blocks. With
 * one processor, no other goroutine runs in between, unless the code makes a weft call that waits
 * or yields. Begin and end nest. On a foreign thread both do nothing.
 *
 * If other goroutines still wait for the processor after 100 ms, a line on stderr names the
 * goroutine. Fatal: an end without a begin, and the end of the goroutine before the last
 * weft_nopreempt_end. weft_nopreempt_begin may switch, if the goroutine has lost its processor
 * before. */
WEFT_API void weft_nopreempt_begin(void);
WEFT_API void weft_nopreempt_end(void);

/* ---- Processors and threads ------------------------------------------------------------------ */

/* Sets the number of processors. This is how many goroutines can run at the same time. n is
 *
 *   1 to 1024         the number from now on
 *   WEFT_PROCS_AUTO   as many as the CPUs that the process may use, and no more than the CPU quotas
 *                     of its cgroups allow. While goroutines run, weft notices a change of these
 *                     after about a second. This is the default: see procs in weft_config
 *   0                 no change: the call reads the number
 *
 * A change stops all goroutines for a moment. A change inside a blocking region is fatal. May
 * switch.
 *
 * Returns
 *   > 0          the number of processors before the call
 *   -EINVAL      n is another number
 *   -ENOMEM      no memory. The number has not changed
 *   -ESHUTDOWN   no runtime runs */
enum { WEFT_PROCS_AUTO = -1 };
WEFT_API int weft_procs(int n);

/* Sets how many threads the runtime may have, 2 to 1000000. If n is 0, the call only reads the
 * limit. It is fatal if the runtime later needs more threads than the limit.
 *
 * Returns
 *   > 0          the limit before the call
 *   -EINVAL      n is out of range, or the runtime has more than n threads already
 *   -ESHUTDOWN   no runtime runs */
WEFT_API int weft_max_threads(int n);

/* Locks the calling goroutine to its thread. From lock to unlock the goroutine runs on this thread
 * only, and this thread runs no other goroutine. For code that depends on its thread: thread-local
 * state of libraries, GUI calls, namespaces, priorities. While the goroutine waits, other
 * goroutines can use its processor. Locks nest.
 *
 * If a goroutine ends while it is locked, its thread ends, too. A program can use this if it cannot
 * restore the state of the thread. The thread that called weft_run does not end, but runs no
 * goroutine any more. Goroutine 1 stays on this thread if weft_thread_lock is its first weft call.
 *
 * Fatal: either call on a foreign thread, and an unlock without a lock. */
WEFT_API void weft_thread_lock(void);
WEFT_API void weft_thread_unlock(void);

/* ---- Scopes ----------------------------------------------------------------------------------
 *
 * A scope gives a deadline to all calls that are made in it, and can cancel them. These calls are
 * in the scope:
 *   - calls that the opener makes between open and close. The opener is the goroutine or foreign
 *     thread that opened the scope
 *   - calls of the children. A child is a goroutine that weft_scope_go started in the scope
 *   - calls in every scope that the opener or a child opens inside this scope
 *
 * Once the deadline has passed, every cancellable call in the scope returns -ETIMEDOUT. Once the
 * scope was cancelled, every cancellable call in the scope returns -ECANCELED. If both are true,
 * the earlier event counts. This holds for calls that wait already, for all later calls, and for
 * calls that would not have to wait. If there is no memory for a timer, a call that has to wait
 * returns -ETIMEDOUT before the deadline. Calls that are not cancellable, and code between calls,
 * are not interrupted. The comment of a call says if the call is cancellable. */
typedef struct weft_scope { uint64_t opaque[32]; } weft_scope;

/* Opens scope s. Its deadline is timeout nanoseconds from now. If timeout is WEFT_FOREVER, s has no
 * deadline. If timeout is 0 or negative, the deadline has passed already. *s need not be
 * initialised, and must stay in place until s is closed. The opener must close s with
 * weft_scope_close. Scopes nest. The opener must close them in reverse order. Fatal: the end of a
 * goroutine or thread that has an open scope, and a close in another order.
 *
 * A foreign thread can open scopes while a runtime runs. The end of the run cancels its open
 * scopes. The thread must still close them, and can do this after the run.
 *
 * Returns
 *    0           s is open
 *   -EINVAL      s is NULL
 *   -ESHUTDOWN   no runtime runs */
WEFT_API WEFT_MUST_CHECK int weft_scope_open(weft_scope *s, int64_t timeout);
/* Starts fn(arg) as a goroutine that is a child of s. s must be open, and the caller must be in s
 * or in a scope inside s. Otherwise the call is fatal. The first child that returns a value other
 * than 0 cancels s. A child that ends by weft_exit counts as a child that returned 0. A goroutine
 * that weft_go starts is in no scope.
 *
 * Returns
 *   > 0          the id of the goroutine
 *   -ETIMEDOUT   the deadline of s, or of a scope around s, has passed
 *   -ECANCELED   s, or a scope around s, was cancelled
 *   -EINVAL      s or fn is NULL
 *   -ENOMEM      no memory for the goroutine or its stack
 *   -ESHUTDOWN   no runtime runs */
WEFT_API WEFT_MUST_CHECK int64_t weft_scope_go(weft_scope *s, int (*fn)(void *), void *arg);
/* Cancels s. Any goroutine or thread may make this call, more than once, while s is open. The call
 * is fatal if s is not open. It does nothing if s is NULL. */
WEFT_API void weft_scope_cancel(weft_scope *s);
/* Waits until every child of s has ended. Then closes s. The call is fatal if the caller is not the
 * opener, or if s is not open. Not cancellable. May switch.
 *
 * Returns
 *    0           every child has returned 0
 *   other        the first value other than 0 that a child has returned
 *   -EINVAL      s is NULL
 *   -ESHUTDOWN   on a foreign thread only: the run ended before all children did, and s is closed.
 *                Such children never run again, except on threads that were left behind (see
 *                weft_threads_left). Or no runtime runs, and this thread has no open scope
 * A child may itself return -EINVAL or -ESHUTDOWN. The call does not report a deadline that has
 * passed: see weft_scope_status. */
WEFT_API int weft_scope_close(weft_scope *s);
/* Tells what has happened to s itself. Scopes around s do not count. After the close the call
 * returns the status that s had at the close. Fatal if s was never opened.
 *
 * Returns
 *    0           s was not cancelled, and its deadline has not passed
 *   -ETIMEDOUT   the deadline of s passed first
 *   -ECANCELED   s was cancelled first
 *   -EINVAL      s is NULL
 *   -ESHUTDOWN   no runtime runs */
WEFT_API int weft_scope_status(const weft_scope *s);
/* Tells if the scopes of the caller would end its next cancellable call.
 *
 * Returns
 *    0           no scope would end the call
 *   -ETIMEDOUT, -ECANCELED   the call would return this error
 *   -ESHUTDOWN   no runtime runs */
WEFT_API int weft_cancelled(void);
/* A shield protects cleanup code that has to wait. Between begin and end, the scopes that were open
 * at the begin do not affect the calls of this goroutine or thread. A scope that is opened after
 * the begin does affect them. Shields nest. Fatal: an end without a begin in the same scope. */
WEFT_API void weft_shield_begin(void);
WEFT_API void weft_shield_end(void);

/* ---- Version --------------------------------------------------------------------------------- */

/* Returns the version of the library at run time, as "MAJOR.MINOR.PATCH". The caller must not free
 * or change the string. The macros WEFT_VERSION_... tell the version of the header. Works without a
 * runtime, too. */
WEFT_API const char *weft_version(void);
/* Returns the version of the library at run time as one number, in the form of WEFT_VERSION. Works
 * without a runtime, too. */
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
