/* sched/run.c - a run from its first line to its last: set up, goroutine 1, take down.
 *
 * Called by   user code: weft_run, weft_run_with.
 *
 * The calling thread is m0: goroutine 1 starts on it, and weft_run returns on it. What is set up is
 * taken down in reverse order, also when the start fails half-way.
 *
 * Edges     [RN1] all that the last run left   weft_run: phase store-release -> next weft_run:
 *           phase
 *                 CAS-acquire
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/assert.h"
#include "sched/alarm.h"
#include "sched/sched.h"
#include "sched/sysmon.h"
#include "sched/take.h"
#include "sched/verdict.h"

#include "weft.h"

#include <errno.h>      /* -Exxx */

struct sched w_sched;
w_atomic_u32 w_run_phase;

/* A thread that its run has left behind does not hear that it ended: it never comes back. */
bool w_run_is_on_slow(void)
{
        struct m *mp = w_m();

        if (mp)
                w_enter_flagged(mp);
        return false;
}

/* PROTOCOL guest
 *
 * Goal      a thread of the program that calls weft finds the run whole until its call is over.
 * Parties   visitor (a thread that is not an M), m0 at the end of the run. Ms are waited for
 *           anyway.
 * Words     phase; n_visitors, static, so that a late wake of it is harmless.
 * Visitor   1 n_visitors + 1   2 [RN2] full fence   3 phase is ON [RN3]: in; else as at the end
 *           end: n_visitors - 1 [RN4]; it was the last: wake
 * m0        1 phase := ENDING   2 [RN2] full fence   3 sleeps until n_visitors is 0 [RN4]
 * Edges     [RN2] n_visitors <-> phase   visitor's fence <-> m0's fence
 *           [RN3] all that set_up made   m0: phase store-release -> visitor: phase load-acquire
 *           [RN4] all that it did   visitor: n_visitors sub-release -> m0: n_visitors load-acquire
 * Why safe  whichever fence is later sees the other side's word: the visitor sees ENDING and
 *           leaves, or m0 sees it and waits.
 * Tests     flow/test_run.c.
 */
static w_atomic_u32 n_visitors;         /* a  [RN2][RN4] */

/* The first look is a hint: without it threads that are being refused again and again would hold up
 * the end that refuses them. */
bool w_visit_begin_foreign(void)
{
        if (w_load_rlx(&w_run_phase) != RUN_ON)                   /* hint: RN2 decides */
                return false;
        w_add_rlx(&n_visitors, 1);                                /* guarded by RN2 */
        w_fence_full();                                           /* [RN2] */
        if (w_load_acq(&w_run_phase) == RUN_ON)                   /* [RN3] */
                return true;
        w_visit_end_foreign();
        return false;
}

void w_visit_end_foreign(void)
{
        if (w_sub_rel(&n_visitors, 1) == 1)                       /* [RN4] */
                w_os_futex_wake(&n_visitors, 1);
}

static void wait_for_visitors(void)
{
        w_fence_full();                                           /* [RN2] */
        for (uint32_t n; (n = w_load_acq(&n_visitors)) != 0;)     /* [RN4] */
                (void)w_os_futex_wait(&n_visitors, n, W_FOREVER);
}

/* ---- Ps -------------------------------------------------------------------------------------- */

static size_t p_bytes(void)
{
        size_t page = w_os_page_size();
        size_t bytes = w_sched.n_procs * (sizeof(struct p) + sizeof(struct p *));

        return (bytes + page - 1) & ~(page - 1);
}

static int p_init(struct p *pp, uint32_t id)
{
        pp->id = id;
        pp->rand = w_sched.config.randomize ? w_sched.config.randomize_seed + id
                                            : w_os_random_seed();
        pp->tick = 1;                           /* 0 would be a look at the global queue */
        pp->ids.next = W_ID_BATCH;
        pp->runq.alone = w_sched.n_procs == 1;
        if (w_sched.config.migrate)
                pp->attention.raw = W_ATTENTION_DEBUG;          /* unpublished */
        w_timers_init(&pp->timers);
        return w_stack_cache_init(&pp->stacks, &w_sched.stacks, w_sched.config.stack_size);
}

