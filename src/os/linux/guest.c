/* os/linux/guest.c - what weft keeps for threads of the program's own. Contract: os/os.h.
 *
 * Initial-exec like the word in self.c, so that no first access allocates. The end of a thread is
 * heard of through a key of libc's, whose value is set only while it is to be heard of: a thread
 * that owes nothing may end after the library was unloaded.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/os.h"

#include <errno.h>
#include <pthread.h>

static __attribute__((tls_model("initial-exec"))) _Thread_local struct w_os_guest guest;

static struct {
        pthread_once_t once;
        pthread_key_t  key;
        bool           made;
} at_end = { .once = PTHREAD_ONCE_INIT };

static void thread_ends(void *value)
{
        struct w_os_guest *of = value;

        of->at_end(of);
}

static void make_key(void)
{
        at_end.made = pthread_key_create(&at_end.key, thread_ends) == 0;
}

W_NOIPA struct w_os_guest *w_os_guest(void)
{
        return &guest;
}

W_NOIPA void w_os_guest_watch(void (*fn)(struct w_os_guest *guest))
{
        int saved = errno;

        guest.at_end = fn;
        (void)pthread_once(&at_end.once, make_key);     /* cannot fail on what it was made for */
        if (at_end.made)
                (void)pthread_setspecific(at_end.key, fn ? &guest : NULL);      /* best effort */
        errno = saved;
}
