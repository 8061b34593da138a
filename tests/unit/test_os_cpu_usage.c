/* tests/unit/test_os_cpu_usage.c - the CPU time that a thread has used.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/os.h"

#include "base/note.h"

static struct w_os_cpu_usage read_well(int fd)
{
        struct w_os_cpu_usage use;
        int             rc;

        KEEPS_ERRNO(rc = w_os_cpu_usage_read(fd, &use));
        if (rc == -EOPNOTSUPP)
                test_skip("the kernel keeps no such figures");
        CHECK_EQ(rc, 0);
        return use;
}

static int open_well(int tid)
{
        int fd;

        KEEPS_ERRNO(fd = w_os_cpu_usage_open(tid));
        if (fd == -ENOENT)
                test_skip("no schedstat in /proc");
        CHECK(fd >= 0);
        return fd;
}

TEST(cpu_usage_of_a_thread_that_computes_grows)
{
        int             fd = open_well(w_os_tid());
        struct w_os_cpu_usage before = read_well(fd), use = before;

        while (use.run - before.run < 1000000)          /* the harness ends a wait for ever */
                use = read_well(fd);
        CHECK(use.wait >= before.wait);
        CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
        KEEPS_ERRNO(w_os_cpu_usage_close(fd));
        CHECK_EQ(fcntl(fd, F_GETFD), -1);
        CHECK_EQ(w_os_thread_is_ready(w_os_tid()), 1);
}

struct sleeper {
        struct note  slept, go_on;
        w_atomic_u32 tid;
};

static void sleeper_main(void *arg)
{
        struct sleeper *s = arg;

        w_store_rlx(&s->tid, (uint32_t)w_os_tid());
        w_note_wake(&s->slept);
        w_note_sleep(&s->go_on);
}

static bool is_asleep(int tid)
{
        int rc = w_os_thread_is_ready(tid);

        CHECK(rc >= 0);
        return rc == 0;
}

TEST(cpu_usage_of_a_sleeping_thread_stays_and_of_an_ended_thread_is_none)
{
        struct sleeper     s = { .tid = W_ATOMIC_INIT(0) };
        struct w_os_thread thread;
        struct w_os_cpu_usage    use;

        w_note_clear(&s.slept);
        w_note_clear(&s.go_on);
        CHECK_EQ(w_os_thread_start(&thread, "a) R (b", 65536, sleeper_main, &s), 0);
        w_note_sleep(&s.slept);
        int tid = (int)w_load_rlx(&s.tid);

        while (!is_asleep(tid))
                w_os_yield();
        int             fd = open_well(tid);
        struct w_os_cpu_usage before;

        for (int i = 0; i < 200; i++) {         /* it may have been on its way to the note only */
                before = read_well(fd);
                w_os_sleep_until(w_os_now() + 5000000);
                use = read_well(fd);
                if (use.run == before.run)
                        break;
        }
        CHECK_EQ(use.run, before.run);
        CHECK_EQ(use.wait, before.wait);
        w_note_wake(&s.go_on);
        w_os_thread_join(&thread);
        while (w_os_cpu_usage_read(fd, &use) == 0)
                w_os_yield();           /* joined threads linger in /proc */
        CHECK_EQ(w_os_cpu_usage_read(fd, &use), -ESRCH);
        CHECK_EQ(w_os_cpu_usage_open(tid), -ENOENT);
        CHECK_EQ(w_os_thread_is_ready(tid), -ENOENT);
        w_os_cpu_usage_close(fd);
}

TEST(cpu_usage_that_cannot_be_read_is_an_error)
{
        struct w_os_cpu_usage       use;
        struct test_resources before = test_resources_now();

        CHECK_EQ(w_os_cpu_usage_open(-1), -ENOENT);
        CHECK_EQ(w_os_cpu_usage_read(-1, &use), -EBADF);
        int null = open("/dev/null", O_RDONLY);

        CHECK_EQ(w_os_cpu_usage_read(null, &use), -EINVAL);
        close(null);
        NEEDS_INJECTION();
        w_inject_once(W_CALL_OPEN, 1, EMFILE);
        CHECK_EQ(w_os_cpu_usage_open(w_os_tid()), -EMFILE);
        w_inject_once(W_CALL_OPEN, 1, EMFILE);
        CHECK_EQ(w_os_thread_is_ready(w_os_tid()), -EMFILE);
        w_inject_off();
        test_check_no_leak(&before);
}
