/* tests/unit/test_ids.c - ids: given once, found while alive, remembered as ended.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/ids.h"

#include "lib/os.h"
#include "sched/g.h"

enum { N = 200 };

static struct g         gs[N];
static struct id_source source, other;

static void start(void)
{
        w_ids_init();
        source = other = (struct id_source){ NULL, W_ID_BATCH };
}

static enum id_found find(int64_t id, struct g **gp)
{
        struct lock  *held;
        enum id_found found;

        *gp = NULL;
        found = w_id_find(id, gp, &held);
        if (found == W_ID_ALIVE)
                w_unlock(held);
        return found;
}

static enum id_found state_of(int64_t id)
{
        struct g *gp;

        return find(id, &gp);
}

static void end(struct g *gp, int n_woken)
{
        struct list_node woken;
        int              n = 0;

        w_list_init(&woken);
        w_id_end(gp, &woken);
        CHECK_EQ(gp->id, 0);
        W_LIST_EACH(node, &woken)
                n++;
        CHECK_EQ(n, n_woken);
}

static void give(struct id_source *from, int first, int n)
{
        for (int i = first; i < first + n; i++)
                CHECK(w_id_give(from, &gs[i]));
}

TEST(ids_count_up_from_1_in_batches)
{
        start();
        give(&source, 0, 20);
        for (int i = 0; i < 20; i++)
                CHECK_EQ(gs[i].id, i + 1);
        give(&other, 20, 1);
        CHECK_EQ(gs[20].id, 32);
        give(&source, 21, 13);
        CHECK_EQ(gs[32].id, 48);        /* 21 to 31, then its next batch */
        CHECK_EQ(gs[33].id, 49);
        w_ids_destroy();
}

TEST(callers_without_a_p_share_a_source)
{
        start();
        give(NULL, 0, 3);
        give(&source, 3, 1);
        give(NULL, 4, 1);
        CHECK_EQ(gs[2].id, 3);
        CHECK_EQ(gs[3].id, 16);
        CHECK_EQ(gs[4].id, 4);
        w_ids_destroy();
}

TEST(find_distinguishes_never_given_alive_and_ended)
{
        struct g *gp;

        start();
        CHECK_EQ(state_of(1), W_ID_NEVER_GIVEN);
        give(&source, 0, 2);
        CHECK_EQ(find(1, &gp), W_ID_ALIVE);
        CHECK(gp == &gs[0]);
        CHECK_EQ(find(2, &gp), W_ID_ALIVE);
        CHECK(gp == &gs[1]);
        CHECK_EQ(state_of(3), W_ID_NEVER_GIVEN);
        CHECK_EQ(state_of(16), W_ID_NEVER_GIVEN);
        CHECK_EQ(state_of(0), W_ID_NEVER_GIVEN);
        CHECK_EQ(state_of(-1), W_ID_NEVER_GIVEN);
        CHECK_EQ(state_of(INT64_MIN), W_ID_NEVER_GIVEN);
        CHECK_EQ(state_of(INT64_MAX), W_ID_NEVER_GIVEN);
        end(&gs[0], 0);
        CHECK_EQ(state_of(1), W_ID_HAS_ENDED);
        CHECK_EQ(state_of(2), W_ID_ALIVE);
        w_ids_destroy();
}

TEST(ended_is_remembered_after_the_batch_is_gone)
{
        start();
        give(&source, 0, 64);
        for (int i = 0; i < 40; i++)
                end(&gs[i], 0);
        for (int64_t id = 1; id <= 40; id++)
                CHECK_EQ(state_of(id), W_ID_HAS_ENDED);
        for (int64_t id = 41; id <= 64; id++)
                CHECK_EQ(state_of(id), W_ID_ALIVE);
        CHECK_EQ(state_of(65), W_ID_NEVER_GIVEN);
        CHECK_EQ(state_of(80), W_ID_NEVER_GIVEN);
        w_ids_destroy();
}

/* Pages of ended batches are used again: many more ids than pages. */
TEST(batches_are_recycled_and_old_ids_stay_ended)
{
        int64_t last = 0;

        start();
        for (int round = 0; round < 500; round++) {
                give(&source, 0, 16);
                CHECK(gs[0].id > last);
                last = gs[15].id;
                for (int i = 16; i-- > 0;)
                        end(&gs[i], 0);
        }
        CHECK_EQ(last, 500 * 16);
        for (int64_t id = 1; id <= last; id++)
                CHECK_EQ(state_of(id), W_ID_HAS_ENDED);
        CHECK_EQ(state_of(last + 1), W_ID_NEVER_GIVEN);
        w_ids_destroy();
}

