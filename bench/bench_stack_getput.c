/* bench/bench_stack_getput.c - the cost of bind and unbind with a stack cache, one thread.
 *
 * Prints one JSON line per shape with the median, least and greatest ns per pair over the
 * repetitions:
 *
 *   bind             bind + unbind of one default stack, always the same slot
 *   bind_depth24     24 binds, then 24 unbinds: uses most of the cache
 *   reserve_bind     reserve + bind + unbind + unreserve, as a spawn and an exit do
 *   central          bind + unbind without a cache: takes the pool's lock twice
 *
 * Not measured: page faults, guards (made in the warm-up), contention, touching the stack.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/os.h"
#include "stack/stack.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { REPETITIONS = 15, PAIRS = 2000000, DEPTH = 24 };

static struct stack_pool  pool;
static struct stack_cache cache;
static char               owner;

static void run_bind(uint32_t n_pairs)
{
        for (uint32_t i = 0; i < n_pairs; i++)
                w_stack_unbind(&pool, &cache, w_stack_bind(&pool, &cache, W_STACK_DEFAULT, &owner));
}

static void run_bind_depth(uint32_t n_pairs)
{
        struct stack *held[DEPTH];

        for (uint32_t i = 0; i < n_pairs / DEPTH; i++) {
                for (uint32_t k = 0; k < DEPTH; k++)
                        held[k] = w_stack_bind(&pool, &cache, W_STACK_DEFAULT, &owner);
                for (uint32_t k = DEPTH; k-- > 0;)
                        w_stack_unbind(&pool, &cache, held[k]);
        }
}

static void run_reserve_bind(uint32_t n_pairs)
{
        for (uint32_t i = 0; i < n_pairs; i++) {
                if (w_stack_reserve(&pool, &cache, W_STACK_DEFAULT) != 0)
                        abort();
                w_stack_unbind(&pool, &cache, w_stack_bind(&pool, &cache, W_STACK_DEFAULT, &owner));
                w_stack_unreserve(&pool, &cache, W_STACK_DEFAULT);
        }
}

static void run_central(uint32_t n_pairs)
{
        for (uint32_t i = 0; i < n_pairs; i++)
                w_stack_unbind(&pool, NULL, w_stack_bind(&pool, NULL, W_STACK_DEFAULT, &owner));
}

static int by_value(const void *a, const void *b)
{
        double x = *(const double *)a, y = *(const double *)b;

        return (x > y) - (x < y);
}

static void measure(const char *name, void (*run)(uint32_t n_pairs))
{
        double ns[REPETITIONS];

        run(PAIRS / 10);
        for (int i = 0; i < REPETITIONS; i++) {
                int64_t start = w_os_now();

                run(PAIRS);
                ns[i] = (double)(w_os_now() - start) / PAIRS;
        }
        qsort(ns, REPETITIONS, sizeof(ns[0]), by_value);
        printf("{\"name\":\"stack_getput_%s\",\"params\":{\"pairs\":%d,\"repetitions\":%d},"
               "\"unit\":\"ns/pair\",\"median\":%.2f,\"min\":%.2f,\"max\":%.2f}\n",
               name, PAIRS, REPETITIONS, ns[REPETITIONS / 2], ns[0], ns[REPETITIONS - 1]);
}

int main(void)
{
        if (w_stack_pool_init(&pool, NULL) != 0 ||
            w_stack_cache_init(&cache, &pool, W_STACK_DEFAULT) != 0 ||
            w_stack_reserve_many(&pool, W_STACK_DEFAULT, DEPTH) != 0)
                return 1;
        measure("bind", run_bind);
        measure("bind_depth24", run_bind_depth);
        measure("reserve_bind", run_reserve_bind);
        measure("central", run_central);
        w_stack_unreserve_many(&pool, W_STACK_DEFAULT, DEPTH);
        w_stack_cache_release(&cache);
        w_stack_pool_destroy(&pool, W_STACK_ALL_UNBOUND);
        return 0;
}
