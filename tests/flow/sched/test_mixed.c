/* tests/flow/sched/test_mixed.c - a thousand goroutines that use everything at once, and the final
 * counts.
 *
 * Every worker does one random action after the other, with its own generator; the actions are in
 * mixed_shared.c and mixed_own.c. A wait for a party that may never come has a deadline. At the end
 * nothing may be missing and nothing may be there twice: values sent and received, permits, what
 * was counted under locks, timers that were due and that fired, goroutines.
 *
 * WEFT_DEBUG=randomize makes the order of the run queues random, too. A run prints its SEED, which
 * repeats every choice; which thread is faster depends on the machine. TEST_LONG=1, as `make
 * stress` sets it, goes on for a minute with one seed after the other.
 *
 * test: procs=1,2,4 timeout=600 sources=mixed.c,mixed_own.c,mixed_shared.c
 * The long form takes minutes.
 *
 * SPDX-License-Identifier: MIT
 */
#include "mixed.h"

#include <inttypes.h>
#include <string.h>

enum {
        CONSUMERS = 8,                  /* they receive until the pipes are closed */
        ROUNDS    = 160,                /* actions of each worker */
        CHECK_MS   = 5,                  /* between two checks of the invariants */
        N_THINGS  = 18,
};

static const size_t pipe_caps[MIX_PIPES] = { 0, 0, 1, 16 };

static const struct {
        const char *name;
        void      (*fn)(struct worker *w);
} things[N_THINGS] = {
        { "send", mix_send },     { "receive", mix_receive }, { "try", mix_try },
        { "select", mix_select }, { "stream", mix_stream },   { "mutex", mix_mutex },
        { "write", mix_write },   { "read", mix_read },       { "put", mix_put },
        { "take", mix_take },     { "sem", mix_sem },         { "once", mix_once },
        { "family", mix_family }, { "park", mix_park },       { "sleep", mix_sleep },
        { "timer", mix_timer },   { "tick", mix_tick },       { "scope", mix_scope },
};

struct mix          mix;
static w_atomic_u64 n_done[N_THINGS];
static w_atomic_u32 n_workers_done;
static uint32_t     n_rounds;

/* ---- The workers ----------------------------------------------------------------------------- */

static void work(void *arg)
{
        struct worker *w = arg;

        for (uint32_t i = 0; i < n_rounds; i++) {
                uint32_t thing = mix_below(w, N_THINGS);

                things[thing].fn(w);
                w_add_rlx(&n_done[thing], 1);
        }
        w_add_rlx(&n_workers_done, 1);
}

static void consume(void *pipe)
{
        uint64_t value;
        int      rc;

        while ((rc = weft_chan_recv(pipe, &value)) == 0)
                mix_received(value);
        CHECK_EQ(rc, -EPIPE);
        CHECK_EQ(value, 0);
}

static void prepare(uint64_t seed)
{
        memset(&mix, 0, sizeof(mix));
        memset(n_done, 0, sizeof(n_done));
        w_store_rlx(&n_workers_done, 0);
        weft_sem_init(&mix.sem, MIX_PERMITS);
        mix.n_workers = sched_scale(MIX_WORKERS);
        for (uint32_t i = 0; i < mix.n_workers; i++)
                mix.workers[i].rand = w_rand(&seed);
        for (int i = 0; i < MIX_PIPES; i++) {
                mix.pipes[i] = weft_chan_new(sizeof(uint64_t), pipe_caps[i]);
                CHECK(mix.pipes[i]);
        }
        mix.never = weft_chan_new(0, 0);
        CHECK(mix.never);
}

static void work_all(void)
{
        int64_t consumers[CONSUMERS];

        for (int i = 0; i < CONSUMERS; i++)
                consumers[i] = sched_go(consume, mix.pipes[i % MIX_PIPES]);
        for (uint32_t i = 0; i < mix.n_workers; i++) {
                int64_t id = sched_go(work, &mix.workers[i]);

                w_store_rlx(&mix.workers[i].id, (uint64_t)id);
        }
        while (w_load_rlx(&n_workers_done) < mix.n_workers) {
                CHECK_EQ(weft_sleep(WEFT_MS(CHECK_MS)), 0);
                CHECK_EQ(weft_check(), 0);
        }
        for (uint32_t i = 0; i < mix.n_workers; i++)
                sched_join((int64_t)w_load_rlx(&mix.workers[i].id));
        for (int i = 0; i < MIX_PIPES; i++)
                CHECK_EQ(weft_chan_close(mix.pipes[i]), 0);
        for (int i = 0; i < CONSUMERS; i++)
                sched_join(consumers[i]);
        /* A goroutine that a timer starts cannot be joined. */
        while (w_load_rlx(&mix.n_fired) < w_load_rlx(&mix.n_due) || weft_count() > 1)
                weft_yield();
}

