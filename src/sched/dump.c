/* sched/dump.c - weft_dump: every goroutine, as text.
 *
 * Called by   user code; the fatal report, then without stopping anything.
 *
 * The world is stopped and the text is made on g0: a goroutine's stack may be small. Waiting
 * goroutines are walked by their frame pointers, from the saved context to the entry.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/fatal.h"
#include "sched/sched.h"

#include "weft.h"

enum { FRAMES_MAX = 64 };

struct dump {
        int      fd;
        int64_t  now;
        struct g *self;
};

W_PRINTF(2, 3) static void line(const struct dump *d, const char *fmt, ...)
{
        char    text[256];
        va_list args;

        va_start(args, fmt);
        size_t n = w_vformat(text, sizeof(text), fmt, args);
        va_end(args);
        w_os_write(d->fd, text, n < sizeof(text) ? n : sizeof(text) - 1);
}

static void frame(const struct dump *d, const void *pc)
{
        struct w_os_symbol symbol;

        if (!w_os_symbol_find(pc, &symbol))
                line(d, "\t%p\n", pc);
        else if (symbol.name)
                line(d, "\t%p %s\n", pc, symbol.name);
        else
                line(d, "\t%p %s+0x%lx\n", pc, symbol.object, (unsigned long)symbol.offset);
}

/* A frame pointer that leaves the stack or does not climb ends the walk. It may point anywhere in
 * the stack, if the code there uses it for other things. */
static W_NO_SANITIZE void frames(const struct dump *d, const struct g *gp)
{
        const char  *at = gp->fiber.context.fp, *low = gp->fiber.context.sp;
        const char  *end = gp->stack->end;

        frame(d, gp->fiber.context.pc);
        for (int i = 0; i < FRAMES_MAX && at >= low && at + 16 <= end; i++) {
                const uintptr_t *fp = (const uintptr_t *)(const void *)at;

                if (!fp[1])
                        return;
                frame(d, (const void *)fp[1]);
                low = at + 16;
                at = (const char *)fp[0];
        }
}

static const char *what(const struct g *gp, enum g_state state)
{
        return state == G_WAITING ? w_wait_reason_name(gp->reason) : w_g_state_name(state);
}

static void header(const struct dump *d, const struct g *gp, enum g_state state)
{
        const struct g_cold *cold = w_g_cold(gp);
        long                 seconds = 0;

        if (state == G_WAITING && cold && cold->since)
                seconds = (long)((d->now - cold->since) / 1000000000);
        line(d, "goroutine %ld", (long)gp->id);
        if (cold && cold->name[0])
                line(d, " \"%s\"", cold->name);
        line(d, " [%s", what(gp, state));
        if (seconds > 0)
                line(d, ", %ld s", seconds);
        line(d, "]:\n");
}

static bool one(void *record, void *arg)
{
        struct g          *gp = record;
        const struct dump *d = arg;
        enum g_state       state = w_g_state(gp);

        if (!w_g_is_alive(state))
                return true;
        header(d, gp, state);
        if (gp->stack && gp != d->self && state != G_RUNNING && state != G_REGION)
                frames(d, gp);
        const struct g_cold *cold = w_g_cold(gp);
        void   *created_at = cold ? cold->created_at : gp->start.created_at;
        int64_t parent = cold ? cold->parent : gp->start.parent;

        line(d, "created in goroutine %ld by\n", (long)parent);
        frame(d, created_at);
        line(d, "\n");
        return true;
}

static void dump_all(void *arg)
{
        w_g_each(one, arg);
}

W_EXPORT void weft_dump(int fd)
{
        struct dump d = { .fd = fd, .now = w_os_now(), .self = w_g() };

        if (!w_run_is_on() || !d.self)
                return;
        W_ENTER();
        w_world_stop();
        w_on_g0(dump_all, &d);
        w_world_start();
        W_LEAVE();
}

/* Nothing can be stopped when something is already wrong; what moves meanwhile is printed as it
 * was met. */
void w_dump_fatal(void)
{
        struct dump d = { .fd = 2, .now = w_os_now(), .self = w_g() };

        if (w_run_is_on())
                dump_all(&d);
}
