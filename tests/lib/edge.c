/* tests/lib/edge.c - sockets that weft treats as edge-triggered descriptors, as if it had made
 * them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/edge.h"

int edge_made(int fd)
{
        uint32_t before = w_enter();
        int      rc = w_desc_made(fd);

        w_leave(before);
        return rc;
}

void edge_both(const int fds[2])
{
        CHECK_EQ(edge_made(fds[0]), 0);
        CHECK_EQ(edge_made(fds[1]), 0);
}

void edge_unix_pair(int fds[2])
{
        CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
}

void edge_tcp_pair(int fds[2])
{
        struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000001) };
        socklen_t          size = sizeof(at);
        int                one = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct linger      at_once = { .l_onoff = 1 };

        CHECK_EQ(bind(listener, (struct sockaddr *)&at, size), 0);
        CHECK_EQ(listen(listener, 1), 0);
        CHECK_EQ(getsockname(listener, (struct sockaddr *)&at, &size), 0);
        fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        CHECK_EQ(test_connect(fds[0], &at, size), 0);
        fds[1] = test_accept(listener);
        CHECK(fds[1] >= 0);
        CHECK_EQ(close(listener), 0);
        for (int i = 0; i < 2; i++) {
                CHECK_EQ(setsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)), 0);
                CHECK_EQ(setsockopt(fds[i], SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
        }
}

void edge_close(const int fds[2])
{
        CHECK_EQ(weft_close(fds[0]), 0);
        CHECK_EQ(weft_close(fds[1]), 0);
}

uint32_t edge_users(int fd)
{
        struct desc *d = w_desc_find(fd);

        return d ? w_load_rlx(&d->users) & ~W_DESC_CLOSING : 0;
}
