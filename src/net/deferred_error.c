/* net/deferred_error.c - errors that came after something had been moved.
 *
 * Called by   io.
 *
 * PROTOCOL deferred-error
 *
 * Goal      a call that goes on until all is done and has moved bytes says how many, though it was
 *           then refused; the error, which a socket tells once, comes with the next call in that
 *           direction: once, and only if the number still leads to the socket that it came from.
 * Parties   timekeeper; taker; closer; other code, which may close(2) the number and open another
 *           file.
 * Words     of each number, under its lock: kept: directions in which there is one; deferred_error
 *           of each; deferred_of: the file they came from.
 * Keeper    is a user of the number.  1 asks the kernel which file it is; no socket: drops it
 *           2 lock; those of another file: dropped; puts its own in place of an older one; unlock
 * Taker     is a user of the number.  1 none is kept in its direction: goes on   2 asks which file
 *           it is   3 lock; takes it out; of another file: drops all; unlock
 * Closer    the last user after weft_close: drops all under the lock, before the number is free.
 * Why a look without the lock will do   who is called after the timekeeper has returned sees what
 *                                       it
 *           did; any other may as well have come before it.
 * Why which file   nobody hears of a close(2) by other code; the number's next file would be blamed
 *           for what the old one did.
 * Why sockets only   what is wrong with another file the next call finds out by itself: it is full,
 *           or hung up, or has no reader. And it may be opened again, and be well: it is the same
 *           file then, where each socket is another one.
 * Why messages   of a call that waits for all the kernel itself leaves the error in the socket.
 * Rejected  keeping what the arguments alone caused, -EBADF and -EAGAIN: the next call finds out by
 *           itself. So it does of scopes that have struck, and of what keeps it from waiting.
 *           Keeping it in the goroutine: another one may well make the next call.
 * Tests     flow/net/test_transfer.c, sim scenarios kept_*, mutants kept-*.
 *
 * SPDX-License-Identifier: MIT
 */
#include "net/deferred_error.h"

#include "os/os.h"

#include <errno.h>      /* -Exxx */

static int *error_at(struct desc *d, uint32_t direction)
{
        return &d->deferred_error[direction == W_POLL_OUT];
}

static bool is_deferred_of(const struct desc *d, const struct w_os_file *file)
{
        return d->deferred_of[0] == file->device && d->deferred_of[1] == file->number;
}

void w_deferred_error_put(struct desc *d, int fd, uint32_t direction, int error)
{
        struct w_os_file file;

        if (error == -EBADF || error == -EFAULT || error == -EINVAL || error == -EAGAIN ||
            w_os_fd_ask(fd, &file) < 0 || !file.tells_once)
                return;
        w_lock(&d->lock);
        uint32_t deferred = is_deferred_of(d, &file) ? w_load_rlx(&d->deferred) : 0; /* guarded */

        d->deferred_of[0] = file.device;
        d->deferred_of[1] = file.number;
        *error_at(d, direction) = error;
        w_store_rlx(&d->deferred, deferred | direction);                 /* guarded by the lock */
        w_unlock(&d->lock);
}

int w_deferred_error_take_slow(struct desc *d, int fd, uint32_t direction)
{
        struct w_os_file file = { 0 };
        int              error = 0;
        bool             is_open = w_os_fd_ask(fd, &file) == 0;

        w_lock(&d->lock);
        uint32_t deferred = w_load_rlx(&d->deferred);                    /* guarded by the lock */

        if (!is_open || !is_deferred_of(d, &file)) {
                deferred = 0;
        } else if (deferred & direction) {
                error = *error_at(d, direction);
                deferred &= ~direction;
        }
        w_store_rlx(&d->deferred, deferred);                             /* guarded by the lock */
        w_unlock(&d->lock);
        return error;
}
