/* os/explore/threads.c - which thread runs: fibers, preemption, sleeping on futex words.
 *
 * The decision which thread goes on is made on the stack of the thread that has just stopped, so
 * keeping a thread running costs no switch. Fibers outlive executions: a thread that returns waits
 * at the bottom of its stack for the next execution. Only an execution that is cut short leaves
 * fibers that must be made anew.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/explore/engine.h"

#include "base/assert.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct explorer w_ex;

static char stacks[W_EXPLORE_THREADS][EX_STACK] __attribute__((aligned(4096)));

/* ---- Switching ------------------------------------------------------------------------------- */

static void go_to(struct fiber *from, struct ex_thread *t)
{
        w_ex.cur = t;
        t->arrived = true;
        w_fiber_switch(from, &t->fiber);
}

/* The n-th (from 0) of a set of threads. */
static struct ex_thread *nth(uint32_t set, int n)
{
        while (n-- > 0)
                set &= set - 1;
        return &w_ex.threads[__builtin_ctz(set)];
}

/* If t was chosen while it sleeps with a deadline, it runs because its deadline has come. */
static void make_runnable(struct ex_thread *t)
{
        uint32_t bit = 1u << t->id;

        if (w_ex.runnable & bit)
                return;
        w_ex.runnable |= bit;
        w_ex.timed &= ~bit;
        t->sleeps_on = 0;
        t->timed_out = true;
        if (w_ex.now < t->deadline_at)
                w_ex.now = t->deadline_at;
        w_ex_log("     %-8s its deadline comes", t->name);
}

static void back_to_main(struct ex_thread *t)
{
        w_ex.running = false;
        w_fiber_switch(&t->fiber, &w_ex.main);
}

W_NORETURN static void abandon(void)
{
        back_to_main(w_ex.cur);
        __builtin_trap();       /* an abandoned fiber is made anew, never resumed */
}

W_NORETURN static void fail_deadlock(void)
{
        char   names[128] = "";
        size_t n = 0;

        for (int i = 0; i < w_ex.n_threads && n < sizeof(names); i++)
                if (w_ex.unfinished >> i & 1)
                        n += (size_t)snprintf(names + n, sizeof(names) - n, " %s",
                                              w_ex.threads[i].name);
        w_ex_fail(W_EXPLORE_DEADLOCK, "asleep for ever:%s", names);
}

/* The current thread cannot go on. Returns when it can again, at once if it is the one chosen. */
static void give_up(struct ex_thread *t)
{
        uint32_t set = w_ex.runnable | w_ex.timed;

        if (!set)
                fail_deadlock();
        struct ex_thread *to = nth(set, w_ex_choose(__builtin_popcount(set)));

        make_runnable(to);
        if (to != t)
                go_to(&t->fiber, to);
        t->arrived = true;
}

void w_ex_step(void)
{
        struct ex_thread *t = w_ex.cur;
        uint32_t          others = (w_ex.runnable | w_ex.timed) & ~(1u << t->id);

        if (++w_ex.n_steps > EX_STEPS)
                w_ex_prune();
        if (t->arrived || !others || (w_ex.bound >= 0 && w_ex.n_preemptions >= w_ex.bound)) {
                t->arrived = false;
                return;
        }
        int c = w_ex_choose(1 + __builtin_popcount(others));
        if (c == 0)
                return;
        w_ex.n_preemptions++;
        struct ex_thread *to = nth(others, c - 1);
        make_runnable(to);
        go_to(&t->fiber, to);
        t->arrived = false;     /* the step that was put off comes now */
}

/* ---- Sleeping -------------------------------------------------------------------------------- */

void w_ex_sleep(uintptr_t addr, int64_t deadline_at)
{
        struct ex_thread *t = w_ex.cur;

        t->sleeps_on = addr;
        t->woken = false;
        t->timed_out = false;
        t->deadline_at = deadline_at;
        w_ex.runnable &= ~(1u << t->id);
        if (deadline_at != INT64_MAX)
                w_ex.timed |= 1u << t->id;
        give_up(t);
}

static uint32_t sleepers_on(uintptr_t addr)
{
        uint32_t set = 0;

        for (int i = 0; i < w_ex.n_threads; i++)
                if (w_ex.threads[i].sleeps_on == addr)
                        set |= 1u << i;
        return set;
}

