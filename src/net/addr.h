/* net/addr.h - networks and addresses as programs write them. Pure: makes no system call.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_NET_ADDR_H
#define W_NET_ADDR_H

#include "os/os.h"

/* "tcp4": streams, IPv4 only. */
struct net {
        enum w_os_kind kind;
        bool           is_unix;
        bool           ip4, ip6;        /* the families that it allows */
};

/* Parses the name of a network. False: there is no such network. */
W_MUST_CHECK bool w_net_parse(const char *text, struct net *out);

enum addr_host {
        W_HOST_ANY,             /* ":80" */
        W_HOST_IP4,
        W_HOST_IP6,
        W_HOST_NAME,
        W_HOST_UNIX,
};

enum { W_NAME_MAX = 253, W_SERVICE_MAX = 63, W_ZONE_MAX = 31 };

/* The parts of an address. A text that is missing is empty. */
struct addr {
        enum addr_host host;
        uint8_t        ip[16];          /* IPv4: the first 4 bytes */
        uint16_t       port;            /* if there is no service */
        bool           abstract;        /* unix: an abstract name, not a file */
        uint8_t        n_path;
        char           path[W_OS_UNIX_MAX + 1];
        char           zone[W_ZONE_MAX + 1];
        char           name[W_NAME_MAX + 1];
        char           service[W_SERVICE_MAX + 1];
};

/* Parses an address.
 *
 * Returns
 *   0
 *   -EINVAL         not an address of that network
 *   -ENAMETOOLONG   a unix path that is too long */
W_MUST_CHECK int w_addr_parse(const struct net *net, const char *text, struct addr *out);

#endif
