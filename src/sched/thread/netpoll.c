/* sched/thread/netpoll.c - who waits for descriptors, when, and how those that are woken go on.
 *
 * Called by   find (looks), asleep (sleeps here), sysmon (watches); net/poll.c (opens it).
 * Calls       net/poll.c, which knows who waits for what.
 * Protocols   owns netpoll; cites timekeeper (sched/timer/timekeeper.c), idle (sched/idle.c), poll
 *             (net/poll.c), deadlock (sched/monitor/deadlock.c).
 *
 * PROTOCOL netpoll
 *
 * Goal      with a P idle, what happens on a descriptor is seen at once, or within 10 ms if the Ms
 *           that run compute; with none idle, about every 250 us, or every ms while somebody waits
 *           in the global queue, who came before: then who is woken lines up behind; nobody is told
 *           twice; a thread that is wanted for something else comes out.
 * Parties   sleeper (an M without a P), poller (the sleeper that waits in the kernel for
 *           descriptors), caller (wants that M for something else), looker (an M with a P),
 *           monitor.
 * Words     poller, n_kicked, m.called under sched.lock; polls: a hint that there is a poller;
 *           polled_at: when somebody looked last; the bell, which ends all waits while it rings.
 * Sleeper   under sched.lock: there is no poller, and an idle P: it is, from here on. It may be the
 *           timekeeper too, and waits until its time then; another M that keeps the time sleeps on
 *           its note.
 * Poller    1 waits in the kernel   2 claims those who waited, PROTOCOL poll   3 lock   4 still
 *           poller: nothing has come and it is not time: again from 1. Else the office is vacant;
 *           with somebody woken and an idle P it takes that (if it kept the time, the one with
 *           the first timer); unlock; wakes them, the first for itself; it has a P, and if it kept
 *           the time it is a teller of the first timer of the others, as in PROTOCOL timekeeper; or
 *           begins again as a sleeper
 *           5 not any more: unlock; sleeps on its note, which is or will be woken; lock;
 *           n_kicked - 1, and if that was the last: hushes the bell; unlock
 * Caller    1 lock: the office is vacant, m.called, n_kicked + 1; unlock   2 rings   3 wakes the
 *           note
 * Looker    no poller, and polled_at is old: polled_at := now (one wins); looks without waiting.
 *           Who has nothing to do looks only if that has paid lately: else it leaves its P and
 *           sleeps as the poller, at the price of one call of the kernel instead of two
 * Edges     [NP1] the poller   open: store-release -> whoever uses it: load-acquire
 * Why a ring is not lost   the bell is hushed by the last of those called, under the lock, after
 *           its note: all have been rung for before theirs. Who is called later rings after its
 *           step 1, which comes after the hush. Who is not called and hears the bell lets others
 *           have its CPU and waits again, which ends at once until those who are called have come:
 *           they are on their way.
 * Why somebody looks   with no P idle, those who have one do. Who lets its P idle for want of work
 *           sleeps as the poller if there is none. Whoever else lets a P idle (its
 *           owner has lost it, or keeps to one goroutine; the world starts) sees that there is no
 *           poller and wakes somebody, who looks and then sleeps; so does who opens the poller. Who
 *           leaves the office has a P or begins again.
 * Why only one   that what has happened is told to one thread; that the others can be woken for
 *           work by a futex, which costs half of what the bell does.
 * Rejected  the timekeeper and the poller are always one (it would have to be called for each
 *           earlier timer that a second M finds); a thread for this alone (every event would cost
 *           a switch of threads); waiting only while somebody waits for a descriptor (whoever
 *           begins to would have to see to it that somebody waits).
 * Tests     flow/net/test_wait_fd.c, flow/net/test_pipe.c, sim scenarios poll_*, mutants netpoll-*.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/thread/netpoll.h"

#include "base/assert.h"
#include "base/window.h"
#include "sched/timer/timekeeper.h"
#include "sched/thread/lockthread.h"
#include "sched/sched.h"

enum {
        EVENTS_AT_ONCE = 128,
        WATCH_NS = 1000000,             /* the monitor looks unless somebody just has */
};

static struct {
        struct lock        lock;        /* class netpoll */
        struct w_os_poller os;          /* i  once open */
        w_atomic_u32       open;        /* a  [NP1] */
        w_atomic_u32       n_waits;     /* a  hint */
        w_atomic_u64       polled_at;   /* a  hint */
        w_atomic_u32       looks_pay;   /* a  hint: news comes in numbers, or while others run */
        struct run_end     at_end;
        struct wake_source     outside;
} netpoll = { .lock = W_LOCK_INIT(netpoll) };

/* ---- Begin and end --------------------------------------------------------------------------- */

static bool is_open(void)
{
        return w_load_acq(&netpoll.open);                         /* [NP1] */
}

