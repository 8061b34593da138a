/* tests/lib/freeze.c - for the tests of PROTOCOL freeze.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/freeze.h"

void freeze_need_kernel(void)
{
        struct w_os_thread_state state;

        if (test_is_emulated())
                test_skip("the emulator's threads are not the threads of the kernel");
        if (w_os_thread_state(w_os_tid(), &state) < 0)
                test_skip("the kernel does not show what threads wait for");
}
