/* tests/lib/calls.c - every cancellable call, on objects with nothing available and with something.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/calls.h"

struct calls_objects calls_on;

static void park_outside(void *arg)
{
        (void)arg;
        CHECK_EQ(weft_park(), 0);
}

static void end_at_once(void *arg)
{
        (void)arg;
}

weft_chan *calls_chan_with(size_t capacity, int n)
{
        weft_chan *c = weft_chan_new(sizeof(int), capacity);

        CHECK(c);
        for (int i = 0; i < n; i++)
                CHECK_EQ(weft_chan_send(c, &i), 0);
        return c;
}

void calls_set_up(void)
{
        calls_on.none = calls_chan_with(0, 0);
        calls_on.full = calls_chan_with(2, 2);
        calls_on.some = calls_chan_with(2, 1);
        calls_on.room = calls_chan_with(2, 0);
        weft_sem_init(&calls_on.sem_some, 1);
        weft_wg_add(&calls_on.wg_none, 1);
        calls_on.alive = sched_go(park_outside, NULL);
        calls_on.ended = sched_go(end_at_once, NULL);
        sched_join(calls_on.ended);
}

void calls_take_down(void)
{
        CHECK_EQ(weft_unpark(calls_on.alive), 0);
        sched_join(calls_on.alive);
        weft_chan_unref(calls_on.none);
        weft_chan_unref(calls_on.full);
        weft_chan_unref(calls_on.some);
        weft_chan_unref(calls_on.room);
        weft_wg_done(&calls_on.wg_none);
}

static int choose(weft_case *cases, size_t n)
{
        int rc = weft_select(cases, n);

        CHECK_MSG(rc < 0 || cases[rc].result == 0, "case %d: %d", rc, cases[rc].result);
        return rc < 0 ? rc : 0;
}

/* ---- Calls that wait ------------------------------------------------------------------------- */

static int wait_recv(void)   { int x; return weft_chan_recv(calls_on.none, &x); }
static int wait_send(void)   { int x = 1; return weft_chan_send(calls_on.none, &x); }
static int wait_full(void)   { int x = 1; return weft_chan_send(calls_on.full, &x); }
static int wait_null(void)   { return weft_chan_recv(NULL, NULL); }
static int wait_empty(void)  { return weft_select(NULL, 0); }
static int wait_join(void)   { return weft_join(calls_on.alive); }
static int wait_sleep(void)  { return weft_sleep(SCOPE_LONG_TIME); }
int calls_wait_park(void)   { return weft_park(); }
int calls_wait_sem(void)    { return weft_sem_acquire(&calls_on.sem_none); }
static int wait_wg(void)     { return weft_wg_wait(&calls_on.wg_none); }

static int wait_select(void)
{
        int       x = 1;
        weft_case cases[] = { WEFT_RECV(calls_on.none, &x), WEFT_SEND(calls_on.full, &x),
                              WEFT_JOIN(calls_on.alive), WEFT_AFTER(SCOPE_LONG_TIME) };

        return choose(cases, 4);
}

static int wait_cond(void)
{
        weft_mutex_lock(&calls_on.mutex);
        int rc = weft_cond_wait(&calls_on.cond, &calls_on.mutex);

        CHECK_EQ(weft_mutex_try_lock(&calls_on.mutex), -EBUSY); /* locked again in every case */
        weft_mutex_unlock(&calls_on.mutex);
        return rc;
}

int (*const calls_that_wait[CALLS_THAT_WAIT])(void) = {
        wait_recv, wait_send, wait_full, wait_null, wait_empty, wait_join, wait_sleep,
        calls_wait_park, calls_wait_sem, wait_wg, wait_select, wait_cond,
};

/* ---- Calls that could go on at once ---------------------------------------------------------- */

static int some_recv(void)   { int x; return weft_chan_recv(calls_on.some, &x); }
static int some_send(void)   { int x = 1; return weft_chan_send(calls_on.room, &x); }
static int some_join(void)   { return weft_join(calls_on.ended); }
static int some_sleep(void)  { return weft_sleep(0); }
static int some_sem(void)    { return weft_sem_acquire(&calls_on.sem_some); }
static int some_wg(void)     { return weft_wg_wait(&calls_on.wg_some); }

static int some_select(void)
{
        int       x;
        weft_case cases[] = { WEFT_JOIN(calls_on.ended), WEFT_RECV(calls_on.none, &x) };

        return choose(cases, 2);
}

int (*const calls_that_go_on[CALLS_THAT_GO_ON])(void) = {
        some_recv, some_send, some_join, some_sleep, some_sem, some_wg, some_select,
};
