/* os/sim/run.c - one run from seed to end, and the threads in it.
 *
 * sim_run() runs on the hub, the stack of its caller, and gets control back at the end. Stacks stay
 * from run to run; nothing else does.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/sim/machine.h"

#include "base/assert.h"

#include <string.h>
#include <sys/mman.h>

enum { M_STACK_BYTES = 128 << 10, M_GUARD_BYTES = 64 << 10 };   /* room for any page size */

/* ---- Threads -------------------------------------------------------------------------------- */

/* The stacks stay with their slots from run to run. */
static bool provide_stack(struct sim_m *m, size_t size)
{
        size_t whole = size + M_GUARD_BYTES;

        if (m->stack_size >= size)
                return true;
        if (m->stack)
                munmap(m->stack - M_GUARD_BYTES, m->stack_size + M_GUARD_BYTES);
        m->stack = NULL;
        m->stack_size = 0;
        char *low = mmap(NULL, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                         0);
        if (low == MAP_FAILED)
                return false;
        if (mprotect(low + M_GUARD_BYTES, size, PROT_READ | PROT_WRITE) != 0) {
                munmap(low, whole);
                return false;
        }
        m->stack = low + M_GUARD_BYTES;
        m->stack_size = size;
        return true;
}

/* The last steps of a thread. Its joiners go on; its slot stays until the thread is joined. */
static W_NORETURN void end_thread(struct sim_m *self)
{
        if (self->foreign.at_end)
                self->foreign.at_end(&self->foreign);
        w_sim_call("thread end");
        SIM_CHECK(!self->altstack.base, "m%u ends with its signal stack installed", self->number);
        SIM_CHECK(!self->preempts_at, "m%u ends with its timer armed", self->number);
        self->call = NULL;
        for (uint32_t i = 0; i < w_sim.n_slots; i++)
                if (w_sim.ms[i].state == M_WAITING && w_sim.ms[i].joining == self)
                        w_sim_wake(&w_sim.ms[i]);
        W_SIM_LOG(self, NULL, "thread   m%u \"%s\" has ended", self->number, self->name);
        w_sim_leave_for_good();
}

static void check_nothing_left(void)
{
        SIM_CHECK(!w_sim_vm_has_strays(), "memory was written after it had been unmapped");
        if (w_sim.scenario->config.may_leave)
                return;
        for (uint32_t i = 1; i < w_sim.n_slots; i++) {
                struct sim_m *m = &w_sim.ms[i];

                SIM_CHECK(m->state == M_FREE, "main returned, but m%u \"%s\" %s", m->number,
                          m->name, m->state == M_ENDED ? "was never joined" : "still runs");
        }
        SIM_CHECK(sim_mapped_pages() == 0, "main returned, but %lu pages are still mapped",
                  (unsigned long)sim_mapped_pages());
        SIM_CHECK(w_sim.n_usage_fds == 0, "main returned, but %u descriptors are still open",
                  w_sim.n_usage_fds);
        SIM_CHECK(!w_sim.net.is_open, "main returned, but the poller is still open");
        for (int fd = FIRST_FD; fd < N_FDS; fd++)
                SIM_CHECK(!w_sim.net.fds[fd], "main returned, but descriptor %d is still open", fd);
        SIM_CHECK(!w_sim.on_fault, "main returned, but faults are still watched");
        SIM_CHECK(!w_sim.caught, "main returned, but signals are still caught");
}

static void m_entry(void *arg)
{
        struct sim_m *self = arg;

        w_fiber_begin(&self->here);
        self->call = NULL;
        self->fn(self->arg);
        W_CHECK(self == w_sim.running, "m%u returned from its function on another thread",
                self->number);
        SIM_CHECK(self->n_timers == 0, "a thread ends, and its timer stays");
        if (self->slot != 0)
                end_thread(self);
        w_sim_buffer_drain_all(self);
        SIM_CHECK(!w_sim.scenario->config.dies_of, "main returned, but should have died of: %s",
                  w_sim.scenario->config.dies_of);
        /* A thread may be interrupted between its fatal message and its abort. */
        SIM_CHECK(!strstr(w_sim.said, "weft: fatal: "), "a thread met its end");
        check_nothing_left();
        w_sim_end_run();
}