/* ---- The counts ------------------------------------------------------------------------------ */

#define CHECK_SAME(a, b) CHECK_EQ(w_load_rlx(&mix.a), w_load_rlx(&mix.b))

static void check_shared(void)
{
        CHECK_SAME(n_received, n_sent);
        CHECK_SAME(sum_received, sum_sent);
        CHECK(w_load_rlx(&mix.n_sent) > 0);
        CHECK_EQ(mix.n_under_mutex, w_load_rlx(&mix.n_locked));
        CHECK_EQ(mix.left, w_load_rlx(&mix.n_written));
        CHECK_EQ(mix.right, w_load_rlx(&mix.n_written));
        CHECK_EQ(mix.n_put, mix.n_taken + mix.n_in_store);
        CHECK_EQ(w_load_rlx(&mix.n_inside), 0);
        for (int i = 0; i < MIX_PERMITS; i++)
                CHECK_EQ(weft_sem_try_acquire(&mix.sem), 0);
        CHECK_EQ(weft_sem_try_acquire(&mix.sem), -EAGAIN);
        for (int i = 0; i < MIX_ONCES; i++)
                CHECK(mix.n_onces_ran[i] <= 1);
        CHECK_EQ(weft_mutex_try_lock(&mix.mutex), 0);
        CHECK_EQ(weft_mutex_try_lock(&mix.store_mutex), 0);
        CHECK_EQ(weft_rwmutex_try_lock(&mix.rwmutex), 0);
}

static void check_goroutines(void)
{
        weft_stats_t st = { .size = sizeof(st) };

        CHECK_EQ(weft_sleep(WEFT_MS(1)), 0);    /* a timer that fires twice has its chance */
        CHECK_SAME(n_fired, n_due);
        CHECK_SAME(n_ended, n_started);
        CHECK_EQ(weft_count(), 1);
        CHECK_EQ(weft_stats(&st), 0);
        CHECK_EQ(st.spawned, 1 + CONSUMERS + mix.n_workers + w_load_rlx(&mix.n_started) +
                             w_load_rlx(&mix.n_fired));
        CHECK_EQ(weft_check(), 0);
}

static void clean_up(void)
{
        for (int i = 0; i < MIX_PIPES; i++) {
                CHECK_EQ(weft_chan_len(mix.pipes[i]), 0);
                weft_chan_unref(mix.pipes[i]);
        }
        weft_chan_unref(mix.never);
}

static void main_mixed(void *seed)
{
        prepare(*(uint64_t *)seed);
        work_all();
        check_shared();
        check_goroutines();
        clean_up();
        for (int i = 0; i < N_THINGS; i++)
                CHECK_MSG(w_load_rlx(&n_done[i]) > 0, "no worker did: %s", things[i].name);
        CHECK(w_load_rlx(&mix.n_in_time) > 0 && w_load_rlx(&mix.n_late) > 0);
}

/* ---- Runs ------------------------------------------------------------------------------------ */

static void run_mixed(uint64_t seed, uint32_t rounds)
{
        int64_t began = weft_now();

        n_rounds = rounds;
        printf("SEED=%" PRIu64 " WEFT_DEBUG=%s\n", seed, getenv("WEFT_DEBUG"));
        fflush(stdout);
        sched_run(main_mixed, &seed);
        printf("%" PRIu64 " values, %" PRIu64 " children, %" PRIu64 " timers fired; %" PRIu64
               " calls in time, %" PRIu64 " late; %lld ms\n", w_load_rlx(&mix.n_sent),
               w_load_rlx(&mix.n_started), w_load_rlx(&mix.n_fired), w_load_rlx(&mix.n_in_time),
               w_load_rlx(&mix.n_late), (long long)(weft_now() - began) / 1000000);
}

static void run_randomized(uint64_t seed, uint32_t rounds)
{
        char debug[64];

        snprintf(debug, sizeof(debug), "randomize=%" PRIu64, seed & INT64_MAX);
        setenv("WEFT_DEBUG", debug, 1);
        run_mixed(seed, rounds);
}

TEST(everything_at_once)
{
        setenv("WEFT_DEBUG", "", 1);
        run_mixed(test_seed(), ROUNDS);
}

TEST(everything_at_once_in_random_order)
{
        run_randomized(test_seed(), ROUNDS);
}

TEST(everything_at_once_for_a_minute)
{
        int64_t  end = weft_now() + WEFT_SEC(60);
        uint64_t seed = test_seed();

        if (!getenv("TEST_LONG"))
                test_skip("long form: set TEST_LONG=1 or use make stress");
        do
                run_randomized(seed++, 2 * ROUNDS);
        while (weft_now() < end);
}
