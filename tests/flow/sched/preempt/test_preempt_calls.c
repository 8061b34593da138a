/* tests/flow/sched/preempt/test_preempt_calls.c - a goroutine that calls weft all the time and
 * never has to wait lets other goroutines go on. It is dropped when its run ends.
 *
 * It is in a new epoch at each sample of the monitor, so it neither blocks nor computes for long.
 *
 * test: procs=1,2,4 valgrind=no
 * Under valgrind a slice of 10 ms is over at once, or never.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sched.h"

#include <unistd.h>

static w_atomic_u32 is_set;
static weft_chan   *empty, *roomy;
static weft_sem     sem = WEFT_SEM_INIT(3);
static weft_wg      wg;
static int          ends[2];

static void nothing(void *arg)
{
        (void)arg;
}

/* ---- Calls that need not wait ---------------------------------------------------------------- */

static void try_recv(void) { (void)weft_chan_try_recv(empty, NULL); }
static void read_length(void) { (void)weft_chan_len(empty); }
static void name(void)     { weft_name("named"); }
static void count(void)    { (void)weft_count(); }
static void lock_thread(void) { weft_thread_lock(), weft_thread_unlock(); }
static void block(void)    { weft_block_begin(), weft_block_end(); }
static void on_thread(void) { (void)weft_blocking(nothing, NULL); }
static void wait_for_none(void) { (void)weft_wg_wait(&wg); }
static void take_permit(void) { (void)!weft_sem_acquire(&sem), weft_sem_release(&sem); }

static void spawn(void)
{
        if (weft_count() < 1000)
                (void)!weft_go(nothing, NULL);
}

static void either(void)
{
        weft_case cases[] = { WEFT_RECV(empty, NULL), WEFT_DEFAULT };

        (void)!weft_select(cases, 2);
}

static void send_and_recv(void)
{
        (void)weft_chan_send(roomy, NULL);
        (void)weft_chan_recv(roomy, NULL);
}

static void write_and_read(void)
{
        char c = 'x';

        (void)!weft_write(ends[1], &c, 1);
        (void)!weft_read(ends[0], &c, 1);
}

static void token(void)
{
        (void)weft_unpark(weft_id());
        (void)weft_park();
}

/* ---- Other goroutines run -------------------------------------------------------------------- */

static void set(void *arg)
{
        (void)arg;
        w_store_rel(&is_set, 1);
}

static void call_until_set(void *call)
{
        while (!w_load_acq(&is_set))
                (*(void (**)(void))call)();
}

/* As many goroutines as Ps, so that no P is left. */
static void main_calls(void *call)
{
        int64_t ids[4];
        int     n = weft_procs(0);

        w_store_rel(&is_set, 0);
        for (int i = 1; i < n; i++)
                ids[i] = sched_go(call_until_set, call);
        int64_t setter = sched_go(set, NULL);

        call_until_set(call);
        sched_join(setter);
        for (int i = 1; i < n; i++)
                sched_join(ids[i]);
}

static void make_objects(void)
{
        empty = weft_chan_new(0, 0);
        roomy = weft_chan_new(0, 1000);
}

static void main_with_objects(void *call)
{
        make_objects();
        main_calls(call);
        weft_chan_unref(empty);
        weft_chan_unref(roomy);
}

static void others_go_on_beside(void (*fn)(void))
{
        CHECK_EQ(pipe(ends), 0);
        sched_run(main_with_objects, &fn);
}

TEST(others_go_on_beside_try_recv)            { others_go_on_beside(try_recv); }
TEST(others_go_on_beside_a_channel_length)    { others_go_on_beside(read_length); }
TEST(others_go_on_beside_a_default_case)      { others_go_on_beside(either); }
TEST(others_go_on_beside_a_full_channel)      { others_go_on_beside(send_and_recv); }
TEST(others_go_on_beside_a_full_pipe)         { others_go_on_beside(write_and_read); }
TEST(others_go_on_beside_permits)             { others_go_on_beside(take_permit); }
TEST(others_go_on_beside_an_empty_wait_group) { others_go_on_beside(wait_for_none); }
TEST(others_go_on_beside_a_token)             { others_go_on_beside(token); }
TEST(others_go_on_beside_spawns)              { others_go_on_beside(spawn); }
TEST(others_go_on_beside_names)               { others_go_on_beside(name); }
TEST(others_go_on_beside_counts)              { others_go_on_beside(count); }
TEST(others_go_on_beside_thread_locks)        { others_go_on_beside(lock_thread); }
TEST(others_go_on_beside_short_regions)       { others_go_on_beside(block); }
TEST(others_go_on_beside_calls_on_the_thread) { others_go_on_beside(on_thread); }

/* ---- The end --------------------------------------------------------------------------------- */

static void call_for_ever(void *call)
{
        w_store_rel(&is_set, 1);
        for (;;)
                (*(void (**)(void))call)();
}

static void main_drops(void *call)
{
        make_objects();
        w_store_rel(&is_set, 0);
        (void)sched_go(call_for_ever, call);
        while (!w_load_acq(&is_set))
                CHECK_EQ(weft_sleep(WEFT_MS(1)), 0);
}

/* It enters weft all the time, so no thread is abandoned. */
static void is_dropped_that(void (*fn)(void))
{
        weft_config cfg = { .shutdown_ms = 60000 };

        CHECK_EQ(pipe(ends), 0);
        CHECK_EQ(sched_run_left(&cfg, main_drops, &fn), 0);
}

TEST(a_user_of_a_full_channel_is_dropped) { is_dropped_that(send_and_recv); }
TEST(a_user_of_a_full_pipe_is_dropped)    { is_dropped_that(write_and_read); }
TEST(a_user_of_permits_is_dropped)        { is_dropped_that(take_permit); }
TEST(a_user_of_a_token_is_dropped)        { is_dropped_that(token); }
TEST(a_user_of_short_regions_is_dropped)  { is_dropped_that(block); }
TEST(a_caller_on_the_thread_is_dropped)   { is_dropped_that(on_thread); }
