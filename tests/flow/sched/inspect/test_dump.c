/* tests/flow/sched/inspect/test_dump.c - where the text of a dump goes, and that no goroutine
 * has to wait for it.
 *
 * test: procs=1,2,4 exports=yes
 * The program exports its functions, so that a report can name them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sync.h"

#include "os/inject.h"

#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>

enum { N_MANY = 600, N_MORE = 2000, TEXT_BYTES = 2 * 1024 * 1024 };

static int          ends[2];
static char         text[TEXT_BYTES];
static size_t       n_text;
static w_atomic_u32 n_ticks, stop_ticks, n_dumped;

/* ---- The goroutines of the dump -------------------------------------------------------------- */

/* No two have the same stack: each was created by another goroutine. */
static void go_and_wait(void *arg)
{
        uint32_t left = (uint32_t)(uintptr_t)arg;

        if (left > 1)
                (void)sched_go(go_and_wait, (void *)(uintptr_t)(left - 1));
        CHECK_EQ(weft_park(), 0);
}

/* The dump of these goroutines does not fit into a pipe. */
static void start(uint32_t n)
{
        (void)sched_go(go_and_wait, (void *)(uintptr_t)n);
        while (weft_count() < n + 1)
                CHECK_EQ(weft_sleep(WEFT_MS(1)), 0);
}

static void start_many(void)
{
        start(N_MANY);
}

static void tick(void *arg)
{
        (void)arg;
        while (!w_load_acq(&stop_ticks)) {
                CHECK_EQ(weft_sleep(WEFT_MS(1)), 0);
                w_add_rel(&n_ticks, 1);
        }
}

/* Goroutines run and timers go off. */
static void check_others_go_on(void)
{
        w_store_rel(&stop_ticks, 0);
        int64_t  ticker = sched_go(tick, NULL);
        uint32_t until = w_load_acq(&n_ticks) + 20;

        while (w_load_acq(&n_ticks) < until)
                CHECK_EQ(weft_sleep(WEFT_MS(1)), 0);
        CHECK_EQ(weft_check(), 0);
        w_store_rel(&stop_ticks, 1);
        sched_join(ticker);
}

static void dump_there(void *arg)
{
        weft_dump(*(int *)arg);
        w_add_rel(&n_dumped, 1);
}

/* The pipe has been written to and does not take much more. */
static void await_text(void)
{
        for (int n = 0; n < 32768;) {
                CHECK_EQ(weft_sleep(WEFT_MS(1)), 0);
                CHECK_EQ(ioctl(ends[0], FIONREAD, &n), 0);
        }
}

/* ---- Reading --------------------------------------------------------------------------------- */

static uint32_t n_headers(void)
{
        uint32_t n = 0;

        for (const char *at = text; (at = strstr(at, "goroutine ")); at++)
                n += at == text || at[-1] == '\n';
        return n;
}

static bool read_some(ssize_t (*get)(int, void *, size_t))
{
        ssize_t n = get(ends[0], text + n_text, sizeof(text) - 1 - n_text);

        n_text += n > 0 ? (size_t)n : 0;
        text[n_text] = '\0';
        return n > 0;
}

static void read_to_the_end(void *arg)
{
        (void)arg;
        while (read_some(weft_read))
                ;
}

/* Of a dump into a file. */
static void dump_into_text(void)
{
        FILE *file = tmpfile();

        CHECK(file);
        weft_dump(fileno(file));
        ssize_t n = pread(fileno(file), text, sizeof(text) - 1, 0);

        text[n > 0 ? n : 0] = '\0';
        fclose(file);
}

/* ---- Pipes ----------------------------------------------------------------------------------- */

static void main_read_by_goroutine(void *arg)
{
        CHECK_EQ(pipe2(ends, *(int *)arg), 0);
        start_many();
        int64_t reader = sched_go(read_to_the_end, NULL);

        weft_dump(ends[1]);
        CHECK_EQ(close(ends[1]), 0);
        sched_join(reader);
        CHECK_EQ(n_headers(), N_MANY + 2);
}

TEST(a_goroutine_may_read_what_another_dumps)
{
        int flags = 0;

        sched_run(main_read_by_goroutine, &flags);
}

TEST(a_descriptor_that_does_not_wait_is_waited_for)
{
        int flags = O_NONBLOCK;

        sched_run(main_read_by_goroutine, &flags);
}

static void main_unread_dump(void *arg)
{
        (void)arg;
        CHECK_EQ(pipe(ends), 0);
        start_many();
        int64_t dumper = sched_go(dump_there, &ends[1]);

        await_text();
        check_others_go_on();
        CHECK_EQ(w_load_acq(&n_dumped), 0);
        int64_t reader = sched_go(read_to_the_end, NULL);

        sched_join(dumper);
        CHECK_EQ(close(ends[1]), 0);
        sched_join(reader);
        CHECK_EQ(n_headers(), N_MANY + 2);
}

TEST(a_dump_without_a_reader_delays_no_goroutine) { sched_run(main_unread_dump, NULL); }

