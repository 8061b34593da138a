/* net/poll_edge.c - waiting for a descriptor that weft made: registered once, edge-triggered.
 *
 * Protocols   owns poll-edge; cites poll (net/poll.c), wake (wait/wake.c), netpoll
 *             (sched/thread/netpoll.c).
 *
 * PROTOCOL poll-edge
 *
 * Goal      As PROTOCOL poll, for files that only weft_close closes. The poller is told of them
 *           once, so that a wait costs no system call, and as a rule no lock either.
 * Parties   trier (will read, or write); observer, deliverer and closer as in PROTOCOL poll.
 * Words     of each direction, in and out: word
 *             NOTHING   no event is pending
 *             READY     something may be there, and no trier has consumed that
 *             DRAINED   nothing is there: the last read got less than it asked for
 *             ALONE     the address of the only waiter
 *             QUEUE     the waiters are in `waits`; QUEUE <=> waits is not empty
 *             GONE      closed: no more waits
 *           Under the lock: waits (FIFO); seen: the ends, errors and urgent data that were
 *           reported, until the number is closed.
 * Responsible   is a trier that was woken, or that changed READY to NOTHING. Other triers rely on
 *           it to try until the kernel says that it would block, or else to pass the direction on.
 *           Several triers may be responsible, and need not know of each other.
 * Trier
 *   1. Before a read: if the word is DRAINED, go to 3. If it is READY: READY -> NOTHING, and the
 *      trier is responsible.
 *   2. Try. If it would block, go to 3, else to 5.
 *   3. Act on the word:
 *        READY              READY -> NOTHING; the trier is responsible; go to 2
 *        NOTHING, DRAINED   park; the commit makes the word ALONE. If that CAS fails, repeat 3
 *        ALONE, QUEUE       go to 4
 *        GONE               return
 *      With a deadline, in a scope or on a foreign thread, go to 4 instead of parking here.
 *   4. Lock; NOTHING, DRAINED or ALONE -> QUEUE. If the word is READY or GONE: unlock, go to 3.
 *      Enter waits, behind the waiter that was ALONE, but at the front if responsible. Park; the
 *      commit unlocks. If the direction woke it, go to 2. Else lock, leave waits, unlock.
 *   5. Done. If responsible, pass on. But if it read all there was from a TCP socket, and seen is
 *      empty: NOTHING -> DRAINED.
 * Pass on   NOTHING or DRAINED -> READY. Else lock; do step 3 of the deliverer; unlock.
 * Deliverer
 *   1. Lock. If the event has another seq: unlock, done.
 *   2. Add ends, errors and urgent data to seen. If one of them is new, write the word of the
 *      direction `in` once more, unchanged.
 *   3. For each direction of the event, act on the word:
 *        NOTHING, DRAINED   -> READY
 *        ALONE              -> NOTHING; wake the waiter
 *        QUEUE              wake the first waiter in waits that can be claimed
 *   4. Wake all observers, which are in the queue of PROTOCOL poll. Unlock.
 * Closer    Lock; the word of each direction becomes GONE; wake all waiters; unlock.
 * Edges     [OW1] the waiter, what was seen   word CAS-release, add-release -> the party that takes
 *                 it: word CAS-acquire, exchange-acqrel
 * Why no event is lost   The poller reports each event at least once, after it happened. Take an
 *           event in a direction with a waiter, or with a trier about to wait. If the report finds
 *           READY, that stays until a trier consumes it, and that trier tries. If the report finds
 *           NOTHING it makes READY, and the commit or the entry of the trier fails. If the report
 *           finds a waiter it wakes the waiter, which is then responsible. A responsible trier
 *           tries afterwards, sees the event, and uses it up or passes on.
 * Why the word is cleared before the try   An event between the try and the clearing would be lost.
 * Why writers do not consume READY before trying   A socket is almost always writable: READY is set
 *           and the write succeeds. A writer that did not consume READY owes other writers nothing.
 *           If the write would block, step 3 consumes READY, at the cost of one extra try.
 * Why seen  A short read has reached the end of the data, but perhaps not of the events. The end
 *           of the stream comes with the last bytes and is reported once, with them; an urgent byte
 *           stops a read early. After such an event only the kernel can tell that a direction is
 *           drained. What comes later is reported later, and makes READY of DRAINED.
 * Why the word is written with seen   A deliverer that finds READY changes nothing. A trier that
 *           consumes a READY of an earlier deliverer need not see this deliverer's seen.
 * Why at the front   A direction is passed on without knowing whether there is more, and as a rule
 *           there is not. The next trier then waits again. At the back it could wait for ever, if
 *           the triers before it come back to read.
 * Why only TCP   A read of one datagram, TLS record or message is short with others behind it.
 *           Each read checks what other code did to a TCP socket (TCP_ULP): w_os_fd_read_tcp.
 * Why ALONE stays valid for the deliverer   Only the direction ends such a wait, and only the party
 *           that takes the address out of the word may wake the waiter.
 * Misuse    Code that closes the number must use weft_close. After a close(2) by other code, a
 *           waiter waits for ever, or gets -EBADF at weft_close, when weft makes a descriptor of
 *           that number, or when an observer waits. Another foreign file under the number can be
 *           read and written, but waits for it get no events. Nothing is corrupted: events of the
 *           old file under another number go to waiters of the old number, which check again.
 * Rejected  Waking all (a herd); arming for each wait (a system call); a try only after a report
 *           (data that is there already would wait for the poller).
 * Tests     flow/net/test_edge_triggered.c, flow/net/test_fd_order.c, sim scenarios poll_edge_*,
 *           mutants poll-edge-*; windows edge-parks, edge-joins, edge-tried.
 *
 * SPDX-License-Identifier: MIT
 */
