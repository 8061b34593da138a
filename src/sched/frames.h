/* sched/frames.h - the calls that lead to a place on a stack, and lines of text about them.
 *
 * Called by   dump (goroutines that wait), blocked (one that came back late).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_FRAMES_H
#define W_SCHED_FRAMES_H

#include "base/compiler.h"

/* Follows frame pointers upwards. */
struct frames {
        const char *at;         /* the frame to look at next */
        const char *low, *end;  /* it lies in between, or the walk is over */
};

/* Where the function of the next frame returns to; NULL: the end, or nothing to go by. */
const void *w_frames_next(struct frames *f);

/* A line to fd; what does not fit into 255 bytes is lost. */
void w_line_write(int fd, const char *fmt, ...) W_PRINTF(2, 3);
/* A line for a code address, with the name of its function if the linker knows one. */
void w_frame_write(int fd, const void *pc);
/* The same for each that is left, 64 at most. */
void w_frames_write(int fd, struct frames *f);

#endif
