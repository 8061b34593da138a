/* os/inject.h - debug builds: let the k-th call to the kernel fail.
 *
 * For tests. Every call of os/linux that takes something from the kernel and may be refused passes
 * an injection point before it is made. A test says which call must fail, and with which error.
 * Calls that only give something back have no injection point, because their callers could not
 * react to a failure. The exception is munmap: the kernel really refuses it when it would have to
 * split a mapping and may not.
 *
 * Release builds contain no injection points. The simulator fails calls by its own seeded choice.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_OS_INJECT_H
#define W_OS_INJECT_H

#include "base/compiler.h"

enum w_os_call {
        W_CALL_MMAP,
        W_CALL_MUNMAP,
        W_CALL_MADVISE,
        W_CALL_MPROTECT,
        W_CALL_MINCORE,
        W_CALL_THREAD,          /* pthread_create */
        W_CALL_SIGALTSTACK,
        W_CALL_SIGACTION,
        W_CALL_MEMBARRIER,
        W_CALL_AFFINITY,        /* sched_getaffinity */
        W_CALL_OPEN,
        W_CALL_RANDOM,          /* getrandom */
        W_CALL_TIMER,           /* timer_create */
        W_CALL_ATFORK,          /* pthread_atfork */
        W_CALL_POLLER,          /* epoll_create, eventfd, epoll_ctl */
        W_CALL_SOCKET,          /* socket, bind, listen, connect */
        W_CALL_ACCEPT,
        W_N_CALLS,
        W_CALL_ANY = W_N_CALLS, /* a call of any kind */
};

#if defined(W_DEBUG)

/* Requests that the k-th call of that kind from now on (1: the next call) fails with `error`, a
 * positive errno, without being made. Replaces the request before; counting starts anew.
 * Context: any thread; calls under way in other threads may still count for the old request. */
void w_inject_once(enum w_os_call kind, uint32_t k, int error);

/* The same for the k-th and every later call. */
void w_inject_from(enum w_os_call kind, uint32_t k, int error);

/* Ends the request: no call fails any more. Counting starts anew. */
void w_inject_off(void);

/* The number of calls of that kind since counting started, refused calls included; and the number
 * of refused calls of all kinds. */
uint32_t w_inject_calls(enum w_os_call kind);
uint32_t w_inject_hits(void);

/* The injection point: 0, or the negative error that the call must return. Async-signal-safe. */
int w_inject_point(enum w_os_call kind);

#else

#define w_inject_point(kind) 0

#endif
#endif