static void ps_free(uint32_t n_ready)
{
        for (uint32_t i = 0; i < n_ready; i++) {
                w_g_cache_drain(w_sched.all_p[i]);
                w_alarm_cache_drain(w_sched.all_p[i]);
                w_timers_free(&w_sched.all_p[i]->timers);
                w_stack_cache_release(&w_sched.all_p[i]->stacks);
        }
        w_os_vm_unmap((void *)((uintptr_t)w_sched.all_p[0] & ~(uintptr_t)(w_os_page_size() - 1)),
                      p_bytes());
}

/* All in one mapping: the records, then the array that finds them. */
static int ps_make(void)
{
        uint32_t n = w_sched.n_procs;
        void    *memory;
        int      rc = w_os_vm_map(&memory, p_bytes());

        if (rc < 0)
                return rc;
        struct p *ps = memory;

        w_sched.all_p = (struct p **)(void *)(ps + n);
        for (uint32_t i = 0; i < n; i++)
                w_sched.all_p[i] = &ps[i];
        for (uint32_t i = 0; i < n; i++) {
                rc = p_init(&ps[i], i);
                if (rc < 0) {
                        ps_free(i);
                        return rc;
                }
        }
        w_visit_steps_build(&w_sched.steal_order, n);
        w_lock(&w_sched.lock);
        for (uint32_t i = n; i-- > 1;)
                w_idle_p_put_locked(&ps[i]);
        w_unlock(&w_sched.lock);
        return 0;
}

/* ---- Set up ---------------------------------------------------------------------------------- */

static void reset(const struct run_config *config)
{
        w_sched = (struct sched){ .config = *config, .n_procs = (uint32_t)config->procs,
                                  .keeper_until = W_ATOMIC_INIT(W_FOREVER) };
        w_lock_init(&w_sched.lock, W_LOCK_sched);
        w_lock_init(&w_sched.stop_lock, W_LOCK_stop);
        w_lock_init(&w_sched.take_lock, W_LOCK_take);
        w_take_init();
        w_list_init(&w_sched.all_m);
        w_list_init(&w_sched.idle_m);
        w_list_init(&w_sched.ended_m);
        w_records_init(&w_sched.m_records, sizeof(struct m));
        w_os_signals_get(&w_sched.sigmask);
        w_g_init();
        w_alarms_init();
        w_ids_init();
}

static void free_records(void)
{
        w_ids_destroy();
        w_alarms_destroy();
        w_g_destroy();
        w_records_destroy(&w_sched.m_records);
}

/* m0 holds P 0. One thread beyond it exists from the start: see PROTOCOL threads (sched/thread.c).
 * */
static int start_threads(struct m **m0)
{
        struct m *mp = w_m_adopt();

        if (!mp)
                return -ENOMEM;
        mp->is_main = true;
        int rc = w_m_begin(mp);

        if (rc < 0)
                return rc;
        w_p_acquire(mp, w_sched.all_p[0]);
        rc = w_thread_create(NULL, false);
        if (rc < 0) {
                (void)w_p_release(mp);
                w_m_end(mp);
                return rc;
        }
        *m0 = mp;
        return 0;
}

static int set_up(const struct run_config *config, struct m **m0)
{
        struct stack_config stacks = { .describe = w_g_describe };

        reset(config);
        int rc = w_stack_pool_init(&w_sched.stacks, &stacks);

        if (rc < 0)
                goto out_records;
        rc = ps_make();
        if (rc < 0)
                goto out_pool;
        rc = w_stack_watch(&w_sched.stacks);
        if (rc < 0)
                goto out_ps;
        rc = w_sysmon_start();
        if (rc < 0)
                goto out_watch;
        rc = start_threads(m0);
        if (rc < 0)
                goto out_sysmon;
        return 0;
out_sysmon:
        w_sysmon_stop();
out_watch:
        w_stack_unwatch(&w_sched.stacks);
out_ps:
        ps_free(w_sched.n_procs);
out_pool:
        w_stack_pool_destroy(&w_sched.stacks, W_STACK_ABANDON);
out_records:
        free_records();
        return rc;
}

