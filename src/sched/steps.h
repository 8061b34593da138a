/* sched/steps.h - what the files of the scheduler offer each other, file by file.
 *
 * Included through sched/sched.h, whose record these work on.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_STEPS_H
#define W_SCHED_STEPS_H

/* spawn.c: goroutine 1, in no queue: it has to start on the calling thread. */
int64_t w_spawn_main(void (*fn)(void *), void *arg, struct g **out);
/* A plain goroutine that is RUNNABLE and in no queue; NULL: no memory. Context: a P is held. */
W_MUST_CHECK struct g *w_spawn_hidden(void (*fn)(void *), void *arg, void *created_at);
/* As weft_go, for a goroutine whose innermost scope is `scope` from the start. */
int64_t w_spawn_in_scope(struct scope *scope, int (*fn)(void *), void *arg, void *created_at);

/* queue.c: into a P's queue, with overflow to the global one. Context: owner of pp. */
void w_queue_put(struct p *pp, struct g *gp);
void w_queue_put_next(struct p *pp, struct g *gp);
/* A parent whose child runs first: into `next`. */
void w_queue_parent(struct p *pp, struct g *gp);
/* From `next` or the ring, minding hops and ticks; NULL if both are empty. */
struct g *w_queue_take(struct p *pp);
/* One to go on with at once, without a look at the rest of the world; NULL: ask g0. */
struct g *w_pick_direct(struct p *pp);

/* schedule.c: the M's loop on g0; returns when the M is to end, without a P. */
void w_schedule(struct m *mp);
/* find.c: the next goroutine for mp, which holds a P; NULL: the M ends, without a P. */
struct g *w_find(struct m *mp);
/* steal.c */
struct g *w_steal(struct m *mp);
/* Fires what is due on other Ps; one of those woken, if any. */
struct g *w_steal_timers(struct m *mp);

/* gp is the one that mp runs from now on. */
W_INLINE void w_become(struct m *mp, struct g *gp)
{
        w_g_move(gp, G_RUNNABLE, G_RUNNING);
        if (W_UNLIKELY(gp->ready_at != 0))
                w_latency_end(mp->p, gp);
        mp->curg = gp;
}

/* switch.c */
void w_execute(struct m *mp, struct g *gp);
/* Parks the calling goroutine. Once it is off its stack and WAITING, unlock(gp, arg) runs: from the
 * moment it releases what protects the wait, gp may run elsewhere. If unlock returns false nobody
 * will wake gp: it goes on at once. Context: goroutine, no runtime lock held but what unlock
 * releases; may switch: yes. */
void w_park(enum wait_reason reason, bool (*unlock)(struct g *gp, void *arg), void *arg);
/* Switches to a child that nobody else has seen; the parent goes to `next`. May switch: yes. */
void w_run_child(struct g *child);
/* The same by way of g0, which finds another thread for them. */
void w_queue_child(struct g *child);
/* The calling goroutine, whose M has no P, waits for one in the global queue. May switch: yes. */
void w_requeue_self(void);
/* weft_yield, for callers that are inside. Context: any thread; may switch: yes. */
void w_yield(void);
/* Ends the calling goroutine and goes on with `to`, which w_pick_direct gave; NULL: with g0. */
W_NORETURN void w_exit(struct g *to);
/* Runs fn(arg) on g0, for code that needs more stack than a goroutine may have. fn does not park.
 * Context: any; comes back on the same M. */
void w_on_g0(void (*fn)(void *), void *arg);
/* Switches to g0, where `run` calls fn and lets the goroutine go on: see commit.h. */
void w_call_on_g0(void (*run)(struct m *mp, const struct commit *c), void (*fn)(void *), void *arg);
void w_goroutine_main(void *gp);

W_INLINE bool w_g_in_region(const struct g *gp)
{
        return w_load_rlx(&gp->state) == G_REGION;                /* own word */
}

/* Goroutine 1, as long as it lives: the one whose end is the end of the run. */
W_INLINE bool w_g_is_main(const struct g *gp)
{
        return gp->id == 1 && !w_sched.in_background;
}

/* exit.c */
W_NORETURN void w_goroutine_run(struct g *gp);
/* Around a call into user code: u->fn(u) is called if that ends gp. Context: gp, the last pushed
 * is popped first. */
void w_unwind_push(struct g *gp, struct unwind *u);
void w_unwind_pop(struct g *gp, struct unwind *u);

/* ready.c: makes a WAITING goroutine runnable. Context: the one waker, any thread, also without P.
 * */
void w_ready(struct g *gp);
/* The same for many, linked by g.link in the order in which they are to run; leaves the queue
 * empty. One goes to each idle P, with a thread; the others to the own queue. */
void w_ready_many(struct queue *batch);
/* The same, but all go to the global queue. Context: any thread, also without P. */
void w_ready_many_global(struct queue *batch);
/* For those that are RUNNABLE already and in no queue. Context: owner of pp. */
void w_queue_many(struct p *pp, struct queue *batch);

