/* os/sim/socket.c - sockets of the simulated machine, and a network between them. Contract:
 * os/socket.h.
 *
 * A connection takes some time, or is never made: the address says which, see sim.h. Events that
 * are due at a later time are applied by the first call after that time (w_sim_net_settle). The
 * poller wakes its sleepers for them. A stream is two pipes of a few bytes.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/sim/machine.h"

#include <errno.h>      /* ECONNREFUSED and others */
#include <string.h>

enum { SLOW_NS = 249800000, AGAIN_NS = 1000000, GIVES_UP_NS = 1000000000 };

static struct sim_addr addr_of(const void *bytes)
{
        struct sim_addr sa;

        memcpy(&sa, bytes, sizeof(sa));
        return sa;
}

static struct sim_socket *socket_of(int fd)
{
        struct sim_file *file = w_sim_file(fd);

        return file ? file->socket : NULL;
}

/* ---- The network ----------------------------------------------------------------------------- */

static struct sim_socket *find_listener(uint32_t port)
{
        for (uint32_t i = 0; i < N_SOCKETS; i++)
                if (w_sim.net.sockets[i].state == S_LISTENS && w_sim.net.sockets[i].port == port)
                        return &w_sim.net.sockets[i];
        return NULL;
}

static struct sim_socket *new_socket(void)
{
        for (uint32_t i = 0; i < N_SOCKETS; i++) {
                struct sim_socket *s = &w_sim.net.sockets[i];

                if (s->state != S_FREE)
                        continue;
                *s = (struct sim_socket){ .state = S_FRESH, .due_at = W_FOREVER };
                if (i >= w_sim.net.sockets_end)
                        w_sim.net.sockets_end = i + 1;
                return s;
        }
        sim_fail("too many sockets");
}

static void wake_sleeper(struct sim_socket *s)
{
        if (s->sleeper && s->sleeper->state == M_WAITING)
                w_sim_wake(s->sleeper);
}

static void fail(struct sim_socket *s, int error)
{
        s->state = S_FAILED;
        s->error = error;
        s->due_at = W_FOREVER;
        s->in = s->out = NULL;
        w_sim_poller_mark_socket(s);
        wake_sleeper(s);
}

static struct sim_pipe *new_line(void)
{
        struct sim_pipe *pipe = w_sim_new_pipe();

        pipe->n_ends = 2;
        pipe->n_readers = pipe->n_writers = 1;
        return pipe;
}

static void become_connected(struct sim_socket *s, struct sim_socket *listener)
{
        struct sim_socket *peer = new_socket();

        s->in = peer->out = new_line();
        s->out = peer->in = new_line();
        s->state = peer->state = S_CONNECTED;
        peer->way = s->way;
        peer->port = s->port;
        s->due_at = W_FOREVER;
        listener->pending[listener->n_pending++] = peer;
        w_sim_poller_mark_socket(s);
        w_sim_poller_mark_socket(listener);
        wake_sleeper(s);
}

static void decide(struct sim_socket *s)
{
        struct sim_socket *listener = find_listener(s->port);

        if (s->way == SIM_BLACK)
                fail(s, ETIMEDOUT);
        else if (s->way == SIM_REFUSES || !listener)
                fail(s, ECONNREFUSED);
        else if (listener->n_pending == N_BACKLOG)
                s->due_at = w_sim.now + AGAIN_NS;       /* the packet was dropped: try again */
        else
                become_connected(s, listener);
}

void w_sim_net_settle(void)
{
        for (uint32_t i = 0; i < w_sim.net.sockets_end; i++) {
                struct sim_socket *s = &w_sim.net.sockets[i];

                if (s->state == S_CONNECTING && s->due_at <= w_sim.now)
                        decide(s);
        }
}

int64_t w_sim_net_due(void)
{
        int64_t due = W_FOREVER;

        for (uint32_t i = 0; i < w_sim.net.sockets_end; i++) {
                const struct sim_socket *s = &w_sim.net.sockets[i];

                if (s->state == S_CONNECTING && s->due_at < due)
                        due = s->due_at;
        }
        return due;
}

/* ---- As files -------------------------------------------------------------------------------- */

uint32_t w_sim_socket_state(const struct sim_socket *s)
{
        switch (s->state) {
        case S_LISTENS:
                return s->n_pending ? W_POLL_IN : 0u;
        case S_CONNECTING:
                return 0;
        case S_CONNECTED:
                return (s->in->n || !s->in->n_writers ? W_POLL_IN : 0u) |
                       (!s->in->n_writers ? W_POLL_RDHUP : 0u) |
                       (s->out->n < PIPE_BYTES || !s->out->n_readers ? W_POLL_OUT : 0u) |
                       (!s->in->n_writers && !s->out->n_readers ? W_POLL_HUP : 0u);
        case S_FAILED:
                return W_POLL_IN | W_POLL_OUT | W_POLL_ERR | W_POLL_HUP;
        default:
                return W_POLL_OUT | W_POLL_HUP;
        }
}

