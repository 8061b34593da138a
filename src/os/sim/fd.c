/* os/sim/fd.c - descriptors of the simulated machine: pipes of a few bytes, and sockets, for which
 * see os/sim/socket.c. Contract: os/fd.h.
 *
 * Some reads and writes move fewer bytes than they could; reads from a TCP socket never do. A
 * watched pipe reports new bytes each time, but room only if a caller has found that there was
 * none, as real sockets do. Pipes serve as sockets too: an error that a scenario sets is returned
 * once, to the next read or write. They also serve as terminals, which are used only after a poll.
 * Numbers are reused at once, the lowest first, as in real kernels.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/sim/machine.h"

#include <errno.h>      /* EBADF and others */
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

struct sim_file *w_sim_file(int fd)
{
        return fd >= 0 && fd < N_FDS ? w_sim.net.fds[fd] : NULL;
}

bool w_sim_is_regular(int fd)
{
        return w_sim_file(fd) && w_sim_file(fd)->is_regular;
}

uint32_t w_sim_file_state(const struct sim_file *file)
{
        const struct sim_pipe *pipe = file->pipe;

        if (file->is_regular)
                return W_POLL_IN | W_POLL_OUT;
        if (file->child)
                return file->child->pid != file->child_pid || file->child->has_ended ? W_POLL_IN
                                                                                     : 0u;
        uint32_t failed = file->error ? W_POLL_ERR : 0u;

        if (file->socket)
                return w_sim_socket_state(file->socket);
        if (file->writes)
                return failed | (pipe->n < PIPE_BYTES ? W_POLL_OUT : 0u) |
                       (pipe->n_readers ? 0u : W_POLL_ERR);
        return failed | (pipe->n ? W_POLL_IN : 0u) | (pipe->n_writers ? 0u : W_POLL_HUP);
}

uint32_t w_sim_file_look(struct sim_file *file)
{
        uint32_t state = w_sim_file_state(file);

        struct sim_pipe *out = file->socket ? file->socket->out : file->writes ? file->pipe : NULL;

        if (out && !(state & W_POLL_OUT))
                out->lacks_room = true;
        return state;
}

/* ---- Opening and closing --------------------------------------------------------------------- */

struct sim_file *w_sim_new_file(void)
{
        for (uint32_t i = 0; i < N_FILES; i++) {
                struct sim_file *file = &w_sim.net.files[i];

                if (file->n_fds)
                        continue;
                *file = (struct sim_file){ .number = i };
                return file;
        }
        sim_fail("too many files");
}

static struct sim_file *new_end(struct sim_pipe *pipe, bool writes)
{
        struct sim_file *file = w_sim_new_file();

        file->pipe = pipe;
        file->writes = writes;
        pipe->n_ends++;
        *(writes ? &pipe->n_writers : &pipe->n_readers) += 1;
        return file;
}

int w_sim_new_fd(struct sim_file *file)
{
        for (int fd = FIRST_FD; fd < N_FDS; fd++) {
                if (w_sim.net.fds[fd])
                        continue;
                w_sim.net.fds[fd] = file;
                file->n_fds++;
                return fd;
        }
        return -EMFILE;
}

static int new_fd(struct sim_file *file)
{
        int fd = w_sim_new_fd(file);

        SIM_CHECK(fd >= 0, "too many descriptors");
        return fd;
}

struct sim_pipe *w_sim_new_pipe(void)
{
        for (uint32_t i = 0; i < N_PIPES; i++)
                if (w_sim.net.pipes[i].n_ends == 0) {
                        w_sim.net.pipes[i] = (struct sim_pipe){ 0 };
                        return &w_sim.net.pipes[i];
                }
        sim_fail("too many pipes");
}

void sim_pipe(int fds[2])
{
        w_sim_call("pipe");
        struct sim_pipe *pipe = w_sim_new_pipe();

        fds[0] = new_fd(new_end(pipe, false));
        fds[1] = new_fd(new_end(pipe, true));
        W_SIM_LOG(w_sim.running, NULL, "pipe     reads from %d, writes to %d", fds[0], fds[1]);
        w_sim_return();
}