/* idle.c: new work was published; some thread must look at it. */
void w_wake_one_slow(void);
W_INLINE void w_wake_one(void)
{
        if (w_n_procs() != 1 || !w_p())         /* else nobody but the caller could run it */
                w_wake_one_slow();
}
/* True: somebody is ready on some P, or in the global queue. */
bool w_any_queue_has_work(void);
void w_spin_begin(struct m *mp);
void w_spin_end_found(struct m *mp);
/* Gives up the P and sleeps; true: mp has a P again and looks on. */
bool w_idle(struct m *mp);
/* Whether pp, which is the caller's, is with an M that is not for everyone. */
void w_p_set_dedicated(struct p *pp, bool dedicated);
void w_p_acquire(struct m *mp, struct p *pp);
struct p *w_p_release(struct m *mp);
void w_idle_p_put_locked(struct p *pp);
struct p *w_idle_p_get_locked(void);
/* The one with the first timer. */
struct p *w_idle_p_get_timed_locked(void);

/* Of those counted in n_m: in no list, and asleep for timers or descriptors. With sched.lock. */
W_INLINE uint32_t w_n_event_waiters_locked(void)
{
        return (w_sched.timekeeper ? 1u : 0u) +
               (w_sched.poller && w_sched.poller != w_sched.timekeeper ? 1u : 0u);
}

W_INLINE bool w_m_is_event_waiter_locked(const struct m *mp)
{
        return w_sched.timekeeper == mp || w_sched.poller == mp;
}

/* thread.c */
/* Threads that have a P, or are asleep, or on their way to sleep, and run whatever there is. With
 * sched.lock. */
W_INLINE uint32_t w_threads_available_locked(void)
{
        return w_sched.n_m - w_sched.n_leaving - w_sched.n_lost - w_sched.n_dedicated;
}

/* mp is for one goroutine only, or for everyone again. With sched.lock; mp is the caller's, or
 * asleep and out of every list. */
void w_m_dedicate_locked(struct m *mp, bool dedicated);

/* Takes what the waker, or the creator, left in the record. */
void w_m_take_handoff(struct m *mp);
struct m *w_m_adopt(void);
W_MUST_CHECK int w_m_begin(struct m *mp);
void w_m_end(struct m *mp);
int  w_thread_create(struct p *pp, bool spinning);
/* Finds or makes a thread for pp, which is in the caller's hands. In a commit none is made yet: mp
 * owes it, and who runs after the commit sees to that. */
void w_thread_for(struct p *pp, bool spinning);
/* For each of those linked by idle_next, in the caller's hands: they have work and do not look. */
void w_threads_for(struct p *list);
/* Context: the goroutine that mp runs, or g0; not in a commit. */
void w_thread_create_deferred(struct m *mp);
/* sleep.c. Sleeps as an M without a P; true: has one again. false: the M is to end. */
bool w_thread_sleep(struct m *mp);
bool w_thread_sleep_unlock(struct m *mp);       /* with sched.lock, which it releases */
void w_thread_enlist_locked(struct m *mp);      /* among the idle ones */
void w_threads_join_ended(void);
/* For pp, which has work and no thread: back to the idle list; whoever goes idle looks, and so does
 * one that sleeps. With sched.lock. */
void w_thread_defer_locked(struct p *pp, bool spinning, enum thread_pending why);
/* template.c: for pp, which is in the caller's hands: somebody else is to create a thread. */
void w_thread_request(struct p *pp, bool spinning);
/* sysmon: tries again where no thread was to be had; 1 if it did. */
uint32_t w_thread_retry_pending(int64_t now);
bool w_thread_sleep_enlisted(struct m *mp);     /* for one that is in a list already */
/* Hands mp's P to a thread that sleeps, if there is one, and sleeps itself; as w_thread_sleep. */
bool w_thread_swap(struct m *mp);
/* For an M that is not for everyone and has a P, but not the goroutine that it is for: leaves the P
 * to other threads and sleeps, or ends, as w_thread_sleep. m0 goes on if there are no others. */
bool w_m_release_dedicated(struct m *mp);

/* p.c: the first `n` Ps, all but P 0 idle. */
W_MUST_CHECK int w_ps_init(uint32_t n);
void w_ps_free(void);
/* Records up to all_p[n - 1], those that are new dead. -ENOMEM. Context: stopper, or no M yet. */
W_MUST_CHECK int w_ps_make(uint32_t n);
/* DEAD -> STOPPED: takes part when the world starts; its heap is still closed. -ENOMEM. Context:
 * likewise. */
W_MUST_CHECK int w_p_revive(struct p *pp);
/* STOPPED -> DEAD: what it has cached is returned. Its queues are empty, its heap is closed. */
void w_p_bury(struct p *pp);

