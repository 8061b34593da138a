/* net/poll_edge.c - waiting for a descriptor that weft itself has made.
 *
 * Called by   poll.
 * Protocols   owns poll-edge; cites poll (net/poll.c), wake (wait/wake.c), netpoll
 *             (sched/thread/netpoll.c).
 *
 * PROTOCOL poll-edge
 *
 * Goal      as PROTOCOL poll, for files that nobody but weft_close closes: the poller is told of
 *           them once, so that a wait costs no call of the kernel, and as a rule no lock either.
 * Parties   trier (is going to read, or to write); deliverer, closer as there.
 * Words     of each way, in and out: word: NOTHING; READY: something may be there, and nobody has
 *           taken that up; DRY: nothing, because who read last got less than it asked for; ALONE:
 *           the address of the only one who waits; QUEUE: those who wait are in `waits`; GONE: no
 *           more waits. Under the lock: waits (FIFO). QUEUE <=> waits is not empty. seen: ends,
 *           errors and urgent data that were told of, until the number is closed.
 * In hand   a trier that was woken, or has changed READY to NOTHING, has the way in hand: others
 *           rely on it to try until the kernel says that it would have to wait, or else to pass the
 *           way on. Several may, and need not know of each other.
 * Trier     1 reads: READY -> NOTHING: in hand. DRY: goes to 3   2 tries   3 has to wait: READY ->
 *           NOTHING: from 2. NOTHING or DRY -> ALONE, in the commit of its park; that failed: from
 *           3. With a deadline, in a scope, on a thread that is not weft's, or with others before
 *           it: lock; NOTHING, DRY or ALONE -> QUEUE; into waits, behind whom it found ALONE, but
 *           before all of them if it has the way in hand; parks, the commit unlocks; woken by
 *           something else: lock, out of waits, unlock
 *           4 is done, and has the way in hand: passes it on; or, if it has read all there was,
 *           TCP, and nothing was seen: NOTHING -> DRY
 * Pass on   NOTHING or DRY -> READY. Else lock; as the deliverer; unlock
 * Deliverer lock; another seq: nothing. seen, if there is more of it: and the word of the way in is
 *           written anew, whatever it is; then for each way: NOTHING or DRY -> READY; ALONE ->
 *           NOTHING, wakes it; QUEUE: wakes the first of waits that it can claim. Those who want to
 *           know only stand in line as in PROTOCOL poll; all of them are woken. unlock
 * Closer    lock; each way: GONE; wakes all; unlock
 * Edges     [OW1] who waits, what was seen   word CAS-release, add-release -> who takes it up: word
 *                 CAS-acquire, exchange-acqrel
 * Why news is not lost   the poller tells of a thing after it has happened, and of each at least
 *           once. Let it happen on a way on which somebody waits, or is about to. The telling finds
 *           READY: it stays so until somebody has it in hand, who then tries. It finds NOTHING:
 *           READY, and the commit or the joining of who is about to wait fails. It finds somebody
 *           who waits: wakes it, who has the way in hand. Who has it in hand tries after that, sees
 *           what has happened, and comes to the end of it or passes on.
 * Why the word is cleared before the try, never after   what happens between the try and the
 *           clearing would be lost.
 * Why who writes does not take READY up before its try   it is READY nearly always, and the try
 *           nearly always succeeds: nobody relies on it then, and nothing has to be passed on.
 *           Where it fails READY is taken up in step 3, for the price of one try more.
 * Why seen  a read that returns less than it could has come to the end of the data, but perhaps not
 *           of the news: the end of the stream came with the last bytes and is told once with them;
 *           an urgent byte makes a read stop short of what follows. So after one of these only the
 *           kernel says what is dry. What comes later is told later, and makes READY of DRY.
 * Why the word is written with seen   a deliverer that finds READY changes nothing. Who takes READY
 *           up, written by an earlier one, would not have to see what this one has seen.
 * Why before all   the way is passed on without knowing whether there is more: as a rule there is
 *           not. The next one then waits again, and would be the last in line; for ever, if those
 *           who are served come back to read.
 * Why only TCP   a read of one datagram, one record of TLS or one message is short with others
 *           behind it. What other code may do to a TCP socket (TCP_ULP) each read finds out by
 *           itself: w_os_fd_read_tcp.
 * Why ALONE is not freed under the deliverer's hands   only the object ends such a wait, and who
 *           takes its address out of the word is the only one to wake it.
 * Other code closes the number   that is misuse: it is to use weft_close. Who waits then waits for
 *           ever, or until weft_close, or until weft makes a descriptor of that number, or somebody
 *           waits in order to know: then -EBADF. Another file of that number which weft has not
 *           made is read and written, but a wait for it hears nothing. Nothing is corrupted: what
 *           the poller tells of the old file under another number goes to who waits under the old
 *           one, who looks again.
 * Rejected  waking all (a herd); arming for each wait (a call of the kernel); a try only once the
 *           poller has told (data that is there already would have to wait for the poller).
 * Tests     flow/net/test_edge_triggered.c, flow/net/test_fd_order.c, sim scenarios own_* and
 *           poll_own_*, mutants own-*; windows own-parks, own-joins, own-tried.
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

/* Words of a way; any other is ALONE, a struct edge_wait. */
enum { NOTHING, READY, DRY, QUEUE, GONE };