static void main_sigquit(void *arg)
{
        (void)arg;
        start_many();
        CHECK_EQ(raise(SIGQUIT), 0);
        await_text();
        check_others_go_on();
        while (n_headers() < N_MANY + 1)
                CHECK(read_some(test_read));
        while (weft_count() > N_MANY + 1)       /* the dumping goroutine has not ended */
                CHECK_EQ(weft_sleep(WEFT_MS(1)), 0);
}

TEST(a_dump_for_sigquit_without_a_reader_delays_no_goroutine)
{
        int err = dup(2);

        CHECK(err >= 0);
        CHECK_EQ(pipe(ends), 0);
        CHECK(dup2(ends[1], 2) == 2);
        sched_run(main_sigquit, NULL);
        CHECK(dup2(err, 2) == 2);
}

static void main_leaves(void *arg)
{
        start_many();
        sync_thread_start(arg, dump_there, &ends[1]);
        await_text();
        check_others_go_on();
}

TEST(a_run_ends_while_a_thread_writes_what_it_was)
{
        struct sync_thread thread;

        CHECK_EQ(pipe(ends), 0);
        sched_run(main_leaves, &thread);
        CHECK_EQ(w_load_acq(&n_dumped), 0);
        while (n_headers() < N_MANY + 1)
                CHECK(read_some(test_read));
        sync_thread_join(&thread);
}

static void main_leaves_goroutine(void *arg)
{
        (void)arg;
        start_many();
        (void)sched_go(dump_there, &ends[1]);
        await_text();
}

/* Its thread is abandoned, and runs on until it is stopped. */
TEST(a_run_ends_while_a_goroutine_writes_what_it_was)
{
        weft_config cfg = { .shutdown_ms = 20 };

        if (test_under_valgrind())
                test_skip("valgrind reports an abandoned thread as a leak");
        CHECK_EQ(pipe(ends), 0);
        CHECK_EQ(sched_run_left(&cfg, main_leaves_goroutine, NULL), 1);
        CHECK(read_some(test_read) && n_headers() > 0);
        test_sleep_us(20000);
        CHECK_EQ(w_load_acq(&n_dumped), 0);     /* it never comes back */
}

static void main_without_reader(void *arg)
{
        (void)arg;
        start_many();
        CHECK_EQ(pipe2(ends, O_NONBLOCK), 0);
        weft_dump(ends[1]);             /* gives up */
        CHECK(read_some(test_read) && n_headers() > 0 && n_headers() < N_MANY);
        CHECK_EQ(close(ends[0]), 0);
        weft_dump(ends[1]);
        CHECK_EQ(close(ends[1]), 0);
        weft_dump(ends[1]);
}

TEST(a_dump_gives_up_if_it_cannot_be_written) { sched_run(main_without_reader, NULL); }

/* ---- Equal stacks ---------------------------------------------------------------------------- */

enum { N_ALIKE = 50, N_OTHERS = 3 };

static void wait_here(void *arg)
{
        (void)arg;
        CHECK_EQ(weft_park(), 0);
}

static void wait_there(void *arg)
{
        (void)arg;
        CHECK_EQ(weft_sleep(WEFT_FOREVER), 0);
}

/* A waiting goroutine has switched to another goroutine, to g0, or without a P. Only goroutines
 * that did the same have equal stacks. */
enum { WAYS_TO_LEAVE = 3 };

static uint32_t n_times(const char *what)
{
        uint32_t n = 0;

        for (const char *at = text; (at = strstr(at, what)); at++)
                n++;
        return n;
}

static void go_alike(void *arg)
{
        (void)arg;
        for (int i = 0; i < N_ALIKE; i++)
                sched_await_parked(sched_go(wait_here, NULL));
        for (int i = 0; i < N_OTHERS; i++)
                sched_await_parked(sched_go(wait_there, NULL));
}

static void main_alike(void *arg)
{
        (void)arg;
        go_alike(NULL);
        dump_into_text();
        uint32_t n = n_times("created in goroutine 1 by\n");

        CHECK_EQ(n_headers(), 1 + N_ALIKE + N_OTHERS);
        CHECK_MSG(n >= 2 && n <= 2 * WAYS_TO_LEAVE, "%u stacks", n);
        CHECK_EQ(n_times("\n\n"), n + 1);
        CHECK_EQ(n_times("[park"), N_ALIKE);
        CHECK_EQ(n_times("[sleep"), N_OTHERS);
        sched_join(sched_go(go_alike, NULL));
        dump_into_text();
        CHECK_EQ(n_headers(), 1 + 2 * (N_ALIKE + N_OTHERS));
        n = n_times("created in goroutine");            /* the others have another parent */
        CHECK_MSG(n >= 5 && n <= 1 + 4 * WAYS_TO_LEAVE, "%u stacks", n);
}

TEST(equal_stacks_are_shown_once_below_all_their_goroutines) { sched_run(main_alike, NULL); }

/* ---- Since when ------------------------------------------------------------------------------ */

