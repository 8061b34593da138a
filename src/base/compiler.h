/* base/compiler.h - what the compiler must be told, in one vocabulary.
 *
 * Used by every file. Nothing here has behaviour of its own.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_BASE_COMPILER_H
#define W_BASE_COMPILER_H

#include <stddef.h>
#include <stdint.h>

#define W_LIKELY(x)     __builtin_expect(!!(x), 1)
#define W_UNLIKELY(x)   __builtin_expect(!!(x), 0)

#define W_NOINLINE      __attribute__((noinline))
#define W_INLINE        static inline __attribute__((always_inline))
#define W_NORETURN      _Noreturn
#define W_MUST_CHECK    __attribute__((warn_unused_result))
#define W_PRINTF(f, a)  __attribute__((format(printf, f, a)))
#define W_UNUSED        __attribute__((unused))
#define W_USED          __attribute__((used))
#define W_HIDDEN        __attribute__((visibility("hidden")))
#define W_EXPORT        __attribute__((visibility("default")))

/* For the functions that contain a context switch: the compiler makes no copy, no specialisation,
 * and uses no knowledge of the body in callers. clang has no attribute against cloning and does not
 * clone. */
#if defined(__clang__)
#define W_NOIPA         __attribute__((noinline))
#else
#define W_NOIPA         __attribute__((noinline, noclone, noipa))
#endif

#if defined(__clang__)
#define W_NO_SANITIZE   __attribute__((no_sanitize("address", "thread", "undefined")))
#else
#define W_NO_SANITIZE   __attribute__((no_sanitize_address, no_sanitize_thread, \
                                       no_sanitize_undefined))
#endif

/* x86 prefetches lines in pairs, but padding to two lines costs more than it saves here: words with
 * measured contention are kept one line apart. */
#define W_CACHELINE     64
#define W_CACHE_ALIGNED __attribute__((aligned(W_CACHELINE)))

#define W_ARRAY_LEN(a)  (sizeof(a) / sizeof((a)[0]))

#define W_CONTAINER_OF(ptr, type, member) \
        ((type *)(void *)((char *)(ptr) - offsetof(type, member)))

#define W_STRINGIFY_(x) #x
#define W_STRINGIFY(x)  W_STRINGIFY_(x)

#endif
