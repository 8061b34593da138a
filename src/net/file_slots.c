/* net/file_slots.c - a limit on the goroutines that use files at the same time.
 *
 * Protocols   owns file-slots; cites wake (wait/wake.c).
 *
 * The poller cannot wait for a regular file, so a goroutine that uses a file blocks a thread.
 * Thousands of such goroutines would be thousands of threads. Hence there are slots, file_threads
 * of them (weft_config), and a wait queue.
 *
 * PROTOCOL file-slots
 *
 * Goal      At most file_threads goroutines have a slot. The longest wait is served first. No slot
 *           is lost if a scope ends the wait of a waiter.
 * Parties   goroutines that enter and leave; scopes and timers, which end waits.
 * Words     under the lock: n_in, the slots in use; waits (FIFO), empty unless all are in use.
 * Enter
 *   1. Lock. If a slot is free: n_in + 1; unlock; done.
 *   2. Else enter waits and park; the commit unlocks.
 *   3. If a goroutine that left woke it, it has the slot of that goroutine.
 *      Else lock, leave waits, unlock.
 * Leave
 *   1. Lock. Take the first waiter out of waits and claim it. If the claim is lost, take the next.
 *   2. If a waiter was claimed, n_in stays: the slot is handed over. Unlock; wake the waiter.
 *      If there is no waiter: n_in - 1; unlock.
 * Why no slot is lost   The claim decides whether the waiter has the slot or another verdict.
 * End of the run   Goroutines may be left in waits, and threads in files. Neither returns, so the
 *           next run begins with all slots free.
 * Rejected  A slot for foreign threads, and for goroutines in a blocking region of their own: they
 *           block no further thread, and must not wait there.
 * Tests     flow/net/test_files.c, sim scenarios files_*, mutants files-*.
 *
 * SPDX-License-Identifier: MIT
 */
#include "net/file_slots.h"

#include "base/window.h"
#include "sched/run/run.h"
#include "sched/sched.h"
#include "wait/wait.h"

/* In the waiter's frame. */
struct file_wait {
        struct list_node link;          /* under the lock */
        struct waiter   *waiter;
};

static struct {
        struct lock      lock;          /* class files */
        uint32_t         n_in;          /* l */
        struct list_node waits;         /* l  struct file_wait */
        bool             begun;         /* l  initialised in this run */
        struct run_end   at_end;
} files = { .lock = W_LOCK_INIT(files) };

/* Called when the last thread of the run is gone. */
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

/* Called with the lock, which the commit releases. */
static int wait_for_slot(struct wait *w)
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

static bool take_slot_locked(void)
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
        bool has_slot = take_slot_locked();

        w_unlock(&files.lock);
        if (has_slot)
                return 0;
        w_wait_begin(&w, W_FOREVER, W_CANCELLABLE);
        w_lock(&files.lock);
        if (take_slot_locked())
                w_unlock(&files.lock);
        else
                rc = wait_for_slot(&w);
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