/* On an overloaded machine some threads begin long after their start. */
static int64_t start_lateness(void)
{
        enum { SLOW = 256, SLOW_NS = 10000000 };

        if (w_sim.scenario->config.slow_starts && w_sim_chance(SLOW))
                return (int64_t)w_rand_below(&w_sim.rand, SLOW_NS);
        return w_sim_lateness();
}

struct sim_m *w_sim_m_new(const char *name, size_t stack_size, void (*fn)(void *), void *arg)
{
        uint32_t slot = 0;

        while (slot < w_sim.n_slots && w_sim.ms[slot].state != M_FREE)
                slot++;
        if (slot == SIM_MAX_THREADS)
                return NULL;
        struct sim_m *m = &w_sim.ms[slot];

        if (!provide_stack(m, stack_size > M_STACK_BYTES ? stack_size : M_STACK_BYTES))
                return NULL;
        m->slot = slot;
        m->number = w_sim.n_started++;
        m->generation++;
        m->call = "start";
        m->fn = fn;
        m->arg = arg;
        m->priority = w_rand_below(&w_sim.rand, 1u << 30) + (1u << 30);
        w_format(m->name, sizeof(m->name), "%s", name);
        w_fiber_make(&m->born, m->stack, m->stack_size, m->stack + m->stack_size, m_entry, m);
        m->here = m->born;
        m->state = M_WAITING;
        w_sim_set_due(m, w_sim.now + start_lateness());
        if (slot == w_sim.n_slots)
                w_sim.n_slots++;
        return m;
}

/* Only the stack and the generation outlive a thread. */
void w_sim_m_free(struct sim_m *m)
{
        char    *stack = m->stack;
        size_t   stack_size = m->stack_size;
        uint32_t generation = m->generation;

        w_fiber_destroy(&m->here);
        if (m->here.san.adopted)
                w_fiber_destroy(&m->born);      /* else they are the same fiber */
        *m = (struct sim_m){ .stack = stack, .stack_size = stack_size, .generation = generation };
}

/* ---- One run -------------------------------------------------------------------------------- */

static void run_scenario(void *arg)
{
        const struct sim_scenario *scenario = arg;

        scenario->run();
}

static void begin_run(const struct sim_scenario *scenario, uint64_t seed)
{
        w_sim.scenario = scenario;
        w_sim.seed = seed;
        w_sim.rand = seed;
        w_sim.rand = w_rand(&w_sim.rand);       /* neighbouring seeds share no part of a stream */
        w_sim.max_steps = scenario->config.max_steps ? scenario->config.max_steps : SIM_MAX_STEPS;
        w_sim.next_due_at = W_FOREVER;
        w_sim_names_reset();
        w_sim_profile_draw(&scenario->config);
}

/* Undoes everything that a run changed, whether it completed or not. */
static void reset(void)
{
        for (uint32_t i = 0; i < w_sim.n_slots; i++)
                if (w_sim.ms[i].state != M_FREE)
                        w_sim_m_free(&w_sim.ms[i]);
        w_sim_vm_reset();
        memset(&w_sim, 0, offsetof(struct sim_machine, ms));
}

void sim_run(const struct sim_scenario *scenario, uint64_t seed, FILE *log,
             struct sim_result *result)
{
        W_CHECK(!w_sim.running, "a run inside a run");
        result->failed = false;
        result->report[0] = '\0';
        w_sim.log = log;
        w_sim.result = result;
        begin_run(scenario, seed);

        struct sim_m *main = w_sim_m_new("main", 0, run_scenario, (void *)(uintptr_t)scenario);

        W_CHECK(main, "no memory for the first simulated stack");
        w_sim_become_ready(main);
        w_sim.running = main;
        w_fiber_adopt(&w_sim.hub);
        w_fiber_switch(&w_sim.hub, &main->here);
        w_fiber_destroy(&w_sim.hub);
        result->steps = w_sim.steps;
        result->switches = w_sim.switches;
        result->n_fallible = w_sim.n_fallible;
        result->ended_at = w_sim.now;
        reset();
}
