/* sched/inspect/dump_log.h - who was there, and where each was: kept until the world goes on, and
 * told then.
 *
 *   w_world_stop();
 *   w_roll_begin(&r, fd);
 *   for each goroutine: w_roll_open, w_roll_step..., w_roll_close
 *   w_world_start();
 *   w_roll_tell(&r), which may wait for whoever reads
 *   w_roll_free(&r);
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_INSPECT_DUMP_LOG_H
#define W_SCHED_INSPECT_DUMP_LOG_H

#include "sched/inspect/frames.h"

enum step_kind {
        W_STEP_CALL,            /* the address of a call that led there */
        W_STEP_MAYBE,           /* of one that may be over */
        W_STEP_UNSEEN,          /* no address: it could not be looked at */
        W_STEP_PARENT,          /* the id of who created it; where, a call, comes next */
};

struct step {
        enum step_kind kind;
        uintptr_t      value;
};

struct roll {
        struct lines       lines;
        bool               at_once;     /* nothing is kept, each step is told at once */
        bool               cut;         /* there was no memory for all */
        struct roll_chunk *first, *last;
        struct roll_entry *oldest, *newest, *open;
        size_t             n;
};

void w_roll_begin(struct roll *r, int fd);
/* Tells at once, to stderr: any context, also a signal handler. No end, and nothing to be freed. */
void w_roll_begin_at_once(struct roll *r);

/* One more, with this line. False: no memory; it is told that some are missing. */
W_MUST_CHECK bool w_roll_open(struct roll *r, const char *header, size_t n);
/* Where it is, innermost first. More than anybody has are dropped. */
void w_roll_step(struct roll *r, enum step_kind kind, uintptr_t value);
void w_roll_close(struct roll *r);

/* Writes it, equal steps once, below the lines of all that have them. Waits as long as the
 * descriptor does; if that does not wait, a second for whoever reads. */
void w_roll_tell(struct roll *r);
void w_roll_free(struct roll *r);

#endif
