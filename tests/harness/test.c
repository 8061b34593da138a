/* tests/harness/test.c - runs one named test in this process.
 *
 * SPDX-License-Identifier: MIT
 */
#include "harness/storm.h"
#include "harness/test.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(W_VALGRIND)
#include <valgrind/valgrind.h>
#endif

enum { EXIT_SKIPPED = 77 };

static struct test_case *tests;
static const char       *running = "?";
static uint64_t          seed;
static int64_t           begun;
static void            (*dump)(void);

void test_register(struct test_case *test)
{
        test->next = tests;
        tests = test;
}

uint64_t test_seed(void)
{
        return seed;
}

void test_set_dump(void (*fn)(void))
{
        dump = fn;
}

bool test_under_valgrind(void)
{
#if defined(W_VALGRIND)
        return RUNNING_ON_VALGRIND != 0;
#else
        return false;
#endif
}

bool test_is_emulated(void)
{
        char  arch[32] = "";
        FILE *file = fopen("/proc/sys/kernel/arch", "r");

        if (!file)
                return false;
        bool known = fgets(arch, sizeof(arch), file) != NULL;
        fclose(file);
#if defined(__x86_64__)
        return known && strncmp(arch, "x86_64", 6) != 0;
#else
        return known && strncmp(arch, "aarch64", 7) != 0;
#endif
}

bool test_is_slow(void)
{
#if defined(W_BUILT_WITH_ASAN) || defined(W_BUILT_WITH_TSAN)
        return true;
#else
        return test_under_valgrind() || test_is_emulated();
#endif
}

long test_scale(long n)
{
        return test_is_slow() ? n / 10 : n;
}

static void end_with_dump(void)
{
        dprintf(2, "  seed: SEED=%" PRIu64 "\n", seed);
        if (dump)
                dump();
        _exit(1);
}

void test_fail(const char *file, int line, const char *fmt, ...)
{
        char    text[1024];
        va_list args;

        va_start(args, fmt);
        vsnprintf(text, sizeof(text), fmt, args);
        va_end(args);
        dprintf(2, "FAILED %s at %s:%d\n  %s\n", running, file, line, text);
        end_with_dump();
        __builtin_unreachable();
}

void test_skip(const char *why)
{
        printf("skipped: %s\n", why);
        fflush(stdout);
        _exit(EXIT_SKIPPED);
}

void test_check_str(const char *file, int line, const char *what, const char *found,
                    const char *expected)
{
        if (!found || strcmp(found, expected) != 0)
                test_fail(file, line, "%s is \"%s\", expected \"%s\"", what,
                          found ? found : "(null)", expected);
}

/* CTest kills without a message; this comes shortly before and prints the state. */
static void on_timeout(int sig)
{
        (void)sig;
        dprintf(2, "FAILED %s: no end within its time\n", running);
        end_with_dump();
}

static void arm_timeout(void)
{
        const char *limit = getenv("TEST_TIMEOUT");
        long        seconds = limit ? strtol(limit, NULL, 10) : 600;

        signal(SIGALRM, on_timeout);
        alarm(seconds > 2 ? (unsigned)(seconds - 2) : 1);
}

/* The parent may ignore or block signals (nohup, a shell's background), and both are inherited.
 * Handlers that exist already belong to a sanitizer. */
static void forget_inherited_signals(void)
{
        sigset_t none;

        for (int sig = 1; sig < NSIG; sig++) {
                struct sigaction now;

                if (sigaction(sig, NULL, &now) == 0 && now.sa_handler == SIG_IGN)
                        signal(sig, SIG_DFL);
        }
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
}

static int64_t now_ns(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

bool test_again(uint32_t n_done, uint32_t least, uint32_t most)
{
        if (n_done < least || getenv("TEST_LONG"))
                return n_done < most;
        return n_done < most && now_ns() - begun < INT64_C(1000000000);
}

static void choose_seed(void)
{
        const char     *given = getenv("SEED");
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        seed = given ? strtoull(given, NULL, 10)
                     : (uint64_t)now.tv_nsec * 1000003u + (uint64_t)getpid();
}

ssize_t test_read(int fd, void *buf, size_t size)
{
        ssize_t n;

        do
                n = read(fd, buf, size);
        while (n < 0 && errno == EINTR);
        return n;
}

/* The kernel continues to connect, and the next call waits for that connection. */
int test_connect(int fd, const void *addr, unsigned size)
{
        int rc;

        do
                rc = connect(fd, addr, size);
        while (rc < 0 && errno == EINTR);
        return rc;
}

int test_accept(int fd)
{
        int rc;

        do
                rc = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
        while (rc < 0 && errno == EINTR);
        return rc;
}

/* Stores what fits, and reads on to the end, so that the child never blocks. */
static void drain(int fd, char *out, size_t size)
{
        size_t have = 0;
        char   chunk[512];

        for (ssize_t n; (n = test_read(fd, chunk, sizeof(chunk))) > 0;) {
                size_t room = size - 1 - have;
                size_t take = (size_t)n < room ? (size_t)n : room;

                memcpy(out + have, chunk, take);
                have += take;
        }
        out[have] = '\0';
}

void test_wait_for(pid_t pid, int *status)
{
        pid_t found;

        do
                found = waitpid(pid, status, 0);
        while (found < 0 && errno == EINTR);
        CHECK(found == pid);
}

int test_run_child(void (*fn)(void *), void *arg, char *err, size_t size)
{
        int ends[2], status;

        CHECK(pipe(ends) == 0);
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);       /* a child that hangs ends with us */
                dup2(ends[1], 2);
                close(ends[0]);
                close(ends[1]);
                test_storm_begin();
                fn(arg);
                _exit(0);
        }
        close(ends[1]);
        drain(ends[0], err, size);
        close(ends[0]);
        test_wait_for(pid, &status);
        return status;
}

