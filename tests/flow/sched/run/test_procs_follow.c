/* tests/flow/sched/run/test_procs_follow.c - the number of Ps follows the machine, unless the
 * program has set one.
 *
 * The monitor checks once a second, so each test waits for that once.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/linux/cgroup.h"
#include "lib/sync.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- The machine ----------------------------------------------------------------------------- */

/* Every thread of the process: to its first CPU. */
static void bind_all_threads(void)
{
        DIR      *tasks = opendir("/proc/self/task");
        cpu_set_t set;
        size_t    first = 0;

        CHECK(tasks && sched_getaffinity(0, sizeof(set), &set) == 0);
        while (!CPU_ISSET(first, &set))
                first++;
        CPU_ZERO(&set);
        CPU_SET(first, &set);
        for (struct dirent *e; (e = readdir(tasks));)
                if (e->d_name[0] != '.')
                        (void)sched_setaffinity(atoi(e->d_name), sizeof(set), &set);
        closedir(tasks);
}

static char tree[] = "/tmp/weft-follow-XXXXXX";

static void put(const char *name, const char *text)
{
        char path[128];

        snprintf(path, sizeof(path), "%s/%s", tree, name);
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

        CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
        close(fd);
}

static void remove_tree(void)
{
        static const char *const names[] = { "proc/self/cgroup", "proc/self/mountinfo", "proc/self",
                                             "proc", "cg/cpu.max", "cg/us/cpu.max", "cg/us", "cg",
                                             "" };
        char path[128];

        for (size_t i = 0; i < W_ARRAY_LEN(names); i++) {
                snprintf(path, sizeof(path), "%s/%s", tree, names[i]);
                (void)remove(path);
        }
}

/* A group without a limit in one without a limit. */
static void make_tree(void)
{
        static const char *const dirs[] = { "proc", "proc/self", "cg", "cg/us" };
        char path[128];

        CHECK(mkdtemp(tree));
        atexit(remove_tree);
        for (size_t i = 0; i < W_ARRAY_LEN(dirs); i++) {
                snprintf(path, sizeof(path), "%s/%s", tree, dirs[i]);
                CHECK_EQ(mkdir(path, 0700), 0);
        }
        put("proc/self/cgroup", "0::/us\n");
        put("proc/self/mountinfo", "1 1 0:1 / /cg rw - cgroup2 cgroup2 rw\n");
        put("cg/us/cpu.max", "max 100000\n");
        put("cg/cpu.max", "max 100000\n");
        w_cgroup_root = tree;
}

/* ---- Following ------------------------------------------------------------------------------- */

/* The harness ends a wait that takes too long. */
static void await_procs(int n)
{
        while (weft_procs(0) != n)
                CHECK_EQ(weft_sleep(WEFT_MS(5)), 0);
        CHECK_EQ(weft_check(), 0);
}

static void needs_two_cpus(void)
{
        unsetenv("WEFT_PROCS");
        if (w_os_cpu_count(0) < 2)
                test_skip("one CPU: nothing to follow");
}

static void main_affinity(void *arg)
{
        (void)arg;
        CHECK_EQ(weft_procs(0), w_os_cpu_count(0));
        bind_all_threads();
        await_procs(1);
        CHECK_EQ(weft_count(), 1);
}

TEST(procs_follow_the_affinity)
{
        needs_two_cpus();
        sched_run(main_affinity, NULL);
}

/* Of an ancestor. */
static void main_quota(void *arg)
{
        (void)arg;
        CHECK_EQ(weft_procs(0), w_os_cpu_count(0));
        put("cg/cpu.max", "50000 100000\n");
        await_procs(1);
        put("cg/cpu.max", "max 100000\n");
        CHECK_EQ(weft_procs(WEFT_PROCS_AUTO), 1);
        CHECK_EQ(weft_procs(0), w_os_cpu_count(0));
        put("cg/cpu.max", "50000 100000\n");            /* it has not stopped following */
        await_procs(1);
}

TEST(procs_follow_the_quota)
{
        needs_two_cpus();
        make_tree();
        sched_run(main_quota, NULL);
}

/* At the start, from then on, and when asked. */
static void main_much(void *arg)
{
        int n = weft_procs(0);

        (void)arg;
        CHECK_EQ(n, w_os_cpu_count(0));
        put("cg/cpu.max", "50000 100000\n");
        await_procs(1);
        put("cg/cpu.max", "100000000 100000\n");
        await_procs(n);
        CHECK_EQ(weft_procs(WEFT_PROCS_AUTO), n);
        CHECK_EQ(weft_procs(0), n);
}

TEST(a_quota_above_the_cpus_gives_the_cpus)
{
        needs_two_cpus();
        make_tree();
        put("cg/cpu.max", "100000000 100000\n");
        sched_run(main_much, NULL);
}

/* Set, and then no longer set: a later change is followed. */
static void main_said_and_unsaid(void *arg)
{
        (void)arg;
        CHECK_EQ(weft_procs(3), w_os_cpu_count(0));
        CHECK_EQ(weft_procs(WEFT_PROCS_AUTO), 3);
        CHECK_EQ(weft_procs(0), w_os_cpu_count(0));
        put("cg/us/cpu.max", "100000 100000\n");
        await_procs(1);
}

TEST(procs_follow_again_after_they_were_set)
{
        needs_two_cpus();
        make_tree();
        sched_run(main_said_and_unsaid, NULL);
}

static void main_said(void *arg)
{
        int n = weft_procs(0);

        if (arg)
                CHECK_EQ(weft_procs(n), n);     /* the same number, but set */
        put("cg/us/cpu.max", "100000 100000\n");
        CHECK_EQ(weft_sleep(WEFT_MS(1300)), 0);
        CHECK_EQ(weft_procs(0), n);
        CHECK_EQ(weft_procs(WEFT_PROCS_AUTO), n);
        CHECK_EQ(weft_procs(0), 1);
}

TEST(procs_that_were_set_by_a_call_do_not_follow)
{
        needs_two_cpus();
        make_tree();
        sched_run(main_said, tree);
}

TEST(procs_of_the_environment_do_not_follow)
{
        make_tree();
        setenv("WEFT_PROCS", "3", 1);
        sched_run(main_said, NULL);
}

TEST(procs_of_the_code_do_not_follow)
{
        weft_config cfg = { .procs = 3 };

        unsetenv("WEFT_PROCS");
        make_tree();
        test_set_dump(sched_dump);
        CHECK_EQ(sched_run_left(&cfg, main_said, NULL), 0);
}

/* ---- Nothing is left of it ------------------------------------------------------------------- */

static void main_exits(void *arg)
{
        (void)arg;
        put("cg/us/cpu.max", "100000 100000\n");
        weft_exit();
}

/* The run ends although the number was about to change. */
TEST(procs_following_keeps_no_run_from_ending)
{
        needs_two_cpus();
        make_tree();
        sched_run(main_exits, NULL);
}
