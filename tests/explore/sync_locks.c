/* tests/explore/sync_locks.c - PROTOCOL mutex, rwmutex, cond and waitqueue: sections, and which
 * party may free the object.
 *
 * The parties are foreign threads, asleep on a note while they wait, or goroutines.
 *
 * SPDX-License-Identifier: MIT
 */
#include "goroutines.h"
#include "scenarios.h"

#include "weft.h"

static weft_mutex   mutex;
static weft_rwmutex rwmutex;
static weft_cond    cond;
static int          counter, n_in, done;
static bool         free_it;    /* the last one does */

static void setup(void)
{
        goroutines_reset();
        mutex = (weft_mutex){ 0 };
        rwmutex = (weft_rwmutex){ 0 };
        cond = (weft_cond){ 0 };
        counter = n_in = done = 0;
        free_it = false;
}

static void setup_free(void)
{
        setup();
        free_it = true;
}

/* Under an exclusive lock. */
static void section(void)
{
        EXPLORE_CHECK(n_in++ == 0);
        w_plain_store(&counter, w_plain_load(&counter) + 1);
        n_in--;
}

/* ---- Mutex ----------------------------------------------------------------------------------- */

/* A thread that sees in its section that all others have had theirs may free the mutex. */
static void lock_once(int of)
{
        weft_mutex_lock(&mutex);
        section();
        bool last = w_plain_load(&counter) == of;

        weft_mutex_unlock(&mutex);
        if (last && free_it)
                UNMAP(&mutex);
}

static void mutex_2(void)
{
        foreign_begin();
        lock_once(2);
}

static void mutex_2_goroutine(void)
{
        goroutine_begin(1);
        lock_once(2);
}

static void mutex_3(void)
{
        foreign_begin();
        lock_once(3);
}

static void mutex_try(void)
{
        foreign_begin();
        if (weft_mutex_try_lock(&mutex) < 0)
                return;
        section();
        weft_mutex_unlock(&mutex);
}

static int mutex_result(void)
{
        uint64_t *word = (uint64_t *)(void *)&mutex;

        EXPLORE_CHECK(free_it || (*word & 3) == 0);
        return counter;
}

/* ---- Rwmutex --------------------------------------------------------------------------------- */

static void read_once(void)
{
        foreign_begin();
        weft_rwmutex_rlock(&rwmutex);
        EXPLORE_CHECK(n_in == 0);
        bool written = w_plain_load(&counter) > 0;

        weft_rwmutex_runlock(&rwmutex);
        if (written && free_it)
                UNMAP(&rwmutex);
}

static void write_once(void)
{
        foreign_begin();
        weft_rwmutex_lock(&rwmutex);
        section();
        weft_rwmutex_unlock(&rwmutex);
}

/* ---- Cond ------------------------------------------------------------------------------------ */

/* A waiter that a signal has woken may free the cond at once, though not the mutex. */
static void await(void)
{
        bool waited = false;

        weft_mutex_lock(&mutex);
        while (!w_plain_load(&done)) {
                EXPLORE_CHECK(weft_cond_wait(&cond, &mutex) == 0);
                waited = true;
        }
        weft_mutex_unlock(&mutex);
        if (waited && free_it)
                UNMAP(&cond);
}

static void await_foreign(void)
{
        foreign_begin();
        await();
}

static void await_goroutine(void)
{
        goroutine_begin(1);
        await();
}

static void change(void)
{
        weft_mutex_lock(&mutex);
        w_plain_store(&done, 1);
        weft_mutex_unlock(&mutex);
}

static void change_signal(void)
{
        foreign_begin();
        change();
        weft_cond_signal(&cond);
}

static void change_broadcast(void)
{
        foreign_begin();
        change();
        weft_cond_broadcast(&cond);
}

/* Two parties are explored exhaustively. With three that is out of reach: with any number of stale
 * reads the mutex takes more than 1.8 million executions within three preemptions, and the
 * broadcast four million within one. */
const struct explore_scenario sync_locks_scenarios[] = {
        { "sync-mutex", "two threads, a section each; the second frees the mutex",
          { { "one", mutex_2 }, { "two", mutex_2 } }, setup_free, mutex_result,
          .allowed = SEEN(2), .bound = ANY },
        { "sync-mutex-goroutine", "the same, one of them a goroutine",
          { { "one", mutex_2_goroutine }, { "two", mutex_2 } }, setup_free, mutex_result,
          .allowed = SEEN(2), .bound = ANY },
        { "sync-mutex-three", "three threads, a section each",
          { { "one", mutex_3 }, { "two", mutex_3 }, { "three", mutex_3 } }, setup, mutex_result,
          .allowed = SEEN(3), .bound = 3, .stale = 1 },
        { "sync-mutex-try", "two threads lock, one tries",
          { { "one", mutex_2 }, { "two", mutex_2 }, { "try", mutex_try } }, setup, mutex_result,
          .allowed = SEEN(2) | SEEN(3), .required = SEEN(2) | SEEN(3), .bound = 2 },
        { "sync-rwmutex", "a writer and a reader; the second one frees it",
          { { "reader", read_once }, { "writer", write_once } }, setup_free, .bound = ANY },
        { "sync-rwmutex-three", "a writer and two readers",
          { { "reader", read_once }, { "second", read_once }, { "writer", write_once } }, setup,
          .bound = 2, .stale = 2 },
        { "sync-rwmutex-writers", "two writers and a reader",
          { { "reader", read_once }, { "writer", write_once }, { "second", write_once } }, setup,
          .bound = 2, .stale = 2 },
        { "sync-cond", "one thread waits and frees the cond, another signals",
          { { "waiter", await_foreign }, { "signal", change_signal } }, setup_free, .bound = 3 },
        { "sync-cond-goroutine", "the same with a goroutine that waits",
          { { "waiter", await_goroutine }, { "signal", change_signal } }, setup_free,
          .bound = 3 },
        { "sync-cond-all", "two wait, one of them a goroutine; a broadcast",
          { { "waiter", await_foreign }, { "second", await_goroutine },
            { "all", change_broadcast } }, setup, .bound = 1, .stale = 1 },
        { .name = NULL },
};
