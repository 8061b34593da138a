/* tests/sim/scenario_chan.c - PROTOCOL chan with the whole scheduler.
 *
 * Senders and receivers share a channel; some are in a scope that is cancelled in the middle, one
 * is a foreign thread, some only try. What a send has reported as done is received once, what it
 * has reported as refused never; one sender's values stay in order. A wake that is lost ends in a
 * standstill.
 *
 * SPDX-License-Identifier: MIT
 */
#include "chan/chan.h"
#include "sim/sched_world.h"

#include <errno.h>      /* EPIPE and others */
#include <string.h>

enum { N_SENDERS = 5, N_RECEIVERS = 4, SENDS = 3 };

static struct {
        weft_chan *c;
        weft_scope scope;
        bool       sent[N_SENDERS][SENDS];
        uint32_t   n_received[N_SENDERS][SENDS];
} pipe;

/* ---- Conserved ------------------------------------------------------------------------------- */

/* One value after the other until one is refused; what refused it. */
static int send_some(uint32_t me, bool tries)
{
        for (uint32_t i = 0; i < SENDS; i++) {
                uint64_t value = me * SENDS + i;
                int      rc = tries ? weft_chan_try_send(pipe.c, &value)
                                    : weft_chan_send(pipe.c, &value);

                pipe.sent[me][i] = rc == 0;
                if (rc == -EAGAIN && tries)
                        weft_yield();
                else if (rc != 0)
                        return rc;
        }
        return 0;
}

static void note_received(uint64_t value, uint32_t last[N_SENDERS])
{
        uint32_t from = (uint32_t)value / SENDS, i = (uint32_t)value % SENDS;

        SIM_CHECK(from < N_SENDERS, "received %lu, which was not sent", (unsigned long)value);
        SIM_CHECK(last[from] < i + 1, "value %u of sender %u after %u", i, from, last[from] - 1);
        last[from] = i + 1;
        pipe.n_received[from][i]++;
}

/* Until the channel is closed and drained, or a scope ends the wait. */
static int recv_some(bool tries)
{
        uint32_t last[N_SENDERS] = { 0 };

        for (;;) {
                uint64_t value = 12345;
                int      rc = tries ? weft_chan_try_recv(pipe.c, &value)
                                    : weft_chan_recv(pipe.c, &value);

                if (rc == 0)
                        note_received(value, last);
                else if (rc != -EAGAIN || !tries)
                        return rc;
                else
                        weft_yield();
        }
}

static void sender(void *arg)
{
        int rc = send_some((uint32_t)(uintptr_t)arg, arg == (void *)1);

        SIM_CHECK(rc == 0 || rc == -EPIPE, "a sender got %d", rc);
}

static void receiver(void *arg)
{
        int rc = recv_some(arg != NULL);

        SIM_CHECK(rc == -EPIPE, "a receiver got %d", rc);
}

static int sender_in_scope(void *arg)
{
        (void)arg;
        int rc = send_some(2, false);

        SIM_CHECK(rc == 0 || rc == -EPIPE || rc == -ECANCELED, "a sender got %d", rc);
        return 0;
}

static int receiver_in_scope(void *arg)
{
        (void)arg;
        int rc = recv_some(false);

        SIM_CHECK(rc == -EPIPE || rc == -ECANCELED, "a receiver got %d", rc);
        return 0;
}

static void foreign_sender(void *arg)
{
        (void)arg;
        foreign_begin();
        int rc = send_some(3, false);

        SIM_CHECK(rc == 0 || rc == -EPIPE, "a thread that sends got %d", rc);
}

static void check_conserved(void)
{
        for (uint32_t from = 0; from < N_SENDERS; from++)
                for (uint32_t i = 0; i < SENDS; i++)
                        SIM_CHECK(pipe.n_received[from][i] == pipe.sent[from][i],
                                  "value %u of sender %u: sent %d, received %u times", i, from,
                                  (int)pipe.sent[from][i], pipe.n_received[from][i]);
}

static void first(void *arg)
{
        int64_t       ids[4];
        struct worker thread;
        bool          early = sim_random(3) == 0;

        (void)arg;
        memset(&pipe, 0, sizeof(pipe));
        pipe.c = weft_chan_new(sizeof(uint64_t), sim_random(3));
        SIM_CHECK(pipe.c, "no channel");
        SIM_CHECK(weft_scope_open(&pipe.scope, WEFT_FOREVER) == 0, "no scope");
        SIM_CHECK(weft_scope_go(&pipe.scope, receiver_in_scope, NULL) > 0, "no child");
        SIM_CHECK(weft_scope_go(&pipe.scope, sender_in_scope, NULL) > 0, "no child");
        worker_start(&thread, "sender", foreign_sender, NULL);
        ids[0] = sched_go(receiver, NULL);
        ids[1] = sched_go(receiver, "tries");
        ids[2] = sched_go(sender, (void *)0);
        ids[3] = sched_go(sender, (void *)1);
        sim_work(sim_random(3000));
        weft_scope_cancel(&pipe.scope);
        SIM_CHECK(weft_scope_close(&pipe.scope) == 0, "a child failed");
        if (!early) {
                sched_join(ids[2]);
                sched_join(ids[3]);
                worker_join(&thread);
        }
        SIM_CHECK(weft_chan_close(pipe.c) == 0, "closed twice");
        for (int i = 0; i < (early ? 4 : 2); i++)
                sched_join(ids[i]);
        if (early)
                worker_join(&thread);
        check_conserved();
        weft_chan_unref(pipe.c);
}