bool w_netpoll_is_waited_for(void)
{
        return w_load_rlx(&netpoll.n_waits) != 0;                 /* hint: it looks again */
}

/* When the last thread of the run is gone. */
static void close_it(void)
{
        w_os_poller_close(&netpoll.os);
        w_store_rlx(&netpoll.open, 0);                            /* own word: nobody is left */
        w_store_rlx(&netpoll.n_waits, 0);                         /* own word likewise */
}

/* Every word is set before anybody can find it. */
static int open_locked(void)
{
        int rc = w_os_poller_open(&netpoll.os);

        if (rc < 0)
                return rc;
        netpoll.at_end.free = close_it;
        netpoll.outside.may_wake = w_netpoll_is_waited_for;
        w_store_rlx(&netpoll.polled_at, 0);                       /* own word: not open */
        w_run_at_end(&netpoll.at_end);
        w_deadlock_except(&netpoll.outside);
        w_store_rel(&netpoll.open, 1);                            /* [NP1] */
        return 0;
}

static W_NOINLINE int open_once(void)
{
        int rc = 0;

        w_lock(&netpoll.lock);
        if (!is_open())
                rc = open_locked();
        w_unlock(&netpoll.lock);
        if (rc == 0)
                w_netpoll_notify();
        return rc;
}

struct w_os_poller *w_netpoll(int *rc)
{
        *rc = W_LIKELY(is_open()) ? 0 : open_once();
        return *rc < 0 ? NULL : &netpoll.os;
}

void w_netpoll_wait_begins(void)
{
        w_add_rlx(&netpoll.n_waits, 1);                           /* counter */
}

void w_netpoll_wait_ends(void)
{
        uint32_t before = w_sub_rlx(&netpoll.n_waits, 1);         /* counter */

        W_CHECK(before > 0, "negative number of waits for descriptors");
}

/* ---- The office ------------------------------------------------------------------------------ */

static void set_poller_locked(struct m *mp)
{
        W_ASSERT(w_lock_held(W_LOCK_sched));
        w_sched.poller = mp;
        w_store_rlx(&w_sched.polls, mp != NULL);                  /* guarded by the lock */
}

static bool somebody_polls(void)
{
        return w_load_rlx(&w_sched.polls);                        /* hint */
}

/* With every P busy each event would cost a switch of threads, for those who look anyway. While the
 * world is stopped no P is idle, and threads sleep where its start finds them. */
void w_netpoll_begin_locked(struct m *mp)
{
        if (w_sched.poller || !is_open() || w_load_rlx(&w_sched.n_idle_p) == 0)   /* guarded */
                return;
        mp->polls = true;
        set_poller_locked(mp);
}

void w_netpoll_kick_locked(struct m *mp)
{
        W_ASSERT(w_sched.poller == mp && !mp->kicked);
        set_poller_locked(NULL);
        mp->kicked = true;
        w_sched.n_kicked++;
}

struct m *w_netpoll_take_locked(void)
{
        struct m *mp = w_sched.poller;

        if (!mp)
                return NULL;
        if (w_sched.timekeeper == mp)
                return w_timekeeper_take_locked();
        w_netpoll_kick_locked(mp);
        return mp;
}

void w_m_wake(struct m *mp)
{
        if (mp->kicked)
                w_os_poller_wake(&netpoll.os);
        W_WINDOW("netpoll-rung");
        w_note_wake(&mp->note);
}

void w_netpoll_notify(void)
{
        if (is_open() && !somebody_polls())
                w_wake_one();
}

/* ---- Those that are woken -------------------------------------------------------------------- */

/* One that nobody stands before goes on right away, on this P: no submission. */
static bool go_on_with(struct p *pp, struct queue *woken)
{
        if (woken->n != 1 || !w_p_has_no_work(pp) || pp->tick % W_GLOBAL_EVERY == 0)
                return false;
        struct g *gp = W_CONTAINER_OF(woken->head, struct g, link);

        if (!w_g_try_move(gp, G_WAITING, G_RUNNABLE))
                return false;           /* it is locked to a thread */
        (void)w_queue_pop(woken);
        w_ready_time(pp, gp);
        w_queue_put_next(pp, gp);
        return true;
}

static void publish(struct p *pp, struct queue *woken)
{
        if (!pp || !go_on_with(pp, woken))
                w_ready_many(woken);
}

static void wait_until(int64_t at, struct queue *woken)
{
        struct w_os_event events[EVENTS_AT_ONCE];
        int n = w_os_poller_wait(&netpoll.os, events, EVENTS_AT_ONCE, at);

        W_WINDOW("netpoll-told");
        if (n > 0)
                w_poll_deliver(events, n, woken);
}

static void looks_pay(bool do_they)
{
        if (w_load_rlx(&netpoll.looks_pay) != do_they)            /* hint */
                w_store_rlx(&netpoll.looks_pay, do_they);         /* hint */
}

