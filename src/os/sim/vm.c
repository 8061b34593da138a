/* os/sim/vm.c - memory. Contract: os/vm.h.
 *
 * Runs take pages from one mapping of real memory, which is made once per process. One byte per
 * page stores its state. A run leaves nothing behind: its pages are zero and free afterwards, and a
 * write to unmapped pages is found at the end. Some calls prefer unmapped pages for reuse, so that
 * a stale pointer meets a new owner. Guards are recorded, not enforced.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/sim/machine.h"

#include "base/assert.h"

#include <errno.h>      /* ENOMEM, EINVAL */
#include <string.h>
#include <sys/mman.h>

enum {
        PAGE = 4096,
        N_PAGES = 1 << 16,                      /* 256 MiB */
        MOST_KEPT = 512,                        /* pages: zeroing more would take longer than
                                                 * letting the kernel provide them again */
};

enum { UNMAPPED, MAPPED, GUARD };

static char         *arena;
static unsigned char pages[N_PAGES];
static size_t        high_water;                /* pages from here on were never used in this run */
static size_t        n_mapped;
static unsigned char present[N_PAGES];          /* scratch: the result of mincore */

static bool is_zero(size_t page)
{
        static const char nothing[PAGE];

        return memcmp(arena + page * PAGE, nothing, PAGE) == 0;
}

/* Reading an untouched page would make the kernel provide it, so mincore comes first. Afterwards
 * present[i] tells whether page first + i may hold data. */
static void ask_present(size_t first, size_t n)
{
        if (mincore(arena + first * PAGE, n * PAGE, present) != 0)
                memset(present, 1, n);
}

/* Returns how many of the pages are in memory. */
static size_t zero(size_t first, size_t n)
{
        size_t n_present = 0;

        ask_present(first, n);
        for (size_t i = 0; i < n; i++) {
                if (!(present[i] & 1))
                        continue;
                n_present++;
                memset(arena + (first + i) * PAGE, 0, PAGE);
        }
        return n_present;
}

/* A run that failed leaves frames on goroutines' stacks. */
void w_sim_vm_reset(void)
{
        w_san_stack_recycle(arena, high_water * PAGE);
        if (high_water && zero(0, high_water) > MOST_KEPT)
                (void)madvise(arena, high_water * PAGE, MADV_DONTNEED);
        memset(pages, UNMAPPED, high_water);
        high_water = 0;
        n_mapped = 0;
}

bool w_sim_vm_has_strays(void)
{
        if (high_water)
                ask_present(0, high_water);
        for (size_t i = 0; i < high_water; i++)
                if (pages[i] == UNMAPPED && (present[i] & 1) && !is_zero(i))
                        return true;
        return false;
}

