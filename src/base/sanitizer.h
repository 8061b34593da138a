/* base/sanitizer.h - everything that ASan, TSan, LSan and valgrind must be told about stacks.
 *
 * Each stack that runs code has a struct san_fiber. Around a switch:
 *
 *   w_san_leave(from, to, how)   the last call before the switch, on the old stack
 *   w_san_arrive(self)           the first call after the switch, on the new stack
 *
 * All are always_inline into uninstrumented functions: TSan keeps a shadow call stack per fiber,
 * and an instrumented caller would pop from the wrong one. Without a sanitizer these functions do
 * nothing. The valgrind requests are compiled in if its header exists and W_VALGRIND is set.
 *
 * TSan takes fibers for threads. A switch orders the code before it and the code after it only if
 * the switch has the flag W_SAN_ORDERED. There are two such kinds of switch:
 *   - between fibers that take turns on one thread (in the simulator);
 *   - between a thread and its goroutines: a goroutine that calls weft uses what belongs to its M
 *     and P.
 * TSan therefore finds a race of two goroutines only if they ran on different threads.
 *
 * ASan must be given the bounds of the stack that is switched to. weft knows the bounds of its own
 * stacks. Only ASan knows those of an adopted stack: it reports them on arrival at the next
 * stack. Therefore w_san_leave stores the record of the adopted stack in `to->unknown`,
 * and w_san_arrive fills in the bounds.
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

/* The file with the switch is built without instrumentation, so its compiler does not define which
 * sanitizer the other files have; the build defines it. */
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
#include <valgrind/memcheck.h>        /* for w_san_stack_recycle */
#endif

struct san_fiber {
#if defined(W_ASAN)
        void             *fake;    /* ASan's fake stack while this one does not run */
        const void       *bottom;  /* lowest address; NULL: adopted and not yet left */
        size_t            size;
        struct san_fiber *unknown; /* the adopted stack just left; arrival learns its bounds */
#endif
#if defined(W_TSAN)
        void *tsan;
#endif
#if defined(W_VALGRIND)
        unsigned valgrind_id;
#endif
        bool adopted;           /* weft did not make it: nothing to give back */
};

enum {
        W_SAN_DYING = 1,        /* `from` will not run again */
        W_SAN_ORDERED = 2,      /* what ran before the switch happens before what runs after it */
};

#if defined(W_ASAN)

/* An abandoned stack still owns its fake stack, and ASan frees a fake stack only while it is in
 * use: the second and third call put it in use and free it. */
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

/* A stack that weft made, [low, low + size). Memory that only a parked goroutine's stack points to
 * is no leak, so LSan must read this range. The range must not contain a light guard: LSan crashes
 * if it reads a light guard. */
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

/* The stack that the calling thread runs on now, which weft need not have made. */
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

/* Call it after the last switch away from a stack that weft made, never while that stack runs. Does
 * nothing for an adopted stack. */
W_INLINE void w_san_destroy(struct san_fiber *f)
{
        if (f->adopted)
                return;
#if defined(W_ASAN)
        __lsan_unregister_root_region(f->bottom, f->size);
        if (f->fake)
                w_san_free_fake(f);
        /* The abandoned frames have left poison behind. */
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

/* TSan: from here on the calling code counts as fiber f, without a change of stack. The commit of a
 * park counts as the thread: neither as the goroutine that left, nor as the goroutine on the stack
 * of which the commit runs. */
W_INLINE void w_san_act_as(struct san_fiber *f, int how)
{
        (void)f, (void)how;
#if defined(W_TSAN)
        __tsan_switch_to_fiber(f->tsan, how & W_SAN_ORDERED ? 0 : W_TSAN_NO_SYNC);
#endif
}

/* TSan: what a thread did before it made a goroutine runnable happens before what the goroutine
 * does next. The queues order this for the thread that takes the goroutine out; TSan must also be
 * told for the goroutine itself. `handle` is any address that belongs to the goroutine. */
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

/* Around reads of what ended frames have left behind, which valgrind would report as undefined or
 * not addressable. ASan and TSan need no call: the readers are not instrumented (W_NO_SANITIZE). */
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

/* The next owner of the stack may write anywhere, and has written nothing yet. */
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
