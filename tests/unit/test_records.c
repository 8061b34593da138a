/* tests/unit/test_records.c - records: fresh records are zero, freed records are reused, each
 * visits all.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/records.h"

#include "lib/os.h"

struct record {
        struct queue_node link;
        uint64_t          words[5];
};

enum { N = 12000 };     /* more than two chunks of 256 KiB */

static struct records pool;
static struct record *got[N];

static void start(void)
{
        w_records_init(&pool, sizeof(struct record));
        CHECK_EQ(pool.size, 48);
}

static void get_all(void)
{
        for (int i = 0; i < N; i++) {
                got[i] = w_records_get(&pool);
                CHECK(got[i]);
        }
}

static bool count_it(void *record, void *arg)
{
        (void)record;
        ++*(int *)arg;
        return true;
}

static int count(void)
{
        int n = 0;

        w_records_each(&pool, count_it, &n);
        return n;
}

TEST(a_new_pool_maps_nothing)
{
        struct test_resources before = test_resources_now();

        start();
        CHECK_EQ(count(), 0);
        test_check_no_leak(&before);
        w_records_destroy(&pool);
}

TEST(fresh_records_are_zero_aligned_and_apart)
{
        start();
        get_all();
        for (int i = 0; i < N; i++) {
                CHECK_EQ((uintptr_t)got[i] % 16, 0);
                for (int k = 0; k < 5; k++)
                        CHECK_EQ(got[i]->words[k], 0);
                memset(got[i], 0xff, sizeof(*got[i]));
        }
        w_records_destroy(&pool);
}

TEST(freed_records_come_back_newest_first_as_they_were)
{
        start();
        get_all();
        got[5]->words[0] = 55;
        got[7]->words[4] = 77;
        w_records_put(&pool, got[5]);
        w_records_put(&pool, got[7]);
        CHECK(w_records_get(&pool) == got[7]);
        CHECK(w_records_get(&pool) == got[5]);
        CHECK_EQ(got[5]->words[0], 55);
        CHECK_EQ(got[7]->words[4], 77);
        CHECK_EQ(count(), N);
        w_records_destroy(&pool);
}

TEST(each_visits_every_record_once_free_ones_too)
{
        start();
        get_all();
        for (int i = 0; i < N; i += 2)
                w_records_put(&pool, got[i]);
        CHECK_EQ(count(), N);
        w_records_destroy(&pool);
}

static bool stop_at_third(void *record, void *arg)
{
        (void)record;
        return ++*(int *)arg < 3;
}

TEST(each_stops_when_told)
{
        int n = 0;

        start();
        get_all();
        w_records_each(&pool, stop_at_third, &n);
        CHECK_EQ(n, 3);
        w_records_destroy(&pool);
}

TEST(destroy_gives_everything_back_and_the_pool_is_new)
{
        struct test_resources before = test_resources_now();

        for (int i = 0; i < 3; i++) {
                start();
                get_all();
                w_records_destroy(&pool);
                CHECK_EQ(count(), 0);
        }
        test_check_no_leak(&before);
}

TEST(no_memory_is_null_and_later_there_is_some)
{
        NEEDS_INJECTION();
        start();
        w_inject_once(W_CALL_MMAP, 1, ENOMEM);
        CHECK(w_records_get(&pool) == NULL);
        get_all();
        CHECK_EQ(count(), N);
        w_inject_from(W_CALL_MMAP, 1, ENOMEM);
        int n = 0;

        while (w_records_get(&pool))
                n++;
        CHECK(n > 0 && n < 10000);
        CHECK_EQ(count(), N + n);
        w_inject_off();
        CHECK(w_records_get(&pool) != NULL);
        w_records_destroy(&pool);
}

/* ---- Visited while it grows ------------------------------------------------------------------ */

static w_atomic_u32 done;

static bool look_at(void *record, void *arg)
{
        const struct record *r = record;

        CHECK_EQ(r->words[0], 0);       /* readable and never anything else */
        ++*(int *)arg;
        return true;
}

static void read_often(void *arg)
{
        int last = 0;

        (void)arg;
        while (!w_load_acq(&done)) {
                int n = 0;

                w_records_each(&pool, look_at, &n);
                CHECK(n >= last && n <= N);
                last = n;
        }
}

TEST(each_runs_while_records_are_added)
{
        struct w_os_thread reader;

        start();
        CHECK_EQ(w_os_thread_start(&reader, "reader", 0, read_often, NULL), 0);
        get_all();
        w_store_rel(&done, 1);
        w_os_thread_join(&reader);
        w_records_destroy(&pool);
}
