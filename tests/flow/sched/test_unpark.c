/* tests/flow/sched/test_unpark.c - park and unpark: one token, before or after the park, from any
 * thread.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sched.h"

#include <pthread.h>

static w_atomic_u32 n_woken;

static void park_counting(void *arg)
{
        (void)arg;
        CHECK_EQ(weft_park(), 0);
        w_add_acqrel(&n_woken, 1);
}

GO_TEST(a_token_that_comes_first_is_kept)
{
        CHECK_EQ(weft_unpark(weft_id()), 0);
        CHECK_EQ(weft_park(), 0);
}

GO_TEST(two_tokens_are_one)
{
        int64_t id = sched_go(park_counting, NULL);

        for (int i = 0; i < 3; i++)
                CHECK_EQ(weft_unpark(weft_id()), 0);
        CHECK_EQ(weft_park(), 0);
        sched_await_parked(id);
        /* A second token for main would let this return before the other is woken. */
        CHECK_EQ(w_load_acq(&n_woken), 0);
        CHECK_EQ(weft_unpark(id), 0);
        sched_join(id);
        CHECK_EQ(w_load_acq(&n_woken), 1);
}

static void park_twice(void *arg)
{
        park_counting(arg);
        park_counting(arg);
}

GO_TEST(one_park_per_token)
{
        int64_t id = sched_go(park_twice, NULL);

        sched_await_parked(id);
        if (sched_procs() > 1)
                CHECK_EQ(weft_unpark(id), 0);
        for (int i = 0; i < 5 && sched_procs() == 1; i++)       /* it does not run in between */
                CHECK_EQ(weft_unpark(id), 0);
        sched_await(&n_woken, 1);
        sched_await_parked(id);
        CHECK_EQ(w_load_acq(&n_woken), 1);
        CHECK_EQ(weft_unpark(id), 0);
        sched_join(id);
        CHECK_EQ(w_load_acq(&n_woken), 2);
}

static void nothing(void *arg)
{
        (void)arg;
}

GO_TEST(unpark_of_an_unknown_id_is_esrch)
{
        int64_t id = sched_go(nothing, NULL);

        sched_join(id);
        CHECK_EQ(weft_unpark(id), -ESRCH);
        CHECK_EQ(weft_unpark(0), -ESRCH);
        CHECK_EQ(weft_unpark(-1), -ESRCH);
        CHECK_EQ(weft_unpark(INT64_MIN), -ESRCH);
        CHECK_EQ(weft_unpark(INT64_MAX), -ESRCH);
        CHECK_EQ(weft_unpark(999999), -ESRCH);
}

/* A goroutine that has not run yet has its token all the same. */
GO_TEST(a_token_before_the_first_run_counts)
{
        int64_t id = sched_go(park_counting, NULL);

        CHECK_EQ(weft_unpark(id), 0);
        sched_join(id);
        CHECK_EQ(w_load_acq(&n_woken), 1);
}

/* ---- Ping-pong ------------------------------------------------------------------------------- */

struct pair {
        int64_t  ids[2];
        uint64_t value;         /* the woken goroutine may write it */
        uint64_t n;
};

/* `value` is a plain word: each side sees what the other wrote before it gave the token. */
static void play(struct pair *pair, uint64_t me)
{
        for (uint64_t i = me; i < pair->n; i += 2) {
                if (i > 0)
                        CHECK_EQ(weft_park(), 0);
                CHECK_EQ(pair->value, i);
                pair->value++;
                CHECK_EQ(weft_unpark(pair->ids[!me]), 0);
        }
}

static void play_second(void *arg)
{
        play(arg, 1);
}

static void play_first(void *arg)
{
        struct pair *pair = arg;

        pair->ids[0] = weft_id();
        pair->ids[1] = sched_go(play_second, pair);
        play(pair, 0);
        sched_join(pair->ids[1]);
        CHECK_EQ(pair->value, pair->n);
}

static void main_ping_pong(void *arg)
{
        enum { N_PAIRS = 8 };
        struct pair *pairs = arg;
        int64_t      ids[N_PAIRS];

        for (int i = 0; i < N_PAIRS; i++) {
                pairs[i].n = 2 * (uint64_t)test_scale(5000);
                ids[i] = sched_go(play_first, &pairs[i]);
        }
        for (int i = 0; i < N_PAIRS; i++)
                sched_join(ids[i]);
}

