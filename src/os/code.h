/* os/code.h - CONTRACT: which addresses are code, and of which object.
 *
 * The rules for every call are in os/os.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_OS_CODE_H
#define W_OS_CODE_H

#include "base/compiler.h"

#include <stdbool.h>

struct w_os_symbol {
        const char *name;       /* of the function; NULL: unknown */
        const char *object;     /* the file that holds it */
        size_t      offset;     /* from the start of that file */
};

/* Asks the dynamic linker for the symbol at a code address. False: nothing is known. May wait for a
 * lock of the linker, so a report calls it only after everything else is written. */
W_MUST_CHECK bool w_os_symbol_find(const void *addr, struct w_os_symbol *out);

/* False: a thread at pc may hold a lock of libc, of the linker or of the allocator.
 * Async-signal-safe. */
bool w_os_is_safepoint(const void *pc);

/* Reads the map of loaded code. May wait for a lock of the linker. One caller at a time. */
void w_os_code_learn(void);
/* True: addr is code, or was, according to the map. None of these three takes a lock. */
bool w_os_is_code(const void *addr);
W_MUST_CHECK bool w_os_is_return_address(const void *addr);     /* a call may return there */
/* As w_os_symbol_find, but without the function's name and the object's folders. */
W_MUST_CHECK bool w_os_code_find(const void *addr, struct w_os_symbol *out);

#endif
