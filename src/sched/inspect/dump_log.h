/* sched/inspect/dump_log.h - a dump in memory: all goroutines and where each of them was. It is
 * recorded while the world is stopped and written afterwards.
 *
 *   w_world_stop();
 *   w_dump_log_begin(&r, fd);
 *   for each goroutine: w_dump_log_open, w_dump_log_add..., w_dump_log_close
 *   w_world_start();
 *   w_dump_log_write(&r), which may wait for the reader of fd
 *   w_dump_log_free(&r);
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_INSPECT_DUMP_LOG_H
#define W_SCHED_INSPECT_DUMP_LOG_H

#include "sched/inspect/frames.h"

enum dump_frame_kind {
        W_DUMP_CALL,            /* the address of a call that led to the place */
        W_DUMP_MAYBE,           /* the address of a call that may be over */
        W_DUMP_UNSEEN,          /* no address: the goroutine runs, and no backtrace is available */
        W_DUMP_PARENT,          /* the id of the creator; a CALL with the place follows */
};

struct dump_frame {
        enum dump_frame_kind kind;
        uintptr_t            value;
};

struct dump_log {
        struct lines           lines;
        bool                   unbuffered;      /* records nothing, writes each frame at once */
        bool                   cut;             /* there was no memory for all entries */
        struct dump_log_chunk *first, *last;
        struct dump_log_entry *oldest, *newest, *open;
        size_t                 n;
};

void w_dump_log_begin(struct dump_log *r, int fd);
/* Writes to stderr at once. Needs no write and no free. Context: any, also a signal handler. */
void w_dump_log_begin_unbuffered(struct dump_log *r);

/* Begins an entry with this header line. False: no memory; the output will say that entries are
 * missing. */
W_MUST_CHECK bool w_dump_log_open(struct dump_log *r, const char *header, size_t n);
/* Adds a frame, innermost first. Frames beyond a limit that no backtrace reaches are dropped. */
void w_dump_log_add(struct dump_log *r, enum dump_frame_kind kind, uintptr_t value);
void w_dump_log_close(struct dump_log *r);

/* Writes the log. Equal lists of frames are written once, below the headers of all entries that
 * have them. A write to a blocking descriptor waits as long as the kernel makes it wait. For a
 * nonblocking descriptor that is full, the call waits for a second at most. */
void w_dump_log_write(struct dump_log *r);
void w_dump_log_free(struct dump_log *r);

#endif
