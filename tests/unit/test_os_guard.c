/* tests/unit/test_os_guard.c - pages that fault, and whether the kernel has the light kind.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/os.h"

#include <sys/mman.h>
#include <sys/wait.h>

static size_t page;

static char *map_pages(size_t n)
{
        void *addr = NULL;

        page = w_os_page_size();
        CHECK_EQ(w_os_vm_map(&addr, n * page), 0);
        return addr;
}

static void needs_light_guard(void)
{
        if (!w_os_vm_has_light_guard())
                test_skip("this kernel or emulator has no MADV_GUARD_INSTALL");
}

/* ---- Guards ---------------------------------------------------------------------------------- */

typedef int guard_fn(void *addr, size_t size);

static void read_byte(void *addr)
{
        (void)*(volatile char *)addr;
}

static void write_byte(void *addr)
{
        *(volatile char *)addr = 1;
}

static void check_guard(guard_fn *guard)
{
        char *p = map_pages(3);
        int   rc;

        memset(p, 7, 3 * page);
        KEEPS_ERRNO(rc = guard(p + page, page));
        CHECK_EQ(rc, 0);
        test_expect_death(read_byte, p + page, SIGSEGV, "");
        test_expect_death(write_byte, p + 2 * page - 1, SIGSEGV, "");
        CHECK_EQ(p[page - 1], 7);
        CHECK_EQ(p[2 * page], 7);
        w_os_vm_unmap(p, 3 * page);
}

TEST(light_guard_faults)
{
        needs_light_guard();
        check_guard(w_os_vm_guard_light);
}

TEST(heavy_guard_faults)
{
        check_guard(w_os_vm_guard_heavy);
}

static void check_guard_survives_discard(guard_fn *guard)
{
        char *p = map_pages(4);

        memset(p, 7, 4 * page);
        CHECK_EQ(guard(p, page), 0);
        CHECK_EQ(guard(p + 2 * page, page), 0);
        CHECK_EQ(w_os_vm_discard(p, 4 * page), 0);
        CHECK(os_kernel_faults_at(p));
        CHECK(!os_kernel_faults_at(p + page));
        CHECK(os_kernel_faults_at(p + 2 * page));
        CHECK_EQ(p[page], 0);
        CHECK_EQ(p[3 * page], 0);
        w_os_vm_unmap(p, 4 * page);
}

TEST(light_guard_survives_discard)
{
        needs_light_guard();
        check_guard_survives_discard(w_os_vm_guard_light);
}

TEST(heavy_guard_survives_discard)
{
        check_guard_survives_discard(w_os_vm_guard_heavy);
}

static void check_unguard(guard_fn *guard)
{
        char *p = map_pages(3);
        int   rc = 0;

        if (guard)
                CHECK_EQ(guard(p, 3 * page), 0);
        KEEPS_ERRNO(rc = w_os_vm_unguard(p + page, page));
        CHECK_EQ(rc, 0);
        p[page] = 1;
        p[2 * page - 1] = 1;
        CHECK_EQ(os_kernel_faults_at(p), guard != NULL);
        CHECK_EQ(os_kernel_faults_at(p + 2 * page), guard != NULL);
        w_os_vm_unmap(p, 3 * page);
}

TEST(unguard_undoes_a_light_guard)
{
        needs_light_guard();
        check_unguard(w_os_vm_guard_light);
}

TEST(unguard_undoes_a_heavy_guard)
{
        check_unguard(w_os_vm_guard_heavy);
}

TEST(unguard_without_guard_changes_nothing)
{
        check_unguard(NULL);
}

TEST(guards_refuse_what_is_not_whole_pages)
{
        char *p = map_pages(2);
        int   rc;

        KEEPS_ERRNO(rc = w_os_vm_guard_heavy(p + 64, page));
        CHECK_EQ(rc, -EINVAL);
        KEEPS_ERRNO(rc = w_os_vm_guard_heavy(p, 100));
        CHECK_EQ(rc, -EINVAL);
        KEEPS_ERRNO(rc = w_os_vm_unguard(p + 64, page));
        CHECK_EQ(rc, -EINVAL);
        if (w_os_vm_has_light_guard()) {
                KEEPS_ERRNO(rc = w_os_vm_guard_light(p, 100));
                CHECK_EQ(rc, -EINVAL);
        }
        CHECK(!os_kernel_faults_at(p));
        w_os_vm_unmap(p, 2 * page);
        rc = w_os_vm_guard_heavy(p, page);
        CHECK_EQ(rc, -ENOMEM);
}

