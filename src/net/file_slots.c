/* net/file_slots.c - how many goroutines are busy with files at once.
 *
 * Called by   io.
 * Protocols   owns file-slots; cites wake (wait/wake.c).
 *
 * A regular file cannot be waited for, so whoever uses one blocks a thread. Thousands who do so
 * would be thousands of threads; hence there are so many places (file_threads in weft_config), and
 * a line for the others.
 *
 * PROTOCOL file-slots
 *
 * Goal      at most so many goroutines are in; who waits longest is next; no place is lost to one
 *           whose wait is ended by a scope.
 * Parties   those who enter and leave; scopes, timers.
 * Words     under the lock: n_in; waits (FIFO), empty unless all places are taken.
 * Enter     1 lock; a place is free: n_in + 1; unlock   2 else into waits; parks, the commit
 *           unlocks   3 woken: it has the place of who left. Woken by something else: lock, out of
 *           waits, unlock
 * Leave     lock; takes the first out of waits and claims it; lost: the next. Claimed: n_in stays,
 *           the place is handed over; unlock; wakes it. Nobody: n_in - 1; unlock
 * Why no place is lost   the claim decides whether the waiter has it or was told otherwise.
 * At the end of the run goroutines may be left in waits, and threads in files: both never come
 *           back, so the next run begins anew.
 * Rejected  a place for threads that are not weft's, and for goroutines within a blocking region of
 *           their own: they block no thread that is not blocked already, and may not wait there.
 * Tests     flow/net/test_files.c, sim scenarios files_*, mutants files-*.
 *
 * SPDX-License-Identifier: MIT
 */
#include "net/file_slots.h"

#include "base/window.h"
#include "wait/wait.h"

/* In the frame of who waits. */
struct file_wait {
        struct list_node link;          /* under the lock */
        struct waiter   *waiter;
};

static struct {
        struct lock      lock;          /* class files */
        uint32_t         n_in;          /* l */
        struct list_node waits;         /* l  struct file_wait */
        bool             begun;         /* l  in this run */
        struct run_end   at_end;
} files = { .lock = W_LOCK_INIT(files) };

/* When the last thread of the run is gone. */
static void forget_all(void)
{
        files.begun = false;
}

static void begin_locked(void)
{
        if (W_LIKELY(files.begun))
                return;
        files.begun = true;
        files.n_in = 0;
        w_list_init(&files.waits);
        files.at_end.free = forget_all;
        w_run_at_end(&files.at_end);
}

static void unlock_files(void *arg)
{
        (void)arg;
        w_unlock(&files.lock);
}

bool w_file_slots_counts(void)
{
        struct m *mp = w_m();

        return mp && mp->curg && mp->n_regions == 0;
}

/* With the lock, which the commit releases. */
static int wait_turn(struct wait *w)
{
        struct file_wait fw = { .waiter = &w->waiter };

        w_list_init(&fw.link);
        w_list_push_back(&files.waits, &fw.link);
        uint32_t verdict = w_wait_park(w, W_WAIT_IO, unlock_files, NULL);

        W_WINDOW("files-woken");
        if (verdict >= W_VERDICT_OTHER)
                return 0;
        w_lock(&files.lock);
        w_list_unlink(&fw.link);
        w_unlock(&files.lock);
        return w_wait_error(w, verdict);
}

static bool take_entry_locked(void)
{
        begin_locked();
        if (files.n_in >= (uint32_t)w_sched.config.file_threads)
                return false;
        files.n_in++;
        return true;
}

int w_file_slots_enter(void)
{
        struct wait w;
        int         rc = 0;

        w_lock(&files.lock);
        bool has_place = take_entry_locked();

        w_unlock(&files.lock);
        if (has_place)
                return 0;
        w_wait_begin(&w, W_FOREVER, W_CANCELLABLE);
        w_lock(&files.lock);
        if (take_entry_locked())
                w_unlock(&files.lock);
        else
                rc = wait_turn(&w);
        w_wait_end(&w);
        return rc;
}

void w_file_slots_leave(void)
{
        struct waiter *next = NULL;

        w_lock(&files.lock);
        for (struct list_node *n; !next && (n = w_list_pop_front(&files.waits));) {
                struct waiter *w = W_CONTAINER_OF(n, struct file_wait, link)->waiter;

                if (w_wake_claim(w, W_VERDICT_OTHER) == W_CLAIM_WON)
                        next = w;
        }
        if (!next)
                files.n_in--;
        w_unlock(&files.lock);
        if (next)
                w_wake_up(next);
}
