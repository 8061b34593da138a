/* tests/flow/sched/thread/test_thread_limit.c - the limit on threads: N of them work, and one more
 * ends the program.
 *
 * Every goroutine that blocks has a thread to itself, and one more thread runs the other
 * goroutines. With one P no second thread searches for work, so the number is exact.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sync.h"
#include "sched/sched.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIMIT = 10 };

struct blockers {
        void       (*block)(void *);
        uint32_t     n;
        int          read, write;
        w_atomic_u32 n_blocked;
        uint32_t     n_threads;
};

static void read_a_byte(struct blockers *b)
{
        char c = 0;

        w_add_acqrel(&b->n_blocked, 1);
        CHECK_EQ(test_read(b->read, &c, 1), 1);
}

/* Blocks outside a region: weft does not know. */
static void block_plainly(void *arg)
{
        read_a_byte(arg);
}

static void block_in_region(void *arg)
{
        weft_block_begin();
        read_a_byte(arg);
        weft_block_end();
}

static void main_block(void *arg)
{
        struct blockers *b = arg;
        int64_t          ids[LIMIT];

        for (uint32_t i = 0; i < b->n; i++)
                ids[i] = sched_go(b->block, b);
        while (w_load_acq(&b->n_blocked) < b->n)
                CHECK_EQ(weft_sleep(WEFT_MS(1)), 0);
        CHECK_EQ(weft_sleep(WEFT_MS(1)), 0);            /* other goroutines run meanwhile */
        w_lock(&w_sched.lock);
        b->n_threads = w_sched.n_m;
        w_unlock(&w_sched.lock);
        for (uint32_t i = 0; i < b->n; i++)
                CHECK_EQ(write(b->write, "x", 1), 1);
        for (uint32_t i = 0; i < b->n; i++)
                sched_join(ids[i]);
}

static void run_blockers(void *arg)
{
        weft_config      cfg = { .procs = 1, .max_threads = LIMIT };
        struct blockers *b = arg;
        int              ends[2];

        CHECK_EQ(pipe(ends), 0);
        b->read = ends[0];
        b->write = ends[1];
        CHECK_EQ(sched_run_left(&cfg, main_block, b), 0);
        CHECK_EQ(b->n_threads, LIMIT);
        close(ends[0]);
        close(ends[1]);
}

/* As many threads as are allowed, and each of them needed. */
static void fits(void (*block)(void *))
{
        struct blockers b = { .block = block, .n = LIMIT - 1 };

        test_set_dump(sched_dump);
        run_blockers(&b);
}

static void is_one_too_many(void (*block)(void *))
{
        struct blockers b = { .block = block, .n = LIMIT };

        test_expect_death(run_blockers, &b, SIGABRT,
                          "weft: fatal: program exceeds 10-thread limit");
}

TEST(as_many_regions_as_threads_work)       { fits(block_in_region); }
TEST(as_many_plain_reads_as_threads_work)   { fits(block_plainly); }
TEST(one_more_region_ends_the_program)      { is_one_too_many(block_in_region); }
TEST(one_more_plain_read_ends_the_program)  { is_one_too_many(block_plainly); }
