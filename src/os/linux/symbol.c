/* os/linux/symbol.c - the name of a code address, for reports. Contract: os/code.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/os.h"

#include <dlfcn.h>

bool w_os_symbol_find(const void *addr, struct w_os_symbol *out)
{
        Dl_info info = { 0 };

        if (!dladdr(addr, &info) || !info.dli_fname)
                return false;
        *out = (struct w_os_symbol){
                .name = info.dli_sname,
                .object = info.dli_fname,
                .offset = (size_t)((const char *)addr - (const char *)info.dli_fbase),
        };
        return true;
}
