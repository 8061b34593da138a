/* base/thread.h - what the bottom layers keep per thread, and how to find it.
 *
 * Every thread that runs weft code owns one struct thread; struct m begins with it. It is found
 * through one thread-local word. (What weft keeps for other threads is behind w_os_foreign.)
 *
 * w_self() reads the *value* of that word with a volatile asm at every call. No C variable ever
 * holds an address derived from the thread pointer. The compiler can therefore keep no such address
 * across a context switch, after which the goroutine may run on another thread. (Compilers assume
 * that a function never changes threads.) For the same reason no other file outside os/ may use
 * thread-local variables, errno or the pthread identity: tools/check-atomics refuses it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_BASE_THREAD_H
#define W_BASE_THREAD_H

#include "base/compiler.h"

struct thread {
        uint32_t id;            /* for reports; 0 is the first thread of a run */
        uint32_t n_held;        /* runtime locks held; zero whenever a goroutine is switched */
        uint64_t held;          /* debug: one bit per class of lock held, base/lock.h */
        uint32_t n_held_of[64]; /* debug: how many locks of each class are held */
        uint64_t window_rand;   /* debug: state of the generator behind W_WINDOW */
};

#if defined(W_HOOKED)

/* The engine knows which simulated thread runs. */
struct thread *w_self(void);
void w_self_set(struct thread *self);

#else

extern W_HIDDEN _Thread_local struct thread *w_thread_self;

/* The calling thread's record; NULL: the thread has none. */
W_INLINE struct thread *w_self(void)
{
        struct thread *self;
#if defined(__x86_64__)
        __asm__ volatile("movq w_thread_self@gottpoff(%%rip), %0\n\t"
                         "movq %%fs:(%0), %0"
                         : "=r"(self));
#elif defined(__aarch64__)
        uintptr_t offset;
        __asm__ volatile("adrp %1, :gottprel:w_thread_self\n\t"
                         "ldr %1, [%1, #:gottprel_lo12:w_thread_self]\n\t"
                         "mrs %0, tpidr_el0\n\t"
                         "ldr %0, [%0, %1]"
                         : "=&r"(self), "=&r"(offset));
#endif
        return self;
}

/* Context: any thread, once at its start and with NULL at its end. */
void w_self_set(struct thread *self);

#endif
#endif
