/* net/poll.c - waiting for a descriptor.
 *
 * Protocols   owns poll; cites poll-edge (net/poll_edge.c), wake (wait/wake.c), netpoll
 *             (sched/thread/netpoll.c).
 *
 * PROTOCOL poll
 *
 * Goal      A waiter for a descriptor resumes once there is an event for it. Of many waiters that
 *           will read, one resumes for each event. weft_close ends all waits. A user that began
 *           before the close never sees the file that gets the number next, and the old file's
 *           events never reach a waiter for the new file. Other code may close(2) a number and open
 *           another file under it at any time.
 * Parties   waiter: a trier will read or write, an observer takes nothing; deliverer (has events
 *           from the poller); closer; other code.
 * Words     of each number, under its lock:
 *             waits        the waiters, FIFO
 *             trying       directions in which a woken trier is about to try
 *             reserved     directions in which a holder makes a call that may block
 *             known, seq   the poller knows a file under this number, and since when
 *             users        calls in progress with the number, and CLOSING; atomic
 * User
 *   begin   users + 1, unless CLOSING.
 *   end     users - 1. After the last end of a CLOSING number:
 *     1. Lock; seq + 1; the poller forgets the file; unlock.
 *     2. users := 0.
 *     3. close(2).
 *     4. Lock; wake all waiters, which check again; unlock.
 * Waiter, after a try that would have blocked
 *   1. Lock. If it was woken to try, remove its direction from trying.
 *   2. If CLOSING is set: unlock, return.
 *   3. Arm for its directions, and for every direction that has a waiter and is not taken: neither
 *      in trying nor in reserved.
 *   4. Enter waits, at the front if it was woken to try: it came first. Park; the commit unlocks.
 *   5. If something other than the descriptor woke it: lock, leave waits, unlock.
 * Arm
 *   1. If known: arm. If the poller does not know the file, other code has closed it. All waits
 *      were for that file: the waiters get -EBADF, and known becomes false.
 *   2. If not known: seq + 1; add the file to the poller.
 * Made by weft
 *   Registered once, under a new seq; the poller reports each new event. Triers follow PROTOCOL
 *   poll-edge. Observers enter waits as here; for them, arming makes the poller report the present
 *   state once more. The end of the last user makes the number foreign again.
 * Deliverer
 *   1. Lock. If the event has another seq: unlock, done.
 *   2. Of the waiters for this event (an error is an event for all) claim every observer and, in
 *      each direction that is not taken, the first trier. Add the trier's direction to trying.
 *   3. If waiters are left, arm for them. If that fails, they get -EBADF.
 *   4. Unlock; wake the claimed waiters.
 * Select    An observer that unlocks by itself and parks later. It is claimed under the lock before
 *           or after it parks, and takes the lock before it reads what happened.
 * Tried     A woken trier that is done: lock; remove its direction from trying; arm if waiters are
 *           left in that direction; unlock. The poller reports at once if there is more for them.
 * Holder, of a file that cannot be asked not to block
 *   1. Lock. If its direction is reserved: unlock, wait. Else reserve it; unlock.
 *   2. Poll the file. If there is no event, go to 4, then wait.
 *   3. Make the call, in a blocking region.
 *   4. Lock; unreserve; arm if the direction has waiters and is not in trying; unlock.
 * Edges     [PL1] the work of its users   end: users sub-acqrel, store-release -> the closing user
 *                 and the next begin: users sub-acqrel, CAS-acqrel
 * Why no event is lost   The poller remembers what it is armed for, and reports a condition that
 *           holds already at once: the time of a try does not matter. A waiter has armed its
 *           direction under the lock, or the trier or holder of that direction will arm it. A
 *           reported event is delivered later, under the lock, to the waiters of that time: they
 *           try.
 * Why one holder per direction   If two callers poll, both see the same byte and both call read(2).
 *           The second blocks in the kernel, where neither a scope nor weft_close can reach it, and
 *           later takes data meant for another reader. No waiter is woken while there is a holder:
 *           it would wait again, in a loop, because the byte stays until the holder has taken it.
 *           Readers and writers have separate holders: a writer may have to wait for a reader. A
 *           holder blocks in the kernel only if code outside weft takes the data first; the waiters
 *           can still be cancelled. The direction stays reserved that long, even if other code
 *           gives the number to another file.
 * Why seq   A deliverer may have its events for long. They carry the seq under which the file was
 *           armed. The poller may also report a file that is closed here and open elsewhere.
 * Why users A woken waiter, and a waiter between its try and its wait, would use the next file.
 * Why step 4 of end   Between 2 and 3 a user may begin, while the file is open, and wait for it.
 * Why desc.edge is read without the lock   It changes when weft makes a file, and after the last
 *           user of a closed file. A user that begins later sees the change by PL1.
 * Rejected  Foreign descriptors registered for good, edge-triggered (no report when the number gets
 *           another file); waking all readers (a herd).
 * Tests     flow/net/test_fd_wait.c, flow/net/test_pipe.c, flow/net/test_fd_order.c,
 *           flow/net/test_tty.c, sim scenarios poll_*, mutants poll-*; windows poll-armed,
 *           poll-woken, poll-reserved.
 *
 * SPDX-License-Identifier: MIT
 */
