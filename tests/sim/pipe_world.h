/* tests/sim/pipe_world.h - pipes of the simulated machine, and what is done with either kind of
 * them: those that others have made, and those that weft has made itself.
 *
 *   pipe_lines(sim_pipe)            a whole run, with pipes that others have made
 *   pipe_lines(own_pipe)            the same with weft's own
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

/* What weft's own functions would do that make descriptors: 0 or -Exxx. */
W_MUST_CHECK int own_try(int fd);
/* The same, and it must succeed. */
void own_made(int fd);

/* The end that writes is, now and then, somebody else's. */
void own_pipe(int fds[2]);
/* For runs in which calls fail: an end that cannot be made weft's is somebody else's. */
void own_pipe_if_possible(int fds[2]);

/* ---- Bytes through a pipe -------------------------------------------------------------------- */

struct line {
        int          fds[2];
        uint32_t     n;                 /* bytes: from 0 on, each one more than the one before */
        w_atomic_u32 n_read;            /* by those who share the end that reads */
};

/* Writes at most what is left of n_all bytes when `from` are gone. How many. */
uint32_t write_some(int fd, uint32_t from, uint32_t n_all);
/* One byte; nobody need be there to read it. */
void write_tag(int fd, unsigned char tag);

/* Each with a struct line. All bytes, and then the end; both close their end. */
void write_all(void *line);
void read_all(void *line);
/* The same as the whole life of a thread that weft does not know. */
void foreign_write(void *line);
void foreign_read(void *line);
/* One of several that read until the end. */
void read_some(void *line);

/* A goroutine that reads a byte, and which one that has to be. */
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
