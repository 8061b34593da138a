/* tests/sim/scenario_sync_cancel.c - semaphore, cond and wait group on the whole scheduler: waits
 * that can be cancelled.
 *
 * test: seeds=quarter
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/sync_world.h"

/* ---- Cancellation ---------------------------------------------------------------------------- */

static int cancel_soon(void *scope)
{
        sync_maybe_yield();
        weft_scope_cancel(scope);
        return 0;
}

/* call(s), with or without a scope that is cancelled at about the same time. */
static int maybe_cancelled(int (*call)(struct state *s), struct state *s, bool may)
{
        weft_scope scope;

        if (!may || !weft_id() || sim_random(2))
                return call(s);
        SIM_CHECK(weft_scope_open(&scope, WEFT_FOREVER) == 0, "no scope");
        SIM_CHECK(weft_scope_go(&scope, cancel_soon, &scope) > 0, "no child");
        sync_maybe_yield();
        int rc = call(s);

        SIM_CHECK(weft_scope_close(&scope) == 0, "a child failed");
        SIM_CHECK(rc == 0 || rc == -ECANCELED, "a call returned %d", rc);
        return rc;
}

/* ---- Semaphore ------------------------------------------------------------------------------- */

static int acquire(struct state *s)
{
        return weft_sem_acquire(&s->object->sem);
}

/* One permit goes round; the goroutine that has it is alone. The last takes it away with the
 * object. */
static void sem_user(void *arg)
{
        struct state *s = arg;

        for (uint32_t i = 0; i < ROUNDS; i++) {
                if (maybe_cancelled(acquire, s, true) < 0)
                        continue;
                sync_section(s);
                weft_sem_release(&s->object->sem);
        }
        SIM_CHECK(weft_sem_acquire(&s->object->sem) == 0, "no permit");
        if (--s->n_refs == 0)
                sync_gone(s);
        else
                weft_sem_release(&s->object->sem);
}

static void sem_main(void)
{
        sync_begin(sem_user, false);
        for (uint32_t i = 0; i < N_OBJECTS; i++)
                weft_sem_init(&sync_objects[i].sem, 1);
        sync_run_all();
}

SIM_SCENARIO(sync_sem, "a permit goes round; some waiters are cancelled", sem_main,
             .max_steps = SCHED_MAX_STEPS)

/* There are as many givers as takers: a taker waits for the last permit. */
static void handshake_user(void *arg)
{
        struct state *s = arg;
        bool          gives = w_add_rlx(&s->n_calls, 1) % 2;

        for (uint32_t i = 0; i < ROUNDS; i++) {
                if (gives)
                        weft_sem_release(&s->object->sem);
                else
                        SIM_CHECK(weft_sem_acquire(&s->object->sem) == 0, "no permit");
        }
        weft_mutex_lock(&s->object->mutex);
        bool last = --s->n_refs == 0;

        weft_mutex_unlock(&s->object->mutex);
        if (last)
                sync_gone(s);
}

static void handshake_main(void)
{
        sync_begin(handshake_user, false);
        sync_run_all();
}

SIM_SCENARIO(sync_handshake, "as many permits are given as are waited for", handshake_main,
             .max_steps = SCHED_MAX_STEPS)

/* ---- Cond ------------------------------------------------------------------------------------ */

enum { N_TOKENS = 2 * ROUNDS };

static int wait_ready(struct state *s)
{
        int rc = 0;

        while (rc == 0 && s->ready == 0 && s->sum < N_TOKENS)
                rc = weft_cond_wait(&s->object->cond, &s->object->mutex);
        return rc;
}

/* Holds the mutex, and must hold it again after a wait that was cancelled. */
static void take_one(struct state *s, bool may_be_cancelled)
{
        if (maybe_cancelled(wait_ready, s, may_be_cancelled) < 0 || s->ready == 0)
                return;
        s->ready--;
        if (++s->sum == N_TOKENS)
                weft_cond_broadcast(&s->object->cond);
}

/* One goroutine takes until nothing is left, the others may be cancelled and give up. */
static void cond_taker(struct state *s, bool steady)
{
        uint32_t n = 0;

        weft_mutex_lock(&s->object->mutex);
        while (steady ? s->sum < N_TOKENS : n++ < ROUNDS)
                take_one(s, !steady);
        weft_mutex_unlock(&s->object->mutex);
}

/* A signal for each token: if one is lost, the goroutine that never gives up waits although there
 * is a token. */
static void cond_giver(struct state *s)
{
        for (uint32_t i = 0; i < N_TOKENS; i++) {
                weft_mutex_lock(&s->object->mutex);
                s->ready++;
                weft_cond_signal(&s->object->cond);
                weft_mutex_unlock(&s->object->mutex);
                sync_maybe_yield();
        }
}

static void cond_user(void *arg)
{
        struct state *s = arg;
        uint32_t      role = w_add_rlx(&s->n_calls, 1);

        if (role == 0)
                cond_giver(s);
        else
                cond_taker(s, role == 1);
        weft_mutex_lock(&s->object->mutex);
        bool last = --s->n_refs == 0;

        weft_mutex_unlock(&s->object->mutex);
        if (last) {
                SIM_CHECK(s->ready == 0, "%u tokens are left", s->ready);
                sync_gone(s);
        }
}

static void cond_main(void)
{
        sync_begin(cond_user, false);
        sync_run_all();
}

SIM_SCENARIO(sync_cond, "tokens under a mutex; some waiters are cancelled", cond_main,
             .max_steps = SCHED_MAX_STEPS)

/* ---- Wait group ------------------------------------------------------------------------------ */

static int wait_group(struct state *s)
{
        return weft_wg_wait(&s->object->wg);
}

/* The first user waits, and the object is gone when it returns; each other user calls done once. */
static void wg_user(void *arg)
{
        struct state *s = arg;

        if (w_add_rlx(&s->n_calls, 1) == 0) {
                int rc = maybe_cancelled(wait_group, s, true);

                if (rc < 0)
                        SIM_CHECK(weft_wg_wait(&s->object->wg) == 0, "a wait was cancelled");
                SIM_CHECK(w_plain_load(&s->sum) == N_USERS - 1, "%u of %u are done", s->sum,
                          N_USERS - 1);
                sync_gone(s);
                return;
        }
        sync_maybe_yield();
        weft_mutex_lock(&s->object->mutex);
        w_plain_store(&s->sum, w_plain_load(&s->sum) + 1);
        weft_mutex_unlock(&s->object->mutex);
        weft_wg_done(&s->object->wg);
}

static void wg_main(void)
{
        sync_begin(wg_user, false);
        for (uint32_t i = 0; i < N_OBJECTS; i++)
                weft_wg_add(&sync_objects[i].wg, N_USERS - 1);
        sync_run_all();
}

SIM_SCENARIO(sync_wg, "one waits for several, and may be cancelled", wg_main,
             .max_steps = SCHED_MAX_STEPS)
