/* sched/run/run.c - a run from its first line to its last: set up, goroutine 1, take down.
 *
 * Called by   user code: weft_run, weft_run_with; embed.c, for a run in the background.
 *
 * The calling thread is m0: goroutine 1 starts on it, and weft_run returns on it. What is set up is
 * taken down in reverse order, also when the start fails half-way.
 *
 * Edges     [RN1] all that the last run left   its end: phase store-release -> the next one's
 *                 start: phase CAS-acquire
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/assert.h"
#include "sched/timer/lazytimer.h"
#include "sched/run/fork.h"
#include "sched/preempt/preempt.h"
#include "sched/run/abandon.h"
#include "sched/sched.h"
#include "sched/monitor/sysmon.h"
#include "sched/preempt/take.h"
#include "sched/monitor/activity.h"

#include "weft.h"

#include <errno.h>      /* -Exxx */

struct sched w_sched;
w_atomic_u32 w_run_phase;

/* A thread that its run has left behind does not hear that it ended: it never comes back. What the
 * flag says is seen to inside: who is outside counts as left behind, with all that it is doing. */
bool w_run_is_on_slow(void)
{
        W_ENTER();
        W_LEAVE();
        return false;
}

/* ---- Set up ---------------------------------------------------------------------------------- */

static void reset(const struct run_config *config)
{
        w_sched = (struct sched){ .config = *config, .max_threads = (uint32_t)config->max_threads,
                                  .follows = W_ATOMIC_INIT(config->procs_found),
                                  .timekeeper_wakes_at = W_ATOMIC_INIT(W_FOREVER),
                                  .blocked_next_at = W_FOREVER };
        w_lock_init(&w_sched.lock, W_LOCK_sched);
        w_lock_init(&w_sched.stop_lock, W_LOCK_stop);
        w_lock_init(&w_sched.take_lock, W_LOCK_take);
        w_take_init();
        w_os_code_learn();
        w_list_init(&w_sched.all_m);
        w_list_init(&w_sched.idle_m);
        w_list_init(&w_sched.dedicated_m);
        w_list_init(&w_sched.ended_m);
        w_records_init(&w_sched.m_records, sizeof(struct m));
        w_os_signals_get(&w_sched.sigmask);
        w_g_init();
        w_lazytimers_init();
        w_ids_init();
}

/* Those of Ms stay if some of them do. */
static void free_records(bool with_ms)
{
        w_ids_destroy();
        w_lazytimers_destroy();
        w_g_destroy();
        if (with_ms)
                w_records_destroy(&w_sched.m_records);
}

/* m0, which holds P 0; with the runtime in the background there is none. */
static int begin_m0(struct m **m0)
{
        struct m *mp = w_m_adopt();

        if (!mp)
                return -ENOMEM;
        mp->is_main = true;
        w_sched.m0 = mp;
        w_lock(&w_sched.lock);
        w_m_dedicate_locked(mp, true);
        w_unlock(&w_sched.lock);
        int rc = w_m_begin(mp);

        if (rc < 0)
                return rc;
        w_lock(&w_sched.lock);
        struct p *pp = w_idle_p_get_locked();

        w_unlock(&w_sched.lock);
        W_ASSERT(pp->id == 0);
        w_p_acquire(mp, pp);
        *m0 = mp;
        return 0;
}

/* One thread beyond m0 exists from the start: see PROTOCOL threads (sched/thread/thread.c). */
static int start_threads(struct m **m0)
{
        int rc = m0 ? begin_m0(m0) : 0;

        if (rc < 0)
                return rc;
        rc = w_thread_create(NULL, false);
        if (rc < 0 && m0) {
                (void)w_p_release(*m0);
                w_m_end(*m0);
        }
        return rc;
}

