/* tests/unit/test_os_guest.c - what is kept for a thread that is not weft's, and its end.
 *
 * SPDX-License-Identifier: MIT
 */
#include "harness/test.h"

#include "os/os.h"

#include <errno.h>
#include <pthread.h>

static struct w_os_foreign *ended;        /* read after the join */
static int                n_ended;

static void note_end(struct w_os_foreign *guest)
{
        ended = guest;
        n_ended++;
}

static void run_thread(void *(*fn)(void *), void *arg)
{
        pthread_t thread;

        CHECK_EQ(pthread_create(&thread, NULL, fn, arg), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
}

static void *look(void *other)
{
        struct w_os_foreign *mine = w_os_foreign();

        CHECK(mine != other && mine == w_os_foreign());
        CHECK(mine->opaque[0] == 0 && mine->opaque[1] == 0);
        mine->opaque[1] = 5;
        return NULL;
}

TEST(every_thread_has_its_own_and_it_is_zero_at_first)
{
        w_os_foreign()->opaque[1] = 7;
        run_thread(look, w_os_foreign());
        run_thread(look, w_os_foreign());
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

TEST(the_end_of_a_watched_thread_is_heard_of)
{
        struct w_os_foreign *guest = NULL;

        run_thread(watch, &guest);
        CHECK_EQ(n_ended, 1);
        CHECK(guest && ended == guest);
}

static void *watch_no_more(void *where)
{
        watch(where);
        CHECK_EQ(w_os_foreign_watch(NULL), 0);
        return NULL;
}

TEST(the_end_of_one_that_is_not_watched_any_more_is_not)
{
        struct w_os_foreign *guest = NULL;

        run_thread(watch_no_more, &guest);
        CHECK_EQ(n_ended, 0);
}
