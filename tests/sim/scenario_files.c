/* tests/sim/scenario_files.c - PROTOCOL file-slots: places for those who use regular files.
 *
 * test: seeds=quarter
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/turns.h"
#include "sim/sched_world.h"

#include <errno.h>      /* -Exxx */

enum { N_GS = 6, N_READS = 3, N_PLACES = 2, SIZE = 7 };

static void short_while(void)
{
        if (sim_random(3))
                sim_work(sim_random(1u << (1 + sim_random(12))));
}

static uint64_t n_waits(void)
{
        weft_stats_t st = { .size = sizeof(st) };

        SIM_CHECK(weft_stats(&st) == 0, "stats");
        return st.parks_io;
}

/* All places are free again if so many can be had without a wait. */
static void check_all_free(void)
{
        uint64_t before = n_waits();

        for (int i = 0; i < N_PLACES; i++)
                SIM_CHECK(turns_enter() == 0, "enter");
        SIM_CHECK(n_waits() == before, "a place is lost");
        for (int i = 0; i < N_PLACES; i++)
                turns_leave();
}

/* ---- Reading --------------------------------------------------------------------------------- */

static void check_bytes(const unsigned char *buf, ssize_t got, uint32_t at, size_t n)
{
        size_t have = at < SIZE ? SIZE - at : 0;

        SIM_CHECK(got == (ssize_t)(n < have ? n : have), "%ld bytes of %zu at %u", (long)got, n,
                  at);
        for (ssize_t i = 0; i < got; i++)
                SIM_CHECK(buf[i] == at + (uint32_t)i + 1, "byte %ld is %u", (long)i, buf[i]);
}

static void read_once(int fd)
{
        unsigned char buf[8];
        uint32_t      at = sim_random(SIZE + 2);
        size_t        n = 1 + sim_random(sizeof(buf));
        weft_scope    s;
        bool          in_scope = sim_random(2);

        if (in_scope)
                SIM_CHECK(weft_scope_open(&s, sim_random(60000)) == 0, "open");
        ssize_t got = weft_pread(fd, buf, n, at);

        if (in_scope && got > 0 && weft_cancelled() < 0)
                n = (size_t)got;        /* it has struck in the middle */
        if (!in_scope || got != -ETIMEDOUT)
                check_bytes(buf, got, at, n);
        if (in_scope)
                SIM_CHECK(weft_scope_close(&s) == 0, "close");
}

static void read_some(void *arg)
{
        for (int i = 0; i < N_READS; i++) {
                short_while();
                read_once(*(int *)arg);
        }
}

static void places_first(void *arg)
{
        int64_t ids[N_GS];
        int     fd = sim_open_file(SIZE);

        (void)arg;
        for (int i = 0; i < N_GS; i++)
                ids[i] = sched_go(read_some, &fd);
        for (int i = 0; i < N_GS; i++)
                sched_join(ids[i]);
        SIM_CHECK(sim_most_busy() <= N_PLACES, "%u threads are busy with files", sim_most_busy());
        check_all_free();
        SIM_CHECK(weft_close(fd) == 0, "close");
}

static const weft_config with_places = { .file_threads = N_PLACES };

static void places_main(void)
{
        sched_run_well(&with_places, places_first);
}

SIM_SCENARIO(files_places, "more read files than there are places, some with a deadline",
             places_main, .max_steps = SCHED_MAX_STEPS)

/* ---- In turn --------------------------------------------------------------------------------- */

static struct {
        uint32_t next;          /* whose turn it is */
        uint32_t n_in;
} turns;

static void take_turn(void *arg)
{
        uint32_t own = (uint32_t)(uintptr_t)arg;
        int      rc = turns_enter();

        SIM_CHECK(rc == 0, "enter: %d", rc);
        SIM_CHECK(turns.next++ == own, "%u goes before %u", own, turns.next - 1);
        SIM_CHECK(++turns.n_in == 1, "two at once");
        short_while();
        turns.n_in--;
        turns_leave();
}

