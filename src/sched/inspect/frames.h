/* sched/inspect/frames.h - the calls that lead to a place on a stack, and lines of text about them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_INSPECT_FRAMES_H
#define W_SCHED_INSPECT_FRAMES_H

#include "base/compiler.h"

#include <stdbool.h>

enum { W_FRAMES_MAX = 64 };     /* frames of one stack that are written */

/* Follows frame pointers upwards. */
struct frames {
        const char *at;         /* the next frame */
        const char *low, *end;  /* the walk ends if `at` is not in between */
};

/* Returns where the function of the next frame returns to. NULL: the end, or no valid frame. */
const void *w_frames_next(struct frames *f);

enum { W_LINE_BYTES = 256 };    /* a line with its terminator; the rest is cut off */

/* Writes lines to fd. Without a buffer each line is written at once; with a buffer, when the buffer
 * is full and at the flush. */
struct lines {
        int     fd;
        int64_t timeout;        /* ns, see w_os_write */
        char   *buf;            /* NULL: unbuffered */
        size_t  n, room;        /* of buf: used, and in total; 0 without a buffer */
        bool    lost;           /* a write failed: nothing more is written */
};

void w_line_write(struct lines *to, const char *fmt, ...) W_PRINTF(2, 3);
/* As w_line_write, for text of any length. */
void w_text_write(struct lines *to, const char *text, size_t n);
void w_lines_flush(struct lines *to);
/* For callers that cannot wait: stderr, unbuffered. */
struct lines w_lines_err(void);

/* Writes a line for a code address, with the name of its function if the linker knows one. */
void w_frame_write(struct lines *to, const void *pc);
/* As w_frame_write, with a question mark. */
void w_frame_write_maybe(struct lines *to, const void *pc);
/* As w_frame_write, or as w_frame_write_maybe if `maybe`; but without names of functions, and
 * without the linker's lock. */
void w_frame_write_unnamed(struct lines *to, const void *pc, bool maybe);
/* Calls w_frame_write for each remaining frame, W_FRAMES_MAX at most. */
void w_frames_write(struct lines *to, struct frames *f);

#endif