#include "net/poll.h"

#include "base/assert.h"
#include "base/window.h"
#include "net/desc.h"
#include "sched/ready.h"
#include "sched/switch.h"
#include "sched/thread/netpoll.h"
#include "wait/wait.h"

#include <errno.h>      /* -Exxx */

/* Values of a direction's word; any other is ALONE, the address of a struct edge_wait. */
enum { NOTHING, READY, DRAINED, QUEUE, GONE };

enum {
        GIVEN = W_VERDICT_OTHER,        /* the waiter is responsible now */
        CLOSED,
};

enum {
        ENDS = W_POLL_RDHUP | W_POLL_HUP | W_POLL_ERR | W_POLL_PRI,
        FOR_IN = W_POLL_IN | ENDS,
        FOR_OUT = W_POLL_OUT | W_POLL_HUP | W_POLL_ERR,
};

/* In the waiter's frame. Key: i immutable   o the waiting call   d the lock of its number */
struct edge_wait {
        struct list_node link;          /* d  in edge_dir.waits */
        struct waiter   *waiter;        /* i */
        struct edge_dir *dir;           /* i */
        bool             again;         /* i  it was responsible when it began to wait */
        uintptr_t        found;         /* o  in dir->word, where the commit puts its address */
        bool             queued;        /* d */
};

static struct edge_dir *dir_of(struct desc *d, uint32_t events)
{
        W_ASSERT(!(events & W_POLL_OUT) || events == W_POLL_OUT);
        return &d->dirs[events & W_POLL_OUT ? W_DIR_OUT : W_DIR_IN];
}

static bool is_free(uintptr_t word)
{
        return word == NOTHING || word == DRAINED;
}

static bool is_alone(uintptr_t word)
{
        return word > GONE;
}

/* ---- The waiters, under the lock ------------------------------------------------------------- */

static void enqueue_locked(struct edge_dir *dir, struct edge_wait *w)
{
        W_ASSERT(!w->queued && w_load_rlx(&dir->word) == QUEUE);  /* guarded by the lock */
        w->queued = true;
        if (w->again)
                w_list_push_front(&dir->waits, &w->link);
        else
                w_list_push_back(&dir->waits, &w->link);
}

static void remove_locked(struct edge_dir *dir, struct edge_wait *w)
{
        if (!w->queued)
                return;
        w->queued = false;
        w_list_unlink(&w->link);
        if (w_list_empty(&dir->waits))
                w_store_rlx(&dir->word, NOTHING);                 /* guarded by the lock */
}

/* True: w was still waiting, and will be woken. */
static bool claim(const struct edge_wait *w, uint32_t verdict, struct queue *woken)
{
        struct waiter *waiter = w->waiter;

        if (w_wake_claim(waiter, verdict) != W_CLAIM_WON)
                return false;
        w_wake_gather(waiter, woken);
        return true;
}

