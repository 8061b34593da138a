/* os/explore/log.c - prints an execution, one line per step.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/explore/engine.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void w_ex_log_line(const char *fmt, ...)
{
        va_list args;

        va_start(args, fmt);
        vprintf(fmt, args);
        va_end(args);
        putchar('\n');
}

static const char *base_name(const char *path)
{
        const char *slash = strrchr(path, '/');

        return slash ? slash + 1 : path;
}

void w_ex_log_op_line(const char *op, enum w_order order, const struct w_site *site,
                    const char *fmt, ...)
{
        static const char *const orders[] = { "", ".acq", ".rel", ".acqrel", ".full" };
        char    what[128], name[24];
        va_list args;

        va_start(args, fmt);
        vsnprintf(what, sizeof(what), fmt, args);
        va_end(args);
        snprintf(name, sizeof(name), "%s%s", op, orders[order]);
        printf("%4d %-8s %-11s %-22s %-38s %s:%d\n", w_ex.n_steps, w_ex.cur->name, name, site->expr,
               what, base_name(site->file), site->line);
}

/* One line may need several of these buffers. */
static char *next_buffer(size_t *size)
{
        static char buffers[4][96];
        static int  at;

        *size = sizeof(buffers[0]);
        return buffers[at++ % 4];
}

static int format_value(char *out, size_t size, const struct ex_loc *l, uint64_t value)
{
        bool is_pointer = l->size == 8 && value > 0xffff;

        return snprintf(out, size, is_pointer ? "%#llx" : "%llu", (unsigned long long)value);
}

const char *w_ex_log_value(const struct ex_loc *l, uint64_t value)
{
        size_t size;
        char  *out = next_buffer(&size);

        format_value(out, size, l, value);
        return out;
}

const char *w_ex_log_read(const struct ex_loc *l, int index)
{
        size_t                 size;
        char                  *out = next_buffer(&size);
        const struct ex_store *s = &w_ex.stores[l->history[index]];
        int                    age = l->n_stores - 1 - index;
        int                    n = format_value(out, size, l, s->value);

        n += snprintf(out + n, size - (size_t)n, " by %s",
                      s->thread < 0 ? "setup" : w_ex.threads[s->thread].name);
        if (age > 0)
                snprintf(out + n, size - (size_t)n, ", STALE by %d", age);
        return out;
}
