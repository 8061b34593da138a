/* os/names.h - CONTRACT: the resolver: names of hosts and services.
 *
 * The rules for every call are in os/os.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_OS_NAMES_H
#define W_OS_NAMES_H

#include "os/socket.h"

enum { W_OS_NODE_MAX = 1024, W_OS_SERVICE_MAX = 63 };

/* The question to getaddrinfo(3), with its constants. */
struct w_os_lookup {
        bool has_node, has_service, has_hints;
        int  flags, family, kind, protocol;
        char node[W_OS_NODE_MAX + 1];
        char service[W_OS_SERVICE_MAX + 1];
};

/* The answer: 0 or EAI_*; errno, if rc is EAI_SYSTEM; the list for freeaddrinfo(3), or NULL. */
struct w_os_answer {
        int   rc, error;
        void *list;
};

/* Waits as long as it takes, and needs a thread's own stack. */
void w_os_lookup_run(const struct w_os_lookup *ask, struct w_os_answer *out);
/* list may be NULL. */
void w_os_lookup_free(void *list);

/* Restricts the question to IP addresses for sockets of that kind. */
void w_os_lookup_hint(struct w_os_lookup *ask, enum w_os_kind kind, bool ip4, bool ip6);
/* The answer as a result code.
 *
 * Returns
 *    0               there are addresses
 *   -ENOENT          no such name
 *   -EADDRNOTAVAIL   no address of the families in the question
 *   -EINVAL          no such service
 *   -EAGAIN          no server answered
 *   -ENOMEM
 *   -Exxx            errno of the lookup; -EIO for any other failure */
W_MUST_CHECK int w_os_lookup_error(const struct w_os_answer *answer);
/* The family and the port of the first address. */
enum w_os_family w_os_lookup_family(const void *list);
uint16_t w_os_lookup_port(const void *list);
/* Writes the next address of that family behind *at (NULL: the first) to *out. False: there is no
 * further address. */
W_MUST_CHECK bool w_os_lookup_next(const void *list, const void **at, enum w_os_family family,
                                   struct w_os_addr *out);

#endif