/* Claims the first waiter. False: no waiter was still waiting. */
static bool claim_first_locked(struct edge_dir *dir, struct queue *woken)
{
        for (struct list_node *n; (n = w_list_first(&dir->waits));) {
                struct edge_wait *w = W_CONTAINER_OF(n, struct edge_wait, link);

                remove_locked(dir, w);
                if (claim(w, GIVEN, woken))
                        return true;
        }
        return false;
}

/* Makes a waiter responsible, or leaves READY for the next trier. */
static void give_locked(struct edge_dir *dir, struct queue *woken)
{
        uintptr_t word = w_load_rlx(&dir->word);                  /* hint: the CAS decides */

        for (;;) {
                if (word == READY || word == GONE)
                        return;
                if (word == QUEUE) {
                        if (claim_first_locked(dir, woken))
                                return;
                        word = NOTHING;
                        continue;
                }
                uintptr_t found = word;

                if (!w_cas_acqrel(&dir->word, &word, is_free(found) ? READY : NOTHING)) /* [OW1] */
                        continue;
                if (is_alone(found))
                        (void)claim((struct edge_wait *)found, GIVEN, woken);
                return;
        }
}

/* Leaves the word unchanged, but a trier that consumes it from now on sees these ends. */
static void note_ends_locked(struct desc *d, uint32_t ends)
{
        uint32_t seen = w_load_rlx(&d->seen);                     /* own word: under the lock */

        if (!(ends & ~seen))
                return;
        w_store_rlx(&d->seen, seen | ends);                       /* guarded by OW1 */
        w_add_rel(&d->dirs[W_DIR_IN].word, 0);                    /* [OW1] */
}

void w_edge_deliver_locked(struct desc *d, uint32_t events, struct queue *woken)
{
        note_ends_locked(d, events & ENDS);
        if (events & FOR_IN)
                give_locked(&d->dirs[W_DIR_IN], woken);
        if (events & FOR_OUT)
                give_locked(&d->dirs[W_DIR_OUT], woken);
}

/* ---- Begin and end --------------------------------------------------------------------------- */

void w_edge_begin_locked(struct desc *d, uint32_t edge)
{
        w_store_rlx(&d->seen, 0);                                 /* guarded by the lock */
        for (uint32_t i = 0; i < W_N_DIRS; i++) {
                W_ASSERT(w_list_empty(&d->dirs[i].waits));
                w_store_rlx(&d->dirs[i].word, NOTHING);           /* guarded: not known yet */
        }
        w_store_rlx(&d->edge, edge);                              /* guarded: not known yet */
}

void w_edge_end_locked(struct desc *d, struct queue *woken)
{
        if (!w_load_rlx(&d->edge))                                /* own word: under the lock */
                return;
        for (uint32_t i = 0; i < W_N_DIRS; i++) {
                struct edge_dir *dir = &d->dirs[i];
                uintptr_t       word = w_xchg_acqrel(&dir->word, GONE);   /* [OW1] */

                if (is_alone(word))
                        (void)claim((struct edge_wait *)word, CLOSED, woken);
                for (struct list_node *n; (n = w_list_pop_front(&dir->waits));) {
                        struct edge_wait *w = W_CONTAINER_OF(n, struct edge_wait, link);

                        w->queued = false;
                        (void)claim(w, CLOSED, woken);
                }
        }
}

/* ---- Waiting --------------------------------------------------------------------------------- */

/* After success the frame of w may be gone. */
static bool commit_alone(struct g *gp, void *arg)
{
        struct edge_wait *w = arg;

        (void)gp;
        W_WINDOW("edge-parks");
        return w_cas_rel(&w->dir->word, &w->found, (uintptr_t)w); /* [OW1] */
}

/* Parks as the only waiter. True: *rc is the result of the wait. False: the word has changed, and
 * the caller did not park. */
static bool wait_alone(struct edge_dir *dir, uintptr_t found, int *rc)
{
        struct waiter    waiter;
        struct edge_wait w = { .waiter = &waiter, .dir = dir, .found = found };

        w_list_init(&w.link);
        w_wait_begin_plain(&waiter);
        w_park(W_WAIT_IO, commit_alone, &w);
        uint32_t verdict = w_load_acq(&waiter.word);              /* [WK1] */

        *rc = verdict == CLOSED ? -EBADF : 0;
        return verdict != W_VERDICT_ARMING;
}

