/* sched/inspect/frames.c - walks frame pointers, and writes code addresses as text. Contract:
 * sched/inspect/frames.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/inspect/frames.h"

#include "arch/arch.h"
#include "base/fatal.h"
#include "os/os.h"

#include <string.h>

enum { ERR_TIMEOUT_NS = 20000000 };

/* A frame pointer that leaves the stack or does not climb ends the walk. It may be any number, if
 * code uses the register for other things. So nothing is added to it before the comparison: -1
 * would become a small number. */
W_NO_SANITIZE const void *w_frames_next(struct frames *f)
{
        if ((uintptr_t)f->at < (uintptr_t)f->low || (uintptr_t)f->at > (uintptr_t)f->end - 16)
                return NULL;
        const uintptr_t *fp = (const uintptr_t *)(const void *)f->at;

        f->low = f->at + 16;
        f->at = (const char *)fp[0];
        return w_return_address((const void *)fp[1]);
}

struct lines w_lines_err(void)
{
        return (struct lines){ .fd = 2, .timeout = ERR_TIMEOUT_NS };
}

/* After a failed write, an unbuffered stream tries the next line again: that line may still get
 * through. */
static void write_out(struct lines *to, const char *text, size_t n)
{
        if (!to->lost && !w_os_write(to->fd, text, n, to->timeout))
                to->lost = to->buf != NULL;
}

void w_lines_flush(struct lines *to)
{
        if (to->n)
                write_out(to, to->buf, to->n);
        to->n = 0;
}

void w_text_write(struct lines *to, const char *text, size_t n)
{
        if (to->n + n > to->room)
                w_lines_flush(to);
        if (n > to->room) {
                write_out(to, text, n);
                return;
        }
        memcpy(to->buf + to->n, text, n);
        to->n += n;
}

void w_line_write(struct lines *to, const char *fmt, ...)
{
        char    text[W_LINE_BYTES];
        va_list args;

        va_start(args, fmt);
        size_t n = w_vformat(text, sizeof(text), fmt, args);
        va_end(args);
        w_text_write(to, text, n < sizeof(text) ? n : sizeof(text) - 1);
}

/* symbol: NULL if no symbol is known. */
static void write_frame(struct lines *to, const void *pc, const struct w_os_symbol *symbol,
                        bool maybe)
{
        const char *end = maybe ? " ?" : "";

        if (!symbol)
                w_line_write(to, "\t%p%s\n", pc, end);
        else if (symbol->name)
                w_line_write(to, "\t%p %s%s\n", pc, symbol->name, end);
        else
                w_line_write(to, "\t%p %s+0x%lx%s\n", pc, symbol->object,
                             (unsigned long)symbol->offset, end);
}

static void write_named(struct lines *to, const void *pc, bool maybe)
{
        struct w_os_symbol symbol;

        write_frame(to, pc, w_os_symbol_find(pc, &symbol) ? &symbol : NULL, maybe);
}

void w_frame_write(struct lines *to, const void *pc)
{
        write_named(to, pc, false);
}

void w_frame_write_maybe(struct lines *to, const void *pc)
{
        write_named(to, pc, true);
}

void w_frame_write_unnamed(struct lines *to, const void *pc, bool maybe)
{
        struct w_os_symbol symbol;

        write_frame(to, pc, w_os_code_find(pc, &symbol) ? &symbol : NULL, maybe);
}

void w_frames_write(struct lines *to, struct frames *f)
{
        const void *pc;

        for (int i = 0; i < W_FRAMES_MAX && (pc = w_frames_next(f)); i++)
                w_frame_write(to, pc);
}
