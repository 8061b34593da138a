/* tests/flow/net/test_listen.c - weft_listen: what it refuses, and the files of unix sockets.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/net.h"

#include "os/inject.h"

/* ---- Refusals -------------------------------------------------------------------------------- */

static void bad_main(void *arg)
{
        (void)arg;
        CHECK_EQ(weft_listen("tcp5", ":0"), -EINVAL);
        CHECK_EQ(weft_listen("udp", ":0"), -EINVAL);
        CHECK_EQ(weft_listen("unixgram", "@x"), -EINVAL);
        CHECK_EQ(weft_listen_packet("tcp", ":0"), -EINVAL);
        CHECK_EQ(weft_listen_packet("unix", "@x"), -EINVAL);
        CHECK_EQ(weft_listen(NULL, ":0"), -EINVAL);
        CHECK_EQ(weft_listen("tcp", NULL), -EINVAL);
        CHECK_EQ(weft_listen("tcp", "127.0.0.1"), -EINVAL);
        CHECK_EQ(weft_listen("tcp", ":65536"), -EINVAL);
        CHECK_EQ(weft_listen("tcp4", "[::1]:0"), -EINVAL);
        CHECK_EQ(weft_listen("tcp", "192.0.2.1:0"), -EADDRNOTAVAIL);
        CHECK_EQ(weft_listen("unix", "/nowhere/at/all"), -ENOENT);
        CHECK_EQ(weft_dial("unix", "/nowhere/at/all"), -ENOENT);
        CHECK_EQ(weft_dial("tcp7", "127.0.0.1:1"), -EINVAL);
        CHECK_EQ(weft_dial("tcp", "127.0.0.1:70000"), -EINVAL);
        CHECK_EQ(weft_dial(NULL, NULL), -EINVAL);
        if (net_has_ip6())
                CHECK_EQ(weft_listen("tcp", "[fe80::1%nosuchzone]:0"), -ENODEV);
}

TEST(bad_networks_and_addresses_are_refused)
{
        struct test_resources before = test_resources_now();

        sched_run(bad_main, NULL);
        CHECK_EQ(test_resources_now().descriptors, before.descriptors);
}

GO_TEST(an_address_in_use_is_refused)
{
        char where[NET_TEXT], abstract[NET_TEXT];
        int  fd = net_listen("tcp", "127.0.0.1:0", where);

        CHECK_EQ(weft_listen("tcp", where), -EADDRINUSE);
        net_close(fd);
        fd = weft_listen("tcp", where);         /* at once: SO_REUSEADDR */
        CHECK(fd >= 0);
        net_close(fd);
        snprintf(abstract, sizeof(abstract), "@weft-used-%ld", (long)getpid());
        fd = net_listen("unix", abstract, where);
        CHECK_EQ(weft_listen("unix", abstract), -EADDRINUSE);
        net_close(fd);
        fd = net_listen("udp", "127.0.0.1:0", where);
        CHECK_EQ(weft_listen_packet("udp", where), -EADDRINUSE);
        net_close(fd);
}

static int listen_call(void *arg)
{
        return weft_listen("tcp", arg);
}

GO_TEST(a_caller_out_of_time_does_not_listen)
{
        CHECK_EQ(sync_call_timed(listen_call, ":0", 0), -ETIMEDOUT);
}

/* ---- Families -------------------------------------------------------------------------------- */

static int family_of(int fd)
{
        struct sockaddr_storage sa;
        socklen_t               len = sizeof(sa);

        CHECK_EQ(getsockname(fd, (void *)&sa, &len), 0);
        return sa.ss_family;
}

static int only_ip6(int fd)
{
        int       value = -1;
        socklen_t len = sizeof(value);

        CHECK_EQ(getsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &value, &len), 0);
        return value;
}

static void families_main(void *arg)
{
        int fd = weft_listen("tcp", ":0");

        (void)arg;
        CHECK_EQ(family_of(fd), AF_INET6);
        CHECK_EQ(only_ip6(fd), 0);
        net_close(fd);
        fd = weft_listen("tcp6", ":0");
        CHECK_EQ(only_ip6(fd), 1);
        net_close(fd);
        fd = weft_listen("tcp4", ":0");
        CHECK_EQ(family_of(fd), AF_INET);
        net_close(fd);
        fd = weft_listen_packet("udp", ":0");
        CHECK_EQ(family_of(fd), AF_INET6);
        net_close(fd);
}

TEST(no_host_means_both_families)
{
        if (!net_has_ip6())
                test_skip("there is no IPv6");
        sched_run(families_main, NULL);
}

