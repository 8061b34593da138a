/* chan/select.c - the first of several operations that can proceed.
 *
 * PROTOCOL select
 *
 * Goal      exactly one case happens, chosen uniformly among the cases that are ready at one
 *           moment. No case happens only if at one moment no case was ready. Nothing is allocated,
 *           however many cases there are, and waiting costs O(1) for each case.
 * Parties   selector; partners of each channel (plain calls and other selectors); goroutines that
 *           end (joins); the poller and closers of descriptors; timer; scope.
 * Words     the selector's wake word (PROTOCOL wake, wait/wake.c): ARMING, PARKED, verdict, which
 *           is W_VERDICT_OTHER + the case's index. All else is under the channels' locks.
 * Quick
 *   1. Poll every descriptor.
 *   2. Check every case without a lock, as the try forms do. Pick one of the cases that seem ready,
 *      each with the same chance.
 *   3. Lock its channel and do the case. The case is not ready any more: continue with Slow.
 * Slow
 *   1. Sort the cases by channel, once.
 *   2. Begin the wait, unless there is a default: scope, timer, a record in the queue of every
 *      descriptor. The descriptor number is in use from here to the end.
 *   3. Lock every channel in address order, each once.
 *   4. Pick again. A case is ready: do it, unlock all, done.
 *   5. There is a default: unlock all, done.
 *   6. Put a record into the queue of every join, then of every channel case.
 *   7. Unlock all, on the selector's own stack; the word is still ARMING.
 *   8. Park: ARMING -> PARKED; refused if a claimer has won meanwhile.
 *   9. Take every record out, each under its lock.
 *  10. The verdict says what happened. It names a descriptor that is not ready any more: go to 2.
 * Partner, as in PROTOCOL chan: claims under the channel's lock
 *   PARKED: won; copy, unlock, wake.
 *   ARMING: won; copy, unlock. The selector's park will be refused.
 * Why one moment   Quick: the case was ready when it was done, under its lock, and any ready case
 *           may be taken. Slow: while all locks are held no channel changes, and joins are checked
 *           then. A goroutine that has ended stays ended: if all goroutines were alive at the last
 *           check, all were alive at the first.
 * Why a partner may hand over in ARMING, unlike timers   the partner copies under the lock of its
 *           channel, and the selector takes that lock in step 9 before it reads the element or
 *           returns.
 * Why no selector is its own partner   its own records are not in the queues while it picks.
 * Why no deadlock   locks are taken in address order, and the only other lock, that of an id, is
 *           taken last.
 * Why a join that ends in step 6 is not missed   step 6 finds the goroutine ended. The selector
 *           takes out the records so far, which are joins only, and returns that case. The end of
 *           another joined goroutine may have claimed the selector meanwhile. Such a claim hands
 *           nothing over and may be ignored.
 * Why a descriptor is not missed   the poller is armed under the lock of the descriptor's queue,
 *           and reports at once if the descriptor is ready by then (PROTOCOL poll, net/poll.c). A
 *           claim of the poller before step 4 hands nothing over: if a channel is ready in step 4,
 *           the claim may be ignored.
 * Why a descriptor number is in use until the end   a selector that was woken in vain leaves the
 *           queue and enters it again. In between the number could be closed and refer to another
 *           file.
 * Rejected  locks held until the commit (as many unlocks on another stack as there are cases);
 *           a random permutation (one more word per case, and no better than counting ready cases).
 * Tests     flow/chan/test_select*.c, flow/chan/test_chan_linear.c, explore scenarios select-*, sim
 *           scenarios select_*, poll_select*, mutants select-*.
 *
 * SPDX-License-Identifier: MIT
 */
#include "chan/select.h"

#include "chan/step.h"
#include "chan/waiting.h"

/* ---- The cases ------------------------------------------------------------------------------- */

static int read_case(struct select *s, uint32_t i)
{
        struct select_case *cs = w_select_case(s, i);

        switch (cs->kind) {
        case WEFT_CASE_SEND:
                if (cs->chan && cs->chan->elem_size && !cs->elem)
                        return -EINVAL;
                __attribute__((fallthrough));
        case WEFT_CASE_RECV:
                s->n_chans += cs->chan != NULL;
                return 0;
        case WEFT_CASE_JOIN:
                s->n_joins++;
                return 0;
        case WEFT_CASE_READABLE:
        case WEFT_CASE_WRITABLE:
                s->n_fds++;
                return 0;
        case WEFT_CASE_AFTER:
                s->has_after = true;
                return 0;
        case WEFT_CASE_DEFAULT:
                if (!s->has_default)
                        s->default_at = i;
                s->has_default = true;
                return 0;
        default:
                return cs->kind == WEFT_CASE_NONE ? 0 : -EINVAL;
        }
}

static int read_cases(struct select *s)
{
        for (uint32_t i = 0; i < s->n; i++) {
                int rc = read_case(s, i);

                if (rc < 0)
                        return rc;
        }
        return 0;
}

static int happened(const struct select *s, uint32_t i, int result)
{
        s->cases[i].result = result;
        return (int)i;
}

/* ---- One channel ----------------------------------------------------------------------------- */

static int the_only_chan(const struct select *s)
{
        uint32_t i = 0;

        while (!w_case_has_chan(w_select_case(s, i)))
                i++;
        return (int)i;
}