enum {
        GIVEN = W_VERDICT_OTHER,        /* it has the way in hand */
        CLOSED,
};

enum {
        ENDS = W_POLL_RDHUP | W_POLL_HUP | W_POLL_ERR | W_POLL_PRI,
        FOR_IN = W_POLL_IN | ENDS,
        FOR_OUT = W_POLL_OUT | W_POLL_HUP | W_POLL_ERR,
};

/* In the frame of who waits. Key: i immutable   o the waiting call   d the lock of its number */
struct edge_wait {
        struct list_node link;          /* d  in edge_dir.waits */
        struct waiter   *waiter;        /* i */
        struct edge_dir  *way;           /* i */
        bool             again;         /* i  it has the way in hand */
        uintptr_t        found;         /* o  in its way, where the commit puts its address */
        bool             queued;        /* d */
};

static struct edge_dir *way_of(struct desc *d, uint32_t events)
{
        W_ASSERT(!(events & W_POLL_OUT) || events == W_POLL_OUT);
        return &d->dirs[events & W_POLL_OUT ? W_DIR_OUT : W_DIR_IN];
}

static bool is_free(uintptr_t word)
{
        return word == NOTHING || word == DRY;
}

static bool is_alone(uintptr_t word)
{
        return word > GONE;
}

/* ---- Who waits, under the lock --------------------------------------------------------------- */

static void enqueue_locked(struct edge_dir *way, struct edge_wait *w)
{
        W_ASSERT(!w->queued && w_load_rlx(&way->word) == QUEUE);  /* guarded by the lock */
        w->queued = true;
        if (w->again)
                w_list_push_front(&way->waits, &w->link);
        else
                w_list_push_back(&way->waits, &w->link);
}

static void remove_locked(struct edge_dir *way, struct edge_wait *w)
{
        if (!w->queued)
                return;
        w->queued = false;
        w_list_unlink(&w->link);
        if (w_list_empty(&way->waits))
                w_store_rlx(&way->word, NOTHING);                 /* guarded by the lock */
}

/* True: w was waiting, and goes on. */
static bool claim(const struct edge_wait *w, uint32_t verdict, struct queue *woken)
{
        struct waiter *waiter = w->waiter;

        if (w_wake_claim(waiter, verdict) != W_CLAIM_WON)
                return false;
        w_wake_gather(waiter, woken);
        return true;
}

/* False: none of them was still waiting. */
static bool claim_first_locked(struct edge_dir *way, struct queue *woken)
{
        for (struct list_node *n; (n = w_list_first(&way->waits));) {
                struct edge_wait *w = W_CONTAINER_OF(n, struct edge_wait, link);

                remove_locked(way, w);
                if (claim(w, GIVEN, woken))
                        return true;
        }
        return false;
}

