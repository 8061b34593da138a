/* tests/flow/sched/run/test_fork.c - other programs started from goroutines and from other threads,
 * and which signals these block.
 *
 * test: procs=1,2,4 valgrind=no
 * Valgrind reports the threads of a child that ends as leaks, and fails by its exit status. It also
 * takes a change from a goroutine's stack to a near signal stack and back for a large frame that is
 * gone, with everything between the two; with both stacks registered it loses count.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sched.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char *const true_args[] = { (char *)"true", NULL };

static int await(pid_t pid)
{
        int status = -1;

        CHECK(pid > 0);
        weft_block_begin();
        test_wait_for(pid, &status);
        weft_block_end();
        return status;
}

static void by_fork(void)
{
        pid_t pid = fork();

        if (pid == 0) {
                execv("/bin/true", true_args);
                _exit(1);
        }
        CHECK_EQ(await(pid), 0);
}

static void by_exit(void)
{
        pid_t pid = fork();

        if (pid == 0)
                _exit(weft_now() > 0 ? 3 : 4);          /* needs no run */
        CHECK_EQ(WEXITSTATUS(await(pid)), 3);
}

/* The following code is between two calls of other libraries: nothing there may switch. */
static void by_vfork(void)
{
        pid_t pid = vfork();

        if (pid == 0) {
                execv("/bin/true", true_args);
                _exit(1);
        }
        CHECK_EQ(await(pid), 0);
}

static void by_spawn(void)
{
        pid_t pid;

        CHECK_EQ(posix_spawn(&pid, "/bin/true", NULL, NULL, true_args, environ), 0);
        CHECK_EQ(await(pid), 0);
}

static void by_system(void)
{
        CHECK_EQ(WEXITSTATUS(system("exit 7")), 7);
}

/* The output of the command, which must succeed. The streams of libc give up when a signal
 * comes. */
static void output_of(const char *command, char *out, size_t size)
{
        FILE  *stream = popen(command, "r");
        size_t n = 0;

        CHECK(stream != NULL);
        for (ssize_t more; (more = test_read(fileno(stream), out + n, size - 1 - n)) > 0;)
                n += (size_t)more;
        out[n] = '\0';
        CHECK_EQ(pclose(stream), 0);
}

static void by_popen(void)
{
        char line[32];

        output_of("echo works", line, sizeof(line));
        CHECK_STR(line, "works\n");
}

static void (*const ways[])(void) = { by_fork, by_exit, by_vfork, by_spawn, by_system, by_popen };
enum { N_WAYS = sizeof(ways) / sizeof(ways[0]) };

static void every_way(void *arg)
{
        (void)arg;
        for (int i = 0; i < N_WAYS; i++)
                ways[i]();
}

static w_atomic_u32 over;

static void keep_busy(void *arg)
{
        (void)arg;
        while (!w_load_acq(&over))
                weft_yield();
}

GO_TEST(goroutines_start_programs_in_every_way)
{
        enum { N = 3 };
        int64_t ids[N], busy = sched_go(keep_busy, NULL);
        weft_attr roomy = { .stack_size = 256 << 10 };  /* libc's own need for popen */

        every_way(NULL);
        for (int i = 0; i < N; i++) {
                ids[i] = weft_go_with(&roomy, every_way, NULL);
                CHECK(ids[i] > 0);
        }
        for (int i = 0; i < N; i++)
                sched_join(ids[i]);
        w_store_rel(&over, 1);
        sched_join(busy);
        CHECK_EQ(weft_check(), 0);
}

/* ---- From threads of the program ------------------------------------------------------------- */

static void *fork_here(void *arg)
{
        (void)arg;
        for (int i = 0; i < 3; i++) {
                int   status;
                pid_t pid = fork();

                if (pid == 0) {
                        execv("/bin/true", true_args);
                        _exit(1);
                }
                CHECK(pid > 0);
                test_wait_for(pid, &status);
                CHECK_EQ(status, 0);
        }
        return NULL;
}

