/* net/deferred_error.c - errors after a partial transfer.
 *
 * PROTOCOL deferred-error
 *
 * Goal      A call that repeats its transfer until all is done may fail after some bytes. It then
 *           returns the number of bytes that it moved. A socket reports its error only once, so the
 *           next call in that direction returns the error: once, and only if the number still
 *           belongs to the same socket.
 * Parties   saver; taker; closer; other code, which may close(2) the number and open another file.
 * Words     of each number, under its lock:
 *             deferred         directions with a deferred error
 *             deferred_error   the error of each
 *             deferred_of      the file that they came from
 * Saver     (a user of the number)
 *   1. Ask the kernel which file it is. If it is not a socket, drop the error.
 *   2. Lock; drop the errors of another file; store the error, in place of an older error; unlock.
 * Taker     (a user of the number)
 *   1. If there is no error in its direction, done.
 *   2. Ask the kernel which file it is.
 *   3. Lock; take the error out, or drop all errors if they are of another file; unlock.
 * Closer    (the last user after weft_close) Drop all errors under the lock, before the number is
 *           free.
 * Why step 1 of the taker needs no lock   A call that begins after the saver has returned sees the
 *           saver's store. Any other call may as well have come before the saver.
 * Why ask which file   Weft does not learn of a close(2) by other code. The number's next file
 *           would get the error of the old file.
 * Why sockets only   The next call on another file finds the error itself: the file is full, or
 *           hung up, or has no reader. Such a file may also be opened again without an error: it is
 *           the same file then. Each socket is a new file.
 * Why messages too   After a partial MSG_WAITALL the kernel itself leaves the error in the socket.
 * Rejected  Deferring errors that the arguments alone caused, -EBADF, -EAGAIN, a done scope, or an
 *           error of the wait itself: the next call finds these itself. Keeping the error in the
 *           goroutine: another goroutine may well make the next call.
 * Tests     flow/net/test_transfer.c, sim scenarios deferred_error_*, mutants
 *           deferred-error-*.
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
        w_store_rlx(&d->deferred, deferred | direction);          /* guarded by the lock */
        w_unlock(&d->lock);
}

int w_deferred_error_take_slow(struct desc *d, int fd, uint32_t direction)
{
        struct w_os_file file = { 0 };
        int              error = 0;
        bool             is_open = w_os_fd_ask(fd, &file) == 0;

        w_lock(&d->lock);
        uint32_t deferred = w_load_rlx(&d->deferred);             /* guarded by the lock */

        if (!is_open || !is_deferred_of(d, &file)) {
                deferred = 0;
        } else if (deferred & direction) {
                error = *error_at(d, direction);
                deferred &= ~direction;
        }
        w_store_rlx(&d->deferred, deferred);                      /* guarded by the lock */
        w_unlock(&d->lock);
        return error;
}