#include "net/poll.h"

#include "base/assert.h"
#include "base/window.h"
#include "net/desc.h"
#include "sched/ready.h"
#include "sched/thread/netpoll.h"
#include "wait/wait.h"

#include <errno.h>      /* -Exxx */

enum {
        READY = W_VERDICT_OTHER,        /* the direction of a trier is in desc.trying */
        CLOSED,
        CHANGED,                        /* perhaps another file by now: check again */
};

enum {
        FAILED = W_POLL_ERR | W_POLL_HUP,
        ARM_ATTEMPTS = 8,               /* while other code changes files under the number */
};

#define ANYTHING UINT32_MAX     /* as events: every waiter must check again */

static const uint32_t directions[W_N_DIRECTIONS] = { W_POLL_IN, W_POLL_PRI, W_POLL_OUT,
                                                     W_POLL_RDHUP };

/* ---- The waiters ----------------------------------------------------------------------------- */

static void count_locked(struct desc *d, const struct fd_wait *w, uint32_t by)
{
        for (int i = 0; i < W_N_DIRECTIONS; i++)
                if (w->events & directions[i])
                        d->n_for[i] += by;
        if (!w->tries)
                d->n_observers += by;
}

static void enqueue_locked(struct desc *d, struct fd_wait *w, enum poll_how how)
{
        W_ASSERT(!w->queued);
        w->queued = true;
        if (how == W_POLL_AGAIN)
                w_list_push_front(&d->waits, &w->link);
        else
                w_list_push_back(&d->waits, &w->link);
        count_locked(d, w, 1);
}

static void remove_locked(struct desc *d, struct fd_wait *w)
{
        if (!w->queued)
                return;
        w->queued = false;
        w_list_unlink(&w->link);
        count_locked(d, w, UINT32_MAX);
}

/* Directions in which no trier is woken: the present trier or holder will pass them on. */
static uint32_t taken_locked(const struct desc *d)
{
        return d->trying | d->reserved;
}

/* All directions with a waiter, without those taken. */
static uint32_t wanted_locked(const struct desc *d)
{
        uint32_t events = 0;

        for (int i = 0; i < W_N_DIRECTIONS; i++)
                if (d->n_for[i])
                        events |= directions[i];
        return events & ~taken_locked(d);
}

/* Removes w from the queue and claims its waiter. True: the caller must wake the waiter. */
static bool claim_locked(struct desc *d, struct fd_wait *w, uint32_t happened, struct queue *woken)
{
        struct waiter *waiter = w->waiter;

        remove_locked(d, w);
        w->happened = (uint8_t)happened;
        if (w_wake_claim(waiter, w->verdict ? w->verdict : happened) != W_CLAIM_WON)
                return false;
        w_wake_gather(waiter, woken);
        return true;
}

static void claim_all_locked(struct desc *d, uint32_t happened, struct queue *woken)
{
        for (struct list_node *n; (n = w_list_first(&d->waits));)
                (void)claim_locked(d, W_CONTAINER_OF(n, struct fd_wait, link), happened, woken);
}

