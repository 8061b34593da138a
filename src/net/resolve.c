/* net/resolve.c - the addresses that a text stands for; names are looked up on another thread.
 *
 * Protocols   cites offload (net/offload.c).
 *
 * For dialling, IPv6 and IPv4 alternate. The family that the resolver has put first begins, and
 * within a family the resolver's order is kept (RFC 8305). For listening, IPv4 comes first, because
 * most peers will use it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "net/resolve.h"

#include "base/tuning.h"
#include "net/offload.h"
#include "wait/wait.h"

#include "weft.h"

#include <errno.h>      /* -Exxx */
#include <netdb.h>      /* struct addrinfo, EAI_* */
#include <string.h>

/* ---- Asking ---------------------------------------------------------------------------------- */

static void run_lookup(union offload_job *m)
{
        w_os_lookup_run(&m->lookup.ask, &m->lookup.answer);
}

static void drop_lookup(union offload_job *m)
{
        w_os_lookup_free(m->lookup.answer.list);
}

static struct offload_kind lookups = W_OFFLOAD_KIND(lookups, .name = "lookup",
                                                    .most = W_TUNE_LOOKUPS_MAX, .run = run_lookup,
                                                    .drop = drop_lookup, .free = drop_lookup);

static void write_number(char *out, uint32_t value)
{
        char   digits[10];
        size_t n = 0;

        do
                digits[n++] = (char)('0' + value % 10);
        while (value /= 10);
        for (size_t i = 0; i < n; i++)
                out[i] = digits[n - 1 - i];
        out[n] = '\0';
}

/* ---- Addresses ------------------------------------------------------------------------------- */

static const uint8_t any_ip[16], loopback4[4] = { 127, 0, 0, 1 };
static const uint8_t loopback6[16] = { [15] = 1 };

static void add_ip4(struct addrs *as, const uint8_t *ip, uint16_t port)
{
        w_os_addr_ip4(&as->few[as->n_few++], ip, port);
}

static void add_ip6(struct addrs *as, const uint8_t *ip, uint32_t zone, uint16_t port)
{
        w_os_addr_ip6(&as->few[as->n_few++], ip, zone, port);
}

/* No host. Listening: all addresses of this machine; dialling: this machine itself. */
static void add_any(struct addrs *as, const struct net *net, uint16_t port, enum addr_use use)
{
        if (use == W_TO_DIAL && net->ip4)
                add_ip4(as, loopback4, port);
        if (net->ip6)
                add_ip6(as, use == W_TO_DIAL ? loopback6 : any_ip, 0, port);
        if (use == W_TO_LISTEN && net->ip4)
                add_ip4(as, any_ip, port);
}

/* A number, or the name of an interface. */
static int find_zone(const char *text)
{
        uint32_t value = 0;

        if (!text[0])
                return 0;
        for (const char *c = text; *c >= '0' && *c <= '9'; c++) {
                value = value * 10 + (uint32_t)(*c - '0');
                if (value > INT32_MAX / 10)
                        return -ENODEV;
                if (!c[1])
                        return (int)value;
        }
        return w_os_zone_find(text);
}

/* Addresses that need no lookup. */
static int find_few(struct addrs *as, const struct net *net, const struct addr *addr,
                    enum addr_use use)
{
        int zone = 0;

        switch (addr->host) {
        case W_HOST_UNIX:
                w_os_addr_unix(&as->few[as->n_few++], addr->path, addr->n_path, addr->abstract);
                return 0;
        case W_HOST_ANY:
                add_any(as, net, addr->port, use);
                return 0;
        case W_HOST_IP4:
                add_ip4(as, addr->ip, addr->port);
                return 0;
        default:
                zone = find_zone(addr->zone);
                if (zone >= 0)
                        add_ip6(as, addr->ip, (uint32_t)zone, addr->port);
                return zone < 0 ? zone : 0;
        }
}

/* Looks up the host and the service in one question. */
static int look_up(struct addrs *as, const struct net *net, const struct addr *addr)
{
        union offload_job m = { .lookup = { .ask = { .has_service = true } } };
        struct w_os_lookup *ask = &m.lookup.ask;

        w_os_lookup_hint(ask, net->kind, net->ip4, net->ip6);
        if (addr->host == W_HOST_NAME) {
                ask->has_node = true;
                memcpy(ask->node, addr->name, sizeof(addr->name));
        }
        if (addr->service[0])
                memcpy(ask->service, addr->service, sizeof(addr->service));
        else
                write_number(ask->service, addr->port);
        int rc = w_offload_call(&lookups, &m, NULL);

        if (rc < 0)
                return rc;
        as->list = m.lookup.answer.list;
        return w_os_lookup_error(&m.lookup.answer);
}

