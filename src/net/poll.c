/* net/poll.c - waiting for a descriptor.
 *
 * Called by   io, fd, accept, connect, child, select (calls that wait), users (closes), netpoll
 *             (something has happened).
 * Calls       own, for descriptors that weft has made.
 * Protocols   owns poll; cites poll-edge (net/poll_edge.c), wake (wait/wake.c), netpoll
 *             (sched/thread/netpoll.c).
 *
 * PROTOCOL poll
 *
 * Goal      who waits for a descriptor goes on once there is something for it; of many who are
 *           going to read, one for each piece of news; weft_close ends all waits, and nobody who
 *           came before it ever sees the file that gets the number next; nor does the old file's
 *           news reach who waits for the new one. Other code may close(2) a number and open
 *           another file under it at any time.
 * Parties   waiter; deliverer (has been told by the poller); closer; other code.
 * Words     of each number, under its lock: waits (FIFO), trying: directions in which somebody
 *           woken is about to try; held: directions in which somebody makes a call that waits if
 *           there is nothing; known, seq: the poller was told of a file under this number, and
 *           since when. users: calls under way with the number, and CLOSING.
 * User      begins: users + 1 unless CLOSING.  ends: users - 1; CLOSING and none left: really
 *           closes: 1 lock; seq + 1; the poller forgets; unlock   2 users := 0   3 close(2)
 *           4 lock; whoever waits looks again; unlock
 * Waiter    has tried, in vain.  1 lock; if it was woken to try: trying without its direction
 *           2 CLOSING: done   3 arms the poller for all directions that somebody waits for and
 *           nobody tries or holds, and for its own   4 into waits, before all others if it was
 *           woken to try: it came before them; parks, the commit unlocks   5 woken by something
 *           else: lock, out of waits, unlock
 * Arm       known: arm; the poller says that it does not know the file: other code has closed it.
 *           All in waits waited for that: told -EBADF.  not known: seq + 1; add
 * Own       files that weft has made are registered once, under a new seq, and told of whenever
 *           something new happens. Who is going to try waits as in PROTOCOL poll-edge; who wants to
 *           know stands in waits as here, and to arm means that the poller tells once more what is
 *           so already. The end of its users makes the number foreign again.
 * Deliverer lock; another seq: nothing. Else claims who waits for what has happened, or for
 *           anything if that is an error: all who want to know; the first of those who try where
 *           nobody tries or holds, trying with its direction; if others are left, arms for them,
 *           and if that fails they are told -EBADF; unlock; wakes
 * Select    as a waiter that wants to know, but unlocks by itself and parks later: it is claimed
 *           under the lock before or after that, and takes the lock before it reads what happened
 * Tried     a woken one that is done: lock; trying without its direction; if others are left in
 *           that direction: arm; unlock. The poller tells at once if there is more for them
 * Holder    of a file that cannot be asked not to wait.  1 lock; its direction is held: unlock,
 *           waits. Else held with it; unlock   2 looks; there is nothing: 4, and waits   3 the
 *           call, in a blocking region   4 lock; held without it; if others wait in that direction
 *           and nobody tries: arms; unlock
 * Edges     [PL1] what its users did   end: users sub-acqrel, store-release -> who really closes,
 *                 and the next one to begin: users sub-acqrel, CAS-acqrel
 * Why news is not lost   the poller remembers what it is armed for, and tells at once if it is so
 *           already: nothing depends on when somebody tried. Whoever waits has armed it for its
 *           direction, under the lock, or somebody tries or holds in that direction and will. What
 *           it has told and is not delivered yet is delivered under the lock: to those in waits
 *           then, who look again.
 * Why held  of two who look before either calls both see what is there for one. The other would sit
 *           in the kernel, where no scope and no weft_close reaches it, and take what comes later
 *           from whom it is for. Nobody is woken where somebody holds: it would wait again, and
 *           again, because what it was told of is there until the holder has taken it. For each
 *           direction: who writes may have to wait for who reads. Only other code that is quicker
 *           still leaves a holder in the kernel; those who wait for it can be reached. So long its
 *           number is held, whatever other code has made that lead to by then.
 * Why seq   a deliverer may have been told long ago. What it was told carries the seq under which
 *           the file was armed; the poller may also go on telling of a file that other code has
 *           closed while another number leads to it.
 * Why users a waiter that was woken, and one between its try and its wait, would otherwise go on
 *           with whatever file has the number by then.
 * Why step 4 of the end   between 2 and 3 somebody may begin with the number, which is still open,
 *           and wait for the file that goes. It looks again and finds what it would have found.
 * Why own can be read without the lock   it changes when a file comes and when the last user of a
 *           closed one is gone: who begins later sees that by PL1.
 * Rejected  registering foreign descriptors for good, edge-triggered (nobody would hear that the
 *           number leads to another file); waking all who read (a herd).
 * Tests     flow/net/test_wait_fd.c, flow/net/test_pipe.c, flow/net/test_fd_order.c,
 *           flow/net/test_tty.c, sim scenarios poll_*, mutants poll-*; windows poll-armed,
 *           poll-woken, poll-held.
 *
 * SPDX-License-Identifier: MIT
 */
