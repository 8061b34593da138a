/* tests/lib/blocked.c - runs a child in which goroutines block, and reads its reports.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/blocked.h"

w_atomic_u32 blocked_go_on, blocked_n_pings, blocked_n_at_it;
int          blocked_ends[2];

void blocked_run_child(void (*fn)(void *), void *arg, char *said, size_t size)
{
        int status = test_run_child(fn, arg, said, size);

        CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %#x\n%s",
                  (unsigned)status, said);
}

int blocked_count(const char *text, const char *what)
{
        int n = 0;

        for (; (text = strstr(text, what)); text += strlen(what))
                n++;
        return n;
}

void blocked_ping(void *arg)
{
        (void)arg;
        w_add_acqrel(&blocked_n_pings, 1);
        weft_yield();
        w_add_acqrel(&blocked_n_pings, 1);
}
