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
#include <sys/select.h>         /* sigset_t, without all that <signal.h> brings along */

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

/* Zero in any field means its default; what is set here wins over the environment. */
typedef struct weft_config {
        size_t size;            /* sizeof(weft_config); 0: the fields of the first release */
        int    procs;           /* 0: WEFT_PROCS, else as many CPUs as there are, see weft_procs;
                                 * 1 to 1024 */
        int    max_threads;     /* 0: WEFT_MAX_THREADS, else 10000 */
        size_t stack_size;      /* 0: WEFT_STACK, else 64 KiB; goroutine 1 gets at least 1 MiB */
        int    preempt;         /* who loses the right to run to those who wait for it, after some
                                 * 10 ms without a call of weft: WEFT_PREEMPT_BLOCKED, whose
                                 * thread is blocked; WEFT_PREEMPT_ALL (the default), those that
                                 * compute as well, and their threads are stopped until it is their
                                 * turn; WEFT_PREEMPT_OFF, only blocking regions */
        int    preempt_signal;  /* 0: SIGURG; stops threads that compute without a processor. What
                                 * else comes with that signal goes to the program's own handler */
        int    shutdown_ms;     /* 0: 1000; how long the end waits for threads in user code */
        int    file_threads;    /* goroutines that use regular files at once; 0: 64 */
        int    idle_ms;         /* 0: 10000; threads without work end after this */
} weft_config;

/* Runs fn(arg) as goroutine 1, which starts on the calling thread, and returns there when fn has
 * returned; goroutines that are left then never run again. If fn ends by weft_exit, returns when
 * all others have ended. The calling thread runs no other goroutine, and sleeps once goroutine 1
 * has gone on elsewhere; only where no other thread can be had does it run any, and then its return
 * has to wait for that one. 0, or the number of threads that did not come back within shutdown_ms
 * and stay behind; -EBUSY: a runtime runs already; -EINVAL: bad configuration, named on stderr
 * where it came from the environment; -EAGAIN, -ENOMEM.
 * If all goroutines wait, and no timer and no other thread of the process is left to wake one, the
 * program ends with "all goroutines are asleep - deadlock!"; with other threads a line says so.
 *
 * The program may fork and exec, or _exit, from goroutines and other threads; any call of weft in
 * the child that needs the run is misuse. A child forked while no run is on and no other thread is
 * in a call of weft may have its own.
 * exit() is fine at any time: the other goroutines go on until the process is gone. pthread_exit
 * in a goroutine is misuse. */
int weft_run(void (*fn)(void *), void *arg);
int weft_run_with(const weft_config *cfg, void (*fn)(void *), void *arg);

/* For programs that have a main loop of their own: starts the runtime in the background. The caller
 * stays what it is, a thread of the program, and all such threads start goroutines, send, receive
 * and wait. With nobody there to run the runtime sleeps. cfg may be NULL. 0, or as weft_run_with.
 * Goroutine 1 is here the one that was started first, and its end is no other than theirs. */
int weft_start(const weft_config *cfg);
/* Ends that runtime, from any thread that is not weft's, as weft_run does when fn has returned:
 * goroutines that are left never run again, calls of threads that wait return -ESHUTDOWN. 0, or the
 * number of threads that stay behind; -EBUSY from a goroutine; -ESHUTDOWN: weft_start has started
 * none, or another thread stops it already. What weft_run runs is not stopped by it. */
int weft_stop(void);

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
 * -EDEADLK: the caller's own. Cancellable. May switch. */
int weft_join(int64_t id);

/* Lets others run. On a thread that is not weft's: sched_yield. May switch. */
void weft_yield(void);

/* Ends the calling goroutine from any depth; destructors of its local values run. */
WEFT_NORETURN void weft_exit(void);

/* 1 for the first goroutine of a run, 0 outside goroutines. */
int64_t weft_id(void);
/* For reports: at most 31 bytes; control characters and double quotes become question marks. */
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
 * is kept if it comes first. Two are one. park: 0, -EPERM outside goroutines, or -ECANCELED or
 * -ETIMEDOUT, which leave the token alone. unpark: 0, -ESRCH if no goroutine with that id is alive.
 * park is cancellable and may switch. */
int weft_park(void);
int weft_unpark(int64_t id);

