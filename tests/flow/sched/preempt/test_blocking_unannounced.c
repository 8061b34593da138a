/* tests/flow/sched/preempt/test_blocking_unannounced.c - code that blocks its thread outside a
 * blocking region, with one P.
 *
 * Other goroutines continue soon, whatever it waits for.
 *
 * test: sources=lib/extra/fake_names.c
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/others.h"
#include "lib/extra/fake_names.h"

#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

static void run_at_one_p(void (*fn)(void *), void *arg)
{
        weft_config cfg = { .procs = 1, .shutdown_ms = 300000 };

        test_set_dump(sched_dump);
        CHECK_EQ(sched_run_left(&cfg, fn, arg), 0);
}

/* ---- Names ----------------------------------------------------------------------------------- */

static void ask_for_name(void *arg)
{
        struct addrinfo *list = NULL;

        (void)arg;
        CHECK_EQ(getaddrinfo("slow.fake", "80", NULL, &list), 0);
        CHECK(w_load_acq(&others_done));
        freeaddrinfo(list);
}

static void main_names(void *arg)
{
        int64_t ids[3];

        (void)arg;
        fake_names(1, INADDR_LOOPBACK, 0, 0);
        for (int i = 0; i < 3; i++)
                ids[i] = sched_go(ask_for_name, NULL);
        others_go_on(others_ping, NULL, 0);
        CHECK_EQ(w_load_acq(&fake_n_running), 3);
        w_store_rel(&fake_slow_end, 1);
        for (int i = 0; i < 3; i++)
                sched_join(ids[i]);
}

TEST(others_go_on_beside_a_plain_getaddrinfo)
{
        run_at_one_p(main_names, NULL);
}

/* ---- Page faults ----------------------------------------------------------------------------- */

enum { N_STORMS = 2, PAGES_EACH = 1 << 15 };

static w_atomic_u32 next_range, storm_is_over, n_served;
static char        *range;
static size_t       page_size;

/* Memory with pages that a foreign thread provides. */
static int make_range(void)
{
        int                    fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
        struct uffdio_api      api = { .api = UFFD_API };
        struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };

        if (fd < 0 || ioctl(fd, UFFDIO_API, &api) != 0)
                test_skip("this kernel or emulator has no page faults for us to serve");
        page_size = (size_t)sysconf(_SC_PAGESIZE);
        reg.range.len = N_STORMS * PAGES_EACH * page_size;
        range = mmap(NULL, reg.range.len, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        CHECK(range != MAP_FAILED);
        reg.range.start = (uintptr_t)range;
        CHECK_EQ(ioctl(fd, UFFDIO_REGISTER, &reg), 0);
        return fd;
}

static void serve_fault(int fd)
{
        struct pollfd          ready = { .fd = fd, .events = POLLIN };
        struct uffd_msg        msg;
        struct uffdio_zeropage zero = { .range.len = page_size };

        (void)poll(&ready, 1, 5);
        if (read(fd, &msg, sizeof(msg)) != sizeof(msg))
                return;
        test_sleep_us(1000);
        zero.range.start = msg.arg.pagefault.address & ~(page_size - 1);
        if (ioctl(fd, UFFDIO_ZEROPAGE, &zero) == 0)
                w_add_acqrel(&n_served, 1);
}

static void serve_faults(void *fd)
{
        while (!w_load_acq(&storm_is_over))
                serve_fault(*(int *)fd);
}

/* Nothing but page faults: the goroutine has the CPU for a moment between two of them. */
static void touch_pages(void *arg)
{
        volatile char *at = range + w_add_acqrel(&next_range, 1) * PAGES_EACH * page_size;

        (void)arg;
        for (size_t i = 0; i < PAGES_EACH && !w_load_acq(&others_done); i++)
                at[i * page_size] = 1;
        CHECK(w_load_acq(&others_done));
}

static void main_faults(void *arg)
{
        (void)arg;
        others_go_on(touch_pages, NULL, N_STORMS);
}

TEST(others_go_on_beside_a_storm_of_page_faults)
{
        struct sync_thread server;
        int                fd = make_range();

        sync_thread_start(&server, serve_faults, &fd);
        run_at_one_p(main_faults, NULL);
        w_store_rel(&storm_is_over, 1);
        sync_thread_join(&server);
        CHECK(w_load_acq(&n_served) >= N_STORMS);
        close(fd);
}

/* ---- How soon -------------------------------------------------------------------------------- */

enum { N_SOON = 21, SOON_NS = 200000000 };

static int             ends[2];
static pthread_mutex_t mutex_of_libc = PTHREAD_MUTEX_INITIALIZER;
static w_atomic_u32    is_locked, may_let_go;
static int64_t         got_on_at;

static void get_on(void *arg)
{
        (void)arg;
        got_on_at = w_os_now();
        w_store_rel(&may_let_go, 1);
        CHECK_EQ(write(ends[1], "x", 1), 1);
}

static void read_plainly(void)
{
        char c = 0;

        CHECK_EQ(test_read(ends[0], &c, 1), 1);
}

static void hold_mutex(void *arg)
{
        (void)arg;
        CHECK_EQ(pthread_mutex_lock(&mutex_of_libc), 0);
        w_store_rel(&is_locked, 1);
        while (!w_load_acq(&may_let_go))
                test_sleep_us(500);
        CHECK_EQ(pthread_mutex_unlock(&mutex_of_libc), 0);
}

static void lock_plainly(void)
{
        CHECK_EQ(pthread_mutex_lock(&mutex_of_libc), 0);
        CHECK_EQ(pthread_mutex_unlock(&mutex_of_libc), 0);
        read_plainly();
}

/* Measured from the moment when the M with the only P blocks. */
static int64_t time_until_others_go_on(void (*block)(void))
{
        struct sync_thread holder;

        w_store_rel(&is_locked, 0);
        w_store_rel(&may_let_go, 0);
        sync_thread_start(&holder, hold_mutex, NULL);
        while (!w_load_acq(&is_locked))
                weft_yield();
        int64_t id = sched_go(get_on, NULL), began = w_os_now();

        block();
        sched_join(id);
        sync_thread_join(&holder);
        return got_on_at - began;
}

static int compare(const void *a, const void *b)
{
        int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

        return (x > y) - (x < y);
}

static void main_soon(void *block)
{
        int64_t took[N_SOON];

        for (int i = 0; i < N_SOON; i++)
                took[i] = time_until_others_go_on((void (*)(void))(uintptr_t)block);
        qsort(took, N_SOON, sizeof(took[0]), compare);
        if (!test_is_slow())
                CHECK_MSG(took[N_SOON / 2] <= SOON_NS, "it took them %lld us",
                          (long long)took[N_SOON / 2] / 1000);
}

/* About 20 ms; the bound leaves room for a busy machine. */
static void go_on_soon_beside(void (*block)(void))
{
        CHECK_EQ(pipe(ends), 0);
        run_at_one_p(main_soon, (void *)(uintptr_t)block);
        close(ends[0]);
        close(ends[1]);
}

TEST(others_go_on_soon_beside_a_plain_read)    { go_on_soon_beside(read_plainly); }
TEST(others_go_on_soon_beside_a_mutex_of_libc) { go_on_soon_beside(lock_plainly); }
