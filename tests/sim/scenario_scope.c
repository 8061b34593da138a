/* tests/sim/scenario_scope.c - PROTOCOL scope-tree with the whole scheduler.
 *
 * Members sleep in a scope and in scopes within it. Tokens, a deadline and cancellers, inside and
 * outside, goroutines and threads, try to end their waits. A member that sleeps on after the
 * cancellation ends in a deadlock. A member that is woken twice is found by its state. The memory
 * of a closed scope is written over at once and must stay as it is.
 *
 * test: seeds=quarter
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/scope_world.h"

#include <errno.h>      /* ECANCELED and others */
#include <string.h>

enum { N_MEMBERS = 3, N_ROUNDS = 3 };

struct member {
        int64_t id;
        bool    nests, given;
};

static struct {
        weft_scope    scope;
        struct member members[N_MEMBERS];
        uint32_t      n_ended;          /* plain: simulated threads run one at a time */
} world;

static void check_done(int rc)
{
        SIM_CHECK(rc == -ECANCELED || rc == -ETIMEDOUT, "a wait ended with %d", rc);
        SIM_CHECK(weft_cancelled() == rc, "ended by %d, later by %d", rc, weft_cancelled());
}

/* What other calls leave where a frame was: to a late giver these words look like those of a
 * sleeper. */
static W_NOINLINE void overwrite_frames_below(void)
{
        volatile uint32_t words[512];

        for (size_t i = 0; i < W_ARRAY_LEN(words); i++)
                words[i] = 1;
}

/* ---- Members --------------------------------------------------------------------------------- */

/* Parks until a scope ends it. One token comes before the end, or it stays for later. */
static void park_on(struct member *me)
{
        uint32_t n_taken = 0;
        int      rc;

        while ((rc = weft_park()) == 0)
                n_taken++;
        overwrite_frames_below();
        check_done(rc);
        SIM_CHECK(n_taken <= 1, "%u tokens out of one", n_taken);
        weft_shield_begin();
        while (!me->given)              /* the token is there or on its way: it stays */
                weft_yield();
        if (n_taken == 0)
                SIM_CHECK(weft_park() == 0, "a park behind a shield was refused");
        weft_shield_end();
}

static int be_member(void *arg)
{
        struct member *me = arg;
        weft_scope     own;

        me->id = weft_id();
        if (me->nests)
                open_scope(&own, sim_random(2) ? WEFT_FOREVER : WEFT_SEC(5));
        park_on(me);
        if (me->nests) {
                SIM_CHECK(weft_scope_close(&own) == 0, "an inner scope failed");
                poison(&own);
                weft_yield();
                check_poisoned(&own);
        }
        world.n_ended++;
        return 0;
}

static void give_tokens(void *arg)
{
        (void)arg;
        for (int i = 0; i < N_MEMBERS; i++) {
                struct member *m = &world.members[i];

                if (sim_random(2))
                        weft_yield();
                SIM_CHECK(weft_unpark(m->id) == 0, "a member is gone");
                m->given = true;
        }
}

static void start_members(void)
{
        for (int i = 0; i < N_MEMBERS; i++) {
                world.members[i] = (struct member){ .nests = sim_random(2) };
                int64_t id = weft_scope_go(&world.scope, be_member, &world.members[i]);

                SIM_CHECK(id > 0, "weft_scope_go returned %ld", (long)id);
                world.members[i].id = id;
        }
}

/* ---- The cancellers -------------------------------------------------------------------------- */

static void cancel(void *arg)
{
        (void)arg;
        sim_work(sim_random(2000));
        weft_scope_cancel(&world.scope);
}

static int cancel_inside(void *arg)
{
        cancel(arg);
        return 0;
}

static int fail(void *arg)
{
        sim_work(sim_random(2000));
        return (int)(intptr_t)arg;
}

/* Not before the first of its members has gone to sleep or ended: it keeps the scope open. */
static void cancel_foreign(void *arg)
{
        foreign_begin();
        cancel(arg);
}

enum how { OUTSIDE, INSIDE, FOREIGN, ERROR, DEADLINE, N_HOWS };

/* The scope stays open until a canceller outside has cancelled it: no other party does. */
static int cancel_and_close(enum how how)
{
        struct worker thread;
        int64_t       id = 0;

        switch (how) {
        case OUTSIDE:
                id = sched_go(cancel, NULL);
                break;
        case INSIDE:
                SIM_CHECK(weft_scope_go(&world.scope, cancel_inside, NULL) > 0, "no canceller");
                break;
        case FOREIGN:
                worker_start(&thread, "canceller", cancel_foreign, NULL);
                break;
        case ERROR:
                SIM_CHECK(weft_scope_go(&world.scope, fail, (void *)7) > 0, "no child");
                break;
        default:
                break;
        }
        int rc = weft_scope_close(&world.scope);

        poison(&world.scope);
        weft_yield();
        if (id)
                sched_join(id);
        if (how == FOREIGN)
                worker_join(&thread);
        check_poisoned(&world.scope);
        return rc;
}

