/* tests/flow/scope/test_scope_race.c - what ends a wait in a scope may come at the same time; and a
 * scope may vanish as soon as its close has returned.
 *
 * Set TEST_LONG=1 for a million scopes in memory that is unmapped, as `make stress` does.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/scope.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

/* ---- A token and a cancellation -------------------------------------------------------------- */

struct race {
        weft_scope *scope;
        int64_t     id;
};

static void give_token(void *arg)
{
        struct race *race = arg;

        CHECK_EQ(weft_unpark(race->id), 0);
}

static void cancel_scope(void *arg)
{
        struct race *race = arg;

        weft_scope_cancel(race->scope);
}

/* Whichever wins, either a park that returns 0 has taken the token, or it is still there. */
static void race_once(uint32_t round, uint32_t *n_taken)
{
        weft_scope  s;
        struct race race = { &s, weft_id() };
        int64_t     ids[2];

        scope_open(&s, SCOPE_LONG_TIME);
        ids[0] = sched_go(round % 2 ? give_token : cancel_scope, &race);
        ids[1] = sched_go(round % 2 ? cancel_scope : give_token, &race);
        int rc = weft_park();

        weft_shield_begin();
        sched_join(ids[0]);
        sched_join(ids[1]);
        weft_shield_end();
        scope_close(&s, 0);
        CHECK_MSG(rc == 0 || rc == -ECANCELED, "park returned %d", rc);
        *n_taken += rc == 0;
        if (rc != 0)
                CHECK_EQ(weft_park(), 0);
        if (round % 64 == 0)
                CHECK(!scope_take_token());     /* there was only one */
}

GO_TEST(a_token_is_taken_or_stays)
{
        uint32_t n = sched_scale(2000), n_taken = 0;

        for (uint32_t i = 0; i < n; i++)
                race_once(i, &n_taken);
        CHECK(n_taken <= n);
}

/* ---- Everything at once ---------------------------------------------------------------------- */

enum { N_MEMBERS = 8 };

static int member(void *arg)
{
        (void)arg;
        int rc = weft_park();

        CHECK_MSG(rc == -ECANCELED || rc == -ETIMEDOUT, "park returned %d", rc);
        CHECK_EQ(weft_cancelled(), rc);         /* the answer does not change */
        return 0;
}

static int cancel_and_go(void *scope)
{
        weft_scope_cancel(scope);
        return 0;
}

static int fail(void *arg)
{
        (void)arg;
        return -EIO;
}

/* A deadline of about the duration of the rest, two cancellers and an error. */
static void cancel_in_three_ways(uint32_t round)
{
        weft_scope s;
        int        rc = weft_scope_open(&s, 1000 + (int64_t)(round % 40) * 1000);

        CHECK_EQ(rc, 0);
        for (int i = 0; i < N_MEMBERS; i++)
                if (weft_scope_go(&s, member, NULL) < 0)
                        break;
        (void)!weft_scope_go(&s, cancel_and_go, &s);
        (void)!weft_scope_go(&s, fail, NULL);
        rc = weft_park();
        CHECK_MSG(rc == -ECANCELED || rc == -ETIMEDOUT, "park returned %d", rc);
        CHECK_EQ(weft_cancelled(), rc);
        rc = weft_scope_close(&s);
        CHECK_MSG(rc == 0 || rc == -EIO, "close returned %d", rc);
}

GO_TEST(deadline_cancel_and_error_together)
{
        uint32_t n = sched_scale(1000);

        for (uint32_t i = 0; i < n; i++)
                cancel_in_three_ways(i);
        CHECK_EQ(weft_count(), 1);
}

/* ---- Lifetime -------------------------------------------------------------------------------- */

/* The page that is unmapped with the scope holds nothing else. */
static void unmap_after_close(uint32_t round)
{
        weft_scope *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                             -1, 0);

        CHECK(s != MAP_FAILED);
        scope_open(s, round % 2 ? SCOPE_LONG_TIME : WEFT_FOREVER);
        scope_go(s, member, NULL);
        if (round % 3)
                scope_go(s, cancel_and_go, s);
        else
                scope_go(s, fail, NULL);
        scope_close(s, round % 3 ? 0 : -EIO);
        CHECK_EQ(munmap(s, sizeof(*s)), 0);
}

static void main_unmap(void *arg)
{
        (void)arg;
        for (uint32_t i = 0; i < *(uint32_t *)arg; i++)
                unmap_after_close(i);
}

TEST(a_scope_may_vanish_after_its_close)
{
        uint32_t n = sched_scale(5000);

        sched_run(main_unmap, &n);
}

TEST(a_million_scopes_vanish_after_their_close)
{
        uint32_t n = 1000000;

        if (!getenv("TEST_LONG"))
                test_skip("long form: set TEST_LONG=1 or use make stress");
        sched_run(main_unmap, &n);
}

/* A canceller that is not in the scope is still in its call when the scope is gone. */
struct caller {
        weft_scope  *s;
        w_atomic_u32 turn;              /* round number that may be cancelled; 0: none */
        uint32_t     n;
};

static void *cancel_each(void *arg)
{
        struct caller *caller = arg;

        for (uint32_t i = 1; i <= caller->n; i++) {
                while (w_load_acq(&caller->turn) != i)
                        w_os_yield();
                weft_scope_cancel(caller->s);
        }
        return NULL;
}

GO_TEST(a_scope_may_vanish_while_a_canceller_returns)
{
        struct caller caller = { .n = sched_scale(1000) };
        pthread_t    thread;

        CHECK_EQ(pthread_create(&thread, NULL, cancel_each, &caller), 0);
        for (uint32_t i = 1; i <= caller.n; i++) {
                caller.s = mmap(NULL, sizeof(weft_scope), PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                CHECK((void *)caller.s != MAP_FAILED);
                scope_open(caller.s, WEFT_FOREVER);
                w_store_rel(&caller.turn, i);
                CHECK_EQ(weft_park(), -ECANCELED);
                scope_close(caller.s, 0);
                CHECK_EQ(munmap(caller.s, sizeof(weft_scope)), 0);
        }
        CHECK_EQ(pthread_join(thread, NULL), 0);
}

/* ---- The end of the run ---------------------------------------------------------------------- */

static w_atomic_u32 n_asleep;

static int sleep_for_good(void *arg)
{
        weft_scope s;

        (void)arg;
        scope_open(&s, SCOPE_LONG_TIME);
        w_add_rlx(&n_asleep, 1);
        CHECK_MSG(weft_park() == 0, "woken after the end of the run");
        return 0;
}

static void sleep_in_scopes(void *arg)
{
        weft_scope s;

        (void)arg;
        scope_open(&s, SCOPE_LONG_TIME);
        for (int i = 0; i < N_MEMBERS; i++)
                scope_go(&s, sleep_for_good, NULL);
        w_add_rlx(&n_asleep, 1);
        scope_close(&s, 0);
}

static void main_leaves_sleepers(void *arg)
{
        (void)arg;
        w_store_rlx(&n_asleep, 0);
        sched_go(sleep_in_scopes, NULL);
        sched_await(&n_asleep, N_MEMBERS + 1);
}

TEST(a_run_may_end_while_scopes_are_open)
{
        for (int i = 0; i < 3; i++)
                sched_run(main_leaves_sleepers, NULL);
        uint32_t n = 100;

        sched_run(main_unmap, &n);
}
