/* base/note.c - one-shot sleep and wake of a thread.
 *
 * PROTOCOL note
 *
 * Goal      the sleeper returns when the waker has woken it, or when its time is up, and for no
 *           other reason. It sees everything that the waker wrote before the wake.
 * Parties   one sleeper; one waker for each clear, or any number of wakers that poke.
 * Words     word: 0 not yet, 1 woken.
 * Sleeper
 *   1. Load the word [NT1]. It is 1: done.
 *   2. futex-wait while the word is 0. Go to 1.
 * Waker
 *   1. Exchange 1 [NT1]. The old value must be 0.
 *   2. futex-wake one thread.
 * Waker that pokes, for a note with several wakers
 *   1. Exchange 1 [NT2].
 *   2. The old value was 0: futex-wake one thread.
 * Sleeper of such a note, once it was woken
 *   1. Take the note: exchange 0 [NT2]. It does not clear the note.
 * Edges     [NT1] what the waker wrote   wake: xchg-release  ->  sleep: load-acquire
 *           [NT2] what came before a poke  poke: xchg-acqrel  ->  take: xchg-acqrel
 * Why nothing is lost   the kernel compares the word with 0 under the lock that the wake takes. If
 *           the exchange came before the comparison, the wait returns at once. If it came after,
 *           the wake finds the sleeper.
 * Why no poke is lost   a poke that finds 1 leaves the wake to an earlier poke. In the order of the
 *           word its exchange comes before that of the next take, so the take sees what the waker
 *           wrote before the poke. A poke that finds 0 comes after the last take, and wakes.
 * Lifetime  after step 1 of the waker the sleeper may return and reuse or free the note, or leave
 *           the frame that the note is in. Step 2 uses the address only; the kernel does not read
 *           the memory. At worst another futex at this address is woken for no reason.
 * Rejected  a third state "sleeping" that spares the wake call while no thread sleeps: a waker
 *           wakes only because it knows that the sleeper sleeps.
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
