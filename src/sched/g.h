/* sched/g.h - struct g: a goroutine, its states, and the owner of each field.
 *
 * The record is two cache lines and lives in memory that is never given back while the run lasts
 * (base/records.h). Fields that are rarely read, struct g_cold, stand at the top of the stack, so
 * a goroutine that has not run yet costs this record only.
 *
 *      spawn              execute            park commit
 *   DEAD ----> RUNNABLE -----------> RUNNING ----------> WAITING
 *    ^  ^         ^ ^                 |  |                  |
 *    |  IDLE      | +--- yield -------+  |                  |
 *    |            +----------- ready ----|------------------+
 *    +---------------- exit -------------+
 *
 *   IDLE     -> DEAD      allocator          g.c        when the record is first made
 *   DEAD     -> RUNNABLE  spawner            spawn.c    not yet visible to other threads
 *   RUNNABLE -> RUNNING   M that dequeued    switch.c   now owns the stack
 *   RUNNING  -> RUNNABLE  itself, by commit  switch.c   yield
 *   RUNNING  -> WAITING   itself, by commit  switch.c   recorded in the object it waits for
 *   RUNNING  -> DEAD      itself, by commit  exit.c
 *   RUNNING <-> REGION    itself             blocking.c
 *   RUNNING <-> PREEMPTED itself             preempt_handler.c     in a signal handler
 *   WAITING  -> RUNNABLE  its only waker     ready.c    any other state there is fatal
 *                                            lockthread.c  if it is locked to its thread
 *
 * Exactly one party may make each move, so a move is a plain store. Debug builds check each move
 * against the table in gstate.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_G_H
#define W_SCHED_G_H

#include "arch/fiber.h"
#include "base/atomic.h"
#include "base/assert.h"
#include "base/list.h"
#include "stack/stack.h"

enum g_state {
        G_IDLE,
        G_DEAD,
        G_RUNNABLE,
        G_RUNNING,
        G_WAITING,
        G_REGION,               /* runs, in a blocking region: bound to its thread */
        G_PREEMPTED,            /* computes; its thread is stopped: preempt/preempt.c */
        G_N_STATES,
        /* WAITING, and locked to a thread; w_g_state returns G_WAITING. The waker finds a value
         * that is not the usual one and takes the slow path (lockthread.c). */
        G_WAITING_LOCKED = G_WAITING | 128,
};

/* Why a goroutine waits. Each kind of park has its own; dumps and statistics show it. */
enum wait_reason {
        W_WAIT_NONE,
        W_WAIT_PARK,
        W_WAIT_JOIN,
        W_WAIT_CHAN_RECV,
        W_WAIT_CHAN_SEND,
        W_WAIT_SELECT,
        W_WAIT_SLEEP,
        W_WAIT_MUTEX,
        W_WAIT_RWMUTEX,
        W_WAIT_COND,
        W_WAIT_SEM,
        W_WAIT_GROUP,
        W_WAIT_ONCE,
        W_WAIT_SCOPE_CLOSE,
        W_WAIT_IO,
        W_N_WAIT_REASONS
};

struct g;
struct m;
struct p;
struct id_page;
struct value;
struct scope;

enum {
        W_NAME_BYTES = 32,      /* with the terminator */
        W_REASON_BITS = 7,
        W_REASON_MASK = (1 << W_REASON_BITS) - 1,
        W_STACK_KIB_BITS = 21,  /* W_STACK_MAX in KiB, and the next larger */
        W_STACK_KIB_MASK = (1 << W_STACK_KIB_BITS) - 1,
};

/* A plain goroutine's function, or one that runs in a scope and returns a result. */
union g_fn {
        void (*plain)(void *);
        int  (*in_scope)(void *);
};

/* What the first run needs. Before it there is no stack, so this stands where the context is kept
 * later. */
struct g_start {
        union g_fn fn;
        void   *arg;
        void   *created_at;     /* return address of the spawn */
        int64_t parent;
};

/* A scope begins with this: what the end of one of its goroutines means to it. Only scope/tree.h
 * knows the rest of a scope. */
struct scope_head {
        /* The goroutine's function returned a result other than 0. Context: the goroutine. */
        void (*failed)(struct scope *s, int result);
        /* The goroutine has ended. Context: the commit of its exit. The scope may vanish here. */
        void (*left)(struct scope *s);
};

/* Key: o the goroutine itself or, while it does not run, its holder (queue, waker)
 *      a atomic, edge named   i immutable during one life   w the world is stopped */
struct g {
        union {
                struct fiber   fiber;   /* o  once it has a stack */
                struct g_start start;   /* o  before */
        };
        int64_t           id;           /* i  never reused; 0: a dead record */
        struct queue_node link;         /* o  in the queue where it stands */
        struct stack     *stack;        /* o  NULL before the first run */
        struct id_page   *id_page;      /* i  see ids.h */
        struct scope     *scope;        /* o  innermost open scope; see scope/tree.h */
        w_atomic_uptr     token;        /* a  [UP1] see wait/park.c */
        w_atomic_u32      state;        /* a  [GS1] enum g_state */
        int               saved_errno;  /* o  while it does not run */
        uint32_t          ready_at;     /* o  in units of W_READY_UNIT; 0: not timed, see p.h */
        uint32_t          stack_kib : W_STACK_KIB_BITS; /* i  requested size, for reports */
        uint32_t          reason : W_REASON_BITS;       /* o  enum wait_reason while WAITING */
        uint32_t          n_queued : 2; /* w  how often weft_check found it in a queue */
        uint32_t          nopreempt : 1;        /* o  it keeps its P: nopreempt.c */
        uint32_t          locked : 1;   /* o  to a thread, see struct g_cold */
};

