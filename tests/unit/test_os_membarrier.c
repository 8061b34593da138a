/* tests/unit/test_os_membarrier.c - the fence that one thread pays for all threads.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/os.h"

static void needs_membarrier(void)
{
        int rc;

        KEEPS_ERRNO(rc = w_os_membarrier_init());
        if (rc == -ENOSYS || rc == -EPERM || rc == -EINVAL)
                test_skip("this kernel, filter or emulator has no membarrier");
        CHECK_EQ(rc, 0);
}

TEST(membarrier_before_init_is_refused)
{
        int rc;

        KEEPS_ERRNO(rc = w_os_membarrier());
        CHECK_MSG(rc == -EPERM || rc == -ENOSYS || rc == -EINVAL, "it returned %d", rc);
}

TEST(membarrier_after_init_works_again_and_again)
{
        int rc;

        needs_membarrier();
        for (int i = 0; i < 100; i++) {
                KEEPS_ERRNO(rc = w_os_membarrier());
                CHECK_EQ(rc, 0);
        }
        CHECK_EQ(w_os_membarrier_init(), 0);
}

TEST(membarrier_refused_at_each_call_returns_the_error)
{
        uint32_t k = 0;
        int      rc;

        NEEDS_INJECTION();
        needs_membarrier();
        for (;;) {
                w_inject_once(W_CALL_MEMBARRIER, ++k, EPERM);
                KEEPS_ERRNO(rc = w_os_membarrier_init());
                if (w_inject_hits() == 0)
                        break;
                CHECK_EQ(rc, -EPERM);
        }
        CHECK_EQ(rc, 0);
        CHECK_EQ(k, 4);         /* query, register, try; then none is left to fail */
        w_inject_once(W_CALL_MEMBARRIER, 1, ENOSYS);
        CHECK_EQ(w_os_membarrier(), -ENOSYS);
}

/* The light side stores its mark and reads the flag with nothing but a compiler fence between; the
 * heavy side stores the flag, calls the barrier and reads the mark. If either side could miss the
 * other's store, both would count at once and counts would be lost. */
static struct {
        w_atomic_u32 mark, flag, stop;
        W_CACHE_ALIGNED w_atomic_u64 count;
        uint64_t n_light;
} dekker;

static void count_one(void)
{
        w_store_rlx(&dekker.count, w_load_rlx(&dekker.count) + 1);
}

static void light_side(void *arg)
{
        (void)arg;
        while (!w_load_acq(&dekker.stop)) {
                w_store_rlx(&dekker.mark, 1);
                w_fence_compiler();
                if (w_load_acq(&dekker.flag) == 0) {
                        count_one();
                        dekker.n_light++;
                }
                w_store_rel(&dekker.mark, 0);
        }
}

TEST(membarrier_orders_a_light_store_against_a_later_load)
{
        struct w_os_thread light;
        uint64_t           n_heavy = 0;

        needs_membarrier();
        CHECK_EQ(w_os_thread_start(&light, "light", 0, light_side, NULL), 0);
        for (int64_t end = w_os_now() + 20000000; w_os_now() < end;) {
                w_store_rlx(&dekker.flag, 1);
                CHECK_EQ(w_os_membarrier(), 0);
                if (w_load_acq(&dekker.mark) == 0) {
                        count_one();
                        n_heavy++;
                }
                w_store_rel(&dekker.flag, 0);
        }
        w_store_rel(&dekker.stop, 1);
        w_os_thread_join(&light);
        CHECK_EQ(w_load_acq(&dekker.count), dekker.n_light + n_heavy);
}
