/* tests/tls/hop.c - a fiber that changes threads in the middle of a function, and what the compiler
 * made of the thread-derived values in that function. Built by tests/tls/run in many ways.
 *
 * Compilers assume that a function stays on its thread, so they may keep the address of a
 * thread-local variable, of errno, or the result of pthread_self() across the switch. That is why
 * weft forbids these outside src/os and returns errors as numbers; here they are counted to show
 * that the rule is needed. w_self() must never be stale.
 *
 * With TLS_FORGETFUL the accessor has a likely bug: assembly that is not volatile.
 *
 * SPDX-License-Identifier: MIT
 */
#include "hop.h"

#include "arch/fiber.h"
#include "base/thread.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>

enum { STACK_SIZE = 64 * 1024, ROUNDS = 8 };

struct thread_seen {
        struct thread record;
        struct fiber  own;
        sem_t         turn;
        int          *tls;
        int          *err;
        pthread_t     self;
};

static struct thread_seen  threads[2];
static struct thread_seen *here;  /* the thread that runs now; the turns order it */
static struct fiber   hopper;
static struct stale   found;
static _Thread_local int variable;
static _Alignas(64) unsigned char stack[STACK_SIZE];

#if defined(TLS_FORGETFUL)

W_INLINE struct thread *current(void)
{
        char     *base;
        uintptr_t offset;
#if defined(__x86_64__)
        __asm__("movq %%fs:0, %0" : "=r"(base));
        __asm__("movq w_thread_self@gottpoff(%%rip), %0" : "=r"(offset));
#else
        __asm__("mrs %0, tpidr_el0" : "=r"(base));
        __asm__("adrp %0, :gottprel:w_thread_self\n\t"
                "ldr %0, [%0, #:gottprel_lo12:w_thread_self]" : "=r"(offset));
#endif
        return *(struct thread **)(void *)(base + offset);
}

#else

W_INLINE struct thread *current(void)
{
        return w_self();
}

#endif

/* Each thread once, before anything moves. */
W_NOIPA static void note_thread(struct thread_seen *p)
{
        w_self_set(&p->record);
        w_fiber_adopt(&p->own);
        p->tls = &variable;
        p->err = &errno;
        p->self = pthread_self();
}

/* The values are needed here, so they are computed here. */
W_INLINE void use(struct thread *a, int *b, int *c, pthread_t d)
{
        __asm__ volatile("" : : "r"(a), "r"(b), "r"(c), "r"(d));
}

static void count_stale(struct thread *weft, int *tls, int *err, pthread_t self)
{
        found.weft += weft != &here->record;
        found.tls += tls != here->tls;
        found.err += err != here->err;
        found.self += self != here->self;
}

/* The loop and the straight line: a compiler may hoist in one and remember in the other. */
W_NOIPA static void hop(void *arg)
{
        (void)arg;
        w_fiber_begin(&hopper);
        for (int i = 0; i < ROUNDS; i++) {
                use(current(), &variable, &errno, pthread_self());
                current()->n_held++;
                w_fiber_switch(&hopper, &here->own);
                count_stale(current(), &variable, &errno, pthread_self());
                current()->n_held++;
                found.hops++;
                w_fiber_switch(&hopper, &here->own);
                count_stale(current(), &variable, &errno, pthread_self());
                found.hops++;
        }
        w_fiber_switch_last(&hopper, &here->own);
}

static void take_turns(int mine)
{
        for (int i = 0; i <= ROUNDS; i++) {
                sem_wait(&threads[mine].turn);
                here = &threads[mine];
                if (found.hops < 2 * ROUNDS)
                        w_fiber_switch(&here->own, &hopper);
                sem_post(&threads[!mine].turn);
        }
}

static void *second_thread(void *arg)
{
        (void)arg;
        note_thread(&threads[1]);
        take_turns(1);
        return NULL;
}

/* Counts made through the accessor land where they belong, or it was stale as a value. */
static void check_counts(void)
{
        uint32_t sum = threads[0].record.n_held + threads[1].record.n_held;

        found.weft += sum != 2 * ROUNDS || threads[0].record.n_held != ROUNDS;
}

struct stale tls_hop(void)
{
        pthread_t second;

        for (int i = 0; i < 2; i++)
                sem_init(&threads[i].turn, 0, 0);
        note_thread(&threads[0]);
        w_fiber_make(&hopper, stack, STACK_SIZE, stack + STACK_SIZE, hop, NULL);
        if (pthread_create(&second, NULL, second_thread, NULL) != 0)
                return (struct stale){ .weft = -1 };
        sem_post(&threads[0].turn);
        take_turns(0);
        pthread_join(second, NULL);
        w_fiber_destroy(&hopper);
        check_counts();
        return found;
}
