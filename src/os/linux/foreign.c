/* os/linux/foreign.c - the records of foreign threads. Contract: os/foreign.h.
 *
 * Initial-exec like the word in tls.c, so that no first access allocates. The destructor of a
 * thread-specific key reports the end of a thread. The key's value is set only while a report is
 * wanted: any other thread may end after the library was unloaded.
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

static void thread_ends(void *value)
{
        struct w_os_foreign *of = value;

        if (of->at_end)
                of->at_end(of);
}

static void make_key(void)
{
        at_end.made = pthread_key_create(&at_end.key, thread_ends) == 0;
}

W_NOIPA struct w_os_foreign *w_os_foreign(void)
{
        return &foreign;
}

W_NOIPA int w_os_foreign_watch(void (*fn)(struct w_os_foreign *foreign))
{
        int saved = errno;
        int rc = EAGAIN;

        foreign.at_end = fn;
        (void)pthread_once(&at_end.once, make_key);     /* cannot fail: statically initialized */
        if (at_end.made)
                rc = pthread_setspecific(at_end.key, fn ? &foreign : NULL);
        errno = saved;
        return -rc;
}
