/* tests/sim/sched_world.c - what must hold between any two steps of the scheduler.
 *
 * Nothing in here takes a step while a run is watched: values are read by sim_peek(), lists are
 * walked as they are. The scheduler changes its lists between two steps, so they are always whole.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/sched_world.h"

#include "sched/preempt/take.h"
#include "sched/sched.h"
#include "sched/thread/thread.h"

#include <stdlib.h>     /* setenv */

enum {
        WAIT_AT_MOST_NS = 10000000,     /* I10 */
        NEWS_AT_MOST_NS = 5000000,      /* sooner than the monitor would find it */
        MONITOR_AT_MOST_NS = 12000000,  /* which comes round every 10 ms, or is somewhat late */
        TIMER_AT_MOST_NS = 5000000,     /* the same for the timer of an idle P */
        RUN_AT_MOST_NS = 2000000000,    /* no scenario computes for so long */
        CHECK_EVERY = 7,                 /* steps between two checks of everything */
};

/* The monitor tries again every second, and may be refused several times. */
#define WAIT_FOR_THREAD_NS 60000000000

bool sched_work_may_wait, sched_news_may_wait, sched_news_at_once, sched_migrates;

static struct {
        void   (*first)(void *);
        int64_t  waits_since;           /* work waits while a P is idle; -1: it does not */
        int64_t  news_since;            /* the same for descriptors */
        int64_t  timer_since;           /* a timer of an idle P is due */
        uint32_t steps;
} watch;

#define PEEK(whose, word) ((__typeof__((word)->raw))sim_peek(whose, &(word)->raw,               \
                                                             sizeof((word)->raw)))
/* As it is in memory: asked for at every step, so without a call. */
#define MEMORY(word) (*(const volatile __typeof__((word)->raw) *)&(word)->raw)

/* ---- Work and idle Ps: I10 ------------------------------------------------------------------- */

static bool has_work(const struct p *pp)
{
        const struct runq *q = &pp->runq;

        if (MEMORY(&q->head) != MEMORY(&q->tail) || MEMORY(&q->next))
                return true;
        for (uint32_t i = 0; i < W_PARENTS_CAP; i++)
                if (MEMORY(&pp->parents.slots[i]))
                        return true;
        return false;
}

static bool some_m_is_preempted(void)
{
        W_LIST_EACH(node, &w_sched.all_m)
                if (MEMORY(&W_CONTAINER_OF(node, struct m, all_link)->grant) == W_GRANT_WAITING)
                        return true;
        return false;
}

static bool work_waits(void)
{
        if (!w_sched.idle_p)
                return false;
        if (w_sched.globq.n || some_m_is_preempted())
                return true;
        for (uint32_t i = 0; i < MEMORY(&w_sched.n_procs); i++) {
                const struct p *pp = w_sched.all_p[i];

                if (has_work(pp) || (int64_t)MEMORY(&pp->timers.next_at) <= sim_now())
                        return true;
        }
        return false;
}

static void watch_work(void)
{
        if (sched_work_may_wait || !work_waits())
                watch.waits_since = -1;
        else if (watch.waits_since < 0)
                watch.waits_since = sim_now();
        SIM_CHECK(watch.waits_since < 0 || sim_now() - watch.waits_since < WAIT_AT_MOST_NS,
                  "I10: work has waited for %ld ns while a P is idle",
                  (long)(sim_now() - watch.waits_since));
}

static bool idle_timer_waits(void)
{
        for (const struct p *pp = w_sched.idle_p; pp; pp = pp->idle_next)
                if ((int64_t)MEMORY(&pp->timers.next_at) <= sim_now())
                        return true;
        return false;
}

static void watch_timers(void)
{
        if (sched_work_may_wait || !idle_timer_waits())
                watch.timer_since = -1;
        else if (watch.timer_since < 0)
                watch.timer_since = sim_now();
        SIM_CHECK(watch.timer_since < 0 || sim_now() - watch.timer_since < TIMER_AT_MOST_NS,
                  "a timer of an idle P has waited for %ld ns",
                  (long)(sim_now() - watch.timer_since));
}

