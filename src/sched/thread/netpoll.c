/* sched/thread/netpoll.c - which M waits for descriptors, when, and where woken goroutines run.
 *
 * net/poll.c knows which goroutine waits for which descriptor.
 *
 * PROTOCOL netpoll
 *
 * Goal      With a P idle, an event on a descriptor is seen at once, or within 10 ms if the Ms that
 *           run compute. With no P idle it is seen about every 250 us, or every ms while goroutines
 *           wait in the global queue. Goroutines in the global queue came first, so woken
 *           goroutines queue behind them. An event is reported to one thread only. An M that is
 *           needed elsewhere leaves the poller.
 * Parties   sleeper (an M without a P), poller (the sleeper that waits in the kernel for
 *           descriptors), kicker (needs that M for another duty), searcher (an M with a P),
 *           monitor.
 * Words     poller.m, n_kicked, m.kicked   under sched.lock
 *           poller.polls                   a hint that there is a poller
 *           polled_at                      when an M, or the monitor, last polled
 *           the wakeup                     ends every wait in the kernel as long as it is set
 * Sleeper   Under sched.lock: if there is no poller and a P is idle, become the poller. The poller
 *           may be the timekeeper too, and then waits no longer than until its time. A timekeeper
 *           that is not the poller sleeps on its note.
 * Poller    1. Wait in the kernel.
 *           2. Claim the waiters of each event: PROTOCOL poll (net/poll.c).
 *           3. Lock.
 *           4. Not the poller any more: unlock, wake the claimed goroutines, go to 8.
 *           5. No goroutine woken, and not the timekeeper's time: unlock, go to 1. If n_kicked > 0,
 *              yield the CPU first: the wakeup is set for kicked Ms.
 *           6. poller.m := NULL. If it was the timekeeper: resign from that too. With a goroutine
 *              woken and a P idle: take that P; a timekeeper takes the P with the first timer.
 *           7. Unlock; wake the goroutines, the first for this M. With a P, a former timekeeper
 *              acts as a notifier of the first timer of the other Ps: PROTOCOL timekeeper
 *              (sched/timer/timekeeper.c). Without a P, begin again as a sleeper. Done.
 *           8. Sleep on the note, which is set or will be set.
 *           9. Lock; n_kicked - 1; n_kicked is 0 now: clear the wakeup; unlock.
 * Kicker    1. Lock; poller.m := NULL, m.kicked, n_kicked + 1; unlock.
 *           2. Set the wakeup.
 *           3. Wake the note.
 * Searcher, monitor
 *           1. There is no poller, and polled_at is old: CAS polled_at -> now; lost: done.
 *           2. Poll without waiting.
 *           A searcher that found no work polls only if that has paid lately. Otherwise it releases
 *           its P and sleeps as the poller: that costs one system call instead of two.
 * Edges     [NP1] the poller   open: store-release -> its users: load-acquire
 * Why no wakeup is lost   The last kicked M clears the wakeup, under the lock and after its note.
 *           The wakeup was set for each kicked M before its note was woken. A kicker that comes
 *           later sets the wakeup after its step 1, which comes after the clearing. A poller that
 *           was not kicked and sees the wakeup yields the CPU and waits again. Its wait ends at
 *           once until the kicked Ms have come; they are on their way.
 * Why an M polls   With no P idle, the Ms that hold Ps poll. An M that releases its P for lack of
 *           work sleeps as the poller if there is none. A P may become idle in other ways: its M
 *           has lost it, or its M is dedicated to one goroutine, or the world starts. The M that
 *           makes the P idle sees that there is no poller and wakes an M, which polls and then
 *           sleeps. The thread that opens the poller does the same. A poller that stops has a P, or
 *           begins again as a sleeper.
 * Why only one poller   An event must be reported to one thread. The other sleepers can be woken
 *           for work by a futex, which costs half as much as the wakeup.
 * Rejected  Timekeeper and poller are always the same M (it would have to be kicked for each
 *           earlier timer that a second M finds). A thread for polling alone (every event would
 *           cost a switch of threads). An M polls only while a goroutine waits for a descriptor (a
 *           goroutine that begins to wait would have to make sure that an M polls).
 * Tests     flow/net/test_fd_wait.c, flow/net/test_pipe.c, sim scenarios poll_*, mutants netpoll-*.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/thread/netpoll.h"

#include "base/assert.h"
#include "base/window.h"
#include "sched/idle.h"
#include "sched/queue/queue.h"
#include "sched/ready.h"
#include "sched/run/hooks.h"
#include "sched/run/run.h"
#include "sched/sched.h"
#include "sched/thread/lockthread.h"
#include "sched/timer/timekeeper.h"

enum {
        EVENTS_AT_ONCE = 128,
        WATCH_NS = 1000000,             /* the monitor polls unless there was a poll since */
};