GO_TEST(threads_of_the_program_start_programs)
{
        pthread_t thread;
        int64_t   busy = sched_go(keep_busy, NULL);

        weft_block_begin();
        CHECK_EQ(pthread_create(&thread, NULL, fork_here, NULL), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
        weft_block_end();
        w_store_rel(&over, 1);
        sched_join(busy);
}

static void nothing(void *arg)
{
        (void)arg;
}

/* While no run is on, a fork is like a fork in any other program. */
TEST(a_child_forked_without_a_run_has_its_own)
{
        for (int i = 0; i < 2; i++) {
                int   status;
                pid_t pid = fork();

                if (pid == 0) {
                        CHECK_EQ(sched_run_left(NULL, nothing, NULL), 0);
                        CHECK_EQ(sched_run_left(NULL, nothing, NULL), 0);
                        _exit(0);
                }
                CHECK(pid > 0);
                test_wait_for(pid, &status);
                CHECK_EQ(status, 0);
                sched_run(nothing, NULL);
        }
}

/* ---- What a child inherits ------------------------------------------------------------------- */

static uint64_t field(const char *status, const char *name)
{
        const char *at = strstr(status, name);

        CHECK_MSG(at != NULL, "no %s in %s", name, status);
        return strtoull(at + strlen(name), NULL, 16);
}

/* The mask of the caller of weft_run and nothing else; handlers are gone, and ignored signals are
 * still ignored. */
static void check_child(void)
{
        char text[4096];

        output_of("exec cat /proc/self/status", text, sizeof(text));
        CHECK_EQ(field(text, "SigBlk:\t"), W_SIG_BIT(SIGUSR2));
        CHECK_EQ(field(text, "SigIgn:\t") & W_SIG_BIT(SIGPIPE), 0);
        CHECK(field(text, "SigIgn:\t") & W_SIG_BIT(SIGHUP));
        CHECK_EQ(field(text, "SigCgt:\t") & (W_SIG_BIT(SIGUSR1) | W_SIG_BIT(SIGQUIT)), 0);
}

static w_atomic_u32 storm_over;

static void *storm(void *arg)
{
        (void)arg;
        while (!w_load_acq(&storm_over)) {
                CHECK_EQ(kill(getpid(), SIGUSR1), 0);
                usleep(500);
        }
        return NULL;
}

static void main_inherits(void *arg)
{
        sigset_t   set;
        pthread_t  sender;
        int        sig;

        (void)arg;
        sigemptyset(&set);
        sigaddset(&set, SIGUSR1);
        weft_chan *c = weft_signal(&set);

        CHECK(c != NULL);
        CHECK_EQ(pthread_create(&sender, NULL, storm, NULL), 0);
        for (int i = 0; i < 5; i++) {
                CHECK_EQ(weft_chan_recv(c, &sig), 0);
                check_child();
                by_fork();
                by_spawn();
        }
        w_store_rel(&storm_over, 1);
        weft_block_begin();
        CHECK_EQ(pthread_join(sender, NULL), 0);
        weft_block_end();
}

TEST(children_inherit_an_honest_mask_while_signals_arrive)
{
        sigset_t usr2;

        sigemptyset(&usr2);
        sigaddset(&usr2, SIGUSR2);
        signal(SIGHUP, SIG_IGN);
        signal(SIGUSR1, SIG_IGN);       /* a late signal finds no handler any more */
        CHECK_EQ(sigprocmask(SIG_SETMASK, &usr2, NULL), 0);
        sched_run(main_inherits, NULL);
}

/* ---- Masks ----------------------------------------------------------------------------------- */

/* The signals that the thread blocks, except those that libc lets no thread block. */
static uint64_t blocked_by(const char *task, char name[32])
{
        char     path[64], line[128];
        uint64_t mask = 0;

        snprintf(path, sizeof(path), "/proc/self/task/%.16s/status", task);
        FILE *file = fopen(path, "r");

        CHECK(file != NULL);
        while (fgets(line, sizeof(line), file)) {
                (void)sscanf(line, "Name:\t%31s", name);
                if (strncmp(line, "SigBlk:\t", 8) == 0)
                        mask = strtoull(line + 8, NULL, 16);
        }
        fclose(file);
        return mask;
}

static void main_masks(void *arg)
{
        DIR     *dir = opendir("/proc/self/task");
        sigset_t set;
        int      n_monitors = 0, n_ms = 0;

        (void)arg;
        sigfillset(&set);
        uint64_t all = w_os_signals_of(&set) & ~(W_SIG_BIT(SIGKILL) | W_SIG_BIT(SIGSTOP));

        CHECK(dir != NULL);
        for (struct dirent *d; (d = readdir(dir));) {
                char name[32] = "";

                if (d->d_name[0] == '.')
                        continue;
                uint64_t mask = blocked_by(d->d_name, name);
                bool     monitor = strcmp(name, "weft-sysmon") == 0;
                bool     m = strncmp(name, "weft-M", 6) == 0;

                CHECK(!monitor || (mask & all) == all);
                while (m && mask != W_SIG_BIT(SIGUSR2))         /* it may be starting */
                        mask = blocked_by(d->d_name, name);
                n_monitors += monitor;
                n_ms += m;
        }
        closedir(dir);
        CHECK_EQ(n_monitors, 1);
        CHECK(n_ms >= 1);
}

TEST(the_monitor_blocks_everything_and_ms_what_the_caller_did)
{
        sigset_t usr2;

        if (test_is_emulated())
                test_skip("the masks are the emulator's");
        sigemptyset(&usr2);
        sigaddset(&usr2, SIGUSR2);
        CHECK_EQ(sigprocmask(SIG_SETMASK, &usr2, NULL), 0);
        sched_run(main_masks, NULL);
}
