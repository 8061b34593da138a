/* os/sim/file.c - regular files of the simulated machine: a few bytes that may not be in memory.
 *
 * Each call decides anew whether some of the bytes are in memory. A call that waits for the other
 * bytes blocks its thread for a while.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/sim/machine.h"

#include <errno.h>      /* EAGAIN */
#include <string.h>
#include <sys/uio.h>

enum { WAIT_NS = 60000 };

int sim_open_file(uint32_t size)
{
        w_sim_call("open");
        struct sim_file *file = w_sim_new_file();

        SIM_CHECK(size <= FILE_BYTES, "a file of %u bytes", size);
        file->is_regular = true;
        file->size = size;
        for (uint32_t i = 0; i < size; i++)
                file->bytes[i] = (unsigned char)(i + 1);
        int fd = w_sim_new_fd(file);

        W_SIM_LOG(w_sim.running, NULL, "open     %d, %u bytes", fd, size);
        w_sim_return();
        return fd;
}

void sim_refuse_file(int fd)
{
        w_sim_file(fd)->refuses = true;
}

uint32_t sim_most_busy(void)
{
        return w_sim.net.most_busy;
}

/* Moves one buffer from or to offset `at`; returns how many bytes. */
static size_t move(struct sim_file *file, void *buf, size_t n, size_t at, bool writes)
{
        size_t end = writes ? FILE_BYTES : file->size;
        size_t room = at < end ? end - at : 0;

        n = n < room ? n : room;
        if (writes)
                memcpy(file->bytes + at, buf, n);
        else
                memcpy(buf, file->bytes + at, n);
        if (writes && at + n > file->size)
                file->size = (uint32_t)(at + n);
        return n;
}

/* Moves at most `most` bytes. */
static intptr_t move_all(struct sim_file *file, const struct iovec *v, int n, int64_t at,
                         bool writes, size_t most)
{
        size_t begin = at < 0 ? file->position : (size_t)at, done = 0;

        for (int i = 0; i < n && done < most; i++) {
                size_t part = v[i].iov_len < most - done ? v[i].iov_len : most - done;

                done += move(file, v[i].iov_base, part, begin + done, writes);
        }
        if (at < 0)
                file->position = (uint32_t)(begin + done);
        return (intptr_t)done;
}

intptr_t w_sim_file_try(int fd, const struct iovec *v, int n, int64_t at, bool writes)
{
        w_sim_call("file try");
        struct sim_file *file = w_sim_file(fd);
        intptr_t         rc;

        if (!file)
                rc = -EBADF;            /* closed meanwhile */
        else if (file->refuses)
                rc = -EAGAIN;
        else if (w_sim_chance(500))
                rc = w_sim_chance(500) ? -EAGAIN : -EOPNOTSUPP;
        else
                rc = move_all(file, v, n, at, writes, 1 + w_rand_below(&w_sim.rand, FILE_BYTES));
        W_SIM_LOG(w_sim.running, NULL, "file     %d tried: %ld", fd, (long)rc);
        w_sim_return();
        return rc;
}

intptr_t w_sim_file_use(int fd, const struct iovec *v, int n, int64_t at, bool writes)
{
        w_sim_call("file");
        struct sim_file *file = w_sim_file(fd);
        struct sim_net  *net = &w_sim.net;

        if (!file) {
                w_sim_return();
                return -EBADF;          /* closed meanwhile */
        }
        file->n_fds++;                  /* stays while it is used */
        if (++net->n_busy > net->most_busy)
                net->most_busy = net->n_busy;
        W_SIM_LOG(w_sim.running, NULL, "file     %d waited for by %u", fd, net->n_busy);
        (void)w_sim_wait(w_sim.now + 1 + w_rand_below(&w_sim.rand, WAIT_NS));
        net->n_busy--;
        intptr_t rc = file->refuses ? -EAGAIN : move_all(file, v, n, at, writes, FILE_BYTES);

        file->n_fds--;

        W_SIM_LOG(w_sim.running, NULL, "file     %d used: %ld", fd, (long)rc);
        w_sim_return();
        return rc;
}