int w_run_set_up(const struct run_config *config, struct m **m0)
{
        struct stack_config stacks = { .describe = w_g_describe };

        int rc = w_fork_watch();

        if (rc < 0)
                return rc;
        reset(config);
        w_sched.in_background = !m0;
        rc = w_stack_pool_init(&w_sched.stacks, &stacks);

        if (rc < 0)
                goto out_records;
        rc = w_ps_init((uint32_t)config->procs);
        if (rc < 0)
                goto out_pool;
        rc = w_stack_watch(&w_sched.stacks);
        if (rc < 0)
                goto out_ps;
        rc = w_preempt_start();
        if (rc < 0)
                goto out_watch;
        rc = w_sysmon_start();
        if (rc < 0)
                goto out_preempt;
        rc = start_threads(m0);
        if (rc < 0)
                goto out_sysmon;
        return 0;
out_sysmon:
        w_sysmon_stop();
out_preempt:
        w_preempt_stop();
out_watch:
        w_stack_unwatch(&w_sched.stacks);
out_ps:
        w_ps_free();
out_pool:
        w_stack_pool_destroy(&w_sched.stacks, W_STACK_ABANDON);
out_records:
        free_records(true);
        return rc;
}

/* ---- Take down ------------------------------------------------------------------------------- */

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
        uint32_t n_left = w_abandon_await();

        w_waitq_run_ended();
        w_scopes_run_ended();
        if (m0)
                w_m_end(m0);
        w_stack_unwatch(&w_sched.stacks);
        w_preempt_stop();
        if (n_left)
                w_say("%u thread%s did not come back within %d ms and %s left behind", n_left,
                      n_left == 1 ? "" : "s", w_sched.config.shutdown_ms,
                      n_left == 1 ? "is" : "are");
        w_threads_join_ended();
        call_hooks();
        w_abandon_keep_stacks();
        w_g_each(free_locals, NULL);
        w_ps_free();
        w_stack_pool_destroy(&w_sched.stacks, W_STACK_ABANDON);
        free_records(n_left == 0);
        return (int)n_left;
}

/* Goroutines run from here on. */
void w_run_open(void)
{
        w_fatal_set_dump(w_dump_fatal);
        w_signals_run_begin();
        w_store_rel(&w_run_phase, RUN_ON);                        /* [RN3] */
}

int w_run_close(struct m *m0)
{
        w_store_rlx(&w_run_phase, RUN_ENDING);                    /* guarded by RN2 */
        w_signals_run_ending();
        w_wait_shut_down();
        w_foreign_await();
        w_sysmon_stop();
        w_fatal_set_dump(NULL);
        return take_down(m0);
}

/* A goroutine's thread has a run, or was left behind by one and does not come back from here. */
static void enter_as_m(void)
{
        W_ENTER();
        W_LEAVE();
}

bool w_run_claim(void)
{
        uint32_t off = RUN_OFF;

        if (w_is_forked())
                w_fork_refuse();
        if (w_m()) {
                enter_as_m();
                return false;
        }
        return w_cas_acqrel(&w_run_phase, &off, RUN_STARTING);    /* [RN1] */
}

void w_run_unclaim(void)
{
        w_store_rel(&w_run_phase, RUN_OFF);                       /* [RN1] */
}

/* ---- The run --------------------------------------------------------------------------------- */

static int run(const struct run_config *config, void (*fn)(void *), void *arg)
{
        struct m *m0 = NULL;
        int       rc = w_run_set_up(config, &m0);

        if (rc < 0)
                return rc;
        struct g *first = NULL;
        int64_t   id = w_spawn_main(fn, arg, &first);

        w_run_open();
        if (id < 0)
                w_run_end();
        else
                w_execute(m0, first);
        w_schedule(m0);
        rc = w_run_close(m0);
        return id < 0 ? (int)id : rc;
}

W_EXPORT int weft_run_with(const weft_config *cfg, void (*fn)(void *), void *arg)
{
        struct run_config config;

        if (!fn)
                return -EINVAL;
        if (!w_run_claim())
                return -EBUSY;
        int rc = w_config_read(&config, cfg);

        if (rc == 0)
                rc = run(&config, fn, arg);
        w_run_unclaim();
        return rc;
}

W_EXPORT int weft_run(void (*fn)(void *), void *arg)
{
        return weft_run_with(NULL, fn, arg);
}
