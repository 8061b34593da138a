/* tests/flow/net/test_waitpid.c - waiting for child processes.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sync.h"
#include "os/inject.h"

#include <dirent.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static pid_t start(const char *script)
{
        char *argv[] = { "sh", "-c", (char *)(uintptr_t)script, NULL };
        pid_t pid;

        weft_block_begin();
        CHECK_EQ(posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ), 0);
        weft_block_end();
        return pid;
}

/* Descriptors of children that are open. */
static int n_open(void)
{
        DIR *dir = opendir("/proc/self/fd");
        char to[64];
        int  n = 0;

        CHECK(dir);
        for (struct dirent *e; (e = readdir(dir));) {
                ssize_t len = readlinkat(dirfd(dir), e->d_name, to, sizeof(to) - 1);

                to[len > 0 ? len : 0] = '\0';
                n += strstr(to, "pidfd") != NULL;
        }
        closedir(dir);
        return n;
}

static void expect_exit(pid_t pid, int code)
{
        int status = -1;

        CHECK_EQ(weft_waitpid(pid, &status, 0), pid);
        CHECK(WIFEXITED(status));
        CHECK_EQ(WEXITSTATUS(status), code);
}

/* ---- One ------------------------------------------------------------------------------------- */

GO_TEST(a_child_ends_and_says_how)
{
        pid_t pid = start("exec sleep 100");
        int   status = 5;

        CHECK_EQ(weft_waitpid(pid, &status, WNOHANG), 0);
        CHECK_EQ(status, 5);
        CHECK_EQ(kill(pid, SIGKILL), 0);
        CHECK_EQ(weft_waitpid(pid, &status, 0), pid);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        CHECK_EQ(weft_waitpid(pid, &status, 0), -ECHILD);
        CHECK_EQ(weft_waitpid(getpid(), NULL, 0), -ECHILD);
        CHECK_EQ(weft_waitpid(-1, NULL, 0), -ECHILD);
        CHECK_EQ(weft_waitpid(1 << 30, NULL, WNOHANG), -ECHILD);
        CHECK_EQ(weft_waitpid(pid, NULL, 1 << 20), -EINVAL);
        expect_exit(start("exit 3"), 3);
        expect_exit(start("sleep 0.02; exit 4"), 4);
        pid = start("exit 0");
        CHECK_EQ(weft_waitpid(pid, NULL, 0), pid);
}

static void deadline_main(void *arg)
{
        pid_t      pid = start("exec sleep 100");
        weft_scope s;

        (void)arg;
        CHECK_EQ(weft_scope_open(&s, WEFT_MS(3)), 0);
        CHECK_EQ(weft_waitpid(pid, NULL, 0), -ETIMEDOUT);
        CHECK_EQ(weft_waitpid(pid, NULL, WNOHANG), -ETIMEDOUT);
        CHECK_EQ(weft_scope_close(&s), 0);
        CHECK_EQ(weft_scope_open(&s, WEFT_MS(3)), 0);
        CHECK_EQ(weft_waitpid(-1, NULL, 0), -ETIMEDOUT);
        CHECK_EQ(weft_scope_close(&s), 0);
        CHECK_EQ(kill(pid, SIGTERM), 0);
        CHECK_EQ(weft_waitpid(pid, NULL, 0), pid);
}

TEST(a_deadline_ends_the_wait_for_a_child)
{
        sched_run(deadline_main, NULL);
}

TEST(a_thread_waits_for_children_too)
{
        struct sync_thread t;

        CHECK_EQ(weft_start(NULL), 0);
        sync_thread_start(&t, deadline_main, NULL);
        sync_thread_join(&t);
        CHECK_EQ(weft_stop(), 0);
        CHECK_EQ(weft_threads_left(), 0);
        CHECK_EQ(weft_waitpid(-1, NULL, 0), -ESHUTDOWN);
}

/* ---- What has no descriptor ------------------------------------------------------------------ */

