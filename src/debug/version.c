/* debug/version.c - the version of the library.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/compiler.h"

#include "weft.h"

W_EXPORT const char *weft_version(void)
{
        return W_STRINGIFY(WEFT_VERSION_MAJOR) "." W_STRINGIFY(WEFT_VERSION_MINOR) "."
               W_STRINGIFY(WEFT_VERSION_PATCH);
}

W_EXPORT int weft_version_number(void)
{
        return WEFT_VERSION;
}
