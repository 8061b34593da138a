/* sched/run/run.c - a run from its start to its end: set up, goroutine 1, take down.
 *
 * Protocols   cites foreign (sched/run/foreign.c), world (sched/run/world.c).
 *
 * weft_run: the calling thread is m0. Goroutine 1 starts on it, and weft_run returns on it. What is
 * set up is taken down in reverse order, also when the start fails half-way.
 *
 * weft_start: the run is in the background, and the calling thread stays a foreign thread. There is
 * no m0 and no main goroutine. At first every P is idle and one thread sleeps. Foreign threads make
 * the first calls, and a foreign thread stops the run. The goroutine that is started first gets the
 * id 1, which has no special meaning then.
 *
 * One stop: `stoppable` goes 0 -> 1 when the start is done. weft_stop sets it 1 -> 0 by CAS. A
 * second call of weft_stop loses the CAS and finds nothing to stop.
 *
 * Edges     [RN1] all that the last run left   its end: phase store-release -> the next start:
 *                 phase CAS-acquire
 *           [EM1] the run that was set up   start: stoppable store-release -> stop:
 *                 stoppable CAS-acquire
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/run/run.h"

#include "base/assert.h"
#include "sched/idle.h"
#include "sched/inspect/dump.h"
#include "sched/local.h"
#include "sched/monitor/activity.h"
#include "sched/monitor/sysmon.h"
#include "sched/preempt/preempt.h"
#include "sched/preempt/take.h"
#include "sched/run/abandon.h"
#include "sched/run/config.h"
#include "sched/run/foreign.h"
#include "sched/run/fork.h"
#include "sched/run/hooks.h"
#include "sched/run/world.h"
#include "sched/sched.h"
#include "sched/schedule.h"
#include "sched/spawn.h"
#include "sched/switch.h"
#include "sched/thread/thread.h"
#include "sched/timer/lazytimer.h"
#include "weft.h"

#include <errno.h>      /* -Exxx */

struct sched w_sched;
w_atomic_u32 w_run_phase;

static w_atomic_u32 stoppable;          /* a  [EM1] weft_start has begun a run */

/* An abandoned thread does not learn that its run has ended: it never returns from here. m.retake
 * is handled in the runtime, because an M in user code counts as abandoned whatever it does. */
bool w_run_is_on_slow(void)
{
        W_ENTER();
        W_LEAVE();
        return false;
}

/* ---- Set up ---------------------------------------------------------------------------------- */

static void reset(const struct run_config *config)
{
        w_sched = (struct sched){ .config = *config,
                                  .follows = W_ATOMIC_INIT(config->procs_found),
                                  .threads.max = (uint32_t)config->max_threads,
                                  .timekeeper.wakes_at = W_ATOMIC_INIT(W_FOREVER),
                                  .sysmon.blocked_next_at = W_FOREVER };
        w_lock_init(&w_sched.lock, W_LOCK_sched);
        w_lock_init(&w_sched.world.lock, W_LOCK_world);
        w_lock_init(&w_sched.take_lock, W_LOCK_take);
        w_take_init();
        w_os_code_learn();
        w_list_init(&w_sched.all_m);
        w_list_init(&w_sched.idle_m);
        w_list_init(&w_sched.dedicated_m);
        w_list_init(&w_sched.threads.ended);
        w_records_init(&w_sched.threads.records, sizeof(struct m));
        w_os_signals_get(&w_sched.sigmask);
        w_g_init();
        w_lazytimers_init();
        w_ids_init();
}

/* The records of Ms stay if a thread was abandoned. */
static void free_records(bool with_ms)
{
        w_ids_destroy();
        w_lazytimers_destroy();
        w_g_destroy();
        if (with_ms)
                w_records_destroy(&w_sched.threads.records);
}

/* Makes the calling thread m0, which holds P 0. */
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

/* Starts one thread besides m0: see PROTOCOL threads (sched/thread/thread.c). */
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

/* Sets the run up, and undoes all of it on failure. *m0 becomes the M of the calling thread. With
 * m0 NULL the run is in the background. */
