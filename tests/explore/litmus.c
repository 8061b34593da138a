/* tests/explore/litmus.c - the classic litmus tests: does the engine see every outcome that C11
 * allows, and none that it forbids? Each scenario names both.
 *
 * SPDX-License-Identifier: MIT
 */
#include "scenarios.h"

#include "base/atomic.h"

static w_atomic_u32 x, y;
static int          r1, r2, r3, r4;

static void zero(void)
{
        x.raw = y.raw = 0;
        r1 = r2 = r3 = r4 = 0;
}

/* Outcome of two reads of 0 or 1: r1 r2 as a binary number. */
static int two_bits(void)
{
        return r1 * 2 + r2;
}

/* ---- Message passing: r1 r2 = 1 0 says that the message was seen and the data was not -------- */

static void mp_send_rlx(void)   { w_store_rlx(&x, 1); w_store_rlx(&y, 1); }
static void mp_send_rel(void)   { w_store_rlx(&x, 1); w_store_rel(&y, 1); }
static void mp_send_fence(void) { w_store_rlx(&x, 1); w_fence_full(); w_store_rlx(&y, 1); }
static void mp_recv_rlx(void)   { r1 = (int)w_load_rlx(&y); r2 = (int)w_load_rlx(&x); }
static void mp_recv_acq(void)   { r1 = (int)w_load_acq(&y); r2 = (int)w_load_rlx(&x); }
static void mp_recv_fence(void)
{
        r1 = (int)w_load_rlx(&y);
        w_fence_full();
        r2 = (int)w_load_rlx(&x);
}

/* ---- Store buffering: r1 r2 = 0 0 says that both read before either wrote -------------------- */

static void sb_left(void)        { w_store_rlx(&x, 1); r1 = (int)w_load_rlx(&y); }
static void sb_right(void)       { w_store_rlx(&y, 1); r2 = (int)w_load_rlx(&x); }
static void sb_left_ra(void)     { w_store_rel(&x, 1); r1 = (int)w_load_acq(&y); }
static void sb_right_ra(void)    { w_store_rel(&y, 1); r2 = (int)w_load_acq(&x); }
static void sb_left_fence(void)
{
        w_store_rlx(&x, 1);
        w_fence_full();
        r1 = (int)w_load_rlx(&y);
}
static void sb_right_fence(void)
{
        w_store_rlx(&y, 1);
        w_fence_full();
        r2 = (int)w_load_rlx(&x);
}

/* ---- Load buffering: not modelled, and tested here so that the contract stays true ----------- */

static void lb_left(void)  { r1 = (int)w_load_rlx(&x); w_store_rlx(&y, 1); }
static void lb_right(void) { r2 = (int)w_load_rlx(&y); w_store_rlx(&x, 1); }

/* ---- Coherence: two reads of one location never go backwards --------------------------------- */

static void co_write(void) { w_store_rlx(&x, 1); w_store_rlx(&x, 2); }
static void co_read(void)  { r1 = (int)w_load_rlx(&x); r2 = (int)w_load_rlx(&x); }
static int  co_outcome(void) { return r1 * 3 + r2; }

/* A failing CAS is a load: it may see any of the values. */
static void co_cas(void)
{
        uint32_t seen = 7;

        (void)w_cas_rlx(&x, &seen, 9);
        r2 = (int)seen;
}

/* ---- Independent reads of independent writes: do two readers disagree about the order? ------- */

static void iriw_x(void) { w_store_rel(&x, 1); }
static void iriw_y(void) { w_store_rel(&y, 1); }
static void iriw_xy(void)       { r1 = (int)w_load_acq(&x); r2 = (int)w_load_acq(&y); }
static void iriw_yx(void)       { r3 = (int)w_load_acq(&y); r4 = (int)w_load_acq(&x); }
static void iriw_xy_fence(void)
{
        r1 = (int)w_load_acq(&x);
        w_fence_full();
        r2 = (int)w_load_acq(&y);
}
static void iriw_yx_fence(void)
{
        r3 = (int)w_load_acq(&y);
        w_fence_full();
        r4 = (int)w_load_acq(&x);
}
static int iriw_outcome(void) { return r1 * 8 + r2 * 4 + r3 * 2 + r4; }

/* ---- Read-modify-write is atomic; load and store are not ------------------------------------- */

static void rmw_add(void) { (void)w_add_rlx(&x, 1); (void)w_add_rlx(&x, 1); }
static void rmw_cas(void)
{
        uint32_t seen = w_load_rlx(&x);

        while (!w_cas_rlx(&x, &seen, seen + 1))
                ;
}
static void rmw_torn(void) { w_store_rlx(&x, w_load_rlx(&x) + 1); }
static int  rmw_outcome(void) { return (int)x.raw; }

