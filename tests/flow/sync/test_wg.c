/* Wait group: no waiter returns early, all return, counts, cancellation, reuse.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sync.h"

enum { N = 16 };

static weft_wg      first = WEFT_WG_INIT, second = WEFT_WG_INIT;
static w_atomic_u32 n_through;

GO_TEST(a_count_of_zero_needs_no_wait)
{
        weft_wg w = { 0 };

        CHECK_EQ(weft_wg_wait(&w), 0);
        weft_wg_add(&w, 2);
        weft_wg_add(&w, 0);
        weft_wg_add(&w, -2);
        CHECK_EQ(weft_wg_wait(&w), 0);
        weft_wg_add(&w, INT32_MAX);
        weft_wg_add(&w, -INT32_MAX);
        CHECK_EQ(weft_wg_wait(&w), 0);
        for (size_t i = 0; i < sizeof(w); i++)
                CHECK_EQ(((char *)&w)[i], 0);
}

TEST(without_a_runtime_no_call_waits)
{
        weft_wg w = WEFT_WG_INIT;

        weft_wg_add(&w, 1);
        CHECK_EQ(weft_wg_wait(&w), -ESHUTDOWN);
        weft_wg_done(&w);
        CHECK_EQ(weft_wg_wait(&w), -ESHUTDOWN);         /* although nothing is left */
}

/* ---- A barrier of two stages ----------------------------------------------------------------- */

static void stage(void *arg)
{
        (void)arg;
        weft_wg_done(&first);
        CHECK_EQ(weft_wg_wait(&second), 0);
        w_add_rlx(&n_through, 1);
}

GO_TEST(no_waiter_is_released_early)
{
        int64_t ids[N];

        for (int round = 0; round < 8; round++) {
                weft_wg_add(&first, N);
                weft_wg_add(&second, N);
                w_store_rlx(&n_through, 0);
                for (int i = 0; i < N; i++)
                        ids[i] = sched_go(stage, NULL);
                CHECK_EQ(weft_wg_wait(&first), 0);
                for (int i = 0; i < N; i++) {
                        CHECK_EQ(w_load_rlx(&n_through), 0);
                        weft_wg_done(&second);
                }
                for (int i = 0; i < N; i++)
                        sched_join(ids[i]);
                CHECK_EQ(w_load_rlx(&n_through), N);
        }
}

/* ---- What was done before is seen ------------------------------------------------------------ */

static uint32_t values[N];

static void write_value(void *arg)
{
        uint32_t *value = arg;

        *value = 1;
        weft_wg_done(&first);
}

GO_TEST(what_came_before_done_is_seen)
{
        for (uint32_t n = sched_scale(1000) + 1; n > 0; n--) {
                weft_wg_add(&first, N);
                for (int i = 0; i < N; i++)
                        sched_go(write_value, &values[i]);
                CHECK_EQ(weft_wg_wait(&first), 0);
                for (int i = 0; i < N; i++) {
                        CHECK_EQ(values[i], 1);
                        values[i] = 0;
                }
        }
}

static void thread_done(void *arg)
{
        write_value(arg);
}

static int thread_rc = 1;

static void thread_waits(void *arg)
{
        thread_rc = weft_wg_wait(arg);
}

GO_TEST(threads_of_the_program_take_part)
{
        struct sync_thread done, waits;

        weft_wg_add(&first, 2);
        weft_wg_add(&second, 1);
        sync_thread_start(&waits, thread_waits, &second);
        sync_thread_start(&done, thread_done, &values[0]);
        sched_go(write_value, &values[1]);
        CHECK_EQ(weft_wg_wait(&first), 0);
        CHECK_EQ(values[0] + values[1], 2);
        weft_wg_done(&second);
        sync_thread_join(&waits);
        sync_thread_join(&done);
        CHECK_EQ(thread_rc, 0);
}

/* ---- Cancellation and the end of a run ------------------------------------------------------- */

static int wait(void *w)
{
        return weft_wg_wait(w);
}

static void cancel_main(void *arg)
{
        (void)arg;
        weft_wg_add(&first, 1);
        CHECK_EQ(sync_call_cancelled(wait, &first), -ECANCELED);
        CHECK_EQ(sync_call_timed(wait, &first, WEFT_MS(1)), -ETIMEDOUT);
        weft_wg_done(&first);
        CHECK_EQ(sync_call_timed(wait, &first, 0), -ETIMEDOUT); /* although it is zero */
        CHECK_EQ(weft_wg_wait(&first), 0);
}

TEST(a_scope_ends_the_wait)
{
        sched_run(cancel_main, NULL);
        for (size_t i = 0; i < sizeof(first); i++)
                CHECK_EQ(((char *)&first)[i], 0);
}

static int wait_first(void *arg)
{
        (void)arg;
        return weft_wg_wait(&first);
}

TEST(the_end_of_the_run_ends_a_thread_s_wait)
{
        weft_wg_add(&first, 1);
        CHECK_EQ(sync_call_across_the_end(wait_first, NULL), -ESHUTDOWN);
}
