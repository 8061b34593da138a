/* tests/sim/scenario_store_buffering.c - what store buffers may do, and what forbids it.
 *
 * store_buffering   each side stores its own word and loads the other's. With a full fence between,
 *                   at least one of them must see the other's store.
 * message           data, then a flag: the reader that sees the flag must see the data.
 * membarrier        the light side pays a compiler fence only, the heavy side a membarrier; where
 *                   there is none the light side pays the fence.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/scenario.h"

enum { N_ROUNDS = 100 };

struct round {
        w_atomic_u32 a, b;
        uint32_t     saw_a, saw_b;
};

static struct round rounds[N_ROUNDS];
static bool         fenced, light_pays, heavy_calls;

static void begin(void)
{
        for (int i = 0; i < N_ROUNDS; i++)
                rounds[i] = (struct round){ .saw_a = 0 };
}

/* ---- Store buffering ------------------------------------------------------------------------ */

static void left(struct round *r)
{
        w_store_rel(&r->a, 1);
        if (fenced)
                w_fence_full();
        r->saw_b = w_load_acq(&r->b);
}

static void right(void *arg)
{
        (void)arg;
        for (struct round *r = rounds; r < rounds + N_ROUNDS; r++) {
                w_store_rel(&r->b, 1);
                if (fenced)
                        w_fence_full();
                r->saw_a = w_load_acq(&r->a);
        }
}

static void play_store_buffering(bool with_fence)
{
        struct worker other;

        begin();
        fenced = with_fence;
        worker_start(&other, "right", right, NULL);
        for (struct round *r = rounds; r < rounds + N_ROUNDS; r++)
                left(r);
        worker_join(&other);
        for (int i = 0; i < N_ROUNDS; i++)
                SIM_CHECK(rounds[i].saw_a || rounds[i].saw_b, "round %d: neither saw the other", i);
}

static void store_buffering_main(void)
{
        play_store_buffering(true);
}

SIM_SCENARIO(store_buffering, "store, full fence, load the other's: one sees it",
             store_buffering_main, SIM_USUAL)

static void store_buffering_no_fence_main(void)
{
        play_store_buffering(false);
}

SIM_MUTANT(store_buffering_no_fence, "release and acquire in place of the fences",
           store_buffering_no_fence_main, SIM_USUAL)

/* ---- Message passing ------------------------------------------------------------------------ */

static void send_released(void *arg)
{
        (void)arg;
        for (struct round *r = rounds; r < rounds + N_ROUNDS; r++) {
                w_store_rlx(&r->a, 1);          /* guarded by b */
                w_store_rel(&r->b, 1);
        }
}

static void send_relaxed(void *arg)
{
        (void)arg;
        for (struct round *r = rounds; r < rounds + N_ROUNDS; r++) {
                w_store_rlx(&r->a, 1);          /* guarded by nothing: broken */
                w_store_rlx(&r->b, 1);
        }
}

static void play_message(void (*send)(void *))
{
        struct worker sender;

        begin();
        worker_start(&sender, "sender", send, NULL);
        for (struct round *r = rounds; r < rounds + N_ROUNDS; r++)
                if (w_load_acq(&r->b))
                        SIM_CHECK(w_load_rlx(&r->a), "the flag came before the data");
        worker_join(&sender);
}

static void message_main(void)
{
        play_message(send_released);
}

SIM_SCENARIO(message, "data, then a flag stored with release", message_main, SIM_USUAL)

static void message_relaxed_main(void)
{
        play_message(send_relaxed);
}

SIM_MUTANT(message_relaxed, "data, then a flag stored relaxed", message_relaxed_main, SIM_USUAL)

/* ---- Membarrier ----------------------------------------------------------------------------- */

static void light(void *arg)
{
        (void)arg;
        for (struct round *r = rounds; r < rounds + N_ROUNDS; r++) {
                w_store_rlx(&r->b, 1);          /* guarded by the heavy side's barrier */
                if (light_pays)
                        w_fence_full();
                else
                        w_fence_compiler();
                r->saw_a = w_load_acq(&r->a);
        }
}

static void heavy(struct round *r)
{
        w_store_rlx(&r->a, 1);                  /* guarded by the barrier */
        if (heavy_calls) {
                int rc = w_os_membarrier();

                SIM_CHECK(rc == 0, "membarrier says %d", rc);
        } else {
                w_fence_full();
        }
        r->saw_b = w_load_acq(&r->b);
}

static void play_membarrier(bool light_has_fence, bool heavy_has_barrier)
{
        struct worker other;

        begin();
        light_pays = light_has_fence;
        heavy_calls = heavy_has_barrier;
        worker_start(&other, "light", light, NULL);
        for (struct round *r = rounds; r < rounds + N_ROUNDS; r++)
                heavy(r);
        worker_join(&other);
        for (int i = 0; i < N_ROUNDS; i++)
                SIM_CHECK(rounds[i].saw_a || rounds[i].saw_b, "round %d: neither saw the other", i);
}

static void membarrier_main(void)
{
        bool there = w_os_membarrier_init() == 0;

        play_membarrier(!there, there);
}

SIM_SCENARIO(membarrier, "an asymmetric handshake: the heavy side's barrier serves both",
             membarrier_main, .calls_fail = true)

static void membarrier_missing_main(void)
{
        play_membarrier(false, false);
}

SIM_MUTANT(membarrier_missing, "the heavy side has only its own fence", membarrier_missing_main,
           SIM_USUAL)
