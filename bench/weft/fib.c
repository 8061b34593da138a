/* bench/weft/fib.c - fib, one goroutine per call, no cut-off.
 *
 * A call is on the stack of its goroutine, and its children write their results there: the call
 * does not end before its children have ended. There are two orders: the usual order, in which a
 * child waits in the queue, and child first, in which a child runs at once.
 *
 * SPDX-License-Identifier: MIT
 */
#include "bench.h"
#include "latch.h"

#include <weft.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

struct call {
        int64_t       n, value;
        struct latch *parent;           /* counted down at the end; BENCH_WAIT_PARK only */
};

/* Set once, before the first call. */
static bool child_first, wait_by_join;

static int64_t spawn(void (*fn)(void *), struct call *child)
{
        static const weft_attr first = { .flags = WEFT_CHILD_FIRST };

        return bench_must("weft_go", child_first ? weft_go_with(&first, fn, child)
                                                 : weft_go(fn, child));
}

static void fib_join(void *arg)
{
        struct call *c = arg;

        if (c->n < 2) {
                c->value = c->n;
                return;
        }
        struct call a = { .n = c->n - 1 }, b = { .n = c->n - 2 };
        int64_t     first = spawn(fib_join, &a), second = spawn(fib_join, &b);

        bench_must("weft_join", weft_join(first));
        bench_must("weft_join", weft_join(second));
        c->value = a.value + b.value;
}

static void fib_park(void *arg)
{
        struct call *c = arg;

        if (c->n < 2) {
                c->value = c->n;
        } else {
                struct latch latch;
                struct call  a = { c->n - 1, 0, &latch }, b = { c->n - 2, 0, &latch };

                latch_init(&latch, weft_id(), 2);
                spawn(fib_park, &a);
                spawn(fib_park, &b);
                latch_wait(&latch);
                c->value = a.value + b.value;
        }
        latch_done(c->parent);
}

static int64_t fib_of(int64_t n)
{
        struct latch latch;
        struct call  root = { n, 0, &latch };

        if (wait_by_join) {
                bench_must("weft_join", weft_join(spawn(fib_join, &root)));
        } else {
                latch_init(&latch, weft_id(), 1);
                spawn(fib_park, &root);
                latch_wait(&latch);
        }
        return root.value;
}

static void run(const struct bench_options *options, struct bench_result *result)
{
        int64_t a = 0, b = 1;

        for (int64_t i = 0; i < options->n; i++) {
                int64_t sum = a + b;

                a = b;
                b = sum;
        }
        wait_by_join = options->wait == BENCH_WAIT_JOIN;
        int64_t start = bench_now_ns();
        int64_t got = fib_of(options->n);
        double  took = (double)(bench_now_ns() - start), goroutines = (double)(2 * b - 1);

        if (got != a) {
                fprintf(stderr, "weft-bench: fib(%" PRId64 ") gave %" PRId64 ", not %" PRId64 "\n",
                        options->n, got, a);
                _Exit(1);
        }
        result->value = took / 1e6;
        result->wait = wait_by_join ? "join" : "park";
        bench_extra(result, "goroutines", goroutines);
        bench_extra(result, "ns_each", took / goroutines);
}

void bench_fib(const struct bench_options *options, struct bench_result *result)
{
        child_first = false;
        run(options, result);
}

void bench_fib_child_first(const struct bench_options *options, struct bench_result *result)
{
        child_first = true;
        run(options, result);
}
