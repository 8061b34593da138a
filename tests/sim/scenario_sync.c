/* tests/sim/scenario_sync.c - mutex, rwmutex and once on the whole scheduler, and a run that ends
 * while goroutines wait.
 *
 * test: seeds=quarter
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/sync_world.h"

/* ---- Mutex ----------------------------------------------------------------------------------- */

/* Sometimes held for so long that a waiter begins to starve. */
static void mutex_user(void *arg)
{
        struct state *s = arg;

        for (uint32_t i = 0; i < ROUNDS; i++) {
                if (sim_random(3) || weft_mutex_try_lock(&s->object->mutex) < 0)
                        weft_mutex_lock(&s->object->mutex);
                sync_section(s);
                if (sim_random(8) == 0)
                        sim_work(1100000);
                weft_mutex_unlock(&s->object->mutex);
        }
        weft_mutex_lock(&s->object->mutex);
        bool last = --s->n_refs == 0;

        if (last)
                SIM_CHECK(s->sum == sync_n_users() * ROUNDS, "%u sections", s->sum);
        weft_mutex_unlock(&s->object->mutex);
        if (last)
                sync_gone(s);
}

static void mutex_main(void)
{
        sync_begin(mutex_user, true);
        sync_run_all();
}

SIM_SCENARIO(sync_mutex, "several goroutines and a thread, sections under a mutex", mutex_main,
             .max_steps = SCHED_MAX_STEPS)

/* ---- Rwmutex --------------------------------------------------------------------------------- */

static void read_section(struct state *s)
{
        SIM_CHECK(w_plain_load(&s->writers) == 0, "a reader beside a writer");
        w_add_rlx(&s->readers, 1);
        sync_maybe_yield();
        SIM_CHECK(w_plain_load(&s->writers) == 0, "a writer beside a reader");
        w_sub_rlx(&s->readers, 1);
}

static void write_section(struct state *s)
{
        SIM_CHECK(w_load_rlx(&s->readers) == 0, "a writer beside readers");
        w_plain_store(&s->writers, 1);
        sync_section(s);
        SIM_CHECK(w_load_rlx(&s->readers) == 0, "readers beside a writer");
        w_plain_store(&s->writers, 0);
}

static void rwmutex_user(void *arg)
{
        struct state *s = arg;
        weft_rwmutex *m = &s->object->rwmutex;

        for (uint32_t i = 0; i < ROUNDS; i++) {
                bool try = sim_random(4) == 0;

                if (sim_random(2)) {
                        if (!try || weft_rwmutex_try_lock(m) < 0)
                                weft_rwmutex_lock(m);
                        write_section(s);
                        weft_rwmutex_unlock(m);
                } else {
                        if (!try || weft_rwmutex_try_rlock(m) < 0)
                                weft_rwmutex_rlock(m);
                        read_section(s);
                        weft_rwmutex_runlock(m);
                }
        }
        weft_rwmutex_lock(m);
        bool last = --s->n_refs == 0;

        weft_rwmutex_unlock(m);
        if (last)
                sync_gone(s);
}

static void rwmutex_main(void)
{
        sync_begin(rwmutex_user, true);
        sync_run_all();
}

SIM_SCENARIO(sync_rwmutex, "several goroutines and a thread, readers and writers", rwmutex_main,
             .max_steps = SCHED_MAX_STEPS)

/* ---- Once ------------------------------------------------------------------------------------ */

static void once_fn(void *arg)
{
        struct state *s = arg;

        sync_maybe_yield();
        w_plain_store(&s->sum, w_plain_load(&s->sum) + 1);
        if (weft_id() && sim_random(2)) {       /* the rest of the user is skipped */
                w_add_rlx(&s->n_got, 1);
                weft_exit();
        }
}

static void once_user(void *arg)
{
        struct state *s = arg;

        sync_maybe_yield();
        weft_once_do(&s->object->once, once_fn, s);
        SIM_CHECK(w_plain_load(&s->sum) == 1, "the function was called %u times", s->sum);
        w_add_rlx(&s->n_got, 1);
}

static void once_main(void)
{
        sync_begin(once_user, true);
        sync_run_users();
        for (uint32_t i = 0; i < N_OBJECTS; i++)
                SIM_CHECK(sync_states[i].n_got.raw == sync_n_users(), "%u have returned",
                          sync_states[i].n_got.raw);
}

SIM_SCENARIO(sync_once, "several ask for one call, which may end by weft_exit", once_main,
             .max_steps = SCHED_MAX_STEPS)

/* ---- Goroutines that are dropped while they wait --------------------------------------------- */

static void short_sections(void *arg)
{
        struct state *s = arg;

        for (uint32_t i = 0; i < ROUNDS; i++) {
                weft_mutex_lock(&s->object->mutex);
                w_plain_store(&s->sum, w_plain_load(&s->sum) + 1);
                weft_mutex_unlock(&s->object->mutex);
        }
}

static void wait_for_permit(void *arg)
{
        struct state *s = arg;
        int           rc = weft_sem_acquire(&s->object->sem);

        SIM_CHECK(rc == 0, "acquire returned %d", rc);
        w_add_rlx(&s->n_got, 1);
}

/* The mutex is held while the others begin to wait; then goroutine 1 returns, and they are
 * dropped. */
static void leaves_waiters(void *arg)
{
        struct state *s = &sync_states[0];

        (void)arg;
        weft_mutex_lock(&s->object->mutex);
        for (uint32_t i = 0; i < 2; i++) {
                sched_go(short_sections, s);
                sched_go(wait_for_permit, s);
        }
        for (uint32_t n = sim_random(20); n > 0; n--)
                weft_yield();
        weft_mutex_unlock(&s->object->mutex);
}

/* No permit was ever given, so each permit that is given now is there; the mutex is free. */
static void dropped_main(void)
{
        struct state *s = &sync_states[0];

        sync_begin(short_sections, false);
        sync_stranger_start();
        for (uint32_t run = 0; run < 2; run++) {
                sched_run_well(NULL, leaves_waiters);
                for (uint32_t i = 0; i < 3; i++)
                        weft_sem_release(&s->object->sem);
                for (uint32_t i = 0; i < 3; i++)
                        SIM_CHECK(weft_sem_try_acquire(&s->object->sem) == 0, "a permit is lost");
        }
        sync_stranger_join();
        SIM_CHECK(weft_mutex_try_lock(&s->object->mutex) == 0, "the mutex is not held");
        SIM_CHECK(s->n_got.raw == 0, "%u have got permits that there were not", s->n_got.raw);
}

SIM_SCENARIO(sync_dropped, "a run ends while goroutines and a thread wait", dropped_main,
             .max_steps = SCHED_MAX_STEPS)
