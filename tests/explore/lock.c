/* tests/explore/lock.c - PROTOCOL lock: mutual exclusion, and every sleeper is woken.
 *
 * SPDX-License-Identifier: MIT
 */
#include "scenarios.h"

#include "base/lock.h"
#include "base/thread.h"

static struct lock lock;
static int         counter, n_expected;

static void setup(void)
{
        w_lock_init(&lock, W_LOCK_test_outer);
        counter = n_expected = 0;
}

static int result(void)
{
        EXPLORE_CHECK(counter == n_expected);
        EXPLORE_CHECK(lock.word.raw == 0);
        return 0;
}

static void section(void)
{
        w_plain_store(&counter, w_plain_load(&counter) + 1);
        n_expected++;
        EXPLORE_CHECK(w_self()->n_held == 1);
}

static void once(void)
{
        w_lock(&lock);
        section();
        w_unlock(&lock);
}

static void twice(void)
{
        once();
        once();
}

static void try_once(void)
{
        if (!w_lock_try(&lock))
                return;
        section();
        w_unlock(&lock);
}

const struct explore_scenario lock_scenarios[] = {
        { "lock", "two threads, two sections each",
          { { "one", twice }, { "two", twice } }, setup, result, .spurious = 1, .bound = ANY },
        { "lock-three", "three threads, one section each",
          { { "one", once }, { "two", once }, { "three", once } }, setup, result, .bound = ANY },
        { "lock-try", "two threads lock, one tries",
          { { "one", once }, { "two", once }, { "try", try_once } }, setup, result, .bound = ANY },
        { .name = NULL },
};
