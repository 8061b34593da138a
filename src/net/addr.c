/* net/addr.c - networks and addresses as programs write them.
 *
 *   IP     host:port   host: empty; 127.0.0.1; [::1], [fe80::1%eth0]; a name
 *                      port: 0 to 65535, or the name of a service
 *   unix   a path, or @ and an abstract name
 *
 * An IPv4 address has four decimal numbers without leading zeros. A text with a number as
 * its last label is not a name: it was meant as an IPv4 address.
 *
 * SPDX-License-Identifier: MIT
 */
#include "net/addr.h"

#include <errno.h>      /* -EINVAL, -ENAMETOOLONG */
#include <string.h>

/* A piece of text, not terminated. */
struct span {
        const char *at;
        size_t      n;
};

static bool is_digit(char c)
{
        return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_number(struct span s)
{
        for (size_t i = 0; i < s.n; i++)
                if (!is_digit(s.at[i]))
                        return false;
        return s.n > 0;
}

/* False: too long. */
static bool copy(char *out, size_t most, struct span s)
{
        if (s.n > most)
                return false;
        memcpy(out, s.at, s.n);
        out[s.n] = '\0';
        return true;
}

/* ---- Networks -------------------------------------------------------------------------------- */

bool w_net_parse(const char *text, struct net *out)
{
        static const struct {
                const char *name;
                struct net  net;
        } all[] = {
                { "tcp",      { W_OS_STREAM, false, true,  true  } },
                { "tcp4",     { W_OS_STREAM, false, true,  false } },
                { "tcp6",     { W_OS_STREAM, false, false, true  } },
                { "udp",      { W_OS_PACKET, false, true,  true  } },
                { "udp4",     { W_OS_PACKET, false, true,  false } },
                { "udp6",     { W_OS_PACKET, false, false, true  } },
                { "unix",     { W_OS_STREAM, true,  false, false } },
                { "unixgram", { W_OS_PACKET, true,  false, false } },
        };

        for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
                if (strcmp(text, all[i].name) != 0)
                        continue;
                *out = all[i].net;
                return true;
        }
        return false;
}

/* ---- IPv4 ------------------------------------------------------------------------------------ */

static bool parse_byte(struct span s, uint8_t *out)
{
        unsigned value = 0;

        if (!is_number(s) || s.n > 3 || (s.n > 1 && s.at[0] == '0'))
                return false;
        for (size_t i = 0; i < s.n; i++)
                value = value * 10 + (unsigned)(s.at[i] - '0');
        *out = (uint8_t)value;
        return value <= 255;
}

static size_t find(struct span s, char c)
{
        size_t i = 0;

        while (i < s.n && s.at[i] != c)
                i++;
        return i;
}

static bool parse_ip4(struct span s, uint8_t out[4])
{
        for (int i = 0; i < 4; i++) {
                size_t n = i < 3 ? find(s, '.') : s.n;

                if (n == s.n && i < 3)
                        return false;
                if (!parse_byte((struct span){ s.at, n }, &out[i]))
                        return false;
                if (i < 3)
                        s = (struct span){ s.at + n + 1, s.n - n - 1 };
        }
        return true;
}

/* ---- IPv6 ------------------------------------------------------------------------------------ */

