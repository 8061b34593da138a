/* os/sim/thread.c - threads and time. Contract: os/thread.h, os/foreign.h, os/clock.h,
 * base/thread.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/sim/machine.h"

#include "base/assert.h"

#include <errno.h>      /* EAGAIN, EMFILE */

/* ---- Threads -------------------------------------------------------------------------------- */

static uint64_t handle_of(const struct sim_m *m)
{
        return (uint64_t)m->generation << 32 | m->slot;
}

static struct sim_m *m_of(uint64_t handle)
{
        struct sim_m *m = &w_sim.ms[handle % SIM_MAX_THREADS];

        SIM_CHECK(handle_of(m) == handle && m->state != M_FREE,
                  "join of a thread that does not exist (any more)");
        return m;
}

int w_os_thread_start(struct w_os_thread *thread, const char *name, size_t stack_size,
                      void (*fn)(void *), void *arg)
{
        w_sim_call("thread start");
        struct sim_m *m = w_sim_fails() ? NULL : w_sim_m_new(name, stack_size, fn, arg);

        if (m) {
                m->mask.bits[0] = m->mask.bits[1] = UINT64_MAX;
                thread->handle = handle_of(m);
                W_SIM_LOG(w_sim.running, NULL, "thread   starts m%u \"%s\"", m->number, m->name);
        } else {
                W_SIM_LOG(w_sim.running, NULL, "thread   \"%s\" cannot be started", name);
        }
        w_sim_return();
        return m ? 0 : -EAGAIN;
}

void w_os_thread_join(struct w_os_thread *thread)
{
        w_sim_call("join");
        struct sim_m *m = m_of(thread->handle);

        W_SIM_LOG(w_sim.running, NULL, "thread   joins m%u", m->number);
        w_sim.running->joining = m;
        while (m->state != M_ENDED)
                (void)w_sim_wait(W_FOREVER);
        w_sim.running->joining = NULL;
        w_sim_m_free(m);
        w_sim_return();
}

static void wait_a_little(void)
{
        int64_t late = w_sim_lateness();

        if (late)
                (void)w_sim_wait(w_sim.now + late);
}

/* As in real kernels: a thread that has ended may still be counted, also after it was joined. */
int w_os_thread_count(void)
{
        int n = 0;

        w_sim_call("thread count");
        wait_a_little();
        for (uint32_t i = 0; i < w_sim.n_slots; i++) {
                bool gone = w_sim.ms[i].state == M_FREE || w_sim.ms[i].state == M_ENDED;

                n += !gone || w_sim_chance(64);
        }
        if (w_sim_fails())
                n = -EMFILE;
        wait_a_little();        /* the result is outdated when it arrives */
        w_sim_return();
        return n;
}

bool w_os_thread_try_join(struct w_os_thread *thread)
{
        w_sim_call("try join");
        struct sim_m *m = m_of(thread->handle);
        bool          ended = m->state == M_ENDED;

        W_SIM_LOG(w_sim.running, NULL, "thread   %s m%u", ended ? "joins" : "cannot join yet",
                  m->number);
        if (ended)
                w_sim_m_free(m);
        w_sim_return();
        return ended;
}

void w_os_yield(void)
{
        w_sim_call("yield");
        W_SIM_LOG(w_sim.running, NULL, "yield");
        w_sim_give_way();
        w_sim_return();
}

int w_os_tid(void)
{
        return w_sim_tid(w_sim.running ? w_sim.running : &w_sim.ms[0]);
}

/* One word for each M; real code reads it through the pointer. */
int *w_os_errno(void)
{
        static int outside;

        return w_sim.running ? &w_sim.running->errno_value : &outside;
}

static struct thread *caller_self;      /* of the caller of sim_run() */

struct thread *w_self(void)
{
        return w_sim.running ? w_sim.running->self : caller_self;
}

void w_self_set(struct thread *self)
{
        if (w_sim.running)
                w_sim.running->self = self;
        else
                caller_self = self;
}

/* The caller of sim_run() is no thread of the machine, and opens no scopes. */
struct w_os_foreign *w_os_foreign(void)
{
        W_CHECK(w_sim.running, "w_os_foreign outside a run");
        return &w_sim.running->foreign;
}

int w_os_foreign_watch(void (*fn)(struct w_os_foreign *foreign))
{
        w_sim_call("foreign watch");
        int rc = fn && w_sim_fails() ? -EAGAIN : 0;

        w_os_foreign()->at_end = rc == 0 ? fn : NULL;
        w_sim_return();
        return rc;
}

/* A simulated thread never ends early, and there is no fork. */
void w_os_thread_end_watch(void (*fn)(void *), void *arg)
{
        (void)fn, (void)arg;
}

int w_os_fork_watch(void (*in_child)(void))
{
        (void)in_child;
        return 0;
}

/* ---- Time ----------------------------------------------------------------------------------- */

/* Reads the vDSO page: a step like an atomic access, which drains no buffer. */
int64_t w_os_now(void)
{
        if (w_sim.running) {
                w_sim_step();
                w_sim.now += 1 + w_rand_below(&w_sim.rand, 30);
        }
        return w_sim.now;
}

int64_t sim_now(void)
{
        return w_sim.now;
}

static void sleep_late_until(int64_t at)
{
        if (at < W_FOREVER && w_sim_chance(w_sim.profile.p_late))
                at += w_rand_below(&w_sim.rand, 5000);
        struct sim_m *self = w_sim.running;

        self->sleeps = true;
        do {
                (void)w_sim_wait(at);
                if (self->is_sent)
                        w_sim_preempt_sent();
        } while (w_sim.now < at);
        self->sleeps = false;
}

void w_os_sleep_until(int64_t at)
{
        w_sim_call("sleep");
        W_SIM_LOG(w_sim.running, NULL, "sleep    until %ld ns", (long)at);
        if (at > w_sim.now)
                sleep_late_until(at);
        w_sim_return();
}

uint64_t w_os_random_seed(void)
{
        return w_rand(&w_sim.rand);
}

/* Does not drain the store buffer: user code computes, and nothing forces its stores out. */
void sim_work(int64_t ns)
{
        struct sim_m *self = w_sim.running;
        int64_t       until;

        W_CHECK(self, "sim_work outside a run");
        w_sim_step();
        until = w_sim.now + ns;
        W_SIM_LOG(self, NULL, "work     for %ld ns", (long)ns);
        while (w_sim.now < until) {
                int64_t stretch = until - w_sim.now;

                if (w_sim_chance(512) && stretch > 1)
                        stretch = 1 + (int64_t)(w_rand(&w_sim.rand) % (uint64_t)stretch);
                self->call = "work";
                self->works_since = w_sim.now;
                self->works = true;
                (void)w_sim_wait(w_sim.now + stretch);
                self->works = false;
                self->run += w_sim.now - self->works_since;
                self->call = NULL;
                if (self->preempts_at)
                        w_sim_preempt();
                if (self->is_sent)
                        w_sim_preempt_sent();
                if (w_sim.on_interrupt && w_sim.now < until) {
                        W_SIM_LOG(self, NULL, "work     is struck");
                        w_sim.on_interrupt();
                }
        }
}

void sim_on_interrupt(void (*fn)(void))
{
        w_sim.on_interrupt = fn;
}

uint32_t sim_random(uint32_t n)
{
        return w_rand_below(&w_sim.rand, n);
}
