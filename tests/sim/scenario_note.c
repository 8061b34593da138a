/* tests/sim/scenario_note.c - PROTOCOL note (base/note.c) on the simulated machine.
 *
 * Two threads hand a plain word back and forth, each wake answered by the other. Some sleeps have
 * deadlines and are repeated. A wake that is lost ends in a deadlock, a wake without a cause shows
 * in the word.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/note.h"
#include "sim/scenario.h"

#include <errno.h>      /* ETIMEDOUT */
#include <string.h>

enum { N_ROUNDS = 50 };

struct table {
        struct note ping, pong;
        uint32_t    word;               /* plain: handed over by the notes */
        void      (*wake)(struct note *n);
        void      (*sleep)(struct note *n);
};

static struct table table;

/* The real sleep, now and then in several parts. */
static void sleep_real(struct note *n)
{
        if (sim_random(2)) {
                w_note_sleep(n);
                return;
        }
        int64_t deadline_at;

        do
                deadline_at = w_os_now() + sim_random(3000);
        while (!w_note_sleep_until(n, deadline_at) && w_os_now() >= deadline_at);
        SIM_CHECK(w_load_rlx(&n->word) == 1, "a sleep with a deadline ended before both");
}

static void expect(uint32_t value)
{
        uint32_t found = w_plain_load(&table.word);

        SIM_CHECK(found == value, "the word is %u, expected %u", found, value);
}

static void answer(void *arg)
{
        (void)arg;
        for (uint32_t i = 0; i < N_ROUNDS; i++) {
                table.sleep(&table.ping);
                w_note_clear(&table.ping);
                expect(2 * i + 1);
                w_plain_store(&table.word, 2 * i + 2);
                table.wake(&table.pong);
        }
}

static void play(void (*wake)(struct note *), void (*sleep)(struct note *))
{
        struct worker other;

        memset(&table, 0, sizeof(table));
        table.wake = wake;
        table.sleep = sleep;
        worker_start(&other, "answer", answer, NULL);
        for (uint32_t i = 0; i < N_ROUNDS; i++) {
                w_plain_store(&table.word, 2 * i + 1);
                table.wake(&table.ping);
                table.sleep(&table.pong);
                w_note_clear(&table.pong);
                expect(2 * i + 2);
        }
        worker_join(&other);
}

static void note_main(void)
{
        play(w_note_wake, sleep_real);
}

SIM_SCENARIO(note, "two threads wake each other through notes, also with deadlines", note_main,
             SIM_USUAL)

/* ---- Broken --------------------------------------------------------------------------------- */

static void wake_early(struct note *n)
{
        w_os_futex_wake(&n->word, 1);
        (void)w_xchg_rel(&n->word, 1);         /* [NT1] too late: the sleeper may just sleep */
}

static void note_wake_first_main(void)
{
        play(wake_early, w_note_sleep);
}

SIM_MUTANT(note_wake_first, "the futex wake comes before the word", note_wake_first_main, SIM_USUAL)

static void sleep_once(struct note *n)
{
        if (w_load_acq(&n->word) == 0)          /* [NT1] */
                (void)w_os_futex_wait(&n->word, 0, W_FOREVER);
}

static void note_no_second_check_main(void)
{
        play(w_note_wake, sleep_once);
}

SIM_MUTANT(note_no_second_check, "a spurious return counts as a wake", note_no_second_check_main,
           SIM_USUAL)

static void wake_buffered(struct note *n)
{
        w_store_rel(&n->word, 1);               /* [NT1] */
}

static void note_no_wake_main(void)
{
        play(wake_buffered, w_note_sleep);
}

SIM_MUTANT(note_no_wake, "the word is set and the sleeper is not woken", note_no_wake_main,
           .no_spurious = true)

/* Returns "timed out" without a last check: the wake that came with the deadline is lost. */
static void sleep_deaf(struct note *n)
{
        while (w_load_acq(&n->word) == 0)       /* [NT1] */
                if (w_os_futex_wait(&n->word, 0, w_os_now() + 500) == -ETIMEDOUT)
                        w_note_clear(n);
}

static void note_clear_after_timeout_main(void)
{
        play(w_note_wake, sleep_deaf);
}

SIM_MUTANT(note_clear_after_timeout, "a time-out wipes out the wake that came with it",
           note_clear_after_timeout_main, .max_steps = 20000)
