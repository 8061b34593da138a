/* net/listen.c - sockets that peers connect to, or send packets to.
 *
 * SPDX-License-Identifier: MIT
 */
#include "net/unix_path.h"
#include "net/poll.h"
#include "net/resolve.h"
#include "wait/wait.h"

#include "weft.h"

#include <errno.h>      /* -Exxx */

/* fd is a new socket that no other code knows. */
static int take_address(int fd, const struct w_os_addr *addr, const struct net *net, bool both,
                        struct unix_path *path)
{
        int rc = w_os_socket_bind(fd, addr, net->kind, both);

        if (rc < 0)
                return rc;
        if (path)
                w_unix_path_bound(path, addr);
        if (net->kind == W_OS_STREAM)
                rc = w_os_socket_listen(fd);
        return rc < 0 ? rc : w_desc_made(fd);
}

/* both: if addr is the IPv6 wildcard, listen for IPv4 as well. */
static int listen_on(const struct w_os_addr *addr, const struct net *net, bool both)
{
        struct unix_path *path = net->is_unix ? w_unix_path_new() : NULL;
        int fd = net->is_unix && !path ? -ENOMEM : w_os_socket_open(addr->family, net->kind);
        int rc = fd < 0 ? fd : take_address(fd, addr, net, both, path);

        if (rc < 0) {
                w_unix_path_drop(path);
                if (fd >= 0)
                        (void)w_os_fd_close(fd);
                return rc;
        }
        if (path)
                w_unix_path_give(path, fd);
        return fd;
}

/* Did it fail because there is no IPv6? */
static bool is_missing(int rc)
{
        return rc == -EAFNOSUPPORT || rc == -EADDRNOTAVAIL || rc == -EPROTONOSUPPORT ||
               rc == -ENOPROTOOPT;
}

/* A wildcard is one socket for both families; its second address, IPv4, is used only if there is no
 * IPv6. Of the addresses of a name the first that works is used; if none works, the first error is
 * returned. */
static int listen_first(struct addrs *as, const struct net *net)
{
        struct w_os_addr addr;
        int              first = 0;

        while (w_addrs_next(as, &addr)) {
                int rc = listen_on(&addr, net, net->ip4);

                if (rc >= 0)
                        return rc;
                if (as->host == W_HOST_ANY && !is_missing(rc))
                        return rc;
                first = first && as->host != W_HOST_ANY ? first : rc;
        }
        return first ? first : -EADDRNOTAVAIL;
}

static int listen_at(const struct net *net, const char *text)
{
        struct addrs as;
        int          rc = w_addrs_find(&as, net, text, W_TO_LISTEN);

        if (rc == 0)
                rc = listen_first(&as, net);
        w_addrs_end(&as);
        return rc;
}

static int listen_for(enum w_os_kind kind, const char *net_text, const char *addr_text)
{
        struct net net;

        if (!net_text || !addr_text || !w_net_parse(net_text, &net) || net.kind != kind)
                return -EINVAL;
        if (!w_call_begin())
                return -ESHUTDOWN;
        W_ENTER();
        int rc = listen_at(&net, addr_text);

        W_LEAVE();
        w_call_end();
        return rc;
}

/* ---- Public ---------------------------------------------------------------------------------- */

W_EXPORT int weft_listen(const char *net, const char *addr)
{
        return listen_for(W_OS_STREAM, net, addr);
}

W_EXPORT int weft_listen_packet(const char *net, const char *addr)
{
        return listen_for(W_OS_PACKET, net, addr);
}
