/* net/offload.c - a call that blocks its thread, made by a goroutine of its own for somebody who
 * may leave before it ends.
 *
 * Called by   resolve (names), connect (sockets that block).
 * Protocols   owns offload; cites wake (wait/wake.c), close-notify (net/close_notify.c).
 *
 * PROTOCOL offload
 *
 * Goal      what the call comes to goes to who asked for it, or is dropped if that one has left:
 *           one of the two, once. At most so many of a kind run at the same time; the others wait
 *           in order, and none does while a runner could be had.
 * Parties   asker, runner (a goroutine).
 * Words     under errands.lock: of each kind the queue and n_workers; of each errand its state:
 *           queued, runs, is done; left: the asker has; waiter: it sleeps.
 * Asker     1 lock; a record with a copy of what is asked, into the queue; fewer runners than may
 *           be: n_workers + 1; unlock   2 starts one if so; cannot: lock; n_workers - 1; the last
 *           one: all in the queue are done, with that error; unlock   3 lock; not done: parks, the
 *           commit unlocks   4 lock; done: takes what came of it, frees the record. Queued: out of
 *           the queue, free. Runs: left; unlock
 * Runner    1 lock; the first of the queue runs, copies it to its own frame; none: n_workers - 1,
 *           unlock, ends; unlock   2 the call, in a blocking region on the thread's stack
 *           3 lock; left: frees the record, drops. Else: copies back, done, claims the waiter;
 *           unlock; wakes; again from 1
 * Edges     [ER1] what the call came to   runner, in its frame: done store-release -> the end of
 *                 the run: done load-acquire
 * Why one of the two   `left` and `done` are set under the lock, by whoever comes first; the other
 *           finds it. Whom a scope has struck finds it done, and drops what came of it.
 * Why nobody waits in vain   whoever comes into the queue finds all runners there may be, or starts
 *           one. A runner ends only while the queue is empty, under the lock.
 * Why a copy   the run may end while the call goes on: its thread is left behind, and may touch
 *           nothing but its stack (sched/run/abandon.c). If it comes back in time its goroutine is
 *           dropped all the same: the end of the run looks into its frame, and frees what it has
 *           found.
 * Rejected  a semaphore before the call (those who have left would stand in line; a permit would be
 *           lost with a run that ends); calling on the asker's thread (nobody could end that).
 * Tests     flow/net/test_resolve.c, flow/net/test_connect.c, sim scenarios net_lookup*, mutants
 *           errand-*.
 *
 * SPDX-License-Identifier: MIT
 */
#include "net/offload.h"

#include "base/assert.h"
#include "base/window.h"
#include "net/close_notify.h"
#include "net/poll.h"
#include "wait/wait.h"

#include "weft.h"

#include <errno.h>      /* -Exxx */

enum { WORKER_STACK = 32768 };  /* the call itself is made on a thread's */

enum state { QUEUED, RUNS, DONE };

/* In the frame of a runner. */
struct work {
        struct offload_kind *kind;
        union offload_job job;
        w_atomic_u32        done;       /* a  [ER1] */
};

/* Key: l errands.lock   i immutable */
struct errand {
        struct queue_node    free;      /* l */
        struct list_node     link;      /* l  in its kind's queue, or in errands.others */
        struct offload_kind  *kind;      /* i */
        enum state           state;     /* l */
        bool                 left;      /* l  nobody waits for it any more */
        int                  rc;        /* l  once it is done: 0, or it could not be run */
        struct waiter       *waiter;    /* l  NULL: not asleep */
        struct work         *work;      /* l  while it runs */
        union offload_job  job;    /* l */
};

static struct {
        struct lock         lock;       /* class errands */
        bool                ready;      /* l */
        struct records      pool;       /* l */
        struct list_node    others;     /* l  struct errand: run, or are not fetched yet */
        struct offload_kind *kinds;      /* l  of this run */
        struct run_end      at_end;
} offloads = { .lock = W_LOCK_INIT(offloads) };

/* ---- Records --------------------------------------------------------------------------------- */

/* What was found, and will be fetched by nobody. */
static void free_found(struct errand *e)
{
        if (!e->kind->free)
                return;
        if (e->state == DONE && e->rc == 0)
                e->kind->free(&e->job);
        else if (e->state == RUNS && w_load_acq(&e->work->done))  /* [ER1] */
                e->kind->free(&e->work->job);
}

/* When the last thread of the run is gone, or has been left behind. Stacks are still there. */
static void free_all(void)
{
        W_LIST_EACH(n, &offloads.others)
                free_found(W_CONTAINER_OF(n, struct errand, link));
        for (struct offload_kind *kind = offloads.kinds; kind; kind = kind->next) {
                w_list_init(&kind->queue);
                kind->n_workers = 0;
                kind->known = false;
        }
        w_records_destroy(&offloads.pool);
        offloads.kinds = NULL;
        offloads.ready = false;
}

static void get_ready_locked(struct offload_kind *kind)
{
        if (!offloads.ready) {
                w_records_init(&offloads.pool, sizeof(struct errand));
                w_list_init(&offloads.others);
                offloads.at_end.free = free_all;
                w_run_at_end(&offloads.at_end);
                offloads.ready = true;
        }
        if (!kind->known) {
                kind->next = offloads.kinds;
                offloads.kinds = kind;
                kind->known = true;
        }
}

static struct errand *new_locked(struct offload_kind *kind, const union offload_job *job)
{
        get_ready_locked(kind);
        struct errand *e = w_records_get(&offloads.pool);

