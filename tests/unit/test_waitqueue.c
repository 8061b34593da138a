/* The wait queues of caller-owned objects: order, keys, unlinking, claims.
 *
 * SPDX-License-Identifier: MIT
 */
#include "wait/waitqueue.h"

#include "harness/test.h"
#include "sched/sched.h"

enum { N = 6 };

static uint64_t objects[1000];

struct entry {
        struct waiter waiter;
        struct waitq_entry  place;
};

static void entry_init(struct entry *e, uintptr_t key)
{
        *e = (struct entry){ .waiter = { .sole = true } };
        w_waitq_entry_init(&e->place, key, &e->waiter);
}

static void append_all(struct entry *entries, int n, uintptr_t key)
{
        for (int i = 0; i < n; i++) {
                struct bucket *b = w_waitq_lock(key);

                entry_init(&entries[i], key);
                w_waitq_append(b, &entries[i].place);
                w_waitq_unlock(b);
        }
}

/* The index of the first waiter, which is taken out; -1: there is none. */
static int pop(struct entry *entries, uintptr_t key)
{
        struct bucket *b = w_waitq_lock(key);
        struct waitq_entry  *p = w_waitq_first(b, key, true);

        if (p)
                CHECK(w_waitq_remove(b, p));
        w_waitq_unlock(b);
        return p ? (int)(W_CONTAINER_OF(p, struct entry, place) - entries) : -1;
}

TEST(a_wait_queue_is_first_in_first_out)
{
        struct entry entries[N];
        uintptr_t    key = w_waitq_key(&objects[0], 0);

        CHECK_EQ(pop(entries, key), -1);
        append_all(entries, N, key);
        for (int i = 0; i < N; i++)
                CHECK_EQ(pop(entries, key), i);
        CHECK_EQ(pop(entries, key), -1);
}

TEST(a_push_goes_in_front)
{
        struct entry   entries[N];
        uintptr_t      key = w_waitq_key(&objects[0], 0);
        struct bucket *b;

        append_all(entries, N - 2, key);
        for (int i = N - 2; i < N; i++) {
                entry_init(&entries[i], key);
                b = w_waitq_lock(key);
                w_waitq_push(b, &entries[i].place);
                w_waitq_unlock(b);
        }
        CHECK_EQ(pop(entries, key), N - 1);
        CHECK_EQ(pop(entries, key), N - 2);
        for (int i = 0; i < N - 2; i++)
                CHECK_EQ(pop(entries, key), i);
        b = w_waitq_lock(key);
        w_waitq_push(b, &entries[0].place);
        w_waitq_unlock(b);
        CHECK_EQ(pop(entries, key), 0);
}

TEST(a_waiter_that_withdraws_leaves_the_order_of_the_others)
{
        for (int gone = 0; gone < N; gone++) {
                struct entry entries[N];
                uintptr_t    key = w_waitq_key(&objects[0], 0);

                append_all(entries, N, key);
                w_waitq_withdraw(&entries[gone].place);
                w_waitq_withdraw(&entries[gone].place);         /* harmless */
                for (int i = 0; i < N; i++)
                        if (i != gone)
                                CHECK_EQ(pop(entries, key), i);
                CHECK_EQ(pop(entries, key), -1);
        }
}

/* A thousand objects: some share a bucket. The two queues of one object do, too. */
TEST(keys_do_not_mix)
{
        static struct entry entries[2 * W_ARRAY_LEN(objects)];

        for (size_t i = 0; i < W_ARRAY_LEN(objects); i++)
                for (unsigned line = 0; line < 2; line++)
                        append_all(&entries[2 * i + line], 1, w_waitq_key(&objects[i], line));
        for (size_t i = W_ARRAY_LEN(objects); i-- > 0;)
                for (unsigned line = 0; line < 2; line++) {
                        uintptr_t key = w_waitq_key(&objects[i], line);

                        CHECK_EQ(pop(entries, key), 2 * i + line);
                        CHECK_EQ(pop(entries, key), -1);
                }
}

