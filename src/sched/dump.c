/* sched/dump.c - weft_dump: every goroutine, as text.
 *
 * Called by   user code; the fatal report, then without stopping anything.
 *
 * The world is stopped and the text is made on g0: a goroutine's stack may be small. Waiting
 * goroutines are walked by their frame pointers, from the saved context to the entry.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/frames.h"
#include "sched/sched.h"

#include "weft.h"

struct dump {
        int      fd;
        int64_t  now;
        struct g *self;
};

static void frames(const struct dump *d, const struct g *gp)
{
        struct frames f = { .at = gp->fiber.context.fp, .low = gp->fiber.context.sp,
                            .end = gp->stack->end };

        w_frame_write(d->fd, gp->fiber.context.pc);
        w_frames_write(d->fd, &f);
}

/* Uninstrumented, as what follows: the fatal report stops nobody, and a goroutine that has lost its
 * P is not stopped ever. What moves meanwhile is printed as it was met. */
static W_NO_SANITIZE const char *what(const struct g *gp, enum g_state state)
{
        return state == G_WAITING ? w_wait_reason_name(gp->reason) : w_g_state_name(state);
}

static W_NO_SANITIZE void header(const struct dump *d, const struct g *gp, enum g_state state)
{
        const struct g_cold *cold = w_g_cold(gp);
        long                 seconds = 0;

        if (state == G_WAITING && cold && cold->since)
                seconds = (long)((d->now - cold->since) / 1000000000);
        w_line_write(d->fd, "goroutine %ld", (long)gp->id);
        if (cold && cold->name[0])
                w_line_write(d->fd, " \"%s\"", cold->name);
        w_line_write(d->fd, " [%s", what(gp, state));
        if (seconds > 0)
                w_line_write(d->fd, ", %ld s", seconds);
        w_line_write(d->fd, "]:\n");
}

static W_NO_SANITIZE bool one(void *record, void *arg)
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

        w_line_write(d->fd, "created in goroutine %ld by\n", (long)parent);
        w_frame_write(d->fd, created_at);
        w_line_write(d->fd, "\n");
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