static int hex_value(char c)
{
        if (is_digit(c))
                return c - '0';
        if (c >= 'a' && c <= 'f')
                return c - 'a' + 10;
        return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* One to four digits. */
static bool parse_group(struct span s, uint8_t out[2])
{
        unsigned value = 0;

        if (s.n < 1 || s.n > 4)
                return false;
        for (size_t i = 0; i < s.n; i++) {
                int digit = hex_value(s.at[i]);

                if (digit < 0)
                        return false;
                value = value << 4 | (unsigned)digit;
        }
        out[0] = (uint8_t)(value >> 8);
        out[1] = (uint8_t)value;
        return true;
}

/* Groups between single colons; the last may be an IPv4 address. Returns the number of bytes, or
 * -1. */
static int parse_groups(struct span s, uint8_t *out, int most)
{
        int n_out = 0;

        if (s.n == 0)
                return 0;
        for (;;) {
                size_t      n = find(s, ':');
                struct span group = { s.at, n };

                if (n == s.n && find(group, '.') < n) {
                        bool fits = n_out + 4 <= most && parse_ip4(group, out + n_out);

                        return fits ? n_out + 4 : -1;
                }
                if (n_out + 2 > most || !parse_group(group, out + n_out))
                        return -1;
                n_out += 2;
                if (n == s.n)
                        return n_out;
                s = (struct span){ s.at + n + 1, s.n - n - 1 };
        }
}

/* Returns where "::" begins; s.n: there is none. */
static size_t find_gap(struct span s)
{
        for (size_t i = 0; i + 1 < s.n; i++)
                if (s.at[i] == ':' && s.at[i + 1] == ':')
                        return i;
        return s.n;
}

static bool parse_ip6(struct span s, uint8_t out[16])
{
        size_t  gap = find_gap(s);
        uint8_t tail[16];

        memset(out, 0, 16);
        if (gap == s.n)
                return parse_groups(s, out, 16) == 16;
        struct span before = { s.at, gap }, after = { s.at + gap + 2, s.n - gap - 2 };

        if (find(before, '.') < before.n)       /* an IPv4 address may only be the end */
                return false;
        int n_head = parse_groups(before, out, 14);
        int n_tail = n_head < 0 ? -1 : parse_groups(after, tail, 14 - n_head);

        if (n_tail < 0)
                return false;
        memcpy(out + 16 - n_tail, tail, (size_t)n_tail);
        return true;
}

/* ---- Host and port --------------------------------------------------------------------------- */

static bool parse_bracketed(const struct net *net, struct span s, struct addr *out)
{
        size_t      percent = find(s, '%');
        struct span zone = { s.at + percent + 1, percent < s.n ? s.n - percent - 1 : 0 };

        out->host = W_HOST_IP6;
        if (!net->ip6 || !parse_ip6((struct span){ s.at, percent }, out->ip))
                return false;
        if (percent == s.n)
                return true;
        for (size_t i = 0; i < zone.n; i++)
                if ((unsigned char)zone.at[i] <= ' ' || zone.at[i] == '%' || zone.at[i] == '/')
                        return false;
        return zone.n > 0 && copy(out->zone, W_ZONE_MAX, zone);
}

/* Letters, digits, hyphens and underscores, and any character that is not ASCII. */
static bool is_label(struct span s)
{
        for (size_t i = 0; i < s.n; i++) {
                char c = s.at[i];

                if (!is_letter(c) && !is_digit(c) && c != '-' && c != '_' && !(c & 0x80))
                        return false;
        }
        return s.n > 0 && s.n <= 63;
}

static bool is_name(struct span s)
{
        if (s.n == 0 || s.n > W_NAME_MAX)
                return false;
        if (s.n > 1 && s.at[s.n - 1] == '.')
                s.n--;                  /* the root may be written */
        for (;;) {
                size_t n = find(s, '.');

                if (!is_label((struct span){ s.at, n }))
                        return false;
                if (n == s.n)
                        return !is_number(s);
                s = (struct span){ s.at + n + 1, s.n - n - 1 };
        }
}

static bool parse_host(const struct net *net, struct span s, struct addr *out)
{
        if (s.n == 0) {
                out->host = W_HOST_ANY;
                return true;
        }
        if (parse_ip4(s, out->ip)) {
                out->host = W_HOST_IP4;
                return net->ip4;
        }
        out->host = W_HOST_NAME;
        return is_name(s) && copy(out->name, W_NAME_MAX, s);
}

static bool parse_port(struct span s, struct addr *out)
{
        uint32_t value = 0;

        if (is_number(s)) {
                for (size_t i = 0; i < s.n; i++) {
                        value = value * 10 + (uint32_t)(s.at[i] - '0');
                        if (value > 65535)
                                return false;
                }
                out->port = (uint16_t)value;
                return true;
        }
        for (size_t i = 0; i < s.n; i++)
                if (!is_letter(s.at[i]) && !is_digit(s.at[i]) &&
                    (i == 0 || !strchr("-_.+*/", s.at[i])))
                        return false;
        return s.n > 0 && copy(out->service, W_SERVICE_MAX, s);
}

/* The last colon stands before the port; other colons stand only in brackets. */
static bool parse_ip(const struct net *net, struct span s, struct addr *out)
{
        if (s.n > 0 && s.at[0] == '[') {
                size_t close = find(s, ']');

                return close + 1 < s.n && s.at[close + 1] == ':' &&
                       parse_bracketed(net, (struct span){ s.at + 1, close - 1 }, out) &&
                       parse_port((struct span){ s.at + close + 2, s.n - close - 2 }, out);
        }
        size_t colon = find(s, ':');

        return colon < s.n && parse_host(net, (struct span){ s.at, colon }, out) &&
               parse_port((struct span){ s.at + colon + 1, s.n - colon - 1 }, out);
}

/* ---- Unix ------------------------------------------------------------------------------------ */

static int parse_unix(struct span s, struct addr *out)
{
        out->host = W_HOST_UNIX;
        out->abstract = s.n > 0 && s.at[0] == '@';
        if (out->abstract)
                s = (struct span){ s.at + 1, s.n - 1 };
        if (s.n == 0)
                return -EINVAL;
        out->n_path = (uint8_t)s.n;
        return copy(out->path, W_OS_UNIX_MAX, s) ? 0 : -ENAMETOOLONG;
}

int w_addr_parse(const struct net *net, const char *text, struct addr *out)
{
        struct span s = { text, strlen(text) };

        memset(out, 0, sizeof(*out));
        if (net->is_unix)
                return parse_unix(s, out);
        return parse_ip(net, s, out) ? 0 : -EINVAL;
}
