/* tests/sim/pipe_world.h - pipes of the simulated machine, and what is done with both kinds:
 * foreign pipes, which other code has made, and edge-triggered pipes, which weft has made.
 *
 *   pipe_lines(sim_pipe)            a whole run, with foreign pipes
 *   pipe_lines(edge_pipe)           the same with edge-triggered pipes
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_SIM_PIPE_WORLD_H
#define TESTS_SIM_PIPE_WORLD_H

#include "sim/fd_world.h"

enum { SHORT_NS = 300000, LINE_BYTES = 14 };

/* Computes for a while, or sleeps, or both, or neither. */
void short_while(void);

/* ---- Makers of pipes ------------------------------------------------------------------------- */

/* sim_pipe is one. */
typedef void pipe_maker(int fds[2]);

/* As the functions of weft that make descriptors: 0 or -Exxx. */
W_MUST_CHECK int edge_try(int fd);
/* The same, and it must succeed. */
void edge_made(int fd);

/* Now and then the end that writes is a foreign descriptor. */
void edge_pipe(int fds[2]);
/* For runs in which calls fail: an end that cannot be edge-triggered is a foreign descriptor. */
void edge_pipe_if_possible(int fds[2]);

/* ---- Bytes through a pipe -------------------------------------------------------------------- */

struct line {
        int          fds[2];
        uint32_t     n;                 /* bytes: from 0 on, each greater by one */
        w_atomic_u32 n_read;            /* by the goroutines that share the end that reads */
};

/* Writes at most what is left of n_all bytes when `from` are gone. Returns how many. */
uint32_t write_some(int fd, uint32_t from, uint32_t n_all);
/* One byte, also without a reader. */
void write_tag(int fd, unsigned char tag);

/* Each with a struct line. All bytes, and then the end; both close their end. */
void write_all(void *line);
void read_all(void *line);
/* The same as the whole life of a foreign thread. */
void foreign_write(void *line);
void foreign_read(void *line);
/* One of several readers, until the end. */
void read_some(void *line);

/* A goroutine that reads a byte, and the value that the byte must have. */
struct reader {
        int           fd;
        unsigned char tag;
        int64_t       id;
};

/* A read of *(int *)fd that waits until the file is gone. */
void expect_gone(void *fd);
/* For runs in which calls fail. */
void close_patiently(int fd);

/* ---- Whole runs ------------------------------------------------------------------------------ */

void pipe_lines(pipe_maker *make);
void pipe_foreign(pipe_maker *make);
void pipe_share(pipe_maker *make);
void pipe_hurry(pipe_maker *make);
void pipe_next(pipe_maker *make);
/* pipe_close.c */
void pipe_close(pipe_maker *make);
void pipe_late(pipe_maker *make);
void pipe_refused(pipe_maker *make);
/* One round after the other, each with a tag of its own. */
void pipe_rounds(void (*round)(unsigned char tag));

#endif
