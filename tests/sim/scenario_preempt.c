/* tests/sim/scenario_preempt.c - PROTOCOL preempt: goroutines that compute take turns with the
 * others.
 *
 * Goroutines that compute without ever calling weft lose their Ps. Their threads are stopped and
 * get a P in their turn, while other goroutines sleep, block, stop the world and end. A watcher
 * outside the runtime counts the threads that run beyond the number of Ps.
 *
 * test: seeds=quarter
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/sched.h"
#include "sim/sched_world.h"

enum { MS = 1000000, N_COMPUTING = 3, WORK_MS = 60, N_PINGS = 8 };

static w_atomic_u32 n_pings, n_done, is_over;

/* ---- Taking turns ---------------------------------------------------------------------------- */

static void compute_on(void *arg)
{
        (void)arg;
        sim_work((int64_t)WORK_MS * MS);
        w_add_acqrel(&n_done, 1);
}

static void pinger(void *arg)
{
        (void)arg;
        for (int i = 0; i < N_PINGS; i++) {
                w_add_acqrel(&n_pings, 1);
                SIM_CHECK(weft_sleep((int64_t)sim_random(4) * MS) == 0, "sleep");
        }
}

static void check_no_m_was_reported_as_blocked(void)
{
        for (int i = 0; i < W_BLOCKED_PLACES; i++)
                SIM_CHECK(w_load_rlx(&w_sched.blocked_at[i]) == 0,
                          "a goroutine that computes was reported as blocked");
}

static void turns_first(void *arg)
{
        int64_t ids[N_COMPUTING + 1];

        (void)arg;
        w_store_rlx(&n_pings, 0);
        w_store_rlx(&n_done, 0);
        for (int i = 0; i < N_COMPUTING; i++)
                ids[i] = sched_go(compute_on, NULL);
        ids[N_COMPUTING] = sched_go(pinger, NULL);
        sched_join(ids[N_COMPUTING]);
        if (sim_random(3) == 0)
                return;         /* while some of them are preempted */
        for (int i = 0; i < N_COMPUTING; i++)
                sched_join(ids[i]);
        SIM_CHECK(w_load_acq(&n_done) == N_COMPUTING, "only %u are done", w_load_acq(&n_done));
        SIM_CHECK(weft_check() == 0, "check");
        SIM_CHECK(w_load_acq(&w_sched.preempt.n) == 0, "an M is still preempted");
        check_no_m_was_reported_as_blocked();
}

static void turns_main(void)
{
        weft_config cfg = { .procs = 1 + (int)sim_random(2) };

        sched_run_well(&cfg, turns_first);
}

SIM_SCENARIO(preempt_turns, "goroutines that compute are preempted and take turns", turns_main,
             .max_steps = 4 * SCHED_MAX_STEPS)

/* ---- The end --------------------------------------------------------------------------------- */

static int64_t ended_at;

/* In pieces: the signal arrives after each. */
static void piecemeal(void *arg)
{
        (void)arg;
        for (int i = 0; i < 2 * WORK_MS; i++)
                sim_work(MS / 2);
}

static void end_first(void *arg)
{
        (void)arg;
        for (int i = 0; i < N_COMPUTING; i++)
                (void)sched_go(piecemeal, NULL);
        SIM_CHECK(weft_sleep((int64_t)(20 + sim_random(60)) * MS) == 0, "sleep");
        ended_at = w_os_now();
}

/* The end of the run waits for goroutines that compute, so nothing may stop them. */
static void end_main(void)
{
        weft_config cfg = { .procs = 1 + (int)sim_random(2) };

        sched_run_well(&cfg, end_first);
        SIM_CHECK(w_os_now() - ended_at < 2 * (int64_t)WORK_MS * MS,
                  "goroutines that compute took %ld ns to end", (long)(w_os_now() - ended_at));
}

SIM_SCENARIO(preempt_end, "no M stays preempted when the run ends", end_main,
             .max_steps = 4 * SCHED_MAX_STEPS)

/* ---- With everything else -------------------------------------------------------------------- */

static weft_chan *chan;

static void some_work(void)
{
        sim_work((int64_t)(1 + sim_random(25)) * MS);
}

