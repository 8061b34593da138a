/* Semaphore: permits are neither lost nor made, oldest waiter first, cancellation, end of run.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sync.h"

#include <limits.h>

static weft_sem     sem = WEFT_SEM_INIT(3);
static w_atomic_u32 inside, most;
static uint32_t     rounds;

TEST(permits_are_counted_without_a_runtime)
{
        weft_sem s = WEFT_SEM_INIT(2), zero = { 0 };

        CHECK_EQ(weft_sem_try_acquire(&zero), -EAGAIN);
        CHECK_EQ(weft_sem_try_acquire(&s), 0);
        CHECK_EQ(weft_sem_try_acquire(&s), 0);
        CHECK_EQ(weft_sem_try_acquire(&s), -EAGAIN);
        weft_sem_release(&s);
        CHECK_EQ(weft_sem_try_acquire(&s), 0);
        weft_sem_init(&s, UINT_MAX);
        CHECK_EQ(weft_sem_try_acquire(&s), 0);
        weft_sem_release(&s);
        weft_sem_init(&s, 0);
        CHECK_EQ(weft_sem_try_acquire(&s), -EAGAIN);
}

TEST(without_a_runtime_no_call_waits)
{
        weft_sem s = WEFT_SEM_INIT(0);

        CHECK_EQ(weft_sem_acquire(&s), -ESHUTDOWN);
        weft_sem_release(&s);
        CHECK_EQ(weft_sem_acquire(&s), -ESHUTDOWN);     /* although there is a permit */
        CHECK_EQ(weft_sem_try_acquire(&s), 0);
}

static void user(void *arg)
{
        (void)arg;
        for (uint32_t i = 0; i < rounds; i++) {
                if (i % 3 || weft_sem_try_acquire(&sem) < 0)
                        CHECK_EQ(weft_sem_acquire(&sem), 0);
                uint32_t n = w_add_rlx(&inside, 1) + 1;

                CHECK_MSG(n <= 3, "%u are inside", n);
                if (n > w_load_rlx(&most))
                        w_store_rlx(&most, n);
                if (i % 2)
                        weft_yield();
                w_sub_rlx(&inside, 1);
                weft_sem_release(&sem);
        }
}

static void users_main(void *arg)
{
        struct sync_thread threads[2];

        (void)arg;
        for (int i = 0; i < 2; i++)
                sync_thread_start(&threads[i], user, NULL);
        sync_together(10, user, NULL);
        for (int i = 0; i < 2; i++)
                sync_thread_join(&threads[i]);
        for (int i = 0; i < 3; i++)
                CHECK_EQ(weft_sem_try_acquire(&sem), 0);
        CHECK_EQ(weft_sem_try_acquire(&sem), -EAGAIN);
        CHECK_EQ(w_load_rlx(&most), 3);
}

TEST(no_more_are_inside_than_there_are_permits)
{
        rounds = sched_scale(1000) + 1;
        sched_run(users_main, NULL);
}

/* ---- Order ----------------------------------------------------------------------------------- */

static w_atomic_u32 n_got;
static uintptr_t    order[8];

static void acquire_and_note(void *arg)
{
        CHECK_EQ(weft_sem_acquire(arg), 0);
        order[w_load_rlx(&n_got)] = (uintptr_t)weft_id();
        w_add_acqrel(&n_got, 1);
}

/* One at a time: a try_acquire at that moment cannot take a permit that was handed over. */
GO_TEST(permits_go_to_the_oldest_waiter)
{
        weft_sem s = WEFT_SEM_INIT(0);
        int64_t  ids[8];

        for (int i = 0; i < 8; i++)
                ids[i] = sync_go_waiting(acquire_and_note, &s);
        for (uint32_t i = 0; i < 8; i++) {
                weft_sem_release(&s);
                CHECK_EQ(weft_sem_try_acquire(&s), -EAGAIN);
                sched_await(&n_got, i + 1);
                CHECK_EQ(order[i], ids[i]);
        }
}

/* ---- Cancellation ---------------------------------------------------------------------------- */

static int acquire(void *s)
{
        return weft_sem_acquire(s);
}

GO_TEST(a_scope_ends_the_wait)
{
        weft_sem s = WEFT_SEM_INIT(0);

        CHECK_EQ(sync_call_cancelled(acquire, &s), -ECANCELED);
        CHECK_EQ(sync_call_timed(acquire, &s, WEFT_MS(1)), -ETIMEDOUT);
        weft_sem_release(&s);
        CHECK_EQ(sync_call_timed(acquire, &s, 0), -ETIMEDOUT);  /* although there is a permit */
        CHECK_EQ(weft_sem_try_acquire(&s), 0);
        CHECK_EQ(weft_sem_try_acquire(&s), -EAGAIN);
}

static int cancel_soon(void *scope)
{
        weft_yield();
        weft_scope_cancel(scope);
        return 0;
}

static w_atomic_u32 n_cancelled;

static void racer(void *arg)
{
        weft_scope scope;

        for (uint32_t i = 0; i < rounds; i++) {
                CHECK_EQ(weft_scope_open(&scope, WEFT_FOREVER), 0);
                CHECK(weft_scope_go(&scope, cancel_soon, &scope) > 0);
                int rc = weft_sem_acquire(arg);

                CHECK(rc == 0 || rc == -ECANCELED);
                if (rc == 0) {
                        weft_yield();
                        weft_sem_release(arg);
                } else {
                        w_add_rlx(&n_cancelled, 1);
                }
                CHECK_EQ(weft_scope_close(&scope), 0);
        }
}

static void race_main(void *arg)
{
        weft_sem s = WEFT_SEM_INIT(2);

        (void)arg;
        sync_together(6, racer, &s);
        CHECK_EQ(weft_sem_try_acquire(&s), 0);
        CHECK_EQ(weft_sem_try_acquire(&s), 0);
        CHECK_EQ(weft_sem_try_acquire(&s), -EAGAIN);
}

TEST(a_permit_is_never_lost_to_a_cancellation)
{
        rounds = sched_scale(1000) + 1;
        sched_run(race_main, NULL);
}

/* ---- The end of a run ------------------------------------------------------------------------ */

static void acquire_for_ever(void *arg)
{
        CHECK_EQ(weft_sem_acquire(arg), 0);
        CHECK_MSG(false, "a goroutine of a run that is over has got a permit");
}

static void leave_waiter(void *arg)
{
        sync_go_waiting(acquire_for_ever, arg);
}

TEST(a_dropped_goroutine_gets_no_permit)
{
        weft_sem s = WEFT_SEM_INIT(0);

        for (int i = 0; i < 3; i++) {
                sched_run(leave_waiter, &s);
                weft_sem_release(&s);
                CHECK_EQ(weft_sem_try_acquire(&s), 0);
                CHECK_EQ(weft_sem_try_acquire(&s), -EAGAIN);
        }
}

static weft_sem never = WEFT_SEM_INIT(0);

static int acquire_never(void *arg)
{
        (void)arg;
        return weft_sem_acquire(&never);
}

TEST(the_end_of_the_run_ends_a_thread_s_wait)
{
        CHECK_EQ(sync_call_across_the_end(acquire_never, NULL), -ESHUTDOWN);
        weft_sem_release(&never);
        CHECK_EQ(weft_sem_try_acquire(&never), 0);
}
