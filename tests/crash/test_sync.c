/* Misuse of mutex, rwmutex, semaphore, wait group and once: the last words name the object.
 *
 * test: valgrind=no
 * The tests only fork and abort: valgrind takes long and finds nothing.
 *
 * SPDX-License-Identifier: MIT
 */
#include "harness/test.h"

#include "weft.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

static weft_mutex   mutex = WEFT_MUTEX_INIT;
static weft_rwmutex rwmutex = WEFT_RWMUTEX_INIT;
static weft_cond    cond = WEFT_COND_INIT;
static weft_sem     sem = WEFT_SEM_INIT(UINT_MAX);
static weft_wg      wg = WEFT_WG_INIT;
static weft_once    once = WEFT_ONCE_INIT;

struct misuse {
        void      (*fn)(void *);
        const char *text;
        void       *object;
};

static void in_a_run(void *arg)
{
        const struct misuse *m = arg;

        (void)!weft_run(m->fn, NULL);
}

static void in_no_run(void *arg)
{
        const struct misuse *m = arg;

        m->fn(NULL);
}

static void expect(const char *said, const char *text)
{
        CHECK_MSG(strstr(said, text), "no \"%s\" in:\n%s", text, said);
}

/* With a runtime there is a dump after the line. */
static void must_die(void (*fn)(void *), const char *text, void *object)
{
        struct misuse m = { fn, text, object };
        char          said[4096], address[32];

        snprintf(address, sizeof(address), "%p", object);
        for (int run = 0; run < 2; run++) {
                int status = test_run_child(run ? in_a_run : in_no_run, &m, said, sizeof(said));

                CHECK_MSG(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "status %#x\n%s",
                          (unsigned)status, said);
                expect(said, text);
                expect(said, address);
                if (run)
                        expect(said, "goroutine 1");
        }
}

static void unlock_new(void *arg)
{
        (void)arg;
        weft_mutex_unlock(&mutex);
}

static void unlock_twice(void *arg)
{
        weft_mutex_lock(&mutex);
        weft_mutex_unlock(&mutex);
        unlock_new(arg);
}

TEST(unlock_of_an_unlocked_mutex)
{
        must_die(unlock_new, "weft: fatal: unlock of unlocked mutex", &mutex);
        must_die(unlock_twice, "weft: fatal: unlock of unlocked mutex", &mutex);
}

static void wait_without_mutex(void *arg)
{
        (void)arg;
        (void)!weft_cond_wait(&cond, &mutex);
}

TEST(a_cond_wait_without_the_mutex)
{
        must_die(wait_without_mutex, "weft: fatal: unlock of unlocked mutex", &mutex);
}

static void rw_unlock_new(void *arg)
{
        (void)arg;
        weft_rwmutex_unlock(&rwmutex);
}

static void rw_runlock_new(void *arg)
{
        (void)arg;
        weft_rwmutex_runlock(&rwmutex);
}

static void rw_unlock_of_reader(void *arg)
{
        weft_rwmutex_rlock(&rwmutex);
        rw_unlock_new(arg);
}

static void rw_runlock_of_writer(void *arg)
{
        weft_rwmutex_lock(&rwmutex);
        rw_runlock_new(arg);
}

static void rw_runlock_twice(void *arg)
{
        weft_rwmutex_rlock(&rwmutex);
        weft_rwmutex_runlock(&rwmutex);
        rw_runlock_new(arg);
}

static void rw_unlock_twice(void *arg)
{
        weft_rwmutex_lock(&rwmutex);
        weft_rwmutex_unlock(&rwmutex);
        rw_unlock_new(arg);
}

TEST(unlock_of_an_unlocked_rwmutex)
{
        must_die(rw_unlock_new, "weft: fatal: unlock of unlocked rwmutex", &rwmutex);
        must_die(rw_runlock_new, "weft: fatal: unlock of unlocked rwmutex", &rwmutex);
        must_die(rw_unlock_of_reader, "weft: fatal: unlock of unlocked rwmutex", &rwmutex);
        must_die(rw_runlock_of_writer, "weft: fatal: unlock of unlocked rwmutex", &rwmutex);
        must_die(rw_runlock_twice, "weft: fatal: unlock of unlocked rwmutex", &rwmutex);
        must_die(rw_unlock_twice, "weft: fatal: unlock of unlocked rwmutex", &rwmutex);
}

static void one_permit_too_many(void *arg)
{
        (void)arg;
        weft_sem_release(&sem);
}

TEST(more_permits_than_can_be_counted)
{
        must_die(one_permit_too_many, "weft: fatal: semaphore overflow", &sem);
}

static void done_of_zero(void *arg)
{
        (void)arg;
        weft_wg_done(&wg);
}

static void below_zero(void *arg)
{
        (void)arg;
        weft_wg_add(&wg, 3);
        weft_wg_add(&wg, -4);
}

static void most_below_zero(void *arg)
{
        (void)arg;
        weft_wg_add(&wg, INT_MIN);
}

static void above_the_top(void *arg)
{
        (void)arg;
        weft_wg_add(&wg, INT_MAX);
        weft_wg_add(&wg, 1);
}

TEST(a_wait_group_below_zero_or_above_its_top)
{
        must_die(done_of_zero, "weft: fatal: negative wait group counter", &wg);
        must_die(below_zero, "weft: fatal: negative wait group counter", &wg);
        must_die(most_below_zero, "weft: fatal: negative wait group counter", &wg);
        must_die(above_the_top, "weft: fatal: wait group counter overflow", &wg);
}

static void call_myself(void *arg)
{
        weft_once_do(&once, call_myself, arg);
}

static void call_nothing(void *arg)
{
        (void)arg;
        weft_once_do(&once, NULL, NULL);
}

TEST(a_once_that_calls_itself_or_nothing)
{
        must_die(call_myself, "weft: fatal: weft_once_do called from its own function", &once);
        must_die(call_nothing, "weft: fatal: weft_once_do without a function", &once);
}
