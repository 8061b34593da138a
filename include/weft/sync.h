/* weft/sync.h - mutexes and other locks, conditions, semaphores, wait groups. Part of weft.h,
 * which includes it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEFT_SYNC_H
#define WEFT_SYNC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Synchronisation --------------------------------------------------------------------------
 *
 * The program provides the memory of these objects. Goroutines and foreign threads can share them.
 * An object is valid if all its bytes are zero, or if its initialiser has set it. The pointers in
 * the calls must not be NULL. The sizes will not change. The contents are private.
 *
 * A thread may free an object as soon as its own wait, or its own last unlock, has returned. The
 * call of the thread that woke it may still be running: this call does not use the object any
 * more. */

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

/* A mutex. weft_mutex_lock waits until the mutex is free, and locks it. A caller that locks the
 * same mutex twice waits for ever. A caller may unlock a mutex that another goroutine or thread has
 * locked. To unlock an unlocked mutex is fatal.
 *
 * A free mutex goes to the first caller, which may overtake waiters. Once a waiter has waited for
 * 1 ms, the mutex is handed over to the waiters in the order of their calls.
 *
 * weft_mutex_try_lock does not wait. It returns 0 if it has locked the mutex, or -EBUSY if the
 * mutex is locked. Works without a runtime, too. Not cancellable. weft_mutex_lock may switch. */
WEFT_API void weft_mutex_lock(weft_mutex *m);
WEFT_API WEFT_MUST_CHECK int weft_mutex_try_lock(weft_mutex *m);
WEFT_API void weft_mutex_unlock(weft_mutex *m);

/* A lock for many readers or one writer. rlock locks for reading, and lock locks for writing. While
 * a writer waits, new readers wait, too. A goroutine that has locked for reading must not lock for
 * reading again: if a writer waits by then, both wait for ever. Any goroutine may unlock. An unlock
 * without a lock of the same kind is fatal.
 *
 * The try calls do not wait. They return 0 if they have locked, or -EBUSY if they would have to
 * wait. Works without a runtime, too. Not cancellable. rlock and lock may switch. */
WEFT_API void weft_rwmutex_rlock(weft_rwmutex *m);
WEFT_API void weft_rwmutex_runlock(weft_rwmutex *m);
WEFT_API void weft_rwmutex_lock(weft_rwmutex *m);
WEFT_API void weft_rwmutex_unlock(weft_rwmutex *m);
WEFT_API WEFT_MUST_CHECK int weft_rwmutex_try_rlock(weft_rwmutex *m);
WEFT_API WEFT_MUST_CHECK int weft_rwmutex_try_lock(weft_rwmutex *m);

/* A condition. The caller of weft_cond_wait must have locked m. weft_cond_wait unlocks m, waits for
 * a signal or a broadcast, and locks m again. There are no spurious wakeups. weft_cond_signal wakes
 * the waiter that has waited longest. weft_cond_broadcast wakes all waiters. Both do nothing if
 * there is no waiter. The program must change what it waits for with m locked. It may unlock m
 * before the signal. weft_cond_wait is cancellable and may switch.
 *
 * weft_cond_wait returns, always with m locked
 *    0           a signal or broadcast woke the caller
 *   -ETIMEDOUT, -ECANCELED   a scope ended the call
 *   -ESHUTDOWN   no runtime runs */
WEFT_API WEFT_MUST_CHECK int weft_cond_wait(weft_cond *c, weft_mutex *m);
WEFT_API void weft_cond_signal(weft_cond *c);
WEFT_API void weft_cond_broadcast(weft_cond *c);

/* A semaphore. weft_sem_init sets the number of permits; no other call may use s meanwhile.
 * weft_sem_acquire takes a permit, and waits until there is a permit if there is none.
 * weft_sem_release gives a permit back, and may be called without an acquire. Waiters get permits
 * in the order of their calls. More than UINT_MAX permits are fatal. If a run ends and drops a
 * goroutine that has just been given a permit, this permit is lost. weft_sem_acquire is cancellable
 * and may switch.
 *
 * weft_sem_acquire returns
 *    0           a permit was taken
 *   -ETIMEDOUT, -ECANCELED   a scope ended the call. No permit was taken
 *   -ESHUTDOWN   no runtime runs. No permit was taken
 * weft_sem_try_acquire does not wait. It returns 0 if it has taken a permit, or -EAGAIN if there is
 * none. All calls but weft_sem_acquire work without a runtime, too. */
WEFT_API void weft_sem_init(weft_sem *s, unsigned permits);
WEFT_API WEFT_MUST_CHECK int weft_sem_acquire(weft_sem *s);
WEFT_API WEFT_MUST_CHECK int weft_sem_try_acquire(weft_sem *s);
WEFT_API void weft_sem_release(weft_sem *s);

/* A wait group counts unfinished tasks. weft_wg_add adds n to the count; n may be negative.
 * weft_wg_done subtracts 1. weft_wg_wait waits until the count is 0. A count below 0 or above
 * INT_MAX is fatal. weft_wg_add and weft_wg_done work without a runtime, too. weft_wg_wait is
 * cancellable and may switch.
 *
 * weft_wg_wait returns
 *    0           the count was 0 at some moment during the call
 *   -ETIMEDOUT, -ECANCELED   a scope ended the call. Tasks may still be running
 *   -ESHUTDOWN   no runtime runs */
WEFT_API void weft_wg_add(weft_wg *w, int n);
WEFT_API void weft_wg_done(weft_wg *w);
WEFT_API int weft_wg_wait(weft_wg *w);

/* The first call for an object calls fn(arg). Other calls for the object do not call their fn.
 * Every call returns after the first fn has returned or has ended by weft_exit. A call for the same
 * object from inside fn is fatal. A call with fn NULL is fatal, unless the first fn has ended.
 * Works without a runtime, too. Not cancellable. May switch. */
WEFT_API void weft_once_do(weft_once *once, void (*fn)(void *), void *arg);

#ifdef __cplusplus
}
#endif
#endif
