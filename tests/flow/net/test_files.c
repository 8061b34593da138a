/* tests/flow/net/test_files.c - regular files: slots, their order, and other goroutines run on.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sync.h"
#include "lib/file_slots.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

static int open_temp_with(int flags)
{
        char path[] = "/tmp/weft-test-XXXXXX";
        int  fd = mkostemp(path, O_CLOEXEC | flags);

        CHECK(fd >= 0);
        CHECK_EQ(unlink(path), 0);
        return fd;
}

static int open_temp(void)
{
        return open_temp_with(0);
}

/* ---- Bytes ----------------------------------------------------------------------------------- */

GO_TEST(bytes_are_read_and_written_at_their_offsets)
{
        int          fd = open_temp(), fds[2];
        char         buf[10], rest[10];
        struct iovec v[] = { { buf, 4 }, { rest, 10 } };

        CHECK_EQ(weft_pwrite(fd, "defg", 4, 3), 4);
        CHECK_EQ(weft_pwrite(fd, "abc", 3, 0), 3);
        CHECK_EQ(weft_pread(fd, buf, 10, 2), 5);
        CHECK(memcmp(buf, "cdefg", 5) == 0);
        CHECK_EQ(weft_pread(fd, buf, 10, 7), 0);
        CHECK_EQ(weft_pread(fd, buf, 10, 1000), 0);
        CHECK_EQ(weft_pread(fd, buf, 0, 0), 0);
        CHECK_EQ(lseek(fd, 0, SEEK_CUR), 0);            /* the position stays */
        CHECK_EQ(weft_readv(fd, v, 2), 7);
        CHECK(memcmp(buf, "abcd", 4) == 0 && memcmp(rest, "efg", 3) == 0);
        CHECK_EQ(weft_read(fd, buf, 10), 0);
        CHECK_EQ(weft_writev(fd, v, 1), 4);
        CHECK_EQ(weft_write_all(fd, "x", 1), 1);
        CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
        CHECK_EQ(weft_read_full(fd, rest, 10), 10);
        CHECK(memcmp(rest, "abcdefgabc", 10) == 0);
        CHECK_EQ(weft_pread(fd, buf, 1, -1), -EINVAL);
        CHECK_EQ(weft_pwrite(fd, NULL, 1, 0), -EFAULT);
        CHECK_EQ(pipe(fds), 0);
        CHECK_EQ(weft_pread(fds[0], buf, 1, 0), -ESPIPE);
        CHECK_EQ(weft_pwrite(fds[1], buf, 1, 0), -ESPIPE);
        CHECK_EQ(weft_close(fds[0]), 0);
        CHECK_EQ(weft_close(fds[1]), 0);
        CHECK_EQ(weft_close(fd), 0);
        CHECK_EQ(weft_pread(fd, buf, 1, 0), -EBADF);
}

/* More than is copied without a region; and none of it may be missing, in memory or not. */
GO_TEST(a_large_file_is_read_wholly)
{
        enum { SIZE = 3 << 20 };
        int      fd = open_temp();
        uint8_t *out = malloc(SIZE), *in = malloc(SIZE + 1);

        for (size_t i = 0; i < SIZE; i++)
                out[i] = (uint8_t)(i * 7 + i / 4096);
        CHECK_EQ(weft_write(fd, out, SIZE), SIZE);
        CHECK_EQ(fdatasync(fd), 0);
        for (int round = 0; round < 3; round++) {
                (void)posix_fadvise(fd, 100000, 1000000, POSIX_FADV_DONTNEED);
                CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
                CHECK_EQ(weft_read(fd, in, round ? SIZE + 1 : 200000), round ? SIZE : 200000);
                CHECK(memcmp(in, out, round ? SIZE : 200000) == 0);
        }
        CHECK_EQ(weft_pread(fd, in, SIZE, 5), SIZE - 5);
        CHECK(memcmp(in, out + 5, SIZE - 5) == 0);
        CHECK_EQ(weft_close(fd), 0);
        free(in);
        free(out);
}

/* ---- Errors after bytes ---------------------------------------------------------------------- */

enum { LIMIT = 100000 };        /* bytes of a file, while the limit is set */

