/* sched/monitor/retake.c - a duty of the monitor: takes Ps from Ms that are in user code for long.
 *
 * Protocols   cites take (sched/preempt/take.c), idle (sched/idle.c).
 *
 * An M is a suspect if it was in the same epoch of user code at two samples: 20 us apart in a
 * blocking region, 10 ms apart in any other code. It keeps its P if the P is not needed. If there
 * is an idle P or a spinning M, waiting work is found without this P.
 *
 * An M that is blocked, or in a blocking region, makes no use of its P. It loses the P as soon as a
 * runnable goroutine or a due timer exists on any P: the P where that work waits may belong to an M
 * that computes and need not give it up. An M that computes uses its P. It loses the P only for
 * work on that P or in the global queue, or for preempted Ms.
 *
 * Code outside a region has not declared that it may run without a P, so the monitor finds out what
 * the M does (sched/monitor/activity.c):
 *   blocked   the M loses its P
 *   running   the M loses its P with preempt=all
 *   starved   the M keeps its P: it gets no CPU
 *   unknown   with preempt=all the M loses its P, because other goroutines must go on; with
 *             preempt=blocked it does not, because code that computes was promised to run alone
 * With preempt=off only regions lose their Ps.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/fatal.h"
#include "base/tuning.h"
#include "sched/idle.h"
#include "sched/monitor/activity.h"
#include "sched/monitor/blocked_report.h"
#include "sched/monitor/sysmon.h"
#include "sched/preempt/preempt.h"
#include "sched/preempt/take.h"
#include "sched/sched.h"
#include "weft.h"

enum {
        REGION_NS = 20000,
        SLICE_NS = 10000000,
        NOPREEMPT_NS = 100000000,
        PREEMPT_WITHIN_NS = 5000000,       /* a tick of the kernel, which checks timers then */
        STARVED_NS = 15000000,          /* in addition, for an M that gets no CPU */
};

/* ---- Samples --------------------------------------------------------------------------------- */

/* True: an M will find waiting work without the help of the monitor. */
static bool has_idle_p_or_spinner(void)
{
        return w_load_rlx(&w_sched.n_idle_p) != 0 ||              /* hint */
               w_load_rlx(&w_sched.n_spinning) != 0;              /* hint */
}

static bool is_p_needed(struct p *pp, int64_t now)
{
        return w_load_rlx(&w_sched.n_globq) != 0 || !w_p_has_no_work(pp) ||     /* hint */
               w_preempt_any() || w_timers_next_at(&pp->timers) <= now;
}

/* True: a goroutine is runnable, or a timer is due, on any P. */
static bool any_work_waits(int64_t now)
{
        return w_any_queue_has_work() || w_timers_first(INT64_MIN) <= now;
}

static bool is_region(const struct sample *s)
{
        return s->where & W_IN_REGION;
}

static void forget_sample(struct sample *s, int64_t now)
{
        if (s->preempt_by_at)
                w_preempt_unask(s->m);
        w_activity_forget(s, now);
}

/* The monitor came late. An M that was asked to stop may not have run, and gets the same time
 * again. */
static void restart_sample(struct sample *s, int64_t now)
{
        if (s->preempt_by_at)
                s->preempt_by_at = now + PREEMPT_WITHIN_NS;
        w_activity_rebase(s, now);
}

/* Records which M has pp, and since when that M is at this place, as far as samples tell. */
static void take_sample(struct p *pp, int64_t now)
{
        struct sample *s = &pp->sample;
        struct m     *mp = w_load_acq(&pp->m);                    /* [TK3] records stay mapped */
        uint32_t      where = mp ? w_load_rlx(&mp->where) : W_IN_RUNTIME;        /* hint */

        if (mp == s->m && where == s->where)
                return;
        forget_sample(s, now);
        if (mp != s->m)
                s->nopreempt_no = 0;    /* each M has its own count */
        s->m = mp;
        s->where = where;
        s->came_at = now;
}

/* Goroutines wait, so the monitor's rest must end with the window. A window that is over was judged
 * already. */
static void end_rest_with_window(const struct sample *s, int64_t now)
{
        int64_t at = w_activity_next(s);

        if (at > now && at < w_sched.sysmon.judge_at)
                w_sched.sysmon.judge_at = at;
}

/* True: the activity of an M in plain code allows the monitor to take its P. A preempted M does not
 * run, but is not blocked either. */
