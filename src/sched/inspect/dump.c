/* sched/inspect/dump.c - weft_dump: every goroutine, as text.
 *
 * Called by   user code, SIGQUIT; the fatal report, then without stopping anything.
 *
 * The world is stopped, and on g0, for a goroutine's stack may be small, all that is to be told is
 * put on a roll (sched/inspect/dump_log.c). Waiting goroutines are walked by their frame pointers,
 * from the saved context to the entry. Those that run, without a P, stand for as long as it takes
 * to copy where they are, see sched/run/freeze.c; they run again when that is put down. It is told
 * when all go on, in a blocking region: whoever reads it may be a goroutine, or nobody.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/fatal.h"
#include "sched/inspect/frames.h"
#include "sched/run/freeze.h"
#include "sched/inspect/dump_log.h"
#include "sched/sched.h"

#include "weft.h"

struct dump {
        int         fd;
        struct dump_log roll;
        int64_t     now;
        struct g   *self;
        bool        hide_self;
        struct freeze *freeze;          /* NULL: nobody was looked at */
        const char *frame;              /* then: self's, unless it is on another stack */
};

/* ---- One ------------------------------------------------------------------------------------- */

/* Uninstrumented, as what follows: the fatal report stops nobody, and a goroutine that has lost its
 * P is not stopped ever. What moves meanwhile is printed as it was met. */
static W_NO_SANITIZE void frames_from(struct dump *d, struct frames f)
{
        const void *pc;

        for (int i = 0; i < W_FRAMES_MAX && (pc = w_frames_next(&f)); i++)
                w_dump_log_add(&d->roll, W_DUMP_CALL, (uintptr_t)pc);
}

static W_NO_SANITIZE void frames(struct dump *d, const struct g *gp)
{
        const struct w_context *c = &gp->fiber.context;

        w_dump_log_add(&d->roll, W_DUMP_CALL, (uintptr_t)c->pc);
        frames_from(d, (struct frames){ .at = c->fp, .low = c->sp, .end = gp->stack->end });
}

static W_NO_SANITIZE const char *what(const struct g *gp, enum g_state state)
{
        return state == G_WAITING ? w_wait_reason_name(gp->reason) : w_g_state_name(state);
}

/* Byte by byte: what formats it is instrumented. */
static W_NO_SANITIZE void copy_name(char name[W_NAME_BYTES], const struct g_cold *cold)
{
        for (int i = 0; i < W_NAME_BYTES - 1; i++)
                name[i] = cold ? ((const volatile char *)cold->name)[i] : '\0';
        name[W_NAME_BYTES - 1] = '\0';
}

static W_NO_SANITIZE bool open(struct dump *d, const struct g *gp, enum g_state state)
{
        const struct g_cold *cold = w_g_cold(gp);
        char                 name[W_NAME_BYTES], text[W_LINE_BYTES], since[32] = "";
        long                 seconds = 0;

        copy_name(name, cold);
        const char *quote = name[0] ? "\"" : "";

        if (state == G_WAITING && cold && cold->since)
                seconds = (long)((d->now - cold->since) / 1000000000);
        if (seconds > 0)
                (void)w_format(since, sizeof(since), ", %ld s", seconds);
        size_t n = w_format(text, sizeof(text), "goroutine %ld%s%s%s%s [%s%s%s]:\n", (long)gp->id,
                            name[0] ? " " : "", quote, name, quote, what(gp, state), since,
                            gp->locked ? ", locked to thread" : "");

        return w_dump_log_open(&d->roll, text, n < sizeof(text) ? n : sizeof(text) - 1);
}

/* NULL: it was not there yet, or is not there any more. */
static const struct frozen_m *look_of(const struct dump *d, const struct g *gp)
{
        for (uint32_t i = 0; i < d->freeze->n; i++)
                if (d->freeze->ms[i].g == gp)
                        return &d->freeze->ms[i];
        return NULL;
}

