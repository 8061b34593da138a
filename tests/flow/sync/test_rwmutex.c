/* Rwmutex: readers together, writers alone, no starvation, try forms, foreign threads.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sync.h"

static weft_rwmutex rwmutex = WEFT_RWMUTEX_INIT;
static w_atomic_u32 activity;           /* readers count 1, writers 10000 */
static uint32_t     rounds;

static void check_activity(uint32_t found, uint32_t least, uint32_t most)
{
        CHECK_MSG(found >= least && found <= most, "activity is %u", found);
}

static void reader(void *arg)
{
        (void)arg;
        for (uint32_t i = 0; i < rounds; i++) {
                if (i % 4 || weft_rwmutex_try_rlock(&rwmutex) < 0)
                        weft_rwmutex_rlock(&rwmutex);
                check_activity(w_add_rlx(&activity, 1) + 1, 1, 9999);
                if (i % 8 == 0)
                        weft_yield();
                w_sub_rlx(&activity, 1);
                weft_rwmutex_runlock(&rwmutex);
        }
}

static void writer(void *arg)
{
        (void)arg;
        for (uint32_t i = 0; i < rounds; i++) {
                if (i % 4 || weft_rwmutex_try_lock(&rwmutex) < 0)
                        weft_rwmutex_lock(&rwmutex);
                check_activity(w_add_rlx(&activity, 10000) + 10000, 10000, 10000);
                if (i % 8 == 0)
                        weft_yield();
                w_sub_rlx(&activity, 10000);
                weft_rwmutex_unlock(&rwmutex);
        }
}

static void hammer_with(uint32_t n_readers)
{
        int64_t ids[12], *next = ids;

        *next++ = sched_go(writer, NULL);
        for (uint32_t i = 0; i < n_readers; i++)
                *next++ = sched_go(reader, NULL);
        *next++ = sched_go(writer, NULL);
        for (int64_t *id = ids; id < next; id++)
                sched_join(*id);
}

static void hammer(void *arg)
{
        (void)arg;
        hammer_with(1);
        hammer_with(3);
        hammer_with(10);
        CHECK_EQ(w_load_rlx(&activity), 0);
}

TEST(readers_share_and_writers_are_alone)
{
        rounds = sched_scale(2000) + 1;
        sched_run(hammer, NULL);
        CHECK_EQ(weft_rwmutex_try_lock(&rwmutex), 0);
}

static void with_threads(void *arg)
{
        struct sync_thread threads[2];

        (void)arg;
        sync_thread_start(&threads[0], reader, NULL);
        sync_thread_start(&threads[1], writer, NULL);
        hammer_with(3);
        for (int i = 0; i < 2; i++)
                sync_thread_join(&threads[i]);
        CHECK_EQ(w_load_rlx(&activity), 0);
}

TEST(threads_of_the_program_take_part)
{
        rounds = sched_scale(1000) + 1;
        sched_run(with_threads, NULL);
}

TEST(it_works_without_a_runtime)
{
        weft_rwmutex zero = { 0 };

        weft_rwmutex_rlock(&zero);
        CHECK_EQ(weft_rwmutex_try_rlock(&zero), 0);
        CHECK_EQ(weft_rwmutex_try_lock(&zero), -EBUSY);
        weft_rwmutex_runlock(&zero);
        CHECK_EQ(weft_rwmutex_try_lock(&zero), -EBUSY);
        weft_rwmutex_runlock(&zero);
        CHECK_EQ(weft_rwmutex_try_lock(&zero), 0);
        CHECK_EQ(weft_rwmutex_try_rlock(&zero), -EBUSY);
        weft_rwmutex_unlock(&zero);
        weft_rwmutex_lock(&zero);
        weft_rwmutex_unlock(&zero);
        for (size_t i = 0; i < sizeof(zero); i++)
                CHECK_EQ(((char *)&zero)[i], 0);
}

/* ---- Which waiter is let in ------------------------------------------------------------------ */

static char   events[16];
static size_t n_events;

