/* sched/monitor/retake.c - a duty of the monitor: Ps go from those who are outside for long to
 * those who wait.
 *
 * Called by   sysmon.
 * Protocols   cites take (sched/preempt/take.c), idle (sched/idle.c).
 *
 * An M is suspect if it was at the same place outside at two looks: 20 us apart in a blocking
 * region, 10 ms apart in any other code. It keeps its P if nobody needs it: with an idle P or a
 * looker about, whatever waits will be found by others.
 *
 * Who does not use its P at all, in a region or blocked, makes way for what waits anywhere: the P
 * where that is may be with one that computes and need not make way. Who computes uses its own, and
 * makes way only for what comes to that by itself.
 *
 * What is not in a region has not said that it may be left without a P, so it is asked why it does
 * not come back (sched/monitor/activity.c). Who blocks loses its P; who computes does if
 * preempt=all; who gets no CPU keeps it. Where the system does not tell why, preempt=all takes it,
 * because the others must go on, and preempt=blocked does not, because code that computes was
 * promised that nobody runs beside it. With preempt=off only regions lose theirs.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/fatal.h"
#include "sched/monitor/blocked_report.h"
#include "sched/preempt/preempt.h"
#include "sched/monitor/sysmon.h"
#include "sched/preempt/take.h"
#include "sched/monitor/activity.h"

#include "weft.h"

enum {
        REGION_NS = 20000,
        SLICE_NS = 10000000,
        NOPREEMPT_NS = 100000000,
        PREEMPT_WITHIN_NS = 5000000,       /* a tick of the kernel's, which looks at timers then */
        STARVED_NS = 15000000,          /* more, for one that has got no CPU in which to be held */
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
               w_preempt_any() || w_timers_next_at(&pp->timers) <= now;
}

/* On any P. */
static bool something_waits(int64_t now)
{
        return w_any_queue_has_work() || w_timers_first(INT64_MIN) <= now;
}

static bool is_region(const struct sample *w)
{
        return w->where & W_IN_REGION;
}

static void begin_anew(struct sample *w, int64_t now)
{
        if (w->preempt_by_at)
                w_preempt_unask(w->m);
        w_activity_forget(w, now);
}

/* The monitor came late. Who was asked may not have run since then, and gets as long again. */
static void begin_late(struct sample *w, int64_t now)
{
        if (w->preempt_by_at)
                w->preempt_by_at = now + PREEMPT_WITHIN_NS;
        w_activity_rebase(w, now);
}

/* Who is there, and since when, as far as it was looked at. */
static void look_at(struct p *pp, int64_t now)
{
        struct sample *w = &pp->sample;
        struct m     *mp = w_load_acq(&pp->m);                    /* [TK3] records stay mapped */
        uint32_t      where = mp ? w_load_rlx(&mp->where) : W_IN_RUNTIME;        /* hint */

        if (mp == w->m && where == w->where)
                return;
        begin_anew(w, now);
        if (mp != w->m)
                w->nopreempt_no = 0;    /* each M counts its own */
        w->m = mp;
        w->where = where;
        w->came_at = now;
}

/* The end of a window is not to be slept through: others wait. In the past: it was judged. */
static void look_again_in_time(const struct sample *w, int64_t now)
{
        int64_t at = w_activity_next(w);

        if (at > now && at < w_sched.judge_at)
                w_sched.judge_at = at;
}

/* Who is held does not run, but is not blocked either. */
static bool deserves_it(struct sample *w, int64_t now, bool needed)
{
        if (w_sched.config.preempt == WEFT_PREEMPT_OFF)
                return false;
        if (w_preempt_is_waiting(w->m))
                w->verdict = W_ACTIVITY_RUNNING;
        else
                w_activity_update(w, now);
        look_again_in_time(w, now);
        return w->verdict == W_ACTIVITY_BLOCKED ||
               (w_sched.config.preempt == WEFT_PREEMPT_ALL &&
                ((w->verdict == W_ACTIVITY_RUNNING && needed) || w->verdict == W_ACTIVITY_UNKNOWN));
}