/* Kinds of computing, blocking and entering weft again. */
static void mixed(void *arg)
{
        int v = 1;

        (void)arg;
        for (int i = 0; i < 3; i++) {
                some_work();
                switch (sim_random(8)) {
                case 0: weft_yield(); break;
                case 1: w_os_sleep_until(w_os_now() + 15 * MS); break;
                case 2:
                        weft_block_begin();
                        some_work();
                        weft_block_end();
                        break;
                case 3: (void)weft_check(); break;      /* the run may have ended */
                case 4: SIM_CHECK(weft_sleep((int64_t)sim_random(5) * MS) == 0, "sleep"); break;
                case 5: SIM_CHECK(weft_chan_send(chan, &v) == 0, "send"); break;
                case 6: (void)weft_chan_try_recv(chan, &v); break;
                default:
                        weft_nopreempt_begin();
                        some_work();
                        weft_yield();
                        some_work();
                        weft_nopreempt_end();
                        break;
                }
        }
        w_add_acqrel(&n_done, 1);
}

static void mixed_first(void *arg)
{
        int64_t ids[N_COMPUTING];

        (void)arg;
        w_store_rlx(&n_done, 0);
        chan = weft_chan_new(sizeof(int), 3 * N_COMPUTING);
        for (int i = 0; i < N_COMPUTING; i++)
                ids[i] = sched_go(mixed, NULL);
        if (sim_random(4) == 0)
                return;
        for (int i = 0; i < N_COMPUTING; i++)
                sched_join(ids[i]);
        SIM_CHECK(w_load_acq(&n_done) == N_COMPUTING, "%u are done", w_load_acq(&n_done));
        SIM_CHECK(weft_check() == 0, "check");
}

static void mixed_main(void)
{
        weft_config cfg = { .procs = 1 + (int)sim_random(3) };

        sched_run_well(&cfg, mixed_first);
}

SIM_SCENARIO(preempt_mixed, "Ms are preempted while others block, wait and stop the world",
             mixed_main, .max_steps = 4 * SCHED_MAX_STEPS)

/* ---- weft_nopreempt_begin, _end -------------------------------------------------------------- */

static w_atomic_u32 n_keeping;

static void keep_for_a_while(void)
{
        SIM_CHECK(w_add_acqrel(&n_keeping, 1) == 0, "two keep the only P");
        some_work();
        SIM_CHECK(w_sub_acqrel(&n_keeping, 1) == 1, "two keep the only P");
}

/* A goroutine that has lost its P before waits for a P, and no longer runs beside others. */
static void timekeeper(void *arg)
{
        int v;

        (void)arg;
        for (int i = 0; i < 3; i++) {
                some_work();
                if (sim_random(2))
                        w_os_sleep_until(w_os_now() + 15 * MS);
                weft_nopreempt_begin();
                keep_for_a_while();
                switch (sim_random(4)) {
                case 0: weft_yield(); break;
                case 1: SIM_CHECK(weft_sleep((int64_t)sim_random(5) * MS) == 0, "sleep"); break;
                case 2: (void)weft_chan_try_recv(chan, &v); break;
                default: weft_block_begin(), weft_block_end(); break;
                }
                keep_for_a_while();
                weft_nopreempt_end();
        }
}

static void keep_first(void *arg)
{
        int64_t ids[N_COMPUTING];

        (void)arg;
        w_store_rlx(&n_keeping, 0);
        chan = weft_chan_new(sizeof(int), 1);
        for (int i = 0; i < N_COMPUTING; i++)
                ids[i] = sched_go(timekeeper, NULL);
        for (int i = 0; i < N_COMPUTING; i++)
                sched_join(ids[i]);
}

static void keep_main(void)
{
        weft_config cfg = { .procs = 1 };

        sched_run_well(&cfg, keep_first);
}

SIM_SCENARIO(preempt_nopreempt, "no goroutine runs while another is in nopreempt with the only P",
             keep_main, .max_steps = 4 * SCHED_MAX_STEPS)

/* ---- No more threads than Ps ----------------------------------------------------------------- */

enum { SAMPLES_MIN = 40, N_ENDLESS = 5 };

