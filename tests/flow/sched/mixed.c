/* tests/flow/sched/mixed.c - what the parts of test_mixed.c share: the world of a run, and small
 * parts.
 *
 * SPDX-License-Identifier: MIT
 */
#include "flow/sched/mixed.h"

uint32_t mix_below(struct worker *w, uint32_t n)
{
        return w_rand_below(&w->rand, n);
}

weft_chan *mix_any_pipe(struct worker *w)
{
        return mix.pipes[mix_below(w, MIX_PIPES)];
}

void mix_pause(struct worker *w)
{
        switch (mix_below(w, 4)) {
        case 0:
                weft_yield();
                break;
        case 1:
                CHECK_EQ(weft_sleep(mix_below(w, 50000)), 0);
                break;
        case 2:
                (void)weft_checkpoint();
                break;
        default:
                break;
        }
}

void mix_soon(struct worker *w, weft_scope *s)
{
        CHECK_EQ(weft_scope_open(s, mix_below(w, mix_below(w, 2) ? 200000 : 2000)), 0);
}

void mix_no_more(weft_scope *s)
{
        CHECK_EQ(weft_scope_close(s), 0);
}

bool mix_in_time(int rc)
{
        CHECK(rc == 0 || rc == -ETIMEDOUT);
        w_add_rlx(rc == 0 ? &mix.n_in_time : &mix.n_late, 1);
        return rc == 0;
}

void mix_sent(uint64_t value)
{
        w_add_rlx(&mix.n_sent, 1);
        w_add_rlx(&mix.sum_sent, value);
}

void mix_received(uint64_t value)
{
        w_add_rlx(&mix.n_received, 1);
        w_add_rlx(&mix.sum_received, value);
}

int64_t mix_started(int64_t id)
{
        CHECK_MSG(id > 0, "a child was not started: %lld", (long long)id);
        w_add_rlx(&mix.n_started, 1);
        return id;
}

void mix_ended(void)
{
        w_add_rlx(&mix.n_ended, 1);
}

void mix_run_once(void *n_ran)
{
        weft_yield();
        ++*(uint32_t *)n_ran;
}