static char *provide_arena(void)
{
        if (arena)
                return arena;
        void *got = mmap(NULL, (size_t)N_PAGES * PAGE, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        W_CHECK(got != MAP_FAILED, "no address space for the simulated memory");
        arena = got;
        return arena;
}

/* First fit below the high water; N_PAGES if there is none. */
static size_t find_hole(size_t n)
{
        size_t run = 0;

        for (size_t i = 0; i < high_water; i++) {
                run = pages[i] == UNMAPPED ? run + 1 : 0;
                if (run == n)
                        return i + 1 - n;
        }
        return N_PAGES;
}

static size_t find_place(size_t n)
{
        size_t first = w_sim_chance(512) ? find_hole(n) : N_PAGES;

        return first != N_PAGES || n > N_PAGES - high_water ? first : high_water;
}

/* Checks that these are whole, mapped pages of the arena, and returns the first. */
static size_t first_page(const void *addr, size_t size, const char *call)
{
        size_t offset = (uintptr_t)addr - (uintptr_t)arena;

        SIM_CHECK(arena && offset % PAGE == 0 && size % PAGE == 0 && size > 0 &&
                  offset / PAGE < N_PAGES && size / PAGE <= N_PAGES - offset / PAGE,
                  "%s of %lu bytes at a place that was never mapped", call, (unsigned long)size);
        for (size_t i = 0; i < size / PAGE; i++)
                SIM_CHECK(pages[offset / PAGE + i] != UNMAPPED,
                          "%s of %lu bytes: page %lu of them is not mapped", call,
                          (unsigned long)size, (unsigned long)i);
        return offset / PAGE;
}

size_t w_os_page_size(void)
{
        return PAGE;
}

int w_os_vm_map(void **out, size_t size)
{
        size_t n = size / PAGE;
        int    rc = -ENOMEM;

        w_sim_call("vm map");
        SIM_CHECK(size > 0 && size % PAGE == 0, "vm map of %lu bytes", (unsigned long)size);
        size_t first = w_sim_fails() || !provide_arena() ? N_PAGES : find_place(n);

        if (first != N_PAGES) {
                memset(pages + first, MAPPED, n);
                n_mapped += n;
                if (first + n > high_water)
                        high_water = first + n;
                *out = arena + first * PAGE;
                rc = 0;
        }
        W_SIM_LOG(w_sim.running, NULL, "vm       maps %lu pages: %s", (unsigned long)n,
                  rc == 0 ? w_sim_value((uintptr_t)*out) : "no memory");
        w_sim_return();
        return rc;
}

void w_os_vm_unmap(void *addr, size_t size)
{
        w_sim_call("vm unmap");
        size_t first = first_page(addr, size, "vm unmap");

        (void)zero(first, size / PAGE);
        memset(pages + first, UNMAPPED, size / PAGE);
        n_mapped -= size / PAGE;
        W_SIM_LOG(w_sim.running, NULL, "vm       unmaps %lu pages at %s",
                  (unsigned long)(size / PAGE), w_sim_value((uintptr_t)addr));
        w_sim_return();
}

int w_os_vm_discard(void *addr, size_t size)
{
        int rc = -ENOMEM;

        w_sim_call("vm discard");
        size_t first = first_page(addr, size, "vm discard");

        if (!w_sim_fails()) {
                (void)zero(first, size / PAGE);
                rc = 0;
        }
        w_sim_return();
        return rc;
}

static int set_pages(const char *call, void *addr, size_t size, unsigned char what)
{
        int rc = -ENOMEM;

        w_sim_call(call);
        size_t first = first_page(addr, size, call);

        if (!w_sim_fails()) {
                memset(pages + first, what, size / PAGE);
                rc = 0;
        }
        W_SIM_LOG(w_sim.running, NULL, "vm       %s of %lu pages at %s: %d", call,
                  (unsigned long)(size / PAGE), w_sim_value((uintptr_t)addr), rc);
        w_sim_return();
        return rc;
}

/* Constant for the run: the system has the feature or not. */
bool w_os_vm_has_light_guard(void)
{
        return w_sim.seed % 4 != 3;
}

int w_os_vm_guard_light(void *addr, size_t size)
{
        return w_os_vm_has_light_guard() ? set_pages("vm guard (light)", addr, size, GUARD)
                                         : -EINVAL;
}

int w_os_vm_guard_heavy(void *addr, size_t size)
{
        return set_pages("vm guard (heavy)", addr, size, GUARD);
}

int w_os_vm_unguard(void *addr, size_t size)
{
        return set_pages("vm unguard", addr, size, MAPPED);
}

/* A page of zeroes counts as not resident: the state of the real memory below would differ from
 * replay to replay. */
int w_os_vm_resident(void *addr, size_t size, unsigned char *resident)
{
        w_sim_call("vm resident");
        size_t first = first_page(addr, size, "vm resident");

        ask_present(first, size / PAGE);
        for (size_t i = 0; i < size / PAGE; i++)
                resident[i] = (present[i] & 1) && !is_zero(first + i);
        w_sim_return();
        return 0;
}

int64_t w_os_vm_map_limit(void)
{
        return 65530;           /* the kernel's default */
}

bool sim_is_guarded(const void *addr)
{
        size_t page = ((uintptr_t)addr - (uintptr_t)arena) / PAGE;

        return arena && page < N_PAGES && pages[page] == GUARD;
}

size_t sim_mapped_pages(void)
{
        return n_mapped;
}
