/* tests/lib/calls.h - every cancellable call, where there is nothing to be had and where
 * there is.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_LIB_CALLS_H
#define TESTS_LIB_CALLS_H

#include "lib/scope.h"

#include <errno.h>

/* What the calls below are made on: nothing to be had with `none`, everything with `some`. */
static struct {
        weft_chan *none, *full, *some, *room;
        weft_mutex mutex;
        weft_cond  cond;
        weft_sem   sem_none, sem_some;
        weft_wg    wg_none, wg_some;
        int64_t    alive, ended;
} on;

static void park_outside(void *arg)
{
        (void)arg;
        CHECK_EQ(weft_park(), 0);
}

static void end_at_once(void *arg)
{
        (void)arg;
}

static weft_chan *chan_with(size_t capacity, int n)
{
        weft_chan *c = weft_chan_new(sizeof(int), capacity);

        CHECK(c);
        for (int i = 0; i < n; i++)
                CHECK_EQ(weft_chan_send(c, &i), 0);
        return c;
}

static inline void calls_set_up(void)
{
        on.none = chan_with(0, 0);
        on.full = chan_with(2, 2);
        on.some = chan_with(2, 1);
        on.room = chan_with(2, 0);
        weft_sem_init(&on.sem_some, 1);
        weft_wg_add(&on.wg_none, 1);
        on.alive = sched_go(park_outside, NULL);
        on.ended = sched_go(end_at_once, NULL);
        sched_join(on.ended);
}

static inline void calls_take_down(void)
{
        CHECK_EQ(weft_unpark(on.alive), 0);
        sched_join(on.alive);
        weft_chan_unref(on.none);
        weft_chan_unref(on.full);
        weft_chan_unref(on.some);
        weft_chan_unref(on.room);
        weft_wg_done(&on.wg_none);
}

static int choose(weft_case *cases, size_t n)
{
        int rc = weft_select(cases, n);

        CHECK_MSG(rc < 0 || cases[rc].result == 0, "case %d: %d", rc, cases[rc].result);
        return rc < 0 ? rc : 0;
}

/* ---- Calls that wait ------------------------------------------------------------------------- */

static int wait_recv(void)   { int x; return weft_chan_recv(on.none, &x); }
static int wait_send(void)   { int x = 1; return weft_chan_send(on.none, &x); }
static int wait_full(void)   { int x = 1; return weft_chan_send(on.full, &x); }
static int wait_null(void)   { return weft_chan_recv(NULL, NULL); }
static int wait_empty(void)  { return weft_select(NULL, 0); }
static int wait_join(void)   { return weft_join(on.alive); }
static int wait_sleep(void)  { return weft_sleep(LONG_TIME); }
static int wait_park(void)   { return weft_park(); }
static int wait_sem(void)    { return weft_sem_acquire(&on.sem_none); }
static int wait_wg(void)     { return weft_wg_wait(&on.wg_none); }

static int wait_select(void)
{
        int       x = 1;
        weft_case cases[] = { WEFT_RECV(on.none, &x), WEFT_SEND(on.full, &x), WEFT_JOIN(on.alive),
                              WEFT_AFTER(LONG_TIME) };

        return choose(cases, 4);
}

static int wait_cond(void)
{
        weft_mutex_lock(&on.mutex);
        int rc = weft_cond_wait(&on.cond, &on.mutex);

        CHECK_EQ(weft_mutex_try_lock(&on.mutex), -EBUSY);       /* locked again in every case */
        weft_mutex_unlock(&on.mutex);
        return rc;
}

static int (*const waits[])(void) = {
        wait_recv, wait_send, wait_full, wait_null, wait_empty, wait_join, wait_sleep, wait_park,
        wait_sem, wait_wg, wait_select, wait_cond,
};

/* ---- Calls that could go on at once ---------------------------------------------------------- */

static int some_recv(void)   { int x; return weft_chan_recv(on.some, &x); }
static int some_send(void)   { int x = 1; return weft_chan_send(on.room, &x); }
static int some_join(void)   { return weft_join(on.ended); }
static int some_sleep(void)  { return weft_sleep(0); }
static int some_sem(void)    { return weft_sem_acquire(&on.sem_some); }
static int some_wg(void)     { return weft_wg_wait(&on.wg_some); }

static int some_select(void)
{
        int       x;
        weft_case cases[] = { WEFT_JOIN(on.ended), WEFT_RECV(on.none, &x) };

        return choose(cases, 2);
}

static int (*const goes_on[])(void) = {
        some_recv, some_send, some_join, some_sleep, some_sem, some_wg, some_select,
};

#endif