static void endless(void *arg)
{
        (void)arg;
        while (!w_load_acq(&is_over))
                sim_work(MS / 2);
}

/* It loses its P while it blocks, and then makes calls that need no P. */
static void endless_lost(void *arg)
{
        int v;

        (void)arg;
        w_os_sleep_until(w_os_now() + 30 * MS);
        while (!w_load_acq(&is_over)) {
                (void)weft_chan_try_recv(chan, &v);
                for (int i = 0; i < 80 && !w_load_acq(&is_over); i++)
                        sim_work(MS / 2);
        }
}

/* Threads in user code that are not stopped: the simulator has a CPU for each. */
static uint32_t n_running(void)
{
        uint32_t n = 0;

        W_LIST_EACH(node, &w_sched.all_m) {
                struct m *mp = W_CONTAINER_OF(node, struct m, all_link);

                n += w_where_is_user(w_load_acq(&mp->where)) &&
                     w_load_acq(&mp->grant) != W_GRANT_WAITING;
        }
        return n;
}

static void watcher(void *arg)
{
        uint32_t n = 0, n_over = 0;

        (void)arg;
        foreign_begin();
        w_os_sleep_until(w_os_now() + 300 * MS);        /* until each M has lost its P once */
        for (; n < SAMPLES_MIN; n++) {
                w_os_sleep_until(w_os_now() + 7 * MS);
                w_lock(&w_sched.lock);
                n_over += n_running() > w_n_procs();
                w_unlock(&w_sched.lock);
        }
        SIM_CHECK(n_over * 5 < n, "in %u of %u samples more ran than there are Ps", n_over, n);
        w_store_rel(&is_over, 1);
}

static void watch_endless(void (*fn)(void *), int n)
{
        struct worker thread;
        int64_t       ids[N_ENDLESS];

        w_store_rlx(&is_over, 0);
        worker_start(&thread, "watcher", watcher, NULL);
        for (int i = 0; i < n; i++)
                ids[i] = sched_go(fn, NULL);
        for (int i = 0; i < n; i++)
                sched_join(ids[i]);
        worker_join(&thread);
        if (fn == endless)
                check_no_m_was_reported_as_blocked();
}

static void cap_first(void *arg)
{
        (void)arg;
        watch_endless(endless, N_ENDLESS);
}

static void cap_main(void)
{
        weft_config cfg = { .procs = 1 };

        sched_run_well(&cfg, cap_first);
}

SIM_SCENARIO(preempt_cap, "no more threads compute than there are Ps", cap_main,
             .max_steps = 10 * SCHED_MAX_STEPS)

/* Each goroutine has a P of its own, which is not needed, until there is only one P. */
static void fewer_first(void *arg)
{
        struct worker thread;
        int64_t       ids[2];

        (void)arg;
        w_store_rlx(&is_over, 0);
        for (int i = 0; i < 2; i++)
                ids[i] = sched_go(endless, NULL);
        SIM_CHECK(weft_sleep((int64_t)sim_random(20) * MS) == 0, "sleep");
        SIM_CHECK(weft_procs(1) == 3, "procs");
        worker_start(&thread, "watcher", watcher, NULL);
        for (int i = 0; i < 2; i++)
                sched_join(ids[i]);
        worker_join(&thread);
}

static void fewer_main(void)
{
        weft_config cfg = { .procs = 3 };

        sched_run_well(&cfg, fewer_first);
}

SIM_SCENARIO(preempt_fewer, "the same after the number of Ps was reduced", fewer_main,
             .max_steps = 10 * SCHED_MAX_STEPS)

/* ---- Beside a queue that is never empty ------------------------------------------------------ */

static void busy(void *arg)
{
        (void)arg;
        while (!w_load_acq(&is_over)) {
                sim_work(MS / 4);
                weft_yield();
        }
}

static void compute_long(void *arg)
{
        (void)arg;
        for (int i = 0; i < 160; i++)
                sim_work(MS / 2);
}

