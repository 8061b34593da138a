/* sched/retake.c - a duty of the monitor: Ps go from those who are outside for long to those who
 * wait.
 *
 * Called by   sysmon.
 * Protocols   cites take (sched/take.c), idle (sched/idle.c).
 *
 * An M is suspect if it was at the same place outside at two looks: 20 us apart in a blocking
 * region, 10 ms apart in any other code. It keeps its P if nobody needs it: with an idle P or a
 * looker about, whatever waits will be found by others.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/sched.h"
#include "sched/sysmon.h"
#include "sched/take.h"

#include "weft.h"

enum { REGION_NS = 20000, OUTSIDE_NS = 10000000 };

/* ---- Whom ------------------------------------------------------------------------------------ */

static bool somebody_looks(void)
{
        return w_load_rlx(&w_sched.n_idle_p) != 0 ||              /* hint */
               w_load_rlx(&w_sched.n_spinning) != 0;              /* hint */
}

static bool is_needed(struct p *pp, int64_t now)
{
        return w_load_rlx(&w_sched.n_globq) != 0 || !w_p_has_no_work(pp) ||     /* hint */
               w_timers_next_at(&pp->timers) <= now;
}

/* How long it was outside without a break, as far as it was looked at; 0 if it is inside. */
static int64_t time_outside(struct p *pp, int64_t now)
{
        struct watch *w = &pp->watch;
        struct m     *mp = w_load_acq(&pp->m);                    /* [TK3] records stay mapped */
        uint32_t      mark = mp ? w_load_rlx(&mp->mark) : W_MARK_INSIDE;        /* hint */

        if (mp != w->m || mark != w->mark) {
                *w = (struct watch){ .m = mp, .mark = mark, .since = now };
                return 0;
        }
        return w_mark_is_outside(mark) ? now - w->since : 0;
}

static bool is_suspect(struct p *pp, int64_t now)
{
        int64_t outside = time_outside(pp, now);
        bool    region = pp->watch.mark & W_MARK_REGION;

        if (!region && w_sched.config.preempt == WEFT_PREEMPT_OFF)
                return false;
        return outside >= (region ? REGION_NS : OUTSIDE_NS) && is_needed(pp, now);
}

/* Asks at most half of the Ms: if all of them seem to hang it may be the machine. */
static uint32_t ask_suspects(int64_t now)
{
        uint32_t n = 0, limit = (w_sched.n_procs + 1) / 2;

        w_lock(&w_sched.lock);
        for (uint32_t i = 0; i < w_sched.n_procs; i++) {
                struct p *pp = w_sched.all_p[i];

                if (is_suspect(pp, now) && n < limit && w_take_ask_locked(pp))
                        n++;
        }
        w_unlock(&w_sched.lock);
        return n;
}

/* ---- Taking ---------------------------------------------------------------------------------- */

static bool take_one(struct p *pp)
{
        w_lock(&w_sched.lock);
        bool taken = pp->asked && w_take_finish_locked(pp, pp->watch.mark);

        if (taken)
                w_hand_off_unlock(pp);
        else
                w_unlock(&w_sched.lock);
        return taken;
}

static uint32_t take_asked(void)
{
        uint32_t n = 0;

        w_take_barrier();
        for (uint32_t i = 0; i < w_sched.n_procs; i++)
                n += take_one(w_sched.all_p[i]);
        return n;
}

uint32_t w_retake(int64_t now, bool rested)
{
        bool     look = false;
        uint32_t n = 0;

        for (uint32_t i = 0; i < w_sched.n_procs; i++)
                look |= is_suspect(w_sched.all_p[i], now);
        if (!rested)
                for (uint32_t i = 0; i < w_sched.n_procs; i++)
                        w_sched.all_p[i]->watch.since = now;
        if (!look || !rested || somebody_looks())
                return 0;
        w_take_begin();
        if (ask_suspects(now))
                n = take_asked();
        w_take_end();
        return n;
}
