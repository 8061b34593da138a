/* os/inject.h - debug builds: let the k-th call to the kernel fail.
 *
 * For tests. Every call of os/linux that takes something from the kernel and may be refused passes
 * an injection point before it is made; a test says which one is to be refused and with what. Calls
 * that only give something back have no point, because nobody could do anything about it, except
 * munmap, which the kernel really does refuse when it would have to split a mapping and may not.
 *
 * Release builds contain none of it. The simulator fails calls by its own seeded choice.
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
        W_CALL_ANY = W_N_CALLS, /* whichever of them comes */
};

#if defined(W_DEBUG)

/* From now on the k-th call of that kind (1: the next one) fails with `error`, a positive errno,
 * without being made. Replaces what was asked for before; counting starts anew.
 * Context: any thread; calls under way in other threads may still count for the old request. */
void w_inject_once(enum w_os_call kind, uint32_t k, int error);

/* The same for the k-th and every later one. */
void w_inject_from(enum w_os_call kind, uint32_t k, int error);

/* Nothing fails any more; counting starts anew. */
void w_inject_off(void);

/* Calls of that kind that were asked for since then, refused ones included, and how many calls of
 * all kinds were refused. */
uint32_t w_inject_calls(enum w_os_call kind);
uint32_t w_inject_hits(void);

/* The injection point: 0, or the negative error that the call is to return. Async-signal-safe. */
int w_inject_point(enum w_os_call kind);

#else

#define w_inject_point(kind) 0

#endif
#endif