/* Somebody has the way in hand, or the next one will. */
static void give_locked(struct edge_dir *way, struct queue *woken)
{
        uintptr_t word = w_load_rlx(&way->word);                  /* hint: the CAS decides */

        for (;;) {
                if (word == READY || word == GONE)
                        return;
                if (word == QUEUE) {
                        if (claim_first_locked(way, woken))
                                return;
                        word = NOTHING;
                        continue;
                }
                uintptr_t found = word;

                if (!w_cas_acqrel(&way->word, &word, is_free(found) ? READY : NOTHING)) /* [OW1] */
                        continue;
                if (is_alone(found))
                        (void)claim((struct edge_wait *)found, GIVEN, woken);
                return;
        }
}

/* The word stays as it is, but who takes it up from here on has seen them. */
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

void w_edge_begin_locked(struct desc *d, uint32_t own)
{
        w_store_rlx(&d->seen, 0);                                 /* guarded by the lock */
        for (uint32_t i = 0; i < W_N_DIRS; i++) {
                W_ASSERT(w_list_empty(&d->dirs[i].waits));
                w_store_rlx(&d->dirs[i].word, NOTHING);           /* guarded: nobody knows it yet */
        }
        w_store_rlx(&d->own, own);                                /* guarded likewise */
}

void w_edge_end_locked(struct desc *d, struct queue *woken)
{
        if (!w_load_rlx(&d->own))                                 /* own word: under the lock */
                return;
        for (uint32_t i = 0; i < W_N_DIRS; i++) {
                struct edge_dir *way = &d->dirs[i];
                uintptr_t       word = w_xchg_acqrel(&way->word, GONE);   /* [OW1] */

                if (is_alone(word))
                        (void)claim((struct edge_wait *)word, CLOSED, woken);
                for (struct list_node *n; (n = w_list_pop_front(&way->waits));) {
                        struct edge_wait *w = W_CONTAINER_OF(n, struct edge_wait, link);

                        w->queued = false;
                        (void)claim(w, CLOSED, woken);
                }
        }
}

/* ---- Waiting --------------------------------------------------------------------------------- */

/* Once this has succeeded w may be gone. */
static bool commit_alone(struct g *gp, void *arg)
{
        struct edge_wait *w = arg;

        (void)gp;
        W_WINDOW("own-parks");
        return w_cas_rel(&w->way->word, &w->found, (uintptr_t)w); /* [OW1] */
}

/* The verdict; W_VERDICT_ARMING: the word has changed, and it did not wait. */
static uint32_t park_alone(struct edge_dir *way, uintptr_t found)
{
        struct waiter   waiter;
        struct edge_wait w = { .waiter = &waiter, .way = way, .found = found };

        w_list_init(&w.link);
        w_wait_begin_plain(&waiter);
        w_park(W_WAIT_IO, commit_alone, &w);
        return w_load_acq(&waiter.word);                          /* [WK1] */
}

/* True: w is in line. False: there is no need to wait, or no sense in it. */
static bool join_locked(struct edge_dir *way, struct edge_wait *w)
{
        uintptr_t word = w_load_rlx(&way->word);                  /* hint: the CAS decides */

        while (word != QUEUE) {
                if (word == READY || word == GONE)
                        return false;
                uintptr_t found = word;

                W_WINDOW("own-joins");
                if (!w_cas_acqrel(&way->word, &word, QUEUE))      /* [OW1] */
                        continue;
                if (is_alone(found))
                        enqueue_locked(way, (struct edge_wait *)found);
                break;
        }
        enqueue_locked(way, w);
        return true;
}

static void unlock_desc(void *arg)
{
        w_unlock(&((struct desc *)arg)->lock);
}

