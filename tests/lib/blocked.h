/* tests/lib/blocked.h - runs a child in which goroutines block, and reads its reports.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_LIB_BLOCKED_H
#define TESTS_LIB_BLOCKED_H

#include "lib/sync.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern w_atomic_u32 blocked_go_on, blocked_n_pings, blocked_n_at_it;
extern int          blocked_ends[2];

/* Runs fn(arg) in a child process; its stderr is in `said`. */
void blocked_run_child(void (*fn)(void *), void *arg, char *said, size_t size);

int blocked_count(const char *text, const char *what);

void blocked_ping(void *arg);

#endif
