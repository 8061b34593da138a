/* tests/sim/fd_world.h - what the scenarios with descriptors share.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_SIM_FD_WORLD_H
#define TESTS_SIM_FD_WORLD_H

#include "net/desc.h"
#include "sim/sched_world.h"

void close_well(int fd);

/* How many calls are in progress with it. */
uint32_t n_users(int fd);

#endif
