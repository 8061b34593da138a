/* tests/lib/sched.c - what the tests of the scheduler share.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sched.h"
#include "sched/run/run.h"
#include "sched/sched.h"

enum { DUMP_MAX = 40 };

/* For a test that fails or hangs. Reads running threads without locks: good enough for a hint, and
 * a race to TSan. Its report would hide the message of the test. */
static bool sched_dump_one(void *record, void *arg)
{
        const struct g *gp = record;
        int            *n = arg;

        if (gp->id != 0 && (*n)++ < DUMP_MAX)
                dprintf(2, "  goroutine %lld: %s, %s\n", (long long)gp->id,
                        w_g_state_name(w_load_rlx(&gp->state)), w_wait_reason_name(gp->reason));
        return true;
}

void sched_dump(void)
{
        int n = 0;

#if defined(W_BUILT_WITH_TSAN)
        return;
#endif
        dprintf(2, "  threads: %u, idle %u, spinning %u, need_spinning %u; Ps: %u, idle %u; global "
                   "queue %u; stopping %u, ending %d\n",
                w_sched.n_m, w_sched.n_idle_m, w_load_rlx(&w_sched.n_spinning),
                w_load_rlx(&w_sched.need_spinning), w_n_procs(),
                w_load_rlx(&w_sched.n_idle_p), w_load_rlx(&w_sched.n_globq),
                w_load_rlx(&w_sched.world.stopping), (int)w_sched.world.ending);
        if (!w_run_is_on())
                return;
        for (uint32_t i = 0; i < w_n_procs(); i++)
                dprintf(2, "  P%u: status %u, %u queued\n", i,
                        w_load_rlx(&w_sched.all_p[i]->status),
                        w_runq_len_hint(&w_sched.all_p[i]->runq));
        w_g_each(sched_dump_one, &n);
        dprintf(2, "  %d goroutines in all\n", n);
}

void sched_run(void (*fn)(void *), void *arg)
{
        weft_config cfg = { .shutdown_ms = 300000 };

        test_set_dump(sched_dump);
        CHECK_EQ(sched_run_left(&cfg, fn, arg), 0);
}

int sched_run_left(const weft_config *cfg, void (*fn)(void *), void *arg)
{
        CHECK_EQ(weft_run_with(cfg, fn, arg), 0);
        return weft_threads_left();
}

static void sched_call_body(void *arg)
{
        void (**body)(void) = arg;

        (*body)();
}

void sched_run_body(void (*body)(void))
{
        sched_run(sched_call_body, &body);
}

uint32_t sched_scale(uint32_t n)
{
#if defined(W_WINDOWS)
        return n / 50;
#else
        return (uint32_t)test_scale(n);
#endif
}

int sched_procs(void)
{
        const char *text = getenv("WEFT_PROCS");

        return text ? atoi(text) : 2;
}

int64_t sched_go(void (*fn)(void *), void *arg)
{
        int64_t id = weft_go(fn, arg);

        CHECK_MSG(id > 0, "weft_go returned %lld", (long long)id);
        return id;
}

void sched_join(int64_t id)
{
        CHECK_EQ(weft_join(id), 0);
}

void sched_await(w_atomic_u32 *counter, uint32_t n)
{
        while (w_load_acq(counter) < n)
                weft_yield();
}

static void sched_sleep_on(void *note)
{
        w_note_sleep(note);
}

void sched_warm_up(void)
{
        enum { N = 12 };
        struct w_os_thread threads[N];
        struct note        notes[N];

        mallopt(M_ARENA_MAX, 1);
        for (int i = 0; i < N; i++) {
                w_note_clear(&notes[i]);
                CHECK_EQ(w_os_thread_start(&threads[i], "warm", W_THREAD_STACK, sched_sleep_on,
                                           &notes[i]), 0);
        }
        for (int i = 0; i < N; i++) {
                w_note_wake(&notes[i]);
                w_os_thread_join(&threads[i]);
        }
        (void)test_resources_now();
        w_os_sleep_until(w_os_now() + 1000000);         /* joined threads linger in /proc */
}

enum g_state sched_state_of(int64_t id)
{
        struct g    *gp;
        struct lock *held;
        enum g_state state = G_DEAD;

        if (w_id_find(id, &gp, &held) == W_ID_ALIVE) {
                state = w_g_state(gp);
                w_unlock(held);
        }
        return state;
}

void sched_await_parked(int64_t id)
{
        while (sched_state_of(id) != G_WAITING)
                weft_yield();
}
