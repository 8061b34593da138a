/* tests/unit/test_addr.c - networks and addresses as programs write them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "harness/test.h"
#include "base/rand.h"
#include "net/addr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct net net_of(const char *text)
{
        struct net net;

        CHECK_MSG(w_net_parse(text, &net), "no network %s", text);
        return net;
}

static int parse(const char *net, const char *text, struct addr *out)
{
        struct net n = net_of(net);

        return w_addr_parse(&n, text, out);
}

static void expect(const char *net, const char *text, int rc)
{
        struct addr addr;
        int         got = parse(net, text, &addr);

        CHECK_MSG(got == rc, "%s \"%s\": %d, expected %d", net, text, got, rc);
}

TEST(networks_are_the_eight)
{
        static const char *const bad[] = { "", "tcp5", "TCP", "tcp ", " tcp", "ip", "udp46",
                                           "unixg", "unixpacket", "unixgrams", "t" };
        struct net               net;

        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
                CHECK_MSG(!w_net_parse(bad[i], &net), "%s", bad[i]);
        net = net_of("tcp");
        CHECK(net.kind == W_OS_STREAM && net.ip4 && net.ip6 && !net.is_unix);
        net = net_of("tcp4");
        CHECK(net.kind == W_OS_STREAM && net.ip4 && !net.ip6);
        net = net_of("tcp6");
        CHECK(net.kind == W_OS_STREAM && !net.ip4 && net.ip6);
        net = net_of("udp");
        CHECK(net.kind == W_OS_PACKET && net.ip4 && net.ip6);
        CHECK(!net_of("udp4").ip6 && !net_of("udp6").ip4);
        CHECK(net_of("unix").is_unix && net_of("unix").kind == W_OS_STREAM);
        CHECK(net_of("unixgram").is_unix && net_of("unixgram").kind == W_OS_PACKET);
}

TEST(hosts_and_ports_are_told_apart)
{
        struct addr a;

        CHECK_EQ(parse("tcp", "127.0.0.1:0", &a), 0);
        CHECK(a.host == W_HOST_IP4 && a.port == 0 && !a.service[0]);
        CHECK_EQ(memcmp(a.ip, "\x7f\0\0\1", 4), 0);
        CHECK_EQ(parse("tcp", ":8080", &a), 0);
        CHECK(a.host == W_HOST_ANY && a.port == 8080);
        CHECK_EQ(parse("udp", "[::1]:65535", &a), 0);
        CHECK(a.host == W_HOST_IP6 && a.port == 65535 && a.ip[15] == 1 && !a.zone[0]);
        CHECK_EQ(parse("tcp", "[fe80::1%eth0]:80", &a), 0);
        CHECK(a.host == W_HOST_IP6 && a.ip[0] == 0xfe);
        CHECK_STR(a.zone, "eth0");
        CHECK_EQ(parse("tcp", "localhost:http", &a), 0);
        CHECK_EQ(a.host, W_HOST_NAME);
        CHECK_STR(a.name, "localhost");
        CHECK_STR(a.service, "http");
        CHECK_EQ(parse("tcp4", "a-b_c.example.org.:00080", &a), 0);
        CHECK_STR(a.name, "a-b_c.example.org.");
        CHECK_EQ(a.port, 80);
        CHECK_EQ(parse("tcp", "m\xc3\xbcller.example:1", &a), 0);
        CHECK_STR(a.name, "m\xc3\xbcller.example");
        CHECK_EQ(parse("tcp", ":whois++", &a), 0);
        CHECK_STR(a.service, "whois++");
}

TEST(malformed_addresses_are_refused)
{
        static const char *const bad[] = {
                "", ":", "127.0.0.1", "127.0.0.1:", "localhost", "[::1]", "[::1]:", "::1:80",
                "::1", "1:2:3", ":65536", ":99999999999999999999", ":-1", ":+1", ": 80", ":80 ",
                "127.0.0.1:80x y", "256.0.0.1:1", "1.2.3:1", "1.2.3.4.5:1", "01.2.3.4:1",
                "1..2.3:1",
                "127.0.0.1 :1", " 127.0.0.1:1", "12345:1", "a.9:1", "[]:1", "[::1:1", "::1]:1",
                "[127.0.0.1]:1", "[localhost]:1", "[::1]x:1", "[::1]1", "[::1%]:1", "[%eth0]:1",
                "[::1%a b]:1", "[::1%a%b]:1", "[:1]:1", "[1::2::3]:1", "[1:2:3:4:5:6:7]:1",
                "[1:2:3:4:5:6:7:8:9]:1", "[1:2:3:4:5:6:7::8]:1x y", "[::12345]:1", "[::g]:1",
                "[:::]:1", "[1:]:1", "[::1.2.3]:1", "[::1.2.3.4:1]:1", "[1.2.3.4::]:1",
                "[1:2:3:4:5:6:7:1.2.3.4]:1", "a b:1", "a..b:1", ".:1", ".a:1", "a/b:1", "a@b:1",
                "a:b:1", "http://a:1", "%:1", "*:1", "a:#",
        };

        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
                expect("tcp", bad[i], -EINVAL);
        expect("tcp4", "[::1]:1", -EINVAL);
        expect("udp6", "127.0.0.1:1", -EINVAL);
        expect("unix", "", -EINVAL);
        expect("unix", "@", -EINVAL);
}

TEST(lengths_are_bounded)
{
        struct addr a;
        char        text[1200], label[64];

        memset(label, 'a', 63);
        label[63] = '\0';
        snprintf(text, sizeof(text), "%s:1", label);
        CHECK_EQ(parse("tcp", text, &a), 0);
        snprintf(text, sizeof(text), "a%s:1", label);
        CHECK_EQ(parse("tcp", text, &a), -EINVAL);
        snprintf(text, sizeof(text), "%s.%s.%s.%.61s:1", label, label, label, label);
        CHECK_EQ(parse("tcp", text, &a), 0);
        snprintf(text, sizeof(text), "%s.%s.%s.%.62s:1", label, label, label, label);
        CHECK_EQ(parse("tcp", text, &a), -EINVAL);
        snprintf(text, sizeof(text), ":%s", label);
        CHECK_EQ(parse("tcp", text, &a), 0);
        snprintf(text, sizeof(text), ":a%s", label);
        CHECK_EQ(parse("tcp", text, &a), -EINVAL);
        snprintf(text, sizeof(text), "[::1%%%.31s]:1", label);
        CHECK_EQ(parse("tcp", text, &a), 0);
        snprintf(text, sizeof(text), "[::1%%%.32s]:1", label);
        CHECK_EQ(parse("tcp", text, &a), -EINVAL);
}

TEST(unix_addresses_are_paths_or_abstract)
{
        struct addr a;
        char        text[400];

        CHECK_EQ(parse("unix", "/tmp/a:b", &a), 0);
        CHECK(a.host == W_HOST_UNIX && !a.abstract && a.n_path == 8);
        CHECK_STR(a.path, "/tmp/a:b");
        CHECK_EQ(parse("unixgram", "@name", &a), 0);
        CHECK(a.abstract && a.n_path == 4);
        CHECK_STR(a.path, "name");
        memset(text, 'a', sizeof(text));
        text[107] = '\0';
        CHECK_EQ(parse("unix", text, &a), 0);
        CHECK_EQ(a.n_path, 107);
        text[107] = 'a';
        text[108] = '\0';
        CHECK_EQ(parse("unix", text, &a), -ENAMETOOLONG);
        text[0] = '@';
        CHECK_EQ(parse("unix", text, &a), 0);
        text[108] = 'a';
        text[399] = '\0';
        CHECK_EQ(parse("unix", text, &a), -ENAMETOOLONG);
}

/* ---- Against the C library ------------------------------------------------------------------- */

