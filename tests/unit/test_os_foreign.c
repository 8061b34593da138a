/* tests/unit/test_os_foreign.c - the record of a foreign thread, and its end.
 *
 * SPDX-License-Identifier: MIT
 */
#include "harness/test.h"

#include "os/os.h"

#include <errno.h>
#include <pthread.h>

static struct w_os_foreign *ended;        /* read after the join */
static int                n_ended;

static void note_end(struct w_os_foreign *foreign)
{
        ended = foreign;
        n_ended++;
}

static void run_thread(void *(*fn)(void *), void *arg)
{
        pthread_t thread;

        CHECK_EQ(pthread_create(&thread, NULL, fn, arg), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
}

static void *check_record(void *other)
{
        struct w_os_foreign *mine = w_os_foreign();

        CHECK(mine != other && mine == w_os_foreign());
        CHECK(mine->opaque[0] == 0 && mine->opaque[1] == 0);
        mine->opaque[1] = 5;
        return NULL;
}

TEST(every_thread_has_a_record_that_is_zero_at_first)
{
        w_os_foreign()->opaque[1] = 7;
        run_thread(check_record, w_os_foreign());
        run_thread(check_record, w_os_foreign());
        CHECK_EQ(w_os_foreign()->opaque[1], 7);
}

static void *watch(void *where)
{
        errno = 77;
        CHECK_EQ(w_os_foreign_watch(note_end), 0);
        CHECK_EQ(errno, 77);
        *(struct w_os_foreign **)where = w_os_foreign();
        return NULL;
}

TEST(the_end_of_a_watched_thread_is_reported)
{
        struct w_os_foreign *foreign = NULL;

        run_thread(watch, &foreign);
        CHECK_EQ(n_ended, 1);
        CHECK(foreign && ended == foreign);
}

static void *watch_no_more(void *where)
{
        watch(where);
        CHECK_EQ(w_os_foreign_watch(NULL), 0);
        return NULL;
}

TEST(the_end_of_a_thread_that_is_no_longer_watched_is_not_reported)
{
        struct w_os_foreign *foreign = NULL;

        run_thread(watch_no_more, &foreign);
        CHECK_EQ(n_ended, 0);
}
