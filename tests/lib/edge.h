/* tests/lib/edge.h - sockets that weft treats as edge-triggered descriptors, as if it had made
 * them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_LIB_EDGE_H
#define TESTS_LIB_EDGE_H

#include "lib/sync.h"
#include "net/desc.h"
#include "net/poll.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

/* Registers fd, as weft does with a descriptor that it has just made. */
int edge_made(int fd);

void edge_both(const int fds[2]);

void edge_unix_pair(int fds[2]);

/* Two ends of a connection over the loopback, which keeps no port in use. */
void edge_tcp_pair(int fds[2]);

void edge_close(const int fds[2]);

/* The number of calls in progress with fd. */
uint32_t edge_users(int fd);

#endif
