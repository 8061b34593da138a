/* net/io.c - how every call on a descriptor is made.
 *
 * Protocols   cites poll (net/poll.c), deferred-error (net/deferred_error.c), file-slots
 *             (net/file_slots.c), close-notify (net/close_notify.c).
 *
 * Every call is tried first. Some descriptors cannot be asked not to block. Such a descriptor is
 * polled until it is ready, and then used in a blocking region, by one caller in each direction at
 * a time. The call blocks there only if code other than weft uses the descriptor first. A call on a
 * descriptor that weft made does not block even then.
 *
 * A regular file is read without blocking if its data is in memory. Otherwise it is read in a
 * blocking region, with a file slot. A long read begins in a region, so that other goroutines can
 * use the P meanwhile. Some files are open in non-blocking mode and return -EAGAIN even in a
 * region. The poller cannot wait for them, so the call returns -EAGAIN as well. A full terminal
 * returns -EAGAIN too; it is polled again. A terminal that may read empty (VMIN 0) is not polled,
 * because only read(2) knows when it returns.
 *
 * A send to an address over a unix socket may fail because the receiver has no room. The poller
 * does not know the receiver: it reports that the sender itself has room, once after each failed
 * message. A sender that was woken in vain therefore tries again after growing pauses.
 *
 * SPDX-License-Identifier: MIT
 */
#include "net/io.h"

#include "net/close_notify.h"
#include "net/deferred_error.h"
#include "net/file_slots.h"
#include "wait/wait.h"

#include "weft.h"

#include <errno.h>      /* -Exxx */

enum { NEEDS_REGION = -4096 };  /* no error: the call must be made in a blocking region */

enum { PAUSE_MIN_NS = 100000, PAUSE_MAX_NS = 10000000 };

/* ---- One attempt ----------------------------------------------------------------------------- */

bool w_io_is_file(struct io *io)
{
        if (!io->is_file)
                io->is_file = w_desc_is_file(io->d, io->fd);
        return io->is_file;
}

static void unreserve(struct io *io)
{
        if (io->reserved)
                w_poll_unreserve(io->d, io->fd, io->events);
        io->reserved = false;
}

/* For a file that cannot be asked not to block. If another caller has reserved the direction, this
 * caller waits until the direction is free. A terminal that may read empty is read even if it has
 * no data: no event would tell when read(2) returns, and the kernel admits one reader at a time. */
static intptr_t reserve_and_poll(struct io *io)
{
        bool exclusive = !w_desc_is_made(io->d);

        io->reserved = exclusive && w_poll_reserve(io->d, io->events);
        int now = exclusive && !io->reserved ? 0 : w_os_fd_poll(io->fd, io->events);

        if (now > 0 || (now == 0 && io->events == W_POLL_IN && w_os_tty_may_read_empty(io->fd)))
                return NEEDS_REGION;
        unreserve(io);
        return now < 0 ? now : -EAGAIN;
}

static intptr_t try_once(struct io *io)
{
        if (W_UNLIKELY(io->is_long) && w_io_is_file(io))
                return NEEDS_REGION;
        intptr_t rc = io->call(io, W_IO_TRY);

        if (W_LIKELY(rc != -EAGAIN && rc != -EOPNOTSUPP) || io->nowait)
                return rc;
        if (w_io_is_file(io))
                return NEEDS_REGION;
        if (rc == -EAGAIN)
                return rc;
        return io->never_waits ? NEEDS_REGION : reserve_and_poll(io);
}

/* Passes the descriptor on to the next waiter, if this caller was woken to try. */
static void pass_on(struct io *io)
{
        if (io->woken && io->drained)
                w_poll_drained(io->d, io->events);
        else if (io->woken)
                w_poll_tried(io->d, io->fd, io->events);
        io->woken = io->drained = false;
}

/* ---- Waiting --------------------------------------------------------------------------------- */

/* Other waiters need not pause: they may send to other receivers. */
static W_NOINLINE int make_pause(struct io *io, int64_t *pause)
{
        int64_t until = w_time_after(w_os_now(), *pause);

        pass_on(io);
        *pause = *pause < PAUSE_MAX_NS / 2 ? 2 * *pause : PAUSE_MAX_NS;
        return w_close_notify_sleep(io->d, until, NULL, NULL);
}

/* Tries, and waits between tries. NEEDS_REGION: see call_blocking. With `nowait` it tries whatever
 * the poller has reported. */
