/* net/io.c - how every call on a descriptor is made.
 *
 * Called by   transfer, message.
 * Calls       poll, kept, files, beside.
 * Protocols   cites poll (net/poll.c), deferred-error (net/deferred_error.c), file-slots
 *             (net/file_slots.c), close-notify (net/close_notify.c).
 *
 * Every call is tried first. A descriptor that cannot be asked not to wait is waited for until it
 * is ready, and then used in a blocking region, by one of weft's callers at a time: so the call
 * waits there only if other code is quicker. On one that weft has made it does not even then.
 *
 * A regular file is read without waiting if that is possible, which is to say if it is in memory,
 * and else in a region, in turn; if it is much, there at once, where others can have the P
 * meanwhile. Some are open so as not to wait, and say so even there: as nobody can wait for them,
 * so does the call. A terminal says so too, once it is full, and is waited for again; one that
 * gives up is not waited for, because it is read(2) that knows when.
 *
 * Who sends to an address over a unix socket may be refused because its receiver has no room. The
 * poller knows nothing of that: it tells of the sender's own room, for each message that was
 * refused once more. So who was told in vain tries again after pauses that grow.
 *
 * SPDX-License-Identifier: MIT
 */
#include "net/io.h"

#include "net/close_notify.h"
#include "net/file_slots.h"
#include "net/deferred_error.h"
#include "wait/wait.h"

#include "weft.h"

#include <errno.h>      /* -Exxx */

enum { NOT_HERE = -4096 };      /* no error: it has to be done in a blocking region */

enum { PAUSE_MIN_NS = 100000, PAUSE_MAX_NS = 10000000 };

/* ---- One attempt ----------------------------------------------------------------------------- */

/* A region is begun and ended as one who is outside. */
static intptr_t call_in_region(struct io *io)
{
        w_leave(io->where);
        weft_block_begin();
        intptr_t rc = io->call(io, W_IO_BLOCKING);

        weft_block_end();
        io->where = w_enter();
        return rc;
}

/* The same for a file, which has to wait for its turn; meanwhile it may have been closed. */
static W_NOINLINE intptr_t call_in_turn(struct io *io)
{
        int rc = w_file_slots_enter();

        io->gave_up = rc < 0;
        if (rc < 0)
                return rc;
        intptr_t done = w_desc_is_closing(io->d) ? -EBADF : call_in_region(io);

        w_file_slots_leave();
        return done;
}

/* Whether it is waited for by a thread, and not in the poller. */
bool w_io_is_file(struct io *io)
{
        if (!io->is_file)
                io->is_file = w_desc_is_file(io->d, io->fd);
        return io->is_file;
}

static void let_go(struct io *io)
{
        if (io->holds)
                w_desc_unreserve(io->d, io->fd, io->events);
        io->holds = false;
}

/* Whoever finds it held waits until that one has let go. But a terminal that gives up is read all
 * the same: no news would tell when, and the kernel itself lets its readers in one at a time. */
static intptr_t hold_and_look(struct io *io)
{
        bool by_one = !w_desc_is_made(io->d);

        io->holds = by_one && w_desc_reserve(io->d, io->events);
        int now = by_one && !io->holds ? 0 : w_os_fd_poll(io->fd, io->events);

        if (now > 0 || (now == 0 && io->events == W_POLL_IN && w_os_tty_may_read_empty(io->fd)))
                return NOT_HERE;
        let_go(io);
        return now < 0 ? now : -EAGAIN;
}

/* Also for what cannot be tried. */
static intptr_t try_or_look(struct io *io)
{
        if (W_UNLIKELY(io->is_long) && w_io_is_file(io))
                return NOT_HERE;
        intptr_t rc = io->call(io, W_IO_TRY);

        if (W_LIKELY(rc != -EAGAIN && rc != -EOPNOTSUPP) || io->nowait)
                return rc;
        if (w_io_is_file(io))
                return NOT_HERE;
        if (rc == -EAGAIN)
                return rc;
        return io->never_waits ? NOT_HERE : hold_and_look(io);
}

/* What is asked not to wait is tried whatever the poller has told so far. */
static enum poll_first look_first(struct io *io)
{
        enum poll_first first = w_poll_first(io->d, io->events, !io->never_waits);

