/* os/explore/os.c - the operating system of an explored scenario: futex, yield, time, the end.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/explore/engine.h"

#include "base/assert.h"
#include "os/os.h"

#include <errno.h>      /* ETIMEDOUT */
#include <stdlib.h>     /* abort */
#include <string.h>
#include <unistd.h>

static const char fatal_prefix[] = "weft: fatal: ";

/* A fatal error of weft ends the execution; a fatal error of the explorer ends the program. */
void w_os_write_err(const char *text, size_t len)
{
        size_t n = sizeof(fatal_prefix) - 1;
        bool   fatal = len > n && memcmp(text, fatal_prefix, n) == 0;

        if (fatal && w_ex.cur && strncmp(text + n, "explorer: ", 10) != 0)
                w_ex_fail(W_EXPLORE_ASSERTION, "%.*s", (int)(len - n - 1), text + n);
        w_ex.running = false;
        ssize_t ignored = write(2, text, len);
        (void)ignored;          /* there is no other channel */
}

W_NORETURN void w_os_abort(void)
{
        abort();
}

int64_t w_os_now(void)
{
        return w_ex.now;
}

uint64_t w_os_random_seed(void)
{
        return 1;               /* an execution must repeat exactly */
}

int w_os_tid(void)
{
        return w_ex.cur ? 1 + w_ex.cur->id : 0;
}

/* No scenario opens a scope on a thread, so the record is unchanged in every execution. */
struct w_os_foreign *w_os_foreign(void)
{
        return w_ex.cur ? &w_ex.cur->foreign : &w_ex.main_foreign;
}

void w_os_yield(void)
{
        static const struct w_site site = { "yield", __FILE__, __LINE__ };

        if (!w_ex.running)
                return;
        w_ex_log_op("yield", W_RLX, &site, "%s", "");
        w_ex_yield();
}

static bool wakes_for_no_reason(void)
{
        if (w_ex.n_spurious >= w_ex.scenario->spurious || w_ex_choose(2) == 0)
                return false;
        w_ex.n_spurious++;
        return true;
}

int w_os_futex_wait(w_atomic_u32 *word, uint32_t expected, int64_t deadline_at)
{
        static const struct w_site site = { "futex word", __FILE__, __LINE__ };

        W_CHECK(w_ex.running, "explorer: setup and check may not sleep");
        w_ex_step();
        struct ex_loc *l = w_ex_loc_atomic(&word->raw, sizeof(word->raw));
        int            newest = l->n_stores - 1;

        w_ex_log_op("futex wait", W_RLX, &site, "while %u: finds %s", expected,
                  w_ex_log_read(l, newest));
        w_ex.cur->view.at[l->index] = (int16_t)newest;
        if (w_ex_newest(l)->value != expected || wakes_for_no_reason())
                return 0;
        if (deadline_at <= w_ex.now)
                return -ETIMEDOUT;
        w_ex_sleep((uintptr_t)&word->raw, deadline_at);
        return w_ex.cur->timed_out ? -ETIMEDOUT : 0;
}

int w_os_futex_wake(w_atomic_u32 *word, int n)
{
        static const struct w_site site = { "futex word", __FILE__, __LINE__ };

        if (!w_ex.running)
                return 0;
        w_ex_step();
        w_ex_log_op("futex wake", W_RLX, &site, "at most %d", n);
        return w_ex_wake((uintptr_t)&word->raw, n);
}

struct thread *w_self(void)
{
        return w_ex.cur ? w_ex.cur->self : w_ex.main_self;
}

/* For the rest of this execution. */
void w_self_set(struct thread *self)
{
        *(w_ex.cur ? &w_ex.cur->self : &w_ex.main_self) = self;
}