static struct {
        struct lock        lock;        /* class netpoll */
        struct w_os_poller os;          /* i  once open */
        w_atomic_u32       open;        /* a  [NP1] */
        w_atomic_u32       n_waits;     /* a  hint */
        w_atomic_u64       polled_at;   /* a  hint */
        w_atomic_u32       poll_pays;   /* a  hint: events come in numbers, or while Ms run */
        struct run_end     at_end;
        struct wake_source source;      /* for the detection of deadlocks */
} netpoll = { .lock = W_LOCK_INIT(netpoll) };

/* ---- Begin and end --------------------------------------------------------------------------- */

static bool is_open(void)
{
        return w_load_acq(&netpoll.open);                         /* [NP1] */
}

bool w_netpoll_is_waited_for(void)
{
        return w_load_rlx(&netpoll.n_waits) != 0;                 /* hint: callers read it again */
}

/* Runs when the last thread of the run is gone. */
static void close_poller(void)
{
        w_os_poller_close(&netpoll.os);
        w_store_rlx(&netpoll.open, 0);                            /* own word: no thread is left */
        w_store_rlx(&netpoll.n_waits, 0);                         /* own word */
}

/* Sets every word before another thread can see that the poller is open. */
static int open_locked(void)
{
        int rc = w_os_poller_open(&netpoll.os);

        if (rc < 0)
                return rc;
        netpoll.at_end.free = close_poller;
        netpoll.source.may_wake = w_netpoll_is_waited_for;
        w_store_rlx(&netpoll.polled_at, 0);                       /* own word: not open */
        w_run_at_end(&netpoll.at_end);
        w_deadlock_except(&netpoll.source);
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

/* ---- The M in the poller --------------------------------------------------------------------- */

static void set_poller_locked(struct m *mp)
{
        W_ASSERT(w_lock_held(W_LOCK_sched));
        w_sched.poller.m = mp;
        w_store_rlx(&w_sched.poller.polls, mp != NULL);                  /* guarded by the lock */
}

static bool has_poller(void)
{
        return w_load_rlx(&w_sched.poller.polls);                        /* hint */
}

/* If every P is busy, a poller would cost a switch of threads for each event, and the Ms that hold
 * the Ps poll anyway. While the world is stopped no P is idle; Ms then sleep in a list, where the
 * start of the world finds them. */
void w_netpoll_begin_locked(struct m *mp)
{
        if (w_sched.poller.m || !is_open() || w_load_rlx(&w_sched.n_idle_p) == 0)   /* guarded */
                return;
        mp->polls = true;
        set_poller_locked(mp);
}

void w_netpoll_kick_locked(struct m *mp)
{
        W_ASSERT(w_sched.poller.m == mp && !mp->kicked);
        set_poller_locked(NULL);
        mp->kicked = true;
        w_sched.poller.n_kicked++;
}

struct m *w_netpoll_take_locked(void)
{
        struct m *mp = w_sched.poller.m;

        if (!mp)
                return NULL;
        if (w_sched.timekeeper.m == mp)
                return w_timekeeper_take_locked();
        w_netpoll_kick_locked(mp);
        return mp;
}

void w_netpoll_wake(void)
{
        w_os_poller_wake(&netpoll.os);
}

void w_netpoll_notify(void)
{
        if (is_open() && !has_poller())
                w_wake_one();
}

/* ---- Woken goroutines ------------------------------------------------------------------------ */

/* If one goroutine was woken and no goroutine is queued before it, it runs next on this P. That is
 * no submission of work: no other M is woken. True: this was done. */
static bool put_single_next(struct p *pp, struct queue *woken)
{
        if (woken->n != 1 || !w_p_has_no_work(pp) || pp->tick % W_GLOBAL_EVERY == 0)
                return false;
        struct g *gp = W_CONTAINER_OF(woken->head, struct g, link);

        if (!w_g_try_move(gp, G_WAITING, G_RUNNABLE))
                return false;           /* gp is locked to a thread */
        (void)w_queue_pop(woken);
        w_ready_time(pp, gp);
        w_queue_put_next(pp, gp);
        return true;
}

static void publish(struct p *pp, struct queue *woken)
{
        if (!pp || !put_single_next(pp, woken))
                w_ready_many(woken);
}

static void wait_until(int64_t at, struct queue *woken)
{
        struct w_os_event events[EVENTS_AT_ONCE];
        int n = w_os_poller_wait(&netpoll.os, events, EVENTS_AT_ONCE, at);

        W_WINDOW("netpoll-polled");
        if (n > 0)
                w_run_hooks.poll_deliver(events, n, woken);
}

static void set_poll_pays(bool pays)
{
        if (w_load_rlx(&netpoll.poll_pays) != pays)               /* hint */
                w_store_rlx(&netpoll.poll_pays, pays);            /* hint */
}

/* ---- Sleeping -------------------------------------------------------------------------------- */

/* True: the poller waits again. If its time as the timekeeper has come, it stops, unless another M
 * has relieved it as the timekeeper. */
static bool waits_again_locked(struct m *mp, bool some_woken)
{
        if (mp->timekeeper_at <= w_os_now()) {
                if (w_sched.timekeeper.m == mp)
                        return false;
                mp->timekeeper_at = W_FOREVER;
        }
        return !some_woken;
}

/* Returns when the first timer of all Ps except `mine` is due. The M itself will see the timers of
 * `mine`. */
static int64_t first_timer_of_others(const struct p *mine)
{
        int64_t first = W_FOREVER;

        for (uint32_t i = 0; i < w_n_procs(); i++) {
                int64_t at = w_timers_next_at(&w_sched.all_p[i]->timers);

                if (w_sched.all_p[i] != mine && at < first)
                        first = at;
        }
        return first;
}

/* From here on there is no poller. Returns an idle P if mp has woken goroutines; or NULL. With a P,
 * mp does not begin again as a sleeper. If mp was the timekeeper, *first is then the time for which
 * there must be another timekeeper. */
static struct p *resign_locked(struct m *mp, bool some_woken, int64_t *first)
{
        bool kept_time = w_sched.timekeeper.m == mp;

        set_poller_locked(NULL);
        if (kept_time)
                w_timekeeper_resign_locked();
        w_store_rlx(&netpoll.polled_at, (uint64_t)w_os_now());    /* hint */
        if (!some_woken || w_load_rlx(&w_sched.world.stopping))         /* guarded by the lock */
                return NULL;
        struct p *pp = kept_time ? w_idle_p_get_timed_locked() : w_idle_p_get_locked();

        if (pp && kept_time) {
                w_fence_full();                                   /* [TM2] */
                *first = first_timer_of_others(pp);
        }
        return pp;
}

/* Waits for the thread that kicked mp out of the poller. */
static void finish_kick(struct m *mp)
{
        w_note_sleep(&mp->note);
        w_note_clear(&mp->note);
        w_lock(&w_sched.lock);
        mp->kicked = false;
        if (--w_sched.poller.n_kicked == 0)
                w_os_poller_wake_clear(&netpoll.os);
        w_unlock(&w_sched.lock);
}

/* True: mp is still the poller and waits again. */
static bool sleep_once(struct m *mp)
{
        struct queue woken = { 0 };
        int64_t      first = W_FOREVER;

        wait_until(mp->timekeeper_at, &woken);
        if (woken.n > 1)
                set_poll_pays(true);
        w_lock(&w_sched.lock);
        bool      kicked = w_sched.poller.m != mp;
        bool      again = !kicked && waits_again_locked(mp, woken.n != 0);
        struct p *pp = kicked || again ? NULL : resign_locked(mp, woken.n != 0, &first);
        bool      for_others = again && w_sched.poller.n_kicked != 0;

        w_unlock(&w_sched.lock);
        if (for_others)
                w_os_yield();           /* to the kicked Ms: the wakeup is set for them */
        if (pp)
                w_p_acquire(mp, pp);
        publish(pp, &woken);
        if (first != W_FOREVER)
                w_timekeeper_notify(first);
        if (kicked)
                finish_kick(mp);
        return again;
}

void w_netpoll_sleep(struct m *mp)
{
        W_ASSERT(mp->polls && !mp->p);
        while (sleep_once(mp))
                ;
        mp->polls = false;
}

/* ---- Polling without waiting ----------------------------------------------------------------- */

/* True: no M waits in the poller, the last poll is `every` ns ago, and the caller is the thread
 * that must poll now. */
static bool wins_poll(int64_t now, int64_t every)
{
        if (W_LIKELY(w_load_rlx(&netpoll.n_waits) == 0) || has_poller() ||    /* hint */
            !is_open())
                return false;
        uint64_t last = w_load_rlx(&netpoll.polled_at);           /* hint */

        return now - (int64_t)last >= every &&
               w_cas_rlx(&netpoll.polled_at, &last, (uint64_t)now);       /* hint */
}

void w_netpoll_poll(struct m *mp, int64_t every, bool behind)
{
        struct queue woken = { 0 };

        if (W_LIKELY(!wins_poll(mp->p->now, every)))
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

        if (!w_load_rlx(&netpoll.poll_pays) || !wins_poll(mp->p->now, 0))      /* hint */
                return;
        wait_until(0, &woken);
        set_poll_pays(woken.n != 0);
        publish(mp->p, &woken);
}

void w_netpoll_check(int64_t now)
{
        struct queue woken = { 0 };

        if (!wins_poll(now, WATCH_NS))
                return;
        wait_until(0, &woken);
        w_ready_many(&woken);
}
