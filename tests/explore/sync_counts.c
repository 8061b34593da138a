/* tests/explore/sync_counts.c - PROTOCOL sem, wait-group, once and waitqueue: what was done before
 * is seen after the wait, and the waiter may free the object.
 *
 * SPDX-License-Identifier: MIT
 */
#include "goroutines.h"
#include "scenarios.h"

#include "weft.h"

static weft_sem  sem;
static weft_wg   wg;
static weft_once once;
static int       data[2], n_calls;

static void setup_count(int count)
{
        goroutines_reset();
        weft_sem_init(&sem, 0);
        wg = (weft_wg){ 0 };
        once = (weft_once){ 0 };
        weft_wg_add(&wg, count);
        data[0] = data[1] = n_calls = 0;
}

static void setup(void)   { setup_count(1); }
static void setup_2(void) { setup_count(2); }

/* ---- Semaphore ------------------------------------------------------------------------------- */

static void acquire_and_free(void)
{
        EXPLORE_CHECK(weft_sem_acquire(&sem) == 0);
        EXPLORE_CHECK(w_plain_load(&data[0]) == 1);
        UNMAP(&sem);
}

static void acquirer(void)
{
        foreign_begin();
        acquire_and_free();
}

static void acquirer_goroutine(void)
{
        goroutine_begin(1);
        acquire_and_free();
}

static void release(int which)
{
        foreign_begin();
        w_plain_store(&data[which], 1);
        weft_sem_release(&sem);
}

static void releaser(void)   { release(0); }
static void releaser_1(void) { release(1); }

/* Two permits for one acquirer that wants both. */
static void acquirer_2(void)
{
        foreign_begin();
        EXPLORE_CHECK(weft_sem_acquire(&sem) == 0);
        EXPLORE_CHECK(weft_sem_acquire(&sem) == 0);
        EXPLORE_CHECK(w_plain_load(&data[0]) + w_plain_load(&data[1]) == 2);
        UNMAP(&sem);
}

/* ---- Wait group ------------------------------------------------------------------------------ */

static void wait_and_free(int n)
{
        EXPLORE_CHECK(weft_wg_wait(&wg) == 0);
        for (int i = 0; i < n; i++)
                EXPLORE_CHECK(w_plain_load(&data[i]) == 1);
        UNMAP(&wg);
}

static void waiter(void)
{
        foreign_begin();
        wait_and_free(1);
}

static void waiter_goroutine(void)
{
        goroutine_begin(1);
        wait_and_free(1);
}

static void waiter_2(void)
{
        foreign_begin();
        wait_and_free(2);
}

static void finish(int which)
{
        foreign_begin();
        w_plain_store(&data[which], 1);
        weft_wg_done(&wg);
}

static void done(void)   { finish(0); }
static void done_1(void) { finish(1); }

/* ---- Once ------------------------------------------------------------------------------------ */

static void initialise(void *arg)
{
        w_plain_store((int *)arg, 1);
        n_calls++;
}

static void ask(void)
{
        foreign_begin();
        weft_once_do(&once, initialise, &data[0]);
        EXPLORE_CHECK(w_plain_load(&data[0]) == 1 && n_calls == 1);
}

static void initialise_mine(void *arg)
{
        initialise(arg);
        data[1] = 1;
}

/* A caller that has not run the function itself knows that the runner is done with the object. */
static void ask_and_free(void)
{
        foreign_begin();
        weft_once_do(&once, initialise_mine, &data[0]);
        EXPLORE_CHECK(w_plain_load(&data[0]) == 1 && n_calls == 1);
        if (!data[1])
                UNMAP(&once);
}

const struct explore_scenario sync_counts_scenarios[] = {
        { "sync-sem", "a permit is handed to a thread, which frees the semaphore",
          { { "acquirer", acquirer }, { "releaser", releaser } }, setup, .bound = ANY },
        { "sync-sem-goroutine", "the same with a goroutine that waits",
          { { "acquirer", acquirer_goroutine }, { "releaser", releaser } }, setup, .bound = ANY },
        { "sync-sem-two", "two releasers, one acquirer that wants both permits",
          { { "acquirer", acquirer_2 }, { "releaser", releaser }, { "second", releaser_1 } },
          setup, .bound = 2, .stale = 1 },
        { "sync-wg", "one is done, a thread waits and frees the wait group",
          { { "waiter", waiter }, { "done", done } }, setup, .bound = ANY },
        { "sync-wg-goroutine", "the same with a goroutine that waits",
          { { "waiter", waiter_goroutine }, { "done", done } }, setup, .bound = ANY },
        { "sync-wg-two", "two are done, a thread waits and frees the wait group",
          { { "waiter", waiter_2 }, { "done", done }, { "second", done_1 } }, setup_2,
          .bound = 3 },
        { "sync-once", "two threads call; the second frees it",
          { { "one", ask }, { "two", ask_and_free } }, setup, .bound = ANY },
        { "sync-once-three", "three threads ask",
          { { "one", ask }, { "two", ask }, { "three", ask } }, setup, .bound = 2,
          .stale = 2 },
        { .name = NULL },
};