/* A partner that must continue is alive: unpark succeeds, except that the last token of all may
 * come after its end. `n` is even, so the last token goes to the first player, which joins. */
TEST(ping_pong_hands_over_what_was_written)
{
        static struct pair pairs[8];

        sched_run(main_ping_pong, pairs);
}

/* ---- From other threads ---------------------------------------------------------------------- */

enum { N_GIVERS = 3 };

struct receiver {
        int64_t      id;
        uint64_t     n;
        w_atomic_u64 sent[N_GIVERS];
};

static struct receiver receiver;

struct giver {
        pthread_t thread;
        int       index;
};

static void *give_tokens(void *arg)
{
        struct giver *giver = arg;

        for (uint64_t i = 1; i <= receiver.n; i++) {
                w_store_rel(&receiver.sent[giver->index], i);
                CHECK_EQ(weft_unpark(receiver.id), 0);
        }
        return NULL;
}

static bool all_received(void)
{
        for (int i = 0; i < N_GIVERS; i++)
                if (w_load_acq(&receiver.sent[i]) < receiver.n)
                        return false;
        return true;
}

/* If a token were lost the last park would never end. */
GO_TEST(tokens_from_plain_threads_are_not_lost)
{
        struct giver givers[N_GIVERS];

        receiver.id = weft_id();
        receiver.n = (uint64_t)test_scale(20000);
        for (int i = 0; i < N_GIVERS; i++) {
                givers[i].index = i;
                CHECK(pthread_create(&givers[i].thread, NULL, give_tokens, &givers[i]) == 0);
        }
        while (!all_received())
                CHECK_EQ(weft_park(), 0);
        for (int i = 0; i < N_GIVERS; i++)
                CHECK(pthread_join(givers[i].thread, NULL) == 0);
}

/* A process that sleeps is woken again and again: every thread and P goes idle in between. */
static void *wake_after_a_pause(void *arg)
{
        (void)arg;
        for (uint64_t i = 1; i <= receiver.n; i++) {
                if (i % 4 == 0)
                        w_os_sleep_until(w_os_now() + 200000);
                w_store_rel(&receiver.sent[0], i);
                CHECK_EQ(weft_unpark(receiver.id), 0);
                while (w_load_acq(&receiver.sent[1]) < i)
                        w_os_yield();
        }
        return NULL;
}

GO_TEST(an_idle_runtime_is_woken_each_time)
{
        pthread_t thread;

        receiver.id = weft_id();
        receiver.n = (uint64_t)test_scale(1000);
        CHECK(pthread_create(&thread, NULL, wake_after_a_pause, NULL) == 0);
        for (uint64_t i = 1; i <= receiver.n; i++) {
                while (w_load_acq(&receiver.sent[0]) < i)
                        CHECK_EQ(weft_park(), 0);
                w_store_rel(&receiver.sent[1], i);
        }
        CHECK(pthread_join(thread, NULL) == 0);
}

/* ---- Unpark against exit --------------------------------------------------------------------- */

static w_atomic_u64 victim;
static w_atomic_u32 stop;

static void disturb(void *arg)
{
        (void)arg;
        while (!w_load_acq(&stop)) {
                int rc = weft_unpark((int64_t)w_load_acq(&victim));

                CHECK(rc == 0 || rc == -ESRCH);
                weft_yield();
        }
}

static void live_shortly(void *arg)
{
        (void)arg;
        w_store_rel(&victim, (uint64_t)weft_id());
}

/* Records are used again at once: a token must never reach the next owner of a record, or the park
 * below would return without its own token. */
GO_TEST(unpark_races_with_exit)
{
        int64_t disturber = sched_go(disturb, NULL);

        for (long i = 0; i < test_scale(10000); i++) {
                sched_join(sched_go(live_shortly, NULL));
                uint32_t before = w_load_acq(&n_woken);
                int64_t  id = sched_go(park_counting, NULL);

                if (i % 16 == 0) {
                        sched_await_parked(id);
                        CHECK_EQ(w_load_acq(&n_woken), before);
                }
                CHECK_EQ(weft_unpark(id), 0);
                sched_join(id);
        }
        w_store_rel(&stop, 1);
        sched_join(disturber);
}
