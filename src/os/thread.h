/* os/thread.h - CONTRACT: kernel threads: start, join, identity, end, fork.
 *
 * The rules for every call are in os/os.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_OS_THREAD_H
#define W_OS_THREAD_H

#include "base/compiler.h"

#include <stdbool.h>

struct w_os_thread {
        uint64_t handle;        /* private to the implementation */
};

/* Starts fn(arg) on a new thread with every signal blocked; the caller's mask is untouched.
 * `name` (at most 15 bytes are used) is what ps and perf show. stack_size is a minimum.
 * -EAGAIN: no thread is available; -ENOMEM. */
W_MUST_CHECK int w_os_thread_start(struct w_os_thread *thread, const char *name,
                                   size_t stack_size, void (*fn)(void *), void *arg);

/* Waits until fn has returned and the thread's resources are gone. Once per started thread. */
void w_os_thread_join(struct w_os_thread *thread);

/* The same without waiting. False: the thread has not ended yet; destructors of thread-local values
 * may still run. */
W_MUST_CHECK bool w_os_thread_try_join(struct w_os_thread *thread);

void w_os_yield(void);

/* The number of threads of this process. A thread that ends may still be counted for some time.
 * -EMFILE, -ENOENT and others: unknown. */
W_MUST_CHECK int w_os_thread_count(void);

/* The kernel's id of the calling thread. Async-signal-safe. */
int w_os_tid(void);

/* The address of the calling thread's errno, valid for the life of the thread. Goroutines carry the
 * value with them. */
int *w_os_errno(void);

/* Calls fn(arg) on the thread's own stack if the calling thread ends (pthread_exit, cancellation)
 * before the next call of this function. A NULL fn cancels the request. All threads must pass the
 * same fn. If libc has no thread-specific key left, fn is not called. Never called by a goroutine,
 * which changes threads. */
void w_os_thread_end_watch(void (*fn)(void *arg), void *arg);

/* Calls in_child in every child that fork makes from now on, on its only thread, before fork
 * returns there. Children of vfork and posix_spawn do not call it. Cannot be undone. -ENOMEM. */
W_MUST_CHECK int w_os_fork_watch(void (*in_child)(void));

#endif
