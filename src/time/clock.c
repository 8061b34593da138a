/* time/clock.c - the clock of all times in weft. Works also while no runtime runs.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/os.h"

#include "weft.h"

W_EXPORT int64_t weft_now(void)
{
        return w_os_now();
}
