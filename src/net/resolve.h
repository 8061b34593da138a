/* net/resolve.h - the addresses that a text stands for, one after the other.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_NET_RESOLVE_H
#define W_NET_RESOLVE_H

#include "net/addr.h"

/* In the order in which they are to be tried. */
struct addrs {
        enum addr_host   host;          /* what the text says */
        uint32_t         n_few, i_few;
        struct w_os_addr few[2];        /* what needs no name */
        void            *list;          /* what the resolver has found */
        const void      *at[2];         /* by family: how far it was tried */
        enum w_os_family turn;
        bool             in_turn;       /* else the first family first, wholly */
};

enum addr_use { W_TO_LISTEN, W_TO_DIAL };

/* What text stands for in that network: 0, or as the public calls say. What was found is given back
 * by w_addrs_end, whatever this says. Context: as w_poll_wait; may switch: yes, if there is a
 * name. */
W_MUST_CHECK int w_addrs_find(struct addrs *as, const struct net *net, const char *text,
                              enum addr_use use);
void w_addrs_end(struct addrs *as);

/* False: no more. */
W_MUST_CHECK bool w_addrs_next(struct addrs *as, struct w_os_addr *out);
/* How many w_addrs_next gives yet. */
uint32_t w_addrs_remaining(const struct addrs *as);

#endif
