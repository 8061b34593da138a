/* os/vm.h - CONTRACT: address space: reserve, discard, guard.
 *
 * The rules for every call are in os/os.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_OS_VM_H
#define W_OS_VM_H

#include "base/compiler.h"

#include <stdbool.h>

size_t w_os_page_size(void);

/* Reserves readable and writable address space of whole pages. The pages are zero until touched,
 * never huge, and not charged before they are touched, where the system allows that. -ENOMEM. */
W_MUST_CHECK int w_os_vm_map(void **out, size_t size);
void w_os_vm_unmap(void *addr, size_t size);

/* Gives the pages back; they read as zero afterwards. Guards inside survive. -ENOMEM and others:
 * nothing was given back, which costs memory only. */
int w_os_vm_discard(void *addr, size_t size);

/* The two ways to make pages fault on any access. `light` costs no mapping of its own and may not
 * exist (w_os_vm_has_light_guard: probed once by its effect); `heavy` splits the mapping. */
bool w_os_vm_has_light_guard(void);
W_MUST_CHECK int w_os_vm_guard_light(void *addr, size_t size);
W_MUST_CHECK int w_os_vm_guard_heavy(void *addr, size_t size);
/* Undoes either. */
int w_os_vm_unguard(void *addr, size_t size);

/* Writes one byte per page to `resident`: bit 0 is set if the page is in memory. */
W_MUST_CHECK int w_os_vm_resident(void *addr, size_t size, unsigned char *resident);

/* How many mappings the system allows this process. */
int64_t w_os_vm_map_limit(void);

#endif