int sim_dup(int fd)
{
        w_sim_call("dup");
        struct sim_file *file = w_sim_file(fd);

        SIM_CHECK(file, "dup of %d, which is not open", fd);
        int copy = w_sim_new_fd(file);

        W_SIM_LOG(w_sim.running, NULL, "dup      %d is %d too", fd, copy);
        w_sim_return();
        return copy;
}

void w_sim_leave_pipe(struct sim_pipe *pipe, bool writes)
{
        uint32_t *n = writes ? &pipe->n_writers : &pipe->n_readers;

        pipe->n_ends--;
        if (--*n == 0)
                w_sim_poller_mark(pipe, !writes);
}

static void end_file(struct sim_file *file)
{
        struct sim_pipe *pipe = file->pipe;
        bool             writes = file->writes;

        w_sim_poller_lose(file);
        if (file->socket) {
                w_sim_socket_end(file->socket);
                file->socket = NULL;
        }
        if (!pipe)
                return;
        file->pipe = NULL;
        w_sim_leave_pipe(pipe, writes);
        w_sim_poller_tell();
}

void sim_linger_file(int fd, int64_t ns)
{
        w_sim_file(fd)->linger_ns = ns;
}

int w_os_fd_close(int fd)
{
        w_sim_call("close");
        struct sim_file *file = w_sim_file(fd);
        int64_t          ns = file && file->n_fds == 1 ? file->linger_ns : 0;

        W_SIM_LOG(w_sim.running, NULL, "close    %d%s", fd, file ? "" : ", which is not open");
        if (file) {
                w_sim.net.fds[fd] = NULL;
                if (--file->n_fds == 0)
                        end_file(file);
                w_sim_poller_tell();
        }
        if (ns > 0)
                (void)w_sim_wait(w_sim.now + ns);
        w_sim_return();
        return file ? 0 : -EBADF;
}

/* ---- Reading and writing --------------------------------------------------------------------- */

int w_os_fd_poll(int fd, uint32_t events)
{
        w_sim_call("look");
        w_sim_net_settle();
        struct sim_file *file = w_sim_file(fd);
        uint32_t state = file ? w_sim_file_look(file) & (events | W_POLL_ERR | W_POLL_HUP)
                              : W_POLL_NVAL;

        w_sim_return();
        return (int)state;
}

/* At most `most`, and by chance fewer. */
static size_t some_of(size_t n, size_t most)
{
        if (n > most)
                n = most;
        return n > 1 && w_sim_chance(300) ? 1 + w_rand_below(&w_sim.rand, (uint32_t)n) : n;
}

void sim_make_wait(int fd, int64_t ns)
{
        w_sim_file(fd)->waits = true;
        w_sim_file(fd)->takes_ns = ns;
}

/* A blocking call takes its time before it uses the file. */
static struct sim_file *file_to_use(int fd, bool waits)
{
        struct sim_file *file = w_sim_file(fd);

        if (file && waits && file->takes_ns)
                (void)w_sim_wait(w_sim.now + file->takes_ns);
        return w_sim_file(fd);
}

void sim_fail_file(int fd, int error)
{
        w_sim_call("fail");
        struct sim_file *file = w_sim_file(fd);

        SIM_CHECK(file, "%d, which must fail, is not open", fd);
        file->error = error;
        w_sim_poller_mark(file->pipe, file->writes);
        W_SIM_LOG(w_sim.running, NULL, "fails    %d, with %d", fd, error);
        w_sim_poller_tell();
        w_sim_return();
}

/* 0, or the error, which is cleared. Data that came before the error is read first. */
static int take_error(struct sim_file *file)
{
        int error = file->error;

        if (!file->writes && file->pipe->n > 0)
                return 0;
        file->error = 0;
        return error;
}