static int set_up(const struct run_config *config, struct m **m0)
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

static void take_down(struct m *m0)
{
        uint32_t n_left = w_abandon_await();

        w_run_hooks.wait_run_ended();
        w_run_hooks.scopes_run_ended();
        if (m0)
                w_m_end(m0);
        w_stack_unwatch(&w_sched.stacks);
        w_preempt_stop();
        if (n_left)
                w_say("%u thread%s did not return to weft within %d ms and %s left behind", n_left,
                      n_left == 1 ? "" : "s", w_sched.config.shutdown_ms,
                      n_left == 1 ? "is" : "are");
        w_threads_join_ended();
        call_hooks();
        w_abandon_keep_stacks();
        w_g_each(free_locals, NULL);
        w_ps_free();
        w_stack_pool_destroy(&w_sched.stacks, W_STACK_ABANDON);
        free_records(n_left == 0);
}

/* Opens the run to goroutines. */
static void open_run(void)
{
        w_fatal_set_dump(w_dump_fatal);
        w_run_hooks.signals_begin();
        w_store_rel(&w_run_phase, RUN_ON);                        /* [RN3] */
}

/* Closes the run, after w_world_end, when m0 runs no goroutine. */
static void close_run(struct m *m0)
{
        w_store_rlx(&w_run_phase, RUN_ENDING);                    /* guarded by RN2 */
        w_run_hooks.signals_ending();
        w_run_hooks.wait_shut_down();
        w_foreign_await();
        w_sysmon_stop();
        w_fatal_set_dump(NULL);
        take_down(m0);
}

/* For the thread of a goroutine. It belongs to the run, or its run has abandoned it and it does not
 * return from here. */
static void enter_as_m(void)
{
        W_ENTER();
        W_LEAVE();
}

/* Claims the one run of the process. False: there is a run. */
static bool claim(void)
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

static void unclaim(void)
{
        w_store_rel(&w_run_phase, RUN_OFF);                       /* [RN1] */
}

/* ---- A run under weft_run -------------------------------------------------------------------- */

static int run(const struct run_config *config, void (*fn)(void *), void *arg)
{
        struct m *m0 = NULL;
        int       rc = set_up(config, &m0);

        if (rc < 0)
                return rc;
        struct g *first = NULL;
        int64_t   id = w_spawn_main(fn, arg, &first);

        open_run();
        if (id < 0)
                w_world_end();
        else
                w_execute(m0, first);
        w_schedule(m0);
        close_run(m0);
        return id < 0 ? (int)id : 0;
}

W_EXPORT int weft_run_with(const weft_config *cfg, void (*fn)(void *), void *arg)
{
        struct run_config config;

        if (!fn)
                return -EINVAL;
        if (!claim())
                return -EBUSY;
        int rc = w_config_read(&config, cfg);

        if (rc == 0)
                rc = run(&config, fn, arg);
        unclaim();
        return rc;
}

W_EXPORT int weft_run(void (*fn)(void *), void *arg)
{
        return weft_run_with(NULL, fn, arg);
}

/* ---- A run in the background ----------------------------------------------------------------- */

W_EXPORT int weft_start(const weft_config *cfg)
{
        struct run_config config;

        if (!claim())
                return -EBUSY;
        int rc = w_config_read(&config, cfg);

        if (rc == 0)
                rc = set_up(&config, NULL);
        if (rc < 0) {
                unclaim();
                return rc;
        }
        open_run();
        w_store_rel(&stoppable, 1);                               /* [EM1] */
        return 0;
}

/* An M cannot wait for its own end. */
W_EXPORT int weft_stop(void)
{
        uint32_t one = 1;

        if (w_is_forked())              /* it would wait for threads of the parent */
                w_fork_refuse();
        if (w_m())
                return -EBUSY;
        if (!w_cas_acq(&stoppable, &one, 0))                      /* [EM1] */
                return -ESHUTDOWN;
        if (w_sched.config.check)       /* WEFT_DEBUG=check=1 */
                (void)w_run_hooks.check();
        w_world_end();
        close_run(NULL);
        unclaim();
        return 0;
}