/* The rest of the way of one that has called weft_blocking is on its own stack. */
static W_NO_SANITIZE void frames_of_running(struct dump *d, const struct g *gp)
{
        const struct frozen_m *look = look_of(d, gp);

        if (!look || !w_frozen_m_write(&d->roll, look))
                w_dump_log_add(&d->roll, W_DUMP_UNSEEN, 0);
        else if (look->m->on_g0 && look->m->curg == gp)
                frames(d, gp);
}

/* The fatal report's: whoever calls it is at fault. From a call of weft_blocking, which is on the
 * thread's own stack, its caller is told; from a signal stack nothing. */
static W_NO_SANITIZE void frames_of_caller(struct dump *d, const struct g *gp)
{
        const struct stack *stack = gp->stack;

        if (d->frame >= stack->low && d->frame < stack->end)
                frames_from(d, (struct frames){ .at = d->frame, .low = d->frame,
                                                .end = stack->end });
        else if (w_m()->on_g0)
                frames(d, gp);
}

static W_NO_SANITIZE void created(struct dump *d, const struct g *gp)
{
        const struct g_cold *cold = w_g_cold(gp);
        void   *created_at = cold ? cold->created_at : gp->start.created_at;
        int64_t parent = cold ? cold->parent : gp->start.parent;

        w_dump_log_add(&d->roll, W_DUMP_PARENT, (uintptr_t)parent);
        w_dump_log_add(&d->roll, W_DUMP_CALL, (uintptr_t)created_at);
}

static W_NO_SANITIZE bool one(void *record, void *arg)
{
        struct g    *gp = record;
        struct dump *d = arg;
        enum g_state state = w_g_state(gp);

        if (!w_g_is_alive(state) || (d->hide_self && gp == d->self))
                return true;
        if (!open(d, gp, state))
                return false;
        bool runs = state == G_RUNNING || state == G_REGION || state == G_PREEMPTED;

        if (runs && gp != d->self && d->freeze)
                frames_of_running(d, gp);
        else if (gp->stack && (!runs || (gp == d->self && d->freeze)))
                frames(d, gp);
        else if (gp->stack && gp == d->self)
                frames_of_caller(d, gp);
        created(d, gp);
        w_dump_log_close(&d->roll);
        return true;
}

/* ---- All ------------------------------------------------------------------------------------- */

/* While they stand nothing is called that could want a lock of the program's. */
static void look_at_running(struct freeze *f)
{
        w_os_code_learn();
        w_freeze_begin(f);
        for (uint32_t i = 0; i < f->n; i++)
                w_frozen_m_take(&f->ms[i]);
        w_freeze_end(f);
}

static void put_down(void *arg)
{
        struct dump  *d = arg;
        struct freeze f;

        w_dump_log_begin(&d->roll, d->fd);
        look_at_running(&f);
        d->freeze = &f;
        d->now = w_os_now();
        w_g_each(one, d);
        w_freeze_free(&f);
}

static void tell(void *arg)
{
        struct dump *d = arg;

        w_dump_log_write(&d->roll);
        w_dump_log_free(&d->roll);
}

/* A run that ends forgets goroutines that wait for a P: none does while there is a roll. A thread
 * that is not weft's has left the run before it writes. */
static void dump(int fd, bool hide_self)
{
        struct dump d = { .fd = fd, .self = w_g(), .hide_self = hide_self };

        if (!w_foreign_enter())
                return;
        W_ENTER();
        bool stopped = w_world_stop();

        if (stopped) {
                w_on_g0(put_down, &d);
                w_world_start();
        }
        w_foreign_exit();
        int rc = stopped ? weft_blocking(tell, &d) : 0;

        (void)rc;       /* there is a function to be called */
        W_LEAVE();
}

W_EXPORT void weft_dump(int fd)
{
        dump(fd, false);
}

void w_dump_hidden(int fd)
{
        dump(fd, true);
}

/* Nothing can be stopped when something is already wrong; what moves meanwhile is printed as it
 * was met. */
void w_dump_fatal(void)
{
        struct dump d = { .now = w_os_now(), .self = w_g(),
                          .frame = __builtin_frame_address(0) };

        w_dump_log_begin_unbuffered(&d.roll);
        if (w_load_rlx(&w_run_phase) == RUN_ON)                   /* hint: nothing may be entered */
                w_g_each(one, &d);
}