intptr_t w_sim_take_bytes(struct sim_pipe *pipe, bool all, void *buf, size_t n)
{
        if (pipe->n == 0)
                return pipe->n_writers ? -EAGAIN : 0;
        n = !all ? some_of(n, pipe->n) : n < pipe->n ? n : pipe->n;
        memcpy(buf, pipe->bytes, n);
        pipe->n -= (uint32_t)n;
        memmove(pipe->bytes, pipe->bytes + n, pipe->n);
        if (n && pipe->lacks_room) {
                pipe->lacks_room = false;
                w_sim_poller_mark(pipe, true);
        }
        return (intptr_t)n;
}

intptr_t w_sim_put_bytes(struct sim_pipe *pipe, const void *buf, size_t n)
{
        if (!pipe->n_readers)
                return -EPIPE;
        pipe->lacks_room |= n > PIPE_BYTES - pipe->n;
        if (pipe->n == PIPE_BYTES)
                return -EAGAIN;
        n = some_of(n, PIPE_BYTES - pipe->n);
        memcpy(pipe->bytes + pipe->n, buf, n);
        pipe->n += (uint32_t)n;
        if (n)
                w_sim_poller_mark(pipe, false);
        return (intptr_t)n;
}

static intptr_t read_file(struct sim_file *file, void *buf, size_t n)
{
        int error = take_error(file);

        return error ? error : w_sim_take_bytes(file->pipe, file->is_tcp, buf, n);
}

static intptr_t write_file(struct sim_file *file, const void *buf, size_t n)
{
        int error = take_error(file);

        return error ? error : w_sim_put_bytes(file->pipe, buf, n);
}

static void finish(const char *what, int fd, intptr_t rc)
{
        W_SIM_LOG(w_sim.running, NULL, "%s %d: %ld", what, fd, (long)rc);
        if (rc != -EAGAIN)
                w_sim_poller_tell();
        w_sim_return();
}

/* A blocking call must end, whatever the file holds. */
static intptr_t checked(int fd, bool waits, intptr_t rc)
{
        SIM_CHECK(!waits || rc != -EAGAIN, "a call for %d would wait for ever", fd);
        return rc;
}

static intptr_t read_now(int fd, bool waits, void *buf, size_t n)
{
        w_sim_call("read");
        struct sim_file *file = file_to_use(fd, waits);
        intptr_t rc = !file || file->writes ? -EBADF
                      : file->waits && !waits ? -EOPNOTSUPP
                      : file->socket ? w_sim_socket_read(file->socket, file->is_tcp, buf, n)
                                     : read_file(file, buf, n);

        finish("read    ", fd, rc);
        return checked(fd, waits, rc);
}

intptr_t w_os_fd_read(int fd, void *buf, size_t n)
{
        if (w_sim_is_regular(fd))
                return w_os_fd_readv(fd, &(struct iovec){ buf, n }, 1, -1);
        return read_now(fd, false, buf, n);
}

int w_os_fd_is_tcp(int fd)
{
        w_sim_call("is tcp");
        struct sim_file *file = w_sim_file(fd);

        if (file)
                file->is_tcp = w_sim_chance(512);
        w_sim_return();
        return file ? file->is_tcp : -EBADF;
}

intptr_t w_os_fd_read_tcp(int fd, void *buf, size_t n, bool *drained)
{
        intptr_t rc = w_os_fd_read(fd, buf, n);

        *drained = rc > 0 && (size_t)rc < n;
        return rc;
}

static intptr_t write_now(int fd, bool waits, const void *buf, size_t n)
{
        w_sim_call("write");
        struct sim_file *file = file_to_use(fd, waits);
        intptr_t rc = !file || (!file->writes && !file->socket) ? -EBADF
                      : file->waits && !waits ? -EOPNOTSUPP
                      : file->socket ? w_sim_socket_write(file->socket, buf, n)
                                     : write_file(file, buf, n);

        finish("write   ", fd, rc);
        return checked(fd, waits, rc);
}

intptr_t w_os_fd_write(int fd, const void *buf, size_t n)
{
        if (w_sim_is_regular(fd))
                return w_os_fd_writev(fd, &(struct iovec){ (void *)(uintptr_t)buf, n }, 1, -1);
        return write_now(fd, false, buf, n);
}

