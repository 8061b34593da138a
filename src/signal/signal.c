/* signal/signal.c - signals arrive in channels.
 *
 * Protocols   owns signal; cites sysmon (sched/monitor/sysmon.c), note (base/note.c), chan
 *             (chan/chan.c).
 *
 * No user code runs in a handler. The handler sets a bit and pokes the monitor, which sends the
 * number to every channel that asked for it. A second signal of the same number that arrives before
 * the monitor has taken the first is merged with it, as in the kernel.
 *
 * PROTOCOL signal
 *
 * Goal      Every channel that asked for a signal is sent its number at least once after the last
 *           arrival, if it has room. Nothing is sent to a channel that is gone. The program's own
 *           disposition is restored once no channel wants the signal.
 * Parties   handler (any thread, at any point); monitor; listener (makes, closes or drops a
 *           channel); the end of the run.
 * Words     pending   numbers that have arrived
 *           heard     numbers that channels want
 *           dumps     numbers that print the goroutines
 *           listeners, n_channels[]   under `lock`
 * Handler
 *   1. If the number is neither in heard nor in dumps: pass the signal on, done.
 *   2. pending |= its bit.
 *   3. Poke the monitor [NT2].
 *   4. If the number is in dumps only, pass the signal on too.
 * Monitor
 *   1. Take its note [NT2].
 *   2. bits := pending, pending := 0.
 *   3. Lock; send to each listener those of the bits that it wants, and gather the receivers that
 *      this wakes; unlock.
 *   4. Wake the gathered receivers.
 * Listener
 *   begin   Lock. For each number that was not wanted before: heard |= bit, then install the
 *           handler. Enter listeners; unlock.
 *   end     (called by its channel) Lock; leave listeners. For each number that is not wanted any
 *           more: restore the disposition, then heard &= ~bit. Unlock.
 * End       (the phase is ENDING already) Lock; do the listener's end for every channel; unlock. A
 *           later listener reads the phase under the lock and does not begin.
 * Why no signal is lost   NT2: a take that finds a poke sees the bit; a poke after the take ends
 *           the monitor's next sleep. A bit that is set while the monitor is at step 2 or later has
 *           a poke of its own, or a poke that has not been taken yet.
 * Why nothing is sent to a channel that is gone   The party that drops a channel's last reference
 *           ends the listener before the record is freed. The end takes the lock under which step 3
 *           sends, and step 3 sends only to channels with a listener in the list.
 * Context of the handler   It takes no lock and allocates nothing; the note is static.
 * Rejected  A thread for signals (the monitor sleeps on a note anyway, so no further thread is
 *           needed); signalfd and sigwait (every thread of the program would have to block the
 *           signal); counting arrivals (the kernel does not count either).
 * Tests     flow/signal/test_signal.c, sim scenarios signal_*, mutants signal-*.
 *
 * SPDX-License-Identifier: MIT
 */
#include "signal/signal.h"

#include "base/assert.h"
#include "base/records.h"
#include "base/window.h"
#include "chan/chan.h"
#include "sched/monitor/deadlock.h"
#include "sched/sched.h"
#include "sched/monitor/sysmon.h"

#include "sched/inspect/dump.h"
#include "sched/preempt/preempt.h"
#include "sched/ready.h"
#include "sched/run/foreign.h"
#include "sched/run/run.h"
#include "weft.h"

#include <errno.h>      /* ENOMEM */

enum { N_SIGNALS = 64, CAPACITY = 16 };

/* Key: l lock   i immutable */
struct listener {
        struct queue_node  free_link;   /* the pool's; must be first, see base/records.h */
        struct chan_feeder feeder;      /* i */
        struct chan       *chan;        /* i  no reference */
        uint64_t           set;         /* l  0: not in the list */
        struct list_node   link;        /* l  in listeners */
};

static struct {
        struct lock      lock;          /* class signals */
        bool             ready;         /* l  in this run */
        struct records   records;       /* l  struct listener */
        struct list_node listeners;     /* l */
        uint32_t         n_channels[N_SIGNALS]; /* l  that want each number */
        w_atomic_u32     n_listeners;   /* l  read by any thread as a hint */
        w_atomic_u64     heard, dumps;  /* stored under the lock, read by handlers */
        w_atomic_u64     pending;       /* a  [NT2] */
        struct run_end   at_end;
} signals = { .lock = W_LOCK_INIT(signals) };

