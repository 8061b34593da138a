/* os/linux/thread.c - kernel threads. Contract: os/thread.h.
 *
 * PROTOCOL thread-start
 *
 * Goal      hand fn, arg and name to the new thread without memory from malloc.
 * Parties   starter, new thread.
 * Words     struct start, a record in the starter's frame; its word taken: 0 not yet, 1 copied.
 *           n_taken: how many threads have ever copied their record; static, starters sleep on it.
 * Starter
 *   1. Fill the record.
 *   2. Create the thread, with every signal blocked.
 *   3. Load n_taken [TS2].
 *   4. Load taken [TS1]. If it is 1, done.
 *   5. Futex-wait while n_taken is as in step 3. Go to 3.
 * New thread
 *   1. Copy the record.
 *   2. taken = 1 [TS1].
 *   3. n_taken += 1 [TS2].
 *   4. Wake all starters.
 *   5. Call fn(arg).
 * Edges     [TS1] the copy is made    new: taken store-release   ->  starter: taken load-acquire
 *           [TS2] taken is set        new: n_taken add-release   ->  starter: n_taken load-acquire
 * Why safe  the new thread does not touch the record after its step 2, and the starter's frame
 *           stays until then. If the starter's step 3 saw the new thread's count, step 4 sees
 *           taken; else the wait returns at once or is woken. Creating the thread orders step 1 of
 *           the starter before step 1 of the new thread.
 * Rejected  sleeping on taken itself: the wake would name a frame that may be gone. A record from
 *           malloc (a second thing that can fail); a pool (a second thing to lock).
 * Tests     unit/test_os_thread.c
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/os.h"

#include "base/assert.h"
#include "os/linux/errno_call.h"
#include "os/linux/procfs.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
        NAME_BYTES = 16,                /* the kernel's limit, terminator included */
        GUARD_BYTES = 64 * 1024,        /* the longest stride between two probes of a large frame,
                                         * aarch64's; address space only */
        MAX_DOUBLINGS = 8,
};

/* No machine has more. The limit keeps the arithmetic below from wrapping. */
#define MAX_STACK       ((size_t)1 << 48)

struct start {
        void       (*fn)(void *);
        void        *arg;
        char         name[NAME_BYTES];
        struct w_os_thread *thread;     /* the new thread writes its handle: another thread may
                                         * join it before its starter goes on */
        w_atomic_u32 taken;             /* a  [TS1] */
};

static w_atomic_u32 n_taken;            /* a  [TS2] */

static void wait_until_taken(struct start *start)
{
        for (;;) {
                uint32_t n = w_load_acq(&n_taken);                /* [TS2] */

                if (w_load_acq(&start->taken))                    /* [TS1] */
                        return;
                (void)w_os_futex_wait(&n_taken, n, W_FOREVER);    /* read again anyway */
        }
}

static void *run_thread(void *from)
{
        struct start *start = from;
        void        (*fn)(void *) = start->fn;
        void         *arg = start->arg;

        start->thread->handle = (uint64_t)pthread_self();
        /* If the kernel refuses the name, the thread has none. */
        (void)pthread_setname_np(pthread_self(), start->name);
        (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
        w_store_rel(&start->taken, 1);                            /* [TS1] */
        w_add_rel(&n_taken, 1);                                   /* [TS2] */
        w_os_futex_wake(&n_taken, INT_MAX);
        fn(arg);
        return NULL;
}

static size_t least_stack(size_t wanted)
{
        long   least = sysconf(_SC_THREAD_STACK_MIN);
        size_t page = w_os_page_size();

        if (least > 0 && wanted < (size_t)least)
                wanted = (size_t)least;
        return (wanted + page - 1) / page * page;
}

static int create(pthread_t *id, size_t stack_size, struct start *start)
{
        pthread_attr_t attr;
        int            rc = w_inject_point(W_CALL_THREAD);

        if (rc < 0)
                return rc;
        rc = pthread_attr_init(&attr);
        if (rc != 0)
                return -rc;
        rc = pthread_attr_setguardsize(&attr, GUARD_BYTES);
        if (rc == 0)
                rc = pthread_attr_setstacksize(&attr, stack_size + GUARD_BYTES);
        if (rc == 0)
                rc = pthread_create(id, &attr, run_thread, start);
        (void)pthread_attr_destroy(&attr);      /* cannot fail on an attribute that was made */
        return -rc;
}

/* libc takes thread-local variables from the stack as well and refuses a stack that does not hold
 * them. It does not tell how large they are. */
static int create_fitting(pthread_t *id, size_t stack_size, struct start *start)
{
        int rc = create(id, stack_size, start);

        for (int i = 0; rc == -EINVAL && i < MAX_DOUBLINGS; i++) {
                stack_size *= 2;
                rc = create(id, stack_size, start);
        }
        return rc;
}

static void copy_name(char *to, const char *from)
{
        size_t n = 0;

        for (; from && from[n] && n < NAME_BYTES - 1; n++)
                to[n] = from[n];
        to[n] = '\0';
}

int w_os_thread_start(struct w_os_thread *thread, const char *name, size_t stack_size,
                      void (*fn)(void *), void *arg)
{
        struct start        start = { .fn = fn, .arg = arg, .thread = thread };
        struct w_os_sigmask mask;
        pthread_t           id;
        int                 saved = errno;

        if (stack_size > MAX_STACK)
                return -ENOMEM;
        copy_name(start.name, name);
        w_os_signals_block(&mask);
        int rc = create_fitting(&id, least_stack(stack_size), &start);
        w_os_signals_restore(&mask);
        if (rc == 0)
                wait_until_taken(&start);
        errno = saved;
        return rc;
}

void w_os_thread_join(struct w_os_thread *thread)
{
        int rc = pthread_join((pthread_t)thread->handle, NULL);

        W_CHECK(rc == 0, "thread 0x%lx cannot be joined: %s", (unsigned long)thread->handle,
                w_error_name(rc));
}

int w_os_thread_count(void)
{
        static const char key[] = "Threads:";
        struct w_lines    lines;
        char              line[128];
        int64_t           n = -EOPNOTSUPP;
        int               rc = w_lines_open(&lines, "/proc/self/status");

        if (rc < 0)
                return rc;
        while (w_lines_next(&lines, line, sizeof(line)))
                if (strncmp(line, key, sizeof(key) - 1) == 0 &&
                    w_file_number(line + sizeof(key) - 1, &n))
                        break;
        w_lines_close(&lines);
        return (int)n;
}

bool w_os_thread_try_join(struct w_os_thread *thread)
{
        int rc = pthread_tryjoin_np((pthread_t)thread->handle, NULL);

        W_CHECK(rc == 0 || rc == EBUSY, "thread 0x%lx cannot be joined: %s",
                (unsigned long)thread->handle, w_error_name(rc));
        return rc == 0;
}

void w_os_yield(void)
{
        (void)W_SYS(sched_yield());     /* never fails */
}

int w_os_tid(void)
{
        return (int)W_SYS(syscall(SYS_gettid));
}

int *w_os_errno(void)
{
        return &errno;
}