/* One channel, and at most a default: does the plain operation. */
static int select_one(const struct select *s)
{
        uint32_t            i = (uint32_t)the_only_chan(s);
        struct select_case *cs = w_select_case(s, i);
        bool                sends = cs->kind == WEFT_CASE_SEND;
        int                 rc;

        if (s->has_default) {
                rc = sends ? w_chan_try_send(cs->chan, cs->elem)
                           : w_chan_try_recv(cs->chan, cs->elem);
                if (rc == -EAGAIN)
                        return happened(s, s->default_at, 0);
        } else {
                rc = sends ? w_chan_send(cs->chan, cs->elem) : w_chan_recv(cs->chan, cs->elem);
                if (rc < 0 && rc != -EPIPE)
                        return rc;
        }
        return happened(s, i, rc);
}

/* ---- Several cases --------------------------------------------------------------------------- */

/* Picks a case that seems ready, and does it if it is still ready: its index, or W_SELECT_NONE. */
static int select_quick(const struct select *s)
{
        int picked = w_select_pick(s);

        if (picked < 0)
                return W_SELECT_NONE;
        uint32_t            i = (uint32_t)picked;
        struct select_case *cs = w_select_case(s, i);
        struct waiter      *asleep = NULL;
        bool                locked = w_case_has_chan(cs);

        if (locked)
                w_lock_quick(&cs->chan->lock);
        int rc = w_select_do(s, i, &asleep);

        if (locked)
                w_chan_unlock_wake(cs->chan, asleep);
        return rc == -EAGAIN ? W_SELECT_NONE : happened(s, i, rc);
}

/* As select_quick, with all locks held, which are released. */
static int do_ready_unlock(const struct select *s, int picked)
{
        struct waiter *asleep = NULL;
        int            rc = w_select_do(s, (uint32_t)picked, &asleep);

        w_select_unlock_all(s);
        if (asleep)
                w_wake_up(asleep);
        return rc == -EAGAIN ? W_SELECT_NONE : happened(s, (uint32_t)picked, rc);
}

static int select_default(struct select *s)
{
        for (;;) {
                w_select_lock_all(s);
                int picked = w_select_pick(s);

                if (picked < 0)
                        break;
                int i = do_ready_unlock(s, picked);

                if (i >= 0)
                        return i;       /* else all partners of the picked case had given up */
        }
        w_select_unlock_all(s);
        return happened(s, s->default_at, 0);
}

/* The time of the first WEFT_AFTER; W_FOREVER: there is none. */
static int64_t first_after(const struct select *s)
{
        int64_t least = W_FOREVER;

        if (!s->has_after)
                return W_FOREVER;
        for (uint32_t i = 0; i < s->n; i++) {
                struct select_case *cs = w_select_case(s, i);

                if (cs->kind == WEFT_CASE_AFTER && cs->ns < least)
                        least = cs->ns;
        }
        return w_time_after(w_os_now(), least);
}

static int wait_once(struct select *s, int64_t until)
{
        struct wait w;

        w_wait_begin(&w, until, W_CANCELLABLE);
        w.waiter.sole = false;          /* several parties can find it */
        int i = w_select_join_fds(s, &w);

        if (i == W_SELECT_NONE) {
                w_select_lock_all(s);
                int picked = w_select_pick(s);

                i = picked < 0 ? w_select_wait_unlock(s, &w) : do_ready_unlock(s, picked);
        }
        w_select_leave_fds(s);
        w_wait_end(&w);
        return i;
}

static int select_wait(struct select *s)
{
        int64_t until = first_after(s);
        int     i;

        do
                i = wait_once(s, until);
        while (i == W_SELECT_NONE);
        w_select_end_fds(s);
        return i;
}

static int select_any(struct select *s)
{
        if (!s->has_default) {
                int rc = w_call_check();

                if (rc < 0)
                        return rc;
        }
        if (s->n_chans == 1 && s->n_joins == 0 && s->n_fds == 0 && !s->has_after)
                return select_one(s);
        w_select_poll(s);
        int i = select_quick(s);

        if (i >= 0)
                return i;
        w_select_sort(s);
        return s->has_default ? select_default(s) : select_wait(s);
}

/* ---- Public ---------------------------------------------------------------------------------- */

W_EXPORT int weft_select(weft_case *cases, size_t n)
{
        struct select s = { .cases = cases, .n = (uint32_t)n };

        if (n > INT_MAX - W_VERDICT_OTHER || (n > 0 && !cases))
                return -EINVAL;
        if (W_UNLIKELY(!w_call_begin()))
                return -ESHUTDOWN;
        W_ENTER();
        int rc = read_cases(&s);

        if (rc == 0)
                rc = select_any(&s);
        W_LEAVE();
        w_call_end();
        return rc;
}

W_EXPORT void weft_case_recv(weft_case *out, weft_chan *c, void *elem)
{
        *out = WEFT_RECV(c, elem);
}

W_EXPORT void weft_case_send(weft_case *out, weft_chan *c, const void *elem)
{
        *out = WEFT_SEND(c, elem);
}

W_EXPORT void weft_case_join(weft_case *out, int64_t id)
{
        *out = WEFT_JOIN(id);
}

W_EXPORT void weft_case_after(weft_case *out, int64_t ns)
{
        *out = WEFT_AFTER(ns);
}

W_EXPORT void weft_case_readable(weft_case *out, int fd)
{
        *out = WEFT_READABLE(fd);
}

W_EXPORT void weft_case_writable(weft_case *out, int fd)
{
        *out = WEFT_WRITABLE(fd);
}

W_EXPORT void weft_case_default(weft_case *out)
{
        *out = WEFT_DEFAULT;
}