static intptr_t try_and_wait(struct io *io)
{
        enum poll_first first = w_desc_is_made(io->d)
                                        ? w_edge_first(io->d, io->events, !io->never_waits)
                                        : W_POLL_TRY;
        bool            waits_first = first == W_POLL_WAIT && !io->nowait;

        io->woken |= first == W_POLL_TRY_WOKEN;
        for (;; waits_first = false) {
                intptr_t rc = W_UNLIKELY(waits_first) ? -EAGAIN : try_once(io);

                if (W_LIKELY(rc != -EAGAIN) || io->nowait)
                        return rc;
                if (W_UNLIKELY(io->pause)) {
                        rc = make_pause(io, &io->pause);
                } else {
                        rc = w_poll_wait(io->d, io->fd, io->events,
                                         io->woken ? W_POLL_AGAIN : W_POLL_FIRST);
                        io->woken = rc == 0;
                        io->pause = io->is_addressed ? PAUSE_MIN_NS : 0;
                }
                if (rc == -EPERM) {             /* the number belonged to another kind of file */
                        io->is_file = true;
                        return NEEDS_REGION;
                }
                if (rc < 0) {
                        io->gave_up = true;
                        return rc;
                }
        }
}

/* ---- Blocking -------------------------------------------------------------------------------- */

/* A region begins and ends in user code. */
static intptr_t call_in_region(struct io *io)
{
        w_leave(io->where);
        weft_block_begin();
        intptr_t rc = io->call(io, W_IO_BLOCKING);

        weft_block_end();
        io->where = w_enter();
        return rc;
}

/* The same for a file, after a wait for a slot. The file may be closed meanwhile. */
static W_NOINLINE intptr_t call_in_slot(struct io *io)
{
        int rc = w_file_slots_enter();

        io->gave_up = rc < 0;
        if (rc < 0)
                return rc;
        intptr_t done = w_desc_is_closing(io->d) ? -EBADF : call_in_region(io);

        w_file_slots_leave();
        return done;
}

/* Makes the call in a region. -EAGAIN there means that the descriptor was ready, but other code has
 * used it first: it is polled again. If that happens twice, a terminal may have less room than one
 * character needs, which the poller reports as room. Therefore the caller pauses then. */
static W_NOINLINE intptr_t call_blocking(struct io *io)
{
        int64_t  pause = 0;
        intptr_t rc;

        do {
                rc = io->is_file && w_file_slots_counts() ? call_in_slot(io) : call_in_region(io);
                unreserve(io);
                if (rc != -EAGAIN || io->is_file)
                        return rc;
                rc = pause ? make_pause(io, &pause) : 0;
                pause = pause ? pause : PAUSE_MIN_NS;
                io->gave_up = rc < 0;
                if (rc == 0)
                        rc = try_and_wait(io);
        } while (rc == NEEDS_REGION);
        return rc;
}

/* ---- The whole call -------------------------------------------------------------------------- */

static intptr_t move_once(struct io *io)
{
        intptr_t rc = try_and_wait(io);

        if (W_UNLIKELY(rc == NEEDS_REGION))
                rc = call_blocking(io);
        pass_on(io);
        return rc;
}

/* Goes on after `done` bytes, until there is no more to do. */
static W_NOINLINE intptr_t move_rest(struct io *io, intptr_t done)
{
        intptr_t rc = done;

        while (rc > 0 && io->more(io, (size_t)rc)) {
                rc = w_call_check();            /* a scope may be done by now */
                io->gave_up = rc < 0;
                if (rc == 0)
                        rc = move_once(io);
                if (rc > 0)
                        done += rc;
        }
        if (rc < 0 && !io->gave_up && io->defers_error)
                w_deferred_error_put(io->d, io->fd, io->events, (int)rc);
        return done;
}

intptr_t w_io_run(struct io *io)
{
        int rc;

        io->d = w_desc_call_begin(io->fd, &io->where, &rc);
        if (W_UNLIKELY(!io->d))
                return rc;
        rc = w_deferred_error_take(io->d, io->fd, io->events);
        intptr_t done = W_LIKELY(rc == 0) ? move_once(io) : rc;

        if (done > 0 && io->more)
                done = move_rest(io, done);
        w_desc_call_end(io->d, io->fd, io->where);
        return done;
}