/* Breaks the connection for both ends. */
static void break_line(struct sim_socket *s, int error)
{
        struct sim_pipe *in = s->in, *out = s->out;

        for (uint32_t i = 0; i < N_SOCKETS; i++) {
                struct sim_socket *end = &w_sim.net.sockets[i];

                if (end->state != S_CONNECTED || (end->in != in && end->in != out))
                        continue;
                w_sim_leave_pipe(end->in, false);
                w_sim_leave_pipe(end->out, true);
                fail(end, error);
        }
}

static bool resets_now(const struct sim_socket *s)
{
        return s->state == S_CONNECTED && s->way == SIM_RESETS && w_sim_chance(100);
}

static intptr_t use(struct sim_socket *s, int once_more)
{
        w_sim_net_settle();
        if (resets_now(s))
                break_line(s, ECONNRESET);
        if (s->state == S_CONNECTED)
                return 0;
        int error = s->state == S_FAILED ? s->error : ENOTCONN;

        if (s->state == S_FAILED)
                s->error = 0;           /* told once */
        return error ? -error : once_more;
}

intptr_t w_sim_socket_read(struct sim_socket *s, bool all, void *buf, size_t n)
{
        intptr_t rc = use(s, 0);

        return s->state == S_CONNECTED ? w_sim_take_bytes(s->in, all, buf, n) : rc;
}

intptr_t w_sim_socket_write(struct sim_socket *s, const void *buf, size_t n)
{
        intptr_t rc = use(s, -EPIPE);

        return s->state == S_CONNECTED ? w_sim_put_bytes(s->out, buf, n) : rc;
}

void w_sim_socket_end(struct sim_socket *s)
{
        SIM_CHECK(!s->sleeper, "a socket ends while a thread connects it");
        for (uint32_t i = 0; s->state == S_LISTENS && i < s->n_pending; i++) {
                struct sim_socket *peer = s->pending[i];

                if (peer->state == S_CONNECTED)
                        break_line(peer, ECONNRESET);
                peer->state = S_FREE;
        }
        if (s->state == S_CONNECTED) {
                w_sim_leave_pipe(s->in, false);
                w_sim_leave_pipe(s->out, true);
        }
        s->state = S_FREE;
}

/* ---- Making ---------------------------------------------------------------------------------- */

static uint32_t n_fds_used(void)
{
        uint32_t n = 0;

        for (int fd = FIRST_FD; fd < N_FDS; fd++)
                n += w_sim.net.fds[fd] != NULL;
        return n;
}

/* -EMFILE, by chance or because the limit is reached. */
static int give_fd(struct sim_socket *s)
{
        bool full = w_sim.net.fds_at_most && n_fds_used() >= w_sim.net.fds_at_most;

        if (full || w_sim_fails())
                return -EMFILE;
        struct sim_file *file = w_sim_new_file();
        int              fd;

        file->socket = s;
        fd = w_sim_new_fd(file);
        if (fd < 0)
                file->socket = NULL;
        return fd;
}

int w_os_socket_open(enum w_os_family family, enum w_os_kind kind)
{
        w_sim_call("socket");
        struct sim_socket *s = new_socket();
        int                fd = give_fd(s);

        (void)family;
        SIM_CHECK(kind == W_OS_STREAM, "there are only streams");
        if (fd < 0)
                s->state = S_FREE;
        W_SIM_LOG(w_sim.running, NULL, "socket   %d", fd);
        w_sim_return();
        return fd;
}

int w_os_socket_bind(int fd, const struct w_os_addr *addr, enum w_os_kind kind, bool both)
{
        w_sim_call("bind");
        struct sim_socket *s = socket_of(fd);
        uint32_t           port = addr_of(addr->bytes).port;
        int                rc = !s ? -ENOTSOCK : find_listener(port) ? -EADDRINUSE : 0;

        (void)kind;
        (void)both;
        if (rc == 0) {
                s->state = S_BOUND;
                s->port = port ? port : 1000 + ++w_sim.net.last_port;
        }
        w_sim_return();
        return rc;
}

int w_os_socket_listen(int fd)
{
        w_sim_call("listen");
        struct sim_socket *s = socket_of(fd);
        int                rc = s && s->state == S_BOUND ? 0 : -EINVAL;

        if (rc == 0)
                s->state = S_LISTENS;
        w_sim_return();
        return rc;
}

/* ---- Connecting ------------------------------------------------------------------------------ */

int w_os_socket_waits(int fd, enum w_os_waiting call)
{
        w_sim_call("waits");
        struct sim_socket *s = socket_of(fd);
        int rc = !w_sim_file(fd) ? -EBADF : s && call == W_OS_CONNECTING && s->blocks;

        w_sim_return();
        return rc;
}