TEST(light_guards_cost_no_mapping_and_heavy_ones_do)
{
        enum { N = 64 };
        char                 *p = map_pages(2 * N);
        struct test_resources before = test_resources_now();

        needs_light_guard();
        for (size_t i = 0; i < N; i++)
                CHECK_EQ(w_os_vm_guard_light(p + 2 * i * page, page), 0);
        CHECK(test_resources_now().mappings < before.mappings + N / 2);
        for (size_t i = 0; i < N; i++)
                CHECK_EQ(w_os_vm_guard_heavy(p + 2 * i * page, page), 0);
        CHECK(test_resources_now().mappings >= before.mappings + N);
        w_os_vm_unmap(p, 2 * N * page);
}

/* ---- The probe ------------------------------------------------------------------------------- */

struct prober {
        w_atomic_u32 *go;
        int           answer;
};

static void probe(void *arg)
{
        struct prober *self = arg;

        while (!w_load_acq(self->go))
                w_cpu_pause();
        self->answer = w_os_vm_has_light_guard();
}

TEST(light_guard_probe_by_several_threads_agrees)
{
        enum { N = 4 };
        w_atomic_u32       go = W_ATOMIC_INIT(0);
        struct prober      probers[N];
        struct w_os_thread threads[N];

        for (int i = 0; i < N; i++) {
                probers[i] = (struct prober){ &go, -1 };
                CHECK_EQ(w_os_thread_start(&threads[i], "probe", 0, probe, &probers[i]), 0);
        }
        w_store_rel(&go, 1);
        for (int i = 0; i < N; i++)
                w_os_thread_join(&threads[i]);
        for (int i = 0; i < N; i++)
                CHECK_EQ(probers[i].answer, w_os_vm_has_light_guard());
}

TEST(light_guard_probe_leaks_nothing)
{
        struct test_resources before = test_resources_now();

        KEEPS_ERRNO((void)w_os_vm_has_light_guard());
        test_check_no_leak(&before);
}

enum { LOCKED_NO = 0, LOCKED_YES = 3, CANNOT_LOCK = 4 };

static void probe_locked(void *arg)
{
        (void)arg;
        if (mlockall(MCL_FUTURE) != 0)
                _exit(CANNOT_LOCK);
        _exit(w_os_vm_has_light_guard() ? LOCKED_YES : LOCKED_NO);
}

TEST(light_guard_is_missing_where_memory_is_locked)
{
        char err[256];

#if defined(W_ASAN) || defined(W_TSAN)
        test_skip("the sanitizers turn mlockall into nothing");
#endif
        int status = test_run_child(probe_locked, NULL, err, sizeof(err));
        CHECK(WIFEXITED(status));
        if (WEXITSTATUS(status) == CANNOT_LOCK)
                test_skip("memory cannot be locked here");
        CHECK_EQ(WEXITSTATUS(status), LOCKED_NO);
}

TEST(light_guard_probe_that_could_not_be_made_is_made_again)
{
        NEEDS_INJECTION();
        w_inject_once(W_CALL_MMAP, 1, ENOMEM);
        CHECK(!w_os_vm_has_light_guard());
        CHECK_EQ(w_inject_hits(), 1);
        w_inject_once(W_CALL_MADVISE, 2, ENOMEM);
        CHECK(!w_os_vm_has_light_guard());
        CHECK_EQ(w_inject_hits(), 1);
        w_inject_off();
        (void)w_os_vm_has_light_guard();
        CHECK_EQ(w_inject_calls(W_CALL_MMAP), 1);
        (void)w_os_vm_has_light_guard();        /* known by now */
        CHECK_EQ(w_inject_calls(W_CALL_MMAP), 1);
}

TEST(light_guard_refused_by_the_kernel_is_missing_for_good)
{
        NEEDS_INJECTION();
        w_inject_once(W_CALL_MADVISE, 2, EINVAL);
        CHECK(!w_os_vm_has_light_guard());
        w_inject_off();
        CHECK(!w_os_vm_has_light_guard());
        CHECK_EQ(w_inject_calls(W_CALL_ANY), 0);
        char *p = map_pages(1);
        CHECK_EQ(w_os_vm_guard_light(p, page), -ENOSYS);
        CHECK(!os_kernel_faults_at(p));
        CHECK_EQ(w_os_vm_guard_heavy(p, page), 0);
        CHECK_EQ(w_os_vm_unguard(p, page), 0);
        CHECK(!os_kernel_faults_at(p));
        w_os_vm_unmap(p, page);
}