/* ---- Blocking code ---------------------------------------------------------------------------
 *
 * Around code that may block its thread: a system call, a library that waits in its own way. While
 * it lasts the other goroutines go on. Between the two the goroutine stays on its thread; a weft
 * call that waits is misuse, one that need not is fine. They nest, and cost a few nanoseconds. Code
 * that blocks without them is noticed too, after some 10 ms. May switch: the end. */
void weft_block_begin(void);
void weft_block_end(void);

/* fn(arg) in a blocking region, and on the thread's own stack, which has at least 1 MiB: for
 * resolvers, regular expressions and libraries that one does not know. 0, or -EINVAL: no fn. May
 * switch. */
int weft_blocking(void (*fn)(void *), void *arg);

/* Between the two, which nest, the goroutine keeps its processor though it computes or blocks: for
 * code that relies on nobody else running meanwhile, with procs 1. A call that waits or yields lets
 * others run as ever. After 100 ms a line on stderr says who holds up the others. May switch: the
 * begin, if the processor was lost before. */
void weft_nopreempt_begin(void);
void weft_nopreempt_end(void);

/* ---- Processors and threads ------------------------------------------------------------------ */

/* How many goroutines run at the same time. Where nobody has said a number, neither here nor in
 * weft_config nor in WEFT_PROCS, it follows the CPUs that the process may use and the CPU limits of
 * its cgroup, within a second or so while goroutines run. n: 1 to 1024, which ends the following,
 * also if it is the same number; 0 changes nothing; WEFT_PROCS_AUTO follows again, from now on. The
 * number before, or -EINVAL, -ENOMEM, -ESHUTDOWN, and nothing has changed. Stops the world. Any
 * thread; not in a blocking region. May switch. */
enum { WEFT_PROCS_AUTO = -1 };
int weft_procs(int n);

/* The most threads that weft may have, 2 to 1000000: one more ends the program. 0 changes nothing.
 * The limit before, or -EINVAL, also if there are more already; -ESHUTDOWN. Any thread. */
int weft_max_threads(int n);

/* For code that depends on the thread that it runs on: thread-local state of libraries, GUI calls,
 * namespaces, priorities. From lock to unlock the calling goroutine runs on this thread, and no
 * other goroutine does; while it waits, others have its turn. They nest. A goroutine that ends
 * while it is locked takes its thread with it, so one who cannot undo what he did to the thread
 * leaves it locked; the thread that called weft_run stays, and runs nothing more. As the first call
 * of fn, weft_lock_thread keeps goroutine 1 on that thread. To call either outside a goroutine, or
 * unlock without lock, is misuse. */
void weft_lock_thread(void);
void weft_unlock_thread(void);

/* ---- Threads of the program -------------------------------------------------------------------
 *
 * Any thread may call weft while a runtime runs; a call that waits blocks that thread only. Nothing
 * has to be done before. One that calls often may attach itself: then its calls write to no memory
 * that other threads use to tell that they are here. Attached is once and for all runs, until
 * weft_detach or the end of the thread; the end of a run does not wait for an attached thread that
 * is in no call. A second attach changes nothing, and neither does a call on a goroutine. */
void weft_attach(void);
void weft_detach(void);

/* ---- Scopes ----------------------------------------------------------------------------------
 *
 * Between open and close every cancellable call of the opener, of the goroutines that it starts in
 * the scope and of scopes within returns -ETIMEDOUT once the deadline has passed and -ECANCELED
 * once the scope was cancelled, also if it could have gone on at once; whichever came first counts.
 * Cancellable are the calls whose comment says so. */
typedef struct weft_scope { uint64_t opaque[32]; } weft_scope;

/* s, which need not be initialised, is open until weft_scope_close, which the same goroutine or
 * thread calls; scopes nest, and whoever opened them closes all before it ends. timeout <= 0:
 * already past; WEFT_FOREVER: none. Threads that are not weft's open scopes while a run is on, else
 * -ESHUTDOWN. The end of the run cancels those that are still open; they can be closed later. */
int weft_scope_open(weft_scope *s, int64_t timeout);
/* Starts fn(arg) as a goroutine in s. Called inside it: by the opener, or by a goroutine started
 * there. The first result of a child that is not 0 cancels s; weft_exit counts as 0. The id, or
 * -ECANCELED, -ETIMEDOUT, and as weft_go. What a plain weft_go starts is in no scope. */
