/* tests/explore/goroutines.c - the scheduler of explored scenarios: a goroutine is a thread.
 *
 * Channels, sync, scopes and timers are the real sources; what they stand on would be too large to
 * explore and is replaced by the few lines that they rely on. A park is what PROTOCOL park
 * (sched/switch.c) says, with a sleep in place of the switch: the frame is left, the commit runs,
 * and the party that has won the claim calls w_ready. Whether that party sees what the parker wrote
 * is checked as ordinary memory.
 *
 * Left to the simulator, because it needs more than this: the end of a run, joins, goroutines that
 * a lazy timer starts, and the starving mutex, for which a millisecond would have to pass while no
 * thread sleeps with a deadline.
 *
 * SPDX-License-Identifier: MIT
 */
#include "goroutines.h"
#include "scenarios.h"

#include "base/fatal.h"
#include "chan/select.h"
#include "sched/exit.h"
#include "sched/idle.h"
#include "sched/ids.h"
#include "sched/monitor/activity.h"
#include "sched/monitor/blocked_report.h"
#include "sched/monitor/sysmon.h"
#include "sched/queue/queue.h"
#include "sched/ready.h"
#include "sched/run/foreign.h"
#include "sched/run/fork.h"
#include "sched/run/run.h"
#include "sched/sched.h"
#include "sched/spawn.h"
#include "sched/switch.h"
#include "sched/thread/lockthread.h"
#include "sched/thread/netpoll.h"
#include "sched/thread/sleep.h"
#include "sched/thread/thread.h"
#include "wait/waitqueue.h"

#include <string.h>

enum { N = 3, SLOTS = 4 };

static struct goroutine {
        struct m      m;
        struct g      g;
        struct stack  stack;
        struct g_cold cold;     /* ends where the stack has its top */
        struct note   note;
        int           frame;    /* what a park leaves: ordinary memory */
} goroutines[N];

static struct p         p;
static struct heap_slot slots[SLOTS];
static struct lock      ids_lock;
static int              n_wakes;

struct sched w_sched;
w_atomic_u32 w_run_phase;

/* ---- For scenarios --------------------------------------------------------------------------- */

static void reset(struct goroutine *gr, int64_t id)
{
        memset(&gr->m, 0, sizeof(gr->m));
        memset(&gr->g, 0, sizeof(gr->g));
        gr->m.curg = &gr->g;
        gr->g.id = id;
        gr->g.state.raw = G_RUNNING;
        gr->g.stack = &gr->stack;
        gr->stack.top = (char *)(&gr->cold + 1);
        gr->cold.n_shields = 0;
        gr->note.word.raw = 0;
}

/* The wait queues remember which buckets were used, in memory that outlives an execution: all
 * executions must begin alike. */
static void use_table_once(void)
{
        struct waiter      none;
        struct waitq_entry entry;
        struct bucket     *b = w_waitq_lock(0);

        w_waitq_entry_init(&entry, 0, &none);
        w_waitq_append(b, &entry);
        w_waitq_remove(b, &entry);
        w_waitq_unlock(b);
}

void goroutines_reset(void)
{
        w_self_set(NULL);
        for (int i = 0; i < N; i++)
                reset(&goroutines[i], 1 + i);
        w_timers_init(&p.timers);
        p.timers.heap.slots = slots;
        p.timers.heap.cap = SLOTS;
        w_lock_init(&w_sched.lock, W_LOCK_sched);
        w_sched.all_p[0] = &p;
        w_store_rlx(&w_sched.n_p, 1);
        w_store_rlx(&w_sched.n_procs, 1);
        w_sched.timekeeper.m = NULL;
        w_store_rlx(&w_sched.timekeeper.wakes_at, W_FOREVER);
        w_store_rlx(&w_run_phase, RUN_ON);
        w_lock_init(&ids_lock, W_LOCK_id_bucket);
        n_wakes = 0;
        use_table_once();
}

struct g *goroutine(unsigned id)
{
        return &goroutines[id - 1].g;
}

struct g *goroutine_begin(unsigned id)
{
        struct goroutine *gr = &goroutines[id - 1];

        w_self_set(&gr->m.thread);
        w_explore_own(&gr->m, sizeof(gr->m));
        return &gr->g;
}

void foreign_begin(void)
{
        w_self_set(NULL);
}

void unmap_word(void *word, const struct w_site *site)
{
        w_hook_plain(word, sizeof(uint64_t), true, site);
        memset(word, 0xdb, sizeof(uint64_t));
}

int wakes_of_threads(void)
{
        return n_wakes;
}

/* ---- Park and ready -------------------------------------------------------------------------- */

void w_park(enum wait_reason reason, bool (*unlock)(struct g *gp, void *arg), void *arg)
{
        struct g         *gp = w_g();
        struct goroutine *gr = W_CONTAINER_OF(gp, struct goroutine, g);

        (void)reason;
        w_note_clear(&gr->note);
        w_plain_store(&gr->frame, 1);
        w_g_move(gp, G_RUNNING, G_WAITING);
        if (unlock(gp, arg)) {
                w_note_sleep(&gr->note);
        } else {
                EXPLORE_CHECK(w_load_rlx(&gp->state) == G_WAITING);
                w_g_move(gp, G_WAITING, G_RUNNABLE);
        }
        w_g_move(gp, G_RUNNABLE, G_RUNNING);
        w_plain_store(&gr->frame, 0);
}

