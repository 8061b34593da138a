/* fuzz/fuzz_addr.c - any text as network and address: src/net/addr.c.
 *
 * The first line is the network, the rest the address, each up to a zero. Both lie in memory of
 * just their size. What is accepted is compared with what the C library returns for numbers and IP
 * addresses. What was understood, written anew, is understood in the same way.
 *
 * SPDX-License-Identifier: MIT
 */
#include "net/addr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = W_NAME_MAX + W_SERVICE_MAX + W_OS_UNIX_MAX };

#define MUST(cond) ((cond) ? (void)0 : fail(#cond))

static const char *at_work;

static void fail(const char *what)
{
        fprintf(stderr, "fuzz_addr: \"%s\": wrong: %s\n", at_work, what);
        abort();
}

/* ---- What the C library says ----------------------------------------------------------------- */

static bool library_knows(int family, const char *at, size_t n, uint8_t *ip)
{
        char text[INET6_ADDRSTRLEN];

        if (n >= sizeof(text) || memchr(at, '\0', n))
                return false;
        memcpy(text, at, n);
        text[n] = '\0';
        return inet_pton(family, text, ip) == 1;
}

static void check_port(const struct addr *a, const char *text)
{
        char *end;

        MUST(strlen(a->service) <= W_SERVICE_MAX);
        if (a->service[0] != '\0')
                MUST(strcmp(a->service, text) == 0 && a->port == 0);
        else
                MUST(strtoul(text, &end, 10) == a->port && *end == '\0' && end > text);
}

/* ---- What was taken -------------------------------------------------------------------------- */

static void check_plain(const struct net *net, const struct addr *a, const char *text)
{
        const char *colon = strchr(text, ':');
        uint8_t     ip[4];

        MUST(colon);
        size_t n = (size_t)(colon - text);
        bool   is_ip4 = library_knows(AF_INET, text, n, ip);

        MUST(is_ip4 == (a->host == W_HOST_IP4));
        MUST(!is_ip4 || (net->ip4 && memcmp(ip, a->ip, 4) == 0));
        MUST((n == 0) == (a->host == W_HOST_ANY));
        if (a->host == W_HOST_NAME)
                MUST(strlen(a->name) == n && memcmp(a->name, text, n) == 0);
        MUST(a->host != W_HOST_IP6 && a->host != W_HOST_UNIX && a->zone[0] == '\0');
        check_port(a, colon + 1);
}

static void check_bracketed(const struct net *net, const struct addr *a, const char *text)
{
        const char *close = strchr(text, ']');
        uint8_t     ip[16];

        MUST(close && a->host == W_HOST_IP6 && net->ip6);
        size_t n = strcspn(text + 1, "%]");

        MUST(library_knows(AF_INET6, text + 1, n, ip) && memcmp(ip, a->ip, 16) == 0);
        size_t n_zone = strlen(a->zone);

        MUST((text[1 + n] == '%') == (n_zone > 0));
        if (n_zone > 0)
                MUST(text + 2 + n + n_zone == close && memcmp(text + 2 + n, a->zone, n_zone) == 0);
        MUST(close[1] == ':');
        check_port(a, close + 2);
}

static void check_unix(const struct addr *a, const char *text)
{
        MUST(a->host == W_HOST_UNIX && a->abstract == (text[0] == '@'));
        MUST(a->n_path > 0 && a->n_path <= W_OS_UNIX_MAX && strlen(a->path) == a->n_path);
        MUST(strcmp(a->path, text + a->abstract) == 0);
}

/* ---- What was refused ------------------------------------------------------------------------ */

