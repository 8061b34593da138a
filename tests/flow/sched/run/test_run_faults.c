/* tests/flow/sched/run/test_run_faults.c - runs in which the kernel refuses something.
 *
 * The k-th call of a kind is refused, for every k until a run ends without a refusal. A run either
 * does not start and returns the very error, or it starts, and then every goroutine that could be
 * spawned runs to its end; nothing is leaked, and the next run succeeds.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sched.h"

#include "lib/refusal.h"

#if defined(W_DEBUG)

enum { N_GOROUTINES = 40 };

static w_atomic_u32 n_ran;
static uint32_t     n_spawned;
static int          refused_with;

static void work(void *arg)
{
        (void)arg;
        for (int i = 0; i < 3; i++)
                weft_yield();
        w_add_acqrel(&n_ran, 1);
}

/* Odd sizes make new slabs; a spawn that is refused leaves everything as it was. */
static void spawn_work(int i)
{
        weft_attr attr = { .name = "worker", .stack_size = (size_t)(16 + 16 * (i % 4)) << 10 };
        int64_t   id = i % 2 ? weft_go(work, NULL) : weft_go_with(&attr, work, NULL);

        if (id > 0) {
                n_spawned++;
                return;
        }
        CHECK_MSG(id == refused_with, "weft_go returned %lld", (long long)id);
}

static void main_works(void *arg)
{
        weft_key *key = arg;

        (void)!weft_local_set(*key, arg);
        for (int i = 0; i < N_GOROUTINES; i++)
                spawn_work(i);
        while (w_load_acq(&n_ran) < n_spawned)
                weft_yield();
}

static int run_once(void)
{
        weft_key key;

        n_spawned = 0;
        w_store_rlx(&n_ran, 0);
        CHECK_EQ(weft_key_new(&key, NULL), 0);
        int rc = weft_run(main_works, &key);

        weft_key_free(key);
        CHECK_EQ(weft_threads_left(), 0);
        CHECK_EQ(w_load_acq(&n_ran), n_spawned);
        return rc;
}

static void run_refused(void *arg)
{
        const struct refusal *r = arg;

        test_set_dump(sched_dump);
        refused_with = 0;
        sched_warm_up();
        CHECK_EQ(run_once(), 0);
        struct test_resources before = test_resources_now();

        refused_with = -r->error;
        r->inject(r->kind, r->k, r->error);
        int      rc = run_once();
        uint32_t n_hits = w_inject_hits();

        w_inject_off();
        CHECK_MSG(rc == 0 || (n_hits && rc == -r->error), "the run returned %d", rc);
        test_check_no_leak(&before);
        CHECK_EQ(run_once(), 0);
        CHECK_EQ(n_spawned, N_GOROUTINES);
        test_check_no_leak(&before);
        refusal_end(n_hits);
}

#endif

TEST(mmap_refused_once)
{
        REFUSE(run_refused, once, MMAP, ENOMEM);
}

TEST(mmap_refused_from_some_call_on)
{
        REFUSE(run_refused, from, MMAP, ENOMEM);
}

TEST(thread_refused_once)
{
        REFUSE(run_refused, once, THREAD, EAGAIN);
}

TEST(thread_refused_from_some_call_on)
{
        REFUSE(run_refused, from, THREAD, EAGAIN);
}

TEST(madvise_refused_from_some_call_on)
{
        REFUSE(run_refused, from, MADVISE, EINVAL);
}

TEST(sigaltstack_refused_once)
{
        REFUSE(run_refused, once, SIGALTSTACK, ENOMEM);
}

TEST(sigaltstack_refused_from_some_call_on)
{
        REFUSE(run_refused, from, SIGALTSTACK, ENOMEM);
}

TEST(sigaction_refused_once)
{
        REFUSE(run_refused, once, SIGACTION, EINVAL);
}