/* mp must not be asked; but that is for short whiles. */
static void complain_if_long(struct p *pp, int64_t now)
{
        struct sample *w = &pp->sample;
        uint32_t      no = w_load_rlx(&w->m->nopreempt_no);            /* hint */

        if (no != w->nopreempt_no) {
                w->nopreempt_no = no;
                w->nopreempt_since = now;
        }
        if (w->nopreempt_since == W_FOREVER || now - w->nopreempt_since < NOPREEMPT_NS ||
            !is_needed(pp, now))
                return;
        w->nopreempt_since = W_FOREVER;
        w_say("goroutine %ld has kept others from running for %d ms, see weft_nopreempt_begin",
              (long)w_load_rlx(&w->m->nopreempt_id), (int)(NOPREEMPT_NS / 1000000));    /* hint */
}

static bool is_ripe(struct p *pp, int64_t now, bool waits)
{
        struct sample *w = &pp->sample;

        if (w->where & W_IN_NOPREEMPT) {
                complain_if_long(pp, now);
                return false;
        }
        bool needed = is_needed(pp, now);

        if (!w_where_is_user(w->where) || !(needed || waits))
                return false;
        return is_region(w) ? now - w->since >= REGION_NS : deserves_it(w, now, needed);
}

/* A thread that waits for a CPU cannot be held, and runs beside whoever got its P when it gets one:
 * what counts is the time that it has run since it was asked. */
static bool may_yet_be_preempted(const struct sample *w, int64_t now)
{
        return now < w->preempt_by_at ||
               (now < w->preempt_by_at + STARVED_NS && w->run - w->asked_run < PREEMPT_WITHIN_NS);
}

/* Who computes is held first, unless that takes too long. */
static bool is_still_asked(struct p *pp, int64_t now)
{
        struct sample *w = &pp->sample;

        if (!w_sched.may_preempt || is_region(w) || w->verdict != W_ACTIVITY_RUNNING)
                return false;
        if (!w->preempt_by_at) {
                w->preempt_by_at = now + PREEMPT_WITHIN_NS;
                w->asked_run = w->run;
                w_preempt_ask(pp, w->m);
        }
        return may_yet_be_preempted(w, now) && !w_preempt_is_waiting(w->m);
}

/* ---- Asking for a turn ----------------------------------------------------------------------- */

/* Somebody who calls weft all the time and never waits is at a new place at each look: no P is
 * taken from it. It is asked to yield, and does so where it may: at a checkpoint, when a region
 * ends, in a call that might have waited. One that makes other calls only is asked for its P a
 * slice later, and gives it up at an entry, PROTOCOL take (sched/preempt/take.c). */
static void ask_to_yield(struct p *pp, int64_t now)
{
        struct sample *w = &pp->sample;
        uint64_t      n = w_load_rlx(&pp->stats.switches);        /* hint */

        if (n != w->n_switches || !w->m) {
                w->n_switches = n;
                w->switched_at = now;
                w->yield_asked = false;
                return;
        }
        if (now - w->switched_at < SLICE_NS || !is_needed(pp, now))
                return;
        bool give = w->yield_asked && w_sched.config.preempt == WEFT_PREEMPT_ALL;

        w_or_rlx(&pp->attention, W_ATTENTION_YIELD | (give ? W_ATTENTION_GIVE : 0));    /* hint */
        w->switched_at = now;
        w->yield_asked = true;
}

/* Not who has been at one place for long: why that is so decides about it. */
static bool is_to_give(const struct p *pp, int64_t now)
{
        return w_load_rlx(&pp->attention) & W_ATTENTION_GIVE &&   /* hint */
               !(pp->sample.where & (W_IN_REGION | W_IN_NOPREEMPT)) &&
               now - pp->sample.came_at < SLICE_NS;
}

/* ---- Suspects -------------------------------------------------------------------------------- */

