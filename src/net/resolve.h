/* net/resolve.h - the addresses that a text stands for, one after the other.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_NET_RESOLVE_H
#define W_NET_RESOLVE_H

#include "net/addr.h"

/* Addresses, in the order in which they must be tried. */
struct addrs {
        enum addr_host   host;          /* what the text says */
        uint32_t         n_few, i_few;
        struct w_os_addr few[2];        /* addresses that need no lookup */
        void            *list;          /* the answer of the resolver */
        const void      *at[2];         /* by family: the last address used */
        enum w_os_family turn;
        bool             in_turn;       /* the families alternate; else `turn` goes first */
};

enum addr_use { W_TO_LISTEN, W_TO_DIAL };

/* Finds the addresses that text stands for in that network. Returns 0, or an error of the public
 * calls. The caller must call w_addrs_end in either case. Context: as w_poll_wait; may switch: yes,
 * if there is a name. */
W_MUST_CHECK int w_addrs_find(struct addrs *as, const struct net *net, const char *text,
                              enum addr_use use);
void w_addrs_end(struct addrs *as);

/* Takes the next address. False: there are no more. */
W_MUST_CHECK bool w_addrs_next(struct addrs *as, struct w_os_addr *out);
/* The number of addresses that w_addrs_next will still give. */
uint32_t w_addrs_remaining(const struct addrs *as);

#endif
