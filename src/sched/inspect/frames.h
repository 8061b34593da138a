/* sched/inspect/frames.h - the calls that lead to a place on a stack, and lines of text about them.
 *
 * Called by   dump (goroutines that wait), roll (what it tells), calls, blocked.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_INSPECT_FRAMES_H
#define W_SCHED_INSPECT_FRAMES_H

#include "base/compiler.h"

#include <stdbool.h>

enum { W_FRAMES_MAX = 64 };     /* of one stack, that are told */

/* Follows frame pointers upwards. */
struct frames {
        const char *at;         /* the frame to look at next */
        const char *low, *end;  /* it lies in between, or the walk is over */
};

/* Where the function of the next frame returns to; NULL: the end, or nothing to go by. */
const void *w_frames_next(struct frames *f);

enum { W_LINE_BYTES = 256 };    /* of a line, with a terminator: what does not fit is lost */

/* Where lines go: to fd, each at once or, with a buffer, when that is full and at the flush. */
struct lines {
        int     fd;
        int64_t timeout;         /* ns, see w_os_write */
        char   *buf;            /* NULL: at once */
        size_t  n, room;        /* room: 0 without one */
        bool    lost;           /* nobody takes them any more, and none is written */
};

void w_line_write(struct lines *to, const char *fmt, ...) W_PRINTF(2, 3);
/* The same for text of any length. */
void w_text_write(struct lines *to, const char *text, size_t n);
void w_lines_flush(struct lines *to);
/* For those that cannot wait: to stderr, each at once. */
struct lines w_lines_err(void);

/* A line for a code address, with the name of its function if the linker knows one. */
void w_frame_write(struct lines *to, const void *pc);
/* The same with a question mark. */
void w_frame_write_maybe(struct lines *to, const void *pc);
/* Either of them without names of functions, and without a lock of the linker's. */
void w_frame_write_unnamed(struct lines *to, const void *pc, bool maybe);
/* The first for each that is left, W_FRAMES_MAX at most. */
void w_frames_write(struct lines *to, struct frames *f);

#endif
