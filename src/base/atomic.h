/* base/atomic.h - the only file that knows memory orders; the names carry them.
 *
 * An atomic object has the type W_ATOMIC(T), a struct around one word, so that a plain `=` or
 * `++` on it (which C would silently make sequentially consistent) does not compile. Every access
 * goes through a macro below. The suffix of the macro is the order of the access:
 *
 *   _rlx  relaxed        the comment at the site says why: own word, hint, guarded or counter
 *   _acq  acquire        carries an edge tag [XX#] that a release side shares
 *   _rel  release
 *   _acqrel              both (read-modify-write only)
 *
 * There is no seq_cst access on purpose. If each of two parties writes its own word and then reads
 * the other party's word, both have a w_fence_full() in between. The PROTOCOL names the partner.
 * Fences carry liveness arguments only; data is always handed over by acquire/release on a
 * word, because ThreadSanitizer does not model fences.
 *
 * Three back ends behind the same names:
 *   C11        the compiler's builtins with C11's orders (the library)
 *   simulator  W_HOOKED, linked with os/sim: store buffers and a seeded choice at every access
 *   explorer   W_HOOKED, linked with os/explore: store histories, every allowed value is tried
 * The last two share base/atomic_hooks.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_BASE_ATOMIC_H
#define W_BASE_ATOMIC_H

#include "base/compiler.h"

#include <stdatomic.h>  /* memory_order_* */
#include <stdbool.h>

/* `raw` may be touched directly only before the object is visible to other threads. */
#define W_ATOMIC(T) struct { T raw; }

typedef W_ATOMIC(uint32_t)  w_atomic_u32;
typedef W_ATOMIC(uint64_t)  w_atomic_u64;
typedef W_ATOMIC(uintptr_t) w_atomic_uptr;
typedef W_ATOMIC(void *)    w_atomic_ptr;

#define W_ATOMIC_INIT(v) { (v) }

#if defined(W_HOOKED)
#include "base/atomic_hooks.h"
#else

#define w_load_rlx(p)           __atomic_load_n(&(p)->raw, memory_order_relaxed)
#define w_load_acq(p)           __atomic_load_n(&(p)->raw, memory_order_acquire)
#define w_store_rlx(p, v)       __atomic_store_n(&(p)->raw, (v), memory_order_relaxed)
#define w_store_rel(p, v)       __atomic_store_n(&(p)->raw, (v), memory_order_release)

#define w_xchg_rlx(p, v)        __atomic_exchange_n(&(p)->raw, (v), memory_order_relaxed)
#define w_xchg_acq(p, v)        __atomic_exchange_n(&(p)->raw, (v), memory_order_acquire)
#define w_xchg_rel(p, v)        __atomic_exchange_n(&(p)->raw, (v), memory_order_release)
#define w_xchg_acqrel(p, v)     __atomic_exchange_n(&(p)->raw, (v), memory_order_acq_rel)

/* Strong compare-and-swap: true and *p = v if *p was *e, else false and *e = the value found.
 * Failure orders are the strongest that the success order admits. */
#define w_cas_rlx(p, e, v)      W_CAS(p, e, v, memory_order_relaxed, memory_order_relaxed)
#define w_cas_acq(p, e, v)      W_CAS(p, e, v, memory_order_acquire, memory_order_acquire)
#define w_cas_rel(p, e, v)      W_CAS(p, e, v, memory_order_release, memory_order_relaxed)
#define w_cas_acqrel(p, e, v)   W_CAS(p, e, v, memory_order_acq_rel, memory_order_acquire)
#define W_CAS(p, e, v, ok, no)  __atomic_compare_exchange_n(&(p)->raw, (e), (v), false, ok, no)

/* All return the old value. */
#define w_add_rlx(p, v)         __atomic_fetch_add(&(p)->raw, (v), memory_order_relaxed)
#define w_add_rel(p, v)         __atomic_fetch_add(&(p)->raw, (v), memory_order_release)
#define w_add_acqrel(p, v)      __atomic_fetch_add(&(p)->raw, (v), memory_order_acq_rel)
#define w_sub_rlx(p, v)         __atomic_fetch_sub(&(p)->raw, (v), memory_order_relaxed)
#define w_sub_rel(p, v)         __atomic_fetch_sub(&(p)->raw, (v), memory_order_release)
#define w_sub_acqrel(p, v)      __atomic_fetch_sub(&(p)->raw, (v), memory_order_acq_rel)
#define w_or_rlx(p, v)          __atomic_fetch_or(&(p)->raw, (v), memory_order_relaxed)
#define w_or_acqrel(p, v)       __atomic_fetch_or(&(p)->raw, (v), memory_order_acq_rel)
#define w_and_rlx(p, v)         __atomic_fetch_and(&(p)->raw, (v), memory_order_relaxed)
#define w_and_acqrel(p, v)      __atomic_fetch_and(&(p)->raw, (v), memory_order_acq_rel)

/* The full (StoreLoad) fence. The PROTOCOL of the file names its partner. */
#define w_fence_full()          atomic_thread_fence(memory_order_seq_cst)

/* For plain memory that a PROTOCOL claims to hand over from one thread to another. Here these are
 * ordinary accesses; the explorer checks that a happens-before edge really orders them. */
#define w_plain_load(p)         (*(p))
#define w_plain_store(p, v)     ((void)(*(p) = (v)))

#endif /* W_HOOKED */

/* Keeps the compiler, and nothing else, from moving accesses across. For words that only this
 * thread and its own signal handler touch, and for the light side of a membarrier. */
#define w_fence_compiler()      atomic_signal_fence(memory_order_seq_cst)

/* One polite step of a spin loop. */
W_INLINE void w_cpu_pause(void)
{
#if defined(__x86_64__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        __asm__ volatile("isb" ::: "memory");
#else
#error "unsupported architecture"
#endif
}

#endif
