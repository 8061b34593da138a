/* tests/unit/test_window.c - windows pause every thread that reaches one, or only windows with a
 * given name.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/window.h"

#include "base/thread.h"
#include "harness/test.h"
#include "os/os.h"

#include <stdlib.h>

#if defined(W_WINDOWS)
static void pass(const char *windows)
{
        if (windows)
                CHECK_EQ(setenv("WEFT_WINDOW", windows, 1), 0);
        else
                CHECK_EQ(unsetenv("WEFT_WINDOW"), 0);
        W_WINDOW("here");
}
#endif

/* The length of the pause is drawn each time. */
TEST(a_foreign_thread_is_paused)
{
#if defined(W_WINDOWS)
        uint64_t *state = &w_os_foreign()->window_rand;

        CHECK(!w_self());
        pass("there,nowhere");
        CHECK_EQ(*state, 0);
        pass("there,here");
        uint64_t before = *state;

        CHECK(before != 0);
        pass(NULL);
        CHECK(*state != before);
#else
        test_skip("no race windows in this build");
#endif
}

TEST(a_thread_of_weft_is_paused)
{
#if defined(W_WINDOWS)
        struct thread self = { .id = 1 };

        w_self_set(&self);
        pass("here");
        w_self_set(NULL);
        CHECK(self.window_rand != 0);
        CHECK_EQ(w_os_foreign()->window_rand, 0);
#else
        test_skip("no race windows in this build");
#endif
}
