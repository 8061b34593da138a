/* os/linux/atfork.c - forks, and threads that end early. Contract: os/thread.h.
 *
 * The destructor of a thread-specific key reports the end of a thread. The key's value is set only
 * while a report is wanted.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/os.h"

#include "os/linux/errno_call.h"

#include <pthread.h>

int w_os_fork_watch(void (*in_child)(void))
{
        int rc = w_inject_point(W_CALL_ATFORK);

        return rc < 0 ? rc : -pthread_atfork(NULL, NULL, in_child);
}

static struct {
        pthread_once_t once;
        pthread_key_t  key;
        bool           made;
        w_atomic_uptr  fn;
} at_end = { .once = PTHREAD_ONCE_INIT };

static void thread_ends(void *arg)
{
        void (*fn)(void *) = (void (*)(void *))w_load_rlx(&at_end.fn);  /* guarded: stored before */

        fn(arg);
}

static void make_key(void)
{
        at_end.made = pthread_key_create(&at_end.key, thread_ends) == 0;
}

W_NOIPA void w_os_thread_end_watch(void (*fn)(void *), void *arg)
{
        int saved = errno;

        if (fn)
                w_store_rlx(&at_end.fn, (uintptr_t)fn);         /* own word: always the same */
        (void)pthread_once(&at_end.once, make_key);     /* cannot fail: statically initialized */
        if (at_end.made)
                (void)pthread_setspecific(at_end.key, fn ? arg : NULL);         /* best effort */
        errno = saved;
}