/* ---- Take down ------------------------------------------------------------------------------- */

/* How many threads have not come back in time. */
static uint32_t wait_for_threads(void)
{
        int64_t limit = w_os_now() + (int64_t)w_sched.config.shutdown_ms * 1000000;

        w_lock(&w_sched.lock);
        bool done = w_sched.n_ended == w_sched.n_started;

        w_sched.end_sleeps = !done;
        w_unlock(&w_sched.lock);
        if (!done && !w_note_sleep_until(&w_sched.all_ended, limit)) {
                w_lock(&w_sched.lock);
                w_sched.end_sleeps = false;
                uint32_t missing = w_sched.n_started - w_sched.n_ended;
                W_LIST_EACH(n, &w_sched.all_m) {
                        struct m *mp = W_CONTAINER_OF(n, struct m, all_link);

                        w_store_rlx(&mp->flag, w_sched.flag_base | W_FLAG_ABANDONED); /* guarded */
                        w_verdict_end(mp);
                }
                w_unlock(&w_sched.lock);
                return missing;
        }
        return 0;
}

static bool free_locals(void *record, void *arg)
{
        struct g *gp = record;

        (void)arg;
        if (gp->stack) {
                w_locals_drop(gp);
                w_fiber_destroy(&gp->fiber);
        }
        return true;
}

void w_run_at_end(struct run_end *hook)
{
        w_lock(&w_sched.lock);
        hook->next = w_sched.at_end;
        w_sched.at_end = hook;
        w_unlock(&w_sched.lock);
}

static void call_hooks(void)
{
        for (struct run_end *hook = w_sched.at_end, *next; hook; hook = next) {
                next = hook->next;
                hook->free();
        }
}

static int take_down(struct m *m0)
{
        uint32_t missing = wait_for_threads();

        w_table_run_ended();
        w_scopes_run_ended();
        w_m_end(m0);
        w_stack_unwatch(&w_sched.stacks);
        if (missing) {
                w_say("%u threads did not come back within %d ms and are left behind", missing,
                      w_sched.config.shutdown_ms);
                return (int)missing;
        }
        w_threads_join_ended();
        call_hooks();
        w_g_each(free_locals, NULL);
        ps_free(w_sched.n_procs);
        w_stack_pool_destroy(&w_sched.stacks, W_STACK_ABANDON);
        free_records();
        return 0;
}

/* ---- The run --------------------------------------------------------------------------------- */

static int run(const struct run_config *config, void (*fn)(void *), void *arg)
{
        struct m *m0 = NULL;
        int       rc = set_up(config, &m0);

        if (rc < 0)
                return rc;
        struct g *first = NULL;
        int64_t   id = w_spawn_main(fn, arg, &first);

        w_fatal_set_dump(w_dump_fatal);
        w_store_rel(&w_run_phase, RUN_ON);                        /* [RN3] */
        if (id < 0)
                w_run_end();
        else
                w_execute(m0, first);
        w_schedule(m0);
        w_store_rlx(&w_run_phase, RUN_ENDING);                    /* guarded by RN2 */
        w_wait_shut_down();
        wait_for_visitors();
        w_sysmon_stop();
        w_fatal_set_dump(NULL);
        rc = take_down(m0);
        return id < 0 ? (int)id : rc;
}

W_EXPORT int weft_run_with(const weft_config *cfg, void (*fn)(void *), void *arg)
{
        struct run_config config;
        uint32_t          off = RUN_OFF;

        if (!fn)
                return -EINVAL;
        if (!w_cas_acqrel(&w_run_phase, &off, RUN_STARTING))      /* [RN1] */
                return -EBUSY;
        int rc = w_config_read(&config, cfg);

        if (rc == 0)
                rc = run(&config, fn, arg);
        if (rc <= 0)
                w_store_rel(&w_run_phase, RUN_OFF);               /* [RN1] */
        return rc;
}

W_EXPORT int weft_run(void (*fn)(void *), void *arg)
{
        return weft_run_with(NULL, fn, arg);
}