static void read_and_note(void *arg)
{
        weft_rwmutex_rlock(&rwmutex);
        uint32_t inside = w_add_rlx(&activity, 1) + 1;

        if (arg)                /* this many readers must be in at the same time */
                while (inside < (uintptr_t)arg) {
                        weft_yield();
                        inside = w_load_rlx(&activity);
                }
        weft_rwmutex_runlock(&rwmutex);
}

GO_TEST(readers_are_in_together)
{
        sync_together(8, read_and_note, (void *)8);
}

static void writer_notes(void *arg)
{
        weft_rwmutex_lock(&rwmutex);
        events[n_events++] = *(const char *)arg;
        weft_rwmutex_unlock(&rwmutex);
}

static void reader_notes(void *arg)
{
        weft_rwmutex_rlock(&rwmutex);
        w_add_rlx(&activity, 1);
        while (w_load_rlx(&activity) < 2)       /* both are in */
                weft_yield();
        if (arg)
                events[n_events++] = *(const char *)arg;
        weft_rwmutex_runlock(&rwmutex);
}

/* A reader is in; a writer waits, then readers, then a second writer. The first writer enters
 * first, though the readers could have joined the first reader; then the readers, then the second
 * writer. */
GO_TEST(a_writer_that_waits_goes_before_new_readers)
{
        int64_t ids[4];

        weft_rwmutex_rlock(&rwmutex);
        ids[0] = sync_go_waiting(writer_notes, "1");
        ids[1] = sync_go_waiting(reader_notes, "r");
        ids[2] = sync_go_waiting(writer_notes, "2");
        ids[3] = sync_go_waiting(reader_notes, NULL);
        CHECK_EQ(weft_rwmutex_try_rlock(&rwmutex), -EBUSY);
        CHECK_EQ(weft_rwmutex_try_lock(&rwmutex), -EBUSY);
        weft_rwmutex_runlock(&rwmutex);
        for (int i = 0; i < 4; i++)
                sched_join(ids[i]);
        CHECK_STR(events, "1r2");
}

static w_atomic_u32 stop;

static void read_for_ever(void *arg)
{
        (void)arg;
        while (!w_load_rlx(&stop)) {
                weft_rwmutex_rlock(&rwmutex);
                weft_yield();
                weft_rwmutex_runlock(&rwmutex);
        }
}

GO_TEST(readers_do_not_starve_writers)
{
        int64_t ids[4];

        for (int i = 0; i < 4; i++)
                ids[i] = sched_go(read_for_ever, NULL);
        for (int i = 0; i < 100; i++) {
                weft_rwmutex_lock(&rwmutex);
                weft_rwmutex_unlock(&rwmutex);
                weft_yield();
        }
        w_store_rlx(&stop, 1);
        for (int i = 0; i < 4; i++)
                sched_join(ids[i]);
}

static void write_for_ever(void *arg)
{
        (void)arg;
        while (!w_load_rlx(&stop)) {
                weft_rwmutex_lock(&rwmutex);
                weft_yield();
                weft_rwmutex_unlock(&rwmutex);
        }
}

GO_TEST(writers_do_not_starve_readers)
{
        int64_t ids[3];

        for (int i = 0; i < 3; i++)
                ids[i] = sched_go(write_for_ever, NULL);
        for (int i = 0; i < 100; i++) {
                weft_rwmutex_rlock(&rwmutex);
                weft_rwmutex_runlock(&rwmutex);
                weft_yield();
        }
        w_store_rlx(&stop, 1);
        for (int i = 0; i < 3; i++)
                sched_join(ids[i]);
}

static void lock_for_ever(void *arg)
{
        (void)arg;
        weft_rwmutex_lock(&rwmutex);
        CHECK_MSG(false, "a goroutine of a run that is over has the rwmutex");
}

static void leave_waiters(void *arg)
{
        (void)arg;
        sync_go_waiting(lock_for_ever, NULL);
        sync_go_waiting(lock_for_ever, NULL);
}

TEST(writers_that_are_dropped_are_forgotten)
{
        weft_rwmutex_rlock(&rwmutex);
        sched_run(leave_waiters, NULL);
        weft_rwmutex_runlock(&rwmutex);
        CHECK_EQ(weft_rwmutex_try_lock(&rwmutex), 0);
}
