/* tests/flow/sched/run/test_ground_faults.c - everything below the scheduler starts and ends while
 * calls are refused.
 *
 * One small walk over everything below the scheduler: faults are watched, the barrier is prepared,
 * stacks are reserved, bound and returned by several threads with their own signal stacks, which
 * sleep and wake on notes. The k-th call of a kind is refused, for every k until a walk ends
 * without a refusal. Each walk ends in success, because there was an alternative, or with the very
 * error that was injected; nothing is leaked, and the next walk of the same process succeeds.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/note.h"
#include "base/thread.h"
#include "harness/test.h"
#include "os/os.h"
#include "lib/refusal.h"
#include "stack/stack.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { N_WORKERS = 3, N_HELD = 6, N_ROUNDS = 3 };

struct worker {
        struct w_os_thread  handle;
        struct thread       record;
        struct stack_pool  *pool;
        struct note         go;
        struct note         ready;
        int                 rc;
};

struct ground {
        struct thread        record;
        struct stack_pool    pool;
        struct w_os_altstack altstack;
        bool                 has_barrier;
        struct worker        workers[N_WORKERS];
};

/* ---- The walk -------------------------------------------------------------------------------- */

static void touch(struct stack *stack)
{
        memset(stack->top - 256, 0x5a, 256);
        stack->low[0] = 1;
}

/* Takes stacks until one is refused, and returns all of them. */
static int use_stacks(struct stack_pool *pool, struct stack_cache *cache, size_t size)
{
        struct stack *held[N_HELD];
        int           n = 0, rc = 0;

        while (n < N_HELD) {
                rc = w_stack_reserve(pool, cache, size);
                if (rc < 0)
                        break;
                held[n] = w_stack_bind(pool, cache, size, &held[n]);
                touch(held[n++]);
        }
        while (n > 0) {
                w_stack_unbind(pool, cache, held[--n]);
                w_stack_unreserve(pool, cache, size);
        }
        return rc;
}

static int use_cache(struct stack_pool *pool)
{
        struct stack_cache cache;
        int                rc = w_stack_cache_init(&cache, pool, W_STACK_DEFAULT);

        if (rc < 0)
                return rc;
        for (int i = 0; i < N_ROUNDS && rc == 0; i++) {
                rc = use_stacks(pool, &cache, W_STACK_DEFAULT);
                if (rc == 0)
                        rc = use_stacks(pool, NULL, W_STACK_MIN);
        }
        w_stack_cache_release(&cache);
        return rc;
}

static int work_on_altstack(struct worker *w)
{
        struct w_os_altstack altstack;
        int                  rc = w_os_altstack_install(&altstack);

        if (rc < 0)
                return rc;
        rc = use_cache(w->pool);
        w_os_altstack_remove(&altstack);
        return rc;
}

static void work(void *arg)
{
        struct worker *w = arg;

        w_self_set(&w->record);
        w_note_sleep(&w->go);
        w->rc = work_on_altstack(w);
        w_self_set(NULL);
        w_note_wake(&w->ready);
}

static int first_error(int a, int b)
{
        return a < 0 ? a : b;
}

/* Wakes the n threads that could be started, waits for the answer of each, and joins them. */
static int run_workers(struct ground *g)
{
        int n = 0, rc = 0;

        for (; n < N_WORKERS && rc == 0; n++) {
                struct worker *w = &g->workers[n];

                *w = (struct worker){ .pool = &g->pool, .record = { .id = (uint32_t)n + 1 } };
                rc = w_os_thread_start(&w->handle, "worker", 64 * 1024, work, w);
                if (rc < 0)
                        break;
        }
        for (int i = 0; i < n; i++)
                w_note_wake(&g->workers[i].go);
        for (int i = 0; i < n; i++) {
                w_note_sleep(&g->workers[i].ready);
                w_os_thread_join(&g->workers[i].handle);
                rc = first_error(rc, g->workers[i].rc);
        }
        return rc;
}

static int walk_with_pool(struct ground *g)
{
        int rc = w_stack_watch(&g->pool);

        if (rc < 0)
                return rc;
        rc = w_os_altstack_install(&g->altstack);
        if (rc < 0)
                goto out_watch;
        rc = w_stack_reserve_many(&g->pool, W_STACK_DEFAULT, 40);
        if (rc < 0)
                goto out_altstack;
        rc = run_workers(g);
        if (g->has_barrier)
                rc = first_error(rc, w_os_membarrier());
        w_stack_trim(&g->pool, w_os_now());
        w_stack_unreserve_many(&g->pool, W_STACK_DEFAULT, 40);
out_altstack:
        w_os_altstack_remove(&g->altstack);
out_watch:
        w_stack_unwatch(&g->pool);
        return rc;
}

