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
 * Objects of the program, which goroutines and foreign threads can share. An object is valid if it
 * is all zero or was set by its initialiser. It may be freed by a thread in which the wait, or the
 * last unlock, has returned, even if the other side is still in its call. The sizes will not
 * change; the contents are private. */

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

/* Mutual exclusion. A goroutine must not lock a mutex twice; it may unlock a mutex that another
 * goroutine has locked. Usually the first caller that comes gets a free mutex; once a waiter has
 * waited for 1 ms, the mutex is handed over in the order of waiting. To unlock an unlocked mutex is
 * fatal. weft_mutex_try_lock returns 0, or -EBUSY if the mutex is locked. Works without a runtime,
 * too. Not cancellable. weft_mutex_lock may switch. */
WEFT_API void weft_mutex_lock(weft_mutex *m);
WEFT_API WEFT_MUST_CHECK int weft_mutex_try_lock(weft_mutex *m);
WEFT_API void weft_mutex_unlock(weft_mutex *m);

/* A lock for many readers or one writer. New readers wait while a writer waits, so a goroutine that
 * has locked for reading must not do it again: that may deadlock. The try calls return 0, or -EBUSY
 * if they would have to wait. An unlock without a lock is fatal. Works without a runtime, too. Not
 * cancellable. rlock and lock may switch. */
WEFT_API void weft_rwmutex_rlock(weft_rwmutex *m);
WEFT_API void weft_rwmutex_runlock(weft_rwmutex *m);
WEFT_API void weft_rwmutex_lock(weft_rwmutex *m);
WEFT_API void weft_rwmutex_unlock(weft_rwmutex *m);
WEFT_API WEFT_MUST_CHECK int weft_rwmutex_try_rlock(weft_rwmutex *m);
WEFT_API WEFT_MUST_CHECK int weft_rwmutex_try_lock(weft_rwmutex *m);

/* weft_cond_wait unlocks m, waits for a signal or broadcast and locks m again. There are no
 * spurious wakeups. weft_cond_signal wakes the caller that has waited longest, weft_cond_broadcast
 * all. The condition must be changed with m locked; m may be unlocked before the signal.
 * weft_cond_wait is cancellable and may switch.
 *
 * weft_cond_wait returns, always with m locked
 *    0           it was woken by a signal or broadcast
 *   -ETIMEDOUT, -ECANCELED   a scope ended the wait
 *   -ESHUTDOWN   no runtime runs */
WEFT_API WEFT_MUST_CHECK int weft_cond_wait(weft_cond *c, weft_mutex *m);
WEFT_API void weft_cond_signal(weft_cond *c);
WEFT_API void weft_cond_broadcast(weft_cond *c);

/* A semaphore. weft_sem_acquire takes a permit and waits until there is one; weft_sem_release gives
 * one back. Waiters get permits in the order in which they came. More than UINT_MAX permits are
 * fatal. If a run ends and drops a goroutine that was just given a permit, this permit is lost.
 * weft_sem_acquire is cancellable and may switch. weft_sem_try_acquire returns 0, or -EAGAIN if
 * there is no permit.
 *
 * weft_sem_acquire returns
 *    0           it has taken a permit
 *   -ETIMEDOUT, -ECANCELED   a scope ended the call. No permit was taken
 *   -ESHUTDOWN   no runtime runs */
WEFT_API void weft_sem_init(weft_sem *s, unsigned permits);
WEFT_API WEFT_MUST_CHECK int weft_sem_acquire(weft_sem *s);
WEFT_API WEFT_MUST_CHECK int weft_sem_try_acquire(weft_sem *s);
WEFT_API void weft_sem_release(weft_sem *s);

/* A wait group counts unfinished tasks. weft_wg_add adds n, which may be negative; weft_wg_done
 * subtracts 1; weft_wg_wait waits until the count is 0. A count below 0 or above INT_MAX is fatal.
 * weft_wg_wait is cancellable and may switch.
 *
 * weft_wg_wait returns
 *    0           the count was 0
 *   -ETIMEDOUT, -ECANCELED   a scope ended the wait
 *   -ESHUTDOWN   no runtime runs */
WEFT_API void weft_wg_add(weft_wg *w, int n);
WEFT_API void weft_wg_done(weft_wg *w);
WEFT_API int weft_wg_wait(weft_wg *w);

/* Calls fn(arg) in the first call for this object. Every call returns after that fn has returned or
 * ended by weft_exit. It is fatal if fn calls it for the same object. Not cancellable. May
 * switch. */
WEFT_API void weft_once_do(weft_once *once, void (*fn)(void *), void *arg);

#ifdef __cplusplus
}
#endif
#endif