void w_poll_close_locked(struct desc *d, struct queue *woken)
{
        claim_all_locked(d, CLOSED, woken);
}

void w_poll_change_locked(struct desc *d, struct queue *woken)
{
        claim_all_locked(d, CHANGED, woken);
}

/* ---- Arming ---------------------------------------------------------------------------------- */

/* Arms for the waiters that are in the queue already. */
static void arm_again_locked(struct desc *d, int fd, struct queue *woken)
{
        int                 rc;
        struct w_os_poller *poller;
        uint32_t            events;

        if (w_desc_is_made(d))
                return;
        events = wanted_locked(d);
        if (events == 0 && d->n_observers == 0)
                return;
        poller = w_netpoll(&rc);
        W_ASSERT(poller);               /* there is a waiter, and it opened the poller */
        if (d->known)
                rc = w_os_poller_arm(poller, fd, d->seq, events);
        if (rc == 0 && d->known)
                return;
        d->known = false;
        claim_all_locked(d, CLOSED, woken);
}

void w_poll_lose_locked(struct desc *d, struct queue *woken)
{
        d->trying = 0;
        claim_all_locked(d, CLOSED, woken);
        w_edge_end_locked(d, woken);
        w_store_rlx(&d->edge, 0);                                  /* guarded by the lock */
}

/* Arms for a caller that is about to wait for `events`, and for the waiters in the queue. Waiters
 * for a file that is gone get -EBADF. */
static int arm_locked(struct desc *d, int fd, uint32_t events, struct queue *woken)
{
        int                 rc;
        struct w_os_poller *poller = w_netpoll(&rc);

        for (int i = 0; poller && i < ARM_ATTEMPTS; i++) {
                if (d->known) {
                        rc = w_desc_is_made(d)
                                     ? w_os_poller_remind(poller, fd, d->seq)
                                     : w_os_poller_arm(poller, fd, d->seq,
                                                       wanted_locked(d) | events);
                        if (rc != -ENOENT)
                                return rc;
                        w_poll_lose_locked(d, woken);
                }
                d->seq++;
                rc = w_os_poller_add(poller, fd, d->seq, events);
                d->known = rc == 0 || rc == -EEXIST;
                if (rc != -EEXIST)
                        return rc;
        }
        return rc;
}

/* ---- Waiting --------------------------------------------------------------------------------- */

static void unlock_desc(void *arg)
{
        w_unlock(&((struct desc *)arg)->lock);
}

/* Enters the queue. Returns 0 with the lock held, for the park. The waiters of a file that is gone
 * are woken without the lock; then the join begins anew. */
static int join_lock(struct desc *d, int fd, struct fd_wait *w, enum poll_how how)
{
        for (;;) {
                struct queue woken = { 0 };

                w_lock(&d->lock);
                if (how == W_POLL_AGAIN)
                        d->trying &= ~w->events;
                int rc = w_desc_is_closing(d) ? -EBADF : arm_locked(d, fd, w->events, &woken);

                W_WINDOW("poll-armed");
                if (rc == 0 && woken.n == 0) {
                        enqueue_locked(d, w, how);
                        return 0;
                }
                if (rc == -EBADF)               /* the other waiters waited for the same file */
                        claim_all_locked(d, CLOSED, &woken);
                else
                        arm_again_locked(d, fd, &woken);
                w_unlock(&d->lock);
                w_ready_many(&woken);
                if (rc < 0)
                        return rc;
        }
}

