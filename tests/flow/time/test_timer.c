/* tests/flow/time/test_timer.c - timers with functions: set, reset, stopped, freed at any time.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sched.h"

#include "os/inject.h"

#include <errno.h>
#include <pthread.h>

static w_atomic_u32 n_fired;

static void fire(void *arg)
{
        (void)arg;
        CHECK(weft_id() > 0);
        w_add_acqrel(&n_fired, 1);
}

static void await_fired(uint32_t n)
{
        while (w_load_acq(&n_fired) < n)
                CHECK_EQ(weft_sleep(WEFT_US(200)), 0);
}

static weft_timer *timer_new(int64_t ns, void (*fn)(void *), void *arg)
{
        weft_timer *t = weft_timer_new(ns, fn, arg);

        CHECK(t != NULL);
        return t;
}

/* ---- Firing ---------------------------------------------------------------------------------- */

struct due {
        int64_t      at;
        w_atomic_u32 fired;
};

static void fire_due(void *arg)
{
        struct due *d = arg;

        CHECK(weft_now() >= d->at);
        CHECK_EQ(w_add_acqrel(&d->fired, 1), 0);
}

GO_TEST(timers_fire_once_and_not_early)
{
        static struct due dues[40];
        weft_timer       *timers[40];

        for (int i = 0; i < 40; i++) {
                int64_t ns = WEFT_US(200) * ((i * 17) % 40);

                dues[i] = (struct due){ .at = weft_now() + ns };
                timers[i] = timer_new(ns, fire_due, &dues[i]);
        }
        for (int i = 0; i < 40; i++)
                while (!w_load_acq(&dues[i].fired))
                        CHECK_EQ(weft_sleep(WEFT_US(200)), 0);
        CHECK_EQ(weft_sleep(WEFT_MS(2)), 0);
        for (int i = 0; i < 40; i++) {
                CHECK_EQ(w_load_acq(&dues[i].fired), 1);
                CHECK_EQ(weft_timer_stop(timers[i]), 0);
                weft_timer_free(timers[i]);
        }
}

static void main_at_once(void *arg)
{
        uint32_t n = 0;

        (void)arg;
        for (int i = 0; i < (int)sched_scale(20000); i++) {
                weft_timer *t = timer_new(i % 3 ? 0 : -i, fire, NULL);

                n++;
                while (w_load_acq(&n_fired) < n)
                        weft_yield();
                weft_timer_free(t);
        }
        weft_timer *t = timer_new(INT64_MIN, fire, NULL);

        await_fired(n + 1);
        weft_timer_free(t);
}

TEST(a_timer_of_no_time_fires_at_once)
{
        w_store_rlx(&n_fired, 0);
        sched_run(main_at_once, NULL);
}

/* ---- Stopping and resetting ------------------------------------------------------------------ */

static void main_stop(void *arg)
{
        weft_timer *timers[100];
        uint32_t    n_late = 0;

        (void)arg;
        for (int i = 0; i < 100; i++)
                timers[i] = timer_new(WEFT_MS(50), fire, NULL);
        for (int i = 0; i < 100; i++) {
                n_late += weft_timer_stop(timers[i]) == 0;
                CHECK_EQ(weft_timer_stop(timers[i]), 0);
        }
        CHECK_EQ(weft_sleep(WEFT_MS(60)), 0);
        await_fired(n_late);            /* none, unless the machine is very busy */
        CHECK_EQ(w_load_acq(&n_fired), n_late);
        for (int i = 0; i < 100; i++)
                weft_timer_free(timers[i]);
}

TEST(a_stopped_timer_does_not_fire)
{
        w_store_rlx(&n_fired, 0);
        sched_run(main_stop, NULL);
}

GO_TEST(reset_moves_a_timer_and_sets_it_again)
{
        static struct due d;

        d = (struct due){ .at = weft_now() + WEFT_MS(30) };
        weft_timer *t = timer_new(WEFT_MS(1000000), fire_due, &d);

        CHECK_EQ(weft_timer_reset(t, WEFT_SEC(300)), 1);        /* forward, */
        CHECK_EQ(weft_timer_reset(t, WEFT_SEC(600)), 1);        /* off, */
        CHECK_EQ(weft_timer_reset(t, WEFT_MS(30)), 1);          /* and forward */
        while (!w_load_acq(&d.fired))
                CHECK_EQ(weft_sleep(WEFT_MS(1)), 0);
        d = (struct due){ .at = weft_now() + WEFT_MS(3) };
        CHECK_EQ(weft_timer_reset(t, WEFT_MS(3)), 0);           /* it had fired */
        while (!w_load_acq(&d.fired))
                CHECK_EQ(weft_sleep(WEFT_MS(1)), 0);
        CHECK_EQ(weft_timer_stop(t), 0);
        d = (struct due){ .at = weft_now() };
        CHECK_EQ(weft_timer_reset(t, -5), 0);
        while (!w_load_acq(&d.fired))
                CHECK_EQ(weft_sleep(WEFT_MS(1)), 0);
        CHECK_EQ(weft_timer_reset(t, WEFT_FOREVER), 0);
        CHECK_EQ(weft_timer_stop(t), 1);
        weft_timer_free(t);
}

