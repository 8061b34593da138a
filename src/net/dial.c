/* net/dial.c - a connection to the first address of a name that answers.
 *
 * A single address is dialled by the caller. Of several addresses each is dialled by a goroutine,
 * in a scope of the caller. The next attempt begins once an attempt has failed, or after a head
 * start. The first connection ends all other attempts (RFC 8305, "happy eyeballs"). The results go
 * through a channel that has room for all of them, so that a connection that comes too late is
 * found there and closed.
 *
 * SPDX-License-Identifier: MIT
 */
#include "net/connect.h"
#include "net/poll.h"
#include "net/resolve.h"
#include "scope/tree.h"
#include "wait/wait.h"

#include "weft.h"

#include <errno.h>      /* -Exxx */

enum {
        HEAD_START_NS = 250000000, HEAD_START_MIN_NS = 10000000,
        SELF_ATTEMPTS = 3,              /* to get a local port other than the dialled port */
};

/* ---- One address ----------------------------------------------------------------------------- */

static int connect_new(int fd, const struct w_os_addr *addr)
{
        int          rc = w_os_socket_connect(fd, addr->bytes, addr->len);
        int          made = w_desc_made(fd);
        struct desc *d = made < 0 ? NULL : w_desc_begin(fd, &made);

        if (!d)
                return made;
        rc = w_connect_finish(d, fd, addr->bytes, addr->len, rc);
        (void)w_desc_end(d, fd);
        return rc;
}

static int dial_once(const struct w_os_addr *addr, enum w_os_kind kind)
{
        int fd = w_os_socket_open(addr->family, kind);

        if (fd < 0)
                return fd;
        int rc = connect_new(fd, addr);

        if (rc == 0)
                return fd;
        (void)weft_close(fd);
        return rc;
}

/* If there is no listener, the kernel may choose the dialled port as the local port: the socket is
 * then connected to itself. */
static int dial_addr(const struct w_os_addr *addr, enum w_os_kind kind)
{
        for (int i = 0; i < SELF_ATTEMPTS; i++) {
                int fd = dial_once(addr, kind);

                if (fd < 0 || kind != W_OS_STREAM || addr->family == W_OS_UNIX ||
                    !w_os_socket_is_self_connected(fd))
                        return fd;
                (void)weft_close(fd);
        }
        return -ECONNREFUSED;
}

/* ---- Several --------------------------------------------------------------------------------- */

/* These say less than any other error: there is no route to such an address from here. */
static bool is_no_way(int rc)
{
        return rc == -ENETUNREACH || rc == -EHOSTUNREACH || rc == -EAFNOSUPPORT ||
               rc == -EADDRNOTAVAIL || rc == -EPROTONOSUPPORT;
}

static void note_error(int *first, int rc)
{
        if (*first == 0 || (is_no_way(*first) && !is_no_way(rc)))
                *first = rc;
}

/* In the caller's frame, until the last attempt has ended. */
struct race {
        weft_scope    scope;
        weft_chan    *ends;             /* int: a descriptor, or -Exxx */
        weft_mutex    mutex;            /* for as: */
        struct addrs *as;
        uint32_t      n_left;           /* attempts that have not begun */
        uint32_t      n_running;        /* attempts without a result */
        int           error;            /* the first error that counts */
};

static int attempt(void *arg)
{
        struct race     *race = arg;
        struct w_os_addr addr;

        W_ENTER();
        weft_mutex_lock(&race->mutex);
        bool some = w_addrs_next(race->as, &addr);

        weft_mutex_unlock(&race->mutex);
        int end = some ? dial_addr(&addr, W_OS_STREAM) : -EADDRNOTAVAIL;

        (void)weft_chan_try_send(race->ends, &end);     /* there is room for all */
        W_LEAVE();
        return 0;
}

static void begin_next(struct race *race)
{
        int64_t id = weft_scope_go(&race->scope, attempt, race);

        race->n_left--;
        if (id > 0)
                race->n_running++;
        else
                note_error(&race->error, (int)id);
}

/* With little time left, all attempts get an equal share of it. */
static int64_t head_start(const struct race *race)
{
        struct scope *s = w_scope_current(w_g());
        int64_t       rest = s ? s->least_deadline : W_FOREVER;

        if (rest == W_FOREVER)
                return HEAD_START_NS;
        int64_t share = (rest - w_os_now()) / (race->n_left + 1);

        return share < HEAD_START_MIN_NS ? HEAD_START_MIN_NS
                                         : share < HEAD_START_NS ? share : HEAD_START_NS;
}

/* Returns 1: an attempt has ended, with the result *end; 0: the next attempt is due; -Exxx: the
 * caller must leave. */
static int await_end(struct race *race, int *end)
{
        weft_case cases[] = { WEFT_RECV(race->ends, end), WEFT_AFTER(head_start(race)) };
        int       i = weft_select(cases, race->n_left ? 2 : 1);

        return i < 0 ? i : i == 0;
}

/* Returns a descriptor, or -Exxx. Attempts may still be running. */
static int run_race(struct race *race)
{
        while (race->n_left || race->n_running) {
                int end = 0;
                int rc = race->n_running ? await_end(race, &end) : 0;

                if (rc < 0)
                        return rc;
                race->n_running -= (uint32_t)rc;
                if (rc == 1 && end >= 0)
                        return end;
                if (rc == 1)
                        note_error(&race->error, end);
                if (race->n_left)
                        begin_next(race);
        }
        int rc = w_call_check();

        return rc < 0 ? rc : race->error;
}

/* Closes the connections that came too late. */
static void close_others(struct race *race)
{
        int end;

        while (weft_chan_try_recv(race->ends, &end) == 0)
                if (end >= 0)
                        (void)weft_close(end);
}

static int dial_race(struct addrs *as, uint32_t n)
{
        struct race race = { .as = as, .n_left = n,
                             .ends = weft_chan_new(sizeof(int), n) };

        if (!race.ends)
                return -ENOMEM;
        int rc = weft_scope_open(&race.scope, WEFT_FOREVER);

        if (rc == 0) {
                rc = run_race(&race);
                weft_scope_cancel(&race.scope);
                (void)weft_scope_close(&race.scope);
                close_others(&race);
        }
        weft_chan_unref(race.ends);
        return rc;
}

/* Dials one address after the other. */
static int dial_in_order(struct addrs *as, enum w_os_kind kind)
{
        struct w_os_addr addr;
        int              error = 0;

        while (w_addrs_next(as, &addr)) {
                int rc = dial_addr(&addr, kind);

                if (rc >= 0)
                        return rc;
                note_error(&error, rc);
                rc = w_call_check();
                if (rc < 0)
                        return rc;
        }
        return error ? error : -EADDRNOTAVAIL;
}

/* ---- Public ---------------------------------------------------------------------------------- */

static int dial(const struct net *net, const char *text)
{
        struct addrs as;
        int          rc = w_addrs_find(&as, net, text, W_TO_DIAL);

        if (rc == 0) {
                uint32_t n = w_addrs_remaining(&as);

                rc = n > 1 && net->kind == W_OS_STREAM ? dial_race(&as, n)
                                                       : dial_in_order(&as, net->kind);
        }
        w_addrs_end(&as);
        return rc;
}

W_EXPORT int weft_dial(const char *net_text, const char *addr_text)
{
        struct net net;

        if (!net_text || !addr_text || !w_net_parse(net_text, &net))
                return -EINVAL;
        if (!w_call_begin())
                return -ESHUTDOWN;
        W_ENTER();
        int rc = dial(&net, addr_text);

        W_LEAVE();
        w_call_end();
        return rc;
}