enum { BUSY_MS = 1600, SLACK_MS = 3000 };        /* the monitor may be late */

struct waiter {
        const char *name;
        void      (*before)(void);      /* what it does first; or NULL */
        int64_t     at_first, at_last;  /* in between it began to wait */
        int64_t     id;
};

static void compute(void)
{
        for (int64_t until = weft_now() + WEFT_MS(BUSY_MS); weft_now() < until;)
                ;
}

static void block(void)
{
        test_sleep_us(BUSY_MS * 1000);
}

static void do_and_wait(void *arg)
{
        struct waiter *w = arg;

        weft_name(w->name);
        if (w->before)
                w->before();
        w->at_first = weft_now();
        CHECK_EQ(weft_park(), 0);
}

static int64_t seconds_of(const struct waiter *w)
{
        char header[64];
        long seconds;

        snprintf(header, sizeof(header), "\"%s\" [park", w->name);
        const char *at = strstr(text, header);

        CHECK_MSG(at, "no %s in: %s", header, text);
        return sscanf(at + strlen(header), ", %ld s", &seconds) == 1 ? seconds : 0;
}

static void main_since(void *arg)
{
        struct waiter all[] = {
                { .name = "waits" }, { .name = "computes", .before = compute },
                { .name = "blocks", .before = block },
        };

        (void)arg;
        for (int i = 0; i < 3; i++)
                all[i].id = sched_go(do_and_wait, &all[i]);
        for (int i = 0; i < 3; i++) {
                sched_await_parked(all[i].id);
                all[i].at_last = weft_now();
        }
        int64_t before = weft_now();

        dump_into_text();
        int64_t after = weft_now();

        for (int i = 0; i < 3; i++) {
                int64_t found = seconds_of(&all[i]);

                CHECK_MSG(found >= (before - all[i].at_last) / WEFT_SEC(1) &&
                          found <= (after - all[i].at_first + WEFT_MS(SLACK_MS)) / WEFT_SEC(1),
                          "%s: %ld s", all[i].name, (long)found);
        }
}

TEST(a_dump_knows_how_long_each_has_waited) { sched_run(main_since, NULL); }

/* ---- Memory ---------------------------------------------------------------------------------- */

#if defined(W_DEBUG)

static void main_without_memory(void *arg)
{
        (void)arg;
        start(N_MORE);              /* more than a piece of memory holds */
        w_inject_from(W_CALL_MMAP, 1, ENOMEM);
        dump_into_text();
        CHECK_EQ(n_headers(), 0);
        CHECK(strncmp(text, "(cut: ", 6) == 0);
        w_inject_from(W_CALL_MMAP, 2, ENOMEM);
        dump_into_text();
        CHECK(n_headers() > 0 && n_headers() < N_MORE);
        CHECK(strstr(text, "\n\n(cut: "));
        w_inject_off();
        dump_into_text();
        CHECK_EQ(n_headers(), N_MORE + 1);
        CHECK(!strstr(text, "(cut: "));
}

TEST(without_memory_a_dump_says_that_it_is_cut) { sched_run(main_without_memory, NULL); }

#else

TEST(without_memory_a_dump_says_that_it_is_cut)
{
        test_skip("release builds have no fault injection");
}

#endif

/* ---- The dump of a fatal error --------------------------------------------------------------- */

static weft_mutex mutex;

/* Names that the dynamic linker knows. */
#define NAMED __attribute__((visibility("default"))) W_NOIPA

void unlock_too_often(void *arg);
void call_blocking(void);

NAMED void unlock_too_often(void *arg)
{
        (void)arg;
        weft_mutex_unlock(&mutex);
        __asm__ volatile("" ::: "memory");      /* no tail call */
}

NAMED void call_blocking(void)
{
        CHECK_EQ(weft_blocking(unlock_too_often, NULL), 0);
        __asm__ volatile("" ::: "memory");
}

static void main_at_fault(void *arg)
{
        if (*(bool *)arg)
                call_blocking();
        else
                unlock_too_often(NULL);
}

static void run_at_fault(void *arg)
{
        (void)!weft_run(main_at_fault, arg);
}

/* The last part of the output about goroutine 1. */
static void check_fatal_shows(bool blocking, const char *what)
{
        const char *header = blocking ? "\ngoroutine 1 [blocking region]:\n\t0x"
                                      : "\ngoroutine 1 [running]:\n\t0x";

        (void)test_run_child(run_at_fault, &blocking, text, sizeof(text));
        const char *at = strstr(text, header);
        const char *found = at ? strstr(at, what) : NULL;

        CHECK_MSG(strstr(text, "unlock of unlocked mutex"), "it said: %s", text);
        CHECK_MSG(found && found < strstr(at, "created in"), "no %s in: %s", what, text);
}

TEST(a_fatal_report_shows_the_goroutine_at_fault)
{
        check_fatal_shows(false, "unlock_too_often");
}

TEST(a_fatal_report_in_a_blocking_call_shows_the_caller)
{
        check_fatal_shows(true, "call_blocking");
}
