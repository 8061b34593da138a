/* tests/explore/unpark.c - PROTOCOL park-unpark: the token, given before, during and after the
 * park.
 *
 * SPDX-License-Identifier: MIT
 */
#include "goroutines.h"
#include "scenarios.h"

#include "scope/tree.h"

#include "weft.h"

#include <errno.h>

static weft_scope   scope;
static w_atomic_u32 flags[2];
static int          data, got;

static void setup(void)
{
        goroutines_reset();
        flags[0].raw = flags[1].raw = 0;
        data = got = 0;
}

/* Goroutine 1 is in a scope. */
static void setup_scope(void)
{
        setup();
        goroutine_begin(1);
        EXPLORE_CHECK(weft_scope_open(&scope, WEFT_FOREVER) == 0);
}

static void give(void)
{
        foreign_begin();
        w_plain_store(&data, 1);
        EXPLORE_CHECK(weft_unpark(1) == 0);
}

static void park(void)
{
        goroutine_begin(1);
        EXPLORE_CHECK(weft_park() == 0);
        EXPLORE_CHECK(w_plain_load(&data) == 1);
}

/* ---- Two givers ------------------------------------------------------------------------------ */

static void give_flag(int which)
{
        foreign_begin();
        w_store_rlx(&flags[which], 1);
        EXPLORE_CHECK(weft_unpark(1) == 0);
}

static void give_0(void) { give_flag(0); }
static void give_1(void) { give_flag(1); }

/* Two tokens may be merged: the owner then acquires from both givers. */
static void park_until_both(void)
{
        goroutine_begin(1);
        while (!w_load_rlx(&flags[0]) || !w_load_rlx(&flags[1]))
                EXPLORE_CHECK(weft_park() == 0);
}

/* ---- In a scope ------------------------------------------------------------------------------ */

static void cancel(void)
{
        foreign_begin();
        weft_scope_cancel(&scope);
}

/* A park that the cancellation has ended leaves the token alone. */
static void park_in_scope(void)
{
        goroutine_begin(1);
        int rc = weft_park();

        EXPLORE_CHECK(rc == 0 || rc == -ECANCELED);
        got = rc == 0;
        if (rc < 0) {
                weft_shield_begin();
                EXPLORE_CHECK(weft_park() == 0);
        }
        EXPLORE_CHECK(w_plain_load(&data) == 1);
}

static int got_result(void) { return got; }

const struct explore_scenario unpark_scenarios[] = {
        { "unpark", "one parks, one gives the token",
          { { "owner", park }, { "giver", give } }, setup, .bound = ANY },
        { "unpark-two", "a goroutine parks until it has seen both givers",
          { { "owner", park_until_both }, { "first", give_0 }, { "second", give_1 } }, setup,
          .bound = 3, .stale = 2 },
        { "unpark-in-scope", "one parks in a scope, one gives the token",
          { { "owner", park_in_scope }, { "giver", give } }, setup_scope, got_result,
          .allowed = SEEN(1), .bound = ANY },
        { "unpark-cancel", "one parks in a scope, one gives the token, one cancels",
          { { "owner", park_in_scope }, { "giver", give }, { "canceller", cancel } },
          setup_scope, got_result, .required = SEEN(0) | SEEN(1), .bound = 3, .stale = 1 },
        { .name = NULL },
};