/* procs.c: so many are in use from now on. Context: stopper, or no M yet. */
void w_procs_apply(uint32_t n);
/* weft_procs with an n that was checked and is not 0. */
W_MUST_CHECK int w_procs_set(int n);
/* The same unless somebody has set a number. Context: the monitor. */
int w_procs_follow(int n);
/* follow.c: as many as the machine lets us have now. */
int w_procs_found(void);

/* world.c */
/* Any thread. False: the run ends, and nothing was stopped. A goroutine is told so only if its
 * thread has been left behind: it goes out. May switch. */
W_MUST_CHECK bool w_world_stop(void);
void w_world_start(void);
/* For an M that found `stopping`: true if it may look for somebody to run once more. */
bool w_stop_may_wait(struct m *mp);
/* Else: gives up its P and sleeps; as w_thread_sleep. */
bool w_stop_here(struct m *mp);
void w_p_give_up_locked(struct p *pp);
/* The run is to end: everyone stops for good. */
void w_run_end(void);

/* live.c */
W_INLINE void w_live_spawned(struct p *pp)
{
        if (W_LIKELY(pp != NULL))
                w_p_count(&pp->stats.spawned, 1);
        else
                w_add_rlx(&w_sched.without_p.spawned, 1);         /* counter */
}

W_INLINE void w_live_ended(struct p *pp)
{
        uint64_t n = w_load_rlx(&pp->stats.ended);                /* own word */

        w_store_rel(&pp->stats.ended, n + 1);                     /* [LV2] */
}

void    w_live_main_exited(void);
int64_t w_live_count(void);
/* For an M that gave its P up: ends the run if goroutine 1 left it and nobody is left. */
void    w_live_idle(void);

/* local.c, self.c, g.c */
void w_locals_destroy(struct g *gp);
void w_locals_drop(struct g *gp);      /* without running destructors */
void w_name_copy(char out[W_NAME_BYTES], const char *name);
void w_g_describe(void *owner, struct stack_owner *out);

/* As weft_dump, without the goroutine that calls it. May switch: yes. */
void w_dump_hidden(int fd);
/* dump.c: for w_fatal_set_dump; any context, also a signal handler. */
void w_dump_fatal(void);

/* wait/: what the end of a run is to those who wait for caller-owned objects, or in scopes of
 * threads that are not weft's. First every such thread is told; then, when the Ms are gone,
 * goroutines are forgotten. */
void w_wait_shut_down(void);
void w_waitq_run_ended(void);
void w_scopes_run_ended(void);

/* signal/: before goroutine 1 runs, and when the phase is ENDING. */
void w_signals_run_begin(void);
void w_signals_run_ending(void);
/* Channels that a signal may come through at any time: who waits for one is not stuck. A hint
 * unless nothing runs. Context: any thread. */
uint32_t w_signal_waits(void);

/* The signal that is weft's own: nobody else may ask for it. */
W_INLINE int w_preempt_signal(void)
{
        return w_sched.config.preempt_signal;
}

/* config.c, run.c */
struct weft_config;
W_MUST_CHECK int w_config_read(struct run_config *out, const struct weft_config *cfg);
enum run_phase { RUN_OFF, RUN_STARTING, RUN_ON, RUN_ENDING, RUN_FORKED };
extern w_atomic_u32 w_run_phase;        /* a  [RN1] run.c [RN2][RN3] foreign.c */

/* The steps of a run. Claim it: false if there is one. Set it up, which undoes what it did if it
 * fails; m0 gets the M of the calling thread, or is NULL: it stays as it is. Open it to goroutines.
 * Close it, after w_run_end, when m0 runs no goroutine: 0, or how many threads stay behind. Unclaim
 * it. */
W_MUST_CHECK bool w_run_claim(void);
W_MUST_CHECK int  w_run_set_up(const struct run_config *config, struct m **m0);
void w_run_open(void);
W_MUST_CHECK int  w_run_close(struct m *m0);
void w_run_unclaim(void);

/* False: no runtime runs, or it is stopping. */
bool w_run_is_on_slow(void);
W_INLINE bool w_run_is_on(void)
{
        if (W_LIKELY(w_load_rlx(&w_run_phase) == RUN_ON))         /* hint: misuse at worst */
                return true;
        return w_run_is_on_slow();
}

/* Once per run and hook. Context: any thread, a run is on. */
void w_run_at_end(struct run_end *hook);

/* foreign.c */
W_MUST_CHECK bool w_foreign_enter_slow(void);
void w_foreign_exit_slow(void);
/* The end of the run, with the phase ENDING: returns when no such call is under way. */
void w_foreign_await(void);

/* Around a call that a thread of the program itself may make: while it lasts the run is not taken
 * down. False, and no end to call: no runtime runs. See PROTOCOL foreign (sched/run/foreign.c). */
W_MUST_CHECK W_INLINE bool w_foreign_enter(void)
{
        return W_LIKELY(w_m() != NULL) ? w_run_is_on() : w_foreign_enter_slow();
}

W_INLINE void w_foreign_exit(void)
{
        if (W_UNLIKELY(!w_m()))
                w_foreign_exit_slow();
}

#endif
