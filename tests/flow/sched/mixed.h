/* tests/flow/sched/mixed.h - what the parts of test_mixed.c share: the world of a run, and small
 * parts.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_FLOW_MIXED_H
#define TESTS_FLOW_MIXED_H

#include "lib/sched.h"

#include "base/rand.h"

#include <errno.h>

enum {
        MIX_WORKERS = 1000,
        MIX_PIPES   = 4,
        MIX_PERMITS = 3,
        MIX_ONCES   = 32,
};

struct worker {
        uint64_t     rand;
        w_atomic_u64 id;                /* others send it tokens */
};

/* One run. What is not atomic belongs to the lock above it. */
struct mix {
        struct worker workers[MIX_WORKERS];
        uint32_t      n_workers;
        weft_chan    *pipes[MIX_PIPES], *never;
        w_atomic_u64  n_sent, sum_sent, n_received, sum_received;
        weft_mutex    mutex;
        uint64_t      n_under_mutex;
        weft_rwmutex  rwmutex;
        uint64_t      left, right;      /* equal whenever it is not held for writing */
        weft_mutex    store_mutex;
        weft_cond     store_cond;
        uint64_t      n_in_store, n_put, n_taken;
        weft_sem      sem;
        weft_once     onces[MIX_ONCES];
        uint32_t      n_onces_ran[MIX_ONCES];
        w_atomic_u64  n_locked, n_written, n_inside;
        w_atomic_u64  n_due, n_fired;           /* timers */
        w_atomic_u64  n_started, n_ended;       /* children */
        w_atomic_u64  n_in_time, n_late;        /* calls that had a deadline */
};
extern struct mix mix;

/* Each is one action of a worker; it leaves nothing except what the counts say. */
void mix_send(struct worker *w);
void mix_receive(struct worker *w);
void mix_try(struct worker *w);
void mix_select(struct worker *w);
void mix_stream(struct worker *w);
void mix_mutex(struct worker *w);
void mix_write(struct worker *w);
void mix_read(struct worker *w);
void mix_put(struct worker *w);
void mix_take(struct worker *w);
void mix_sem(struct worker *w);
void mix_once(struct worker *w);
void mix_family(struct worker *w);
void mix_park(struct worker *w);
void mix_sleep(struct worker *w);
void mix_timer(struct worker *w);
void mix_tick(struct worker *w);
void mix_scope(struct worker *w);

uint32_t mix_below(struct worker *w, uint32_t n);

weft_chan *mix_any_pipe(struct worker *w);

/* Mostly nothing; sometimes others come in between. */
void mix_pause(struct worker *w);

/* What the worker does up to mix_no_more ends soon, or very soon. */
void mix_soon(struct worker *w, weft_scope *s);

void mix_no_more(weft_scope *s);

/* For the result of a call that had a deadline. */
bool mix_in_time(int rc);

void mix_sent(uint64_t value);

void mix_received(uint64_t value);

int64_t mix_started(int64_t id);

void mix_ended(void);

/* For weft_once_do, with time enough for others to come. */
void mix_run_once(void *n_ran);

#endif
