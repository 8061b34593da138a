/* tests/lib/net.h - what the tests of sockets share.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_LIB_NET_H
#define TESTS_LIB_NET_H

#include "lib/sync.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { NET_TEXT = 128 };

bool net_has_ip6(void);

/* The port that fd is bound to. */
int net_port(int fd);

/* Listens, which must succeed, and stores the address. */
int net_listen(const char *net, const char *addr, char *where);

/* A port of the loopback interface without a listener, reserved until fd is closed. */
int net_refused_port(int *fd);

/* A name for a file of this process. */
void net_path(char *out, const char *what);

/* A listener at addr:port (0: any) with a full queue: a connect waits. Fills both descriptors; the
 * second fills the queue. Returns the port. */
int net_full_listener(uint32_t addr, int port, int fds[2]);

void net_close(int fd);

/* How many sockets are open; weft's own descriptors are none. */
int net_sockets(void);

bool net_exists(const char *path);

/* A process of its own, without weft, which runs peer(in, out) on two pipes. fds[0] comes from it,
 * fds[1] goes to it. */
pid_t net_fork(void (*peer)(int in, int out), int fds[2]);

#endif
