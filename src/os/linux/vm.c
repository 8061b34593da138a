/* os/linux/vm.c - address space: reserve, give back, guard. Contract: os/vm.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/os.h"

#include "os/linux/errno_call.h"
#include "os/linux/procfs.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Linux 6.13; older headers do not know them. */
#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL      102
#define MADV_GUARD_REMOVE       103
#endif

enum { USUAL_MAP_LIMIT = 65530 };       /* the kernel's default, DEFAULT_MAX_MAP_COUNT */

size_t w_os_page_size(void)
{
        return (size_t)sysconf(_SC_PAGESIZE);
}

/* The kernel rounds lengths up. A guard would then cover the neighbour's page. */
static bool whole_pages(const void *addr, size_t size)
{
        return size != 0 && (((uintptr_t)addr | size) & (w_os_page_size() - 1)) == 0;
}

static int advise(void *addr, size_t size, int advice)
{
        if (!whole_pages(addr, size))
                return -EINVAL;
        return (int)W_SYS_AT(W_CALL_MADVISE, madvise(addr, size, advice));
}

static int protect(void *addr, size_t size, int protection)
{
        if (!whole_pages(addr, size))
                return -EINVAL;
        return (int)W_SYS_AT(W_CALL_MPROTECT, mprotect(addr, size, protection));
}

/* ---- Mapping --------------------------------------------------------------------------------- */

int w_os_vm_map(void **out, size_t size)
{
        if (!whole_pages(NULL, size))
                return -EINVAL;
        intptr_t rc = W_SYS_AT(W_CALL_MMAP,
                               mmap(NULL, size, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
        if (rc < 0)
                return (int)rc;
        void *addr = (void *)rc;
        /* One touched page of a stack must not cost 2 MiB. EINVAL: there are no huge pages. */
        int advised = advise(addr, size, MADV_NOHUGEPAGE);
        if (advised < 0 && advised != -EINVAL) {
                w_os_vm_unmap(addr, size);
                return advised;
        }
        *out = addr;
        return 0;
}

void w_os_vm_unmap(void *addr, size_t size)
{
        /* The kernel merges neighbouring mappings, and splitting them again may exceed the limit of
         * mappings. Then the memory is given back, and only address space is lost. */
        if (W_SYS_AT(W_CALL_MUNMAP, munmap(addr, size)) < 0)
                (void)W_SYS(madvise(addr, size, MADV_DONTNEED));
}

int w_os_vm_discard(void *addr, size_t size)
{
        return advise(addr, size, MADV_DONTNEED);
}

int w_os_vm_resident(void *addr, size_t size, unsigned char *resident)
{
        if (!whole_pages(addr, size))
                return -EINVAL;
        return (int)W_SYS_AT(W_CALL_MINCORE, mincore(addr, size, resident));
}

int64_t w_os_vm_map_limit(void)
{
        char    text[32];
        int64_t limit = 0;

        if (w_file_read("/proc/sys/vm/max_map_count", text, sizeof(text)) < 0)
                return USUAL_MAP_LIMIT;
        if (!w_file_number(text, &limit) || limit <= 0)
                return USUAL_MAP_LIMIT;
        return limit;
}

/* ---- Guards ---------------------------------------------------------------------------------- */

enum light { LIGHT_UNKNOWN, LIGHT_WORKS, LIGHT_MISSING };

static w_atomic_u32 light_guard = W_ATOMIC_INIT(LIGHT_UNKNOWN);

/* Lets the kernel itself write one byte at addr. Every emulator passes this call on with the
 * pointer unchanged; it needs no descriptor and changes nothing else. */
static int kernel_write(void *addr)
{
        enum { NEVER_BLOCK_NOR_WAIT_FOR_SEEDING = 4 };   /* GRND_INSECURE, Linux 5.6 */

        return (int)W_SYS(syscall(SYS_getrandom, addr, 1, NEVER_BLOCK_NOR_WAIT_FOR_SEEDING));
}

/* Some emulators accept the advice and do nothing; locked memory refuses it. Only the effect
 * counts, on and off. */
static enum light try_light_guard(void *page, size_t size)
{
        if (kernel_write(page) != 1)
                return LIGHT_MISSING;   /* no way to see the effect */
        int rc = advise(page, size, MADV_GUARD_INSTALL);
        if (rc == -ENOMEM)
                return LIGHT_UNKNOWN;   /* says nothing about the kernel */
        if (rc < 0 || kernel_write(page) != -EFAULT)
                return LIGHT_MISSING;
        rc = advise(page, size, MADV_GUARD_REMOVE);
        return rc == 0 && kernel_write(page) == 1 ? LIGHT_WORKS : LIGHT_MISSING;
}

static W_NOINLINE bool probe_light_guard(void)
{
        size_t size = w_os_page_size();
        void  *page;

        if (w_os_vm_map(&page, size) < 0)
                return false;   /* nothing was learnt: the next caller tries again */
        enum light found = try_light_guard(page, size);
        w_os_vm_unmap(page, size);
        /* hint: threads that probe at the same time get the same result. */
        w_store_rlx(&light_guard, (uint32_t)found);
        return found == LIGHT_WORKS;
}

bool w_os_vm_has_light_guard(void)
{
        uint32_t known = w_load_rlx(&light_guard);                /* hint: else it is probed */

        return known == LIGHT_UNKNOWN ? probe_light_guard() : known == LIGHT_WORKS;
}

int w_os_vm_guard_light(void *addr, size_t size)
{
        if (!w_os_vm_has_light_guard())
                return -ENOSYS;
        return advise(addr, size, MADV_GUARD_INSTALL);
}

int w_os_vm_guard_heavy(void *addr, size_t size)
{
        return protect(addr, size, PROT_NONE);
}

int w_os_vm_unguard(void *addr, size_t size)
{
        int light = 0;

        if (w_os_vm_has_light_guard())
                light = advise(addr, size, MADV_GUARD_REMOVE);
        int heavy = protect(addr, size, PROT_READ | PROT_WRITE);
        return heavy < 0 ? heavy : light;
}