intptr_t w_os_fd_write_blocking(int fd, const void *buf, size_t n)
{
        return w_os_fd_writev_blocking(fd, &(struct iovec){ (void *)(uintptr_t)buf, n }, 1, -1);
}

/* ---- Several buffers, and messages ----------------------------------------------------------- */

/* The bytes go through one buffer of this size: a pipe holds no more. */
enum { ROOM = PIPE_BYTES };

static intptr_t readv_now(int fd, bool waits, const struct iovec *v, int n, int64_t at)
{
        unsigned char bytes[ROOM];
        size_t        room = 0, done = 0;

        if (at >= 0)
                return w_sim_file(fd) ? -ESPIPE : -EBADF;
        for (int i = 0; i < n; i++)
                room += v[i].iov_len;
        intptr_t rc = read_now(fd, waits, bytes, room < ROOM ? room : ROOM);

        for (int i = 0; i < n && (intptr_t)done < rc; i++) {
                size_t part = (size_t)rc - done;

                part = part < v[i].iov_len ? part : v[i].iov_len;
                memcpy(v[i].iov_base, bytes + done, part);
                done += part;
        }
        return rc;
}

static intptr_t writev_now(int fd, bool waits, const struct iovec *v, int n, int64_t at)
{
        unsigned char bytes[ROOM];
        size_t        done = 0;

        if (at >= 0)
                return w_sim_file(fd) ? -ESPIPE : -EBADF;
        for (int i = 0; i < n && done < ROOM; i++) {
                size_t part = v[i].iov_len < ROOM - done ? v[i].iov_len : ROOM - done;

                memcpy(bytes + done, v[i].iov_base, part);
                done += part;
        }
        return write_now(fd, waits, bytes, done);
}

intptr_t w_os_fd_readv(int fd, const struct iovec *v, int n, int64_t at)
{
        return w_sim_is_regular(fd) ? w_sim_file_try(fd, v, n, at, false)
                                    : readv_now(fd, false, v, n, at);
}

intptr_t w_os_fd_writev(int fd, const struct iovec *v, int n, int64_t at)
{
        return w_sim_is_regular(fd) ? w_sim_file_try(fd, v, n, at, true)
                                    : writev_now(fd, false, v, n, at);
}

intptr_t w_os_fd_readv_blocking(int fd, const struct iovec *v, int n, int64_t at)
{
        return w_sim_is_regular(fd) ? w_sim_file_use(fd, v, n, at, false)
                                    : readv_now(fd, true, v, n, at);
}

intptr_t w_os_fd_writev_blocking(int fd, const struct iovec *v, int n, int64_t at)
{
        return w_sim_is_regular(fd) ? w_sim_file_use(fd, v, n, at, true)
                                    : writev_now(fd, true, v, n, at);
}

intptr_t w_os_fd_recv(int fd, struct msghdr *msg, int flags)
{
        intptr_t rc = w_os_fd_readv(fd, msg->msg_iov, (int)msg->msg_iovlen, -1);

        (void)flags;
        if (rc >= 0) {
                msg->msg_controllen = 0;
                msg->msg_flags = 0;
        }
        return rc;
}

intptr_t w_os_fd_send(int fd, const struct msghdr *msg, int flags)
{
        (void)flags;
        return w_os_fd_writev(fd, msg->msg_iov, (int)msg->msg_iovlen, -1);
}

int w_os_fd_ask(int fd, struct w_os_file *out)
{
        w_sim_call("ask");
        const struct sim_file *file = w_sim_file(fd);

        if (file)
                *out = (struct w_os_file){ .number = file->number, .is_file = file->is_regular,
                                           .tells_once = !file->is_regular };
        w_sim_return();
        return file ? 0 : -EBADF;
}

/* There are no terminals. */
bool w_os_tty_may_read_empty(int fd)
{
        (void)fd;
        return false;
}

bool w_os_fd_is_stream(int fd)
{
        return !w_sim_is_regular(fd);
}