GO_TEST(stops_and_continuations_are_reported)
{
        pid_t pid = start("exec sleep 100");
        int   status;

        CHECK_EQ(kill(pid, SIGSTOP), 0);
        CHECK_EQ(weft_waitpid(pid, &status, WUNTRACED), pid);
        CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
        CHECK_EQ(kill(pid, SIGCONT), 0);
        CHECK_EQ(weft_waitpid(pid, &status, WCONTINUED), pid);
        CHECK(WIFCONTINUED(status));
        CHECK_EQ(kill(pid, SIGKILL), 0);
        CHECK_EQ(weft_waitpid(0, &status, 0), pid);     /* of this process group */
        CHECK(WIFSIGNALED(status));
}

#if defined(W_DEBUG)
static void kill_once_refused(void *arg)
{
        while (w_inject_hits() == 0)
                CHECK_EQ(weft_sleep(100000), 0);
        CHECK_EQ(kill(*(pid_t *)arg, SIGKILL), 0);
}

static void refuse(enum w_os_call kind, int error)
{
        pid_t pid = start("exec sleep 100");
        int   status;

        w_inject_from(kind, 1, error);
        int64_t id = sched_go(kill_once_refused, &pid);

        CHECK_EQ(weft_waitpid(pid, &status, 0), pid);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        sched_join(id);
        w_inject_off();
        CHECK_EQ(n_open(), 0);
}

static void refused_main(void *arg)
{
        weft_scope s;

        (void)arg;
        refuse(W_CALL_OPEN, ENOSYS);
        refuse(W_CALL_OPEN, EMFILE);
        refuse(W_CALL_POLLER, EMFILE);                  /* nor can it be opened */
        expect_exit(start("sleep 0.01; exit 4"), 4);    /* it can */
        refuse(W_CALL_POLLER, ENOSPC);
        refuse(W_CALL_POLLER, ENOMEM);
        pid_t pid = start("exec sleep 100");

        w_inject_from(W_CALL_POLLER, 1, ENOSPC);
        CHECK_EQ(weft_scope_open(&s, WEFT_MS(3)), 0);
        CHECK_EQ(weft_waitpid(pid, NULL, 0), -ETIMEDOUT);
        CHECK_EQ(weft_scope_close(&s), 0);
        w_inject_off();
        CHECK_EQ(kill(pid, SIGKILL), 0);
        CHECK_EQ(weft_waitpid(pid, NULL, 0), pid);
        CHECK_EQ(n_open(), 0);
}
#endif

/* The kernel is an old one, or there are no descriptors, or the poller has no room. */
TEST(without_a_descriptor_it_is_asked_again)
{
#if defined(W_DEBUG)
        if (test_under_valgrind())
                test_skip("valgrind refuses the descriptor itself, and the poller is not asked");
        sched_run(refused_main, NULL);
#else
        test_skip("calls are refused in debug builds only");
#endif
}

/* ---- Many ------------------------------------------------------------------------------------ */

enum { N_CHILDREN = 40 };

static w_atomic_u32 n_ended;
static pid_t        pids[N_CHILDREN];

static void wait_one(void *arg)
{
        int code = (int)(uintptr_t)arg;

        expect_exit(pids[code], code);
        w_add_rlx(&n_ended, 1);
}

/* They are started one after the other: each start occupies a thread. A wait occupies none. */
static void many_main(void *arg)
{
        int64_t ids[N_CHILDREN];
        char    script[40];

        (void)arg;
        for (int i = 0; i < N_CHILDREN; i++) {
                snprintf(script, sizeof(script), "sleep 0.0%d; exit %d", i % 5, i);
                pids[i] = start(script);
                ids[i] = sched_go(wait_one, (void *)(uintptr_t)i);
        }
        for (int i = 0; i < N_CHILDREN; i++)
                sched_join(ids[i]);
        CHECK_EQ(w_load_rlx(&n_ended), N_CHILDREN);
        CHECK_EQ(n_open(), 0);
}

TEST(many_wait_for_a_child_each)
{
        weft_config cfg = { .max_threads = 16 };

        w_store_rlx(&n_ended, 0);
        test_set_dump(sched_dump);
        CHECK_EQ(sched_run_left(&cfg, many_main, NULL), 0);
}
