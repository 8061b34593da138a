/* wait/wait.c - the sleep of a waiting call, its deadline and its scope.
 *
 * Protocols   cites wake (wait/wake.c), scope-tree (scope/tree.c), timers (sched/timer/timers.c),
 *             park (sched/switch.c).
 *
 * SPDX-License-Identifier: MIT
 */
#include "wait/wait.h"

#include "base/assert.h"
#include "base/window.h"
#include "sched/preempt/take.h"
#include "sched/run/run.h"
#include "sched/switch.h"
#include "scope/tree.h"

#include <errno.h>      /* -Exxx */

/* The waits of foreign threads. The end of the run finds them here. */
static struct {
        struct lock      lock;          /* class foreign */
        struct list_node waiting;       /* under lock: struct wait */
} foreign_waits = { W_LOCK_INIT(foreign), { &foreign_waits.waiting, &foreign_waits.waiting } };

int w_call_check_slow(void)
{
        w_give_turn();
        return w_wait_scope_done();
}

int w_wait_scope_done(void)
{
        struct scope *s = w_scope_current(w_g());

        return W_LIKELY(!s) ? 0 : w_scope_done(s);
}

/* ---- Deadlines ------------------------------------------------------------------------------- */

/* Runs under the lock of the heap. */
static struct g *claim_by_timer(struct timer *t)
{
        struct waiter *w = &W_CONTAINER_OF(t, struct wait, timer)->waiter;

        return w_wake_claim(w, W_VERDICT_TIMEOUT) == W_CLAIM_WON ? w->gp : NULL;
}

static void arm(struct wait *w)
{
        w->timer = (struct timer){ .claim = claim_by_timer };
        w->timed = true;
        if (w_timer_reserve() < 0 || !w_timer_arm(&w->timer, w->deadline)) {
                w->timed = false;
                (void)w_wake(&w->waiter, W_VERDICT_TIMEOUT);      /* early rather than never */
        }
}

/* ---- Begin and end --------------------------------------------------------------------------- */

/* A wait that the end of the run does not end may stay sole: only the object itself ends it. */
static void begin_foreign(struct wait *w, enum wait_kind kind)
{
        w->waiter.note = (struct note)W_NOTE_INIT;
        if (kind == W_WITHOUT_RUN && w->waiter.sole)
                return;
        w->waiter.sole = false;
        w->listed = true;
        w_list_init(&w->foreign);
        w_lock(&foreign_waits.lock);
        w_list_push_back(&foreign_waits.waiting, &w->foreign);
        if (!w_run_is_on())
                (void)w_wake_claim(&w->waiter, W_VERDICT_SHUTDOWN);
        w_unlock(&foreign_waits.lock);
}

void w_wait_begin(struct wait *w, int64_t deadline, enum wait_kind kind)
{
        struct g     *gp = w_g();
        struct scope *s = kind == W_CANCELLABLE ? w_scope_current(gp) : NULL;

        w->scope = s;
        w->timed = false;
        w->listed = false;
        w->deadline = deadline;
        w->scope_first = false;
        w->waiter.gp = gp;
        w->waiter.sole = !s && deadline == W_FOREVER;
        w->waiter.word.raw = W_VERDICT_ARMING;                    /* unpublished */
        if (W_UNLIKELY(!gp))
                begin_foreign(w, kind);
        if (W_LIKELY(w->waiter.sole))
                return;
        if (s) {
                w->scope_first = s->least_deadline <= deadline;
                w->deadline = w->scope_first ? s->least_deadline : deadline;
                w_scope_enlist(s, w);
        }
        if (w->deadline != W_FOREVER && gp)
                arm(w);
}

void w_wait_end(struct wait *w)
{
        if (W_UNLIKELY(w->listed)) {
                w_lock(&foreign_waits.lock);
                w_list_unlink(&w->foreign);
                w_unlock(&foreign_waits.lock);
        }
        if (w->scope)
                w_scope_unlist(w->scope, w);
        if (w->timed)
                (void)w_timer_disarm(&w->timer);
}

/* ---- The sleep ------------------------------------------------------------------------------- */

/* Once the word is PARKED, w may be claimed. The frame of w stays in place until `unlock` has
 * released the lock, because the waiter takes that lock again: see PROTOCOL wake. */
static bool commit_wait(struct g *gp, void *arg)
{
        struct wait *w = arg;
        uint32_t     arming = W_VERDICT_ARMING;
        void       (*unlock)(void *) = w->unlock;
        void        *unlock_arg = w->unlock_arg;

        (void)gp;
        bool parked = w->waiter.sole ||
                      w_cas_rel(&w->waiter.word, &arming, W_VERDICT_PARKED);    /* [WK2] */

        W_WINDOW("wake-before-park");
        unlock(unlock_arg);
        return parked;
}

/* A foreign thread sleeps on its note. Its deadline needs no timer: the thread claims its own
 * wait. */
static void sleep_foreign(struct wait *w, void (*unlock)(void *), void *arg)
{
        uint32_t arming = W_VERDICT_ARMING;
        bool     parked = w_cas_rel(&w->waiter.word, &arming, W_VERDICT_PARKED);  /* [WK2] */

        unlock(arg);
        if (!parked || w_note_sleep_until(&w->waiter.note, w->deadline))
                return;
        if (w_wake_claim(&w->waiter, W_VERDICT_TIMEOUT) == W_CLAIM_LOST)
                w_note_sleep(&w->waiter.note);
}

uint32_t w_wait_park(struct wait *w, enum wait_reason reason, void (*unlock)(void *arg), void *arg)
{
        w->unlock = unlock;
        w->unlock_arg = arg;
        if (W_LIKELY(w->waiter.gp != NULL))
                w_park(reason, commit_wait, w);
        else
                sleep_foreign(w, unlock, arg);
        return w_load_acq(&w->waiter.word);                       /* [WK1] */
}

/* The verdict need not name the event that came first. The timer may have won the wake word
 * although a cancellation came just before, or may have lost it to a later cancellation. The scope
 * knows the order. */
static int scope_error(struct scope *s, int otherwise)
{
        int rc = w_scope_done(s);

        return rc < 0 ? rc : otherwise;         /* 0: the timer found no memory */
}

static bool commit_plain(struct g *gp, void *lock)
{
        (void)gp;
        w_unlock_quick((struct lock *)lock);
        return true;
}

void w_wait_park_plain(enum wait_reason reason, struct lock *lock)
{
        w_park(reason, commit_plain, lock);
}

int w_wait_error(const struct wait *w, uint32_t verdict)
{
        switch (verdict) {
        case W_VERDICT_TIMEOUT:
                return w->scope && w->scope_first ? scope_error(w->scope, -ETIMEDOUT) : -ETIME;
        case W_VERDICT_CANCELED:
                return scope_error(w->scope, -ECANCELED);
        default:
                W_CHECK(verdict == W_VERDICT_SHUTDOWN, "a wait ended with verdict %u", verdict);
                return -ESHUTDOWN;
        }
}

void w_wait_shut_down(void)
{
        w_lock(&foreign_waits.lock);
        W_LIST_EACH(n, &foreign_waits.waiting)
                (void)w_wake(&W_CONTAINER_OF(n, struct wait, foreign)->waiter, W_VERDICT_SHUTDOWN);
        w_unlock(&foreign_waits.lock);
}
