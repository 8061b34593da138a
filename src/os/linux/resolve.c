/* os/linux/resolve.c - names of hosts and services, by libc's resolver. Contract: os/names.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/os.h"

#include "os/linux/errno_call.h"

#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

void w_os_lookup_run(const struct w_os_lookup *ask, struct w_os_answer *out)
{
        struct addrinfo  hints = { .ai_flags = ask->flags, .ai_family = ask->family,
                                   .ai_socktype = ask->kind, .ai_protocol = ask->protocol };
        struct addrinfo *list = NULL;
        int              saved = errno;
        int              rc = getaddrinfo(ask->has_node ? ask->node : NULL,
                                          ask->has_service ? ask->service : NULL,
                                          ask->has_hints ? &hints : NULL, &list);

        *out = (struct w_os_answer){ rc, rc == EAI_SYSTEM ? errno : 0, rc == 0 ? list : NULL };
        errno = saved;
}

void w_os_lookup_free(void *list)
{
        if (list)
                freeaddrinfo(list);
}

void w_os_lookup_hint(struct w_os_lookup *ask, enum w_os_kind kind, bool ip4, bool ip6)
{
        ask->has_hints = true;
        ask->family = ip4 && ip6 ? AF_UNSPEC : ip4 ? AF_INET : AF_INET6;
        ask->kind = kind == W_OS_STREAM ? SOCK_STREAM : SOCK_DGRAM;
}

int w_os_lookup_error(const struct w_os_answer *answer)
{
        switch (answer->rc) {
        case 0:
                return 0;
        case EAI_NONAME:
                return -ENOENT;
        case EAI_NODATA:
        case EAI_ADDRFAMILY:
        case EAI_FAMILY:
                return -EADDRNOTAVAIL;
        case EAI_SERVICE:
                return -EINVAL;
        case EAI_AGAIN:
                return -EAGAIN;
        case EAI_MEMORY:
                return -ENOMEM;
        case EAI_SYSTEM:
                return answer->error > 0 ? -answer->error : -EIO;
        default:
                return -EIO;
        }
}

enum w_os_family w_os_lookup_family(const void *list)
{
        return ((const struct addrinfo *)list)->ai_family == AF_INET6 ? W_OS_IP6 : W_OS_IP4;
}

/* The port has the same offset in both families. */
uint16_t w_os_lookup_port(const void *list)
{
        struct sockaddr_in in;

        memcpy(&in, ((const struct addrinfo *)list)->ai_addr, sizeof(in));
        return ntohs(in.sin_port);
}

bool w_os_lookup_next(const void *list, const void **at, enum w_os_family family,
                      struct w_os_addr *out)
{
        const struct addrinfo *ai = *at;
        int                    wanted = family == W_OS_IP4 ? AF_INET : AF_INET6;

        for (ai = ai ? ai->ai_next : list; ai; ai = ai->ai_next) {
                if (ai->ai_family != wanted || ai->ai_addrlen > sizeof(out->bytes))
                        continue;
                *out = (struct w_os_addr){ .family = family, .len = ai->ai_addrlen };
                memcpy(out->bytes, ai->ai_addr, ai->ai_addrlen);
                *at = ai;
                return true;
        }
        return false;
}
