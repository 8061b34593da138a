/* Random histories of a mutex and of a semaphore have an order in which they could have happened
 * one after the other.
 *
 * Each operation notes when it began and when it had ended, on a common clock. The search tries
 * every order that respects those times: an operation may come next if no remaining operation had
 * ended before it began. The state after a set of operations does not depend on their order, so
 * each set is visited once.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sync.h"

#include "base/rand.h"

#include <string.h>

enum { N_USERS = 4, N_ROUNDS = 2, N_OPS = 2 * N_USERS * N_ROUNDS };

enum kind { TAKE, TRY_TAKEN, TRY_FAILED, GIVE };

struct op {
        uint32_t  began, ended;
        enum kind kind;
};

/* The object under test: a mutex is a semaphore of one permit. */
struct subject {
        int (*take)(void);
        int (*try_take)(void);
        void (*give)(void);
        int permits;
};

static weft_mutex            mutex;
static weft_sem              sem;
static const struct subject *subject;
static struct op             ops[N_OPS];
static w_atomic_u32          n_ops, ticks;
static uint64_t              seed;

static int mutex_take(void)
{
        weft_mutex_lock(&mutex);
        return 0;
}

static int mutex_try(void)
{
        return weft_mutex_try_lock(&mutex);
}

static void mutex_give(void)
{
        weft_mutex_unlock(&mutex);
}

static int sem_take(void)
{
        return weft_sem_acquire(&sem);
}

static int sem_try(void)
{
        return weft_sem_try_acquire(&sem);
}

static void sem_give(void)
{
        weft_sem_release(&sem);
}

/* ---- A history ------------------------------------------------------------------------------- */

static struct op *op_begin(void)
{
        struct op *op = &ops[w_add_rlx(&n_ops, 1)];

        op->began = w_add_acqrel(&ticks, 1);
        return op;
}

static void op_end(struct op *op, enum kind kind)
{
        op->ended = w_add_acqrel(&ticks, 1);
        op->kind = kind;
}

static void some_yields(uint64_t *rand)
{
        for (uint64_t n = w_rand(rand) % 3; n > 0; n--)
                weft_yield();
}

static bool take(uint64_t *rand)
{
        struct op *op = op_begin();

        if (w_rand(rand) % 2) {
                CHECK_EQ(subject->take(), 0);
                op_end(op, TAKE);
                return true;
        }
        bool taken = subject->try_take() == 0;

        op_end(op, taken ? TRY_TAKEN : TRY_FAILED);
        return taken;
}

static void use(void *arg)
{
        uint64_t rand = *(const uint64_t *)arg;

        for (int i = 0; i < N_ROUNDS; i++) {
                some_yields(&rand);
                if (!take(&rand))
                        continue;
                some_yields(&rand);
                struct op *op = op_begin();

                subject->give();
                op_end(op, GIVE);
        }
}

/* ---- The search ------------------------------------------------------------------------------ */

static unsigned char visited[(1u << N_OPS) / 8];

static bool may_be_next(uint32_t done, uint32_t n, uint32_t i)
{
        for (uint32_t k = 0; k < n; k++)
                if (!(done >> k & 1) && ops[k].ended < ops[i].began)
                        return false;
        return true;
}

static bool explains(uint32_t done, uint32_t n, int permits)
{
        if (done + 1 == 1u << n)
                return true;
        if (visited[done / 8] >> done % 8 & 1)
                return false;
        visited[done / 8] |= (unsigned char)(1u << done % 8);
        for (uint32_t i = 0; i < n; i++) {
                enum kind kind = ops[i].kind;

                if (done >> i & 1 || !may_be_next(done, n, i))
                        continue;
                if (kind == TRY_FAILED ? permits != 0 : kind != GIVE && permits == 0)
                        continue;
                int change = kind == GIVE ? 1 : kind == TRY_FAILED ? 0 : -1;

                if (explains(done | 1u << i, n, permits + change))
                        return true;
        }
        return false;
}

static void print_history(uint32_t n)
{
        static const char *const names[] = { "take", "try: taken", "try: failed", "give" };

        for (uint32_t i = 0; i < n; i++)
                dprintf(2, "  %u-%u %s\n", ops[i].began, ops[i].ended, names[ops[i].kind]);
}

static void one_history(void)
{
        uint64_t rands[N_USERS];
        int64_t  ids[N_USERS];

        w_store_rlx(&n_ops, 0);
        w_store_rlx(&ticks, 0);
        for (int i = 0; i < N_USERS; i++) {
                rands[i] = w_rand(&seed);
                ids[i] = sched_go(use, &rands[i]);
        }
        for (int i = 0; i < N_USERS; i++)
                sched_join(ids[i]);
        uint32_t n = w_load_rlx(&n_ops);

        memset(visited, 0, sizeof(visited));
        if (!explains(0, n, subject->permits)) {
                print_history(n);
                test_fail(__FILE__, __LINE__, "no order explains this history of %d permits",
                          subject->permits);
        }
}

static void histories(void *arg)
{
        subject = arg;
        seed = test_seed();
        weft_sem_init(&sem, (unsigned)subject->permits);
        for (uint32_t n = sched_scale(2000) + 1; n > 0; n--)
                one_history();
}

TEST(histories_of_a_mutex_are_linearizable)
{
        static struct subject a_mutex = { mutex_take, mutex_try, mutex_give, 1 };

        sched_run(histories, &a_mutex);
}

TEST(histories_of_a_semaphore_are_linearizable)
{
        static struct subject a_sem = { sem_take, sem_try, sem_give, 2 };

        sched_run(histories, &a_sem);
}

/* The search itself: a try that fails although everything was free all the time. */
TEST(a_history_that_cannot_be_is_refused)
{
        ops[0] = (struct op){ 0, 1, TRY_FAILED };
        ops[1] = (struct op){ 2, 3, TAKE };
        CHECK(!explains(0, 2, 1));
        memset(visited, 0, sizeof(visited));
        ops[1].began = 0;
        CHECK(explains(0, 2, 1));
        memset(visited, 0, sizeof(visited));
        ops[0] = (struct op){ 0, 5, TAKE };     /* two at a time, one permit, none given back */
        ops[1] = (struct op){ 1, 3, TAKE };
        CHECK(!explains(0, 2, 1));
}