/* With an idle P an M waits for descriptors, or is about to, unless goroutines compute. */
static void watch_news(void)
{
        int64_t at_most = sched_news_may_wait ? MONITOR_AT_MOST_NS : NEWS_AT_MOST_NS;

        if (sched_work_may_wait || !(w_sched.idle_p || sched_news_at_once) || !sim_has_news())
                watch.news_since = -1;
        else if (watch.news_since < 0)
                watch.news_since = sim_now();
        SIM_CHECK(watch.news_since < 0 || sim_now() - watch.news_since < at_most,
                  "no M has polled descriptors for %ld ns",
                  (long)(sim_now() - watch.news_since));
}

/* ---- Ms: I2, I6, I7 -------------------------------------------------------------------------- */

/* From the CAS on that takes the P. */
static bool is_without_p(struct m *mp)
{
        uint32_t flag = PEEK(&mp->thread, &mp->retake) & ~(uint32_t)W_RETAKE_FENCED;

        return flag == W_RETAKE_TAKEN || flag == W_RETAKE_LOST;
}

static void check_user_code(struct m *mp)
{
        const struct thread *me = &mp->thread;
        struct g            *gp = mp->curg;

        SIM_CHECK(gp, "I2: M%u is in user code without a goroutine", me->id);
        uint32_t as = PEEK(me, &mp->where) & W_IN_REGION ? G_REGION : G_RUNNING;
        uint32_t state = PEEK(me, &gp->state);

        SIM_CHECK(state == as || (as == G_RUNNING && state == G_PREEMPTED),
                  "I2: M%u runs a goroutine that is %s", me->id, w_g_state_name(state));
        SIM_CHECK(!mp->spinning && !me->n_held, "I8: M%u is in user code and spins or holds a lock",
                  me->id);
        if (is_without_p(mp))
                return;
        SIM_CHECK(mp->p && PEEK(me, &mp->p->m) == mp, "I7: M%u is in user code without a P",
                  me->id);
        SIM_CHECK(!mp->blocked_since || PEEK(me, &mp->retake) != w_sched.retake_base,
                  "M%u has a P and will say that it blocked", me->id);
        SIM_CHECK(PEEK(me, &mp->p->status) == P_RUNNING, "I9: the P of M%u has status %u", me->id,
                  PEEK(me, &mp->p->status));
}

/* No other M runs the goroutine of mp. */
static void check_alone(struct m *mp)
{
        W_LIST_EACH(node, &w_sched.all_m) {
                struct m *other = W_CONTAINER_OF(node, struct m, all_link);

                SIM_CHECK(other == mp || other->curg != mp->curg,
                          "I2: M%u and M%u run the same goroutine", mp->thread.id,
                          other->thread.id);
        }
}

/* If threads are available m0 runs goroutine 1 only. */
static void check_m0(void)
{
        struct m *m0 = w_sched.m0;

        if (!m0)
                return;
        SIM_CHECK(sched_work_may_wait || !m0->curg || w_g_is_main(m0->curg),
                  "m0 runs goroutine %ld", (long)m0->curg->id);
        SIM_CHECK(w_list_empty(&m0->idle_link) || (m0->dedicated && !m0->p && !m0->curg),
                  "m0 sleeps and has a P or a goroutine");
}

/* A dedicated M sleeps for m0 or for a locked goroutine. */
static void check_dedicated(void)
{
        uint32_t n = 0;

        W_LIST_EACH(node, &w_sched.dedicated_m) {
                struct m *mp = W_CONTAINER_OF(node, struct m, idle_link);

                SIM_CHECK(mp->dedicated && (mp->is_main || mp->locked_g),
                          "M%u is dedicated to no goroutine", mp->thread.id);
                SIM_CHECK(!mp->p && !mp->curg && !mp->next_p, "I6: M%u is dedicated and has a P",
                          mp->thread.id);
                n++;
        }
        SIM_CHECK(n == w_sched.n_dedicated_asleep, "%u dedicated Ms sleep, counted %u", n,
                  w_sched.n_dedicated_asleep);
}

