/* tests/unit/test_os_vm.c - address space: reserve it, give it back.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/os.h"

#include <stdio.h>
#include <sys/mman.h>

static size_t page;

static char *map_pages(size_t n)
{
        void *addr = NULL;
        int   rc;

        page = w_os_page_size();
        KEEPS_ERRNO(rc = w_os_vm_map(&addr, n * page));
        CHECK_EQ(rc, 0);
        return addr;
}

static bool is_mapped(void *addr)
{
        unsigned char seen;

        return mincore(addr, page, &seen) == 0;
}

TEST(page_size_is_a_power_of_two)
{
        size_t size = w_os_page_size();

        CHECK(size >= 4096 && (size & (size - 1)) == 0);
}

TEST(map_gives_zeroed_writable_pages)
{
        char *p = map_pages(3);

        for (size_t i = 0; i < 3 * page; i += 512)
                CHECK_EQ(p[i], 0);
        memset(p, 0x5a, 3 * page);
        CHECK_EQ(p[3 * page - 1], 0x5a);
        w_os_vm_unmap(p, 3 * page);
        CHECK(!is_mapped(p));
}

TEST(map_refuses_what_is_not_whole_pages)
{
        void *out = &page;
        int   rc;

        KEEPS_ERRNO(rc = w_os_vm_map(&out, 0));
        CHECK_EQ(rc, -EINVAL);
        KEEPS_ERRNO(rc = w_os_vm_map(&out, w_os_page_size() + 1));
        CHECK_EQ(rc, -EINVAL);
        CHECK(out == &page);
}

TEST(map_of_too_much_returns_enomem)
{
        void *out = &page;
        int   rc;

        NOT_UNDER_VALGRIND("valgrind refuses it in its own way");
        KEEPS_ERRNO(rc = w_os_vm_map(&out, (size_t)1 << 62));
        CHECK_EQ(rc, -ENOMEM);
        CHECK(out == &page);
}

TEST(map_reserves_without_charge)
{
        size_t size = (size_t)1 << 38;  /* more than a build machine has; one page is touched */
        void  *out;

        NOT_UNDER_VALGRIND("valgrind does not have so much address space");
        if (test_is_emulated())
                test_skip("the emulator keeps a table of every page");
        CHECK_EQ(w_os_vm_map(&out, size), 0);
        ((char *)out)[size - 1] = 1;
        w_os_vm_unmap(out, size);
}

/* The flags that the kernel shows for the mapping which contains addr. */
static bool vm_flags_of(const void *addr, char *flags, size_t size)
{
        FILE         *smaps = fopen("/proc/self/smaps", "r");
        char          line[1024];
        unsigned long low, high;
        bool          here = false, found = false;

        while (smaps && fgets(line, sizeof(line), smaps)) {
                if (sscanf(line, "%lx-%lx ", &low, &high) == 2)
                        here = low <= (unsigned long)addr && (unsigned long)addr < high;
                if (here && strncmp(line, "VmFlags:", 8) == 0) {
                        snprintf(flags, size, "%.*s ", (int)size - 2, line);
                        found = true;
                        break;
                }
        }
        if (smaps)
                fclose(smaps);
        return found;
}

TEST(map_is_never_backed_by_huge_pages)
{
        char  flags[1024];
        char *p = map_pages(1024);

        if (test_is_emulated())
                test_skip("the emulator shows flags of its own");
        if (access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0)
                test_skip("this kernel has no transparent huge pages");
        if (!vm_flags_of(p, flags, sizeof(flags)))
                test_skip("no VmFlags in /proc/self/smaps");
        CHECK_MSG(strstr(flags, " nh "), "flags of the mapping: %s", flags);
        w_os_vm_unmap(p, 1024 * page);
}

TEST(discard_gives_zero_pages)
{
        char         *p = map_pages(2);
        unsigned char seen[2];
        int           rc;

        memset(p, 1, 2 * page);
        KEEPS_ERRNO(rc = w_os_vm_discard(p, 2 * page));
        CHECK_EQ(rc, 0);
        CHECK_EQ(w_os_vm_resident(p, 2 * page, seen), 0);
        CHECK_EQ(seen[0] & 1, 0);
        CHECK_EQ(p[0], 0);
        CHECK_EQ(p[2 * page - 1], 0);
        w_os_vm_unmap(p, 2 * page);
}

TEST(discard_of_part_leaves_the_rest)
{
        char *p = map_pages(3);

        memset(p, 1, 3 * page);
        CHECK_EQ(w_os_vm_discard(p + page, page), 0);
        CHECK_EQ(p[page - 1], 1);
        CHECK_EQ(p[page], 0);
        CHECK_EQ(p[2 * page - 1], 0);
        CHECK_EQ(p[2 * page], 1);
        w_os_vm_unmap(p, 3 * page);
}