static void compare(const char *host)
{
        char        text[200];
        struct addr a;
        uint8_t     ip[16];
        bool        is_ip4 = inet_pton(AF_INET, host, ip) == 1;

        snprintf(text, sizeof(text), "%s:1", host);
        bool found = parse("tcp", text, &a) == 0 && a.host == W_HOST_IP4;

        CHECK_MSG(found == is_ip4 && (!found || memcmp(ip, a.ip, 4) == 0), "%s", text);
        bool is_ip6 = inet_pton(AF_INET6, host, ip) == 1;

        snprintf(text, sizeof(text), "[%s]:1", host);
        found = parse("tcp", text, &a) == 0 && !a.zone[0];
        CHECK_MSG(found == is_ip6 && (!found || memcmp(ip, a.ip, 16) == 0), "%s", text);
}

/* Mostly what looks like an address. */
static void write_host(uint64_t *rand, char *out)
{
        static const char *const pieces[] = { ":", "::", ".", "0", "1", "255", "256", "ffff", "a0",
                                              "12345", "1.2.3.4", "00", "g", "127", "fe80" };
        uint32_t                 n = 1 + w_rand_below(rand, 17);

        out[0] = '\0';
        for (uint32_t i = 0; i < n; i++) {
                strcat(out, pieces[w_rand_below(rand, sizeof(pieces) / sizeof(pieces[0]))]);
                if (w_rand_below(rand, 2))
                        strcat(out, w_rand_below(rand, 4) ? ":" : ".");
        }
}

TEST(ip_addresses_are_those_of_the_c_library)
{
        uint64_t rand = test_seed();

        for (long i = 0; i < test_scale(20000); i++) {
                char host[150];

                write_host(&rand, host);
                compare(host);
        }
        for (int i = 0; i < 2000; i++) {        /* the bits that are set */
                uint8_t ip[16];
                char    host[INET6_ADDRSTRLEN];

                for (int k = 0; k < 16; k++)
                        ip[k] = w_rand_below(&rand, 2) ? 0 : (uint8_t)w_rand_below(&rand, 256);
                CHECK(inet_ntop(AF_INET6, ip, host, sizeof(host)));
                compare(host);
                CHECK(inet_ntop(AF_INET, ip, host, sizeof(host)));
                compare(host);
        }
}

/* Any bytes: an answer, and no byte too far. */
TEST(noise_is_parsed_without_harm)
{
        uint64_t                 rand = test_seed();
        static const char        likely[] = "[]:.%@-_0123456789abcdefxyz/\n\xff";
        static const char *const nets[] = { "tcp", "tcp4", "udp6", "unix" };

        for (long i = 0; i < test_scale(20000); i++) {
                size_t      n = w_rand_below(&rand, 40);
                char       *text = malloc(n + 1);       /* to the byte, for ASan */
                struct addr a;

                CHECK(text);
                for (size_t k = 0; k < n; k++)
                        text[k] = w_rand_below(&rand, 8)
                                ? likely[w_rand_below(&rand, sizeof(likely) - 1)]
                                : (char)(1 + w_rand_below(&rand, 255));
                text[n] = '\0';
                int rc = parse(nets[w_rand_below(&rand, 4)], text, &a);

                CHECK(rc == 0 || rc == -EINVAL || rc == -ENAMETOOLONG);
                free(text);
        }
}