        if (!e)
                return NULL;
        w_list_init(&e->link);
        e->kind = kind;
        e->state = QUEUED;
        e->left = false;
        e->rc = 0;
        e->waiter = NULL;
        e->job = *job;
        w_list_push_back(&kind->queue, &e->link);
        return e;
}

static void free_locked(struct errand *e)
{
        w_list_unlink(&e->link);
        w_records_put(&offloads.pool, e);
}

/* The asker finds it so, and goes on. */
static void finish_locked(struct errand *e, int rc, struct queue *woken)
{
        W_ASSERT(e->state != DONE && !e->left);
        e->state = DONE;
        e->rc = rc;
        w_list_unlink(&e->link);
        w_list_push_back(&offloads.others, &e->link);
        if (e->waiter && w_wake_claim(e->waiter, W_VERDICT_OTHER) == W_CLAIM_WON)
                w_wake_gather(e->waiter, woken);
        e->waiter = NULL;
}

/* ---- The runner ------------------------------------------------------------------------------ */

/* NULL: there is nothing to do, and the caller ends. */
static struct errand *take_first(struct work *work)
{
        W_ENTER();
        w_lock(&offloads.lock);
        struct list_node *n = w_list_pop_front(&work->kind->queue);
        struct errand    *e = n ? W_CONTAINER_OF(n, struct errand, link) : NULL;

        if (e) {
                e->state = RUNS;
                e->work = work;
                w_list_push_back(&offloads.others, &e->link);
                work->job = e->job;
                w_store_rlx(&work->done, 0);                      /* guarded by the lock */
        } else {
                work->kind->n_workers--;
        }
        w_unlock(&offloads.lock);
        W_LEAVE();
        return e;
}

static void give_back(struct errand *e, struct work *work)
{
        struct queue woken = { 0 };

        W_ENTER();
        w_lock(&offloads.lock);
        bool left = e->left;

        if (left) {
                free_locked(e);
        } else {
                e->job = work->job;
                finish_locked(e, 0, &woken);
        }
        w_unlock(&offloads.lock);
        w_ready_many(&woken);
        if (left)
                work->kind->drop(&work->job);
        W_LEAVE();
}

/* On the thread's own stack, outside of weft. */
static void do_work(void *arg)
{
        struct work *work = arg;

        work->kind->run(&work->job);
        w_store_rel(&work->done, 1);                              /* [ER1] */
}

static void worker_main(void *arg)
{
        struct work work = { .kind = arg };

        for (struct errand *e; (e = take_first(&work));) {
                (void)weft_blocking(do_work, &work);
                W_WINDOW("errand-run");
                give_back(e, &work);
        }
}

/* n_workers counts it already. */
static void start_worker(struct offload_kind *kind)
{
        weft_attr    attr = { .name = kind->name, .stack_size = WORKER_STACK };
        struct queue woken = { 0 };
        int64_t      id = weft_go_with(&attr, worker_main, kind);

        if (W_LIKELY(id > 0))
                return;
        w_lock(&offloads.lock);
        if (--kind->n_workers == 0)
                W_LIST_EACH(n, &kind->queue)
                        finish_locked(W_CONTAINER_OF(n, struct errand, link), (int)id, &woken);
        w_unlock(&offloads.lock);
        w_ready_many(&woken);
}

/* ---- The asker ------------------------------------------------------------------------------- */

static void unlock_offloads(void *arg)
{
        (void)arg;
        w_unlock(&offloads.lock);
}

/* True: it is done, or w has ended otherwise, and *rc says how. Else: look again. */
static bool wait_once(struct errand *e, struct desc *d, int *rc)
{
        struct wait   w;
        struct close_waiter b;
        uint32_t      verdict = W_VERDICT_OTHER;

        w_wait_begin(&w, W_FOREVER, W_CANCELLABLE);
        if (d)
                w_close_notify_join(&b, &w.waiter);
        w_lock(&offloads.lock);
        bool closing = d && w_desc_is_closing(d);

        if (e->state != DONE && !closing) {
                e->waiter = &w.waiter;
                verdict = w_wait_park(&w, W_WAIT_IO, unlock_offloads, NULL);
                w_lock(&offloads.lock);
        }
        bool done = e->state == DONE;

        e->waiter = NULL;
        w_unlock(&offloads.lock);
        if (d)
                w_close_notify_leave(&b);
        *rc = verdict < W_VERDICT_OTHER ? w_wait_error(&w, verdict) : done ? 0 : -EBADF;
        w_wait_end(&w);
        return done || closing || verdict < W_VERDICT_OTHER;
}

/* Nobody asks any more. True: *matter is the caller's, to keep or to drop. */
static bool leave(struct errand *e, union offload_job *job, int *rc)
{
        w_lock(&offloads.lock);
        bool runs = e->state == RUNS;

        if (runs) {
                e->left = true;
        } else {
                if (e->state == DONE && *rc == 0)
                        *rc = e->rc;
                *job = e->job;
                free_locked(e);
        }
        w_unlock(&offloads.lock);
        return !runs;
}

int w_offload_call(struct offload_kind *kind, union offload_job *job, struct desc *d)
{
        int rc;

        w_lock(&offloads.lock);
        struct errand *e = new_locked(kind, job);
        bool           starts = e && kind->n_workers < kind->most;

        if (starts)
                kind->n_workers++;
        w_unlock(&offloads.lock);
        if (!e) {
                kind->drop(job);
                return -ENOMEM;
        }
        if (starts)
                start_worker(kind);
        while (!wait_once(e, d, &rc))
                ;
        W_WINDOW("errand-waited");
        if (leave(e, job, &rc) && rc < 0)
                kind->drop(job);
        return rc;
}