/* ---- Sleeping -------------------------------------------------------------------------------- */

/* Its time has come, if it has one: it is the timekeeper no more, or has long been relieved. True:
 * it has nothing to do but wait. */
static bool goes_on_locked(struct m *mp, bool some_woken)
{
        if (mp->timekeeper_at <= w_os_now()) {
                if (w_sched.timekeeper == mp)
                        return false;
                mp->timekeeper_at = W_FOREVER;
        }
        return !some_woken;
}

/* The timers of its own P it will see. */
static int64_t first_of_others(const struct p *mine)
{
        int64_t first = W_FOREVER;

        for (uint32_t i = 0; i < w_n_procs(); i++) {
                int64_t at = w_timers_next_at(&w_sched.all_p[i]->timers);

                if (w_sched.all_p[i] != mine && at < first)
                        first = at;
        }
        return first;
}

/* The office is vacant; an idle P, if there is need of one. With that it does not begin again as a
 * sleeper: for *first, if there is a timer, somebody else has to keep the time. */
static struct p *resign_locked(struct m *mp, bool some_woken, int64_t *first)
{
        bool kept_time = w_sched.timekeeper == mp;

        set_poller_locked(NULL);
        if (kept_time)
                w_timekeeper_resign_locked();
        w_store_rlx(&netpoll.polled_at, (uint64_t)w_os_now());    /* hint */
        if (!some_woken || w_load_rlx(&w_sched.stopping))         /* guarded by the lock */
                return NULL;
        struct p *pp = kept_time ? w_idle_p_get_timed_locked() : w_idle_p_get_locked();

        if (pp && kept_time) {
                w_fence_full();                                   /* [TM2] */
                *first = first_of_others(pp);
        }
        return pp;
}

/* Somebody has taken it out of the office, and wakes it. */
static void come_out(struct m *mp)
{
        w_note_sleep(&mp->note);
        w_note_clear(&mp->note);
        w_lock(&w_sched.lock);
        mp->kicked = false;
        if (--w_sched.n_kicked == 0)
                w_os_poller_wake_clear(&netpoll.os);
        w_unlock(&w_sched.lock);
}

/* True: it is the poller, and goes on. */
static bool sleep_once(struct m *mp)
{
        struct queue woken = { 0 };
        int64_t      first = W_FOREVER;

        wait_until(mp->timekeeper_at, &woken);
        if (woken.n > 1)
                looks_pay(true);
        w_lock(&w_sched.lock);
        bool      kicked = w_sched.poller != mp;
        bool      goes_on = !kicked && goes_on_locked(mp, woken.n != 0);
        struct p *pp = kicked || goes_on ? NULL : resign_locked(mp, woken.n != 0, &first);
        bool      hears_others = goes_on && w_sched.n_kicked != 0;

        w_unlock(&w_sched.lock);
        if (hears_others)
                w_os_yield();           /* to those that the bell rings for */
        if (pp)
                w_p_acquire(mp, pp);
        publish(pp, &woken);
        if (first != W_FOREVER)
                w_timekeeper_notify(first);
        if (kicked)
                come_out(mp);
        return goes_on;
}

void w_netpoll_sleep(struct m *mp)
{
        W_ASSERT(mp->polls && !mp->p);
        while (sleep_once(mp))
                ;
        mp->polls = false;
}

/* ---- Looking --------------------------------------------------------------------------------- */

/* Nobody waits in the poller, and it is time; one of those who find that is to look. */
static bool is_to_look(int64_t now, int64_t every)
{
        if (W_LIKELY(w_load_rlx(&netpoll.n_waits) == 0) || somebody_polls() ||    /* hint */
            !is_open())
                return false;
        uint64_t last = w_load_rlx(&netpoll.polled_at);           /* hint */

        return now - (int64_t)last >= every &&
               w_cas_rlx(&netpoll.polled_at, &last, (uint64_t)now);       /* hint */
}

void w_netpoll_poll(struct m *mp, int64_t every, bool behind)
{
        struct queue woken = { 0 };

        if (W_LIKELY(!is_to_look(mp->p->now, every)))
                return;
        wait_until(0, &woken);
        if (behind)
                w_ready_many_global(&woken);
        else
                publish(mp->p, &woken);
}

void w_netpoll_poll_idle(struct m *mp)
{
        struct queue woken = { 0 };

        if (!w_load_rlx(&netpoll.looks_pay) || !is_to_look(mp->p->now, 0))      /* hint */
                return;
        wait_until(0, &woken);
        looks_pay(woken.n != 0);
        publish(mp->p, &woken);
}

void w_netpoll_check(int64_t now)
{
        struct queue woken = { 0 };

        if (!is_to_look(now, WATCH_NS))
                return;
        wait_until(0, &woken);
        w_ready_many(&woken);
}