static struct sim_socket *pop_pending(struct sim_socket *listener)
{
        struct sim_socket *s = listener->pending[0];

        listener->n_pending--;
        memmove(listener->pending, listener->pending + 1,
                listener->n_pending * sizeof(listener->pending[0]));
        return s;
}

/* Takes a number first, as real kernels do: without one the connection stays in the backlog. */
static int accept_from(struct sim_socket *listener)
{
        if (listener->n_pending == 0)
                return -EAGAIN;
        int fd = give_fd(listener->pending[0]);

        if (fd < 0)
                return fd;
        struct sim_socket *s = pop_pending(listener);

        if (s->state == S_CONNECTED && !w_sim_chance(w_sim.net.p_abort))
                return fd;
        struct sim_file *file = w_sim.net.fds[fd];

        if (s->state == S_CONNECTED)
                break_line(s, ECONNRESET);
        s->state = S_FREE;
        w_sim.net.fds[fd] = NULL;
        file->socket = NULL;
        file->n_fds = 0;
        return -ECONNABORTED;
}

int w_os_socket_accept(int fd)
{
        w_sim_call("accept");
        w_sim_net_settle();
        struct sim_socket *s = socket_of(fd);
        int rc = !w_sim_file(fd) ? -EBADF : !s || s->state != S_LISTENS ? -EINVAL : accept_from(s);

        if (rc >= 0)
                w_sim_file(rc)->is_tcp = w_sim_file(fd)->is_tcp;
        W_SIM_LOG(w_sim.running, NULL, "accept   %d: %d", fd, rc);
        w_sim_poller_tell();
        w_sim_return();
        return rc;
}

void w_os_socket_no_delay(int fd)
{
        (void)fd;
        w_sim_call("no delay");
        w_sim_return();
}

static void begin_to_connect(struct sim_socket *s, struct sim_addr sa)
{
        int64_t delay = (int64_t)w_rand_below(&w_sim.rand, 2u << w_rand_below(&w_sim.rand, 20));

        s->state = S_CONNECTING;
        s->way = sa.way;
        s->port = sa.port;
        s->due_at = w_sim.now + (sa.way == SIM_BLACK ? GIVES_UP_NS : delay);
        if (sa.way == SIM_SLOW)
                s->due_at += SLOW_NS;
        w_sim_poller_tell();
}

/* As the kernel does: first -EINPROGRESS, then -EALREADY while the connection is being made. */
static int connect_now(struct sim_socket *s, struct sim_addr sa)
{
        bool first = s->state == S_FRESH;

        if (first && sa.way == SIM_NO_WAY)
                return -ENETUNREACH;
        if (first)
                begin_to_connect(s, sa);
        w_sim_net_settle();
        if (s->state == S_CONNECTING && s->blocks) {
                s->sleeper = w_sim.running;
                while (s->state == S_CONNECTING) {
                        (void)w_sim_wait(s->due_at);
                        w_sim_net_settle();
                }
                s->sleeper = NULL;
        }
        switch (s->state) {
        case S_CONNECTING:
                return first ? -EINPROGRESS : -EALREADY;
        case S_CONNECTED:
                return 0;
        default:
                return s->state == S_FAILED && s->error ? -s->error : -ECONNABORTED;
        }
}

int w_os_socket_connect(int fd, const void *addr, uint32_t len)
{
        w_sim_call("connect");
        struct sim_socket *s = socket_of(fd);
        int rc = !w_sim_file(fd) ? -EBADF : !s || len != sizeof(struct sim_addr) ? -EINVAL
                 : connect_now(s, addr_of(addr));

        W_SIM_LOG(w_sim.running, NULL, "connect  %d: %d", fd, rc);
        w_sim_poller_tell();
        w_sim_return();
        return rc;
}

bool w_os_socket_is_self_connected(int fd)
{
        (void)fd;
        return false;
}

void w_os_socket_shut(int fd)
{
        w_sim_call("shutdown");
        struct sim_socket *s = socket_of(fd);

        if (s && s->state == S_CONNECTING)
                fail(s, ECONNABORTED);
        else if (s && s->state == S_CONNECTED)
                break_line(s, ECONNRESET);
        w_sim_poller_tell();
        w_sim_return();
}

/* ---- For scenarios --------------------------------------------------------------------------- */

void sim_socket_blocks(int fd)
{
        socket_of(fd)->blocks = true;
}

uint32_t sim_port(int fd)
{
        return socket_of(fd)->port;
}

void sim_fds_at_most(uint32_t n)
{
        w_sim.net.fds_at_most = n;
}

void sim_accepts_abort(uint32_t of_1024)
{
        w_sim.net.p_abort = of_1024;
}

uint32_t sim_sockets_open(void)
{
        uint32_t n = 0;

        for (uint32_t i = 0; i < N_SOCKETS; i++)
                n += w_sim.net.sockets[i].state != S_FREE;
        return n;
}