/* The first socket, of IPv6, is not available. */
static void no_ip6_main(void *arg)
{
        (void)arg;
#if defined(W_DEBUG)
        for (int i = 0; i < 2; i++) {
                w_inject_once(W_CALL_SOCKET, 1 + (uint32_t)i, i ? EADDRNOTAVAIL : EAFNOSUPPORT);
                int fd = weft_listen("tcp", ":0");

                CHECK_EQ(w_inject_hits(), 1);
                w_inject_off();
                CHECK_MSG(fd >= 0, "listen: %d", fd);
                CHECK_EQ(family_of(fd), AF_INET);
                net_close(fd);
        }
        w_inject_once(W_CALL_SOCKET, 1, EAFNOSUPPORT);
        CHECK_EQ(weft_listen("tcp6", ":0"), -EAFNOSUPPORT);
        w_inject_off();
        w_inject_once(W_CALL_SOCKET, 1, EMFILE);
        CHECK_EQ(weft_listen("tcp", ":0"), -EMFILE);
        w_inject_off();
#endif
}

TEST(without_ip6_no_host_means_ip4)
{
#if !defined(W_DEBUG)
        test_skip("nothing can be refused in a release build");
#endif
        sched_run(no_ip6_main, NULL);
}

/* Whatever call fails, nothing stays open. */
static void refused_main(void *arg)
{
        (void)arg;
#if defined(W_DEBUG)
        for (uint32_t k = 1; k <= 3; k++) {
                char path[NET_TEXT];

                net_path(path, "refused");
                w_inject_once(W_CALL_SOCKET, k, ENOBUFS);
                CHECK_EQ(weft_listen("unix", path), -ENOBUFS);
                w_inject_off();
                CHECK(!net_exists(path));
        }
#endif
}

TEST(a_refused_listen_leaves_neither_descriptor_nor_file)
{
        struct test_resources before = test_resources_now();

        sched_run(refused_main, NULL);
        CHECK_EQ(test_resources_now().descriptors, before.descriptors);
}

/* ---- Files of unix sockets ------------------------------------------------------------------- */

GO_TEST(the_file_of_a_unix_socket_goes_with_it)
{
        char path[NET_TEXT], where[NET_TEXT];

        net_path(path, "file");
        int fd = net_listen("unix", path, where);

        CHECK(net_exists(path));
        CHECK_EQ(weft_listen("unix", path), -EADDRINUSE);
        CHECK_EQ(weft_listen_packet("unixgram", path), -EADDRINUSE);
        CHECK(net_exists(path));
        net_close(fd);
        CHECK(!net_exists(path));
        fd = open(path, O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        CHECK(fd >= 0);
        CHECK_EQ(weft_listen("unix", path), -EADDRINUSE);
        net_close(fd);
        CHECK(net_exists(path));                /* that file was not ours */
        CHECK_EQ(unlink(path), 0);
}

GO_TEST(another_file_under_that_path_stays)
{
        char path[NET_TEXT], where[NET_TEXT];

        net_path(path, "replaced");
        int old = net_listen("unix", path, where);

        CHECK_EQ(unlink(path), 0);
        int new = net_listen("unix", path, where);

        net_close(old);
        CHECK(net_exists(path));                /* the file of the second */
        net_close(new);
        CHECK(!net_exists(path));
        old = net_listen("unix", path, where);
        CHECK_EQ(unlink(path), 0);
        net_close(old);                         /* there is nothing to remove */
}

GO_TEST(a_relative_path_is_found_from_another_directory)
{
        char path[NET_TEXT], where[NET_TEXT], was[4096];

        net_path(path, "moved");
        CHECK(getcwd(was, sizeof(was)));
        CHECK_EQ(chdir("/tmp"), 0);
        int fd = net_listen("unix", strrchr(path, '/') + 1, where);

        CHECK(net_exists(path));
        CHECK_EQ(chdir("/"), 0);
        net_close(fd);
        CHECK(!net_exists(path));
        CHECK_EQ(chdir(was), 0);
}

/* A number that had a path, closed by other code, is used for something else. */
GO_TEST(a_path_is_forgotten_when_its_number_is_made_anew)
{
        char path[NET_TEXT], where[NET_TEXT];

        net_path(path, "reused");
        int fd = net_listen("unix", path, where);

        CHECK_EQ(close(fd), 0);
        int next = net_listen("tcp", "127.0.0.1:0", where);

        CHECK_EQ(next, fd);
        net_close(next);
        CHECK(net_exists(path));
        CHECK_EQ(unlink(path), 0);
}

/* Many, in several runs: records are used again, and gone at the end. */
static void many_main(void *arg)
{
        char path[NET_TEXT], what[16], where[NET_TEXT];
        int  fds[20];

        (void)arg;
        for (int round = 0; round < 3; round++) {
                for (int i = 0; i < 20; i++) {
                        snprintf(what, sizeof(what), "many%d", i);
                        net_path(path, what);
                        fds[i] = net_listen("unix", path, where);
                }
                for (int i = 0; i < 20; i++)
                        net_close(fds[i]);
        }
        CHECK(!net_exists(path));
}

TEST(paths_are_stored_for_many_listeners_and_freed)
{
        sched_warm_up();
        struct test_resources before = test_resources_now();

        for (int i = 0; i < 3; i++)
                sched_run(many_main, NULL);
        test_check_no_leak(&before);
}