void test_expect_death(void (*fn)(void *), void *arg, int sig, const char *text)
{
        char err[8192];
        int  status = test_run_child(fn, arg, err, sizeof(err));

        CHECK_MSG(WIFSIGNALED(status) && WTERMSIG(status) == sig,
                  "child ended with wait status %#x, expected signal %d; it said:\n%s",
                  (unsigned)status, sig, err);
        CHECK_MSG(strstr(err, text), "child did not say \"%s\" but:\n%s", text, err);
}

void test_sleep_us(long us)
{
        struct timespec until;

        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += us / 1000000;
        until.tv_nsec += us % 1000000 * 1000;
        if (until.tv_nsec >= 1000000000) {
                until.tv_sec++;
                until.tv_nsec -= 1000000000;
        }
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
                continue;
}

static long count_entries(const char *path)
{
        DIR *dir = opendir(path);
        long n = 0;

        if (!dir)
                return -1;
        while (readdir(dir))
                n++;
        closedir(dir);
        return n;
}

static long count_mappings(void)
{
        FILE *maps = fopen("/proc/self/maps", "r");
        long  n = 0;

        if (!maps)
                return -1;
        for (int c; (c = fgetc(maps)) != EOF;)
                n += c == '\n';
        fclose(maps);
        return n;
}

long test_resident_kib(void)
{
        FILE *statm = fopen("/proc/self/statm", "r");
        long  size, resident;

        CHECK(statm && fscanf(statm, "%ld %ld", &size, &resident) == 2);
        fclose(statm);
        return resident * (sysconf(_SC_PAGESIZE) >> 10);
}

struct test_resources test_resources_now(void)
{
        /* The first read makes libc allocate its buffers; the second counts. */
        (void)count_mappings();
        (void)count_entries("/proc/self/fd");
        return (struct test_resources){
                .threads = count_entries("/proc/self/task"),
                .mappings = count_mappings(),
                .descriptors = count_entries("/proc/self/fd"),
        };
}

bool test_maps_are_ours(void)
{
#if defined(W_BUILT_WITH_TSAN) || defined(W_BUILT_WITH_ASAN)
        return false;
#else
        return !test_under_valgrind();
#endif
}

void test_check_no_leak(const struct test_resources *before)
{
        struct test_resources now = test_resources_now();

        /* A thread that was joined shows in /proc until it has got a CPU for its last steps. */
        for (int i = 0; i < 10000 && now.threads > before->threads; i++) {
                usleep(1000);
                now = test_resources_now();
        }
        CHECK_MSG(now.threads <= before->threads, "%ld threads, %ld before", now.threads,
                  before->threads);
        CHECK_EQ(now.descriptors, before->descriptors);
        if (test_maps_are_ours())
                CHECK_MSG(now.mappings <= before->mappings, "%ld mappings, %ld before",
                          now.mappings, before->mappings);
}

/* Every test in a child of its own, one after the other: valgrind watches a forked child without a
 * new start, which costs more than most tests. */
static int run_all(void)
{
        int n_failed = 0, n_run = 0;

        for (struct test_case *t = tests; t; t = t->next) {
                int   status = 0;
                pid_t pid = fork();

                if (pid == 0) {
                        running = t->name;
                        begun = now_ns();
                        arm_timeout();
                        test_storm_begin();
                        t->fn();
                        exit(0);
                }
                if (pid < 0 || waitpid(pid, &status, 0) != pid)
                        return 1;
                bool skipped = WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SKIPPED;

                if (status != 0 && !skipped) {
                        fprintf(stderr, "FAILED %s: wait status %#x\n", t->name, (unsigned)status);
                        n_failed++;
                }
                n_run += !skipped;
        }
        printf("%d run, %d failed\n", n_run, n_failed);
        return n_failed ? 1 : n_run ? 0 : EXIT_SKIPPED;
}

static int list(void)
{
        for (struct test_case *t = tests; t; t = t->next)
                puts(t->name);
        return 0;
}

int main(int argc, char **argv)
{
        if (argc != 2) {
                fprintf(stderr, "usage: %s TEST | --all | --list\n", argv[0]);
                return 2;
        }
        if (strcmp(argv[1], "--list") == 0)
                return list();
        forget_inherited_signals();
        choose_seed();
        begun = now_ns();
        if (strcmp(argv[1], "--all") == 0)
                return run_all();
        arm_timeout();
        test_storm_begin();
        for (struct test_case *t = tests; t; t = t->next) {
                if (strcmp(t->name, argv[1]) == 0) {
                        running = t->name;
                        t->fn();
                        return 0;
                }
        }
        fprintf(stderr, "%s: no test '%s'; --list shows them\n", argv[0], argv[1]);
        return 2;
}
