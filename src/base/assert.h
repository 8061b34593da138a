/* base/assert.h - three levels of assertion.
 *
 *   W_CHECK(cond, fmt, ...)   always on: corruption that would spread. Says what was found.
 *   W_ASSERT(cond)            debug builds: preconditions, ownership, context.
 *   W_ASSERT_SLOW(cond)       builds with W_SLOW_ASSERTS: walks of whole structures.
 *
 * The condition of a level that is switched off must compile, but is never evaluated.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_BASE_ASSERT_H
#define W_BASE_ASSERT_H

#include "base/compiler.h"
#include "base/fatal.h"

#define W_CHECK(cond, ...) do {                                                                 \
        if (W_UNLIKELY(!(cond)))                                                                \
                w_fatal(__VA_ARGS__);                                                           \
} while (0)

/* The outer macro makes the text: here the macros in the condition have been expanded already. */
#define W_ASSERT_ON_(cond, text)                                                                \
        W_CHECK(cond, "assertion failed: %s at %s:%d", text, __FILE__, __LINE__)
#define W_ASSERT_OFF_(cond) ((void)sizeof(!(cond)))

#if defined(W_DEBUG)
#define W_ASSERT(cond)          W_ASSERT_ON_(cond, #cond)
#else
#define W_ASSERT(cond)          W_ASSERT_OFF_(cond)
#endif

#if defined(W_SLOW_ASSERTS)
#define W_ASSERT_SLOW(cond)     W_ASSERT_ON_(cond, #cond)
#else
#define W_ASSERT_SLOW(cond)     W_ASSERT_OFF_(cond)
#endif

#endif
