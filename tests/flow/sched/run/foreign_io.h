/* tests/flow/sched/run/foreign_io.h - calls of weft/io.h for the table in test_foreign.c: each by a
 * foreign thread, and a call that can wait does wait.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_FLOW_FOREIGN_IO_H
#define TESTS_FLOW_FOREIGN_IO_H

#include "lib/net.h"

#include <netdb.h>
#include <poll.h>
#include <spawn.h>
#include <sys/uio.h>
#include <sys/wait.h>

extern char **environ;

/* In a goroutine, once the thread has had time to sleep on the other end. */
void write_later(void *fd);

void foreign_bytes(void);

void foreign_file_slots(void);

void foreign_waits(void);

void foreign_packets(void);

void foreign_messages(void);

void dial(void *where);

void foreign_connections(void);

void foreign_names(void);

void foreign_children(void);

#endif
