/* tests/flow/sched/inspect/test_freeze_dump.c - what a dump shows of goroutines that run, or wait
 * in the kernel.
 *
 * test: procs=1,2,4 timeout=600 valgrind=no exports=yes
 * The long form takes minutes. The test inspects its threads, and valgrind runs these in its own
 * way. The program exports its functions, so that a report can name them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/freeze.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

enum { N_WAIT = 5, TEXT_BYTES = 256 * 1024 };

/* Names that the dynamic linker knows. */
#define NAMED __attribute__((visibility("default"))) W_NOIPA

/* A sanitizer's functions are between, or their callers have large frames, either full of
 * leftovers. A thread in the kernel is seen without its frame pointer, and the first frame found on
 * its stack may be a leftover that skips the caller. */
#if defined(W_TSAN) || defined(W_ASAN)
enum { LEFTOVERS = 1 };
#else
enum { LEFTOVERS = 0 };
#endif

static w_atomic_u32 is_over, n_there, n_cut_short, spins_now;
static int          ends[2], sockets[2], is_over_ends[2];
static w_atomic_u32 tids[N_WAIT];
static char         text[TEXT_BYTES];

/* ---- The goroutines of the dump -------------------------------------------------------------- */

void spin_in_the_open(w_atomic_u32 *until);
void wait_in_read(int fd);
void wait_in_poll(void);
void wait_in_select(void *arg);
void call_blocking(void);
void wait_in_mutex(void *arg);

NAMED void spin_in_the_open(w_atomic_u32 *until)
{
        while (!w_load_acq(until))
                ;
        __asm__ volatile("" ::: "memory");      /* no tail call: nor in those below */
}

/* The caller is about to wait, and does nothing else before. */
static void be_there(void)
{
        w_store_rel(&tids[w_add_acqrel(&n_there, 1)], (uint32_t)w_os_tid());
}

static bool all_wait(void)
{
        struct w_os_thread_state state;

        for (int i = 0; i < N_WAIT; i++) {
                int tid = (int)w_load_acq(&tids[i]);

                if (!tid || w_os_thread_state(tid, &state) < 0 || state.computes)
                        return false;
        }
        return true;
}

NAMED void wait_in_read(int fd)
{
        char c;

        if (read(fd, &c, 1) != 1)
                w_add_acqrel(&n_cut_short, 1);
        __asm__ volatile("" ::: "memory");
}

NAMED void wait_in_poll(void)
{
        struct pollfd over = { .fd = is_over_ends[0], .events = POLLIN };

        if (poll(&over, 1, -1) != 1)
                w_add_acqrel(&n_cut_short, 1);
        __asm__ volatile("" ::: "memory");
}

NAMED void wait_in_select(void *arg)
{
        fd_set over;

        (void)arg;
        FD_ZERO(&over);
        FD_SET(is_over_ends[0], &over);
        be_there();
        if (select(is_over_ends[0] + 1, &over, NULL, NULL, NULL) != 1)
                w_add_acqrel(&n_cut_short, 1);
        __asm__ volatile("" ::: "memory");
}