int64_t weft_scope_go(weft_scope *s, int (*fn)(void *), void *arg);
/* From any thread while s is open. */
void weft_scope_cancel(weft_scope *s);
/* Waits for every child; the first result of one that was not 0, else 0. Not cancellable. May
 * switch. -ESHUTDOWN, on a thread that is not weft's: the run has ended and dropped some of them,
 * which do not run any more unless weft_run left their threads behind; s is closed all the same. */
int weft_scope_close(weft_scope *s);
/* 0, -ETIMEDOUT or -ECANCELED: what has struck s itself, not one around it. After the close: what
 * had struck it by then. */
int weft_scope_status(const weft_scope *s);
/* 0, or what the next cancellable call would return. */
int weft_cancelled(void);
/* For cleanup that has to wait: until the end of the shield, the scopes that were open at its
 * begin cancel nothing. A scope opened in between counts. Shields nest. */
void weft_shield_begin(void);
void weft_shield_end(void);

/* ---- Channels --------------------------------------------------------------------------------
 *
 * Whoever calls on a channel holds a reference for the whole call. What no reference holds any more
 * is freed, and at the end of the run all of them are. Waiters are served in the order of coming. A
 * NULL channel is never ready: send and receive on it wait for ever. */
typedef struct weft_chan weft_chan;

/* Elements of elem_size bytes (0: signals that carry nothing), at most capacity of them on their
 * way (0: sender and receiver meet). One reference; NULL: no memory, or the sizes overflow. */
weft_chan *weft_chan_new(size_t elem_size, size_t capacity);
/* Both accept NULL. */
weft_chan *weft_chan_ref(weft_chan *c);
void       weft_chan_unref(weft_chan *c);

/* Copies *elem into the channel: 0, -EPIPE if it is closed or is being closed while this waits,
 * -EINVAL if there is no elem. Cancellable. May switch. */
int weft_chan_send(weft_chan *c, const void *elem);
/* Copies an element to *elem (NULL: drops it): 0, or -EPIPE with *elem zeroed once the channel is
 * closed and drained. Cancellable. May switch. */
int weft_chan_recv(weft_chan *c, void *elem);
/* The same for those who do not want to wait: -EAGAIN. Not cancellable. */
int weft_chan_try_send(weft_chan *c, const void *elem);
int weft_chan_try_recv(weft_chan *c, void *elem);

/* No more sends; what is in the channel can still be received. 0; -EPIPE: it was closed before;
 * -EINVAL: NULL. */
int weft_chan_close(weft_chan *c);

/* Elements in the buffer at some recent moment, and room for how many; 0 for NULL. */
size_t weft_chan_len(weft_chan *c);
size_t weft_chan_cap(weft_chan *c);

/* ---- Select ---------------------------------------------------------------------------------- */

enum {
        WEFT_CASE_NONE = 0,     /* never happens; so does a case whose channel is NULL */
        WEFT_CASE_RECV = 1,
        WEFT_CASE_SEND = 2,
        WEFT_CASE_JOIN = 3,
        WEFT_CASE_AFTER = 4,
        WEFT_CASE_DEFAULT = 5   /* two more, for descriptors, in weft/io.h */
};

/* Made by the macros below. An array of them can be used again and again, changed in between, but
 * by one caller at a time. */
typedef struct weft_case {
        uint64_t opaque[12];
        int      result;        /* of the one that happened: see weft_select */
        int      reserved;
} weft_case;

/* Waits until one of the cases can go on, does that one and returns its index; if several can, each
 * is as likely. The state of all channels at one moment decides. cases[i].result is what the plain
 * call would have returned: 0 or -EPIPE, 0 or -ESRCH or -EDEADLK for a join, else 0; the others are
 * left as they are. -EINVAL: a case that is none, or a send without an element. No cases at all
 * wait for ever. Cancellable unless there is a default, with which it does not wait. May switch. */
int weft_select(weft_case *cases, size_t n);

/* WEFT_RECV(c, p)   an element to *p, or dropped if p is NULL
 * WEFT_SEND(c, p)   the element *p
 * WEFT_JOIN(id)     the end of a goroutine
 * WEFT_AFTER(ns)    so much time since the call of weft_select; <= 0: can go on at once
 * WEFT_READABLE(fd), WEFT_WRITABLE(fd)   of a descriptor: see weft/io.h
 * WEFT_DEFAULT      if nothing else can go on at once */
