/* tests/explore/take.c - PROTOCOL take and where: at any moment one thread owns the P.
 *
 * The P's data is a word of ordinary memory: two threads that use it without order are found as a
 * data race. The explorer has no membarrier, so every entry passes a fence (FENCED); the simulator
 * covers entries without a fence.
 *
 * SPDX-License-Identifier: MIT
 */
#include "goroutines.h"
#include "scenarios.h"

#include "sched/preempt/take.h"
#include "sched/sched.h"

static struct m m;
static struct p p;
static int      of_the_p, n_used, n_taken, n_returned;

static void setup(void)
{
        goroutines_reset();
        w_lock_init(&w_sched.take_lock, W_LOCK_take);
        w_sched.retake_base = W_RETAKE_FENCED;
        w_sched.n_lost = 0;
        m.where.raw = 0;
        m.retake.raw = W_RETAKE_FENCED;
        m.p = &p;
        m.lost_p = NULL;
        p.m.raw = &m;
        p.status.raw = P_RUNNING;
        p.asked = p.taken_from = NULL;
        of_the_p = n_used = n_taken = n_returned = 0;
}

static void use_p(void)
{
        w_plain_store(&of_the_p, w_plain_load(&of_the_p) + 1);
        n_used++;
}

static int result(void)
{
        EXPLORE_CHECK(of_the_p == n_used);
        EXPLORE_CHECK(!p.asked && w_sched.n_lost == (m.lost_p != NULL));
        EXPLORE_CHECK(n_taken - n_returned == (m.lost_p != NULL));
        EXPLORE_CHECK(m.lost_p || (m.p == &p && p.m.raw == &m));
        return n_taken + 4 * n_returned;
}

/* ---- The M ----------------------------------------------------------------------------------- */

static void enter_and_leave(void)
{
        uint32_t before = w_enter_on(&m);

        if (w_p())
                use_p();
        w_leave(before);
}

/* A nested call does not make the outer call count as user code. */
static void enter_nested(void)
{
        uint32_t before = w_enter_on(&m);

        enter_and_leave();
        if (w_p())
                use_p();
        w_leave(before);
}

static void once(void)
{
        w_self_set(&m.thread);
        enter_and_leave();
}

static void nested(void)
{
        w_self_set(&m.thread);
        enter_nested();
}

static void twice(void)
{
        once();
        enter_and_leave();
}

/* ---- The requester --------------------------------------------------------------------------- */

static bool take(void)
{
        w_lock(&w_sched.lock);
        bool asked = w_take_ask_locked(&p);

        w_unlock(&w_sched.lock);
        w_take_barrier();
        w_lock(&w_sched.lock);
        bool taken = asked && w_take_finish_locked(&p, W_ANYWHERE);

        if (taken) {
                EXPLORE_CHECK(w_load_rlx(&p.m) == NULL);          /* own word */
                use_p();
                n_taken++;
        }
        w_unlock(&w_sched.lock);
        return taken;
}

static void request(void)
{
        foreign_begin();
        w_take_begin();
        (void)take();
        w_take_end();
}

/* As a stopper that stops the world and starts it again. */
static void borrow(void)
{
        w_take_begin();
        if (take()) {
                w_lock(&w_sched.lock);
                use_p();
                n_returned += w_give_back_locked(&p);
                w_unlock(&w_sched.lock);
        }
        w_take_end();
}

static void request_and_return(void)
{
        foreign_begin();
        borrow();
}

static void return_and_request(void)
{
        foreign_begin();
        borrow();
        w_take_begin();
        (void)take();
        w_take_end();
}

const struct explore_scenario take_scenarios[] = {
        { "take", "an M enters while another thread requests its P",
          { { "M", once }, { "requester", request } }, setup, result,
          .allowed = SEEN(0) | SEEN(1), .required = SEEN(0) | SEEN(1), .bound = 4 },
        { "take-twice", "it leaves and enters again meanwhile",
          { { "M", twice }, { "requester", request } }, setup, result,
          .allowed = SEEN(0) | SEEN(1), .required = SEEN(0) | SEEN(1), .bound = 4 },
        { "take-nested", "one call is made within another",
          { { "M", nested }, { "requester", request } }, setup, result,
          .allowed = SEEN(0) | SEEN(1), .required = SEEN(0) | SEEN(1), .bound = 4 },
        { "take-back", "the P is given back to an M that has not entered since",
          { { "M", once }, { "requester", request_and_return } }, setup, result,
          .allowed = SEEN(0) | SEEN(1) | SEEN(5), .required = SEEN(0) | SEEN(1) | SEEN(5),
          .bound = 4 },
        { "take-again", "and requested again at once",
          { { "M", twice }, { "requester", return_and_request } }, setup, result,
          .allowed = SEEN(0) | SEEN(1) | SEEN(5) | SEEN(6),
          .required = SEEN(0) | SEEN(1) | SEEN(5) | SEEN(6), .bound = 2 },
        { .name = NULL },
};
