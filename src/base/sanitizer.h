/* base/sanitizer.h - what ASan, TSan, LSan and valgrind must be told about stacks, in one place.
 *
 * Each stack that runs code has a struct san_fiber. Around a switch:
 *
 *   w_san_leave(from, to, how)   last thing before the switch, on the old stack
 *   w_san_arrive(self)           first thing after it, on the new one
 *
 * All are always_inline into uninstrumented functions: TSan keeps a shadow call stack per fiber,
 * and an instrumented caller would pop from the wrong one. Without a sanitizer all of it is
 * nothing; the valgrind requests are compiled in where its header exists and W_VALGRIND is set.
 *
 * TSan takes fibers for threads. A switch orders what ran before it and what runs after it on that
 * thread only where it says so, W_SAN_ORDERED: between fibers that take turns on one thread and
 * know it (the simulator's), and between a thread and its goroutines, because a goroutine that
 * calls weft works on what belongs to its M and P. Goroutines that raced are so found on different
 * threads only.
 *
 * ASan must be given the bounds of the stack that is switched to. Those of a stack of ours are
 * known. Those of an adopted stack only ASan knows, and it tells them to whoever arrives elsewhere
 * after that stack was left; so the leaver puts its record where the arriver finds it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_BASE_SANITIZER_H
#define W_BASE_SANITIZER_H

#include "base/compiler.h"

#include <stdbool.h>

#if defined(__SANITIZE_ADDRESS__)
#define W_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define W_ASAN 1
#endif
#endif

#if defined(__SANITIZE_THREAD__)
#define W_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define W_TSAN 1
#endif
#endif

/* The file with the switch is built without instrumentation, so it cannot see which sanitizer the
 * rest has; the build says it instead. */
#if defined(W_BUILT_WITH_ASAN) && !defined(W_ASAN)
#define W_ASAN 1
#endif
#if defined(W_BUILT_WITH_TSAN) && !defined(W_TSAN)
#define W_TSAN 1
#endif

#if defined(W_ASAN)
void __sanitizer_start_switch_fiber(void **fake, const void *bottom, size_t size);
void __sanitizer_finish_switch_fiber(void *fake, const void **bottom_old, size_t *size_old);
void __asan_unpoison_memory_region(void const volatile *addr, size_t size);
void __lsan_register_root_region(const void *addr, size_t size);
void __lsan_unregister_root_region(const void *addr, size_t size);
#endif

#if defined(W_TSAN)
void *__tsan_get_current_fiber(void);
void *__tsan_create_fiber(unsigned flags);
void  __tsan_destroy_fiber(void *fiber);
void  __tsan_switch_to_fiber(void *fiber, unsigned flags);
void  __tsan_release(void *addr);
void  __tsan_acquire(void *addr);
enum { W_TSAN_NO_SYNC = 1 };
#endif

#if defined(W_VALGRIND)
#include <valgrind/memcheck.h>        /* and what a stack that changes hands contains */
#endif

struct san_fiber {
#if defined(W_ASAN)
        void             *fake;    /* ASan's fake stack while this one does not run */
        const void       *bottom;  /* lowest address; NULL: adopted and not yet left */
        size_t            size;
        struct san_fiber *unknown; /* left for this one: its bounds are learnt on arrival */
#endif
#if defined(W_TSAN)
        void *tsan;
#endif
#if defined(W_VALGRIND)
        unsigned valgrind_id;
#endif
        bool adopted;           /* not made by us: nothing to give back */
};

enum {
        W_SAN_DYING = 1,        /* `from` will not run again */
        W_SAN_ORDERED = 2,      /* what ran before the switch happens before what runs after it */
};

#if defined(W_ASAN)

/* A stack that is abandoned still owns its fake stack, and ASan frees only the one in use: put it
 * in use for the length of two calls. */
W_INLINE void w_san_free_fake(struct san_fiber *f)
{
        const void *bottom;
        size_t      size;
        void       *mine;

        __sanitizer_start_switch_fiber(&mine, f->bottom, f->size);
        __sanitizer_finish_switch_fiber(f->fake, &bottom, &size);
        __sanitizer_start_switch_fiber(NULL, bottom, size);
        __sanitizer_finish_switch_fiber(mine, NULL, NULL);
}

#endif

/* A stack of ours, [low, low + size). What is known only to a stack that does not run is no leak,
 * so LSan looks into it; the range must hold no guard of the light kind, as LSan does not survive
 * touching one. */
