/* os/linux/futex.c - sleeping on a word, and waking the sleepers. Contract: os/futex.h.
 *
 * Waits are absolute on CLOCK_MONOTONIC, so an interrupted wait is simply repeated: no signal can
 * shorten or lengthen it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/os.h"

#include "base/assert.h"
#include "base/sanitizer.h"
#include "os/linux/errno_call.h"
#include "os/linux/clock.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

_Static_assert(sizeof(w_atomic_u32) == 4, "the kernel sees the word and nothing else");

static int wait_until(w_atomic_u32 *word, uint32_t expected, int64_t at)
{
        struct timespec until = w_clock_timespec(at);

        return (int)W_SYS(syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG,
                                  expected, at == W_FOREVER ? NULL : &until, NULL,
                                  FUTEX_BITSET_MATCH_ANY));
}

#if defined(W_TSAN)
/* ThreadSanitizer delays signals until the thread makes a call that TSan intercepts, such as
 * reading the clock. A sleeping thread makes none, so it sleeps in slices. */
static int wait_once(w_atomic_u32 *word, uint32_t expected, int64_t deadline_at)
{
        enum { SLICE_NS = 10000000 };
        int64_t slice = w_os_now() + SLICE_NS;

        if (deadline_at <= slice)
                return wait_until(word, expected, deadline_at);
        int rc = wait_until(word, expected, slice);

        return rc == -ETIMEDOUT ? -EINTR : rc;
}
#else
#define wait_once wait_until
#endif

int w_os_futex_wait(w_atomic_u32 *word, uint32_t expected, int64_t deadline_at)
{
        int rc;

        do
                rc = wait_once(word, expected, deadline_at);
        while (rc == -EINTR);
        if (rc == -EAGAIN)      /* the word differed */
                return 0;
        /* Anything else would make the callers' loops spin for ever. */
        W_CHECK(rc == 0 || rc == -ETIMEDOUT, "futex wait on %p failed: %s", (void *)word,
                w_error_name(rc));
        return rc;
}

int w_os_futex_wake(w_atomic_u32 *word, int n)
{
        int rc = (int)W_SYS(syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, n,
                                    NULL, NULL, 0));

        return rc < 0 ? 0 : rc; /* the memory may be gone; no thread sleeps there then */
}