static void go_on(struct g *gp)
{
        struct goroutine *gr = W_CONTAINER_OF(gp, struct goroutine, g);

        EXPLORE_CHECK(w_plain_load(&gr->frame) == 1);
        w_note_wake(&gr->note);
}

void w_ready(struct g *gp)
{
        w_g_move(gp, G_WAITING, G_RUNNABLE);
        go_on(gp);
}

void w_ready_many(struct queue *batch)
{
        for (struct queue_node *n; (n = w_queue_pop(batch));)
                w_ready(W_CONTAINER_OF(n, struct g, link));
}

/* No goroutine is locked to a thread here. */
void w_lockthread_sort_out_slow(struct queue *batch)
{
        (void)batch;
        EXPLORE_CHECK(false);
}

void w_queue_put_next(struct p *pp, struct g *gp)
{
        (void)pp;
        go_on(gp);
}

void w_ready_publish(struct p *pp, struct queue *batch)
{
        for (struct queue_node *n; (n = w_queue_pop(batch));)
                w_queue_put_next(pp, W_CONTAINER_OF(n, struct g, link));
}

void w_wake_one_slow(void)
{
        n_wakes++;
}

void w_thread_wake(struct m *mp)
{
        w_note_wake(&mp->note);
}

void w_netpoll_notify(void)
{
}

/* ---- Goroutines by their numbers ------------------------------------------------------------- */

enum id_found w_id_find(int64_t id, struct g **gp, struct lock **held)
{
        w_lock(&ids_lock);
        *gp = goroutine((unsigned)id);
        *held = &ids_lock;
        return W_ID_ALIVE;
}

/* ---- Threads and runs: a run is on for as long as a scenario lasts --------------------------- */

bool w_run_is_on_slow(void)       { return false; }
bool w_foreign_enter_slow(void)  { return true; }
void w_foreign_exit_slow(void)    { }

/* No scenario selects on descriptors. */
void w_select_poll(const struct select *s)      { (void)s; }
void w_select_leave_fds(const struct select *s) { (void)s; }
void w_select_end_fds(const struct select *s)   { (void)s; }

int w_select_join_fds(const struct select *s, struct wait *w)
{
        (void)w;
        W_CHECK(s->n_fds == 0, "%u descriptors in a select that is explored", s->n_fds);
        return W_SELECT_NONE;
}

int w_select_fd_happened(const struct select *s, uint32_t i)
{
        (void)s;
        w_fatal("explorer: descriptor %u of a select", i);
}

/* No P is idle, so no M takes one to run timers. */
struct p *w_idle_p_get_locked(void) { return NULL; }

/* No M here is dedicated to one goroutine. */
void w_p_set_dedicated(struct p *pp, bool dedicated) { (void)pp, (void)dedicated; }

/* Not reached by any scenario. */
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define NOT_HERE(result, name, params)                                                          \
        result name params                                                                      \
        {                                                                                       \
                w_fatal(#name " where there is no scheduler");                                  \
        }

NOT_HERE(void, w_idle_p_put_locked, (struct p *pp))
NOT_HERE(void, w_p_give_up_locked, (struct p *pp))
NOT_HERE(bool, w_any_queue_has_work, (void))
NOT_HERE(void, w_thread_for, (struct p *pp, bool spinning))
NOT_HERE(void, w_switch_requeue_self, (void))
NOT_HERE(void, w_sysmon_request, (void))
NOT_HERE(struct p *, w_p_release, (struct m *mp))
NOT_HERE(void, w_yield, (void))
NOT_HERE(void, w_blocked_report_return, (struct m *mp, const void *frame))
NOT_HERE(void, w_fork_refuse, (void))
NOT_HERE(void, w_p_acquire, (struct m *mp, struct p *pp))
NOT_HERE(void, w_spin_begin, (struct m *mp))
NOT_HERE(void, w_activity_end, (struct m *mp))
NOT_HERE(void, w_stack_leave, (struct stack_pool *pool, struct stack *stack))
NOT_HERE(void, w_thread_enlist_locked, (struct m *mp))
NOT_HERE(void, w_netpoll_kick_locked, (struct m *mp))
NOT_HERE(void, w_run_at_end, (struct run_end *hook))
NOT_HERE(void, w_id_join_locked, (struct g *gp, struct joiner *joiner))
NOT_HERE(void, w_id_unjoin, (struct joiner *joiner))
NOT_HERE(void, w_unwind_push, (struct g *gp, struct unwind *u))
NOT_HERE(void, w_unwind_pop, (struct g *gp, struct unwind *u))
NOT_HERE(struct g *, w_spawn_hidden, (void (*fn)(void *), void *arg, void *created_at))
NOT_HERE(int64_t, w_spawn_in_scope, (struct scope *scope, int (*fn)(void *), void *arg,
                                     void *created_at))
