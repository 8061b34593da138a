/* tests/unit/test_os_cpu.c - how many processors this process may use.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/os.h"

#include <sched.h>

static int count_now(void)
{
        int n;

        KEEPS_ERRNO(n = w_os_cpu_count(0));
        return n;
}

TEST(cpu_count_is_the_affinity)
{
        cpu_set_t set;

        if (sched_getaffinity(0, sizeof(set), &set) != 0)
                test_skip("more CPUs than libc's fixed set holds");
        CHECK_EQ(count_now(), CPU_COUNT(&set));
}

TEST(cpu_count_follows_the_affinity)
{
        cpu_set_t set;
        size_t    first = 0;

        CHECK(sched_getaffinity(0, sizeof(set), &set) == 0);
        while (!CPU_ISSET(first, &set))
                first++;
        CPU_ZERO(&set);
        CPU_SET(first, &set);
        CHECK(sched_setaffinity(0, sizeof(set), &set) == 0);
        CHECK_EQ(count_now(), 1);
}

TEST(cpu_count_grows_its_mask_where_the_kernel_has_more)
{
        int plain = count_now();

        NEEDS_INJECTION();
        struct test_resources before = test_resources_now();
        w_inject_once(W_CALL_AFFINITY, 1, EINVAL);
        CHECK_EQ(count_now(), plain);
        CHECK_EQ(w_inject_calls(W_CALL_AFFINITY), 2);
        test_check_no_leak(&before);
}

TEST(cpu_count_unknown_is_one)
{
        NEEDS_INJECTION();
        /* Once before memory is counted: sanitizers keep mappings that describe ours. */
        w_inject_from(W_CALL_AFFINITY, 1, EINVAL);
        CHECK_EQ(count_now(), 1);
        struct test_resources before = test_resources_now();
        w_inject_once(W_CALL_AFFINITY, 1, EPERM);
        CHECK_EQ(count_now(), 1);
        w_inject_from(W_CALL_AFFINITY, 1, EINVAL);
        CHECK_EQ(count_now(), 1);
        CHECK(w_inject_hits() > 4);     /* it tried larger and larger masks, and ended */
        w_inject_from(W_CALL_ANY, 1, EINVAL);
        CHECK_EQ(count_now(), 1);
        test_check_no_leak(&before);
}

TEST(cpu_quota_of_this_process_is_sane_and_leaks_nothing)
{
        struct test_resources before = test_resources_now();
        int                   quota;

        KEEPS_ERRNO(quota = w_os_cpu_quota());
        CHECK(quota >= 0);
        test_check_no_leak(&before);
}

TEST(cpu_quota_that_cannot_be_read_is_none)
{
        NEEDS_INJECTION();
        w_inject_once(W_CALL_MMAP, 1, ENOMEM);
        CHECK_EQ(w_os_cpu_quota(), 0);
        w_inject_from(W_CALL_OPEN, 1, EACCES);
        CHECK_EQ(w_os_cpu_quota(), 0);
        w_inject_from(W_CALL_OPEN, 2, EMFILE);
        CHECK_EQ(w_os_cpu_quota(), 0);
}