const struct explore_scenario litmus_scenarios[] = {
        { "litmus-mp-relaxed", "message passing, relaxed: the data may be missed",
          { { "send", mp_send_rlx }, { "recv", mp_recv_rlx } }, zero, two_bits,
          .required = SEEN(0) | SEEN(1) | SEEN(2) | SEEN(3) },
        { "litmus-mp-release", "message passing, release and acquire: never missed",
          { { "send", mp_send_rel }, { "recv", mp_recv_acq } }, zero, two_bits,
          .allowed = SEEN(0) | SEEN(1) | SEEN(3), .required = SEEN(0) | SEEN(1) | SEEN(3) },
        { "litmus-mp-half", "message passing, release but no acquire: may be missed",
          { { "send", mp_send_rel }, { "recv", mp_recv_rlx } }, zero, two_bits,
          .required = SEEN(0) | SEEN(1) | SEEN(2) | SEEN(3) },
        { "litmus-mp-other-half", "message passing, acquire but no release: may be missed",
          { { "send", mp_send_rlx }, { "recv", mp_recv_acq } }, zero, two_bits,
          .required = SEEN(0) | SEEN(1) | SEEN(2) | SEEN(3) },
        { "litmus-mp-fences", "message passing by two full fences: never missed",
          { { "send", mp_send_fence }, { "recv", mp_recv_fence } }, zero, two_bits,
          .allowed = SEEN(0) | SEEN(1) | SEEN(3), .required = SEEN(0) | SEEN(1) | SEEN(3) },
        { "litmus-mp-fence-acquire", "message passing, fence before and acquire: never missed",
          { { "send", mp_send_fence }, { "recv", mp_recv_acq } }, zero, two_bits,
          .allowed = SEEN(0) | SEEN(1) | SEEN(3), .required = SEEN(3) },

        { "litmus-sb-relaxed", "store buffering, relaxed: both may read 0",
          { { "left", sb_left }, { "right", sb_right } }, zero, two_bits,
          .required = SEEN(0) | SEEN(1) | SEEN(2) | SEEN(3) },
        { "litmus-sb-release", "store buffering, release and acquire do not help",
          { { "left", sb_left_ra }, { "right", sb_right_ra } }, zero, two_bits,
          .required = SEEN(0) | SEEN(1) | SEEN(2) | SEEN(3) },
        { "litmus-sb-fences", "store buffering, two full fences: one of them sees the other",
          { { "left", sb_left_fence }, { "right", sb_right_fence } }, zero, two_bits,
          .allowed = SEEN(1) | SEEN(2) | SEEN(3), .required = SEEN(1) | SEEN(2) | SEEN(3) },
        { "litmus-sb-one-fence", "store buffering, one fence is not enough",
          { { "left", sb_left_fence }, { "right", sb_right } }, zero, two_bits,
          .required = SEEN(0) | SEEN(1) | SEEN(2) | SEEN(3) },

        { "litmus-lb", "load buffering: C11 allows 1 1, the explorer does not model it",
          { { "left", lb_left }, { "right", lb_right } }, zero, two_bits,
          .allowed = SEEN(0) | SEEN(1) | SEEN(2), .required = SEEN(0) | SEEN(1) | SEEN(2) },

        { "litmus-coherence", "two reads of one location do not go backwards",
          { { "write", co_write }, { "read", co_read } }, zero, co_outcome,
          .allowed = SEEN(0) | SEEN(1) | SEEN(2) | SEEN(4) | SEEN(5) | SEEN(8),
          .required = SEEN(0) | SEEN(1) | SEEN(2) | SEEN(4) | SEEN(5) | SEEN(8) },
        { "litmus-cas-reads-old", "a CAS that fails may have read an older value",
          { { "write", co_write }, { "cas", co_cas } }, zero, co_outcome,
          .allowed = SEEN(0) | SEEN(1) | SEEN(2), .required = SEEN(0) | SEEN(1) | SEEN(2) },

        { "litmus-iriw", "two readers may disagree about the order of two writes",
          { { "x", iriw_x }, { "y", iriw_y }, { "xy", iriw_xy }, { "yx", iriw_yx } }, zero,
          iriw_outcome, .required = SEEN(10) | SEEN(15) | SEEN(0) },
        { "litmus-iriw-fences", "with full fences they agree",
          { { "x", iriw_x }, { "y", iriw_y }, { "xy", iriw_xy_fence }, { "yx", iriw_yx_fence } },
          zero, iriw_outcome, .allowed = 0xffff & ~SEEN(10),
          .required = SEEN(15) | SEEN(0) | SEEN(11) | SEEN(14) },

        { "litmus-rmw-add", "additions by two threads all count",
          { { "one", rmw_add }, { "two", rmw_add } }, zero, rmw_outcome, .allowed = SEEN(4),
          .required = SEEN(4) },
        { "litmus-rmw-cas", "CAS loops by three threads all count",
          { { "one", rmw_cas }, { "two", rmw_cas }, { "three", rmw_cas } }, zero, rmw_outcome,
          .allowed = SEEN(3), .required = SEEN(3) },
        { "litmus-rmw-torn", "load, add, store by two threads loses one",
          { { "one", rmw_torn }, { "two", rmw_torn } }, zero, rmw_outcome,
          .allowed = SEEN(1) | SEEN(2), .required = SEEN(1) | SEEN(2) },
        { .name = NULL },
};
