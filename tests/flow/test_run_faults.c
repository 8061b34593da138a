/* tests/flow/test_run_faults.c - runs in which the kernel refuses something.
 *
 * The k-th call of a kind is refused, for every k until a run ends without having met a refusal. A
 * run either does not start and says so with the very error, or it starts, and then every goroutine
 * that could be spawned runs to its end; nothing is left behind, and the next run succeeds.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched_util.h"

#include "os/inject.h"

#include <sys/wait.h>
#include <unistd.h>

#if defined(W_DEBUG)

typedef void inject_fn(enum w_os_call kind, uint32_t k, int error);

struct refusal {
        inject_fn     *inject;
        enum w_os_call kind;
        uint32_t       k;
        int            error;
};

enum { ENDED_REFUSED = 10, ENDED_UNTOUCHED = 11, N_GOROUTINES = 40 };

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

        (void)weft_local_set(*key, arg);
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
        _exit(n_hits ? ENDED_REFUSED : ENDED_UNTOUCHED);
}

/* True if the run met a refusal. A child that hangs is ended by its own alarm. */
static bool try_refusal(struct refusal *r)
{
        char err[4096];
        int  status = test_run_child(run_refused, r, err, sizeof(err));

        CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) >= ENDED_REFUSED,
                  "call %u of kind %d refused with %d: wait status %#x\n%s", r->k, (int)r->kind,
                  r->error, (unsigned)status, err);
        return WEXITSTATUS(status) == ENDED_REFUSED;
}

static uint32_t next_k(uint32_t k)
{
        if (test_under_valgrind())
                return k < 2 ? k + 1 : 3 * k;
        return k < 8 || !test_is_slow() ? k + 1 : k + k / 4;
}

static void refuse_each(inject_fn *inject, enum w_os_call kind, int error)
{
        struct refusal r = { inject, kind, 1, error };
        uint32_t       n = 0;

        for (; try_refusal(&r); r.k = next_k(r.k))
                CHECK(++n < 1000);
        CHECK(n > 0);
}

#define REFUSE(how, kind, error) refuse_each(w_inject_##how, W_CALL_##kind, error)

#else
#define REFUSE(how, kind, error) test_skip("release builds have no fault injection")
#endif

TEST(mmap_refused_once)
{
        REFUSE(once, MMAP, ENOMEM);
}

TEST(mmap_refused_from_some_call_on)
{
        REFUSE(from, MMAP, ENOMEM);
}

TEST(thread_refused_once)
{
        REFUSE(once, THREAD, EAGAIN);
}

TEST(thread_refused_from_some_call_on)
{
        REFUSE(from, THREAD, EAGAIN);
}

TEST(madvise_refused_from_some_call_on)
{
        REFUSE(from, MADVISE, EINVAL);
}

TEST(sigaltstack_refused_once)
{
        REFUSE(once, SIGALTSTACK, ENOMEM);
}

TEST(sigaltstack_refused_from_some_call_on)
{
        REFUSE(from, SIGALTSTACK, ENOMEM);
}

TEST(sigaction_refused_once)
{
        REFUSE(once, SIGACTION, EINVAL);
}