static bool activity_allows(struct sample *s, int64_t now, bool needed)
{
        if (w_sched.config.preempt == WEFT_PREEMPT_OFF)
                return false;
        if (w_preempt_is_waiting(s->m))
                s->activity = W_ACTIVITY_RUNNING;
        else
                w_activity_update(s, now);
        end_rest_with_window(s, now);
        return s->activity == W_ACTIVITY_BLOCKED ||
               (w_sched.config.preempt == WEFT_PREEMPT_ALL &&
                ((s->activity == W_ACTIVITY_RUNNING && needed) ||
                 s->activity == W_ACTIVITY_UNKNOWN));
}

/* An M with IN_NOPREEMPT keeps its P, which should last for a short time only. */
static void report_long_nopreempt(struct p *pp, int64_t now)
{
        struct sample *s = &pp->sample;
        uint32_t      no = w_load_rlx(&s->m->nopreempt_no);            /* hint */

        if (no != s->nopreempt_no) {
                s->nopreempt_no = no;
                s->nopreempt_since = now;
        }
        if (s->nopreempt_since == W_FOREVER || now - s->nopreempt_since < NOPREEMPT_NS ||
            !is_p_needed(pp, now))
                return;
        s->nopreempt_since = W_FOREVER;
        w_say("goroutine %ld has kept others from running for %d ms, see weft_nopreempt_begin",
              (long)w_load_rlx(&s->m->nopreempt_id), (int)(NOPREEMPT_NS / 1000000));    /* hint */
}

/* True: pp should be taken, as far as samples tell. `waits`: see any_work_waits. */
static bool should_retake(struct p *pp, int64_t now, bool waits)
{
        struct sample *s = &pp->sample;

        if (s->where & W_IN_NOPREEMPT) {
                report_long_nopreempt(pp, now);
                return false;
        }
        bool needed = is_p_needed(pp, now);

        if (!w_where_is_user(s->where) || !(needed || waits))
                return false;
        return is_region(s) ? now - s->since >= REGION_NS : activity_allows(s, now, needed);
}

/* A thread that waits for a CPU cannot stop. If it lost its P it would run later, beside the next M
 * that has this P. Therefore the CPU time since the request counts. */
static bool may_yet_stop(const struct sample *s, int64_t now)
{
        return now < s->preempt_by_at ||
               (now < s->preempt_by_at + STARVED_NS && s->run - s->asked_run < PREEMPT_WITHIN_NS);
}

/* True: the M of pp computes, and must stop before pp is taken. False also if the M takes too long
 * to stop. */
static bool is_stop_pending(struct p *pp, int64_t now)
{
        struct sample *s = &pp->sample;

        if (!w_sched.preempt.allowed || is_region(s) || s->activity != W_ACTIVITY_RUNNING)
                return false;
        if (!s->preempt_by_at) {
                s->preempt_by_at = now + PREEMPT_WITHIN_NS;
                s->asked_run = s->run;
                w_preempt_ask(pp, s->m);
        }
        return may_yet_stop(s, now) && !w_preempt_is_waiting(s->m);
}

/* ---- Asking for a turn ----------------------------------------------------------------------- */

/* A goroutine that calls weft all the time and never waits is in a new epoch at each sample, and no
 * P is taken from it. It is asked to yield, and yields where it may: at a checkpoint, when a region
 * ends, in a call that might have waited. If it makes only other calls, it is asked for its P one
 * slice later, and gives the P up at an entry: PROTOCOL take (sched/preempt/take.c). */
static void ask_to_yield(struct p *pp, int64_t now)
{
        struct sample *s = &pp->sample;
        uint64_t      n = w_load_rlx(&pp->stats.switches);        /* hint */

        if (n != s->n_switches || !s->m) {
                s->n_switches = n;
                s->switched_at = now;
                s->yield_asked = false;
                return;
        }
        if (now - s->switched_at < SLICE_NS || !is_p_needed(pp, now))
                return;
        bool give = s->yield_asked && w_sched.config.preempt == WEFT_PREEMPT_ALL;

        w_or_rlx(&pp->attention, W_ATTENTION_YIELD | (give ? W_ATTENTION_GIVE : 0));    /* hint */
        s->switched_at = now;
        s->yield_asked = true;
}

/* False for an M that has been at one place for long: its activity decides then. */
static bool must_give_p(const struct p *pp, int64_t now)
{
        return w_load_rlx(&pp->attention) & W_ATTENTION_GIVE &&   /* hint */
               !(pp->sample.where & (W_IN_REGION | W_IN_NOPREEMPT)) &&
               now - pp->sample.came_at < SLICE_NS;
}

