/* Heaps of timers and the words of lazy timers, without a scheduler. */
#include "sched/timer/timers.h"

#include "base/rand.h"
#include "harness/test.h"
#include "sched/timer/lazytimer.h"
#include "sched/sched.h"

enum { N_TIMERS = 1000 };

TEST(overflowing_times_end_at_forever)
{
        CHECK_EQ(w_time_after(100, 5), 105);
        CHECK_EQ(w_time_after(100, 0), 100);
        CHECK_EQ(w_time_after(100, -5), 100);
        CHECK_EQ(w_time_after(100, INT64_MIN), 100);
        CHECK_EQ(w_time_after(100, W_FOREVER), W_FOREVER);
        CHECK_EQ(w_time_after(100, W_FOREVER - 100), W_FOREVER);
        CHECK_EQ(w_time_after(100, W_FOREVER - 101), W_FOREVER - 1);
}

/* ---- Plain timers ---------------------------------------------------------------------------- */

struct probe {
        struct timer timer;
        int64_t      when;
        bool         armed, fired;
};

static struct probe  probes[N_TIMERS];
static struct timers heap;
static int64_t       last_fired;
static int           n_fired;

static struct g *note_fired(struct timer *t)
{
        struct probe *p = W_CONTAINER_OF(t, struct probe, timer);

        CHECK(p->armed && !p->fired);
        CHECK(p->when >= last_fired);
        last_fired = p->when;
        p->fired = true;
        n_fired++;
        return NULL;
}

static void push(struct timers *ts, struct probe *p, int64_t when)
{
        *p = (struct probe){ .timer.claim = note_fired, .when = when, .armed = true };
        CHECK_EQ(w_timers_lock_with_room(ts), 0);
        w_store_rlx(&p->timer.home, ts);
        w_timers_push_locked(ts, &p->timer, when);
        w_unlock(&ts->lock);
}

static void begin(void)
{
        w_timers_init(&heap);
        last_fired = 0;
        n_fired = 0;
}

TEST(timers_fire_in_order_and_not_early)
{
        uint64_t rand = test_seed();
        int64_t  latest = 0;

        begin();
        CHECK_EQ(w_timers_next_at(&heap), W_FOREVER);
        for (int i = 0; i < N_TIMERS; i++)
                push(&heap, &probes[i], 1 + (int64_t)w_rand_below(&rand, 5000));
        for (int64_t now = 0; n_fired < N_TIMERS; now += 1 + (int64_t)w_rand_below(&rand, 100)) {
                CHECK_EQ(w_timers_run(&heap, now), 0);
                CHECK(w_timers_next_at(&heap) > now);
                CHECK(last_fired <= now);
                latest = now;
        }
        CHECK(latest <= 5100);
        for (int i = 0; i < N_TIMERS; i++)
                CHECK(probes[i].fired && !w_load_rlx(&probes[i].timer.home));
        CHECK_EQ(w_timers_next_at(&heap), W_FOREVER);
        w_timers_free(&heap);
}

TEST(a_disarmed_timer_does_not_fire)
{
        uint64_t rand = test_seed();
        int      n_disarmed = 0;

        begin();
        for (int i = 0; i < N_TIMERS; i++)
                push(&heap, &probes[i], 1 + (int64_t)w_rand_below(&rand, 5000));
        for (int i = 0; i < N_TIMERS; i += 2) {
                if (i % 8 == 0)
                        w_timers_run(&heap, i * 5);
                bool was = w_timer_disarm(&probes[i].timer);

                CHECK_EQ(was, !probes[i].fired);
                CHECK(!w_timer_disarm(&probes[i].timer));
                probes[i].armed = false;
                n_disarmed += was;
        }
        w_timers_run(&heap, 5000);
        CHECK_EQ(n_fired, N_TIMERS - n_disarmed);
        w_timers_free(&heap);
}

TEST(next_at_follows_the_first_timer)
{
        begin();
        push(&heap, &probes[0], 70);
        push(&heap, &probes[1], 50);
        CHECK_EQ(w_timers_next_at(&heap), 50);
        push(&heap, &probes[2], 60);
        CHECK(w_timer_disarm(&probes[1].timer));
        CHECK_EQ(w_timers_next_at(&heap), 60);
        w_timers_run(&heap, 60);
        CHECK_EQ(w_timers_next_at(&heap), 70);
        w_timers_run(&heap, 69);
        CHECK_EQ(n_fired, 1);
        w_timers_free(&heap);
}

/* A thread that does not own the P leaves one slot to the owner. */
TEST(a_foreign_thread_leaves_one_slot_free)
{
        begin();
        for (int i = 0; i < N_TIMERS; i++) {
                push(&heap, &probes[i], 10);
                CHECK(heap.heap.cap > heap.heap.n);
        }
        w_timers_free(&heap);
}

/* ---- Lazy timers ----------------------------------------------------------------------------- */

static struct p  lone_p;
static int       n_rung;
static int64_t   last_due;

/* A P without an owner, enough for lazy timers; there is no timekeeper that must be notified. */
static void begin_lazy_timers(void)
{
        w_sched.all_p[0] = &lone_p;
        w_store_rlx(&w_sched.n_p, 1);
        w_store_rlx(&w_sched.n_procs, 1);
        w_timers_init(&lone_p.timers);
        w_lazytimers_init();
        n_rung = 0;
}

static void end_lazy_timers(void)
{
        w_lazytimers_destroy();
        w_timers_free(&lone_p.timers);
}

static void ring(const struct timer_call *r)
{
        CHECK(r->arg == &n_rung);
        last_due = r->due;
        n_rung++;
}