static void conserved_main(void)
{
        sched_run_well(NULL, first);
}

SIM_SCENARIO(chan_conserved, "senders and receivers, some cancelled; no value lost or doubled",
             conserved_main, .max_steps = SCHED_MAX_STEPS)

/* ---- A check without the lock ---------------------------------------------------------------- */

/* A partner waits on the other side, or the channel is closed: a try form never finds nothing. */
static struct {
        weft_chan *c;
        bool       sends;               /* the waiter */
} tried;

static void partner(void *arg)
{
        uint64_t value = 5;
        int      rc = tried.sends ? weft_chan_send(tried.c, &value)
                                  : weft_chan_recv(tried.c, &value);

        (void)arg;
        SIM_CHECK(rc == 0 || rc == -EPIPE, "the waiter got %d", rc);
}

static void observer(void *arg)
{
        uint64_t value = 5;
        int      rc = tried.sends ? weft_chan_try_recv(tried.c, &value)
                                  : weft_chan_try_send(tried.c, &value);

        (void)arg;
        SIM_CHECK(rc == 0 || rc == -EPIPE, "to try found nothing: %d", rc);
}

static void try_first(void *arg)
{
        int64_t ids[2];
        bool    alone = sim_random(4) == 0;     /* then the close must wake the waiter */

        (void)arg;
        tried.sends = sim_random(2);
        tried.c = weft_chan_new(sizeof(uint64_t), 0);
        ids[0] = sched_go(partner, NULL);
        struct chan      *c = w_chan_of(tried.c);
        struct chan_side *side = tried.sends ? &c->senders : &c->receivers;

        while (w_load_acq(&side->n) == 0)
                weft_yield();
        if (!alone)
                ids[1] = sched_go(observer, NULL);
        sim_work(sim_random(400));
        SIM_CHECK(weft_chan_close(tried.c) == 0, "closed twice");
        sched_join(ids[0]);
        if (!alone)
                sched_join(ids[1]);
        weft_chan_unref(tried.c);
}

static void try_main(void)
{
        sched_run_well(NULL, try_first);
}

SIM_SCENARIO(chan_try, "a try form while a partner waits and the channel is closed", try_main,
             .max_steps = SCHED_MAX_STEPS)

/* ---- Cancelled or delivered ------------------------------------------------------------------ */

static struct {
        weft_chan   *c;
        weft_scope   scope;
        bool         sends;             /* the goroutine in the scope */
        int          rc;
        uint64_t     value;
        w_atomic_u32 cancelled;
} either;

static int in_scope(void *arg)
{
        (void)arg;
        either.rc = either.sends ? weft_chan_send(either.c, &(uint64_t){ 9 })
                                 : weft_chan_recv(either.c, &either.value);
        return 0;
}

/* Meets the goroutine in the scope, or not; both report the same. */
static void meet(void)
{
        uint64_t value = 9;
        int      rc;

        for (int i = 0; i < 4; i++) {
                rc = either.sends ? weft_chan_try_recv(either.c, &value)
                                  : weft_chan_try_send(either.c, &value);
                if (rc == 0)
                        break;
                weft_yield();
        }
        while (!w_load_acq(&either.cancelled))
                weft_yield();
        SIM_CHECK(weft_scope_close(&either.scope) == 0, "a child failed");
        SIM_CHECK(either.rc == (rc == 0 ? 0 : -ECANCELED), "one got %d, the other %d", rc,
                  either.rc);
        SIM_CHECK(either.rc != 0 || (value == 9 && (either.sends || either.value == 9)),
                  "not the value");
        SIM_CHECK(either.rc == 0 || either.value == 0, "cancelled, and a value");
}

static void cancel_it(void *arg)
{
        (void)arg;
        sim_work(sim_random(500));
        weft_scope_cancel(&either.scope);
        w_store_rel(&either.cancelled, 1);
}

static void either_first(void *arg)
{
        (void)arg;
        memset(&either, 0, sizeof(either));
        either.sends = sim_random(2);
        either.c = weft_chan_new(sizeof(uint64_t), 0);
        SIM_CHECK(weft_scope_open(&either.scope, WEFT_FOREVER) == 0, "no scope");
        SIM_CHECK(weft_scope_go(&either.scope, in_scope, NULL) > 0, "no child");
        int64_t id = sched_go(cancel_it, NULL);

        meet();
        sched_join(id);
        weft_chan_unref(either.c);
}

static void either_main(void)
{
        sched_run_well(NULL, either_first);
}

SIM_SCENARIO(chan_either, "delivered or cancelled, and both sides know which", either_main,
             .max_steps = SCHED_MAX_STEPS)
