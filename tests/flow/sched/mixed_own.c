/* tests/flow/sched/mixed_own.c - what the workers of test_mixed.c do with children, timers and
 * scopes of their own.
 *
 * SPDX-License-Identifier: MIT
 */
#include "mixed.h"

/* ---- Children -------------------------------------------------------------------------------- */

struct family {
        weft_wg   wg;
        weft_once once;
        uint32_t  n_ran;
};

static void child(void *arg)
{
        struct family *f = arg;

        weft_once_do(&f->once, mix_run_once, &f->n_ran);
        CHECK_EQ(f->n_ran, 1);
        mix_ended();
        weft_wg_done(&f->wg);
}

static void child_of_copy(void *arg)
{
        child(*(struct family **)arg);
}

static int64_t start_child(struct worker *w, struct family *f)
{
        const weft_attr first = { .size = sizeof(first), .flags = WEFT_CHILD_FIRST };

        switch (mix_below(w, 3)) {
        case 0:
                return mix_started(weft_go(child, f));
        case 1:
                return mix_started(weft_go_copy(child_of_copy, &f, sizeof(f)));
        default:
                return mix_started(weft_go_with(&first, child, f));
        }
}

/* A time-out may win against the end; then the end is waited for without one. */
static void join(struct worker *w, int64_t id)
{
        weft_case cs[] = { WEFT_JOIN(id), WEFT_RECV(mix.never, NULL),
                           WEFT_AFTER(mix_below(w, 20000)) };
        int       i = mix_below(w, 2) ? weft_select(cs, 3) : 2;

        CHECK(i == 0 || i == 2);
        if (i == 0)
                CHECK_EQ(cs[0].result, 0);
        else
                sched_join(id);
}

void mix_family(struct worker *w)
{
        struct family f = { .n_ran = 0 };
        int64_t       ids[3];
        int           n = 1 + (int)mix_below(w, 3);

        weft_wg_add(&f.wg, n);
        for (int i = 0; i < n; i++)
                ids[i] = start_child(w, &f);
        CHECK_EQ(weft_wg_wait(&f.wg), 0);
        for (int i = 0; i < n; i++)
                join(w, ids[i]);
}

struct call {
        int64_t      parent;
        w_atomic_u32 made;
};

static void call_parent(void *arg)
{
        struct call *c = arg;

        w_store_rel(&c->made, 1);
        CHECK_EQ(weft_unpark(c->parent), 0);
        mix_ended();
}

/* Other workers send tokens for no reason, too: these end no wait that has a reason. */
void mix_park(struct worker *w)
{
        struct call c = { .parent = weft_id() };
        int64_t     id = mix_started(weft_go(call_parent, &c));
        weft_scope  s;

        while (!w_load_acq(&c.made))
                CHECK_EQ(weft_park(), 0);
        sched_join(id);
        int64_t other = (int64_t)w_load_rlx(&mix.workers[mix_below(w, mix.n_workers)].id);
        int     rc = weft_unpark(other);

        CHECK(rc == 0 || rc == -ESRCH);
        mix_soon(w, &s);
        (void)mix_in_time(weft_park());
        mix_no_more(&s);
}

/* ---- Time ------------------------------------------------------------------------------------ */

void mix_sleep(struct worker *w)
{
        int64_t ns = mix_below(w, 300000), began = weft_now();

        CHECK_EQ(weft_sleep(ns), 0);
        CHECK(weft_now() - began >= ns);
}

static void fire(void *arg)
{
        (void)arg;
        w_add_rlx(&mix.n_fired, 1);
}

void mix_timer(struct worker *w)
{
        weft_timer *t = weft_timer_new(mix_below(w, 50000), fire, NULL);

        CHECK(t);
        w_add_rlx(&mix.n_due, 1);
        mix_pause(w);
        if (mix_below(w, 2)) {
                int pending = weft_timer_reset(t, mix_below(w, 50000));

                CHECK(pending == 0 || pending == 1);
                w_add_rlx(&mix.n_due, (uint64_t)!pending);
                mix_pause(w);
        }
        w_sub_rlx(&mix.n_due, (uint64_t)weft_timer_stop(t));
        weft_timer_free(t);
}

