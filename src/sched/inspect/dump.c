/* sched/inspect/dump.c - weft_dump: every goroutine, as text.
 *
 * The world is stopped. Everything to report is recorded in a log (sched/inspect/dump_log.c), on
 * g0, because a goroutine's stack may be small. The stacks of waiting goroutines are walked by
 * their frame pointers, from the saved context to the entry. The threads of goroutines that run
 * without a P are frozen until their backtraces are copied (sched/run/freeze.c); they run again
 * while the copies are logged. The log is written after the world has started, in a blocking
 * region: the reader of the output may be a goroutine, or there may be no reader.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/inspect/dump.h"

#include "base/fatal.h"
#include "sched/inspect/dump_log.h"
#include "sched/inspect/frames.h"
#include "sched/run/foreign.h"
#include "sched/run/freeze.h"
#include "sched/run/run.h"
#include "sched/run/world.h"
#include "sched/sched.h"
#include "sched/switch.h"
#include "weft.h"

struct dump {
        int             fd;
        struct dump_log log;
        int64_t         now;
        struct g       *self;
        bool            hide_self;
        struct freeze  *freeze;         /* NULL: no thread was frozen */
        const char     *frame;          /* without a freeze: the frame of the caller */
};

/* ---- One goroutine --------------------------------------------------------------------------- */

/* Uninstrumented, as the functions below: the fatal report stops no thread, and the stop of the
 * world does not stop a goroutine without a P. Values that change meanwhile are printed as they
 * were read. */
static W_NO_SANITIZE void log_frames_from(struct dump *d, struct frames f)
{
        const void *pc;

        for (int i = 0; i < W_FRAMES_MAX && (pc = w_frames_next(&f)); i++)
                w_dump_log_add(&d->log, W_DUMP_CALL, (uintptr_t)pc);
}

static W_NO_SANITIZE void log_frames(struct dump *d, const struct g *gp)
{
        const struct w_context *c = &gp->fiber.context;

        w_dump_log_add(&d->log, W_DUMP_CALL, (uintptr_t)c->pc);
        log_frames_from(d, (struct frames){ .at = c->fp, .low = c->sp, .end = gp->stack->end });
}

static W_NO_SANITIZE const char *state_name(const struct g *gp, enum g_state state)
{
        return state == G_WAITING ? w_wait_reason_name(gp->reason) : w_g_state_name(state);
}

/* Copies the name byte by byte, because the function that formats it is instrumented. */
static W_NO_SANITIZE void copy_name(char name[W_NAME_BYTES], const struct g_cold *cold)
{
        for (int i = 0; i < W_NAME_BYTES - 1; i++)
                name[i] = cold ? ((const volatile char *)cold->name)[i] : '\0';
        name[W_NAME_BYTES - 1] = '\0';
}

static W_NO_SANITIZE bool open_entry(struct dump *d, const struct g *gp, enum g_state state)
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
                            name[0] ? " " : "", quote, name, quote, state_name(gp, state), since,
                            gp->locked ? ", locked to thread" : "");

        return w_dump_log_open(&d->log, text, n < sizeof(text) ? n : sizeof(text) - 1);
}

/* NULL: no M ran gp without a P when the freeze began, or gp's M does not run it any more. */
static const struct frozen_m *find_frozen(const struct dump *d, const struct g *gp)
{
        for (uint32_t i = 0; i < d->freeze->n; i++)
                if (d->freeze->ms[i].g == gp)
                        return &d->freeze->ms[i];
        return NULL;
}

/* In a call of weft_blocking the outer frames are on the goroutine's own stack. They are logged
 * after the frames on g0. */
static W_NO_SANITIZE void log_running(struct dump *d, const struct g *gp)
{
        const struct frozen_m *fm = find_frozen(d, gp);

        if (!fm || !w_frozen_m_write(&d->log, fm))
                w_dump_log_add(&d->log, W_DUMP_UNSEEN, 0);
        else if (fm->m->on_g0 && fm->m->curg == gp)
                log_frames(d, gp);
}