/* ---- The handler ----------------------------------------------------------------------------- */

/* True: pass the signal on. A signal that only prints the goroutines is passed on too. */
static bool on_arrival(int sig)
{
        uint64_t bit = W_SIG_BIT(sig);
        bool     heard = w_load_rlx(&signals.heard) & bit;        /* guarded: set before it came */

        if (heard || (w_load_rlx(&signals.dumps) & bit)) {        /* guarded: the same */
                w_or_rlx(&signals.pending, bit);                  /* guarded by NT2 */
                W_WINDOW("signal-before-poke");
                w_sysmon_poke();
        }
        return !heard;
}

/* ---- Wanted signals -------------------------------------------------------------------------- */

static bool is_wanted_locked(int sig)
{
        return signals.n_channels[sig - 1] ||
               (w_load_rlx(&signals.dumps) & W_SIG_BIT(sig));     /* guarded by the lock */
}

static void unwant_locked(int sig)
{
        W_ASSERT(signals.n_channels[sig - 1] > 0);
        if (--signals.n_channels[sig - 1] > 0)
                return;
        if (!is_wanted_locked(sig))
                w_os_signal_release(sig);
        w_and_rlx(&signals.heard, ~W_SIG_BIT(sig));               /* guarded by the lock */
}

static int want_locked(int sig)
{
        int rc = 0;

        w_or_rlx(&signals.heard, W_SIG_BIT(sig));                 /* guarded by the lock */
        if (!is_wanted_locked(sig))
                rc = w_os_signal_catch(sig, on_arrival);
        if (rc == 0)
                signals.n_channels[sig - 1]++;
        else
                w_and_rlx(&signals.heard, ~W_SIG_BIT(sig));       /* guarded by the lock */
        return rc;
}

/* Takes the lowest number out of the set. */
static int next_of(uint64_t *set)
{
        int sig = __builtin_ctzll(*set) + 1;

        *set &= *set - 1;
        return sig;
}

static void unwant_all_locked(uint64_t set)
{
        while (set)
                unwant_locked(next_of(&set));
}

/* False: a signal of the set cannot be caught, and nothing has changed. */
static bool want_all_locked(uint64_t set)
{
        uint64_t done = 0;

        for (uint64_t rest = set; rest;) {
                int sig = next_of(&rest);

                if (want_locked(sig) < 0) {
                        unwant_all_locked(done);
                        return false;
                }
                done |= W_SIG_BIT(sig);
        }
        return true;
}

/* ---- Listeners ------------------------------------------------------------------------------- */

/* Called when the last thread of the run is gone. */
static void free_all(void)
{
        w_records_destroy(&signals.records);
        signals.ready = false;
}

static void set_up_locked(void)
{
        w_records_init(&signals.records, sizeof(struct listener));
        w_list_init(&signals.listeners);
        signals.at_end.free = free_all;
        w_run_at_end(&signals.at_end);
        signals.ready = true;
}

static void forget_locked(struct listener *l)
{
        if (!l->set)
                return;
        w_list_unlink(&l->link);
        w_sub_rlx(&signals.n_listeners, 1);                       /* guarded by the lock */
        unwant_all_locked(l->set);
        l->set = 0;
}

/* Called by the channel, which is closed or about to be freed. */
static void stop(struct chan_feeder *feeder)
{
        struct listener *l = W_CONTAINER_OF(feeder, struct listener, feeder);

        w_lock(&signals.lock);
        forget_locked(l);
        w_records_put(&signals.records, l);
        w_unlock(&signals.lock);
}

static struct listener *new_listener(struct chan *c)
{
        w_lock(&signals.lock);
        if (!signals.ready)
                set_up_locked();
        struct listener *l = w_records_get(&signals.records);

        w_unlock(&signals.lock);
        if (!l)
                return NULL;
        l->feeder.stop = stop;
        l->chan = c;
        l->set = 0;
        w_list_init(&l->link);
        return l;
}

/* Signals that have arrived before belong to the older listeners only. */
static bool begin(struct listener *l, uint64_t set)
{
        w_lock(&signals.lock);
        bool on = w_load_rlx(&w_run_phase) == RUN_ON;             /* guarded by the lock */

        on = on && want_all_locked(set);
        if (on) {
                l->set = set;
                w_list_push_back(&signals.listeners, &l->link);
                w_add_rlx(&signals.n_listeners, 1);               /* guarded by the lock */
        }
        w_unlock(&signals.lock);
        return on;
}