static void limit_files(void)
{
        struct rlimit limit;

        CHECK(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
        CHECK_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
        limit.rlim_cur = LIMIT;
        CHECK_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* A part, as POSIX has it; the next call has its own result. */
static void after_bytes_main(void *arg)
{
        int          fd = open_temp();
        char         buf[10] = { 0 };
        struct iovec v[] = { { buf, 4 }, { buf, 6 } };

        (void)arg;
        CHECK_EQ(weft_pwrite(fd, buf, 10, LIMIT - 5), 5);
        CHECK_EQ(weft_pwrite(fd, "abc", 3, 0), 3);
        CHECK_EQ(lseek(fd, LIMIT - 5, SEEK_SET), LIMIT - 5);
        CHECK_EQ(weft_write(fd, buf, 10), 5);
        CHECK_EQ(weft_write(fd, buf, 10), -EFBIG);
        CHECK_EQ(lseek(fd, LIMIT - 5, SEEK_SET), LIMIT - 5);
        CHECK_EQ(weft_writev(fd, v, 2), 5);
        CHECK_EQ(weft_pwrite(fd, "abc", 3, 0), 3);
        CHECK_EQ(weft_close(fd), 0);
}

TEST(an_error_after_bytes_of_a_file_is_not_deferred)
{
        limit_files();
        sched_run(after_bytes_main, NULL);
}

/* It is the same file, under the same number, and well. */
static void reopened_main(void *arg)
{
        static char bytes[2 * LIMIT];
        char        path[] = "/tmp/weft-test-XXXXXX";
        int         fd = mkostemp(path, O_CLOEXEC);

        (void)arg;
        CHECK(fd >= 0);
        sync_renumber(&fd, SYNC_PRIVATE_NUMBER);
        CHECK_EQ(weft_write_all(fd, bytes, sizeof(bytes)), LIMIT);
        CHECK_EQ(weft_write_all(fd, bytes, 1), -EFBIG); /* the kernel reports again */
        CHECK_EQ(lseek(fd, LIMIT - 5, SEEK_SET), LIMIT - 5);
        CHECK_EQ(weft_write_all(fd, bytes, 10), 5);
        CHECK_EQ(close(fd), 0);
        fd = open(path, O_RDWR | O_TRUNC | O_CLOEXEC);
        CHECK(fd >= 0);
        sync_renumber(&fd, SYNC_PRIVATE_NUMBER);
        CHECK_EQ(weft_write(fd, "x", 1), 1);
        CHECK_EQ(weft_close(fd), 0);
        CHECK_EQ(unlink(path), 0);
}

TEST(an_error_of_a_file_does_not_outlive_its_close)
{
        limit_files();
        sched_run(reopened_main, NULL);
}

/* ---- Scopes ---------------------------------------------------------------------------------- */

GO_TEST(scopes_are_checked_before_a_transfer)
{
        int        fd = open_temp();
        char       c = 'x';
        weft_scope s;

        CHECK_EQ(weft_scope_open(&s, 0), 0);
        CHECK_EQ(weft_pwrite(fd, &c, 1, 0), -ETIMEDOUT);
        CHECK_EQ(weft_read(fd, &c, 1), -ETIMEDOUT);
        CHECK_EQ(weft_scope_close(&s), 0);
        CHECK_EQ(weft_read(fd, &c, 1), 0);
        weft_block_begin();
        CHECK_EQ(weft_pwrite(fd, &c, 1, 0), 1);         /* needs no slot */
        weft_block_end();
        CHECK_EQ(weft_close(fd), 0);
}

static void thread_main(void *arg)
{
        char c = 'x';

        CHECK_EQ(weft_pwrite(*(int *)arg, &c, 1, 0), 1);
        CHECK_EQ(weft_pread(*(int *)arg, &c, 1, 0), 1);
}

static void turns_main(void *arg)
{
        int                fd = open_temp();
        struct sync_thread t;
        weft_scope         s;
        int64_t            ids[3];

        (void)arg;
        CHECK_EQ(file_slots_enter(), 0);
        sync_thread_start(&t, thread_main, &fd);
        sync_thread_join(&t);                           /* blocks no thread of the runtime */
        CHECK_EQ(weft_scope_open(&s, WEFT_MS(2)), 0);
        CHECK_EQ(weft_pwrite(fd, "x", 1, 0), -ETIMEDOUT);
        CHECK_EQ(weft_scope_close(&s), 0);
        for (int i = 0; i < 3; i++)
                ids[i] = sync_go_waiting(thread_main, &fd);
        file_slots_leave();
        for (int i = 0; i < 3; i++)
                sched_join(ids[i]);
        CHECK_EQ(weft_close(fd), 0);
}

TEST(a_writer_of_a_file_waits_for_a_slot)
{
        weft_config cfg = { .file_threads = 1 };

        test_set_dump(sched_dump);
        CHECK_EQ(sched_run_left(&cfg, turns_main, NULL), 0);
}

static void left_main(void *arg)
{
        CHECK_EQ(file_slots_enter(), 0);
        (void)sync_go_waiting(thread_main, arg);
}

TEST(a_run_ends_during_a_wait_for_a_slot)
{
        weft_config cfg = { .file_threads = 1 };
        int         fd = open_temp();

        for (int i = 0; i < 3; i++)
                CHECK_EQ(sched_run_left(&cfg, left_main, &fd), 0);
        CHECK_EQ(close(fd), 0);
}

/* ---- Many ------------------------------------------------------------------------------------ */

enum {
        N_FILES = 200, N_GS = 2000, N_RECORDS = 3, RECORD = 512, N_SLOTS = 8,
        TICK_NS = 200000, LATE_NS = 40000000,   /* a tick, and what it may take on average */
        ATTEMPTS = 5,                           /* other processes may use the machine */
};

static struct {
        int          fds[N_FILES];
        w_atomic_u32 n_done;
        uint32_t     n_ticks;
        int64_t      ticked_ns;
        uint64_t     most_threads;
} many;

static void write_and_read(void *arg)
{
        uint32_t own = (uint32_t)(uintptr_t)arg;
        int      fd = many.fds[own % N_FILES];
        char     out[RECORD], in[RECORD];

        for (uint32_t i = 0; i < N_RECORDS; i++) {
                off_t at = (off_t)(own / N_FILES * N_RECORDS + i) * RECORD;

                memset(out, (int)(own + i), sizeof(out));
                CHECK_EQ(weft_pwrite(fd, out, RECORD, at), RECORD);
                CHECK_EQ(weft_pread(fd, in, RECORD, at), RECORD);
                CHECK(memcmp(in, out, RECORD) == 0);
        }
        w_add_rlx(&many.n_done, 1);
}

/* Counts while the other goroutines are busy, and checks the number of threads. */
static void tick(void *arg)
{
        uint32_t n = *(uint32_t *)arg;
        int64_t  since = w_os_now();

        while (w_load_rlx(&many.n_done) < n) {
                weft_stats_t st = { .size = sizeof(st) };

                CHECK_EQ(weft_stats(&st), 0);
                if (st.threads > many.most_threads)
                        many.most_threads = st.threads;
                many.n_ticks++;
                CHECK_EQ(weft_sleep(TICK_NS), 0);
        }
        many.ticked_ns = w_os_now() - since;
}

static void use_files(uint32_t n)
{
        int64_t *ids = calloc(n, sizeof(*ids));

        w_store_rlx(&many.n_done, 0);
        many.n_ticks = 0;
        int64_t ticker = sched_go(tick, &n);

        for (uint32_t i = 0; i < n; i++)
                ids[i] = sched_go(write_and_read, (void *)(uintptr_t)i);
        for (uint32_t i = 0; i < n; i++)
                sched_join(ids[i]);
        sched_join(ticker);
        free(ids);
}

static void many_main(void *arg)
{
        int attempts = 0;

        (void)arg;
        for (int i = 0; i < N_FILES; i++)       /* some are waited for until they are on disk */
                many.fds[i] = open_temp_with(i % 20 ? 0 : O_DSYNC);
        do {
                CHECK_MSG(attempts++ < ATTEMPTS, "others ran %u times in %lld ns", many.n_ticks,
                          (long long)many.ticked_ns);
                use_files((uint32_t)test_scale(N_GS));
        } while (many.n_ticks < many.ticked_ns / LATE_NS);
        for (int i = 0; i < N_FILES; i++)
                CHECK_EQ(weft_close(many.fds[i]), 0);
        /* Beside the busy threads: one for each P, the helpers, one in reserve, and some that have
         * got no CPU yet to go to sleep. */
        CHECK(many.most_threads <= N_SLOTS + (uint64_t)sched_procs() + 16);
}

TEST(two_thousand_use_two_hundred_files)
{
        weft_config cfg = { .file_threads = N_SLOTS };

        test_set_dump(sched_dump);
        CHECK_EQ(sched_run_left(&cfg, many_main, NULL), 0);
}