NAMED void call_blocking(void)
{
        CHECK_EQ(weft_blocking(wait_in_select, NULL), 0);
        __asm__ volatile("" ::: "memory");
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

NAMED void wait_in_mutex(void *arg)
{
        (void)arg;
        be_there();
        CHECK_EQ(pthread_mutex_lock(&mutex), 0);
        CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
}

static void spins(void *arg)
{
        (void)arg;
        weft_name("spins");
        w_store_rel(&spins_now, 1);
        spin_in_the_open(&is_over);
}

static void reads(void *arg)
{
        weft_name("reads");
        be_there();
        wait_in_read(*(int *)arg);
}

static void polls_in_region(void *arg)
{
        (void)arg;
        weft_name("polls in a region");
        weft_block_begin();
        be_there();
        wait_in_poll();
        weft_block_end();
}

static void waits_on_g0(void *arg)
{
        (void)arg;
        weft_name("waits on its thread's stack");
        call_blocking();
}

static void dump_into_text(void)
{
        FILE *file = tmpfile();

        CHECK(file);
        weft_dump(fileno(file));
        ssize_t n = pread(fileno(file), text, sizeof(text) - 1, 0);

        text[n > 0 ? n : 0] = '\0';
        fclose(file);
}

/* The part about the goroutine of that name has this text. */
static bool shows(const char *name, const char *what)
{
        char        header[64];
        const char *at, *end, *found;

        snprintf(header, sizeof(header), " \"%s\" [", name);
        at = strstr(text, header);
        end = at ? strstr(at, "\n\n") : NULL;
        found = at ? strstr(at, what) : NULL;
        return found && end && found < end;
}

#define CHECK_SHOWS(name, what) CHECK_MSG(shows(name, what), "%s: no %s in:\n%s", name, what, text)

/* The goroutine that computes is started only if its P can be taken. */
static int start_all(int64_t ids[], bool with_signal)
{
        ids[0] = sched_go(reads, &ends[0]);
        ids[1] = sched_go(reads, &sockets[0]);
        ids[2] = sched_go(polls_in_region, NULL);
        ids[3] = sched_go(waits_on_g0, NULL);
        ids[4] = sched_go(wait_in_mutex, NULL);
        for (int n_seen = 0; n_seen < 3; n_seen = all_wait() ? n_seen + 1 : 0)
                CHECK_EQ(weft_sleep(WEFT_MS(1)), 0);
        if (with_signal)
                ids[N_WAIT] = sched_go(spins, NULL);
        while (with_signal && !w_load_acq(&spins_now))
                CHECK_EQ(weft_sleep(WEFT_MS(1)), 0);
        return N_WAIT + with_signal;
}

static void check_text(bool with_signal)
{
        if (with_signal || !LEFTOVERS)
                CHECK_SHOWS("reads", "wait_in_read");
        CHECK_SHOWS("polls in a region", LEFTOVERS ? "\n\t0x" : "wait_in_poll");
        CHECK_SHOWS("waits on its thread's stack", LEFTOVERS ? "\n\t0x" : "wait_in_select");
        CHECK_SHOWS("waits on its thread's stack", "call_blocking");
        CHECK_MSG(LEFTOVERS || strstr(text, "wait_in_mutex"), "no wait_in_mutex in:\n%s", text);
        if (with_signal)
                CHECK_SHOWS("spins", "spin_in_the_open");
        CHECK_MSG(strstr(text, "goroutine 1 [running, locked to thread]:\n\t0x"),
                  "no frames of the caller in:\n%s", text);
}

static void main_dump(void *arg)
{
        int64_t ids[N_WAIT + 1];
        bool    with_signal = *(bool *)arg;

        CHECK_EQ(pthread_mutex_lock(&mutex), 0);
        weft_thread_lock();             /* the owner of the mutex */
        int n = start_all(ids, with_signal);

        for (int i = 0; i < 3; i++) {
                dump_into_text();
                check_text(with_signal);
        }
        w_store_rel(&is_over, 1);
        CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
        CHECK_EQ(write(ends[1], "a", 1), 1);
        CHECK_EQ(write(sockets[1], "a", 1), 1);
        CHECK_EQ(write(is_over_ends[1], "a", 1), 1);
        for (int i = 0; i < n; i++)
                sched_join(ids[i]);
        weft_thread_unlock();
        CHECK_EQ(w_load_acq(&n_cut_short), 0);
}

static void set_up(void)
{
        freeze_need_kernel();
        if (getenv("TEST_STORM"))
                test_skip("the storm cuts short the calls that must be seen waiting");
        CHECK_EQ(pipe(ends), 0);
        CHECK_EQ(pipe(is_over_ends), 0);
        CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
}

TEST(a_dump_shows_where_each_runs_and_cuts_no_call_short)
{
        bool with_signal = FREEZE_WORKS;

        set_up();
        sched_run(main_dump, &with_signal);
}

/* No thread has a handler then; a thread in the kernel is still seen. */
TEST(a_dump_without_preemption_shows_waiting_goroutines)
{
        bool        with_signal = false;
        weft_config cfg = { .preempt = WEFT_PREEMPT_BLOCKED };

        set_up();
        CHECK_EQ(sched_run_left(&cfg, main_dump, &with_signal), 0);
        struct sigaction action;

        CHECK_EQ(sigaction(SIGURG, NULL, &action), 0);
        CHECK(action.sa_handler == SIG_DFL);
}

static void main_deaf(void *arg)
{
        sigset_t set;

        (void)arg;
        int64_t id = sched_go(spins, NULL);

        while (!w_load_acq(&spins_now))
                CHECK_EQ(weft_sleep(WEFT_MS(1)), 0);
        dump_into_text();
        CHECK_SHOWS("spins", "(running, its stack could not be examined)");
        w_store_rel(&is_over, 1);
        sched_join(id);
        sigemptyset(&set);
        sigpending(&set);
        CHECK(!sigismember(&set, SIGUSR1));
}

/* A blocked signal is not sent: it would arrive, and kill, when the run is over. */
TEST(a_thread_that_blocks_the_signal_is_left_alone)
{
        sigset_t    set;
        weft_config cfg = { .preempt_signal = SIGUSR1 };

        freeze_need_kernel();
        if (sched_procs() == 1)
                test_skip("the goroutine that cannot be preempted has the only P");
        sigemptyset(&set);
        sigaddset(&set, SIGUSR1);
        CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
        CHECK_EQ(sched_run_left(&cfg, main_deaf, NULL), 0);
        CHECK_EQ(pthread_sigmask(SIG_UNBLOCK, &set, NULL), 0);
}
