/* sched/inspect/dump_log.h - who was there, and where each was: kept until the world goes on, and
 * told then.
 *
 *   w_world_stop();
 *   w_dump_log_begin(&r, fd);
 *   for each goroutine: w_dump_log_open, w_dump_log_add..., w_dump_log_close
 *   w_world_start();
 *   w_dump_log_write(&r), which may wait for whoever reads
 *   w_dump_log_free(&r);
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_INSPECT_DUMP_LOG_H
#define W_SCHED_INSPECT_DUMP_LOG_H

#include "sched/inspect/frames.h"

enum dump_frame_kind {
        W_DUMP_CALL,            /* the address of a call that led there */
        W_DUMP_MAYBE,           /* of one that may be over */
        W_DUMP_UNSEEN,          /* no address: it could not be looked at */
        W_DUMP_PARENT,          /* the id of who created it; where, a call, comes next */
};

struct dump_frame {
        enum dump_frame_kind kind;
        uintptr_t      value;
};

struct dump_log {
        struct lines       lines;
        bool               at_once;     /* nothing is kept, each step is told at once */
        bool               cut;         /* there was no memory for all */
        struct dump_log_chunk *first, *last;
        struct dump_log_entry *oldest, *newest, *open;
        size_t             n;
};

void w_dump_log_begin(struct dump_log *r, int fd);
/* Tells at once, to stderr: any context, also a signal handler. No end, and nothing to be freed. */
void w_dump_log_begin_unbuffered(struct dump_log *r);

/* One more, with this line. False: no memory; it is told that some are missing. */
W_MUST_CHECK bool w_dump_log_open(struct dump_log *r, const char *header, size_t n);
/* Where it is, innermost first. More than anybody has are dropped. */
void w_dump_log_add(struct dump_log *r, enum dump_frame_kind kind, uintptr_t value);
void w_dump_log_close(struct dump_log *r);

/* Writes it, equal steps once, below the lines of all that have them. Waits as long as the
 * descriptor does; if that does not wait, a second for whoever reads. */
void w_dump_log_write(struct dump_log *r);
void w_dump_log_free(struct dump_log *r);

#endif