TEST(discard_errors_are_returned)
{
        char *p = map_pages(2);
        int   rc;

        KEEPS_ERRNO(rc = w_os_vm_discard(p + 1, page));
        CHECK_EQ(rc, -EINVAL);
        KEEPS_ERRNO(rc = w_os_vm_discard(p, page - 1));
        CHECK_EQ(rc, -EINVAL);
        w_os_vm_unmap(p, 2 * page);
        KEEPS_ERRNO(rc = w_os_vm_discard(p, page));
        CHECK(rc == -ENOMEM || test_is_emulated());
}

TEST(resident_tells_touched_pages)
{
        char         *p = map_pages(4);
        unsigned char seen[4];
        int           rc;

        p[2 * page] = 1;
        KEEPS_ERRNO(rc = w_os_vm_resident(p, 4 * page, seen));
        CHECK_EQ(rc, 0);
        CHECK_EQ(seen[0] & 1, 0);
        CHECK_EQ(seen[1] & 1, 0);
        CHECK_EQ(seen[2] & 1, 1);
        CHECK_EQ(seen[3] & 1, 0);
        KEEPS_ERRNO(rc = w_os_vm_resident(p + 8, page, seen));
        CHECK_EQ(rc, -EINVAL);
        w_os_vm_unmap(p, 4 * page);
        KEEPS_ERRNO(rc = w_os_vm_resident(p, page, seen));
        CHECK_EQ(rc, -ENOMEM);
}

/* ---- Calls that fail ------------------------------------------------------------------------- */

TEST(map_failing_at_each_call_leaves_nothing)
{
        struct test_resources before = test_resources_now();
        void                 *out = &page;
        int                   rc;

        NEEDS_INJECTION();
        page = w_os_page_size();
        w_inject_once(W_CALL_MMAP, 1, ENOMEM);
        KEEPS_ERRNO(rc = w_os_vm_map(&out, page));
        CHECK_EQ(rc, -ENOMEM);
        w_inject_once(W_CALL_MADVISE, 1, ENOMEM);
        KEEPS_ERRNO(rc = w_os_vm_map(&out, page));
        CHECK_EQ(rc, -ENOMEM);
        CHECK_EQ(w_inject_hits(), 1);
        CHECK(out == &page);
        test_check_no_leak(&before);
}

TEST(map_without_huge_pages_in_the_kernel_succeeds)
{
        NEEDS_INJECTION();
        w_inject_once(W_CALL_MADVISE, 1, EINVAL);
        char *p = map_pages(1);
        CHECK_EQ(w_inject_hits(), 1);
        p[0] = 1;
        w_os_vm_unmap(p, page);
}

TEST(unmap_refused_still_gives_the_memory_back)
{
        char *p = map_pages(2);

        NEEDS_INJECTION();
        memset(p, 1, 2 * page);
        w_inject_once(W_CALL_MUNMAP, 1, ENOMEM);
        KEEPS_ERRNO(w_os_vm_unmap(p, 2 * page));
        CHECK_EQ(w_inject_hits(), 1);
        CHECK(is_mapped(p));
        CHECK_EQ(p[0], 0);
        CHECK_EQ(p[page], 0);
        w_os_vm_unmap(p, 2 * page);
        CHECK(!is_mapped(p));
}

TEST(injected_errors_come_back_from_each_call)
{
        char         *p = map_pages(1);
        unsigned char seen;

        NEEDS_INJECTION();
        w_inject_once(W_CALL_MADVISE, 1, EAGAIN);
        CHECK_EQ(w_os_vm_discard(p, page), -EAGAIN);
        w_inject_once(W_CALL_MPROTECT, 1, ENOMEM);
        CHECK_EQ(w_os_vm_guard_heavy(p, page), -ENOMEM);
        CHECK(!os_kernel_faults_at(p));
        w_inject_once(W_CALL_MINCORE, 1, EAGAIN);
        CHECK_EQ(w_os_vm_resident(p, page, &seen), -EAGAIN);
        w_inject_once(W_CALL_MPROTECT, 1, ENOMEM);
        CHECK_EQ(w_os_vm_unguard(p, page), -ENOMEM);
        if (w_os_vm_has_light_guard()) {
                w_inject_once(W_CALL_MADVISE, 1, EPERM);
                CHECK_EQ(w_os_vm_guard_light(p, page), -EPERM);
                w_inject_once(W_CALL_MADVISE, 1, EPERM);
                CHECK_EQ(w_os_vm_unguard(p, page), -EPERM);
        }
        w_os_vm_unmap(p, page);
}

TEST(map_limit_is_what_the_kernel_says)
{
        FILE     *f = fopen("/proc/sys/vm/max_map_count", "r");
        long long limit = 65530;
        int64_t   found;

        if (f) {
                CHECK(fscanf(f, "%lld", &limit) == 1);
                fclose(f);
        }
        KEEPS_ERRNO(found = w_os_vm_map_limit());
        CHECK_EQ(found, limit);
}

TEST(map_limit_unreadable_is_the_usual_one)
{
        NEEDS_INJECTION();
        w_inject_once(W_CALL_OPEN, 1, EACCES);
        CHECK_EQ(w_os_vm_map_limit(), 65530);
        CHECK_EQ(w_inject_hits(), 1);
}
