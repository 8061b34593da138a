/* tests/explore/chan.c - PROTOCOL chan: observers without the lock, the last reference, and
 * elements for a waiter that sleeps.
 *
 * A channel is made by hand, so that setup can begin in any state.
 *
 * SPDX-License-Identifier: MIT
 */
#include "goroutines.h"
#include "scenarios.h"

#include "chan/chan.h"
#include "chan/step.h"

static struct chan        c;
static struct waiter      asleep;       /* on a channel, queued before the scenario begins */
static struct chan_waiter queued;
static int64_t            sent, got;
static int                data[2], n_stops;

static void feeder_stop(struct chan_feeder *feeder);
static struct chan_feeder feeder = { feeder_stop };

/* ---- Setup ----------------------------------------------------------------------------------- */

static void make(size_t cap)
{
        goroutines_reset();
        memset(&c, 0, sizeof(c));
        w_lock_init(&c.lock, W_LOCK_chan);
        c.elem_size = sizeof(sent);
        c.cap = cap;
        c.buffer = c.room;
        c.n_refs.raw = 1;
        w_list_init(&c.receivers.waiting);
        w_list_init(&c.senders.waiting);
        sent = 7;
        got = 0;
        data[0] = data[1] = n_stops = 0;
}

static void setup_unbuffered(void) { make(0); }
static void setup_buffer(void)     { make(1); }

static void setup_full(void)
{
        make(1);
        EXPLORE_CHECK(w_chan_try_send(&c, &sent) == 0);
}

static void enqueue(struct chan_side *side, void *elem)
{
        make(0);
        asleep = (struct waiter){ .word = { W_VERDICT_PARKED } };
        queued = (struct chan_waiter){ .waiter = &asleep, .elem = elem,
                                       .verdict = W_VERDICT_OTHER };
        w_chan_enqueue(side, &queued);
}

static void setup_sender(void)   { enqueue(&c.senders, &sent); }
static void setup_receiver(void) { enqueue(&c.receivers, &got); }

static void setup_refs(void)
{
        make(1);
        c.feeder = &feeder;
        c.n_refs.raw = 2;
}

/* ---- Observers ------------------------------------------------------------------------------- */

static int checked;

static void close_it(void)
{
        foreign_begin();
        w_plain_store(&data[0], 1);
        EXPLORE_CHECK(w_chan_close(&c) == 0);
}

/* Until the channel is closed an element is available; afterwards it is closed. */
static void close_and_drain(void)
{
        int64_t taken;

        close_it();
        int rc = w_chan_try_recv(&c, &taken);

        EXPLORE_CHECK(rc == 0 || rc == -EPIPE);
}

static void check_recv(void)
{
        foreign_begin();
        checked = w_chan_try_recv(&c, &got);
        EXPLORE_CHECK(checked == 0 ? got == 7 : checked == -EPIPE);
        if (checked == -EPIPE)
                EXPLORE_CHECK(w_plain_load(&data[0]) == 1);
}

static void check_send(void)
{
        foreign_begin();
        checked = w_chan_try_send(&c, &sent);
        EXPLORE_CHECK(checked == 0 || checked == -EPIPE);
        if (checked == -EPIPE)
                EXPLORE_CHECK(w_plain_load(&data[0]) == 1);
}

/* 0: the receive was in time; 1: it found the channel closed. */
static int check_result(void) { return checked == -EPIPE; }

/* ---- Elements -------------------------------------------------------------------------------- */

static int n_got;

static void try_send(void)
{
        foreign_begin();
        w_plain_store(&data[0], 1);
        EXPLORE_CHECK(w_chan_try_send(&c, &sent) == 0);
}

static void try_recv(void)
{
        foreign_begin();
        n_got = w_chan_try_recv(&c, &got) == 0;
        if (n_got)
                EXPLORE_CHECK(got == 7 && w_plain_load(&data[0]) == 1);
}

