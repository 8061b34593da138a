/* tests/flow/sched/monitor/test_blocked_report_where.c - reports name the place at which goroutines
 * block, also for goroutines that stay blocked.
 *
 * test: valgrind=no exports=yes
 * Valgrind has stacks of its own. The program exports its functions, so that a report can name
 * them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/blocked.h"
#include "lib/freeze.h"

#include <pthread.h>
#include <sched.h>

enum { BLOCKS_MS = 300, STAYS_MS = 1800 };        /* once the P was taken */
#if defined(W_ASAN) || defined(W_TSAN)
enum { WRAPPED = 1 };
#else
enum { WRAPPED = 0 };
#endif

/* The linker knows these functions by name, and none of them ends in a tail call. */
void read_there(void);
void lock_there(void);
void read_without_frame(void);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int             blocks_ms, preempt = WEFT_PREEMPT_ALL;

__attribute__((noinline)) void read_there(void)
{
        char c = 0;

        while (read(blocked_ends[0], &c, 1) != 1)
                ;
        w_add_acqrel(&blocked_n_at_it, 1);
}

__attribute__((noinline)) void lock_there(void)
{
        (void)pthread_mutex_lock(&lock);
        (void)pthread_mutex_unlock(&lock);
        w_add_acqrel(&blocked_n_at_it, 1);
}

/* As most programs are compiled; clang has no such attribute. */
#if defined(__clang__)
#define WITHOUT_FRAME __attribute__((noinline))
#else
#define WITHOUT_FRAME __attribute__((noinline, optimize("omit-frame-pointer")))
#endif

WITHOUT_FRAME void read_without_frame(void)
{
        char c = 0;

        while (read(blocked_ends[0], &c, 1) != 1)
                ;
        w_add_acqrel(&blocked_n_at_it, 1);
}

static void *end_it_later(void *arg)
{
        (void)arg;
        CHECK_EQ(pthread_mutex_lock(&lock), 0);
        w_store_rel(&blocked_go_on, 1);
        while (w_load_acq(&blocked_n_pings) == 0)
                test_sleep_us(1000);
        test_sleep_us(blocks_ms * 1000);
        CHECK_EQ(write(blocked_ends[1], "x", 1), 1);
        CHECK_EQ(pthread_mutex_unlock(&lock), 0);
        return NULL;
}

static void (*there)(void);

/* Beside a goroutine that needs the P. */
static void block_there(void *arg)
{
        (void)arg;
        weft_name("blocker");
        (void)sched_go(blocked_ping, NULL);
        there();
        weft_yield();
}

static void child_where(void *arg)
{
        weft_config cfg = { .procs = 1, .preempt = preempt };
        pthread_t   thread;

        (void)arg;
        CHECK_EQ(pipe(blocked_ends), 0);
        CHECK_EQ(pthread_create(&thread, NULL, end_it_later, NULL), 0);
        while (!w_load_acq(&blocked_go_on))
                sched_yield();
        CHECK_EQ(sched_run_left(&cfg, block_there, NULL), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
        _exit(0);
}

/* Returns the report of a goroutine that blocks in fn for so long. It may have lost its P for
 * another reason before it blocks. Then there is no report, and it is tried again. */
static void block_for(void (*fn)(void), int ms, char *said, size_t size)
{
        freeze_need_kernel();
        there = fn;
        blocks_ms = ms;
        for (int i = 0; i < 10 && (i == 0 || !said[0]); i++)
                blocked_run_child(child_where, NULL, said, size);
}

static void check_place(void (*fn)(void), const char *name)
{
        char said[16384];

        if (WRAPPED)
                test_skip("the sanitizer's own functions are between");
        block_for(fn, BLOCKS_MS, said, sizeof(said));
        CHECK_MSG(blocked_count(said, "\"blocker\" blocked its thread ") == 1, "%s", said);
        CHECK_MSG(blocked_count(said, " region\nat\n\t0x") == 1, "%s", said);
        CHECK_MSG(strstr(said, name), "%s", said);
        CHECK_MSG(!strstr(said, "before it came to"), "%s", said);
}

TEST(the_report_says_where_a_goroutine_reads) { check_place(read_there, " read_there"); }
TEST(the_report_says_where_a_goroutine_locks) { check_place(lock_there, " lock_there"); }
TEST(the_report_says_where_without_frames)    { check_place(read_without_frame, " read_without_"); }

/* The monitor reports, without names, and the goroutine does not report again. */
TEST(a_long_block_is_reported_once)
{
        char said[16384];

        block_for(read_there, STAYS_MS, said, sizeof(said));
        CHECK_MSG(blocked_count(said, " blocked its thread ") == 1, "%s", said);
        CHECK_MSG(blocked_count(said, " ms outside a blocking region, and still does\n"
                                      "at\n\t0x") == 1,
                  "%s", said);
        CHECK_MSG(blocked_count(said, "\nbegan in\n\t0x") == 1, "%s", said);
}

static void read_there_first(void)
{
        char c = 0;

        while (read(blocked_ends[0], &c, 1) != 1)
                ;
        for (int64_t until = w_os_now() + (int64_t)STAYS_MS * 1000000; w_os_now() < until;)
                w_cpu_pause();
}

/* It was in user code for more than a second, and computes when the monitor checks that. */
TEST(a_block_that_is_over_is_not_reported_as_lasting)
{
        char said[16384];

        preempt = WEFT_PREEMPT_BLOCKED; /* else it is preempted, and has its P again */
        block_for(read_there_first, BLOCKS_MS, said, sizeof(said));
        CHECK_MSG(blocked_count(said, " blocked its thread ") == 1, "%s", said);
        CHECK_MSG(!strstr(said, "still"), "%s", said);
}

enum { N_ALIKE = 6 };

static void sleep_alike(void *arg)
{
        (void)arg;
        test_sleep_us(STAYS_MS * 1000);
}

static void main_alike(void *arg)
{
        int64_t ids[N_ALIKE];

        (void)arg;
        for (int i = 0; i < N_ALIKE; i++)
                ids[i] = sched_go(sleep_alike, NULL);
        for (int i = 0; i < N_ALIKE; i++)
                sched_join(ids[i]);
}

static void child_alike(void *arg)
{
        weft_config cfg = { .procs = 1 };

        (void)arg;
        CHECK_EQ(sched_run_left(&cfg, main_alike, NULL), 0);
        _exit(0);
}

/* On stacks that begin at different places in their pages. */
TEST(equal_blocks_are_reported_once)
{
        char said[16384];

        freeze_need_kernel();
        blocked_run_child(child_alike, NULL, said, sizeof(said));
        CHECK_MSG(blocked_count(said, ", and still does\n") == 1, "%s", said);
}