/* For the fatal report: the goroutine that called it is at fault, so its frames are logged. A call
 * of weft_blocking runs on the thread's own stack; then the frames of the caller of weft_blocking
 * are logged. On a signal stack nothing is logged. */
static W_NO_SANITIZE void log_caller(struct dump *d, const struct g *gp)
{
        const struct stack *stack = gp->stack;

        if (d->frame >= stack->low && d->frame < stack->end)
                log_frames_from(d, (struct frames){ .at = d->frame, .low = d->frame,
                                                    .end = stack->end });
        else if (w_m()->on_g0)
                log_frames(d, gp);
}

static W_NO_SANITIZE void log_created(struct dump *d, const struct g *gp)
{
        const struct g_cold *cold = w_g_cold(gp);
        void   *created_at = cold ? cold->created_at : gp->start.created_at;
        int64_t parent = cold ? cold->parent : gp->start.parent;

        w_dump_log_add(&d->log, W_DUMP_PARENT, (uintptr_t)parent);
        w_dump_log_add(&d->log, W_DUMP_CALL, (uintptr_t)created_at);
}

static W_NO_SANITIZE bool log_g(void *record, void *arg)
{
        struct g    *gp = record;
        struct dump *d = arg;
        enum g_state state = w_g_state(gp);

        if (!w_g_is_alive(state) || (d->hide_self && gp == d->self))
                return true;
        if (!open_entry(d, gp, state))
                return false;
        bool runs = state == G_RUNNING || state == G_REGION || state == G_PREEMPTED;

        if (runs && gp != d->self && d->freeze)
                log_running(d, gp);
        else if (gp->stack && (!runs || (gp == d->self && d->freeze)))
                log_frames(d, gp);
        else if (gp->stack && gp == d->self)
                log_caller(d, gp);
        log_created(d, gp);
        w_dump_log_close(&d->log);
        return true;
}

/* ---- All goroutines -------------------------------------------------------------------------- */

/* While threads are frozen, calls nothing that could need a lock of the program. */
static void copy_running(struct freeze *f)
{
        w_os_code_learn();
        w_freeze_begin(f);
        for (uint32_t i = 0; i < f->n; i++)
                w_frozen_m_take(&f->ms[i]);
        w_freeze_end(f);
}

static void collect(void *arg)
{
        struct dump  *d = arg;
        struct freeze f;

        w_dump_log_begin(&d->log, d->fd);
        copy_running(&f);
        d->freeze = &f;
        d->now = w_os_now();
        w_g_each(log_g, d);
        w_freeze_free(&f);
}

static void write_log(void *arg)
{
        struct dump *d = arg;

        w_dump_log_write(&d->log);
        w_dump_log_free(&d->log);
}

/* A run that ends drops goroutines that wait for a P. So a goroutine must not wait for a P while it
 * has a log to free: the log is freed in the blocking region. A foreign thread leaves the run
 * before it writes. */
static void dump(int fd, bool hide_self)
{
        struct dump d = { .fd = fd, .self = w_g(), .hide_self = hide_self };

        if (!w_foreign_enter())
                return;
        W_ENTER();
        bool stopped = w_world_stop();

        if (stopped) {
                w_on_g0(collect, &d);
                w_world_start();
        }
        w_foreign_exit();
        int rc = stopped ? weft_blocking(write_log, &d) : 0;

        (void)rc;       /* fails only without a function to call */
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

/* Stops nothing, because something is already wrong. Values that change meanwhile are printed as
 * they were read. */
void w_dump_fatal(void)
{
        struct dump d = { .now = w_os_now(), .self = w_g(),
                          .frame = __builtin_frame_address(0) };

        w_dump_log_begin_unbuffered(&d.log);
        if (w_load_rlx(&w_run_phase) == RUN_ON)                   /* hint: nothing may be entered */
                w_g_each(log_g, &d);
}
