/* net/offload.c - a call that blocks its thread, made by a worker goroutine for a caller that may
 * leave before it ends.
 *
 * Protocols   owns offload; cites wake (wait/wake.c), close-notify (net/close_notify.c).
 *
 * PROTOCOL offload
 *
 * Goal      The result of the call goes to the caller, or is dropped if the caller has left: one of
 *           the two, once. At most `most` calls of a kind run at the same time. Other callers wait
 *           in order, and no caller waits while a worker is available.
 * Parties   caller; worker (a goroutine).
 * Words     under offloads.lock: of each kind the queue and n_workers; of each offload
 *             state    QUEUED, RUNS or DONE
 *             left     the caller has left
 *             waiter   the caller sleeps
 * Caller
 *   1. Lock; put a record with a copy of the job into the queue. If there are fewer workers than
 *      `most`: n_workers + 1. Unlock.
 *   2. If step 1 counted a worker, start it. If the start fails: lock; n_workers - 1; if no worker
 *      is left, every record in the queue becomes DONE, with that error; unlock.
 *   3. Lock. If the record is not DONE, park; the commit unlocks.
 *   4. Lock; then unlock after the work for the record's state:
 *        DONE     take the result, free the record
 *        QUEUED   leave the queue, free the record
 *        RUNS     set left
 * Worker
 *   1. Lock. If the queue is empty: n_workers - 1; unlock; end. Else the first record becomes RUNS;
 *      copy the job to the worker's frame; unlock.
 *   2. Make the call, in a blocking region on the thread's stack.
 *   3. Lock. If left is set: free the record; unlock; drop the result.
 *      Else copy the result back; the record becomes DONE; claim the waiter; unlock; wake it.
 *   4. Go to 1.
 * Edges     [ER1] the result of the call   worker, in its frame: done store-release -> the end of
 *                 the run: done load-acquire
 * Why one of the two   `left` and DONE are set under the lock; the second party finds what the
 *           first party has set. A caller in a done scope may find DONE, and drops the result.
 * Why no caller waits in vain   A caller that enters the queue finds `most` workers, or starts one.
 *           A worker ends only while the queue is empty, under the lock.
 * Why a copy   The run may end during the call. The worker's thread stays behind then, and may
 *           touch nothing but its stack (sched/run/abandon.c). If the thread returns in time, the
 *           worker is dropped all the same: the end of the run reads its frame, and frees the
 *           result.
 * Rejected  A semaphore before the call (callers that have left would stay in its queue; a permit
 *           would be lost with a run that ends); the call on the caller's thread (nothing could end
 *           that call).
 * Tests     flow/net/test_resolve.c, flow/net/test_connect.c, sim scenarios net_lookup*, mutants
 *           offload-*.
 *
 * SPDX-License-Identifier: MIT
 */
#include "net/offload.h"

#include "base/assert.h"
#include "base/window.h"
#include "net/close_notify.h"
#include "net/desc.h"
#include "net/poll.h"
#include "wait/wait.h"

#include "sched/ready.h"
#include "sched/run/run.h"
#include "weft.h"

#include <errno.h>      /* -Exxx */

enum { WORKER_STACK = 32768 };  /* the call itself uses a thread's stack */

enum state { QUEUED, RUNS, DONE };

/* In the frame of a worker. */
struct work {
        struct offload_kind *kind;
        union offload_job    job;
        w_atomic_u32         done;      /* a  [ER1] */
};

/* Key: l offloads.lock   i immutable */
struct offload {
        struct queue_node    free;      /* l */
        struct list_node     link;      /* l  in its kind's queue, or in offloads.others */
        struct offload_kind *kind;      /* i */
        enum state           state;     /* l */
        bool                 left;      /* l  the caller has left */
        int                  rc;        /* l  once it is DONE: 0, or why it could not run */
        struct waiter       *waiter;    /* l  NULL: not asleep */
        struct work         *work;      /* l  while it runs */
        union offload_job    job;       /* l */
};

static struct {
        struct lock          lock;      /* class offloads */
        bool                 ready;     /* l */
        struct records       pool;      /* l */
        struct list_node     others;    /* l  struct offload: RUNS or DONE */
        struct offload_kind *kinds;     /* l  of this run */
        struct run_end       at_end;
} offloads = { .lock = W_LOCK_INIT(offloads) };

/* ---- Records --------------------------------------------------------------------------------- */

/* Frees a result that no caller will take. */
static void free_found(struct offload *e)
{
        if (!e->kind->free)
                return;
        if (e->state == DONE && e->rc == 0)
                e->kind->free(&e->job);
        else if (e->state == RUNS && w_load_acq(&e->work->done))  /* [ER1] */
                e->kind->free(&e->work->job);
}

/* Called when the last thread of the run is gone, or stays behind. The stacks still exist. */
static void free_all(void)
{
        W_LIST_EACH(n, &offloads.others)
                free_found(W_CONTAINER_OF(n, struct offload, link));
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
                w_records_init(&offloads.pool, sizeof(struct offload));
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

static struct offload *new_locked(struct offload_kind *kind, const union offload_job *job)
{
        get_ready_locked(kind);
        struct offload *e = w_records_get(&offloads.pool);

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

static void free_locked(struct offload *e)
{
        w_list_unlink(&e->link);
        w_records_put(&offloads.pool, e);
}

/* The caller will find it DONE. */
static void finish_locked(struct offload *e, int rc, struct queue *woken)
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

/* ---- The worker ------------------------------------------------------------------------------ */

/* NULL: there is no job, and the worker must end. */
static struct offload *take_first(struct work *work)
{
        W_ENTER();
        w_lock(&offloads.lock);
        struct list_node *n = w_list_pop_front(&work->kind->queue);
        struct offload   *e = n ? W_CONTAINER_OF(n, struct offload, link) : NULL;

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

static void give_back(struct offload *e, struct work *work)
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

/* Runs on the thread's own stack, in user code. */
static void do_work(void *arg)
{
        struct work *work = arg;

        work->kind->run(&work->job);
        w_store_rel(&work->done, 1);                              /* [ER1] */
}

static void worker_main(void *arg)
{
        struct work work = { .kind = arg };

        for (struct offload *e; (e = take_first(&work));) {
                (void)weft_blocking(do_work, &work);
                W_WINDOW("offload-run");
                give_back(e, &work);
        }
}

/* n_workers counts the new worker already. */
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
                        finish_locked(W_CONTAINER_OF(n, struct offload, link), (int)id, &woken);
        w_unlock(&offloads.lock);
        w_ready_many(&woken);
}

/* ---- The caller ------------------------------------------------------------------------------ */

static void unlock_offloads(void *arg)
{
        (void)arg;
        w_unlock(&offloads.lock);
}

/* True: the job is DONE, or the wait has ended otherwise; *rc says how. False: wait again. */
static bool wait_once(struct offload *e, struct desc *d, int *rc)
{
        struct wait         w;
        struct close_waiter b;
        uint32_t            verdict = W_VERDICT_OTHER;

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

/* The caller leaves. True: *job belongs to the caller, to keep or to drop. */
static bool leave(struct offload *e, union offload_job *job, int *rc)
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
        struct offload *e = new_locked(kind, job);
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
        W_WINDOW("offload-waited");
        if (leave(e, job, &rc) && rc < 0)
                kind->drop(job);
        return rc;
}