/* ---- Suspects -------------------------------------------------------------------------------- */

/* True: pp is a suspect, and its M will be asked for it. */
static bool examine(struct p *pp, int64_t now, bool waits)
{
        take_sample(pp, now);
        bool retake = should_retake(pp, now, waits);
        bool asked = retake && is_stop_pending(pp, now);

        pp->sample.suspect = retake ? !asked : must_give_p(pp, now);
        w_sched.sysmon.n_asked += asked;
        return pp->sample.suspect;
}

/* Every blocked M occupies a thread, so the number of blocked Ms is limited. */
static bool may_lose_locked(const struct sample *s)
{
        return is_region(s) || w_sched.n_lost < W_TUNE_LOST_MAX;
}

/* Asks at most half of the Ms: if all of them seem to be stuck, the machine may be the cause. Sets
 * *full if some suspects keep their Ps because too many Ms have lost theirs. */
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

static void report_limit_once(void)
{
        if (w_sched.sysmon.too_many_lost)
                return;
        w_sched.sysmon.too_many_lost = true;
        w_say("%d threads are blocked outside blocking regions; goroutines wait for any further "
              "thread that blocks", W_TUNE_LOST_MAX);
}

/* ---- Taking ---------------------------------------------------------------------------------- */

static bool is_blocked(const struct sample *s)
{
        return !is_region(s) && s->activity == W_ACTIVITY_BLOCKED;
}

/* The sample is about s->m. Another M may have the P by now, and each M has its own epochs.
 * blocked_since is set before the P is taken: an M that finds its P taken reads it [TK2]. */
static bool take_locked(struct p *pp)
{
        struct sample *s = &pp->sample;
        struct m     *mp = pp->asked;
        bool          known = mp == s->m && w_where_is_user(s->where);

        if (known && is_blocked(s))
                mp->blocked_since = s->since;
        bool taken = w_take_finish_locked(pp, known ? s->where : W_NOWHERE);

        if (!taken)
                mp->blocked_since = 0;
        else if (!is_region(s))
                w_preempt_arm_locked(mp, s->activity != W_ACTIVITY_BLOCKED);
        return taken;
}

/* A blocked M may wait for a lock of the program that a preempted M holds. So pp, which was taken
 * from a blocked M, is granted to a preempted M. */
static bool grant_of_blocked_locked(struct p *pp)
{
        return is_blocked(&pp->sample) && w_preempt_any() &&
               !w_load_rlx(&w_sched.world.stopping) &&                  /* guarded */
               w_preempt_grant_locked(pp);
}

static bool take_one(struct p *pp)
{
        const struct sample *s = &pp->sample;

        w_lock(&w_sched.lock);
        bool taken = pp->asked && take_locked(pp);

        if (taken && !grant_of_blocked_locked(pp))
                w_hand_off_unlock(pp);
        else
                w_unlock(&w_sched.lock);
        if (taken && is_blocked(s))
                w_blocked_report_locate(s->m, s->where, s->since);
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

/* True: the M has a P that is needed, and makes no progress for lack of a CPU. */
static bool is_starved(const struct sample *s)
{
        return s->activity == W_ACTIVITY_STARVED || (s->preempt_by_at && !s->suspect);
}

uint32_t w_retake(int64_t now, bool rested)
{
        bool     any = false, full = false, starved = !rested, waits = any_work_waits(now);
        uint32_t n = 0;

        w_sched.sysmon.n_asked = 0;
        w_sched.sysmon.judge_at = W_FOREVER;
        for (uint32_t i = 0; i < w_n_p(); i++) {
                any |= examine(w_sched.all_p[i], now, waits);
                starved |= is_starved(&w_sched.all_p[i]->sample);
                ask_to_yield(w_sched.all_p[i], now);
        }
        if (starved)
                w_add_rlx(&w_sched.preempt.n_starved, 1);                 /* counter */
        if (!rested)
                for (uint32_t i = 0; i < w_n_p(); i++)
                        restart_sample(&w_sched.all_p[i]->sample, now);
        if (!any || !rested || has_idle_p_or_spinner())
                return 0;
        w_take_begin();
        if (ask_suspects(&full))
                n = take_asked();
        w_take_end();
        if (full)
                report_limit_once();
        return n;
}