/* w is in line, with the lock. */
static int park_in_queue(struct desc *d, struct edge_wait *ow, struct wait *w)
{
        uint32_t verdict = w_wait_park(w, W_WAIT_IO, unlock_desc, d);

        if (verdict == GIVEN || verdict == CLOSED)
                return verdict == GIVEN ? 0 : -EBADF;
        w_lock(&d->lock);
        remove_locked(ow->way, ow);
        w_unlock(&d->lock);
        return w_wait_error(w, verdict);
}

/* True: *rc is how the wait ended. False: it did not begin. */
static bool wait_in_queue(struct desc *d, struct edge_dir *way, bool again, int *rc)
{
        struct wait     w;
        struct edge_wait ow = { .waiter = &w.waiter, .way = way, .again = again };

        w_list_init(&ow.link);
        w_wait_begin(&w, W_FOREVER, W_CANCELLABLE);
        w_lock(&d->lock);
        bool in_line = join_locked(way, &ow);

        if (in_line)
                *rc = park_in_queue(d, &ow, &w);
        else
                w_unlock(&d->lock);
        w_wait_end(&w);
        return in_line;
}

static bool wait_alone(struct edge_dir *way, uintptr_t found, int *rc)
{
        uint32_t verdict = park_alone(way, found);

        *rc = verdict == CLOSED ? -EBADF : 0;
        return verdict != W_VERDICT_ARMING;
}

static int wait_counted(struct desc *d, struct edge_dir *way, bool again)
{
        for (;;) {
                uintptr_t word = w_load_rlx(&way->word);          /* hint: the CAS decides */
                int       rc;

                if (word == GONE)
                        return -EBADF;
                if (word == READY) {
                        if (w_cas_acq(&way->word, &word, NOTHING))                /* [OW1] */
                                return 0;
                        continue;
                }
                bool alone = is_free(word) && w_wait_is_plain();

                if (alone ? wait_alone(way, word, &rc) : wait_in_queue(d, way, again, &rc))
                        return rc;
        }
}

int w_edge_wait(struct desc *d, uint32_t events, bool again)
{
        w_netpoll_wait_begins();
        int rc = wait_counted(d, way_of(d, events), again);

        w_netpoll_wait_ends();
        return rc;
}

/* ---- Trying ---------------------------------------------------------------------------------- */

bool w_desc_is_tcp(struct desc *d)
{
        return w_load_rlx(&d->own) & W_EDGE_TCP;                   /* guarded: a user, see poll */
}

enum poll_first w_poll_first(struct desc *d, uint32_t events, bool some)
{
        if (!w_load_rlx(&d->own))                                 /* guarded: a user, see poll */
                return W_POLL_TRY;
        struct edge_dir *way = way_of(d, events);
        uintptr_t       word = w_load_rlx(&way->word);            /* hint: the CAS decides */

        if (word == DRY && some)
                return W_POLL_WAIT;
        if (word == READY && events != W_POLL_OUT &&
            w_cas_acq(&way->word, &word, NOTHING))                /* [OW1] */
                return W_POLL_TRY_WOKEN;
        return W_POLL_TRY;
}

void w_edge_tried(struct desc *d, uint32_t events)
{
        struct edge_dir *way = way_of(d, events);
        uintptr_t       word = w_load_rlx(&way->word);            /* hint: the CAS decides */
        struct queue    woken = { 0 };

        W_WINDOW("own-tried");
        while (is_free(word))
                if (w_cas_rel(&way->word, &word, READY))          /* [OW1] */
                        return;
        if (word == READY || word == GONE)
                return;
        w_lock(&d->lock);
        give_locked(way, &woken);
        w_unlock(&d->lock);
        w_ready_many(&woken);
}

/* A way that is not NOTHING any more has been told of, or others have it in hand. */
void w_edge_drained(struct desc *d, uint32_t events)
{
        uintptr_t word = NOTHING;

        if (w_load_rlx(&d->seen))                                 /* guarded by OW1 */
                w_edge_tried(d, events);
        else
                (void)w_cas_rel(&way_of(d, events)->word, &word, DRY);    /* [OW1] */
}
