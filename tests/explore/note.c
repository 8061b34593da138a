/* tests/explore/note.c - PROTOCOL note: wake before, during and after the sleep; data handed over.
 *
 * SPDX-License-Identifier: MIT
 */
#include "scenarios.h"

#include "base/note.h"
#include "os/os.h"

static struct note there, back;
static int         data, outcome;

static void setup(void)
{
        w_note_clear(&there);
        w_note_clear(&back);
        data = outcome = 0;
}

static int result(void) { return outcome; }

static void wake(void)
{
        w_plain_store(&data, 42);
        w_note_wake(&there);
}

static void sleep(void)
{
        w_note_sleep(&there);
        EXPLORE_CHECK(w_plain_load(&data) == 42);
}

static void sleep_timed(void)
{
        int64_t at = w_os_now() + 10;

        outcome = w_note_sleep_until(&there, at);
        bool late = w_os_now() >= at;

        EXPLORE_CHECK(outcome ? w_plain_load(&data) == 42 : late);
        if (outcome && late)
                outcome = 2;    /* the last load found the wake */
}

static void bare_wake(void)  { w_note_wake(&there); }
static void bare_sleep(void) { w_note_sleep(&there); }

/* The note is used again as soon as the sleeper has cleared it. */
static void ping(void)
{
        wake();
        w_note_sleep(&back);
        EXPLORE_CHECK(w_plain_load(&data) == 43);
        w_plain_store(&data, 42);
        w_note_wake(&there);
}

static void pong(void)
{
        sleep();
        w_note_clear(&there);
        w_plain_store(&data, 43);
        w_note_wake(&back);
        sleep();
}

/* Several threads poke, as signal handlers do: the sleeper finds what each wrote before, with any
 * number of wakes. */
static w_atomic_u32 left;

static void setup_pokes(void)
{
        setup();
        w_store_rlx(&left, 0);
}

static void leave(uint32_t bit)
{
        w_or_rlx(&left, bit);
        w_note_poke(&there);
}

static void poke_once(void)
{
        leave(1);
}

static void poke_twice(void)
{
        leave(2);
        leave(4);
}

static void collect(void)
{
        for (uint32_t found = 0; found != 7;) {
                w_note_sleep(&there);
                w_note_take(&there);
                if (w_load_rlx(&left))
                        found |= w_xchg_rlx(&left, 0);
        }
}

const struct explore_scenario note_scenarios[] = {
        { "note", "one sleeps, one wakes, data is handed over",
          { { "sleeper", sleep }, { "waker", wake } }, setup, .spurious = 1,
          .bound = ANY },
        { "note-timeout", "the same with a deadline that may come first",
          { { "sleeper", sleep_timed }, { "waker", wake } }, setup, result, .spurious = 1,
          .allowed = SEEN(0) | SEEN(1) | SEEN(2),
          .required = SEEN(0) | SEEN(1) | SEEN(2),
          .bound = ANY },
        { "note-again", "two notes there and back, one of them cleared and used again",
          { { "ping", ping }, { "pong", pong } }, setup, .spurious = 1,
          .bound = ANY },
        { "note-twice", "two wakers of one note are found out",
          { { "sleeper", bare_sleep }, { "waker", bare_wake }, { "second", bare_wake } }, setup,
          .must_fail = W_EXPLORE_ASSERTION },
        { "note-pokes", "two poke, and what they left is found",
          { { "sleeper", collect }, { "first", poke_once }, { "second", poke_twice } },
          setup_pokes, .spurious = 0 },
        { .name = NULL },
};
