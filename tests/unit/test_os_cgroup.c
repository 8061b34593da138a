/* tests/unit/test_os_cgroup.c - CPU limits of control groups, on trees built for the purpose.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/rand.h"
#include "os/linux/cgroup.h"
#include "lib/os.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static char root[64];

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
        (void)st, (void)type, (void)at;
        return remove(path);
}

static void remove_tree(void)
{
        nftw(root, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static void make_tree(void)
{
        const char *in = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";

        snprintf(root, sizeof(root), "%s/weft-cgroup-XXXXXX", in);
        CHECK(mkdtemp(root) != NULL);
        atexit(remove_tree);
}

static void put_bytes(const char *path, const char *text, size_t len)
{
        char full[8192];
        int  n = snprintf(full, sizeof(full), "%s%s", root, path);

        for (int i = (int)strlen(root) + 1; i < n; i++)
                if (full[i] == '/') {
                        full[i] = '\0';
                        (void)mkdir(full, 0700);
                        full[i] = '/';
                }
        int fd = open(full, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        CHECK_MSG(fd >= 0, "%s: %s", full, strerror(errno));
        CHECK(write(fd, text, len) == (ssize_t)len);
        close(fd);
}

static void put(const char *path, const char *text)
{
        put_bytes(path, text, strlen(text));
}

static int quota(void)
{
        int n;

        KEEPS_ERRNO(n = w_cgroup_quota(root));
        return n;
}

#define ROOT_FS "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw\n"
#define V2_AT(seen, at) \
        "30 22 0:26 " seen " " at " rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
#define V1_AT(seen, at) \
        "31 22 0:27 " seen " " at " rw,nosuid shared:5 master:1 - cgroup cgroup rw,cpu,cpuacct\n"
#define V1_MEMORY \
        "32 22 0:28 / /sys/fs/cgroup/memory rw,nosuid shared:6 - cgroup cgroup rw,memory\n"

/* A process in /a/b of a version 2 hierarchy at the usual place. */
static void make_v2(void)
{
        make_tree();
        put("/proc/self/cgroup", "0::/a/b\n");
        put("/proc/self/mountinfo", ROOT_FS V2_AT("/", "/sys/fs/cgroup"));
}

static void make_v1(void)
{
        make_tree();
        put("/proc/self/cgroup", "5:memory:/m\n4:cpu,cpuacct:/a/b\n1:name=systemd:/x\n");
        put("/proc/self/mountinfo", ROOT_FS V1_MEMORY V1_AT("/", "/sys/fs/cgroup/cpu,cpuacct"));
}

#define V1_DIR "/sys/fs/cgroup/cpu,cpuacct"

/* ---- Version 2 ------------------------------------------------------------------------------- */

TEST(v2_leaf_is_tighter)
{
        make_v2();
        put("/sys/fs/cgroup/a/cpu.max", "800000 100000\n");
        put("/sys/fs/cgroup/a/b/cpu.max", "300000 100000\n");
        CHECK_EQ(quota(), 3);
}

TEST(v2_ancestor_is_tighter)
{
        make_v2();
        put("/sys/fs/cgroup/a/cpu.max", "200000 100000\n");
        put("/sys/fs/cgroup/a/b/cpu.max", "600000 100000\n");
        CHECK_EQ(quota(), 2);
}

