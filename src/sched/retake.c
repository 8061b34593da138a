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
 * What is not in a region has not said that it may be left without a P, so it is asked why it does
 * not come back (sched/verdict.c). Who blocks loses its P; who computes does if preempt=all; who
 * gets no CPU keeps it. Where the system does not tell why, preempt=all takes it, because the
 * others must go on, and preempt=blocked does not, because code that computes was promised that
 * nobody runs beside it. With preempt=off only regions lose theirs.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/fatal.h"
#include "sched/sched.h"
#include "sched/sysmon.h"
#include "sched/take.h"
#include "sched/verdict.h"

#include "weft.h"

enum {
        REGION_NS = 20000,
        SLICE_NS = 10000000,
#if defined(W_HOOKED)
        LOST_MAX = 8,           /* an engine has few threads */
#else
        LOST_MAX = 512,         /* threads that go on without a P; then plain code keeps its own */
#endif
};

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

static bool is_region(const struct watch *w)
{
        return w->mark & W_MARK_REGION;
}

/* Who is there, and since when, as far as it was looked at. */
static void look_at(struct p *pp, int64_t now)
{
        struct watch *w = &pp->watch;
        struct m     *mp = w_load_acq(&pp->m);                    /* [TK3] records stay mapped */
        uint32_t      mark = mp ? w_load_rlx(&mp->mark) : W_MARK_INSIDE;        /* hint */

        if (mp == w->m && mark == w->mark)
                return;
        w->m = mp;
        w->mark = mark;
        w_verdict_forget(w, now);
}

static bool deserves_it(struct watch *w, int64_t now)
{
        if (w_sched.config.preempt == WEFT_PREEMPT_OFF)
                return false;
        w_verdict_update(w, now);
        return w->verdict == W_IS_BLOCKED ||
               (w_sched.config.preempt == WEFT_PREEMPT_ALL &&
                (w->verdict == W_IS_HOG || w->verdict == W_IS_UNKNOWN));
}

static bool find_out(struct p *pp, int64_t now)
{
        struct watch *w = &pp->watch;

        look_at(pp, now);
        w->suspect = w_mark_is_outside(w->mark) && is_needed(pp, now) &&
                     (is_region(w) ? now - w->since >= REGION_NS : deserves_it(w, now));
        return w->suspect;
}

/* Everyone that hangs has a thread to itself: there must be an end to it. */
static bool may_lose_locked(const struct watch *w)
{
        return is_region(w) || w_sched.n_lost < LOST_MAX;
}

/* Asks at most half of the Ms: if all of them seem to hang it may be the machine. `full`: there
 * were those who keep their Ps because too many have lost theirs. */
static uint32_t ask_suspects(bool *full)
{
        uint32_t n = 0, limit = (w_sched.n_procs + 1) / 2;

        w_lock(&w_sched.lock);
        for (uint32_t i = 0; i < w_sched.n_procs && n < limit; i++) {
                struct p *pp = w_sched.all_p[i];

                if (!pp->watch.suspect)
                        continue;
                if (!may_lose_locked(&pp->watch))
                        *full = true;
                else if (w_take_ask_locked(pp))
                        n++;
        }
        w_unlock(&w_sched.lock);
        return n;
}

static void complain_once(void)
{
        if (w_sched.too_many_lost)
                return;
        w_sched.too_many_lost = true;
        w_say("%d threads are blocked outside blocking regions, others that block will hold up "
              "goroutines", LOST_MAX);
}

/* ---- Asking for a turn ----------------------------------------------------------------------- */

/* Somebody who calls weft all the time and never waits is at a new place at each look: no P is
 * taken from it. It is asked to yield, and does so where it may: at a checkpoint, or when a region
 * ends. */
static void ask_to_yield(struct p *pp, int64_t now)
{
        struct watch *w = &pp->watch;
        uint64_t      n = w_load_rlx(&pp->stats.switches);        /* hint */

        if (n != w->n_switches || !w->m) {
                w->n_switches = n;
                w->switched_at = now;
                return;
        }
        if (now - w->switched_at < SLICE_NS || !is_needed(pp, now))
                return;
        w_or_rlx(&pp->attention, W_ATTENTION_YIELD);              /* hint */
        w->switched_at = now;
}

/* ---- Taking ---------------------------------------------------------------------------------- */

/* The M looks at blocked_since if it finds that its P was taken: [TK2]. */
static bool take_locked(struct p *pp)
{
        struct watch *w = &pp->watch;
        struct m     *mp = pp->asked;

        if (!is_region(w) && w->verdict == W_IS_BLOCKED)
                mp->blocked_since = w->since;
        bool taken = w_take_finish_locked(pp, w->mark);

        if (!taken)
                mp->blocked_since = 0;
        return taken;
}

static bool take_one(struct p *pp)
{
        w_lock(&w_sched.lock);
        bool taken = pp->asked && take_locked(pp);

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
        bool     look = false, full = false;
        uint32_t n = 0;

        for (uint32_t i = 0; i < w_sched.n_procs; i++) {
                look |= find_out(w_sched.all_p[i], now);
                ask_to_yield(w_sched.all_p[i], now);
        }
        if (!rested)
                for (uint32_t i = 0; i < w_sched.n_procs; i++)
                        w_verdict_forget(&w_sched.all_p[i]->watch, now);
        if (!look || !rested || somebody_looks())
                return 0;
        w_take_begin();
        if (ask_suspects(&full))
                n = take_asked();
        w_take_end();
        if (full)
                complain_once();
        return n;
}
