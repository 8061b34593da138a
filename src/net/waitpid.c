/* net/waitpid.c - waiting for child processes.
 *
 * Protocols   cites poll (net/poll.c).
 *
 * A wait for the end of one child waits on a pidfd. There is no pidfd for the end of any child, nor
 * for stops, and older kernels have none at all. There may also be no descriptor left, or no room
 * in the poller. In these cases the caller asks the kernel repeatedly, after growing pauses. A
 * thread that blocks in waitpid(2) could not be made to return when a scope is done, or when the
 * run ends.
 *
 * SPDX-License-Identifier: MIT
 */
#include "net/poll.h"
#include "wait/wait.h"

#include "weft.h"

#include <errno.h>      /* -Exxx */

enum {
        FIRST_PAUSE_NS = 100000,
        LAST_PAUSE_NS = 20000000,
};

struct child_wait {
        int pid;
        int status;
        int options;
};

static int ask(struct child_wait *c)
{
        return w_os_child_wait(c->pid, &c->status, c->options);
}

/* ---- By asking ------------------------------------------------------------------------------- */

static int ask_repeatedly(struct child_wait *c)
{
        int64_t pause = FIRST_PAUSE_NS;

        for (;;) {
                int rc = weft_sleep(pause);

                if (rc == 0)
                        rc = ask(c);
                if (rc != 0)
                        return rc;
                pause = pause * 2 < LAST_PAUSE_NS ? pause * 2 : LAST_PAUSE_NS;
        }
}

/* ---- By a pidfd ------------------------------------------------------------------------------ */

/* Any other error means that the poller cannot wait for the descriptor. */
static bool is_over(int rc)
{
        return rc == -ETIMEDOUT || rc == -ECANCELED || rc == -ESHUTDOWN;
}

/* 0: the poller cannot wait for it. */
static int wait_with(struct child_wait *c, struct desc *d, int fd)
{
        for (;;) {
                int rc = ask(c);

                if (rc != 0)
                        return rc;
                rc = w_poll_wait(d, fd, W_POLL_IN, W_POLL_OBSERVE);
                if (rc < 0)
                        return is_over(rc) ? rc : 0;
        }
}

static int wait_and_close(struct child_wait *c, int fd)
{
        int          rc = w_desc_made(fd);
        struct desc *d = rc < 0 ? NULL : w_desc_begin(fd, &rc);

        if (!d) {
                (void)w_os_fd_close(fd);
                return 0;
        }
        rc = wait_with(c, d, fd);
        bool closes = w_desc_close(d);

        (void)closes;           /* false: user code called weft_close with this number */
        (void)w_desc_end(d, fd);
        return rc;
}

static int wait_for(struct child_wait *c)
{
        int rc = ask(c);

        if (rc != 0 || c->options & W_CHILD_NOWAIT)
                return rc;
        int fd = c->pid > 0 && c->options == 0 ? w_os_child_open(c->pid) : -ENOSYS;

        rc = fd < 0 ? 0 : wait_and_close(c, fd);
        return rc != 0 ? rc : ask_repeatedly(c);
}

/* ---- Public ---------------------------------------------------------------------------------- */

W_EXPORT int weft_waitpid(pid_t pid, int *status, int options)
{
        struct child_wait c = { .pid = pid, .options = options };

        if (!w_call_begin())
                return -ESHUTDOWN;
        W_ENTER();
        int rc = w_call_check();

        if (rc == 0)
                rc = wait_for(&c);
        if (rc > 0 && status)
                *status = c.status;
        W_LEAVE();
        w_call_end();
        return rc;
}