TEST(v2_ancestor_limits_a_leaf_without_limit)
{
        make_v2();
        put("/sys/fs/cgroup/a/cpu.max", "200000 100000\n");
        put("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
        CHECK_EQ(quota(), 2);
}

TEST(v2_limit_at_the_mount_point_holds)
{
        make_v2();
        put("/sys/fs/cgroup/cpu.max", "100000 100000\n");
        put("/sys/fs/cgroup/a/b/cpu.max", "500000 100000\n");
        CHECK_EQ(quota(), 1);
}

TEST(v2_max_everywhere_is_no_limit)
{
        make_v2();
        CHECK_EQ(quota(), 0);
        put("/sys/fs/cgroup/a/cpu.max", "max 100000\n");
        put("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
        CHECK_EQ(quota(), 0);
}

TEST(v2_of_siblings_and_children_do_not_count)
{
        make_v2();
        put("/sys/fs/cgroup/a/b/c/cpu.max", "100000 100000\n");
        put("/sys/fs/cgroup/a/x/cpu.max", "100000 100000\n");
        put("/sys/fs/cgroup/cpu.max.bak", "100000 100000\n");
        CHECK_EQ(quota(), 0);
}

TEST(v2_process_at_the_top)
{
        make_v2();
        put("/proc/self/cgroup", "0::/\n");
        put("/sys/fs/cgroup/cpu.max", "400000 100000\n");
        CHECK_EQ(quota(), 4);
}

TEST(limits_are_rounded_up)
{
        static const struct {
                const char *text;
                int         cpus;
        } cases[] = {
                { "50000 100000\n", 1 },        { "150000 100000\n", 2 },
                { "100000 100000\n", 1 },       { "100001 100000\n", 2 },
                { "1000 1000000\n", 1 },        { "1 9223372036854775807\n", 1 },
                { "250000 100000", 3 },         { "99999999 100000\n", 1000 },
                { "214748364700000 100000\n", INT32_MAX },
        };

        make_v2();
        for (size_t i = 0; i < W_ARRAY_LEN(cases); i++) {
                put("/sys/fs/cgroup/a/b/cpu.max", cases[i].text);
                CHECK_EQ(quota(), cases[i].cpus);
        }
}

TEST(malformed_limits_are_no_limits)
{
        static const char *const cases[] = {
                "", "\n", " ", "100000", "100000\n", "100000 \n", "100000 x\n", "x 100000\n",
                "100000 0\n", "0 100000\n", "-1 100000\n", "100000 -100000\n", "1e5 100000\n",
                "99999999999999999999 100000\n", "9223372036854775807 1\n", "maximum 100000\n",
                "100000x 100000\n", "0x100 100\n", "+5 1\n", "\t\t\t", "- -\n",
                "3000000000000000000 1\n",
        };

        make_v2();
        for (size_t i = 0; i < W_ARRAY_LEN(cases); i++) {
                put("/sys/fs/cgroup/a/b/cpu.max", cases[i]);
                CHECK_MSG(quota() == 0, "\"%s\" was taken for %d", cases[i], quota());
        }
}

TEST(malformed_leaf_does_not_hide_an_ancestor)
{
        make_v2();
        put("/sys/fs/cgroup/a/cpu.max", "200000 100000\n");
        put("/sys/fs/cgroup/a/b/cpu.max", "nonsense\n");
        CHECK_EQ(quota(), 2);
}

/* ---- Version 1 and both ---------------------------------------------------------------------- */

TEST(v1_leaf_and_ancestor)
{
        make_v1();
        put(V1_DIR "/a/b/cpu.cfs_quota_us", "250000\n");
        put(V1_DIR "/a/b/cpu.cfs_period_us", "100000\n");
        CHECK_EQ(quota(), 3);
        put(V1_DIR "/a/cpu.cfs_quota_us", "20000\n");
        put(V1_DIR "/a/cpu.cfs_period_us", "10000\n");
        CHECK_EQ(quota(), 2);
        put(V1_DIR "/a/cpu.cfs_quota_us", "-1\n");
        CHECK_EQ(quota(), 3);
        put(V1_DIR "/a/b/cpu.cfs_quota_us", "-1\n");
        CHECK_EQ(quota(), 0);
}

TEST(v1_quota_without_period_is_no_limit)
{
        make_v1();
        put(V1_DIR "/a/b/cpu.cfs_quota_us", "250000\n");
        CHECK_EQ(quota(), 0);
        put(V1_DIR "/a/b/cpu.cfs_period_us", "zero\n");
        CHECK_EQ(quota(), 0);
}

TEST(v1_other_controllers_are_not_ours)
{
        make_v1();
        /* cpuset and cpuacct begin like cpu. */
        put("/proc/self/cgroup", "3:cpuset:/a/b\n2:cpuacct:/a/b\n");
        put(V1_DIR "/a/b/cpu.cfs_quota_us", "250000\n");
        put(V1_DIR "/a/b/cpu.cfs_period_us", "100000\n");
        CHECK_EQ(quota(), 0);
        put("/proc/self/cgroup", "3:cpuset:/x\n2:cpuacct,cpu:/a/b\n");
        CHECK_EQ(quota(), 3);
}

TEST(v1_mount_of_other_controllers_is_not_ours)
{
        make_v1();
        put("/proc/self/mountinfo",
            "31 22 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpuset\n");
        put(V1_DIR "/a/b/cpu.cfs_quota_us", "250000\n");
        put(V1_DIR "/a/b/cpu.cfs_period_us", "100000\n");
        CHECK_EQ(quota(), 0);
}

TEST(hybrid_takes_the_tighter_of_both)
{
        make_tree();
        put("/proc/self/cgroup", "4:cpu,cpuacct:/v1\n0::/v2\n");
        put("/proc/self/mountinfo",
            ROOT_FS V1_AT("/", V1_DIR) V2_AT("/", "/sys/fs/cgroup/unified"));
        put(V1_DIR "/v1/cpu.cfs_quota_us", "400000\n");
        put(V1_DIR "/v1/cpu.cfs_period_us", "100000\n");
        CHECK_EQ(quota(), 4);
        put("/sys/fs/cgroup/unified/v2/cpu.max", "200000 100000\n");
        CHECK_EQ(quota(), 2);
        put(V1_DIR "/cpu.cfs_quota_us", "100000\n");
        put(V1_DIR "/cpu.cfs_period_us", "100000\n");
        CHECK_EQ(quota(), 1);
}

/* ---- Mounts that show a part ----------------------------------------------------------------- */

TEST(mount_of_our_own_group)
{
        make_v2();
        put("/proc/self/cgroup", "0::/docker/abc\n");
        put("/proc/self/mountinfo", ROOT_FS V2_AT("/docker/abc", "/sys/fs/cgroup"));
        put("/sys/fs/cgroup/cpu.max", "150000 100000\n");
        put("/sys/fs/cgroup/docker/abc/cpu.max", "50000 100000\n");     /* of other code */
        CHECK_EQ(quota(), 2);
}

TEST(mount_of_an_ancestor)
{
        make_v2();
        put("/proc/self/cgroup", "0::/docker/abc/in/side\n");
        put("/proc/self/mountinfo", ROOT_FS V2_AT("/docker/abc", "/sys/fs/cgroup"));
        put("/sys/fs/cgroup/cpu.max", "500000 100000\n");
        CHECK_EQ(quota(), 5);
        put("/sys/fs/cgroup/in/cpu.max", "400000 100000\n");
        CHECK_EQ(quota(), 4);
        put("/sys/fs/cgroup/in/side/cpu.max", "300000 100000\n");
        CHECK_EQ(quota(), 3);
}

TEST(mount_of_a_group_that_only_begins_like_ours)
{
        make_v2();
        put("/proc/self/cgroup", "0::/docker/abcdef\n");
        put("/proc/self/mountinfo", ROOT_FS V2_AT("/docker/abc", "/sys/fs/cgroup"));
        put("/sys/fs/cgroup/cpu.max", "100000 100000\n");
        put("/sys/fs/cgroup/def/cpu.max", "100000 100000\n");
        put("/sys/fs/cgroupdef/cpu.max", "100000 100000\n");
        CHECK_EQ(quota(), 0);
}

TEST(mount_from_above_our_namespace_is_an_ancestor)
{
        make_v2();
        put("/proc/self/cgroup", "0::/\n");
        put("/proc/self/mountinfo", ROOT_FS V2_AT("/../..", "/sys/fs/cgroup"));
        put("/sys/fs/cgroup/cpu.max", "300000 100000\n");
        CHECK_EQ(quota(), 3);
}

TEST(process_outside_of_its_namespace_is_not_below_the_mount)
{
        make_v2();
        put("/proc/self/cgroup", "0::/../other\n");
        put("/sys/fs/cgroup/cpu.max", "300000 100000\n");
        put("/sys/fs/other/cpu.max", "100000 100000\n");
        CHECK_EQ(quota(), 0);
}

TEST(several_mounts_all_count)
{
        make_v2();
        put("/proc/self/mountinfo",
            V2_AT("/a", "/part") V2_AT("/", "/whole") V2_AT("/z", "/foreign"));
        put("/foreign/cpu.max", "100000 100000\n");
        put("/part/b/cpu.max", "400000 100000\n");
        CHECK_EQ(quota(), 4);
        put("/whole/a/cpu.max", "200000 100000\n");
        CHECK_EQ(quota(), 2);
}

TEST(escaped_mount_points_and_roots_are_understood)
{
        make_v2();
        put("/proc/self/cgroup", "0::/my slice/back\\slash\n");
        put("/proc/self/mountinfo", V2_AT("/my\\040slice", "/c\\040g\\011\\134x"));
        put("/c g\t\\x/back\\slash/cpu.max", "200000 100000\n");
        CHECK_EQ(quota(), 2);
}

TEST(broken_escapes_are_taken_as_they_are)
{
        make_v2();
        put("/proc/self/mountinfo", V2_AT("/", "/cg\\04\\9"));
        put("/cg\\04\\9/a/b/cpu.max", "200000 100000\n");
        CHECK_EQ(quota(), 2);
}

/* ---- What cannot be read --------------------------------------------------------------------- */

TEST(missing_files_are_no_limit)
{
        make_tree();
        CHECK_EQ(quota(), 0);
        put("/proc/self/cgroup", "0::/a\n");
        CHECK_EQ(quota(), 0);
        CHECK_EQ(w_cgroup_quota("/nonexistent"), 0);
}

TEST(malformed_files_are_no_limit)
{
        static const char *const groups[] = { "", "\n\n", "0", "0:", "0::", "0::a\n", ":::\n",
                                              "0:::/a/b", "x::/a/b\n" };
        static const char *const mounts[] = {
                "", "\n", " - \n", "1 2 3 4 5 6 - cgroup2\n", "- cgroup2 x y\n",
                "30 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2\n",
                "30 22 0:26 / sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
                "30 22 0:26 / /sys/fs/cgroup rw cgroup2 cgroup2 rw\n",
        };

        make_v2();
        put("/sys/fs/cgroup/a/b/cpu.max", "100000 100000\n");
        CHECK_EQ(quota(), 1);
        for (size_t i = 0; i < W_ARRAY_LEN(groups); i++) {
                put("/proc/self/cgroup", groups[i]);
                CHECK_MSG(quota() == 0, "\"%s\"", groups[i]);
        }
        put("/proc/self/cgroup", "0::/a/b\n");
        for (size_t i = 0; i < W_ARRAY_LEN(mounts); i++) {
                put("/proc/self/mountinfo", mounts[i]);
                CHECK_MSG(quota() == 0, "\"%s\"", mounts[i]);
        }
}

/* A path of n bytes, "/xxxxxxx...", in parts that a directory could have. */
static void long_path(char *to, size_t n)
{
        for (size_t i = 0; i < n; i++)
                to[i] = i % 200 == 0 ? '/' : 'x';
        to[n] = '\0';
}

TEST(lines_and_paths_of_any_length)
{
        static char line[20000], text[20300];

        make_v2();
        put("/sys/fs/cgroup/cpu.max", "300000 100000\n");
        for (size_t n = 4050; n < 4110; n += 3) {
                long_path(line, n);
                snprintf(text, sizeof(text), "0::%s\n", line);
                put("/proc/self/cgroup", text);
                CHECK(quota() == 0 || quota() == 3);
        }
        /* A line that does not fit is skipped, the next line counts. */
        long_path(line, 15000);
        snprintf(text, sizeof(text), "22 1 8:1 / / rw - overlay o lowerdir=%s\n%s", line,
                 V2_AT("/", "/sys/fs/cgroup"));
        put("/proc/self/mountinfo", text);
        put("/proc/self/cgroup", "0::/a/b\n");
        CHECK_EQ(quota(), 3);
}

TEST(file_without_a_newline_at_its_end)
{
        make_v2();
        put("/proc/self/cgroup", "0::/a/b");
        put("/sys/fs/cgroup/a/b/cpu.max", "200000 100000");
        CHECK_EQ(quota(), 2);
}

/* ---- Garbage --------------------------------------------------------------------------------- */

/* Changes a few bytes of what is valid, so that the garbage gets far. */
static void put_damaged(uint64_t *rand, const char *path, const char *text)
{
        static const char likely[] = "/:\\ -,.0019\n\n";
        char              bytes[1024];
        size_t            len = strlen(text);

        memcpy(bytes, text, len);
        for (uint32_t i = w_rand_below(rand, 4); i > 0; i--)
                bytes[w_rand_below(rand, (uint32_t)len)] =
                        w_rand_below(rand, 3) ? likely[w_rand_below(rand, sizeof(likely))]
                                              : (char)w_rand_below(rand, 256);
        if (w_rand_below(rand, 8) == 0)
                len -= w_rand_below(rand, (uint32_t)len);
        put_bytes(path, bytes, len);
}

TEST(garbage_never_crashes_and_never_limits_below_one)
{
        uint64_t rand = test_seed();

        make_v2();
        put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
        for (int i = 0; i < 100; i++) {
                put_damaged(&rand, "/proc/self/cgroup", "4:cpu,cpuacct:/a/b\n0::/a/b\n");
                put_damaged(&rand, "/proc/self/mountinfo",
                            V2_AT("/", "/sys/fs/cgroup") V1_AT("/a", "/sys/fs/cgroup\\040/cpu"));
                put_damaged(&rand, "/sys/fs/cgroup/a/b/cpu.max", "150000 100000\n");
                put_damaged(&rand, "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "250000\n");
                CHECK(quota() >= 0);
        }
}
