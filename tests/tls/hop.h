/* tests/tls/hop.h - what one build of the matrix found.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_TLS_HOP_H
#define TESTS_TLS_HOP_H

/* How often a thread-derived value belonged to the previous thread, of `hops` migrations. */
struct stale {
        int hops;
        int weft;       /* w_self(): must be 0 */
        int tls;        /* the address of a thread-local variable */
        int err;        /* the address of errno */
        int self;       /* pthread_self() */
};

#define TLS_EXPORT __attribute__((visibility("default")))

/* A fiber hops between the calling thread and a second one. */
TLS_EXPORT struct stale tls_hop(void);

#endif