static void turns_first(void *arg)
{
        int64_t ids[N_GS];

        (void)arg;
        turns.next = turns.n_in = 0;
        SIM_CHECK(turns_enter() == 0, "enter");
        for (uint32_t i = 0; i < N_GS; i++) {
                uint64_t before = n_waits();

                ids[i] = sched_go(take_turn, (void *)(uintptr_t)i);
                while (n_waits() == before)
                        weft_yield();
        }
        turns_leave();
        for (int i = 0; i < N_GS; i++)
                sched_join(ids[i]);
}

static const weft_config with_one = { .file_threads = 1 };

static void turns_main(void)
{
        sched_run_well(&with_one, turns_first);
}

SIM_SCENARIO(files_turns, "who waits longest for a place is next", turns_main,
             .max_steps = SCHED_MAX_STEPS)

/* ---- Ends ------------------------------------------------------------------------------------ */

static w_atomic_u32 n_done;

/* Who waits for its turn when the file is closed does not use it any more. */
static void read_closed(void *arg)
{
        unsigned char c;
        ssize_t       got = weft_pread(*(int *)arg, &c, 1, 0);

        SIM_CHECK(got == -EBADF || got == 1, "read: %ld", (long)got);
        w_add_rlx(&n_done, 1);                                    /* counter */
}

static void close_first(void *arg)
{
        int64_t ids[N_GS];
        int     fd = sim_open_file(SIZE);

        (void)arg;
        w_store_rlx(&n_done, 0);                                  /* counter */
        SIM_CHECK(turns_enter() == 0, "enter");
        for (int i = 0; i < N_GS; i++)
                ids[i] = sched_go(read_closed, &fd);
        while (w_load_rlx(&n_done) + n_waits() < N_GS)            /* counter */
                weft_yield();
        SIM_CHECK(weft_close(fd) == 0, "close");
        turns_leave();
        for (int i = 0; i < N_GS; i++)
                sched_join(ids[i]);
        SIM_CHECK(sim_most_busy() == 0, "a file that is closed is used");
}

static void close_main(void)
{
        sched_run_well(&with_one, close_first);
}

SIM_SCENARIO(files_close, "a file is closed while some wait for their turn", close_main,
             .max_steps = SCHED_MAX_STEPS)

/* Nobody can wait for it, and it does not wait itself: so it is for the caller to decide. */
static void refused(void *arg)
{
        unsigned char buf[4] = { 0 };
        int           fd = *(int *)arg;

        short_while();
        ssize_t got = weft_read(fd, buf, sizeof(buf));

        SIM_CHECK(got == -EAGAIN, "read: %ld", (long)got);
        got = weft_write(fd, buf, sizeof(buf));
        SIM_CHECK(got == -EAGAIN, "write: %ld", (long)got);
}

static void refused_first(void *arg)
{
        int     fd = sim_open_file(SIZE);
        int64_t ids[N_GS];

        (void)arg;
        sim_refuse_file(fd);
        for (int i = 0; i < N_GS; i++)
                ids[i] = sched_go(refused, &fd);
        for (int i = 0; i < N_GS; i++)
                sched_join(ids[i]);
        check_all_free();
        SIM_CHECK(weft_close(fd) == 0, "close");
}

static void refused_main(void)
{
        weft_config cfg = { .procs = 1 + (int)sim_random(2), .file_threads = N_PLACES };

        sched_run_well(&cfg, refused_first);
}

SIM_SCENARIO(files_refused, "files that do not wait, and cannot be waited for", refused_main,
             .max_steps = SCHED_MAX_STEPS)

/* Some are in line, and one has a place, when the run ends. */
static int left_fd;

static void end_first(void *arg)
{
        (void)arg;
        SIM_CHECK(turns_enter() == 0, "enter");
        for (int i = 0; i < N_GS; i++)
                (void)sched_go(read_closed, &left_fd);
        short_while();
}

static void end_main(void)
{
        left_fd = sim_open_file(SIZE);
        sched_run_well(&with_one, end_first);
        sched_run_well(&with_one, end_first);
        (void)w_os_fd_close(left_fd);
}

SIM_SCENARIO(files_end, "the run ends while some wait for their turn", end_main,
             .max_steps = 2 * SCHED_MAX_STEPS)