/* Finds the port of a service: the port of the first address found. */
static int find_port(struct addrs *as, const struct net *net, struct addr *addr)
{
        int rc = look_up(as, net, addr);

        if (rc == 0)
                addr->port = w_os_lookup_port(as->list);
        w_os_lookup_free(as->list);
        as->list = NULL;
        return rc == -ENOENT ? -EINVAL : rc;
}

static int find(struct addrs *as, const struct net *net, struct addr *addr, enum addr_use use)
{
        int rc = 0;

        if (addr->host == W_HOST_NAME) {
                rc = look_up(as, net, addr);
                as->in_turn = use == W_TO_DIAL;
                as->turn = as->in_turn && as->list ? w_os_lookup_family(as->list) : W_OS_IP4;
                return rc;
        }
        if (addr->service[0])
                rc = find_port(as, net, addr);
        return rc < 0 ? rc : find_few(as, net, addr, use);
}

int w_addrs_find(struct addrs *as, const struct net *net, const char *text, enum addr_use use)
{
        struct addr addr;
        int         rc = w_addr_parse(net, text, &addr);

        memset(as, 0, sizeof(*as));
        if (rc == 0)
                rc = w_call_check();
        if (rc < 0)
                return rc;
        as->host = addr.host;
        return find(as, net, &addr, use);
}

void w_addrs_end(struct addrs *as)
{
        w_os_lookup_free(as->list);
        as->list = NULL;
}

static bool next_of(struct addrs *as, enum w_os_family family, struct w_os_addr *out)
{
        return w_os_lookup_next(as->list, &as->at[family], family, out);
}

bool w_addrs_next(struct addrs *as, struct w_os_addr *out)
{
        if (as->i_few < as->n_few) {
                *out = as->few[as->i_few++];
                return true;
        }
        if (!as->list)
                return false;
        enum w_os_family now = as->turn, other = now == W_OS_IP4 ? W_OS_IP6 : W_OS_IP4;

        if (as->in_turn)
                as->turn = other;
        return next_of(as, now, out) || next_of(as, other, out);
}

uint32_t w_addrs_remaining(const struct addrs *as)
{
        struct addrs     rest = *as;
        struct w_os_addr addr;
        uint32_t         n = 0;

        while (w_addrs_next(&rest, &addr))
                n++;
        return n;
}

/* ---- Public ---------------------------------------------------------------------------------- */

/* Returns 0, or EAI_* if the question is too long to be asked. */
static int write_question(struct w_os_lookup *ask, const char *node, const char *service,
                          const struct addrinfo *hints)
{
        ask->has_node = node != NULL;
        ask->has_service = service != NULL;
        ask->has_hints = hints != NULL;
        if (node && strlen(node) > W_OS_NODE_MAX)
                return EAI_NONAME;
        if (service && strlen(service) > W_OS_SERVICE_MAX)
                return EAI_SERVICE;
        if (node)
                strcpy(ask->node, node);
        if (service)
                strcpy(ask->service, service);
        if (hints) {
                ask->flags = hints->ai_flags;
                ask->family = hints->ai_family;
                ask->kind = hints->ai_socktype;
                ask->protocol = hints->ai_protocol;
        }
        return 0;
}

static int as_eai(int rc)
{
        switch (rc) {
        case -ETIMEDOUT:
        case -ECANCELED:
                return EAI_CANCELED;
        case -ESHUTDOWN:
                return rc;
        default:
                return EAI_MEMORY;
        }
}

static int get_addresses(union offload_job *m, struct addrinfo **res)
{
        int rc = w_call_check();

        if (rc == 0)
                rc = w_offload_call(&lookups, m, NULL);
        if (rc < 0)
                return as_eai(rc);
        *res = m->lookup.answer.list;
        if (m->lookup.answer.rc == EAI_SYSTEM)
                *w_os_errno() = m->lookup.answer.error;
        return m->lookup.answer.rc;
}

W_EXPORT int weft_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                              struct addrinfo **res)
{
        union offload_job m = { 0 };

        if (!res)
                return EAI_FAIL;
        int rc = write_question(&m.lookup.ask, node, service, hints);

        if (rc != 0)
                return rc;
        if (!w_call_begin())
                return -ESHUTDOWN;
        W_ENTER();
        rc = get_addresses(&m, res);
        W_LEAVE();
        w_call_end();
        return rc;
}