static int got_result(void) { return n_got; }

static void send(void)
{
        w_plain_store(&data[0], 1);
        EXPLORE_CHECK(w_chan_send(&c, &sent) == 0);
        EXPLORE_CHECK(w_plain_load(&data[1]) == 1);
}

static void recv(void)
{
        w_plain_store(&data[1], 1);
        EXPLORE_CHECK(w_chan_recv(&c, &got) == 0);
        EXPLORE_CHECK(got == 7 && w_plain_load(&data[0]) == 1);
}

static void send_foreign(void)   { foreign_begin(); send(); }
static void send_goroutine(void) { goroutine_begin(1); send(); }
static void recv_foreign(void)   { foreign_begin(); recv(); }
static void recv_goroutine(void) { goroutine_begin(2); recv(); }

/* Waits for an element that never comes. */
static void recv_until_closed(void)
{
        goroutine_begin(2);
        EXPLORE_CHECK(w_chan_recv(&c, &got) == -EPIPE);
        EXPLORE_CHECK(got == 0 && w_plain_load(&data[0]) == 1);
}

/* ---- References ------------------------------------------------------------------------------ */

/* The last reference is gone: all uses of the channel came before. The rest of the drop returns the
 * record to its pool, which is not explored. */
static void feeder_stop(struct chan_feeder *f)
{
        EXPLORE_CHECK(f == &feeder && n_stops++ == 0);
        EXPLORE_CHECK(w_plain_load(&data[0]) == 1 && w_plain_load(&data[1]) == 1);
        UNMAP(&c.n);
}

static void use_and_drop(int which)
{
        foreign_begin();
        w_plain_store(&data[which], 1);
        (void)w_chan_recv_would_wait(&c);
        w_chan_unref(&c);
}

static void drop_0(void) { use_and_drop(0); }
static void drop_1(void) { use_and_drop(1); }

static int stops_result(void) { return n_stops; }

const struct explore_scenario chan_scenarios[] = {
        { "chan-check-sender", "a sender waits, one thread closes, one checks",
          { { "closer", close_it }, { "observer", check_recv } }, setup_sender, check_result,
          .required = SEEN(0) | SEEN(1), .bound = ANY },
        { "chan-check-receiver", "a receiver waits, one thread closes, one checks",
          { { "closer", close_it }, { "observer", check_send } }, setup_receiver, check_result,
          .required = SEEN(0) | SEEN(1), .bound = ANY },
        { "chan-check-drained", "a full buffer is closed and drained, one thread checks",
          { { "closer", close_and_drain }, { "observer", check_recv } }, setup_full, check_result,
          .required = SEEN(0) | SEEN(1), .bound = ANY },
        { "chan-try", "one sends into a buffer, one tries to receive",
          { { "sender", try_send }, { "receiver", try_recv } }, setup_buffer, got_result,
          .required = SEEN(0) | SEEN(1), .bound = ANY },
        { "chan-hand-over", "two goroutines meet on a channel without a buffer",
          { { "sender", send_goroutine }, { "receiver", recv_goroutine } }, setup_unbuffered,
          .bound = 5 },
        { "chan-hand-over-foreign", "the same, one of them a foreign thread",
          { { "sender", send_goroutine }, { "receiver", recv_foreign } }, setup_unbuffered,
          .bound = 5 },
        { "chan-hand-over-to", "the same the other way round",
          { { "sender", send_foreign }, { "receiver", recv_goroutine } }, setup_unbuffered,
          .bound = 5 },
        { "chan-close-waiting", "a goroutine waits, one closes",
          { { "closer", close_it }, { "receiver", recv_until_closed } }, setup_unbuffered,
          .bound = ANY },
        { "chan-last-reference", "two use the channel and drop their references",
          { { "one", drop_0 }, { "two", drop_1 } }, setup_refs, stops_result,
          .allowed = SEEN(1), .bound = ANY },
        { .name = NULL },
};
