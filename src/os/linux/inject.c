/* os/linux/inject.c - the failures that tests request. Contract: os/inject.h.
 *
 * The request is one word, so that a thread never sees half of it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/inject.h"

#if defined(W_DEBUG)

#include "base/assert.h"
#include "base/atomic.h"

enum { NO_KIND = 0xff };

/* Layout of the request: kind in bits 0-7, "and every later one" in bit 8, the errno in bits 16-31,
 * k in the upper half. */
#define REQUEST(kind, later, error, k)                                                          \
        ((uint64_t)(kind) | (uint64_t)(later) << 8 | (uint64_t)(error) << 16 | (uint64_t)(k) << 32)

static w_atomic_u64 request = W_ATOMIC_INIT(NO_KIND);
static w_atomic_u32 n_calls[W_N_CALLS + 1];
static w_atomic_u32 n_hits;

/* All are counters: a test makes a request while no other thread makes calls, and starting and
 * joining threads orders everything else. */
static void start_anew(uint64_t next)
{
        w_store_rlx(&request, NO_KIND);                           /* counter */
        for (int i = 0; i <= W_N_CALLS; i++)
                w_store_rlx(&n_calls[i], 0);                      /* counter */
        w_store_rlx(&n_hits, 0);                                  /* counter */
        w_store_rlx(&request, next);                              /* counter */
}

static uint64_t checked_request(enum w_os_call kind, bool later, uint32_t k, int error)
{
        W_CHECK(kind <= W_CALL_ANY && k > 0 && error > 0 && error < 4096,
                "bad injection: kind %d, k %u, error %d", (int)kind, k, error);
        return REQUEST(kind, later, error, k);
}

void w_inject_once(enum w_os_call kind, uint32_t k, int error)
{
        start_anew(checked_request(kind, false, k, error));
}

void w_inject_from(enum w_os_call kind, uint32_t k, int error)
{
        start_anew(checked_request(kind, true, k, error));
}

void w_inject_off(void)
{
        start_anew(NO_KIND);
}

uint32_t w_inject_calls(enum w_os_call kind)
{
        return w_load_rlx(&n_calls[kind]);                        /* counter */
}

uint32_t w_inject_hits(void)
{
        return w_load_rlx(&n_hits);                               /* counter */
}

int w_inject_point(enum w_os_call kind)
{
        uint32_t n_kind = w_add_rlx(&n_calls[kind], 1) + 1;       /* counter */
        uint32_t n_any = w_add_rlx(&n_calls[W_CALL_ANY], 1) + 1;  /* counter */
        uint64_t asked = w_load_rlx(&request);                    /* counter: see start_anew */
        uint32_t asked_kind = asked & 0xff;
        uint32_t k = (uint32_t)(asked >> 32);
        bool     later = asked >> 8 & 1;

        if (asked_kind != (uint32_t)kind && asked_kind != W_CALL_ANY)
                return 0;
        uint32_t n = asked_kind == W_CALL_ANY ? n_any : n_kind;
        if (n != k && !(later && n > k))
                return 0;
        w_add_rlx(&n_hits, 1);                                    /* counter */
        return -(int)(asked >> 16 & 0xffff);
}

#endif

/* Release builds leave this file empty, which ISO C does not allow. */
typedef int w_inject_not_empty;
