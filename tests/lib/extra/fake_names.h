/* tests/lib/extra/fake_names.h - a resolver for tests, which is called before the C library's
 * resolver.
 *
 * It knows names that end in ".fake". All other names go to the library. A test that uses it names
 * lib/extra/fake_names.c as a source: in the archive it would also serve tests that do not want it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_LIB_EXTRA_FAKE_NAMES_H
#define TESTS_LIB_EXTRA_FAKE_NAMES_H

#include "lib/net.h"

#include <dlfcn.h>
#include <netdb.h>

enum { FAKE_MAX = 8, FAKE_MARK = 0x5eed, FAKE_ASKED_MAX = 512 };

/* "slow.fake" is not answered before the first; "gate.fake" not before the second. */
extern w_atomic_u32 fake_slow_end, fake_gate_open;

/* The services that were asked for, as numbers, in the order of fake_n_calls. */
extern w_atomic_u32 fake_asked[FAKE_ASKED_MAX];
extern w_atomic_u32 fake_n_calls, fake_n_running, fake_most_running, fake_n_lists;

struct fake_entry {
        struct addrinfo         ai;
        struct sockaddr_storage sa;
};

void fake_names(uint32_t n, uint32_t a, uint32_t b, uint32_t c);

/* Until the callers have come back. */
void fake_await_none(void);

#endif
