/* os/socket.h - CONTRACT: sockets and their addresses.
 *
 * The rules for every call are in os/os.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_OS_SOCKET_H
#define W_OS_SOCKET_H

#include "base/compiler.h"

#include <stdbool.h>

/* ---- Addresses ------------------------------------------------------------------------------- */

enum w_os_family { W_OS_IP4, W_OS_IP6, W_OS_UNIX };
enum w_os_kind { W_OS_STREAM, W_OS_PACKET };

/* Bytes. W_OS_UNIX_MAX includes the first byte of an abstract name. */
enum { W_OS_UNIX_MAX = 107, W_OS_PATH_MAX = 4096 };

/* The address of a socket; the bytes are in the system's own form. */
struct w_os_addr {
        enum w_os_family family;
        uint32_t         len;
        uint64_t         bytes[16];
};

void w_os_addr_ip4(struct w_os_addr *out, const uint8_t ip[4], uint16_t port);
/* zone: the number of a network interface, or 0. */
void w_os_addr_ip6(struct w_os_addr *out, const uint8_t ip[16], uint32_t zone, uint16_t port);
/* n: at most W_OS_UNIX_MAX. abstract: the path is a name in the abstract namespace, not a file. */
void w_os_addr_unix(struct w_os_addr *out, const char *path, size_t n, bool abstract);

/* The number of the network interface of that name, above 0; -ENODEV. */
W_MUST_CHECK int w_os_zone_find(const char *name);

/* The file that a unix socket was bound to. find: -ENOENT, -ENAMETOOLONG and others: unknown.
 * remove: removes the file, unless another file has the path by now. */
struct w_os_unix_file {
        uint64_t device, number;
        char     path[W_OS_PATH_MAX];
};
W_MUST_CHECK int w_os_unix_file_find(const struct w_os_addr *addr, struct w_os_unix_file *out);
void w_os_unix_file_remove(const struct w_os_unix_file *file);

/* ---- Sockets --------------------------------------------------------------------------------- */

/* Makes a non-blocking socket that exec closes. -EAFNOSUPPORT: the system has no addresses of that
 * family; -EMFILE, -ENFILE, -ENOMEM, -ENOBUFS. */
W_MUST_CHECK int w_os_socket_open(enum w_os_family family, enum w_os_kind kind);

/* A stream may take an address that old connections of other sockets still have. both: the IPv6
 * wildcard address accepts IPv4 as well. -EADDRINUSE, -EADDRNOTAVAIL, -EACCES and others. */
W_MUST_CHECK int w_os_socket_bind(int fd, const struct w_os_addr *addr, enum w_os_kind kind,
                                  bool both);
W_MUST_CHECK int w_os_socket_listen(int fd);

/* Tells whether the descriptor's flags let the call wait: 1, 0, -EBADF. */
enum w_os_waiting { W_OS_ACCEPTING, W_OS_CONNECTING };
W_MUST_CHECK int w_os_socket_waits(int fd, enum w_os_waiting call);
/* As accept(2). The new socket is non-blocking, is closed by exec, and has the kind and the options
 * of fd. */
W_MUST_CHECK int w_os_socket_accept(int fd);
void w_os_socket_no_delay(int fd);      /* TCP only: sends small pieces at once */
/* As connect(2), called again: -EALREADY while the connection is being made, then once 0 or the
 * error. A blocking call is never interrupted. */
W_MUST_CHECK int w_os_socket_connect(int fd, const void *addr, uint32_t len);
/* Tells whether a stream is connected with itself, as happens when both ends connect to each other
 * on one machine. */
W_MUST_CHECK bool w_os_socket_is_self_connected(int fd);
/* Ends every call that is under way on the socket, and its connection. */
void w_os_socket_shut(int fd);

#endif