#include "net/poll.h"

#include "base/assert.h"
#include "base/window.h"
#include "net/desc.h"
#include "sched/thread/netpoll.h"
#include "wait/wait.h"

#include <errno.h>      /* -Exxx */

enum {
        READY = W_VERDICT_OTHER,        /* and, if it tries, in desc.trying */
        CLOSED,
        CHANGED,                        /* perhaps not the same file any more: look again */
};

enum {
        FAILED = W_POLL_ERR | W_POLL_HUP,
        ARM_ATTEMPTS = 8,               /* other code changes files under the number meanwhile */
};

#define ANYTHING UINT32_MAX     /* as what has happened: everyone is to look */

static const uint32_t directions[W_N_DIRECTIONS] = { W_POLL_IN, W_POLL_PRI, W_POLL_OUT,
                                                     W_POLL_RDHUP };

/* ---- Who waits ------------------------------------------------------------------------------- */

static void count_locked(struct desc *d, const struct fd_wait *w, uint32_t by)
{
        for (int i = 0; i < W_N_DIRECTIONS; i++)
                if (w->events & directions[i])
                        d->n_for[i] += by;
        if (!w->tries)
                d->n_to_know += by;
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

/* Directions in which nobody else is woken to try: they hear from whoever is at it. */
static uint32_t taken_locked(const struct desc *d)
{
        return d->trying | d->reserved;
}

/* What anybody waits for, but for what somebody tries. */
static uint32_t wanted_locked(const struct desc *d)
{
        uint32_t events = 0;

        for (int i = 0; i < W_N_DIRECTIONS; i++)
                if (d->n_for[i])
                        events |= directions[i];
        return events & ~taken_locked(d);
}

/* True: w is the caller's to wake, and was told so. It is out of the queue in any case. */
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

static bool is_own(struct desc *d)
{
        return w_load_rlx(&d->own);                               /* guarded: see PROTOCOL */
}

/* For those who wait already. */
static void arm_again_locked(struct desc *d, int fd, struct queue *woken)
{
        int                 rc;
        struct w_os_poller *poller;
        uint32_t            events;

        if (is_own(d))
                return;
        events = wanted_locked(d);
        if (events == 0 && d->n_to_know == 0)
                return;
        poller = w_netpoll(&rc);
        W_ASSERT(poller);               /* somebody waits */
        if (d->known)
                rc = w_os_poller_arm(poller, fd, d->seq, events);
        if (rc == 0 && d->known)
                return;
        d->known = false;
        claim_all_locked(d, CLOSED, woken);
}

/* Other code has closed the file that the poller knew. */
void w_poll_lose_locked(struct desc *d, struct queue *woken)
{
        d->trying = 0;
        claim_all_locked(d, CLOSED, woken);
        w_edge_end_locked(d, woken);
        w_store_rlx(&d->own, 0);                                  /* guarded by the lock */
}

static int arm_known_locked(struct desc *d, struct w_os_poller *poller, int fd, uint32_t events)
{
        return is_own(d) ? w_os_poller_remind(poller, fd, d->seq)
                         : w_os_poller_arm(poller, fd, d->seq, wanted_locked(d) | events);
}

/* For who is about to wait for events too. Who waits for a file that is gone is told. */
static int arm_locked(struct desc *d, int fd, uint32_t events, struct queue *woken)
{
        int                 rc;
        struct w_os_poller *poller = w_netpoll(&rc);

        for (int i = 0; poller && i < ARM_ATTEMPTS; i++) {
                if (d->known) {
                        rc = arm_known_locked(d, poller, fd, events);
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

bool w_desc_is_closing(struct desc *d)
{
        return w_load_rlx(&d->users) & W_DESC_CLOSING;            /* guarded: told by the lock */
}

/* 0: in the queue. Else there may be others to be woken. */
static int join_locked(struct desc *d, int fd, struct fd_wait *w, enum poll_how how,
                       struct queue *woken)
{
        int rc = w_desc_is_closing(d) ? -EBADF : arm_locked(d, fd, w->events, woken);

        if (rc == 0 && woken->n == 0)
                enqueue_locked(d, w, how);
        else if (rc == -EBADF)          /* the others waited for the same */
                claim_all_locked(d, CLOSED, woken);
        else
                arm_again_locked(d, fd, woken);
        return rc;
}

/* Takes the lock, and keeps it for the park if it returns 0. Others are woken without it. */
static int join_lock(struct desc *d, int fd, struct fd_wait *w, enum poll_how how)
{
        for (;;) {
                struct queue woken = { 0 };

                w_lock(&d->lock);
                if (how == W_POLL_AGAIN)
                        d->trying &= ~w->events;
                int rc = join_locked(d, fd, w, how, &woken);

                W_WINDOW("poll-armed");
                if (w->queued)
                        return 0;
                w_unlock(&d->lock);
                w_ready_many(&woken);
                if (rc < 0)
                        return rc;
        }
}

static int result_of(const struct wait *w, uint32_t verdict)
{
        switch (verdict) {
        case READY:
        case CHANGED:
                return 0;
        case CLOSED:
                return -EBADF;
        default:
                return w_wait_error(w, verdict);
        }
}

/* w is in the queue, with the lock. */
static int park(struct desc *d, struct fd_wait *fw, struct wait *w)
{
        uint32_t verdict = w_wait_park(w, W_WAIT_IO, unlock_desc, d);

        W_WINDOW("poll-woken");
        if (verdict < READY) {
                w_lock(&d->lock);
                remove_locked(d, fw);
                w_unlock(&d->lock);
        }
        return result_of(w, verdict);
}

/* The poller is opened before the lock is taken, so that it is there under the lock. */
static W_NOINLINE int wait_armed(struct desc *d, int fd, uint32_t events, enum poll_how how)
{
        struct wait    w;
        struct fd_wait fw = { .waiter = &w.waiter, .events = events,
                              .tries = how != W_POLL_TO_KNOW };
        int            rc;

        if (!w_netpoll(&rc))
                return rc;
        w_list_init(&fw.link);
        w_netpoll_wait_begins();
        w_wait_begin(&w, W_FOREVER, W_CANCELLABLE);
        rc = join_lock(d, fd, &fw, how);
        if (rc == 0)
                rc = park(d, &fw, &w);
        w_wait_end(&w);
        w_netpoll_wait_ends();
        return rc;
}

int w_poll_wait(struct desc *d, int fd, uint32_t events, enum poll_how how)
{
        if (W_LIKELY(how != W_POLL_TO_KNOW && is_own(d)))
                return w_edge_wait(d, events, how == W_POLL_AGAIN);
        return wait_armed(d, fd, events, how);
}

int w_poll_join(struct desc *d, int fd, struct fd_wait *w)
{
        w_list_init(&w->link);
        w->happened = 0;
        w->tries = w->queued = false;
        int rc = join_lock(d, fd, w, W_POLL_TO_KNOW);

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

        if (W_LIKELY(is_own(d))) {
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
        if (is_own(d))
                w_edge_drained(d, events);
}

bool w_desc_reserve(struct desc *d, uint32_t events)
{
        w_lock(&d->lock);
        bool is_free = !(d->reserved & events);

        d->reserved |= events;
        w_unlock(&d->lock);
        return is_free;
}

void w_desc_unreserve(struct desc *d, int fd, uint32_t events)
{
        struct queue woken = { 0 };

        W_WINDOW("poll-held");
        w_lock(&d->lock);
        d->reserved &= ~events;
        if (wanted_locked(d) & events)
                arm_again_locked(d, fd, &woken);
        w_unlock(&d->lock);
        w_ready_many(&woken);
}

/* ---- Something has happened ------------------------------------------------------------------ */

/* Whether `got` is for w, now that others may be trying. Who asks for nothing hears of errors. */
static bool concerns_locked(const struct desc *d, const struct fd_wait *w, uint32_t got)
{
        if (!w->tries)
                return (w->events & got) || got == ANYTHING;
        return w->events & got & ~taken_locked(d);
}

static void claim_some_locked(struct desc *d, uint32_t got, struct queue *woken)
{
        W_LIST_EACH(n, &d->waits) {
                struct fd_wait *w = W_CONTAINER_OF(n, struct fd_wait, link);
                uint32_t        events = w->events;
                bool            tries = w->tries;

                if (d->n_to_know == 0 && !(wanted_locked(d) & got))
                        break;
                if (concerns_locked(d, w, got) && claim_locked(d, w, READY, woken) && tries)
                        d->trying |= events;
        }
}

static void deliver(const struct w_os_event *ev, struct queue *woken)
{
        struct desc *d = w_desc_find(ev->fd);

        W_ASSERT(d);
        w_lock(&d->lock);
        if (ev->seq == d->seq) {
                if (is_own(d))
                        w_edge_deliver_locked(d, ev->events, woken);
                claim_some_locked(d, ev->events & FAILED ? ANYTHING : ev->events, woken);
                arm_again_locked(d, ev->fd, woken);
        }
        w_unlock(&d->lock);
}

void w_poll_deliver(const struct w_os_event *events, int n, struct queue *woken)
{
        for (int i = 0; i < n; i++)
                deliver(&events[i], woken);
}