/* Opens the poller before it takes the lock, so that the poller exists under the lock. */
static W_NOINLINE int wait_armed(struct desc *d, int fd, uint32_t events, enum poll_how how)
{
        struct wait    w;
        struct fd_wait fw = { .waiter = &w.waiter, .events = events,
                              .tries = how != W_POLL_OBSERVE };
        int            rc;

        if (!w_netpoll(&rc))
                return rc;
        w_list_init(&fw.link);
        w_netpoll_wait_begins();
        w_wait_begin(&w, W_FOREVER, W_CANCELLABLE);
        rc = join_lock(d, fd, &fw, how);
        if (rc == 0) {
                uint32_t verdict = w_wait_park(&w, W_WAIT_IO, unlock_desc, d);

                W_WINDOW("poll-woken");
                if (verdict < READY) {
                        w_lock(&d->lock);
                        remove_locked(d, &fw);
                        w_unlock(&d->lock);
                        rc = w_wait_error(&w, verdict);
                } else {
                        rc = verdict == CLOSED ? -EBADF : 0;
                }
        }
        w_wait_end(&w);
        w_netpoll_wait_ends();
        return rc;
}

int w_poll_wait(struct desc *d, int fd, uint32_t events, enum poll_how how)
{
        if (W_LIKELY(how != W_POLL_OBSERVE && w_desc_is_made(d)))
                return w_edge_wait(d, events, how == W_POLL_AGAIN);
        return wait_armed(d, fd, events, how);
}

int w_poll_join(struct desc *d, int fd, struct fd_wait *w)
{
        w_list_init(&w->link);
        w->happened = 0;
        w->tries = w->queued = false;
        int rc = join_lock(d, fd, w, W_POLL_OBSERVE);

        if (rc == 0)
                w_unlock(&d->lock);
        return rc;
}

int w_poll_leave(struct desc *d, struct fd_wait *w)
{
        w_lock(&d->lock);
        remove_locked(d, w);
        bool closed = w->happened == CLOSED;

        w_unlock(&d->lock);
        return closed ? -EBADF : 0;
}

void w_poll_tried(struct desc *d, int fd, uint32_t events)
{
        struct queue woken = { 0 };

        if (W_LIKELY(w_desc_is_made(d))) {
                w_edge_tried(d, events);
                return;
        }
        w_lock(&d->lock);
        d->trying &= ~events;
        arm_again_locked(d, fd, &woken);
        w_unlock(&d->lock);
        w_ready_many(&woken);
}

void w_poll_drained(struct desc *d, uint32_t events)
{
        if (w_desc_is_made(d))
                w_edge_drained(d, events);
}

bool w_poll_reserve(struct desc *d, uint32_t events)
{
        w_lock(&d->lock);
        bool is_free = !(d->reserved & events);

        d->reserved |= events;
        w_unlock(&d->lock);
        return is_free;
}

void w_poll_unreserve(struct desc *d, int fd, uint32_t events)
{
        struct queue woken = { 0 };

        W_WINDOW("poll-reserved");
        w_lock(&d->lock);
        d->reserved &= ~events;
        if (wanted_locked(d) & events)
                arm_again_locked(d, fd, &woken);
        w_unlock(&d->lock);
        w_ready_many(&woken);
}

/* ---- Delivery -------------------------------------------------------------------------------- */

/* Errors wake observers that wait for no direction, too. */
static void claim_some_locked(struct desc *d, uint32_t got, struct queue *woken)
{
        W_LIST_EACH(n, &d->waits) {
                struct fd_wait *w = W_CONTAINER_OF(n, struct fd_wait, link);
                uint32_t        events = w->events;
                bool            tries = w->tries;

                if (d->n_observers == 0 && !(wanted_locked(d) & got))
                        break;
                bool concerned = tries ? (events & got & ~taken_locked(d)) != 0
                                       : (events & got) != 0 || got == ANYTHING;

                if (concerned && claim_locked(d, w, READY, woken) && tries)
                        d->trying |= events;
        }
}

void w_poll_deliver(const struct w_os_event *events, int n, struct queue *woken)
{
        for (const struct w_os_event *ev = events; ev < events + n; ev++) {
                struct desc *d = w_desc_find(ev->fd);

                W_ASSERT(d);
                w_lock(&d->lock);
                if (ev->seq == d->seq) {
                        if (w_desc_is_made(d))
                                w_edge_deliver_locked(d, ev->events, woken);
                        claim_some_locked(d, ev->events & FAILED ? ANYTHING : ev->events, woken);
                        arm_again_locked(d, ev->fd, woken);
                }
                w_unlock(&d->lock);
        }
}
