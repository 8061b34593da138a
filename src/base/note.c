/* base/note.c - one-shot sleep and wake of a thread.
 *
 * PROTOCOL note
 *
 * Goal      the sleeper returns if and only if the waker has woken (or the time is up), whichever
 *           comes first; nothing that the waker wrote before is missed.
 * Parties   one sleeper, one waker per clear.
 * Words     word: 0 not yet, 1 woken.
 * Sleeper   1 load [NT1]; 1: done   2 futex-wait while the word is 0   3 again
 * Waker     1 exchange 1 [NT1]; the old value must be 0   2 futex-wake one
 * Edges     [NT1] what the waker wrote   wake: xchg-release  ->  sleep: load-acquire
 *           [NT2] what each poker wrote  poke: xchg-acqrel   ->  take: xchg-acqrel
 * Why nothing is lost   the kernel compares the word with 0 under the lock that the wake takes: if
 *           the exchange came before the comparison the wait returns at once, if it came after, the
 *           wake finds the sleeper.
 * Pokes     a note that several may wake is taken by its sleeper, not cleared: both exchange. A
 *           poke that finds 1 leaves the wake to the one before. Its exchange then stands before
 *           that of the next take in the order of the word, so that the take sees what was written
 *           before it; one that finds 0 comes after the last take, and wakes.
 * Lifetime  once step 1 of the waker is done the sleeper may return and reuse or free the note, or
 *           leave the frame that it is in; step 2 uses the address only, which the kernel does not
 *           look behind, and a futex that has come to be there is woken for no reason at worst.
 * Rejected  a third state "sleeping" that spares the wake call when nobody sleeps: the waker knows
 *           already that somebody does, that is why it wakes.
 * Tests     unit/test_note.c, explore scenarios note*, sim scenarios note, signal_*, mutants
 *           note-*, signal-poke-*.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/note.h"

#include "base/assert.h"
#include "base/window.h"
#include "os/os.h"

#include <errno.h>      /* ETIMEDOUT */

void w_note_clear(struct note *n)
{
        w_store_rlx(&n->word, 0);       /* own word: no waker exists yet */
}

void w_note_wake(struct note *n)
{
        uint32_t was = w_xchg_rel(&n->word, 1);                   /* [NT1] */

        W_CHECK(was == 0, "note %p woken twice", (void *)n);
        W_WINDOW("note-before-wake");
        w_os_futex_wake(&n->word, 1);
}

void w_note_poke(struct note *n)
{
        if (w_xchg_acqrel(&n->word, 1) == 0)                      /* [NT2] */
                w_os_futex_wake(&n->word, 1);
}

void w_note_take(struct note *n)
{
        (void)w_xchg_acqrel(&n->word, 0);                         /* [NT2] */
}

bool w_note_sleep_until(struct note *n, int64_t deadline_at)
{
        while (w_load_acq(&n->word) == 0) {                       /* [NT1] */
                W_WINDOW("note-before-sleep");
                if (w_os_futex_wait(&n->word, 0, deadline_at) == -ETIMEDOUT)
                        return w_load_acq(&n->word) != 0;         /* [NT1] */
        }
        return true;
}

void w_note_sleep(struct note *n)
{
        bool woken = w_note_sleep_until(n, W_FOREVER);

        W_ASSERT(woken);
        (void)woken;
}
