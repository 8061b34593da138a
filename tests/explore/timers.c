/* tests/explore/timers.c - PROTOCOL timers, timekeeper and lazytimer: which party touches a timer
 * last, and that the timekeeper or an armer knows of every timer.
 *
 * SPDX-License-Identifier: MIT
 */
#include "goroutines.h"
#include "scenarios.h"

#include "sched/sched.h"
#include "sched/timer/lazytimer.h"
#include "sched/timer/timekeeper.h"
#include "wait/wait.h"

enum { DUE = 50, LATER = 60 };

static struct timer   timer;
static struct lazytimer   lazy;
static struct m       timekeeper;
static struct wait    w;
static struct waiter *found;            /* under the lock */
static struct lock    lock;
static int            frame, data, n_fired, n_held;
static bool           disarmed;
static uint32_t       verdict;

static struct timers *heap(void) { return &w_sched.all_p[0]->timers; }

static void fire(void)
{
        foreign_begin();
        (void)w_timers_run(heap(), LATER);
}

/* ---- Disarm versus fire ---------------------------------------------------------------------- */

/* By the firer: the timer's frame still exists. */
static struct g *claim(struct timer *t)
{
        EXPLORE_CHECK(t == &timer && w_plain_load(&frame) == 1);
        n_fired++;
        return NULL;
}

static void setup_armed(void)
{
        goroutines_reset();
        w_store_rlx(&w_sched.timekeeper.wakes_at, 1);          /* no notification needed */
        timer = (struct timer){ .claim = claim };
        frame = 1;
        n_fired = 0;
        EXPLORE_CHECK(w_timer_arm(&timer, DUE));
}

static void disarm(void)
{
        foreign_begin();
        disarmed = w_timer_disarm(&timer);
        w_plain_store(&frame, 0);
        UNMAP(&timer.home);
}

/* 0: it has fired; 1: it was disarmed. */
static int fired_result(void)
{
        EXPLORE_CHECK(n_fired + disarmed == 1);
        return disarmed;
}

/* ---- A wait with a deadline ------------------------------------------------------------------ */

/* Goroutine 1 has begun to wait, and its timer is armed. */
static void setup_deadline(void)
{
        goroutines_reset();
        w_store_rlx(&w_sched.timekeeper.wakes_at, 1);
        w_lock_init(&lock, W_LOCK_test_outer);
        found = NULL;
        data = 0;
        goroutine_begin(1);
        w_wait_begin(&w, DUE, W_CANCELLABLE);
}

static void unlock(void *arg)
{
        w_unlock(arg);
}

static void wait_until_due(void)
{
        goroutine_begin(1);
        w_lock(&lock);
        found = &w.waiter;
        verdict = w_wait_park(&w, W_WAIT_SLEEP, unlock, &lock);
        w_lock(&lock);
        found = NULL;
        w_unlock(&lock);
        w_wait_end(&w);
        EXPLORE_CHECK(verdict == W_VERDICT_TIMEOUT || w_plain_load(&data) == 1);
        UNMAP(&w.timer.home);
}

static void come_first(void)
{
        foreign_begin();
        w_plain_store(&data, 1);
        w_lock(&lock);
        struct waiter *waiter = found;
        bool           won = waiter && w_wake_claim(waiter, W_VERDICT_OTHER) == W_CLAIM_WON;

        w_unlock(&lock);
        if (won)
                w_wake_up(waiter);
}

static int wait_result(void) { return verdict == W_VERDICT_TIMEOUT; }

/* ---- The timekeeper or the armer knows ------------------------------------------------------- */

/* The timekeeper sleeps until 1, for a timer that is gone. */
static void setup_timekeeper(void)
{
        goroutines_reset();
        w_sched.timekeeper.m = &timekeeper;
        w_store_rlx(&w_sched.timekeeper.wakes_at, 1);
        timer = (struct timer){ .claim = claim };
}

static void time_up(void)
{
        foreign_begin();
        EXPLORE_CHECK(w_timekeeper_time_up(&timekeeper));
        w_lock(&w_sched.lock);
        EXPLORE_CHECK(!w_timekeeper_begin_locked(&timekeeper));
        w_unlock(&w_sched.lock);
}

static void arm(void)
{
        foreign_begin();
        EXPLORE_CHECK(w_timer_arm(&timer, DUE));
}

/* 0: the timekeeper saw the timer; 1: the armer saw that there is no timekeeper; 2: both. */
static int known_result(void)
{
        bool timekeeper_knows = w_load_rlx(&w_sched.timekeeper.wakes_at) == DUE;

        EXPLORE_CHECK(timekeeper_knows || wakes_of_threads() > 0);
        return timekeeper_knows ? (wakes_of_threads() ? 2 : 0) : 1;
}