        io->woken |= first == W_POLL_TRY_WOKEN;
        return first == W_POLL_WAIT && io->nowait ? W_POLL_TRY : first;
}

static void tell_next(struct io *io)
{
        if (io->woken && io->drained)
                w_poll_drained(io->d, io->events);
        else if (io->woken)
                w_poll_tried(io->d, io->fd, io->events);
        io->woken = io->drained = false;
}

/* Others who wait have somebody else to send to. */
static W_NOINLINE int make_pause(struct io *io, int64_t *pause)
{
        int64_t until = w_time_after(w_os_now(), *pause);

        tell_next(io);
        *pause = *pause < PAUSE_MAX_NS / 2 ? 2 * *pause : PAUSE_MAX_NS;
        return w_close_notify_sleep(io->d, until, NULL, NULL);
}

static int wait_for_it(struct io *io)
{
        if (W_UNLIKELY(io->pause))
                return make_pause(io, &io->pause);
        int rc = w_poll_wait(io->d, io->fd, io->events, io->woken ? W_POLL_AGAIN : W_POLL_FIRST);

        io->woken = rc == 0;
        io->pause = io->is_addressed ? PAUSE_MIN_NS : 0;
        return rc;
}

static intptr_t try_and_wait(struct io *io)
{
        enum poll_first first = look_first(io);

        for (;; first = W_POLL_TRY) {
                intptr_t rc = W_UNLIKELY(first == W_POLL_WAIT) ? -EAGAIN : try_or_look(io);

                if (W_LIKELY(rc != -EAGAIN) || io->nowait)
                        return rc;
                rc = wait_for_it(io);
                if (rc == -EPERM) {             /* it was another kind of file when last seen */
                        io->is_file = true;
                        return NOT_HERE;
                }
                if (rc < 0) {
                        io->gave_up = true;
                        return rc;
                }
        }
}

/* It was ready, and yet it was not: somebody was quicker. If that happens again it may be that a
 * terminal's room is too small for one character, which the poller takes for room. */
static W_NOINLINE intptr_t try_again(struct io *io, int64_t *pause)
{
        int rc = *pause ? make_pause(io, pause) : 0;

        *pause = *pause ? *pause : PAUSE_MIN_NS;
        io->gave_up = rc < 0;
        return rc < 0 ? rc : try_and_wait(io);
}

static intptr_t do_once(struct io *io)
{
        intptr_t rc = try_and_wait(io);
        int64_t  pause = 0;

        while (rc == NOT_HERE) {
                rc = io->is_file && w_file_slots_counts() ? call_in_turn(io) : call_in_region(io);
                let_go(io);
                if (rc == -EAGAIN && !io->is_file)
                        rc = try_again(io, &pause);
        }
        tell_next(io);
        return rc;
}

/* ---- All of them ----------------------------------------------------------------------------- */

/* Between two attempts a scope may have struck. */
static intptr_t do_next(struct io *io)
{
        int rc = w_call_check();

        io->gave_up = rc < 0;
        return rc < 0 ? rc : do_once(io);
}

static W_NOINLINE intptr_t do_more(struct io *io, intptr_t done)
{
        intptr_t rc = done;

        while (rc > 0 && io->more(io, (size_t)rc)) {
                rc = do_next(io);
                if (rc > 0)
                        done += rc;
        }
        if (rc < 0 && !io->gave_up && io->defers_error)
                w_deferred_error_put(io->d, io->fd, io->events, (int)rc);
        return done;
}

static intptr_t do_all(struct io *io)
{
        int      deferred = w_deferred_error_take(io->d, io->fd, io->events);
        intptr_t rc = W_LIKELY(deferred == 0) ? do_once(io) : deferred;

        return rc > 0 && io->more ? do_more(io, rc) : rc;
}

intptr_t w_io_run(struct io *io)
{
        if (!w_call_begin())
                return -ESHUTDOWN;
        io->where = w_enter();
        int      rc = w_call_check();
        intptr_t done;

        io->d = rc < 0 ? NULL : w_desc_begin(io->fd, &rc);
        done = rc;
        if (W_LIKELY(io->d != NULL)) {
                done = do_all(io);
                (void)w_desc_end(io->d, io->fd);
        }
        w_leave(io->where);
        w_call_end();
        return done;
}

bool w_io_is_tcp(struct io *io)
{
        return w_desc_is_tcp(io->d);
}