TEST(the_first_has_more_only_if_there_is_a_second)
{
        struct entry   entries[2];
        uintptr_t      key = w_waitq_key(&objects[0], 0);
        struct bucket *b;

        append_all(entries, 2, key);
        b = w_waitq_lock(key);
        CHECK(w_waitq_has_more(w_waitq_first(b, key, true)));
        w_waitq_remove(b, &entries[0].place);
        CHECK(!w_waitq_has_more(w_waitq_first(b, key, true)));
        w_waitq_remove(b, &entries[1].place);
        CHECK(!w_waitq_remove(b, &entries[1].place));
        w_waitq_unlock(b);
}

static void be_parked(struct entry *e, uint32_t word)
{
        e->waiter.sole = false;
        e->waiter.word.raw = word;
}

TEST(a_cancelled_waiter_is_passed_over)
{
        struct entry   entries[3];
        uintptr_t      key = w_waitq_key(&objects[0], 0);
        struct bucket *b;

        append_all(entries, 3, key);
        be_parked(&entries[0], W_VERDICT_CANCELED);
        be_parked(&entries[1], W_VERDICT_TIMEOUT);
        be_parked(&entries[2], W_VERDICT_PARKED);
        b = w_waitq_lock(key);
        CHECK(w_waitq_claim_first(b, key, true) == &entries[2].place);
        CHECK(w_waitq_claim_first(b, key, true) == NULL);
        w_waitq_unlock(b);
        CHECK_EQ(entries[0].waiter.word.raw, W_VERDICT_CANCELED);
        CHECK_EQ(entries[1].waiter.word.raw, W_VERDICT_TIMEOUT);
        CHECK_EQ(entries[2].waiter.word.raw, W_VERDICT_OTHER);
}

TEST(all_are_claimed_in_order_and_only_sleepers_must_be_woken)
{
        struct entry     entries[4];
        struct list_node woken;
        uintptr_t        key = w_waitq_key(&objects[0], 0);
        struct bucket   *b;

        append_all(entries, 4, key);
        be_parked(&entries[0], W_VERDICT_PARKED);
        be_parked(&entries[1], W_VERDICT_ARMING);
        be_parked(&entries[2], W_VERDICT_CANCELED);
        be_parked(&entries[3], W_VERDICT_PARKED);
        w_list_init(&woken);
        b = w_waitq_lock(key);
        CHECK_EQ(w_waitq_claim_all(b, key, true, &woken), 3);
        CHECK(w_waitq_first(b, key, true) == NULL);
        w_waitq_unlock(b);
        CHECK(w_list_pop_front(&woken) == &entries[0].place.link);
        CHECK(w_list_pop_front(&woken) == &entries[3].place.link);
        CHECK(w_list_pop_front(&woken) == NULL);
        CHECK_EQ(entries[1].waiter.word.raw, W_VERDICT_OTHER);
}

TEST(goroutines_of_a_run_that_is_over_are_passed_over)
{
        struct entry   entries[3];
        struct g       dropped;
        uintptr_t      key = w_waitq_key(&objects[0], 0);
        struct bucket *b;

        append_all(entries, 3, key);
        entries[0].waiter.gp = entries[1].waiter.gp = &dropped;
        b = w_waitq_lock(key);
        CHECK(w_waitq_first(b, key, true) == &entries[0].place);
        CHECK(w_waitq_first(b, key, false) == &entries[2].place);
        CHECK(!entries[0].place.queued && !entries[1].place.queued);
        w_waitq_remove(b, &entries[2].place);
        w_waitq_unlock(b);
}

/* Goroutines are removed; threads that must check again are woken, the others stay in order. */
TEST(the_end_of_a_run_leaves_only_threads)
{
        struct entry entries[5], other;
        struct g     dropped;
        uintptr_t    key = w_waitq_key(&objects[0], 0);

        append_all(entries, 5, key);
        append_all(&other, 1, w_waitq_key(&objects[0], 1));
        entries[0].waiter.gp = entries[3].waiter.gp = other.waiter.gp = &dropped;
        entries[2].place.recheck = true;
        w_waitq_run_ended();
        CHECK_EQ(entries[2].waiter.note.word.raw, 1);
        CHECK_EQ(entries[2].waiter.word.raw, W_VERDICT_OTHER);
        CHECK_EQ(entries[1].waiter.note.word.raw, 0);
        CHECK_EQ(pop(entries, key), 1);
        CHECK_EQ(pop(entries, key), 4);
        CHECK_EQ(pop(entries, key), -1);
        CHECK_EQ(pop(&other, w_waitq_key(&objects[0], 1)), -1);
}
