/* os/linux/code_map.c - which addresses are code, and of which object. Contract: os/code.h.
 *
 * The map of loaded objects is read when a run begins and before each dump, and it only grows. A
 * reader takes no lock, because the monitor must not wait for a thread that blocks with the
 * linker's lock. An object that was unloaded stays in the map, and answers about its addresses may
 * be wrong. Therefore code is read by a system call, which fails where the code is gone.
 *
 * PROTOCOL code-map
 *
 * Goal      any thread may read the map while it grows.
 * Parties   learner, one at a time; readers.
 * Words     ranges[], each written once; n_ranges.
 * Learner
 *   1. Write the range behind the last.
 *   2. n_ranges + 1 [CD1].
 * Reader
 *   1. Load n_ranges [CD1].
 *   2. Search the ranges below it, the newest first: a new object may lie where an unloaded object
 *      was.
 * Edges     [CD1] a range   n_ranges store-release -> load-acquire
 * Tests     unit/test_os_preempt.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/os.h"

#include "base/fatal.h"
#include "os/linux/errno_call.h"

#include <link.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
        N_RANGES = 256,         /* mostly one for each object; further objects are unknown */
        NAME_BYTES = 64,        /* for the last part of a path */
        CALL_BYTES = 7,         /* the longest call instruction */
};

struct range {
        uintptr_t from, to, base;
        char      name[NAME_BYTES];
};

static struct range ranges[N_RANGES];
static w_atomic_u32 n_ranges;           /* a  [CD1] */

/* ---- Learning -------------------------------------------------------------------------------- */

static bool is_known(uintptr_t from, uintptr_t to)
{
        uint32_t n = w_load_rlx(&n_ranges);                       /* own word: one learner */

        for (uint32_t i = n; i-- > 0;)
                if (ranges[i].from < to && from < ranges[i].to)
                        return ranges[i].from == from && ranges[i].to == to;
        return false;
}

/* The linker calls the program itself "". */
static void copy_name(char out[NAME_BYTES], const char *path)
{
        const char *slash = strrchr(path, '/');
        const char *name = slash ? slash + 1 : path;

        (void)w_format(out, NAME_BYTES, "%s", *name ? name : "the program");
}

static int learn_object(struct dl_phdr_info *object, size_t size, void *arg)
{
        (void)size, (void)arg;
        for (int i = 0; i < object->dlpi_phnum; i++) {
                const ElfW(Phdr) *ph = &object->dlpi_phdr[i];
                uintptr_t         from = object->dlpi_addr + ph->p_vaddr;
                uint32_t          n = w_load_rlx(&n_ranges);      /* own word */

                if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X) || !(ph->p_flags & PF_R) ||
                    n == N_RANGES || is_known(from, from + ph->p_memsz))
                        continue;
                ranges[n] = (struct range){ .from = from, .to = from + ph->p_memsz,
                                            .base = object->dlpi_addr };
                copy_name(ranges[n].name, object->dlpi_name);
                w_store_rel(&n_ranges, n + 1);                    /* [CD1] */
        }
        return 0;
}

void w_os_code_learn(void)
{
        (void)dl_iterate_phdr(learn_object, NULL);
}

/* ---- Asking ---------------------------------------------------------------------------------- */

static const struct range *range_of(const void *addr)
{
        for (uint32_t i = w_load_acq(&n_ranges); i-- > 0;)        /* [CD1] */
                if ((uintptr_t)addr >= ranges[i].from && (uintptr_t)addr < ranges[i].to)
                        return &ranges[i];
        return NULL;
}

bool w_os_is_code(const void *addr)
{
        return range_of(addr) != NULL;
}

bool w_os_code_find(const void *addr, struct w_os_symbol *out)
{
        const struct range *r = range_of(addr);

        if (!r)
                return false;
        *out = (struct w_os_symbol){ .object = r->name,
                                     .offset = (size_t)((uintptr_t)addr - r->base) };
        return true;
}

static bool ends_in_a_call(const unsigned char code[CALL_BYTES])
{
        const unsigned char *end = code + CALL_BYTES;
#if defined(__x86_64__)
        static const unsigned char lengths[] = { 2, 3, 4, 6, 7 };      /* of indirect calls */

        if (end[-5] == 0xe8)
                return true;
        for (size_t i = 0; i < sizeof(lengths); i++) {
                const unsigned char *call = end - lengths[i];

                if (call[0] == 0xff && (call[1] & 0x38) == 0x10)
                        return true;
        }
        return false;
#else
        uint32_t call;

        memcpy(&call, end - 4, sizeof(call));
        return (call & 0xfc000000) == 0x94000000 || (call & 0xfffffc1f) == 0xd63f0000;
#endif
}

/* An emulator may not know the system call: then every code address may be a return address. */
bool w_os_is_return_address(const void *addr)
{
        unsigned char       code[CALL_BYTES];
        const struct range *r = range_of(addr);

        if (!r || (uintptr_t)addr < r->from + CALL_BYTES)
                return false;
        struct iovec to = { code, CALL_BYTES };
        struct iovec from = { (char *)(uintptr_t)addr - CALL_BYTES, CALL_BYTES };
        intptr_t     n = W_SYS(process_vm_readv(getpid(), &to, 1, &from, 1, 0));

        return n == CALL_BYTES ? ends_in_a_call(code) : n == -ENOSYS || n == -EPERM;
}
