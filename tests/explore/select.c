/* tests/explore/select.c - PROTOCOL select: a default at one moment, and one partner of several.
 *
 * SPDX-License-Identifier: MIT
 */
#include "goroutines.h"
#include "scenarios.h"

#include "chan/chan.h"

#include "weft.h"

#include <errno.h>
#include <string.h>

static struct chan a, b;
static struct p    p;           /* the selector's random numbers */
static int64_t     got;
static int         from_a, from_b, chosen;

static const int64_t one = 1, two = 2;

static weft_chan *as_public(struct chan *c) { return (weft_chan *)(void *)c; }

static void make(struct chan *c, size_t cap)
{
        memset(c, 0, sizeof(*c));
        w_lock_init(&c->lock, W_LOCK_chan);
        c->elem_size = sizeof(one);
        c->cap = cap;
        c->buffer = c->room;
        c->n_refs.raw = 1;
        w_list_init(&c->receivers.waiting);
        w_list_init(&c->senders.waiting);
}

static void setup_cap(size_t cap)
{
        goroutines_reset();
        make(&a, cap);
        make(&b, cap);
        p.rand = 1;
        got = 0;
        from_a = from_b = 0;
        chosen = -1;
}

static void setup(void) { setup_cap(0); }

static void setup_moment(void)
{
        setup_cap(1);
        EXPLORE_CHECK(w_chan_try_send(&a, &one) == 0);
}

static int result(void) { return chosen; }

static void selector_begin(void)
{
        goroutine_begin(1);
        w_m()->p = &p;
}

/* ---- A default ------------------------------------------------------------------------------- */

/* At any moment one of the channels has an element. */
static void move(void)
{
        int64_t moved;

        foreign_begin();
        EXPLORE_CHECK(w_chan_try_send(&b, &two) == 0);
        int rc = w_chan_try_recv(&a, &moved);

        EXPLORE_CHECK(rc == 0 || rc == -EAGAIN);
}

static void select_or_default(void)
{
        weft_case cases[] = { WEFT_RECV(as_public(&b), &got), WEFT_RECV(as_public(&a), &got),
                              WEFT_DEFAULT };

        selector_begin();
        chosen = weft_select(cases, 3);
        EXPLORE_CHECK(chosen == 2 || got == (chosen == 0 ? two : one));
}

/* ---- Waiting --------------------------------------------------------------------------------- */

static void check_got(void)
{
        EXPLORE_CHECK(got == (chosen == 0 ? one : two));
        EXPLORE_CHECK(w_plain_load(chosen == 0 ? &from_a : &from_b) == 1);
}

static void select_wait(void)
{
        weft_case cases[] = { WEFT_RECV(as_public(&a), &got), WEFT_RECV(as_public(&b), &got) };

        chosen = weft_select(cases, 2);
        EXPLORE_CHECK(chosen >= 0 && cases[chosen].result == 0);
        check_got();
}

static void select_goroutine(void)
{
        selector_begin();
        select_wait();
}

/* The sender that was not chosen still has its element. */
static void select_then_other(void)
{
        selector_begin();
        select_wait();
        chosen = !chosen;
        EXPLORE_CHECK(w_chan_recv(chosen == 0 ? &a : &b, &got) == 0);
        check_got();
}

static void select_foreign(void)
{
        foreign_begin();
        select_wait();
}

static void send_a(void)
{
        foreign_begin();
        w_plain_store(&from_a, 1);
        EXPLORE_CHECK(w_chan_send(&a, &one) == 0);
}

static void send_b(void)
{
        goroutine_begin(2);
        w_plain_store(&from_b, 1);
        EXPLORE_CHECK(w_chan_send(&b, &two) == 0);
}

/* A selector locks both channels, up to four times: two senders take more than a million
 * executions within three preemptions. */
const struct explore_scenario select_scenarios[] = {
        { "select-default", "an element moves from one channel to another: no default",
          { { "mover", move }, { "selector", select_or_default } }, setup_moment, result,
          .allowed = SEEN(0) | SEEN(1), .required = SEEN(0) | SEEN(1), .bound = ANY },
        { "select-wait", "a goroutine waits on two channels, one sends",
          { { "selector", select_goroutine }, { "sender", send_a } }, setup, result,
          .allowed = SEEN(0), .bound = 4 },
        { "select-wait-foreign", "the same with a foreign thread",
          { { "selector", select_foreign }, { "sender", send_b } }, setup, result,
          .allowed = SEEN(1), .bound = 4 },
        { "select-two", "one waits on two channels, a sender on each",
          { { "selector", select_then_other }, { "first", send_a }, { "second", send_b } },
          setup, result, .allowed = SEEN(0) | SEEN(1), .required = SEEN(0) | SEEN(1),
          .bound = 2, .stale = 1 },
        { .name = NULL },
};
