/* tests/unit/test_resolve.c - the order in which addresses are tried.
 *
 * SPDX-License-Identifier: MIT
 */
#include "harness/test.h"
#include "net/resolve.h"

#include <netdb.h>
#include <netinet/in.h>
#include <string.h>

enum { LIST_MAX = 8 };

/* What a resolver would have found: "6a 4b" is an IPv6 address that ends in 'a', then an IPv4 one
 * that ends in 'b'. */
struct found {
        struct addrinfo         ais[LIST_MAX];
        struct sockaddr_storage at[LIST_MAX];
};

static void find_one(struct addrinfo *ai, struct sockaddr_storage *at, const char *what)
{
        struct sockaddr_in6 *in6 = (void *)at;
        struct sockaddr_in  *in4 = (void *)at;
        bool                 is6 = what[0] == '6';

        *ai = (struct addrinfo){ .ai_family = is6 ? AF_INET6 : AF_INET, .ai_addr = (void *)at,
                                 .ai_addrlen = is6 ? sizeof(*in6) : sizeof(*in4) };
        memset(at, 0, sizeof(*at));
        at->ss_family = (sa_family_t)ai->ai_family;
        if (is6)
                in6->sin6_addr.s6_addr[15] = (uint8_t)what[1];
        else
                in4->sin_addr.s_addr = htonl((uint32_t)what[1]);
}

static void find(struct found *f, const char *list)
{
        for (size_t i = 0; i < LIST_MAX && strlen(list) >= 3 * i + 2; i++) {
                find_one(&f->ais[i], &f->at[i], list + 3 * i);
                if (i > 0)
                        f->ais[i - 1].ai_next = &f->ais[i];
        }
}

static void write_one(char *out, const struct w_os_addr *addr)
{
        struct sockaddr_in6 in6;
        struct sockaddr_in  in4;

        memcpy(&in6, addr->bytes, sizeof(in6));
        memcpy(&in4, addr->bytes, sizeof(in4));
        out[0] = addr->family == W_OS_IP6 ? '6' : '4';
        out[1] = (char)(addr->family == W_OS_IP6 ? in6.sin6_addr.s6_addr[15]
                                                 : ntohl(in4.sin_addr.s_addr));
}

/* In turn: as for a dial, beginning with the family of the first. Else as to listen. */
static void expect(const char *list, bool in_turn, const char *order)
{
        struct found     f;
        struct w_os_addr addr;
        char             tried[3 * LIST_MAX + 1] = "";

        find(&f, list);
        struct addrs as = { .list = f.ais, .in_turn = in_turn,
                            .turn = in_turn ? w_os_lookup_family(f.ais) : W_OS_IP4 };
        uint32_t     n = w_addrs_remaining(&as);

        CHECK_EQ(n, (strlen(list) + 1) / 3);
        for (uint32_t i = 0; i < n; i++) {
                CHECK(w_addrs_next(&as, &addr));
                CHECK_EQ(w_addrs_remaining(&as), n - 1 - i);
                if (i > 0)
                        tried[3 * i - 1] = ' ';
                write_one(tried + 3 * i, &addr);
        }
        CHECK(!w_addrs_next(&as, &addr));
        CHECK_STR(tried, order);
}

/* RFC 8305, 4: in the resolver's order, but the families in turn, so that a family without a route
 * delays the other by one attempt only. */
TEST(to_dial_the_families_take_turns)
{
        expect("6a 6b 4a 4b", true, "6a 4a 6b 4b");
        expect("4a 4b 6a 6b", true, "4a 6a 4b 6b");
        expect("6a 4a 4b 6b", true, "6a 4a 6b 4b");
        expect("6a 6b 6c 4a", true, "6a 4a 6b 6c");
        expect("4a 6a 6b 6c", true, "4a 6a 6b 6c");
        expect("6a 6b", true, "6a 6b");
        expect("4b 4a", true, "4b 4a");
        expect("6a", true, "6a");
}

TEST(to_listen_ip4_comes_first)
{
        expect("6a 6b 4a 4b", false, "4a 4b 6a 6b");
        expect("4a 6a 4b 6b", false, "4a 4b 6a 6b");
        expect("6b 6a", false, "6b 6a");
}