/* Batches 0 and 1024 share a bucket. */
TEST(batches_in_one_bucket_do_not_mix)
{
        struct g *gp;

        start();
        give(&source, 0, 15);
        for (int batch = 1; batch < 1024; batch++) {
                give(&source, 16, 16);
                for (int i = 16; i < 32; i++)
                        end(&gs[i], 0);
        }
        give(&source, 16, 1);
        CHECK_EQ(gs[16].id, 1024 * 16);
        CHECK_EQ(find(1, &gp), W_ID_ALIVE);
        CHECK(gp == &gs[0]);
        CHECK_EQ(find(1024 * 16, &gp), W_ID_ALIVE);
        CHECK(gp == &gs[16]);
        for (int i = 0; i < 15; i++)
                end(&gs[i], 0);
        CHECK_EQ(state_of(1), W_ID_HAS_ENDED);
        CHECK_EQ(state_of(1024 * 16), W_ID_ALIVE);
        w_ids_destroy();
}

static bool always(struct joiner *joiner)
{
        (void)joiner;
        return true;
}

static void join(int64_t id, struct joiner *joiner)
{
        struct g    *gp;
        struct lock *held;

        *joiner = (struct joiner){ .id = id, .claim = always };
        CHECK_EQ(w_id_find(id, &gp, &held), W_ID_ALIVE);
        w_id_join_locked(gp, joiner);
        w_unlock(held);
}

TEST(an_end_wakes_its_own_joiners_only)
{
        struct joiner joiners[5];

        start();
        give(&source, 0, 15);
        join(1, &joiners[0]);
        join(2, &joiners[1]);
        join(1, &joiners[2]);
        join(2, &joiners[3]);
        join(2, &joiners[4]);
        end(&gs[2], 0);
        end(&gs[0], 2);
        end(&gs[1], 3);
        for (int i = 3; i < 15; i++)
                end(&gs[i], 0);
        w_ids_destroy();
}

TEST(no_memory_gives_no_id_and_changes_nothing)
{
        NEEDS_INJECTION();
        start();
        w_inject_once(W_CALL_MMAP, 1, ENOMEM);
        CHECK(!w_id_give(&source, &gs[0]));
        w_inject_once(W_CALL_MMAP, 1, ENOMEM);
        CHECK(!w_id_give(NULL, &gs[0]));
        w_inject_off();
        CHECK_EQ(state_of(1), W_ID_NEVER_GIVEN);
        CHECK(w_id_give(&source, &gs[0]));
        CHECK_EQ(gs[0].id, 1);
        w_ids_destroy();
}

TEST(init_and_destroy_leave_nothing)
{
        struct test_resources before = test_resources_now();

        for (int i = 0; i < 10; i++) {
                start();
                give(&source, 0, N);
                CHECK_EQ(gs[0].id, 1);
                w_ids_destroy();
        }
        test_check_no_leak(&before);
}

/* ---- Found while it ends --------------------------------------------------------------------- */

static w_atomic_u64 newest;
static w_atomic_u32 done;

/* Whatever is found alive has the id that was asked for, as long as its bucket is locked. */
static void find_often(void *arg)
{
        uint64_t n_alive = 0;

        (void)arg;
        while (!w_load_acq(&done)) {
                int64_t      id = (int64_t)w_load_acq(&newest);
                struct g    *gp;
                struct lock *held;

                if (id == 0 || w_id_find(id, &gp, &held) != W_ID_ALIVE)
                        continue;
                CHECK_EQ(gp->id, id);
                n_alive++;
                w_unlock(held);
        }
}

TEST(a_found_goroutine_does_not_become_another)
{
        struct w_os_thread finder;

        start();
        CHECK_EQ(w_os_thread_start(&finder, "finder", 0, find_often, NULL), 0);
        for (long i = 0; i < test_scale(20000); i++) {
                CHECK(w_id_give(&source, &gs[0]));
                w_store_rel(&newest, (uint64_t)gs[0].id);
                end(&gs[0], 0);
        }
        w_store_rel(&done, 1);
        w_os_thread_join(&finder);
        w_ids_destroy();
}