void mix_tick(struct worker *w)
{
        weft_chan *c = weft_tick(1 + mix_below(w, 20000));
        int64_t    at = 0, last = 0;

        CHECK(c);
        for (uint32_t i = mix_below(w, 3); i > 0; i--) {
                weft_case cs[] = { WEFT_RECV(c, &at), WEFT_AFTER(mix_below(w, 100000)) };

                if (weft_select(cs, 2) == 0) {
                        CHECK_MSG(at > last, "a tick of %lld after one of %lld", (long long)at,
                                  (long long)last);
                        CHECK(at <= weft_now());
                        last = at;
                }
        }
        if (mix_below(w, 2))
                CHECK_EQ(weft_chan_close(c), 0);
        weft_chan_unref(c);
}

/* ---- Scopes ---------------------------------------------------------------------------------- */

enum { FAILED = 7 };

/* Waits for something that comes now and then, or never. */
static int wait_somehow(struct worker *w)
{
        uint64_t   value = w_rand(&w->rand);
        weft_case  cs[] = { WEFT_SEND(mix_any_pipe(w), &value), WEFT_RECV(mix.never, NULL) };
        weft_scope inner;
        int        rc;

        switch (mix_below(w, 5)) {
        case 0:
                if ((rc = weft_chan_recv(mix_any_pipe(w), &value)) == 0)
                        mix_received(value);
                return rc;
        case 1:
                if ((rc = weft_select(cs, 2)) == 0)
                        mix_sent(value);
                return rc;
        case 2:
                if ((rc = weft_sem_acquire(&mix.sem)) == 0)
                        weft_sem_release(&mix.sem);
                return rc;
        case 3:
                return weft_join(1);    /* ends last */
        default:
                mix_soon(w, &inner);
                rc = weft_park();
                mix_no_more(&inner);
                return rc;
        }
}

static int wait_for_the_end(void *arg)
{
        while (weft_cancelled() == 0) {
                int rc = wait_somehow(arg);

                CHECK(rc == 0 || rc == -ECANCELED || rc == -ETIMEDOUT);
        }
        mix_ended();
        return 0;
}

static int fail(void *arg)
{
        (void)weft_sleep(mix_below(arg, 50000));
        mix_ended();
        return FAILED;
}

/* The clock ends the scope, or this goroutine does unless a child comes first. */
static void end_scope(struct worker *w, weft_scope *s, bool timed)
{
        if (timed)
                return;
        (void)weft_sleep(mix_below(w, 100000));
        weft_scope_cancel(s);
        CHECK_EQ(weft_cancelled(), -ECANCELED);
        CHECK_EQ(weft_sleep(1), -ECANCELED);
        weft_shield_begin();
        CHECK_EQ(weft_sleep(1000), 0);
        weft_shield_end();
}

void mix_scope(struct worker *w)
{
        struct worker children[3];
        bool          timed = mix_below(w, 2), failing = false;
        weft_scope    s;

        CHECK_EQ(weft_scope_open(&s, timed ? mix_below(w, 200000) : WEFT_FOREVER), 0);
        for (uint32_t i = mix_below(w, 3) + 1; i > 0; i--) {
                bool fails = mix_below(w, 4) == 0;

                children[i - 1].rand = w_rand(&w->rand);
                int64_t id = weft_scope_go(&s, fails ? fail : wait_for_the_end, &children[i - 1]);

                if (id > 0) {
                        (void)mix_started(id);
                        failing = failing || fails;
                } else {
                        CHECK((timed && id == -ETIMEDOUT) || (failing && id == -ECANCELED));
                }
        }
        end_scope(w, &s, timed);
        CHECK_EQ(weft_scope_close(&s), failing ? FAILED : 0);
        int status = weft_scope_status(&s);

        CHECK(status == -ECANCELED || (timed && status == -ETIMEDOUT));
}
