/* tests/sim/scenario_files.c - PROTOCOL file-slots: slots for the users of regular files.
 *
 * test: seeds=quarter
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/file_slots.h"
#include "sim/sched_world.h"

#include <errno.h>      /* -Exxx */

enum { N_GS = 6, N_READS = 3, N_SLOTS = 2, SIZE = 7 };

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

/* All slots are free again if so many are available without a wait. */
static void check_all_free(void)
{
        uint64_t before = n_waits();

        for (int i = 0; i < N_SLOTS; i++)
                SIM_CHECK(file_slots_enter() == 0, "enter");
        SIM_CHECK(n_waits() == before, "a slot is lost");
        for (int i = 0; i < N_SLOTS; i++)
                file_slots_leave();
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
                n = (size_t)got;        /* it happened in the middle */
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

static void slots_first(void *arg)
{
        int64_t ids[N_GS];
        int     fd = sim_open_file(SIZE);

        (void)arg;
        for (int i = 0; i < N_GS; i++)
                ids[i] = sched_go(read_some, &fd);
        for (int i = 0; i < N_GS; i++)
                sched_join(ids[i]);
        SIM_CHECK(sim_most_busy() <= N_SLOTS, "%u threads are busy with files", sim_most_busy());
        check_all_free();
        SIM_CHECK(weft_close(fd) == 0, "close");
}

static const weft_config with_slots = { .file_threads = N_SLOTS };

static void slots_main(void)
{
        sched_run_well(&with_slots, slots_first);
}

SIM_SCENARIO(files_slots, "more goroutines read files than there are slots, some with a deadline",
             slots_main, .max_steps = SCHED_MAX_STEPS)

/* ---- In turn --------------------------------------------------------------------------------- */

static struct {
        uint32_t next;          /* which has its turn */
        uint32_t n_in;
} turns;

static void take_turn(void *arg)
{
        uint32_t own = (uint32_t)(uintptr_t)arg;
        int      rc = file_slots_enter();

        SIM_CHECK(rc == 0, "enter: %d", rc);
        SIM_CHECK(turns.next++ == own, "%u goes before %u", own, turns.next - 1);
        SIM_CHECK(++turns.n_in == 1, "two at once");
        short_while();
        turns.n_in--;
        file_slots_leave();
}

static void turns_first(void *arg)
{
        int64_t ids[N_GS];

        (void)arg;
        turns.next = turns.n_in = 0;
        SIM_CHECK(file_slots_enter() == 0, "enter");
        for (uint32_t i = 0; i < N_GS; i++) {
                uint64_t before = n_waits();

                ids[i] = sched_go(take_turn, (void *)(uintptr_t)i);
                while (n_waits() == before)
                        weft_yield();
        }
        file_slots_leave();
        for (int i = 0; i < N_GS; i++)
                sched_join(ids[i]);
}

static const weft_config with_one = { .file_threads = 1 };

static void turns_main(void)
{
        sched_run_well(&with_one, turns_first);
}

SIM_SCENARIO(files_turns, "the longest waiter for a slot is next", turns_main,
             .max_steps = SCHED_MAX_STEPS)

/* ---- Ends ------------------------------------------------------------------------------------ */

static w_atomic_u32 n_done;

/* A goroutine that waits for its turn when the file is closed does not use the file any more. */
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
        SIM_CHECK(file_slots_enter() == 0, "enter");
        for (int i = 0; i < N_GS; i++)
                ids[i] = sched_go(read_closed, &fd);
        while (w_load_rlx(&n_done) + n_waits() < N_GS)            /* counter */
                weft_yield();
        SIM_CHECK(weft_close(fd) == 0, "close");
        file_slots_leave();
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

/* No caller can wait for it, and it does not wait itself: the caller must decide. */
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
        weft_config cfg = { .procs = 1 + (int)sim_random(2), .file_threads = N_SLOTS };

        sched_run_well(&cfg, refused_first);
}

SIM_SCENARIO(files_refused, "files that do not wait, and cannot be waited for", refused_main,
             .max_steps = SCHED_MAX_STEPS)

/* When the run ends some wait in the queue, and one has a slot. */
static int left_fd;

static void end_first(void *arg)
{
        (void)arg;
        SIM_CHECK(file_slots_enter() == 0, "enter");
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