/* A numeric address and a numeric port are always accepted, by networks that have them. */
static void check_refused(const struct net *net, const char *text, int rc)
{
        size_t  n = text[0] == '[' ? strcspn(text, "]") + 1 : strcspn(text, ":");
        size_t  n_port = strlen(text) > n ? strspn(text + n + 1, "0123456789") : 0;
        uint8_t ip[16];

        if (net->is_unix) {
                bool is_abstract = text[0] == '@';

                MUST(rc == (text[is_abstract] == '\0' ? -EINVAL : -ENAMETOOLONG));
                MUST(rc == -EINVAL || strlen(text + is_abstract) > W_OS_UNIX_MAX);
                return;
        }
        MUST(rc == -EINVAL);
        if (n_port == 0 || n_port > 4 || text[n] != ':' || text[n + 1 + n_port] != '\0')
                return;
        if (text[0] == '[')
                MUST(!net->ip6 || !library_knows(AF_INET6, text + 1, n - 2, ip));
        else
                MUST(n > 0 && (!net->ip4 || !library_knows(AF_INET, text, n, ip)));
}

/* ---- Written anew ---------------------------------------------------------------------------- */

static void write_host(const struct addr *a, char *out, size_t size)
{
        char ip[INET6_ADDRSTRLEN] = "";

        if (a->host == W_HOST_IP4 || a->host == W_HOST_IP6)
                MUST(inet_ntop(a->host == W_HOST_IP4 ? AF_INET : AF_INET6, a->ip, ip, sizeof(ip)));
        if (a->host == W_HOST_IP6)
                snprintf(out, size, "[%s%s%s]", ip, a->zone[0] ? "%" : "", a->zone);
        else
                snprintf(out, size, "%s", a->host == W_HOST_IP4 ? ip : a->name);
}

static void write_anew(const struct addr *a, char *out, size_t size)
{
        char host[TEXT_MAX], port[8];

        snprintf(port, sizeof(port), "%u", a->port);
        write_host(a, host, sizeof(host));
        if (a->host == W_HOST_UNIX)
                snprintf(out, size, "%s%s", a->abstract ? "@" : "", a->path);
        else
                snprintf(out, size, "%s:%s", host, a->service[0] ? a->service : port);
}

static void check_again(const struct net *net, const struct addr *a)
{
        char        text[TEXT_MAX];
        struct addr b;

        write_anew(a, text, sizeof(text));
        MUST(w_addr_parse(net, text, &b) == 0);
        MUST(a->host == b.host && a->port == b.port && a->abstract == b.abstract);
        MUST(a->n_path == b.n_path && strcmp(a->path, b.path) == 0);
        MUST(strcmp(a->zone, b.zone) == 0 && strcmp(a->name, b.name) == 0);
        MUST(strcmp(a->service, b.service) == 0);
        if (a->host == W_HOST_IP4 || a->host == W_HOST_IP6)
                MUST(memcmp(a->ip, b.ip, a->host == W_HOST_IP4 ? 4 : 16) == 0);
}

static void check_addr(const struct net *net, const char *text)
{
        struct addr a;
        int         rc = w_addr_parse(net, text, &a);

        at_work = text;
        if (rc != 0) {
                check_refused(net, text, rc);
                return;
        }
        if (net->is_unix)
                check_unix(&a, text);
        else if (text[0] == '[')
                check_bracketed(net, &a, text);
        else
                check_plain(net, &a, text);
        check_again(net, &a);
}

/* ---- One input ------------------------------------------------------------------------------- */

static bool is_one_of_eight(const char *text)
{
        static const char *const all[] = { "tcp", "tcp4", "tcp6", "udp", "udp4", "udp6", "unix",
                                           "unixgram" };

        for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
                if (strcmp(text, all[i]) == 0)
                        return true;
        return false;
}

static char *text_of(const uint8_t *data, size_t size)
{
        size_t n = size ? strnlen((const char *)data, size) : 0;
        char  *text = malloc(n + 1);

        MUST(text);
        if (n > 0)
                memcpy(text, data, n);
        text[n] = '\0';
        return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const uint8_t *line = size ? memchr(data, '\n', size) : NULL;
        size_t         n = line ? (size_t)(line - data) : size;
        char          *network = text_of(data, n);
        char          *text = line ? text_of(line + 1, size - n - 1) : text_of(data, 0);
        struct net     net;

        at_work = network;
        bool known = w_net_parse(network, &net);

        MUST(known == is_one_of_eight(network));
        if (known)
                check_addr(&net, text);
        free(text);
        free(network);
        return 0;
}
