/* socks5.c - a SOCKS5 proxy (RFC 1928): CONNECT to names, IPv4 and IPv6, without a password.
 *
 *   socks5 [ADDRESS]   127.0.0.1:1080 by default; SIGINT and SIGTERM end it
 *
 * Each direction of a connection has its own goroutine. When one direction ends, the proxy shuts
 * down that direction on the other side. The other direction continues.
 */
#include "server.h"

#include <arpa/inet.h>
#include <stdint.h>

enum {
        VERSION = 5,
        NO_PASSWORD = 0, NO_METHOD = 0xff,
        CONNECT = 1,
        TO_IPV4 = 1, TO_NAME = 3, TO_IPV6 = 4,
};

enum reply { DONE = 0, FAILED = 1, NET_UNREACHABLE = 3, HOST_UNREACHABLE = 4, REFUSED = 5,
             TIMED_OUT = 6, NO_SUCH_COMMAND = 7, NO_SUCH_ADDRESS = 8 };

/* ---- What is asked --------------------------------------------------------------------------- */

static bool get(int fd, void *bytes, size_t n)
{
        return weft_read_full(fd, bytes, n) == (ssize_t)n;
}

static bool put(int fd, const void *bytes, size_t n)
{
        return weft_write_all(fd, bytes, n) == (ssize_t)n;
}

/* The peer lists the authentication methods that it supports. "No password" must be in the list. */
static bool greet(int fd)
{
        uint8_t head[2], methods[255];

        if (!get(fd, head, 2) || head[0] != VERSION || !get(fd, methods, head[1]))
                return false;
        bool    known = memchr(methods, NO_PASSWORD, head[1]) != NULL;
        uint8_t answer[2] = { VERSION, known ? NO_PASSWORD : NO_METHOD };

        return put(fd, answer, 2) && known;
}

static bool say(int fd, enum reply reply)
{
        uint8_t answer[10] = { VERSION, (uint8_t)reply, 0, TO_IPV4 };

        return put(fd, answer, sizeof(answer));
}

static bool refuse(int fd, enum reply why)
{
        (void)say(fd, why);
        return false;
}

/* Reads an address and formats it as "host:port" for weft_dial. False: the peer has closed the
 * connection, or the kind or the name of the address is not supported. */
static bool get_address(int fd, int kind, char *text, size_t size)
{
        uint8_t bytes[256] = { 0 }, n = 0, port[2];
        char    host[INET6_ADDRSTRLEN];

        if (kind != TO_IPV4 && kind != TO_IPV6 && kind != TO_NAME)
                return refuse(fd, NO_SUCH_ADDRESS);
        if (kind == TO_NAME && !get(fd, &n, 1))
                return false;
        if (!get(fd, bytes, kind == TO_NAME ? n : kind == TO_IPV4 ? 4 : 16) || !get(fd, port, 2))
                return false;
        if (kind == TO_NAME && (n == 0 || strlen((char *)bytes) != n ||
                                strpbrk((char *)bytes, ":[]/")))
                return refuse(fd, NO_SUCH_ADDRESS);
        if (kind != TO_NAME)
                inet_ntop(kind == TO_IPV4 ? AF_INET : AF_INET6, bytes, host, sizeof(host));
        snprintf(text, size, kind == TO_IPV6 ? "[%s]:%d" : "%s:%d",
                 kind == TO_NAME ? (char *)bytes : host, port[0] << 8 | port[1]);
        return true;
}

static enum reply reply_for(int error)
{
        switch (error) {
        case -ECONNREFUSED:
                return REFUSED;
        case -ENETUNREACH:
                return NET_UNREACHABLE;
        case -EHOSTUNREACH:
        case -ENOENT:
                return HOST_UNREACHABLE;
        case -ETIMEDOUT:
                return TIMED_OUT;
        default:
                return FAILED;
        }
}

/* The connection that the peer asks for, or a negative number. */
static int dial_for(int fd)
{
        uint8_t head[4];
        char    address[300];

        if (!greet(fd) || !get(fd, head, 4) || head[0] != VERSION)
                return -1;
        if (!get_address(fd, head[3], address, sizeof(address)))
                return -1;
        if (head[1] != CONNECT) {
                (void)say(fd, NO_SUCH_COMMAND);
                return -1;
        }
        weft_scope scope;
        int        to = weft_scope_open(&scope, WEFT_SEC(10));

        if (to == 0) {
                to = weft_dial("tcp", address);
                weft_scope_close(&scope);
        }
        (void)say(fd, to < 0 ? reply_for(to) : DONE);
        return to;
}

/* ---- Relaying -------------------------------------------------------------------------------- */

struct way {
        int from, to;
};

/* Copies one direction until its end. An error ends the other direction too; end of file does
 * not. */
static int relay(void *arg)
{
        struct way way = *(struct way *)arg;
        char       bytes[8192];
        ssize_t    n;

        while ((n = weft_read(way.from, bytes, sizeof(bytes))) > 0)
                if (weft_write_all(way.to, bytes, (size_t)n) < n)
                        return -EPIPE;
        shutdown(way.to, SHUT_WR);
        return n < 0 ? (int)n : 0;
}

static void relay_both(int a, int b)
{
        struct way there = { a, b }, back = { b, a };
        weft_scope scope;

        if (weft_scope_open(&scope, WEFT_FOREVER) < 0)
                return;
        if (weft_scope_go(&scope, relay, &there) > 0 && relay(&back) < 0)
                weft_scope_cancel(&scope);
        weft_scope_close(&scope);
}

static void serve(int fd, void *arg)
{
        weft_scope hurry;
        int        to = weft_scope_open(&hurry, WEFT_SEC(20));

        (void)arg;
        if (to == 0) {                  /* the deadline of everything before the relay */
                to = dial_for(fd);
                weft_scope_close(&hurry);
        }
        if (to >= 0) {
                relay_both(fd, to);
                weft_close(to);
        }
        weft_close(fd);
}

static const char usage[] =
        "usage: socks5 [ADDRESS]\n"
        "A SOCKS5 proxy; listens on ADDRESS (127.0.0.1:1080; port 0: any that is free).\n";

int main(int argc, char **argv)
{
        struct server s = { .program = "socks5", .address = "127.0.0.1:1080", .serve = serve,
                            .n_connections = 10000 };

        server_arguments(&s, argc, argv, usage);
        return server_run(&s);
}
