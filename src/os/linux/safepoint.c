/* os/linux/safepoint.c - where a signal may preempt a thread. Contract: os/code.h.
 *
 * A thread that is in libc, in the dynamic linker, in the vDSO or in the allocator may hold a lock
 * that every other thread needs. The text of these objects is found when the first run starts. It
 * is the text of the linker and the vDSO, and the text that holds malloc, operator new, the walk
 * over loaded objects or the unwinder's tables. A program without a dynamic linker has all of these
 * in one piece of text, so none of its threads is ever preempted.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/linux/safepoint.h"

#include "os/os.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>

enum { N_RANGES = 16 };

struct range {
        uintptr_t from, to;
};

static struct range ranges[N_RANGES];
static uint32_t     n_ranges;
static bool         is_known;           /* false: there is no safepoint anywhere */

static const char *const names[] = {
        "malloc", "free", "_Znwm", "dl_iterate_phdr", "_Unwind_Find_FDE",
};

/* True: r holds one of the named functions, as the program resolves their names. */
static bool holds_a_named_one(struct range r)
{
        for (size_t i = 0; i < W_ARRAY_LEN(names); i++) {
                uintptr_t at = (uintptr_t)dlsym(RTLD_DEFAULT, names[i]);

                if (at >= r.from && at < r.to)
                        return true;
        }
        return false;
}

static bool is_the_systems(uintptr_t base)
{
        return base != 0 && (base == getauxval(AT_BASE) || base == getauxval(AT_SYSINFO_EHDR));
}

static void exclude(struct range r)
{
        if (n_ranges == N_RANGES)
                is_known = false;
        else
                ranges[n_ranges++] = r;
}

static int look_at(struct dl_phdr_info *object, size_t size, void *arg)
{
        (void)size, (void)arg;
        for (int i = 0; i < object->dlpi_phnum; i++) {
                const ElfW(Phdr) *ph = &object->dlpi_phdr[i];
                uintptr_t         at = object->dlpi_addr + ph->p_vaddr;
                struct range      r = { at, at + ph->p_memsz };

                if (ph->p_type == PT_LOAD && (ph->p_flags & PF_X) &&
                    (is_the_systems(object->dlpi_addr) || holds_a_named_one(r)))
                        exclude(r);
        }
        return 0;
}

void w_safepoint_init(void)
{
        if (n_ranges != 0)
                return;
        is_known = getauxval(AT_BASE) != 0;
        if (is_known)
                (void)dl_iterate_phdr(look_at, NULL);
}

bool w_os_is_safepoint(const void *pc)
{
        for (uint32_t i = 0; i < n_ranges; i++)
                if ((uintptr_t)pc >= ranges[i].from && (uintptr_t)pc < ranges[i].to)
                        return false;
        return is_known;
}
