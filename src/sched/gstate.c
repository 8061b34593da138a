/* sched/gstate.c - the states of a goroutine: names, the table of legal moves, the move itself.
 *
 * Edges     [GS1] what the mover wrote   move: state store-release -> reader: state load-acquire
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/assert.h"
#include "sched/g.h"

#define TO(state) (1u << (state))

static const uint8_t may_become[G_N_STATES] = {
        [G_IDLE] = TO(G_DEAD),
        [G_DEAD] = TO(G_RUNNABLE),
        [G_RUNNABLE] = TO(G_RUNNING),
        [G_RUNNING] = TO(G_RUNNABLE) | TO(G_WAITING) | TO(G_DEAD) | TO(G_REGION) |
                      TO(G_PREEMPTED),
        [G_WAITING] = TO(G_RUNNABLE),
        [G_REGION] = TO(G_RUNNING),
        [G_PREEMPTED] = TO(G_RUNNING),
};

static const char *const state_names[G_N_STATES] = {
        [G_IDLE] = "idle",       [G_DEAD] = "dead",       [G_RUNNABLE] = "runnable",
        [G_RUNNING] = "running", [G_WAITING] = "waiting",  [G_REGION] = "blocking region",
        [G_PREEMPTED] = "preempted",
};

static const char *const reason_names[W_N_WAIT_REASONS] = {
        [W_WAIT_NONE] = "none",
        [W_WAIT_PARK] = "park",
        [W_WAIT_JOIN] = "join",
        [W_WAIT_CHAN_RECV] = "chan receive",
        [W_WAIT_CHAN_SEND] = "chan send",
        [W_WAIT_SELECT] = "select",
        [W_WAIT_SLEEP] = "sleep",
        [W_WAIT_MUTEX] = "mutex",
        [W_WAIT_RWMUTEX] = "rwmutex",
        [W_WAIT_COND] = "cond",
        [W_WAIT_SEM] = "semaphore",
        [W_WAIT_GROUP] = "wait group",
        [W_WAIT_ONCE] = "once",
        [W_WAIT_SCOPE_CLOSE] = "scope close",
        [W_WAIT_IO] = "IO wait",
};

static uint32_t plain(uint32_t state)
{
        return state == G_WAITING_LOCKED ? G_WAITING : state;
}

const char *w_g_state_name(uint32_t state)
{
        state = plain(state);
        return state < G_N_STATES ? state_names[state] : "garbage";
}

const char *w_wait_reason_name(uint32_t reason)
{
        return reason < W_N_WAIT_REASONS ? reason_names[reason] : "garbage";
}

enum g_state w_g_state(const struct g *gp)
{
        return (enum g_state)plain(w_load_acq(&gp->state));       /* [GS1] */
}

bool w_g_may_move(enum g_state from, enum g_state to)
{
        return may_become[plain(from)] & TO(plain(to));
}

void w_g_refuse_wait(const struct g *gp, const char *what)
{
        const struct g_cold *cold = w_g_cold(gp);

        if (cold && cold->name[0])
                w_fatal("goroutine %ld \"%s\" waits inside a blocking region: %s", (long)gp->id,
                        cold->name, what);
        w_fatal("goroutine %ld waits inside a blocking region: %s", (long)gp->id, what);
}

void w_g_refuse_move(const struct g *gp, enum g_state from, enum g_state to)
{
        if (w_g_state(gp) == G_REGION && to == G_WAITING)
                w_g_refuse_wait(gp, w_wait_reason_name(gp->reason));
        w_fatal("bad goroutine state: goroutine %ld is %s, expected %s -> %s", (long)gp->id,
                w_g_state_name(w_g_state(gp)), w_g_state_name(from), w_g_state_name(to));
}