/* A hundred timers are moved at random between now and much later; those set for now fire soon. */
static void main_adjust(void *arg)
{
        weft_timer *timers[100];
        uint64_t    rand = test_seed();

        (void)arg;
        for (int i = 0; i < 100; i++)
                timers[i] = timer_new(WEFT_SEC(600), fire, NULL);
        for (int round = 0; round < 50; round++)
                for (int i = 0; i < 100; i++)
                        CHECK_EQ(weft_timer_reset(timers[i],
                                                  WEFT_SEC(60 + w_rand_below(&rand, 600))), 1);
        for (int i = 0; i < 100; i += 2)
                CHECK_EQ(weft_timer_reset(timers[i], (int64_t)w_rand_below(&rand, 5000000)), 1);
        await_fired(50);
        for (int i = 0; i < 100; i++) {
                CHECK_EQ(weft_timer_stop(timers[i]), i % 2);
                weft_timer_free(timers[i]);
        }
        CHECK_EQ(w_load_acq(&n_fired), 50);
}

TEST(timers_that_were_brought_forward_fire_in_time)
{
        w_store_rlx(&n_fired, 0);
        sched_run(main_adjust, NULL);
}

static void main_enormous(void *arg)
{
        weft_timer *never = timer_new(WEFT_FOREVER, fire, NULL);
        weft_timer *hardly = timer_new(WEFT_FOREVER - 1, fire, NULL);
        weft_timer *soon = timer_new(WEFT_MS(1), fire, NULL);

        (void)arg;
        await_fired(1);
        CHECK_EQ(weft_sleep(WEFT_MS(2)), 0);
        CHECK_EQ(w_load_acq(&n_fired), 1);
        CHECK_EQ(weft_timer_reset(hardly, WEFT_US(100)), 1);
        await_fired(2);
        CHECK_EQ(weft_timer_stop(never), 1);
        weft_timer_free(never);
        weft_timer_free(hardly);
        weft_timer_free(soon);
}

TEST(enormous_times_do_not_come)
{
        w_store_rlx(&n_fired, 0);
        sched_run(main_enormous, NULL);
}

/* ---- Functions that set and free their own timer --------------------------------------------- */

struct self {
        weft_timer  *timer;
        w_atomic_u32 ready, n;
};

static void again(void *arg)
{
        struct self *s = arg;

        while (!w_load_acq(&s->ready))
                weft_yield();
        CHECK_EQ(weft_sleep(WEFT_US(50)), 0);   /* it is a goroutine like any other */
        if (w_add_acqrel(&s->n, 1) < 9)
                CHECK_EQ(weft_timer_reset(s->timer, WEFT_US(100)), 0);
        else
                weft_timer_free(s->timer);
}

GO_TEST(a_function_sets_its_own_timer_again_and_frees_it)
{
        static struct self selves[20];

        for (int i = 0; i < 20; i++) {
                selves[i] = (struct self){ 0 };
                selves[i].timer = timer_new(0, again, &selves[i]);
                w_store_rel(&selves[i].ready, 1);
        }
        for (int i = 0; i < 20; i++)
                while (w_load_acq(&selves[i].n) < 10)
                        CHECK_EQ(weft_sleep(WEFT_US(500)), 0);
}

static void main_freed(void *arg)
{
        uint32_t n = sched_scale(20000);

        (void)arg;
        for (uint32_t i = 0; i < n; i++) {
                weft_timer_free(timer_new((int64_t)(i % 64) * 100, fire, NULL));
                if (i % 256 == 0)
                        weft_yield();
        }
        weft_timer_free(NULL);
        CHECK_EQ(weft_sleep(WEFT_MS(1)), 0);
        CHECK(w_load_acq(&n_fired) <= n);
}

TEST(timers_are_freed_while_they_fire)
{
        w_store_rlx(&n_fired, 0);
        sched_run(main_freed, NULL);
}

/* ---- Several at one timer -------------------------------------------------------------------- */

static w_atomic_u32 n_set, n_back, n_meddlers;

static void meddle(void *arg)
{
        weft_timer *t = arg;
        uint64_t    rand = (uint64_t)weft_id() * 77 + 1;

        for (uint32_t i = 0; i < sched_scale(3000); i++) {
                int rc;

                if (w_rand_below(&rand, 3)) {
                        rc = weft_timer_reset(t, (int64_t)w_rand_below(&rand, 20000));
                        w_add_rlx(&n_set, 1);
                } else {
                        rc = weft_timer_stop(t);
                }
                CHECK(rc == 0 || rc == 1);
                w_add_rlx(&n_back, (uint32_t)rc);
                if (i % 16 == 0)
                        weft_yield();
        }
        w_sub_acqrel(&n_meddlers, 1);
}