static void hold(struct lazytimer *a, struct timer_call *r)
{
        r->call = ring;
        r->arg = a->arg;
}

static struct lazytimer *new_lazytimer(int64_t period)
{
        struct lazytimer like = { .arg = &n_rung, .period = period, .hold = hold };
        struct lazytimer *a = w_lazytimer_new(&like);

        CHECK(a != NULL);
        return a;
}

static int rung_at(int64_t now)
{
        n_rung = 0;
        w_timers_run(&lone_p.timers, now);
        return n_rung;
}

TEST(periods_that_were_missed_are_skipped)
{
        begin_lazy_timers();
        struct lazytimer *a = new_lazytimer(10);

        CHECK_EQ(w_lazytimer_set(a, 10), 0);
        CHECK_EQ(rung_at(9), 0);
        CHECK_EQ(rung_at(10), 1);
        CHECK_EQ(last_due, 10);
        CHECK_EQ(rung_at(19), 0);
        CHECK_EQ(rung_at(57), 1);
        CHECK_EQ(last_due, 20);
        CHECK_EQ(rung_at(59), 0);
        CHECK_EQ(rung_at(60), 1);
        CHECK_EQ(last_due, 60);
        CHECK(w_lazytimer_stop(a));
        CHECK_EQ(rung_at(1000), 0);
        end_lazy_timers();
}

TEST(an_enormous_period_overflows_nothing)
{
        begin_lazy_timers();
        struct lazytimer *a = new_lazytimer(W_FOREVER);

        CHECK_EQ(w_lazytimer_set(a, 5), 0);
        CHECK_EQ(rung_at(5), 1);
        CHECK_EQ(rung_at(W_FOREVER >> 4), 0);
        CHECK_EQ(w_lazytimer_set(a, W_FOREVER), 1);
        CHECK_EQ(rung_at(W_FOREVER >> 4), 0);
        CHECK(w_lazytimer_stop(a));
        end_lazy_timers();
}

/* Postponed: the heap finds out when the old time comes. Brought forward: at once. */
TEST(setting_anew_moves_the_time)
{
        begin_lazy_timers();
        struct lazytimer *a = new_lazytimer(W_FOREVER);

        CHECK_EQ(w_lazytimer_set(a, 100), 0);
        CHECK_EQ(w_lazytimer_set(a, 200), 1);
        CHECK_EQ(w_timers_next_at(&lone_p.timers), 100);
        CHECK_EQ(rung_at(150), 0);
        CHECK_EQ(w_timers_next_at(&lone_p.timers), 200);
        CHECK_EQ(w_lazytimer_set(a, 120), 1);
        CHECK_EQ(w_timers_next_at(&lone_p.timers), 120);
        CHECK_EQ(rung_at(119), 0);
        CHECK_EQ(rung_at(120), 1);
        end_lazy_timers();
}

TEST(a_stopped_lazy_timer_stays_in_the_heap_and_can_be_set_again)
{
        begin_lazy_timers();
        struct lazytimer *a = new_lazytimer(W_FOREVER);

        CHECK(!w_lazytimer_stop(a));
        CHECK_EQ(w_lazytimer_set(a, 100), 0);
        CHECK(w_lazytimer_stop(a));
        CHECK(!w_lazytimer_stop(a));
        CHECK_EQ(lone_p.timers.heap.n, 1);
        CHECK_EQ(w_load_rlx(&lone_p.timers.n_dead), 1);
        CHECK_EQ(w_lazytimer_set(a, 100), 0);
        CHECK_EQ(w_load_rlx(&lone_p.timers.n_dead), 0);
        CHECK_EQ(rung_at(100), 1);
        CHECK(w_lazytimer_stop(a));
        CHECK_EQ(rung_at(W_FOREVER), 0);
        CHECK_EQ(lone_p.timers.heap.n, 0);
        CHECK_EQ(w_load_rlx(&lone_p.timers.n_dead), 0);
        end_lazy_timers();
}

/* However many are set and stopped, the heap holds no more than a few dead ones. */
TEST(dead_lazy_timers_are_swept_and_their_records_reused)
{
        struct lazytimer *set[50];

        begin_lazy_timers();
        for (int i = 0; i < 50; i++) {
                set[i] = new_lazytimer(W_FOREVER);
                CHECK_EQ(w_lazytimer_set(set[i], 100 + i), 0);
        }
        for (int i = 0; i < 100 * N_TIMERS; i++) {
                struct lazytimer *a = new_lazytimer(W_FOREVER);

                CHECK_EQ(w_lazytimer_set(a, 100 + i % 77), 0);
                w_lazytimer_free(a);
                CHECK(lone_p.timers.heap.n < 200);
        }
        CHECK_EQ(rung_at(W_FOREVER >> 4), 50);
        CHECK_EQ(lone_p.timers.heap.n, 50);
        end_lazy_timers();
}

/* Also if no timer is set any more. */
TEST(stopping_many_sweeps)
{
        static struct lazytimer *many[4 * N_TIMERS];

        begin_lazy_timers();
        for (int i = 0; i < 4 * N_TIMERS; i++) {
                many[i] = new_lazytimer(W_FOREVER);
                CHECK_EQ(w_lazytimer_set(many[i], 100 + i % 77), 0);
        }
        for (int i = 0; i < 4 * N_TIMERS; i++)
                CHECK(w_lazytimer_stop(many[i]));
        CHECK(lone_p.timers.heap.n < 2 * N_TIMERS);
        end_lazy_timers();
}
