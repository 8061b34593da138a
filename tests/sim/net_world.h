/* tests/sim/net_world.h - what the scenarios with sockets share.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_SIM_NET_WORLD_H
#define TESTS_SIM_NET_WORLD_H

#include "sched/thread/netpoll.h"
#include "sim/fd_world.h"

#include <errno.h>      /* -Exxx */

enum { NET_TEXT = 40 };

int net_listen(uint32_t *port);

/* An address to which the network behaves in that way. */
void net_where(char *out, int way, uint32_t port);

/* Waits until the servers have seen the end, and checks that nothing is open and that no waiter is
 * counted. */
void net_quiet(void);

#endif