/* True: w is in the queue. False: the direction is READY or GONE. */
static bool join_locked(struct edge_dir *dir, struct edge_wait *w)
{
        uintptr_t word = w_load_rlx(&dir->word);                  /* hint: the CAS decides */

        while (word != QUEUE) {
                if (word == READY || word == GONE)
                        return false;
                uintptr_t found = word;

                W_WINDOW("edge-joins");
                if (!w_cas_acqrel(&dir->word, &word, QUEUE))      /* [OW1] */
                        continue;
                if (is_alone(found))
                        enqueue_locked(dir, (struct edge_wait *)found);
                break;
        }
        enqueue_locked(dir, w);
        return true;
}

static void unlock_desc(void *arg)
{
        w_unlock(&((struct desc *)arg)->lock);
}

/* Parks in the queue. True: *rc is the result of the wait. False: the wait did not begin. */
static bool wait_in_queue(struct desc *d, struct edge_dir *dir, bool again, int *rc)
{
        struct wait      w;
        struct edge_wait ew = { .waiter = &w.waiter, .dir = dir, .again = again };

        w_list_init(&ew.link);
        w_wait_begin(&w, W_FOREVER, W_CANCELLABLE);
        w_lock(&d->lock);
        bool queued = join_locked(dir, &ew);

        if (queued) {
                uint32_t verdict = w_wait_park(&w, W_WAIT_IO, unlock_desc, d);

                if (verdict == GIVEN || verdict == CLOSED) {
                        *rc = verdict == GIVEN ? 0 : -EBADF;
                } else {
                        w_lock(&d->lock);
                        remove_locked(dir, &ew);
                        w_unlock(&d->lock);
                        *rc = w_wait_error(&w, verdict);
                }
        } else {
                w_unlock(&d->lock);
        }
        w_wait_end(&w);
        return queued;
}

static int wait_counted(struct desc *d, struct edge_dir *dir, bool again)
{
        for (;;) {
                uintptr_t word = w_load_rlx(&dir->word);          /* hint: the CAS decides */
                int       rc;

                if (word == GONE)
                        return -EBADF;
                if (word == READY) {
                        if (w_cas_acq(&dir->word, &word, NOTHING))                /* [OW1] */
                                return 0;
                        continue;
                }
                bool alone = is_free(word) && w_wait_is_plain();

                if (alone ? wait_alone(dir, word, &rc) : wait_in_queue(d, dir, again, &rc))
                        return rc;
        }
}

int w_edge_wait(struct desc *d, uint32_t events, bool again)
{
        w_netpoll_wait_begins();
        int rc = wait_counted(d, dir_of(d, events), again);

        w_netpoll_wait_ends();
        return rc;
}

/* ---- Trying ---------------------------------------------------------------------------------- */

enum poll_first w_edge_first(struct desc *d, uint32_t events, bool some)
{
        struct edge_dir *dir = dir_of(d, events);
        uintptr_t       word = w_load_rlx(&dir->word);            /* hint: the CAS decides */

        if (word == DRAINED && some)
                return W_POLL_WAIT;
        if (word == READY && events != W_POLL_OUT &&
            w_cas_acq(&dir->word, &word, NOTHING))                /* [OW1] */
                return W_POLL_TRY_WOKEN;
        return W_POLL_TRY;
}

void w_edge_tried(struct desc *d, uint32_t events)
{
        struct edge_dir *dir = dir_of(d, events);
        uintptr_t       word = w_load_rlx(&dir->word);            /* hint: the CAS decides */
        struct queue    woken = { 0 };

        W_WINDOW("edge-tried");
        while (is_free(word))
                if (w_cas_rel(&dir->word, &word, READY))          /* [OW1] */
                        return;
        if (word == READY || word == GONE)
                return;
        w_lock(&d->lock);
        give_locked(dir, &woken);
        w_unlock(&d->lock);
        w_ready_many(&woken);
}

/* If the word is not NOTHING any more, there was a report, or another trier is responsible. */
void w_edge_drained(struct desc *d, uint32_t events)
{
        uintptr_t word = NOTHING;

        if (w_load_rlx(&d->seen))                                 /* guarded by OW1 */
                w_edge_tried(d, events);
        else
                (void)w_cas_rel(&dir_of(d, events)->word, &word, DRAINED);    /* [OW1] */
}
