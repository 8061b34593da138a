/* sched/m.c - records of Ms: made, begun on their thread, ended.
 *
 * See PROTOCOL threads (sched/thread/thread.c).
 *
 * A goroutine that calls pthread_exit ends the thread below it, together with its P. A program that
 * cancels the thread that called weft_run does the same; the threads that weft starts cannot be
 * cancelled. Nothing can be repaired then, so the process ends with a message. A thread that its
 * run has abandoned may end: no other thread waits for it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/m.h"

#include "base/assert.h"
#include "base/fatal.h"
#include "base/records.h"
#include "sched/monitor/activity.h"
#include "sched/run/abandon.h"
#include "sched/sched.h"

#include <string.h>

/* ---- Records --------------------------------------------------------------------------------- */

struct m *w_m_new_locked(void)
{
        struct m *mp = w_records_get(&w_sched.threads.records);

        if (!mp)
                return NULL;
        memset(&mp->thread, 0, sizeof(mp->thread));
        memset(&mp->curg, 0, sizeof(*mp) - offsetof(struct m, curg));
        /* In the runtime from the start: a thread that has not begun yet is not in user code. The
         * epoch and nopreempt_no are not reset: the monitor may still know the thread that had the
         * record before. */
        uint32_t no = w_load_rlx(&mp->where) & ~(uint32_t)(W_WHERE_EPOCH - 1);     /* guarded */

        w_store_rlx(&mp->where, no | W_IN_RUNTIME);               /* guarded by the lock */
        w_store_rlx(&mp->retake, w_sched.retake_base);                /* guarded by the lock */
        w_store_rlx(&mp->tid, 0);                                 /* guarded by the lock */
        w_store_rlx(&mp->usage_fd, 0);                              /* guarded by the lock */
        w_store_rlx(&mp->nopreempt_id, 0);                        /* guarded by the lock */
        w_store_rlx(&mp->grant, W_GRANT_NONE);                    /* guarded by the lock */
        w_store_rlx(&mp->preempt_wanted, 0);                         /* guarded by the lock */
        mp->thread.id = w_sched.threads.next_id++;
        w_list_init(&mp->idle_link);
        w_list_init(&mp->all_link);
        w_list_init(&mp->preempt_link);
        w_list_push_back(&w_sched.all_m, &mp->all_link);
        return mp;
}

struct m *w_m_adopt(void)
{
        w_lock(&w_sched.lock);
        struct m *mp = w_m_new_locked();

        if (mp)
                w_sched.n_m++;
        w_unlock(&w_sched.lock);
        return mp;
}

void w_m_dedicate_locked(struct m *mp, bool dedicated)
{
        W_ASSERT(w_lock_held(W_LOCK_sched));
        if (!mp->lost_p)
                w_sched.n_dedicated += (uint32_t)dedicated - mp->dedicated;
        mp->dedicated = dedicated;
}

/* ---- A thread that ends otherwise than by w_m_end -------------------------------------------- */

/* libc has left the frames of g0 unseen by the sanitizer. */
static void clear_below(char *frame)
{
        enum { ROOM = 32 * 1024 };

        w_san_stack_recycle(frame - ROOM, ROOM);
}

/* Runs on the thread's own stack when it ends; the goroutine's frames may be gone. */
static W_NO_SANITIZE void ended(void *arg)
{
        struct m *mp = arg;
        struct g *gp = mp->curg;

        clear_below(__builtin_frame_address(0));
        if (w_m_is_abandoned(mp))
                return;                 /* its run is over, and its goroutine with it */
        const char *name = gp && gp->stack ? w_g_cold(gp)->name : "";

        if (!gp)
                w_fatal("thread weft-M%u was ended by other code", mp->thread.id);
        if (name[0])
                w_fatal("goroutine %ld \"%s\" called pthread_exit", (long)gp->id, name);
        w_fatal("goroutine %ld called pthread_exit", (long)gp->id);
}

static void end_watch(struct m *mp)
{
        w_os_thread_end_watch(ended, mp);
}

static void end_unwatch(void)
{
        w_os_thread_end_watch(NULL, NULL);
}

/* ---- Begin and end on its thread ------------------------------------------------------------- */

/* Identity first, then a stack for signals, then the signals themselves. */
int w_m_begin(struct m *mp)
{
        w_self_set(&mp->thread);
        mp->errno_at = w_os_errno();
        w_store_rlx(&mp->tid, (uint32_t)w_os_tid());              /* own word */
        w_fiber_adopt(&mp->g0);
        int rc = w_os_altstack_install(&mp->altstack);

        if (rc < 0)
                w_self_set(NULL);
        else
                end_watch(mp);
        return rc;
}

void w_m_end(struct m *mp)
{
        W_ASSERT(!mp->p && !mp->curg && !mp->spinning);
        w_activity_end(mp);
        w_os_cpu_timer_delete(&mp->timer);
        end_unwatch();
        w_os_altstack_remove(&mp->altstack);
        w_self_set(NULL);
}