W_INLINE void w_san_create(struct san_fiber *f, void *low, size_t size)
{
        (void)low, (void)size;
        f->adopted = false;
#if defined(W_ASAN)
        f->fake = NULL;
        f->unknown = NULL;
        f->bottom = low;
        f->size = size;
        __lsan_register_root_region(low, size);
#endif
#if defined(W_TSAN)
        f->tsan = __tsan_create_fiber(0);
#endif
#if defined(W_VALGRIND)
        f->valgrind_id = VALGRIND_STACK_REGISTER(low, (char *)low + size);
#endif
}

/* The stack that the calling thread runs on now, whoever made it. */
W_INLINE void w_san_adopt(struct san_fiber *f)
{
        f->adopted = true;
#if defined(W_ASAN)
        f->fake = NULL;
        f->unknown = NULL;
        f->bottom = NULL;
        f->size = 0;
#endif
#if defined(W_TSAN)
        f->tsan = __tsan_get_current_fiber();
#endif
}

/* After the last switch away from a stack of ours, never while it runs. Nothing for an adopted
 * one. */
W_INLINE void w_san_destroy(struct san_fiber *f)
{
        if (f->adopted)
                return;
#if defined(W_ASAN)
        __lsan_unregister_root_region(f->bottom, f->size);
        if (f->fake)
                w_san_free_fake(f);
        /* Frames that were abandoned left poison behind. */
        __asan_unpoison_memory_region(f->bottom, f->size);
#endif
#if defined(W_TSAN)
        __tsan_destroy_fiber(f->tsan);
#endif
#if defined(W_VALGRIND)
        VALGRIND_STACK_DEREGISTER(f->valgrind_id);
#endif
}

W_INLINE void w_san_leave(struct san_fiber *from, struct san_fiber *to, int how)
{
        (void)from, (void)to, (void)how;
#if defined(W_ASAN)
        from->fake = NULL;
        to->unknown = from->bottom ? NULL : from;
        __sanitizer_start_switch_fiber(how & W_SAN_DYING ? NULL : &from->fake, to->bottom,
                                       to->size);
#endif
#if defined(W_TSAN)
        __tsan_switch_to_fiber(to->tsan, how & W_SAN_ORDERED ? 0 : W_TSAN_NO_SYNC);
#endif
}

W_INLINE void w_san_arrive(struct san_fiber *self)
{
        (void)self;
#if defined(W_ASAN)
        const void *bottom;
        size_t      size;

        __sanitizer_finish_switch_fiber(self->fake, &bottom, &size);
        if (self->unknown) {
                self->unknown->bottom = bottom;
                self->unknown->size = size;
        }
#endif
}

/* ---- A goroutine that changes hands ---------------------------------------------------------- */

/* TSan: from here on the calling code acts in the name of f, without a change of stack. What the
 * commit of a park does is the thread's doing, neither the goroutine's that left nor the one's
 * whose stack it borrows. */
W_INLINE void w_san_act_as(struct san_fiber *f, int how)
{
        (void)f, (void)how;
#if defined(W_TSAN)
        __tsan_switch_to_fiber(f->tsan, how & W_SAN_ORDERED ? 0 : W_TSAN_NO_SYNC);
#endif
}

/* TSan: who makes a goroutine runnable happens before what it does next. The queues order that on
 * the thread that takes it out; TSan must hear it for the goroutine itself. `handle` is any address
 * that belongs to the goroutine. */
W_INLINE void w_san_hand_over(void *handle)
{
        (void)handle;
#if defined(W_TSAN)
        __tsan_release(handle);
#endif
}

W_INLINE void w_san_take_over(void *handle)
{
        (void)handle;
#if defined(W_TSAN)
        __tsan_acquire(handle);
#endif
}

/* ---- Stack memory that changes hands while nothing runs on it -------------------------------- */

/* Around reads of what frames have left behind, which valgrind calls undefined or gone. ASan and
 * TSan need no telling: the readers are not instrumented (W_NO_SANITIZE). */
W_INLINE void w_san_quiet_begin(void)
{
#if defined(W_VALGRIND)
        VALGRIND_DISABLE_ERROR_REPORTING;
#endif
}

W_INLINE void w_san_quiet_end(void)
{
#if defined(W_VALGRIND)
        VALGRIND_ENABLE_ERROR_REPORTING;
#endif
}

/* The next user may write anywhere and has written nothing yet. */
W_INLINE void w_san_stack_recycle(void *low, size_t size)
{
        (void)low, (void)size;
#if defined(W_ASAN)
        __asan_unpoison_memory_region(low, size);
#endif
#if defined(W_VALGRIND)
        (void)VALGRIND_MAKE_MEM_UNDEFINED(low, size);
#endif
}

#endif
