/* os/linux/foreign.c - what weft keeps for threads of the program's own. Contract: os/os.h.
 *
 * Initial-exec like the word in tls.c, so that no first access allocates. The end of a thread is
 * heard of through a key of libc's, whose value is set only while it is to be heard of: a thread
 * that owes nothing may end after the library was unloaded.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/os.h"

#include <errno.h>
#include <pthread.h>

static __attribute__((tls_model("initial-exec"))) _Thread_local struct w_os_foreign foreign;

static struct {
        pthread_once_t once;
        pthread_key_t  key;
        bool           made;
} at_end = { .once = PTHREAD_ONCE_INIT };

static bool is_watched(const struct w_os_foreign *of)
{
        bool any = false;

        for (int i = 0; i < W_OS_N_HOOKS; i++)
                any = any || of->at_end[i];
        return any;
}

static void thread_ends(void *value)
{
        struct w_os_foreign *of = value;

        of->ends = true;
        for (int i = 0; i < W_OS_N_HOOKS; i++)
                if (of->at_end[i])
                        of->at_end[i](of);
}

static void make_key(void)
{
        at_end.made = pthread_key_create(&at_end.key, thread_ends) == 0;
}

W_NOIPA struct w_os_foreign *w_os_foreign(void)
{
        return &foreign;
}

W_NOIPA int w_os_foreign_watch(enum w_os_foreign_hook hook,
                               void (*fn)(struct w_os_foreign *foreign))
{
        int saved = errno;
        int rc = EAGAIN;

        foreign.at_end[hook] = fn;
        (void)pthread_once(&at_end.once, make_key);     /* cannot fail on what it was made for */
        if (at_end.made)
                rc = pthread_setspecific(at_end.key, is_watched(&foreign) ? &foreign : NULL);
        if (rc != 0)
                foreign.at_end[hook] = NULL;
        errno = saved;
        return -rc;
}