static void check_ms(void)
{
        uint32_t n = 0, n_idle = 0;

        check_m0();
        check_dedicated();

        W_LIST_EACH(node, &w_sched.idle_m) {
                struct m *mp = W_CONTAINER_OF(node, struct m, idle_link);

                SIM_CHECK(!mp->p && !mp->curg && !mp->spinning && !mp->next_p,
                          "I6: idle M%u has a P or a goroutine", mp->thread.id);
                n_idle++;
        }
        W_LIST_EACH(node, &w_sched.all_m) {
                struct m *mp = W_CONTAINER_OF(node, struct m, all_link);

                if (w_where_is_user(PEEK(&mp->thread, &mp->where)) && (mp->curg || mp->p))
                        check_user_code(mp), check_alone(mp);
                else if (mp->curg)
                        SIM_CHECK(PEEK(&mp->thread, &mp->curg->state) != G_PREEMPTED,
                                  "M%u is preempted in the runtime", mp->thread.id);
                n++;
        }
        if (w_sched.timekeeper.m)
                SIM_CHECK(!w_sched.timekeeper.m->p &&
                                  w_list_empty(&w_sched.timekeeper.m->idle_link),
                          "I6: the timekeeper M%u has a P or is in a list",
                          w_sched.timekeeper.m->thread.id);
        if (w_sched.poller.m)
                SIM_CHECK(!w_sched.poller.m->p && w_list_empty(&w_sched.poller.m->idle_link),
                          "I6: M%u is in the poller and has a P or is in a list",
                          w_sched.poller.m->thread.id);
        SIM_CHECK(n_idle == w_sched.n_idle_m, "%u idle Ms, counted %u", n_idle, w_sched.n_idle_m);
        SIM_CHECK(n == w_sched.n_m, "%u Ms, counted %u", n, w_sched.n_m);
}

/* ---- With sched.lock free: I3, I5, I9 -------------------------------------------------------- */

static void check_idle_ps(void)
{
        uint32_t n = 0;

        for (struct p *pp = w_sched.idle_p; pp; pp = pp->idle_next, n++) {
                SIM_CHECK(n < MEMORY(&w_sched.n_procs), "I9: the list of idle Ps has no end");
                SIM_CHECK(MEMORY(&pp->status) == P_IDLE && !MEMORY(&pp->m),
                          "I9: idle P %u has an M or status %u", pp->id, MEMORY(&pp->status));
                SIM_CHECK(!has_work(pp), "I9: idle P %u has work", pp->id);
        }
        SIM_CHECK(n == MEMORY(&w_sched.n_idle_p), "%u idle Ps, counted %u", n,
                  MEMORY(&w_sched.n_idle_p));
        SIM_CHECK(n == 0 || !MEMORY(&w_sched.world.stopping), "I9: an idle P in a stopped world");
}

static void check_globq(void)
{
        uint32_t n = 0;

        for (struct queue_node *node = w_sched.globq.head; node; node = node->next, n++) {
                struct g *gp = W_CONTAINER_OF(node, struct g, link);

                SIM_CHECK(n < w_sched.globq.n, "I3: the global queue is longer than counted");
                SIM_CHECK(MEMORY(&gp->state) == G_RUNNABLE, "I3: goroutine %ld is queued and %s",
                          (long)gp->id, w_g_state_name(MEMORY(&gp->state)));
        }
        SIM_CHECK(n == w_sched.globq.n && n == MEMORY(&w_sched.n_globq),
                  "the global queue holds %u, counted %u, published %u", n, w_sched.globq.n,
                  MEMORY(&w_sched.n_globq));
}

/* Ms that have given up their P, which a spinner may have by now, and are not asleep yet: each may
 * still be counted as a spinner. */
static uint32_t n_leaving(void)
{
        uint32_t n = 0;

        W_LIST_EACH(node, &w_sched.all_m) {
                struct m *mp = W_CONTAINER_OF(node, struct m, all_link);

                n += !mp->p && w_list_empty(&mp->idle_link) &&
                     !w_m_is_event_waiter_locked(mp);
        }
        return n;
}

/* The M that a P goes back to is known only while the world is stopped: later it may have another
 * P. */
static void check_taken(void)
{
        if (MEMORY(&w_sched.world.stopping))
                return;
        for (uint32_t i = 0; i < MEMORY(&w_sched.n_p); i++)
                SIM_CHECK(!w_sched.all_p[i]->taken_from, "P %u remembers the M it was taken from",
                          i);
}

static void check_unlocked(void)
{
        if (MEMORY(&w_sched.lock.word) != 0)
                return;
        check_idle_ps();
        check_taken();
        check_globq();
        SIM_CHECK(!sim_wakeups() || w_sched.poller.n_kicked > 0,
                  "the wakeup is set and no M is kicked");
        /* One more for a submitter that has counted itself and takes its P under the lock. */
        SIM_CHECK(MEMORY(&w_sched.n_spinning) <= MEMORY(&w_sched.n_procs) + n_leaving() + 1,
                  "I5: %u spin on %u Ps", MEMORY(&w_sched.n_spinning), MEMORY(&w_sched.n_procs));
}

