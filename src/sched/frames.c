/* sched/frames.c - the calls that lead to a place on a stack, as text. Contract: sched/frames.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/frames.h"

#include "arch/arch.h"
#include "base/fatal.h"
#include "os/os.h"

enum { FRAMES_MAX = 64 };

/* A frame pointer that leaves the stack or does not climb ends the walk. It may point anywhere in
 * the stack, if the code there uses it for other things. */
W_NO_SANITIZE const void *w_frames_next(struct frames *f)
{
        if (f->at < f->low || f->at + 16 > f->end)
                return NULL;
        const uintptr_t *fp = (const uintptr_t *)(const void *)f->at;

        f->low = f->at + 16;
        f->at = (const char *)fp[0];
        return w_return_address((const void *)fp[1]);
}

void w_line_write(int fd, const char *fmt, ...)
{
        char    text[256];
        va_list args;

        va_start(args, fmt);
        size_t n = w_vformat(text, sizeof(text), fmt, args);
        va_end(args);
        w_os_write(fd, text, n < sizeof(text) ? n : sizeof(text) - 1);
}

void w_frame_write(int fd, const void *pc)
{
        struct w_os_symbol symbol;

        if (!w_os_symbol_find(pc, &symbol))
                w_line_write(fd, "\t%p\n", pc);
        else if (symbol.name)
                w_line_write(fd, "\t%p %s\n", pc, symbol.name);
        else
                w_line_write(fd, "\t%p %s+0x%lx\n", pc, symbol.object,
                             (unsigned long)symbol.offset);
}

void w_frames_write(int fd, struct frames *f)
{
        const void *pc;

        for (int i = 0; i < FRAMES_MAX && (pc = w_frames_next(f)); i++)
                w_frame_write(fd, pc);
}