#if !defined(W_ASAN) && !defined(W_TSAN) && !defined(W_VALGRIND)
_Static_assert(sizeof(struct g) <= 2 * W_CACHELINE, "a parked goroutine's record: two lines");
#endif

/* What a call in progress needs done if the goroutine ends inside it by weft_exit. Stands in the
 * frame of that call. */
struct unwind {
        struct unwind *outer;
        void         (*fn)(struct unwind *u);   /* does not wait */
};

/* At the top of the bound stack. */
struct g_cold {
        _Alignas(16) union g_fn fn;     /* frames begin right below */
        void   *arg;
        void   *created_at;
        int64_t parent;
        int64_t since;          /* when it began to wait */
        struct unwind *unwind;  /* innermost; NULL: none */
        struct scope *home;     /* the scope that it was started in; NULL: none */
        char    name[W_NAME_BYTES];
        size_t  extra;          /* bytes in use below this, before the first frame */
        struct value *locals;   /* local.c; NULL: none was ever set */
        uint32_t n_locals;
        uint32_t n_shields;     /* depth of weft_shield_begin: outer scopes are hidden */
        uint32_t n_nopreempt;   /* depth of weft_nopreempt_begin */
        uint32_t n_thread_locks;        /* if g.locked: depth of weft_thread_lock */
        struct m *locked_m;     /* if g.locked: the only M that may run it */
};

W_INLINE struct g_cold *w_cold_at(const struct stack *stack)
{
        return (struct g_cold *)(void *)(stack->top - sizeof(struct g_cold));
}

/* NULL before the first run. Context: the goroutine, or the world stopped. */
W_INLINE struct g_cold *w_g_cold(const struct g *gp)
{
        return gp->stack ? w_cold_at(gp->stack) : NULL;
}

/* Of an empty name only the first byte is written. */
W_INLINE void w_cold_fill(struct g_cold *cold, const struct g_start *start)
{
        cold->fn = start->fn;
        cold->arg = start->arg;
        cold->created_at = start->created_at;
        cold->parent = start->parent;
        cold->since = 0;
        cold->name[0] = '\0';
        cold->extra = 0;
        cold->locals = NULL;
        cold->n_shields = 0;
        cold->n_nopreempt = 0;
        cold->unwind = NULL;
}

W_INLINE bool w_g_is_alive(enum g_state state)
{
        return state >= G_RUNNABLE;
}

/* ---- gstate.c -------------------------------------------------------------------------------- */

const char *w_g_state_name(uint32_t state);
const char *w_wait_reason_name(uint32_t reason);

/* gp, in a blocking region, made a call that would wait. Fatal. */
W_NORETURN void w_g_refuse_wait(const struct g *gp, const char *what);
W_NORETURN void w_g_refuse_move(const struct g *gp, enum g_state from, enum g_state to);
bool w_g_may_move(enum g_state from, enum g_state to);
enum g_state w_g_state(const struct g *gp);

/* Moves gp. The caller is the only party that may; another state than `from` is corruption. Inline,
 * because every switch makes this move and a call would cost as much as the move. */
W_INLINE void w_g_move(struct g *gp, enum g_state from, enum g_state to)
{
        W_ASSERT(w_g_may_move(from, to));
        if (W_UNLIKELY(w_load_rlx(&gp->state) != (uint32_t)from))       /* own word: one mover */
                w_g_refuse_move(gp, from, to);
        if (to == G_RUNNABLE)
                w_san_hand_over(gp);
        w_store_rel(&gp->state, (uint32_t)to);                    /* [GS1] */
}

/* The same where gp may be in another state. False: it was, and nothing changed. */
W_MUST_CHECK W_INLINE bool w_g_try_move(struct g *gp, enum g_state from, enum g_state to)
{
        W_ASSERT(w_g_may_move(from, to));
        if (W_UNLIKELY(w_load_rlx(&gp->state) != (uint32_t)from))       /* own word: one mover */
                return false;
        if (to == G_RUNNABLE)
                w_san_hand_over(gp);
        w_store_rel(&gp->state, (uint32_t)to);                    /* [GS1] */
        return true;
}

/* ---- g.c: records ---------------------------------------------------------------------------- */

/* The slow paths of w_g_get and w_g_put (sched/p.h): pp is NULL, its cache is empty, or full. */
W_MUST_CHECK struct g *w_g_get_slow(struct p *pp);
void w_g_put_slow(struct p *pp, struct g *gp);

/* Gives all cached records of pp to the central list, when the P is removed. */
void w_g_cache_drain(struct p *pp);

void w_g_each(bool (*visit)(void *gp, void *arg), void *arg);

/* Binds the reserved stack and builds the first frame, below room for `extra` bytes. Returns where
 * that room is. Context: the caller owns gp; with or without a P. */
void *w_g_bind(struct p *pp, struct g *gp, size_t extra);

W_INLINE size_t w_g_stack_size(const struct g *gp)
{
        return (size_t)gp->stack_kib << 10;
}

/* True: gp is in a blocking region. Context: gp. */
W_INLINE bool w_g_in_region(const struct g *gp)
{
        return w_load_rlx(&gp->state) == G_REGION;                /* own word */
}

/* How many goroutines are alive: PROTOCOL live (sched/g.c). */
int64_t w_g_count_alive(void);
/* Goroutine 1 ended by weft_exit: the run ends with the last goroutine. */
void w_g_main_exited(void);
/* For an M that released its P: ends the run if goroutine 1 exited and no goroutine is alive. */
void w_g_check_last(void);

/* For the stack pool's reports. */
void w_g_describe(void *owner, struct stack_owner *out);

void w_g_init(void);
void w_g_destroy(void);

#endif
