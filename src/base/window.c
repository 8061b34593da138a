/* base/window.c - the pause behind W_WINDOW.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/window.h"

#include "base/compiler.h"

#if defined(W_WINDOWS) && !defined(W_HOOKED)

#include "base/atomic.h"
#include "base/rand.h"
#include "base/thread.h"
#include "os/os.h"

#include <stdlib.h>     /* getenv */
#include <string.h>

/* Compares with whole words of the comma-separated list only. */
static bool is_selected(const char *name)
{
        const char *list = getenv("WEFT_WINDOW");
        size_t      len = strlen(name);

        if (!list)
                return true;
        for (const char *at = list; (at = strstr(at, name)); at += len) {
                bool starts = at == list || at[-1] == ',';
                bool ends = at[len] == '\0' || at[len] == ',';

                if (starts && ends)
                        return true;
        }
        return false;
}

static uint64_t *generator(void)
{
        struct thread *self = w_self();
        uint64_t      *state = self ? &self->window_rand : &w_os_foreign()->window_rand;

        if (*state == 0)
                *state = w_os_random_seed();
        return state;
}

void w_window(const char *name)
{
        if (!is_selected(name))
                return;
        uint64_t r = w_rand(generator());

        switch (r % 16) {
        case 0:
                w_os_sleep_until(w_os_now() + (int64_t)(r >> 32) % 50000);
                break;
        case 1:
        case 2:
                w_os_yield();
                break;
        case 3:
        case 4:
        case 5:
                for (unsigned i = 0; i < (r >> 32) % 200; i++)
                        w_cpu_pause();
                break;
        default:
                break;
        }
}

#endif
