/* tests/flow/time/test_tick.c - ticks: at regular times, missed ticks skipped, silent once closed.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sched.h"
#include "sched/sched.h"

#include <errno.h>

GO_TEST(ticks_come_at_multiples_of_the_period)
{
        int64_t    from = weft_now();
        weft_chan *c = weft_tick(WEFT_MS(2));
        int64_t    last = 0, due;

        CHECK(c != NULL);
        CHECK_EQ(weft_chan_cap(c), 1);
        for (int i = 0; i < 10; i++) {
                CHECK_EQ(weft_chan_recv(c, &due), 0);
                CHECK(weft_now() >= due);
                CHECK(due >= from + WEFT_MS(2));
                if (last) {
                        CHECK(due >= last + WEFT_MS(2));
                        CHECK_EQ((due - last) % WEFT_MS(2), 0);
                }
                last = due;
        }
        weft_chan_unref(c);
}

/* The channel holds the time at which the tick was due, however late it is read. */
GO_TEST(a_slow_reader_misses_ticks)
{
        weft_chan *c = weft_tick(WEFT_MS(1));
        int64_t    first, second;

        CHECK(c != NULL);
        CHECK_EQ(weft_sleep(WEFT_MS(20)), 0);
        int64_t slept_until = weft_now();

        CHECK_EQ(weft_chan_recv(c, &first), 0);
        CHECK(first <= slept_until - WEFT_MS(15));
        CHECK_EQ(weft_chan_recv(c, &second), 0);
        if (second < first + WEFT_MS(15))       /* the sending thread got no CPU until now */
                CHECK_EQ(weft_chan_recv(c, &second), 0);
        CHECK(second >= first + WEFT_MS(15));           /* the ticks between were missed */
        CHECK_EQ(weft_chan_close(c), 0);
        weft_chan_unref(c);
}

static uint32_t n_armed(void)
{
        uint32_t n = 0;

        for (uint32_t i = 0; i < w_n_procs(); i++) {
                struct timers *ts = &w_sched.all_p[i]->timers;

                w_lock(&ts->lock);
                n += ts->heap.n;
                w_unlock(&ts->lock);
        }
        return n;
}

GO_TEST(closing_and_dropping_stop_the_ticks)
{
        weft_chan *closed = weft_tick(WEFT_MS(1));
        weft_chan *dropped = weft_tick(WEFT_MS(1));
        int64_t    due;

        CHECK_EQ(weft_chan_recv(closed, &due), 0);
        CHECK_EQ(weft_chan_close(closed), 0);
        while (weft_chan_recv(closed, &due) == 0)
                ;
        CHECK_EQ(weft_chan_recv(closed, &due), -EPIPE);
        weft_chan_unref(dropped);
        while (n_armed() > 0)                           /* the heaps drop them */
                weft_yield();
        CHECK_EQ(weft_chan_recv(closed, &due), -EPIPE);
        weft_chan_unref(closed);
}

/* The shortest possible period, closed and dropped while it sends. */
GO_TEST(ticks_of_a_nanosecond_come_and_go)
{
        for (uint32_t i = 0; i < sched_scale(1000); i++) {
                weft_chan *c = weft_tick(1 + i % 3);
                int64_t    due;

                CHECK(c != NULL);
                if (i % 4 == 0)
                        CHECK_EQ(weft_chan_recv(c, &due), 0);
                if (i % 3 == 0)
                        CHECK_EQ(weft_chan_close(c), 0);
                if (i % 50 == 0)
                        CHECK_EQ(weft_check(), 0);
                weft_chan_unref(c);
        }
}

static void main_exited(void *arg)
{
        int64_t    due;
        weft_chan *c = weft_tick(WEFT_FOREVER);

        (void)arg;
        CHECK(c != NULL);
        CHECK_EQ(weft_chan_try_recv(c, &due), -EAGAIN);
        for (int i = 0; i < 100; i++)
                CHECK(weft_tick(WEFT_US(100)) != NULL);
        CHECK_EQ(weft_sleep(WEFT_MS(1)), 0);
        CHECK(!weft_tick(0));
        CHECK(!weft_tick(-1));
        CHECK(!weft_tick(INT64_MIN));
}

TEST(ticks_go_with_the_run)
{
        sched_run(main_exited, NULL);
        sched_run(main_exited, NULL);
        CHECK(!weft_tick(WEFT_MS(1)));                  /* no runtime */
}