static int walk(struct ground *g)
{
        /* Small slabs, so that several are mapped; no warm slots, so that pages are given back. */
        struct stack_config config = { .slab_size = 1 << 20, .keep = 1, .period_ns = 1 };

        memset(g, 0, sizeof(*g));
        w_self_set(&g->record);
        g->has_barrier = w_os_membarrier_init() == 0;   /* else a fence on the light side */
        int rc = w_stack_pool_init(&g->pool, &config);
        if (rc == 0) {
                rc = walk_with_pool(g);
                w_stack_pool_destroy(&g->pool, W_STACK_ALL_UNBOUND);
        }
        w_self_set(NULL);
        return rc;
}

/* ---- Refusals -------------------------------------------------------------------------------- */

#if defined(W_DEBUG)

/* Pages of address space: leaked mappings may merge with others and then do not count. */
static long address_space(void)
{
        long  pages = 0;
        FILE *statm = fopen("/proc/self/statm", "r");

        if (statm && test_maps_are_ours() && !test_is_emulated())
                CHECK(fscanf(statm, "%ld", &pages) == 1);
        if (statm)
                fclose(statm);
        return pages;
}

static void do_nothing(void *arg)
{
        w_note_sleep(arg);
}

/* libc caches the stacks of ended threads; it gets as many as the walk will need. */
static void warm_up(void)
{
        struct w_os_thread threads[N_WORKERS];
        struct note        notes[N_WORKERS];

        for (int i = 0; i < N_WORKERS; i++) {
                w_note_clear(&notes[i]);
                int rc = w_os_thread_start(&threads[i], "warm", 64 * 1024, do_nothing, &notes[i]);
                CHECK_EQ(rc, 0);
        }
        for (int i = 0; i < N_WORKERS; i++) {
                w_note_wake(&notes[i]);
                w_os_thread_join(&threads[i]);
        }
        (void)address_space();
        w_os_sleep_until(w_os_now() + 1000000);         /* joined threads linger in /proc */
}

static struct ground ground;

/* As on a kernel that does not know the light kind; otherwise the heavy kind would not be used. */
static void forbid_light_guards(void)
{
        w_inject_once(W_CALL_MADVISE, 2, EINVAL);
        CHECK(!w_os_vm_has_light_guard());
}

/* In a process of its own, because what was probed is remembered. */
static void walk_refused(void *arg)
{
        const struct refusal *r = arg;

        warm_up();
        if (r->kind == W_CALL_MPROTECT)
                forbid_light_guards();
        struct test_resources before = test_resources_now();
        long                  space = address_space();

        r->inject(r->kind, r->k, r->error);
        int      rc = walk(&ground);
        uint32_t n_hits = w_inject_hits();
        w_inject_off();
        CHECK_MSG(rc == 0 || (n_hits && rc == -r->error), "the walk returned %d", rc);
        CHECK(n_hits == 0 || r->kind != W_CALL_MEMBARRIER || r->k > 3 || !ground.has_barrier);
        test_check_no_leak(&before);
        CHECK_MSG(address_space() <= space, "%ld pages, %ld before", address_space(), space);
        CHECK_EQ(walk(&ground), 0);
        test_check_no_leak(&before);
        CHECK_MSG(address_space() <= space, "%ld pages, %ld before", address_space(), space);
        refusal_end(n_hits);
}

#endif

TEST(ground_comes_up_and_goes_down)
{
        static struct ground plain;

        for (int i = 0; i < 3; i++)
                CHECK_EQ(walk(&plain), 0);
}

TEST(mmap_refused_once)
{
        REFUSE(walk_refused, once, MMAP, ENOMEM);
}

TEST(mmap_refused_from_some_call_on)
{
        REFUSE(walk_refused, from, MMAP, ENOMEM);
}

TEST(madvise_refused_once_for_want_of_memory)
{
        REFUSE(walk_refused, once, MADVISE, ENOMEM);
}

TEST(madvise_refused_once_as_unknown)
{
        REFUSE(walk_refused, once, MADVISE, EINVAL);
}

TEST(madvise_refused_from_some_call_on)
{
        REFUSE(walk_refused, from, MADVISE, EINVAL);
}

TEST(mprotect_refused_once)
{
        REFUSE(walk_refused, once, MPROTECT, ENOMEM);
}

TEST(mprotect_refused_from_some_call_on)
{
        REFUSE(walk_refused, from, MPROTECT, ENOMEM);
}

TEST(thread_refused_once)
{
        REFUSE(walk_refused, once, THREAD, EAGAIN);
}

TEST(thread_refused_from_some_call_on)
{
        REFUSE(walk_refused, from, THREAD, EAGAIN);
}

TEST(sigaltstack_refused_once)
{
        REFUSE(walk_refused, once, SIGALTSTACK, ENOMEM);
}

TEST(sigaltstack_refused_from_some_call_on)
{
        REFUSE(walk_refused, from, SIGALTSTACK, ENOMEM);
}

TEST(sigaction_refused_once)
{
        REFUSE(walk_refused, once, SIGACTION, EINVAL);
}

TEST(membarrier_refused_once)
{
        REFUSE(walk_refused, once, MEMBARRIER, EPERM);
}

TEST(membarrier_refused_from_some_call_on)
{
        REFUSE(walk_refused, from, MEMBARRIER, ENOSYS);
}
