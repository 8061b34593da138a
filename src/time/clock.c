/* time/clock.c - the clock that all of weft's times are on.
 *
 * Called by   user code, also while no runtime runs.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/os.h"

#include "weft.h"

W_EXPORT int64_t weft_now(void)
{
        return w_os_now();
}