static void check_step(void)
{
        if (w_sched.world.ending) {
                sim_on_step(NULL);      /* from here on the run is taken down */
                return;
        }
        watch_work();
        watch_news();
        watch_timers();
        if (watch.steps++ % CHECK_EVERY)
                return;
        check_ms();
        check_unlocked();
        SIM_CHECK(sim_now() < (sched_work_may_wait ? WAIT_FOR_THREAD_NS : RUN_AT_MOST_NS),
                  "all threads wait: a wake is lost");
}

/* ---- The run --------------------------------------------------------------------------------- */

static void begin(void *arg)
{
        (void)arg;
        sim_on_step(check_step);
        watch.first(NULL);
}

/* Fills in what cfg leaves open, and begins to watch with no invariant broken yet. */
static weft_config complete(const weft_config *cfg)
{
        weft_config full = cfg ? *cfg : (weft_config){ 0 };

        if (!full.procs)
                full.procs = 2 + (int)sim_random(3);
        if (full.procs == SCHED_PROCS_FOUND)
                full.procs = 0;
        if (!full.stack_size)
                full.stack_size = 16 << 10;
        /* Without it a ready goroutine goes to `next` by an exchange, which empties the store
         * buffer; with it every other time by an ordinary store, as it may on other machines. */
        if (sched_migrates)
                setenv("WEFT_DEBUG", sim_random(2) ? "randomize=1,migrate=1" : "migrate=1", 1);
        else if (sim_random(2))
                setenv("WEFT_DEBUG", "randomize=1", 1);
        else
                unsetenv("WEFT_DEBUG");
        watch.waits_since = watch.news_since = watch.timer_since = -1;
        watch.steps = 0;
        return full;
}

static int threads_left(int rc)
{
        SIM_CHECK(rc == 0, "the run returned %d", rc);
        return weft_threads_left();
}

int sched_run(const weft_config *cfg, void (*first)(void *))
{
        weft_config full = complete(cfg);

        watch.first = first;
        int rc = weft_run_with(&full, begin, NULL);

        sim_on_step(NULL);
        return rc < 0 ? rc : threads_left(rc);
}

int sched_start(const weft_config *cfg)
{
        weft_config full = complete(cfg);
        int         rc = weft_start(&full);

        if (rc == 0)
                sim_on_step(check_step);
        return rc;
}

int sched_stop(void)
{
        int rc = weft_stop();

        sim_on_step(NULL);
        return rc < 0 ? rc : threads_left(rc);
}

void sched_run_well(const weft_config *cfg, void (*first)(void *))
{
        sched_work_may_wait = sched_news_may_wait = sched_news_at_once = false;
        int rc = sched_run(cfg, first);

        SIM_CHECK(rc == 0, "sched_run returned %d", rc);
}

int64_t sched_go(void (*fn)(void *), void *arg)
{
        weft_attr attr = { .flags = sim_random(4) ? 0 : WEFT_CHILD_FIRST };
        int64_t   id = weft_go_with(&attr, fn, arg);

        SIM_CHECK(id > 0, "weft_go returned %ld", (long)id);
        return id;
}

void sched_join(int64_t id)
{
        int rc = weft_join(id);

        SIM_CHECK(rc == 0, "join of %ld returned %d", (long)id, rc);
}

/* Workers have a record for the lock checks; a foreign thread has none. */
void foreign_begin(void)
{
        w_self_set(NULL);
}

/* ---- Taking ---------------------------------------------------------------------------------- */

static void take_asked(struct p *pp)
{
        w_lock(&w_sched.lock);
        bool taken = pp->asked && w_take_finish_locked(pp, W_ANYWHERE);

        if (taken)
                w_hand_off_unlock(pp);
        else
                w_unlock(&w_sched.lock);
}

void sched_take(uint32_t which)
{
        w_take_begin();
        w_lock(&w_sched.lock);
        for (uint32_t i = 0; i < w_n_p(); i++)
                if (which >> i & 1)
                        (void)w_take_ask_locked(w_sched.all_p[i]);
        w_unlock(&w_sched.lock);
        w_take_barrier();
        for (uint32_t i = 0; i < w_n_p(); i++)
                take_asked(w_sched.all_p[i]);
        w_take_end();
}

void sched_take_some(void)
{
        sched_take(sim_random(UINT32_MAX));
}