static void *meddle_from_outside(void *arg)
{
        meddle(arg);
        return NULL;
}

/* In the end, every set timer has fired or was stopped. */
static void main_several(void *arg)
{
        weft_timer *t = timer_new(1000, fire, NULL);
        pthread_t   thread;

        (void)arg;
        w_store_rlx(&n_set, 1);
        w_store_rlx(&n_back, 0);
        w_store_rlx(&n_meddlers, 9);
        CHECK_EQ(pthread_create(&thread, NULL, meddle_from_outside, t), 0);
        for (int i = 0; i < 8; i++)
                (void)sched_go(meddle, t);
        while (w_load_acq(&n_meddlers) > 0)
                CHECK_EQ(weft_sleep(WEFT_US(500)), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
        await_fired(w_load_rlx(&n_set) - w_load_rlx(&n_back));
        CHECK_EQ(weft_sleep(WEFT_MS(1)), 0);
        CHECK_EQ(w_load_acq(&n_fired), w_load_rlx(&n_set) - w_load_rlx(&n_back));
        CHECK_EQ(weft_timer_stop(t), 0);
        weft_timer_free(t);
}

TEST(many_reset_and_stop_one_timer)
{
        w_store_rlx(&n_fired, 0);
        sched_run(main_several, NULL);
}

/* ---- The end of the run, and misuse ---------------------------------------------------------- */

static void main_exited(void *arg)
{
        (void)arg;
        for (int i = 0; i < 1000; i++)
                (void)timer_new(WEFT_MS(i), fire, NULL);
}

TEST(timers_go_with_the_run)
{
        w_store_rlx(&n_fired, 0);
        sched_warm_up();
        sched_run(main_exited, NULL);
        struct test_resources before = test_resources_now();

        for (int i = 0; i < 3; i++)
                sched_run(main_exited, NULL);
        test_check_no_leak(&before);
}

static void main_bad(void *arg)
{
        (void)arg;
        CHECK(!weft_timer_new(1, NULL, NULL));
        CHECK_EQ(weft_timer_stop(NULL), -EINVAL);
        CHECK_EQ(weft_timer_reset(NULL, 1), -EINVAL);
        weft_timer_free(NULL);
}

TEST(bad_arguments_are_refused)
{
        sched_run(main_bad, NULL);
        CHECK(!weft_timer_new(1, fire, NULL));          /* no runtime */
        weft_timer_free(NULL);
}

/* ---- No memory ------------------------------------------------------------------------------- */

#if defined(W_DEBUG)

static void main_refused(void *arg)
{
        (void)arg;
        w_inject_from(W_CALL_MMAP, 1, ENOMEM);
        CHECK(!weft_timer_new(WEFT_MS(1), fire, NULL));
        w_inject_off();
        weft_timer *t = timer_new(WEFT_US(10), fire, NULL);

        await_fired(1);
        weft_timer_free(t);
}

TEST(without_memory_there_is_no_timer)
{
        w_store_rlx(&n_fired, 0);
        sched_run(main_refused, NULL);
}

static void wait_for_token(void *arg)
{
        (void)arg;
        CHECK_EQ(weft_park(), 0);
}

/* Waiting goroutines take all remaining memory; one of them ends once the timer was due. */
static void main_waits_for_memory(void *arg)
{
        weft_timer *t = timer_new(WEFT_SEC(3600), fire, NULL);
        int64_t     id, last = 0;

        (void)arg;
        w_inject_from(W_CALL_MMAP, 1, ENOMEM);
        while ((id = weft_go(wait_for_token, NULL)) > 0)
                last = id;
        CHECK_EQ(id, -ENOMEM);
        CHECK(last > 0);
        CHECK_EQ(weft_timer_reset(t, WEFT_MS(1)), 1);   /* only once no memory is left */
        CHECK_EQ(weft_sleep(WEFT_MS(10)), 0);
        CHECK_EQ(w_load_acq(&n_fired), 0);
        CHECK_EQ(weft_timer_stop(t), 1);                /* it is still set, */
        CHECK_EQ(weft_timer_reset(t, 0), 0);
        w_inject_off();
        await_fired(1);                                 /* and tried again */
        weft_timer_free(t);
}

TEST(a_timer_without_memory_for_its_goroutine_fires_later)
{
        if (sched_procs() > 1)
                test_skip("other Ps have some memory left in their caches");
        w_store_rlx(&n_fired, 0);
        /* An M that has lost its P cannot use what is left in the P's cache. */
        CHECK_EQ(setenv("WEFT_DEBUG", "preempt=off", 1), 0);
        sched_run(main_waits_for_memory, NULL);
}

#else

TEST(without_memory_there_is_no_timer)
{
        test_skip("release builds have no fault injection");
}

TEST(a_timer_without_memory_for_its_goroutine_fires_later)
{
        test_skip("release builds have no fault injection");
}

#endif