static void round_of(enum how how)
{
        open_scope(&world.scope, how == DEADLINE ? 500 + sim_random(20000) :
                   sim_random(2) ? WEFT_SEC(5) : WEFT_FOREVER);
        world.n_ended = 0;
        if (how == DEADLINE) {
                SIM_CHECK(weft_park() == -ETIMEDOUT, "the opener's wait did not time out");
                SIM_CHECK(cancel_and_close(how) == 0, "a child failed");
                return;
        }
        start_members();
        int64_t giver = sched_go(give_tokens, NULL);
        int     rc = cancel_and_close(how);

        SIM_CHECK(rc == (how == ERROR ? 7 : 0), "close returned %d", rc);
        SIM_CHECK(world.n_ended == N_MEMBERS, "%u members ended", world.n_ended);
        sched_join(giver);
}

static void first(void *arg)
{
        (void)arg;
        for (int i = 0; i < N_ROUNDS; i++)
                round_of((enum how)sim_random(N_HOWS));
        SIM_CHECK(weft_count() == 1, "%ld goroutines are left", (long)weft_count());
}

static void cancel_main(void)
{
        sched_run_well(NULL, first);
}

SIM_SCENARIO(scope_cancel, "members, tokens and cancellers of every kind; memory reused at once",
             cancel_main, .max_steps = SCHED_MAX_STEPS)

/* ---- A deadline and a cancellation at about the same time ------------------------------------ */

static int die_of_either(void *arg)
{
        (void)arg;
        check_done(weft_park());
        return 0;
}

/* A scope is opened below while the scope above is being cancelled. */
static int open_below(void *arg)
{
        weft_scope s;

        (void)arg;
        for (int i = 0; i < 2; i++) {
                open_scope(&s, WEFT_FOREVER);
                if (sim_random(2))
                        (void)!weft_scope_go(&s, die_of_either, NULL);
                int rc = weft_park();

                check_done(rc);
                SIM_CHECK(weft_scope_close(&s) == 0, "an inner scope failed");
                poison(&s);
                check_done(rc);       /* by the same scope above */
        }
        return 0;
}

static void race_first(void *arg)
{
        (void)arg;
        for (int i = 0; i < N_ROUNDS; i++) {
                open_scope(&world.scope, sim_random(4) ? 1000 + sim_random(3000) : WEFT_FOREVER);
                (void)!weft_scope_go(&world.scope, die_of_either, NULL);
                (void)!weft_scope_go(&world.scope, open_below, NULL);
                (void)!weft_scope_go(&world.scope, cancel_inside, NULL);
                if (sim_random(2))
                        check_done(weft_park());
                (void)!weft_scope_go(&world.scope, open_below, NULL);
                SIM_CHECK(weft_scope_close(&world.scope) == 0, "a child failed");
                poison(&world.scope);
                weft_yield();
                check_poisoned(&world.scope);
        }
        SIM_CHECK(weft_count() == 1, "%ld goroutines are left", (long)weft_count());
}

static void race_main(void)
{
        sched_run_well(NULL, race_first);
}

SIM_SCENARIO(scope_race, "deadline and cancellation together; scopes opened below meanwhile",
             race_main, .max_steps = SCHED_MAX_STEPS)

/* ---- A token and a cancellation at about the same time --------------------------------------- */

static void give_opener(void *id)
{
        SIM_CHECK(weft_unpark(*(int64_t *)id) == 0, "the opener is gone");
}

static void cancel_now(void *arg)
{
        (void)arg;
        weft_scope_cancel(&world.scope);
}

static void token_first(void *arg)
{
        int64_t me = weft_id();

        (void)arg;
        for (int i = 0; i < 2 * N_ROUNDS; i++) {
                open_scope(&world.scope, WEFT_FOREVER);
                int64_t giver = sched_go(give_opener, &me);
                int64_t canceller = sched_go(cancel_now, NULL);
                int     rc = weft_park();

                overwrite_frames_below();
                weft_shield_begin();
                if (rc < 0)
                        SIM_CHECK(weft_park() == 0, "a park behind a shield was refused");
                sched_join(giver);
                sched_join(canceller);
                weft_shield_end();
                SIM_CHECK(rc == 0 || rc == -ECANCELED, "park returned %d", rc);
                SIM_CHECK(weft_scope_close(&world.scope) == 0, "no child failed");
        }
}

static void token_main(void)
{
        sched_run_well(NULL, token_first);
}

SIM_SCENARIO(scope_token, "a token and a cancellation together: taken or left, never lost",
             token_main, .max_steps = SCHED_MAX_STEPS)