#define WEFT_RECV(c, p)   weft_case_recv_(c, p)
#define WEFT_SEND(c, p)   weft_case_send_(c, p)
#define WEFT_JOIN(id)     weft_case_number_(WEFT_CASE_JOIN, id)
#define WEFT_AFTER(ns)    weft_case_number_(WEFT_CASE_AFTER, ns)
#define WEFT_DEFAULT      weft_case_number_(WEFT_CASE_DEFAULT, 0)

/* The same for languages without macros. */
void weft_case_recv(weft_case *out, weft_chan *c, void *elem);
void weft_case_send(weft_case *out, weft_chan *c, const void *elem);
void weft_case_join(weft_case *out, int64_t id);
void weft_case_after(weft_case *out, int64_t ns);
void weft_case_default(weft_case *out);

static inline weft_case weft_case_number_(uint64_t kind, int64_t number)
{
        weft_case cs = { { kind, (uint64_t)number }, 0, 0 };

        return cs;
}

/* Typed and untyped channels alike. */
static inline weft_case weft_case_recv_(const void *c, void *elem)
{
        weft_case cs = { { WEFT_CASE_RECV, (uint64_t)(uintptr_t)c, (uint64_t)(uintptr_t)elem },
                         0, 0 };

        return cs;
}

static inline weft_case weft_case_send_(const void *c, const void *elem)
{
        weft_case cs = { { WEFT_CASE_SEND, (uint64_t)(uintptr_t)c, (uint64_t)(uintptr_t)elem },
                         0, 0 };

        return cs;
}

/* ---- Synchronisation --------------------------------------------------------------------------
 *
 * All zero is a valid object, as are the initialisers. Everything here works between goroutines and
 * threads that are not weft's. An object may be freed as soon as the wait, or the last unlock, has
 * returned in the thread that frees it. The sizes are fixed; what is inside is weft's. */

typedef struct weft_mutex   { uint64_t opaque[2]; } weft_mutex;
typedef struct weft_rwmutex { uint64_t opaque[4]; } weft_rwmutex;
typedef struct weft_cond    { uint64_t opaque[2]; } weft_cond;
typedef struct weft_sem     { uint64_t opaque[2]; } weft_sem;
typedef struct weft_wg      { uint64_t opaque[2]; } weft_wg;
typedef struct weft_once    { uint64_t opaque[4]; } weft_once;

#define WEFT_MUTEX_INIT       { { 0, 0 } }
#define WEFT_RWMUTEX_INIT     { { 0, 0, 0, 0 } }
#define WEFT_COND_INIT        { { 0, 0 } }
#define WEFT_SEM_INIT(permits) { { (uint64_t)(unsigned)(permits), 0 } }
#define WEFT_WG_INIT          { { 0, 0 } }
#define WEFT_ONCE_INIT        { { 0, 0, 0, 0 } }

/* Not reentrant, and not bound to a goroutine: another one may unlock. Mostly who comes first gets
 * a free mutex; once somebody has waited for 1 ms it is handed on in order. No scope ends the wait.
 * Unlocking what is not locked is fatal. lock may switch. try_lock: 0, -EBUSY. */
void weft_mutex_lock(weft_mutex *m);
int  weft_mutex_try_lock(weft_mutex *m);
void weft_mutex_unlock(weft_mutex *m);

/* Many readers or one writer. New readers wait behind a writer that waits, so a goroutine that
 * holds it for reading must not ask for that again. Otherwise as a mutex. */
void weft_rwmutex_rlock(weft_rwmutex *m);
void weft_rwmutex_runlock(weft_rwmutex *m);
void weft_rwmutex_lock(weft_rwmutex *m);
void weft_rwmutex_unlock(weft_rwmutex *m);
int  weft_rwmutex_try_rlock(weft_rwmutex *m);
int  weft_rwmutex_try_lock(weft_rwmutex *m);

/* Unlocks m, waits for a signal or broadcast, locks m. 0, -ECANCELED, -ETIMEDOUT, -ESHUTDOWN; m is
 * locked again in every case. There are no other wake-ups. What is waited for is changed under m;
 * signal and broadcast may come after m is unlocked. signal wakes the one that waits longest. wait
 * may switch. */