/* ---- Lazy timers ----------------------------------------------------------------------------- */

static void hold(struct lazytimer *a, struct timer_call *r)
{
        (void)r;
        EXPLORE_CHECK(a == &lazy && w_plain_load(&data) == 1);
        n_held++;
}

/* In its heap, and stopped. */
static void setup_lazy(void)
{
        goroutines_reset();
        w_lazytimers_init();
        w_store_rlx(&w_sched.timekeeper.wakes_at, 1);
        lazy = (struct lazytimer){ .heap = W_ATOMIC_INIT(heap()), .period = 100, .hold = hold };
        EXPLORE_CHECK(w_lazytimer_set(&lazy, DUE) == 0);
        EXPLORE_CHECK(w_lazytimer_stop(&lazy));
        data = n_held = 0;
}

static void setup_lazy_set(void)
{
        setup_lazy();
        EXPLORE_CHECK(w_lazytimer_set(&lazy, DUE) == 0);
        data = 1;
}

static void set_later(void)
{
        foreign_begin();
        w_plain_store(&data, 1);
        EXPLORE_CHECK(w_lazytimer_set(&lazy, DUE + 1) == 0);
}

static void free_lazy(void)
{
        foreign_begin();
        w_lazytimer_free_now(&lazy);
        w_plain_store(&data, 0);
}

static int disarm_result(void) { return n_held; }

/* ---- The heap goes: all timers move to another heap ------------------------------------------ */

static struct timers    other;
static struct heap_slot other_slots[4];

static void setup_other(void)
{
        w_timers_init(&other);
        other.heap.slots = other_slots;
        other.heap.cap = 4;
}

static void setup_move(void)
{
        setup_other();
        setup_armed();
}

static void setup_lazy_move(void)
{
        setup_other();
        setup_lazy_set();
}

static void move_all(void)
{
        foreign_begin();
        EXPLORE_CHECK(w_timers_close(heap(), &other) == 0);
}

/* Afterwards the mover fires what is there. */
static void move_and_fire(void)
{
        move_all();
        (void)w_timers_run(&other, LATER);
}

/* Earlier than its key: needs the lock of the heap that it is in. */
static void set_earlier(void)
{
        foreign_begin();
        EXPLORE_CHECK(w_lazytimer_set(&lazy, DUE - 1) == 1);
}

static int moved_result(void)
{
        EXPLORE_CHECK(heap()->heap.n == 0 && w_timers_next_at(&other) == DUE - 1);
        w_timers_check(&other);
        return 0;
}

const struct explore_scenario timers_scenarios[] = {
        { "timers-disarm", "a thread fires a timer, its user disarms it and leaves the frame",
          { { "user", disarm }, { "firer", fire } }, setup_armed, fired_result,
          .required = SEEN(0) | SEEN(1), .bound = ANY },
        { "timers-deadline", "a goroutine waits with a deadline, another may come first",
          { { "waiter", wait_until_due }, { "other", come_first }, { "firer", fire } },
          setup_deadline, wait_result, .required = SEEN(0) | SEEN(1), .bound = 3 },
        { "timers-notify", "a thread arms a timer while the timekeeper reads the next one",
          { { "timekeeper", time_up }, { "armer", arm } }, setup_timekeeper, known_result,
          .required = SEEN(0) | SEEN(1), .bound = 7 },
        { "timers-lazy", "a lazy timer in its heap is set again while it is read",
          { { "setter", set_later }, { "firer", fire } }, setup_lazy, disarm_result,
          .allowed = SEEN(0) | SEEN(1), .required = SEEN(0) | SEEN(1), .bound = ANY },
        { "timers-lazy-free", "a lazy timer is freed when it is due",
          { { "user", free_lazy }, { "firer", fire } }, setup_lazy_set, disarm_result,
          .allowed = SEEN(0) | SEEN(1), .required = SEEN(0) | SEEN(1), .bound = ANY },
        { "timers-close", "a timer moves to another heap and fires there, its user disarms it",
          { { "user", disarm }, { "mover", move_and_fire } }, setup_move, fired_result,
          .required = SEEN(0) | SEEN(1), .bound = 3 },
        { "timers-close-set", "a lazy timer moves to another heap while it is set earlier",
          { { "setter", set_earlier }, { "mover", move_all } }, setup_lazy_move, moved_result,
          .required = SEEN(0), .bound = 3 },
        { "timers-close-free", "a lazy timer moves to another heap, is due there, and is freed",
          { { "user", free_lazy }, { "mover", move_and_fire } }, setup_lazy_move, disarm_result,
          .allowed = SEEN(0) | SEEN(1), .required = SEEN(0) | SEEN(1), .bound = 3 },
        { .name = NULL },
};
