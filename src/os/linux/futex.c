/* os/linux/futex.c - sleeping on a word, and waking who sleeps on it. Contract: os/os.h.
 *
 * Called by   base/note.c, base/lock.c, thread.c.
 *
 * Waits are absolute on CLOCK_MONOTONIC, so an interrupted one is simply made again: no signal can
 * shorten or lengthen it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/os.h"

#include "base/assert.h"
#include "os/linux/call.h"
#include "os/linux/clock.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

_Static_assert(sizeof(w_atomic_u32) == 4, "the kernel sees the word and nothing else");

static int wait_once(w_atomic_u32 *word, uint32_t expected, const struct timespec *until)
{
        return (int)W_SYS(syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG,
                                  expected, until, NULL, FUTEX_BITSET_MATCH_ANY));
}

int w_os_futex_wait(w_atomic_u32 *word, uint32_t expected, int64_t deadline_at)
{
        struct timespec until = w_clock_timespec(deadline_at);
        int             rc;

        do
                rc = wait_once(word, expected, deadline_at == W_FOREVER ? NULL : &until);
        while (rc == -EINTR);
        if (rc == -EAGAIN)      /* the word differed */
                return 0;
        /* Anything else would make the callers' loops spin for ever. */
        W_CHECK(rc == 0 || rc == -ETIMEDOUT, "futex wait on %p failed with %d", (void *)word, rc);
        return rc;
}

int w_os_futex_wake(w_atomic_u32 *word, int n)
{
        int rc = (int)W_SYS(syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, n,
                                    NULL, NULL, 0));

        return rc < 0 ? 0 : rc; /* the memory may be gone, and nobody sleeps there then */
}