/* The channel knows its listener before the listener is in the list. */
static struct chan *new_channel(uint64_t set)
{
        struct chan     *c = w_chan_new(sizeof(int), CAPACITY);
        struct listener *l = c ? new_listener(c) : NULL;

        if (l)
                w_chan_feed(c, &l->feeder);
        if (l && begin(l, set))
                return c;
        if (c)
                w_chan_unref(c);
        return NULL;
}

uint32_t w_signal_waits(void)
{
        return w_load_rlx(&signals.n_listeners);                  /* hint */
}

/* ---- Delivery -------------------------------------------------------------------------------- */

/* Drops what does not fit, and what comes after the close. */
static void send_all(struct chan *c, uint64_t bits, struct queue *woken)
{
        while (bits) {
                int sig = next_of(&bits);
                int dropped = w_chan_try_send_gather(c, &sig, woken);

                (void)dropped;
        }
}

/* Sends under the lock. The party that drops a channel's last reference must wait for the lock, and
 * the old disposition is restored when the close or the drop returns. */
static void send_to_all(uint64_t bits)
{
        struct queue woken = { 0 };

        w_lock(&signals.lock);
        if (signals.ready)
                W_LIST_EACH(n, &signals.listeners) {
                        struct listener *l = W_CONTAINER_OF(n, struct listener, link);

                        send_all(l->chan, bits & l->set, &woken);
                }
        w_unlock(&signals.lock);
        W_WINDOW("signal-before-ready");
        w_ready_many(&woken);
}

/* The dump does not show this goroutine. */
static void dump(void *arg)
{
        (void)arg;
        w_dump_hidden(2);
}

void w_signals_deliver(void)
{
        if (!w_load_rlx(&signals.pending))                        /* guarded by NT2 */
                return;
        uint64_t bits = w_xchg_rlx(&signals.pending, 0);          /* guarded by NT2 */

        send_to_all(bits);
        bits &= w_load_rlx(&signals.dumps) & ~w_load_rlx(&signals.heard);         /* hint */
        if (bits && weft_go(dump, NULL) == -ENOMEM)
                w_say("no memory to show the goroutines");
}

/* ---- The run --------------------------------------------------------------------------------- */

/* A goroutine that waits for a signal is not deadlocked. */
static bool may_come(void)
{
        return w_signal_waits() != 0;
}

static struct wake_source outside = { .may_wake = may_come };

/* Catches SIGQUIT if possible. A run without it works too: it is only an aid. */
void w_signals_run_begin(void)
{
        w_deadlock_except(&outside);
        w_store_rlx(&signals.pending, 0);                         /* own word: nothing is caught */
        if (w_sched.in_background || !w_sched.config.dump || w_os_signal_is_ignored(W_SIG_QUIT))
                return;
        w_lock(&signals.lock);
        w_store_rlx(&signals.dumps, W_SIG_BIT(W_SIG_QUIT));       /* guarded by the lock */
        if (w_os_signal_catch(W_SIG_QUIT, on_arrival) < 0)
                w_store_rlx(&signals.dumps, 0);                   /* guarded by the lock */
        w_unlock(&signals.lock);
}

static void stop_dumps_locked(void)
{
        if (!w_load_rlx(&signals.dumps))                          /* guarded by the lock */
                return;
        w_os_signal_release(W_SIG_QUIT);
        w_store_rlx(&signals.dumps, 0);                           /* guarded by the lock */
}

void w_signals_run_ending(void)
{
        w_lock(&signals.lock);
        if (signals.ready)
                W_LIST_EACH(n, &signals.listeners)
                        forget_locked(W_CONTAINER_OF(n, struct listener, link));
        stop_dumps_locked();
        w_unlock(&signals.lock);
}

/* ---- Public ---------------------------------------------------------------------------------- */

W_EXPORT weft_chan *weft_signal(const sigset_t *set)
{
        if (!set || !w_foreign_enter())
                return NULL;
        W_ENTER();
        uint64_t     refused = w_os_signals_reserved() | W_SIG_BIT(w_preempt_signal());
        uint64_t     bits = w_os_signals_of(set);
        struct chan *c = bits && !(bits & refused) ? new_channel(bits) : NULL;

        W_LEAVE();
        w_foreign_exit();
        return (weft_chan *)(void *)c;
}
