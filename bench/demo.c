/* bench/demo.c - `make demo`: what the ground carries on this machine, in figures.
 *
 * Reserves a million stacks, runs a function on 200,000 of them that stops half-way and is come
 * back to, and says what that cost. Ends with 1 if any of it went wrong.
 *
 * SPDX-License-Identifier: MIT
 */
#include "arch/fiber.h"
#include "os/os.h"
#include "stack/stack.h"

#include "weft.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { N_RESERVED = 1000000, N_RUNNING = 200000, N_SWITCHES = 10000000 };

struct walker {
        struct fiber  fiber;
        struct stack *stack;
        int           steps;
};

static struct fiber    home;
static struct walker  *walkers;
static struct stack_pool pool;

static void walk(void *arg)
{
        struct walker *w = arg;

        w_fiber_begin(&w->fiber);
        for (;;) {
                w->steps++;
                w_fiber_switch(&w->fiber, &home);
        }
}

static double seconds_since(int64_t start)
{
        return (double)(w_os_now() - start) / 1e9;
}

static long count_mappings(void)
{
        FILE *maps = fopen("/proc/self/maps", "r");
        long  n = 0;

        if (!maps)
                return -1;
        for (int c; (c = fgetc(maps)) != EOF;)
                n += c == '\n';
        fclose(maps);
        return n;
}

static long field_kib(const char *name)
{
        FILE *status = fopen("/proc/self/status", "r");
        char  line[256];
        long  value = -1;

        if (!status)
                return -1;
        while (fgets(line, sizeof(line), status))
                if (sscanf(line, name, &value) == 1)
                        break;
        fclose(status);
        return value;
}

static void die(const char *what, int rc)
{
        fprintf(stderr, "demo: %s failed with error %d\n", what, -rc);
        exit(1);
}

static void reserve(void)
{
        int64_t start = w_os_now();
        int     rc = w_stack_reserve_many(&pool, W_STACK_DEFAULT, N_RESERVED);

        if (rc < 0)
                die("reserving a million stacks", rc);
        printf("%10d stacks of 64 KiB reserved in %.1f ms, %ld mappings in the process\n",
               N_RESERVED, seconds_since(start) * 1e3, count_mappings());
}

static void start_all(void)
{
        long    rss = field_kib("VmRSS: %ld"), tables = field_kib("VmPTE: %ld");
        int64_t start = w_os_now();

        for (int i = 0; i < N_RUNNING; i++) {
                struct walker *w = &walkers[i];

                w->stack = w_stack_bind(&pool, NULL, W_STACK_DEFAULT, w);
                w_fiber_make(&w->fiber, w->stack->low, (size_t)(w->stack->end - w->stack->low),
                             w->stack->top, walk, w);
                w_fiber_switch(&home, &w->fiber);
        }
        double took = seconds_since(start);
        double each = (double)(field_kib("VmRSS: %ld") - rss) * 1024 / N_RUNNING;
        double table = (double)(field_kib("VmPTE: %ld") - tables) * 1024 / N_RUNNING;

        printf("%10d of them bound, guarded and run to their first stop in %.2f s: %.0f ns each\n",
               N_RUNNING, took, took * 1e9 / N_RUNNING);
        printf("           %.0f bytes of memory each, and %.0f of page tables; %ld mappings\n",
               each, table, count_mappings());
}

static void visit_all(void)
{
        int64_t start = w_os_now();

        for (int i = 0; i < N_SWITCHES / 2; i++)
                w_fiber_switch(&home, &walkers[i % 64].fiber);
        printf("%10d switches among 64 of them: %.1f ns each\n", N_SWITCHES,
               seconds_since(start) * 1e9 / N_SWITCHES);
        for (int i = 0; i < N_RUNNING; i++)
                w_fiber_switch(&home, &walkers[i].fiber);
}

static int check_all(void)
{
        int64_t steps = 0;

        for (int i = 0; i < N_RUNNING; i++)
                steps += walkers[i].steps;
        int64_t expected = (int64_t)2 * N_RUNNING + N_SWITCHES / 2;

        printf("%10" PRId64 " steps were taken, %s\n", steps,
               steps == expected ? "none lost" : "WHICH IS WRONG");
        return steps == expected ? 0 : 1;
}

static void release_all(void)
{
        for (int i = 0; i < N_RUNNING; i++) {
                w_fiber_destroy(&walkers[i].fiber);
                w_stack_unbind(&pool, NULL, walkers[i].stack);
        }
        w_stack_unreserve_many(&pool, W_STACK_DEFAULT, N_RESERVED);
        w_stack_pool_destroy(&pool, W_STACK_ALL_UNBOUND);
}

int main(void)
{
        struct stack_config config = { 0 };
        int                 rc = w_stack_pool_init(&pool, &config);

        if (rc < 0)
                die("making the pool of stacks", rc);
        walkers = calloc(N_RUNNING, sizeof(*walkers));
        if (!walkers)
                die("allocating the walkers", -ENOMEM);
        setvbuf(stdout, NULL, _IOLBF, 0);
        printf("weft %s: the ground\n", weft_version());
        w_fiber_adopt(&home);
        reserve();
        start_all();
        visit_all();
        int status = check_all();

        release_all();
        printf("all of it returned: %ld KiB resident, %ld mappings\n", field_kib("VmRSS: %ld"),
               count_mappings());
        free(walkers);
        return status;
}