static bool find_out(struct p *pp, int64_t now, bool waits)
{
        look_at(pp, now);
        bool ripe = is_ripe(pp, now, waits);
        bool asked = ripe && is_still_asked(pp, now);

        pp->sample.suspect = ripe ? !asked : is_to_give(pp, now);
        w_sched.n_asked += asked;
        return pp->sample.suspect;
}

/* Everyone that hangs has a thread to itself: there must be an end to it. */
static bool may_lose_locked(const struct sample *w)
{
        return is_region(w) || w_sched.n_lost < LOST_MAX;
}

/* Asks at most half of the Ms: if all of them seem to hang it may be the machine. `full`: there
 * were those who keep their Ps because too many have lost theirs. */
static uint32_t ask_suspects(bool *full)
{
        uint32_t n = 0;

        w_lock(&w_sched.lock);
        uint32_t limit = (w_n_procs() + 1) / 2;

        for (uint32_t i = 0; i < w_n_p() && n < limit; i++) {
                struct p *pp = w_sched.all_p[i];

                if (!pp->sample.suspect)
                        continue;
                if (!may_lose_locked(&pp->sample))
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

/* ---- Taking ---------------------------------------------------------------------------------- */

static bool is_blocked(const struct sample *w)
{
        return !is_region(w) && w->verdict == W_ACTIVITY_BLOCKED;
}

/* What is known is known of w->m; another may have the P by now, and marks are numbered by each M
 * for itself. The M looks at blocked_since if it finds that its P was taken: [TK2]. */
static bool take_locked(struct p *pp)
{
        struct sample *w = &pp->sample;
        struct m     *mp = pp->asked;
        bool          known = mp == w->m && w_where_is_user(w->where);

        if (known && is_blocked(w))
                mp->blocked_since = w->since;
        bool taken = w_take_finish_locked(pp, known ? w->where : W_NOWHERE);

        if (!taken)
                mp->blocked_since = 0;
        else if (!is_region(w))
                w_preempt_arm_locked(mp, w->verdict != W_ACTIVITY_BLOCKED);
        return taken;
}

/* Who blocks may wait for what somebody who is held has locked: that one comes first. */
static bool goes_to_preempted_locked(struct p *pp)
{
        return is_blocked(&pp->sample) && w_preempt_any() &&
               !w_load_rlx(&w_sched.stopping) &&                  /* guarded */
               w_preempt_grant_locked(pp);
}

static bool take_one(struct p *pp)
{
        const struct sample *w = &pp->sample;

        w_lock(&w_sched.lock);
        bool taken = pp->asked && take_locked(pp);

        if (taken && !goes_to_preempted_locked(pp))
                w_hand_off_unlock(pp);
        else
                w_unlock(&w_sched.lock);
        if (taken && is_blocked(w))
                w_blocked_report_locate(w->m, w->where, w->since);
        return taken;
}

static uint32_t take_asked(void)
{
        uint32_t n = 0;

        w_take_barrier();
        for (uint32_t i = 0; i < w_n_p(); i++)
                n += take_one(w_sched.all_p[i]);
        return n;
}

/* Somebody who has a P that others need does not get on for want of a CPU. */
static bool is_starved(const struct sample *w)
{
        return w->verdict == W_ACTIVITY_STARVED || (w->preempt_by_at && !w->suspect);
}

uint32_t w_retake(int64_t now, bool rested)
{
        bool     look = false, full = false, starved = !rested, waits = something_waits(now);
        uint32_t n = 0;

        w_sched.n_asked = 0;
        w_sched.judge_at = W_FOREVER;
        for (uint32_t i = 0; i < w_n_p(); i++) {
                look |= find_out(w_sched.all_p[i], now, waits);
                starved |= is_starved(&w_sched.all_p[i]->sample);
                ask_to_yield(w_sched.all_p[i], now);
        }
        if (starved)
                w_add_rlx(&w_sched.n_starved, 1);                 /* counter */
        if (!rested)
                for (uint32_t i = 0; i < w_n_p(); i++)
                        begin_late(&w_sched.all_p[i]->sample, now);
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
