/* tests/lib/own.h - sockets that weft treats as descriptors that it made itself.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_LIB_OWN_H
#define TESTS_LIB_OWN_H

#include "lib/sync.h"
#include "net/desc.h"
#include "net/poll.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

/* Registers fd, as weft does with a descriptor that it has just made. */
int own_made(int fd);

void own_both(const int fds[2]);

void own_unix_pair(int fds[2]);

/* Two ends of a connection over the loopback, which leaves no port behind. */
void own_tcp_pair(int fds[2]);

void own_close(const int fds[2]);

/* The number of calls in progress with fd. */
uint32_t own_users(int fd);

#endif
