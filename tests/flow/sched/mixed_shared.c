/* tests/flow/sched/mixed_shared.c - what the workers of test_mixed.c do with what all of them
 * share.
 *
 * SPDX-License-Identifier: MIT
 */
#include "mixed.h"

/* ---- Channels and select --------------------------------------------------------------------- */

void mix_send(struct worker *w)
{
        uint64_t   value = w_rand(&w->rand);
        weft_scope s;

        mix_soon(w, &s);
        if (mix_in_time(weft_chan_send(mix_any_pipe(w), &value)))
                mix_sent(value);
        mix_no_more(&s);
}

void mix_receive(struct worker *w)
{
        uint64_t   value;
        weft_scope s;

        mix_soon(w, &s);
        if (mix_in_time(weft_chan_recv(mix_any_pipe(w), &value)))
                mix_received(value);
        mix_no_more(&s);
}

void mix_try(struct worker *w)
{
        uint64_t value = w_rand(&w->rand);
        int      rc = weft_chan_try_send(mix_any_pipe(w), &value);

        CHECK(rc == 0 || rc == -EAGAIN);
        if (rc == 0)
                mix_sent(value);
        rc = weft_chan_try_recv(mix_any_pipe(w), &value);
        CHECK(rc == 0 || rc == -EAGAIN);
        if (rc == 0)
                mix_received(value);
}

/* Two ways out that always come, if nothing else does: a while, or nothing to wait for. */
void mix_select(struct worker *w)
{
        uint64_t  out = w_rand(&w->rand), in[2];
        weft_case cs[] = {
                WEFT_SEND(mix_any_pipe(w), &out),
                WEFT_RECV(mix_any_pipe(w), &in[0]),
                WEFT_RECV(mix_any_pipe(w), &in[1]),
                WEFT_RECV(mix.never, NULL),
                mix_below(w, 2) ? WEFT_AFTER(mix_below(w, 100000)) : WEFT_DEFAULT,
        };
        int i = weft_select(cs, 5);

        CHECK(i >= 0 && i != 3);
        CHECK_EQ(cs[i].result, 0);
        if (i == 0)
                mix_sent(out);
        else if (i <= 2)
                mix_received(in[i - 1]);
}

struct stream {
        weft_chan *c;
        int        n, *n_sent;
};

/* Stops early if the other side closes. */
static void send_and_close(void *arg)
{
        struct stream *s = arg;         /* a copy of the parent's */
        int            rc = 0, i = 0;

        while (i < s->n && (rc = weft_chan_send(s->c, &i)) == 0)
                i++;
        *s->n_sent = i;
        CHECK(rc == 0 || rc == -EPIPE);
        rc = weft_chan_close(s->c);
        CHECK(rc == 0 || rc == -EPIPE);
        weft_chan_unref(s->c);
        mix_ended();
}

/* A channel for two, from the beginning to the end. */
void mix_stream(struct worker *w)
{
        int           rc, value, n_sent, n = 0, enough = 1 + (int)mix_below(w, 20);
        struct stream s = { weft_chan_new(sizeof(int), mix_below(w, 4)), (int)mix_below(w, 12),
                            &n_sent };

        CHECK(s.c);
        (void)weft_chan_ref(s.c);
        int64_t id = mix_started(weft_go_copy(send_and_close, &s, sizeof(s)));

        while ((rc = weft_chan_recv(s.c, &value)) == 0) {
                CHECK_EQ(value, n++);
                if (n == enough)
                        (void)weft_chan_close(s.c);
        }
        CHECK_EQ(rc, -EPIPE);
        CHECK_EQ(weft_chan_try_send(s.c, &value), -EPIPE);
        sched_join(id);
        CHECK_EQ(n, n_sent);
        CHECK(n == s.n || n >= enough);
        weft_chan_unref(s.c);
}

/* ---- Synchronisation ------------------------------------------------------------------------- */

void mix_mutex(struct worker *w)
{
        if (mix_below(w, 4) > 0)
                weft_mutex_lock(&mix.mutex);
        else if (weft_mutex_try_lock(&mix.mutex) != 0)
                return;
        uint64_t n = mix.n_under_mutex;

        if (mix_below(w, 8) == 0)
                mix_pause(w);
        mix.n_under_mutex = n + 1;
        weft_mutex_unlock(&mix.mutex);
        w_add_rlx(&mix.n_locked, 1);
}

void mix_write(struct worker *w)
{
        if (mix_below(w, 4) > 0)
                weft_rwmutex_lock(&mix.rwmutex);
        else if (weft_rwmutex_try_lock(&mix.rwmutex) != 0)
                return;
        mix.left++;
        if (mix_below(w, 8) == 0)
                mix_pause(w);
        mix.right++;
        weft_rwmutex_unlock(&mix.rwmutex);
        w_add_rlx(&mix.n_written, 1);
}

void mix_read(struct worker *w)
{
        if (mix_below(w, 4) > 0)
                weft_rwmutex_rlock(&mix.rwmutex);
        else if (weft_rwmutex_try_rlock(&mix.rwmutex) != 0)
                return;
        uint64_t left = mix.left;

        if (mix_below(w, 8) == 0)
                mix_pause(w);
        CHECK_EQ(mix.right, left);
        weft_rwmutex_runlock(&mix.rwmutex);
}

void mix_put(struct worker *w)
{
        weft_mutex_lock(&mix.store_mutex);
        mix.n_in_store++;
        mix.n_put++;
        weft_mutex_unlock(&mix.store_mutex);
        if (mix_below(w, 8) > 0)
                weft_cond_signal(&mix.store_cond);
        else
                weft_cond_broadcast(&mix.store_cond);
}

void mix_take(struct worker *w)
{
        int        rc = 0;
        weft_scope s;

        mix_soon(w, &s);
        weft_mutex_lock(&mix.store_mutex);
        while (mix.n_in_store == 0 && rc == 0)
                rc = weft_cond_wait(&mix.store_cond, &mix.store_mutex);
        if (mix_in_time(rc)) {
                mix.n_in_store--;
                mix.n_taken++;
        }
        weft_mutex_unlock(&mix.store_mutex);
        mix_no_more(&s);
}

static bool acquire(struct worker *w)
{
        uint32_t   how = mix_below(w, 3);
        weft_scope s;

        if (how == 0)
                return weft_sem_try_acquire(&mix.sem) == 0;
        if (how == 1) {
                CHECK_EQ(weft_sem_acquire(&mix.sem), 0);
                return true;
        }
        mix_soon(w, &s);
        int rc = weft_sem_acquire(&mix.sem);

        mix_no_more(&s);
        return mix_in_time(rc);
}

void mix_sem(struct worker *w)
{
        if (!acquire(w))
                return;
        CHECK(w_add_acqrel(&mix.n_inside, 1) < MIX_PERMITS);
        mix_pause(w);
        w_sub_acqrel(&mix.n_inside, 1);
        weft_sem_release(&mix.sem);
}

void mix_once(struct worker *w)
{
        uint32_t i = mix_below(w, MIX_ONCES);

        weft_once_do(&mix.onces[i], mix_run_once, &mix.n_onces_ran[i]);
        CHECK_EQ(mix.n_onces_ran[i], 1);
}
