/* sched/blocked.c - one report for each place at which goroutines block their threads.
 *
 * Called by   m (an entry finds that the P was taken).
 * Protocols   cites take (sched/take.c).
 *
 * It is the goroutine itself that tells, when it is back: nobody else may look at its stack and its
 * name. Where exactly it blocked is not known by then; it was after the call before and before the
 * call that it has just made, and the calls that led there are printed. Two reports are for the
 * same place if the goroutines began in the same function and came back to the same line. A
 * goroutine that never comes back is never told of.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/blocked.h"

#include "base/fatal.h"
#include "sched/frames.h"
#include "sched/sched.h"

struct report {
        struct g     *gp;
        int64_t       since;
        struct frames frames;
};

/* True once for each, as long as there is room; the run forgets them when it ends. */
static bool is_new(uintptr_t place)
{
        for (uint32_t i = 0; i < W_BLOCKED_PLACES; i++) {
                uintptr_t found = w_load_rlx(&w_sched.blocked_at[i]);     /* hint */

                if (!found && w_cas_rlx(&w_sched.blocked_at[i], &found, place))   /* hint */
                        return true;
                if (found == place)
                        return false;
        }
        return false;
}

/* From the call of weft's that the goroutine has made, the first frame, to whoever made it; when
 * its function has returned that is the same for all, so this function counts too. Never 0. */
static uintptr_t place_of(const struct report *r)
{
        struct frames at = r->frames;
        uintptr_t     inner = (uintptr_t)w_frames_next(&at);
        uintptr_t     caller = (uintptr_t)w_frames_next(&at);

        if (!caller)
                caller = inner;
        return (caller ^ (uintptr_t)w_g_cold(r->gp)->fn.plain << 16) | 1;
}

static void say(const struct report *r)
{
        const char *name = w_g_cold(r->gp)->name;
        long        ms = (long)((w_os_now() - r->since) / 1000000);

        if (name[0])
                w_say("goroutine %ld \"%s\" blocked its thread %ld ms outside a blocking region",
                      (long)r->gp->id, name, ms);
        else
                w_say("goroutine %ld blocked its thread %ld ms outside a blocking region",
                      (long)r->gp->id, ms);
}

/* On g0: a goroutine's stack may be small. */
static void report(void *arg)
{
        struct report *r = arg;

        if (!is_new(place_of(r)))
                return;
        say(r);
        w_frames_write(2, &r->frames);
        w_line_write(2, "began in\n");
        w_frame_write(2, (const void *)(uintptr_t)w_g_cold(r->gp)->fn.plain);
}

void w_blocked_report(struct m *mp, const void *frame)
{
        struct g     *gp = mp->curg;
        struct report r = { .gp = gp, .since = mp->blocked_since };

        mp->blocked_since = 0;
        if (!gp || mp->on_g0)
                return;
        r.frames = (struct frames){ .at = frame, .low = frame, .end = gp->stack->end };
        w_on_g0(report, &r);
}