int  weft_cond_wait(weft_cond *c, weft_mutex *m);
void weft_cond_signal(weft_cond *c);
void weft_cond_broadcast(weft_cond *c);

/* Permits go to those who wait in the order in which they came. acquire: 0, -ECANCELED, -ETIMEDOUT,
 * -ESHUTDOWN where no runtime runs; may switch. try_acquire: 0, -EAGAIN. More than UINT_MAX permits
 * are fatal. A permit that was handed to a goroutine which its run drops stays with it. */
void weft_sem_init(weft_sem *s, unsigned permits);
int  weft_sem_acquire(weft_sem *s);
int  weft_sem_try_acquire(weft_sem *s);
void weft_sem_release(weft_sem *s);

/* A count of what is still to be done. wait returns 0 once it is zero; -ECANCELED, -ETIMEDOUT,
 * -ESHUTDOWN; may switch. A count below zero or above INT_MAX is fatal. */
void weft_wg_add(weft_wg *w, int n);
void weft_wg_done(weft_wg *w);
int  weft_wg_wait(weft_wg *w);

/* Calls fn(arg) the first time; everyone returns after fn has ended, also if it ended by weft_exit.
 * A call from within fn on the same object is fatal. May switch. */
void weft_once_do(weft_once *once, void (*fn)(void *), void *arg);

/* ---- Time ------------------------------------------------------------------------------------ */

/* Nanoseconds on CLOCK_MONOTONIC. Works without a runtime, too. */
int64_t weft_now(void);

/* Waits for ns nanoseconds, never less; ns <= 0 yields. 0, or -ECANCELED, -ETIMEDOUT. Cancellable,
 * may switch. */
int weft_sleep(int64_t ns);

/* Runs fn(arg) once, ns from now, in a goroutine of its own. NULL: no memory, or no fn. */
typedef struct weft_timer weft_timer;
weft_timer *weft_timer_new(int64_t ns, void (*fn)(void *), void *arg);
/* 1 if it was pending and now will not fire; 0 if it has fired or was stopped. */
int weft_timer_stop(weft_timer *t);
/* Fires ns from now instead of, or again after, the time set before. 1 if it was pending, 0 if not,
 * -ENOMEM: as it was. */
int weft_timer_reset(weft_timer *t, int64_t ns);
/* Stops it; its memory is weft's again. At any time, also from fn. NULL is fine. */
void weft_timer_free(weft_timer *t);

/* A channel that is sent the time every `period`, as int64_t: when it was due. It holds one; a
 * reader that is slow misses some. Close it, or drop the last reference, to stop it. NULL: no
 * memory, or period <= 0. */
weft_chan *weft_tick(int64_t period);

/* ---- Signals --------------------------------------------------------------------------------- */

/* A channel of int, capacity 16, that is sent the number of each signal of the set that arrives:
 * every channel its own copy, at least one after the last arrival, dropped if there is no room. No
 * code of the program's runs in a handler. While a channel wants a signal, what the program had
 * installed for it does not happen; when the last one that does is closed, or its last reference
 * dropped, or the run ends, that is back, unless something else was installed meanwhile. Threads of
 * weft have the signal mask of the caller of weft_run: what all threads block does not arrive.
 * Faults of an instruction (a division by zero) are not sent, they do what they did before.
 * NULL: set is NULL or empty; it names SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGURG (weft's own) or a
 * signal that does not exist; no memory; no runtime.
 *
 * SIGQUIT that no channel wants prints every goroutine to stderr under weft_run, and the program
 * goes on; a handler that was there before runs too, and where it is ignored it stays ignored.
 * WEFT_DEBUG=dump=0 leaves it alone. */
weft_chan *weft_signal(const sigset_t *set);

/* ---- Version --------------------------------------------------------------------------------- */

/* The version of the library that is running, "MAJOR.MINOR.PATCH": compare with the macros above,
 * which say what the program was compiled against. Any thread, any time. */
const char *weft_version(void);

#ifdef __cplusplus
}
#endif

#include "weft/inside.h"        /* weft_stats, weft_dump, weft_check */
#include "weft/io.h"            /* weft_read, weft_write, weft_listen, weft_dial, weft_close */
#include "weft/typed.h"         /* WEFT_CHAN(int), weft_make, weft_send, weft_recv */

#endif