/* It gets Ps in its turn; without a P it would go on by itself after a while. */
static void busy_first(void *arg)
{
        int64_t  ids[2];
        uint32_t before = w_load_rlx(&w_sched.preempt.n_grants);

        (void)arg;
        w_store_rlx(&is_over, 0);
        for (int i = 0; i < 2; i++)
                ids[i] = sched_go(busy, NULL);
        sched_join(sched_go(compute_long, NULL));
        SIM_CHECK(w_load_rlx(&w_sched.preempt.n_grants) != before, "no preempted M got a P");
        w_store_rel(&is_over, 1);
        for (int i = 0; i < 2; i++)
                sched_join(ids[i]);
}

static void busy_main(void)
{
        weft_config cfg = { .procs = 1 };

        sched_run_well(&cfg, busy_first);
}

SIM_SCENARIO(preempt_busy, "a preempted M gets its turn though others are always ready", busy_main,
             .max_steps = 10 * SCHED_MAX_STEPS)

static void lost_first(void *arg)
{
        (void)arg;
        chan = weft_chan_new(sizeof(int), 1);
        watch_endless(endless_lost, 3);
}

static void lost_main(void)
{
        weft_config cfg = { .procs = 1 };

        sched_run_well(&cfg, lost_first);
}

SIM_SCENARIO(preempt_lost, "no M that entered for a call that needs no P computes without one",
             lost_main, .max_steps = 10 * SCHED_MAX_STEPS)

/* ---- Beside an idle P ------------------------------------------------------------------------ */

enum { BESIDE_SAMPLES = 200, BESIDE_MAX = 8 };  /* half a millisecond each */

/* Mostly without a P, which it loses while it blocks. With no P in use the monitor sleeps. */
static void compute_and_block(void *arg)
{
        int v;

        (void)arg;
        while (!w_load_acq(&is_over)) {
                for (uint32_t i = 4 * sim_random(20); i > 0 && !w_load_acq(&is_over); i--)
                        sim_work(MS / 2);
                switch (sim_random(8)) {
                case 0: SIM_CHECK(weft_sleep((int64_t)sim_random(25) * MS) == 0, "sleep"); break;
                case 1: (void)weft_chan_try_recv(chan, &v); break;
                case 2: (void)weft_check(); break;
                case 3:
                        weft_block_begin();
                        w_os_sleep_until(w_os_now() + (int64_t)sim_random(20) * MS);
                        weft_block_end();
                        break;
                default: w_os_sleep_until(w_os_now() + 35 * MS); break;
                }
        }
}

static bool is_preempted_beside_idle_locked(void)
{
        if (w_load_rlx(&w_sched.n_idle_p) == 0)
                return false;
        W_LIST_EACH(node, &w_sched.all_m)
                if (w_load_acq(&W_CONTAINER_OF(node, struct m, all_link)->grant) == W_GRANT_WAITING)
                        return true;
        return false;
}

static void beside_watcher(void *arg)
{
        uint32_t n_in_a_row = 0;

        (void)arg;
        foreign_begin();
        for (uint32_t i = 0; i < BESIDE_SAMPLES; i++) {
                w_os_sleep_until(w_os_now() + MS / 2);
                w_lock(&w_sched.lock);
                n_in_a_row = is_preempted_beside_idle_locked() ? n_in_a_row + 1 : 0;
                w_unlock(&w_sched.lock);
                SIM_CHECK(n_in_a_row < BESIDE_MAX, "an M stays preempted beside an idle P");
        }
        w_store_rel(&is_over, 1);
}

static void beside_first(void *arg)
{
        struct worker thread;
        int64_t       ids[N_COMPUTING];
        int           n = 1 + (int)sim_random(N_COMPUTING);

        (void)arg;
        chan = weft_chan_new(sizeof(int), 1);
        w_store_rlx(&is_over, 0);
        worker_start(&thread, "watcher", beside_watcher, NULL);
        for (int i = 0; i < n; i++)
                ids[i] = sched_go(compute_and_block, NULL);
        for (int i = 0; i < n; i++)
                sched_join(ids[i]);
        worker_join(&thread);
}

static void beside_main(void)
{
        weft_config cfg = { .procs = 1 + (int)sim_random(3) };

        sched_run_well(&cfg, beside_first);
}

SIM_SCENARIO(preempt_idle_p, "no M stays preempted beside an idle P", beside_main,
             .max_steps = 4 * SCHED_MAX_STEPS)