int w_ex_wake(uintptr_t addr, int n)
{
        int      n_woken = 0;
        uint32_t set;

        for (; n_woken < n && (set = sleepers_on(addr)); n_woken++) {
                struct ex_thread *t = nth(set, w_ex_choose(__builtin_popcount(set)));

                t->sleeps_on = 0;
                t->woken = true;
                w_ex.timed &= ~(1u << t->id);
                w_ex.runnable |= 1u << t->id;
                w_ex_log("     %-8s is woken", t->name);
        }
        return n_woken;
}

/* A yield is a switch that does not count as a preemption. It does nothing if no other thread can
 * run. */
void w_ex_yield(void)
{
        struct ex_thread *t = w_ex.cur;
        uint32_t          others = (w_ex.runnable | w_ex.timed) & ~(1u << t->id);

        if (++w_ex.n_steps > EX_STEPS)
                w_ex_prune();
        if (!others)
                return;
        struct ex_thread *to = nth(others, w_ex_choose(__builtin_popcount(others)));
        make_runnable(to);
        go_to(&t->fiber, to);
}

/* ---- Ends ------------------------------------------------------------------------------------ */

W_NORETURN void w_ex_fail(enum explore_failure failure, const char *fmt, ...)
{
        va_list args;

        w_ex.failure = failure;
        va_start(args, fmt);
        vsnprintf(w_ex.text, sizeof(w_ex.text), fmt, args);
        va_end(args);
        abandon();
}

W_NORETURN void w_explore_fail(const char *fmt, ...)
{
        char    text[400];
        va_list args;

        va_start(args, fmt);
        vsnprintf(text, sizeof(text), fmt, args);
        va_end(args);
        w_ex_fail(W_EXPLORE_ASSERTION, "%s", text);
}

W_NORETURN void w_ex_prune(void)
{
        if (!w_ex.scenario->may_spin)
                w_ex_fail(W_EXPLORE_STEPS, "no end after %d steps", w_ex.n_steps);
        w_ex.pruned = true;
        abandon();
}

/* The last thread to return runs the scenario's check, on its own stack, which a failure abandons.
 */
static void finish(struct ex_thread *t)
{
        uint32_t bit = 1u << t->id;

        w_ex.runnable &= ~bit;
        w_ex.unfinished &= ~bit;
        w_ex_log("     %-8s returns", t->name);
        if (w_ex.unfinished) {
                give_up(t);
                return;
        }
        w_ex.running = false;
        w_ex.outcome = w_ex.scenario->check ? w_ex.scenario->check() : 0;
        w_ex.ended = true;
        back_to_main(t);
}

static void thread_main(void *arg)
{
        struct ex_thread *t = arg;

        w_fiber_begin(&t->fiber);
        for (;;) {
                w_ex.scenario->threads[t->id].fn();
                finish(t);
        }
}

/* ---- One execution --------------------------------------------------------------------------- */

static void make(struct ex_thread *t)
{
        char *low = stacks[t->id];

        w_fiber_make(&t->fiber, low, EX_STACK, low + EX_STACK, thread_main, t);
        t->made = true;
}

void w_ex_threads_reset(void)
{
        w_ex.runnable = w_ex.unfinished = (1u << w_ex.n_threads) - 1;
        w_ex.timed = 0;
        w_ex.n_steps = w_ex.n_preemptions = w_ex.n_stale = w_ex.n_spurious = 0;
        w_ex.now = 1;
        w_ex.depth = 0;
        w_ex.failure = W_EXPLORE_OK;
        w_ex.ended = w_ex.pruned = false;
        w_ex.main_self = &w_ex.main_own;
        for (int i = 0; i < w_ex.n_threads; i++) {
                struct ex_thread *t = &w_ex.threads[i];

                t->id = i;
                t->name = w_ex.scenario->threads[i].name;
                t->sleeps_on = 0;
                t->own_size = 0;
                t->own = (struct thread){ .id = (uint32_t)i };
                t->self = &t->own;
                memset(&t->view, 0, sizeof(t->view));
                t->has_fenced = false;
                if (t->has_pending)
                        memset(&t->pending, 0, sizeof(t->pending));
                t->has_pending = false;
                if (!t->made)
                        make(t);
        }
}

static void remake_fibers(void)
{
        for (int i = 0; i < w_ex.n_threads; i++) {
                if (w_ex.threads[i].made)
                        w_fiber_destroy(&w_ex.threads[i].fiber);
                w_ex.threads[i].made = false;
        }
}

void w_ex_threads_run(void)
{
        struct ex_thread *first = nth(w_ex.runnable, w_ex_choose(w_ex.n_threads));

        w_ex.running = true;
        go_to(&w_ex.main, first);
        w_ex.cur = NULL;
        if (!w_ex.ended)
                remake_fibers();
}
