/* An object lies in a page that is unmapped as soon as the wait, or the last unlock, has returned,
 * while the other side may still be in its call: no party touches it again.
 *
 * TEST_LONG does it 100,000 times in each test at each number of Ps: two million in all.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sync.h"

#include <sys/mman.h>

/* What is in the page. */
struct object {
        weft_mutex   mutex;
        weft_rwmutex rwmutex;
        weft_cond    cond;
        weft_sem     sem;
        weft_wg      wg;
        uint32_t     n_users;           /* plain: under the object */
        uint32_t     ready;             /* plain: under the mutex */
};

/* One side of a meeting; true: this side frees the object. */
typedef bool side_fn(struct object *o);

static struct {
        W_ATOMIC(struct object *) object;       /* for the partner; NULL: it is done */
        side_fn                  *partner;
        w_atomic_u32              stop;
} meeting;

static struct object *map_object(void)
{
        void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        CHECK(page != MAP_FAILED);
        return page;
}

static void unmap_object(struct object *o)
{
        CHECK_EQ(munmap(o, 4096), 0);
}

/* The other side may be a thread that needs this CPU. */
static void let_others_run(void)
{
        weft_yield();
        w_os_yield();
}

static void partner(void *arg)
{
        (void)arg;
        while (!w_load_rlx(&meeting.stop)) {
                struct object *o = w_load_acq(&meeting.object);

                if (!o) {
                        let_others_run();
                        continue;
                }
                if (meeting.partner(o))
                        unmap_object(o);
                w_store_rel(&meeting.object, NULL);
        }
}

static uint32_t n_meetings(void)
{
        return getenv("TEST_LONG") ? 100000 : sched_scale(2000) + 1;
}

static void meet_often(side_fn *mine)
{
        for (uint32_t n = 0; test_again(n, 40, n_meetings()); n++) {
                struct object *o = map_object();

                o->n_users = 2;
                weft_wg_add(&o->wg, 1);
                w_store_rel(&meeting.object, o);
                if (n % 4 == 0)
                        weft_yield();
                if (mine(o))
                        unmap_object(o);
                while (w_load_acq(&meeting.object))
                        let_others_run();
        }
        w_store_rlx(&meeting.stop, 1);
}

/* The partner is a goroutine or a foreign thread. */
static void meet_goroutine(void *mine)
{
        int64_t id = sched_go(partner, NULL);

        meet_often(*(side_fn **)mine);
        sched_join(id);
}

static void meet_thread(void *mine)
{
        struct sync_thread thread;

        sync_thread_start(&thread, partner, NULL);
        meet_often(*(side_fn **)mine);
        sync_thread_join(&thread);
}

static void meet(side_fn *mine, side_fn *partners)
{
        meeting.partner = partners;
        sched_run(meet_goroutine, &mine);
        if (getenv("TEST_LONG"))        /* once is enough */
                return;
        w_store_rlx(&meeting.stop, 0);
        sched_run(meet_thread, &mine);
}

/* ---- Wait group and semaphore ---------------------------------------------------------------- */

static bool wait_group(struct object *o)
{
        CHECK_EQ(weft_wg_wait(&o->wg), 0);
        return true;
}

static bool be_done(struct object *o)
{
        weft_wg_done(&o->wg);
        return false;
}

TEST(a_wait_group_goes_when_wait_returns)
{
        meet(wait_group, be_done);
}

static bool acquire(struct object *o)
{
        CHECK_EQ(weft_sem_acquire(&o->sem), 0);
        return true;
}

static bool release(struct object *o)
{
        weft_sem_release(&o->sem);
        return false;
}

TEST(a_semaphore_goes_when_acquire_returns)
{
        meet(acquire, release);
}

/* ---- Mutex and rwmutex: the last user -------------------------------------------------------- */

static bool lock_and_leave(struct object *o)
{
        weft_mutex_lock(&o->mutex);
        bool last = --o->n_users == 0;

        weft_mutex_unlock(&o->mutex);
        return last;
}

TEST(a_mutex_goes_with_the_last_unlock)
{
        meet(lock_and_leave, lock_and_leave);
}

static bool write_and_leave(struct object *o)
{
        weft_rwmutex_lock(&o->rwmutex);
        bool last = --o->n_users == 0;

        weft_rwmutex_unlock(&o->rwmutex);
        return last;
}

static bool read_and_leave(struct object *o)
{
        weft_rwmutex_rlock(&o->rwmutex);
        bool last = --o->n_users == 0;          /* the only reader */

        weft_rwmutex_runlock(&o->rwmutex);
        return last;
}

TEST(a_rwmutex_goes_with_the_last_unlock)
{
        meet(write_and_leave, write_and_leave);
}

TEST(a_rwmutex_goes_with_the_last_unlock_of_a_reader_or_writer)
{
        meet(write_and_leave, read_and_leave);
}

/* ---- Cond ----------------------------------------------------------------------------------- */

static bool wait_ready(struct object *o)
{
        weft_mutex_lock(&o->mutex);
        while (!o->ready)
                CHECK_EQ(weft_cond_wait(&o->cond, &o->mutex), 0);
        weft_mutex_unlock(&o->mutex);
        return true;
}

static bool make_ready(struct object *o)
{
        weft_mutex_lock(&o->mutex);
        o->ready = 1;
        weft_cond_signal(&o->cond);
        weft_mutex_unlock(&o->mutex);
        return false;
}

static bool make_ready_for_all(struct object *o)
{
        weft_mutex_lock(&o->mutex);
        o->ready = 1;
        weft_cond_broadcast(&o->cond);
        weft_mutex_unlock(&o->mutex);
        return false;
}

TEST(a_cond_and_its_mutex_go_after_a_signal)
{
        meet(wait_ready, make_ready);
}

TEST(a_cond_and_its_mutex_go_after_a_broadcast)
{
        meet(wait_ready, make_ready_for_all);
}
