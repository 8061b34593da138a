/* os/poller.h - CONTRACT: waiting for events on many descriptors.
 *
 * The rules for every call are in os/os.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_OS_POLLER_H
#define W_OS_POLLER_H

#include "os/fd.h"

struct w_os_poller {
        int fd, wakeup;         /* private to the implementation */
};

struct w_os_event {
        int      fd;
        uint32_t seq;           /* as it was given with the descriptor */
        uint32_t events;        /* W_POLL_* */
};

/* -EMFILE, -ENFILE, -ENOMEM. */
W_MUST_CHECK int w_os_poller_open(struct w_os_poller *poller);
void w_os_poller_close(struct w_os_poller *poller);

/* Requests one report. The first event of `events` on fd, or ERR or HUP, is reported to one
 * w_os_poller_wait, at once if the condition holds already. Then the descriptor is silent until it
 * is armed again. Arming again replaces the request, but does not take back a report that a wait
 * has received. The registration belongs to the open file together with the number. It ends when
 * the last descriptor of the file is closed, which may be another number.
 *
 * w_os_poller_add is for a file that is not registered under that number, w_os_poller_arm for a
 * file that is registered.
 *
 * Returns
 *   0
 *   -EEXIST   add: the file is registered under that number
 *   -ENOENT   arm: the file is not registered under that number
 *   -EPERM    add: files of that kind are always ready
 *   -EBADF; add also -ENOMEM, -ENOSPC */
W_MUST_CHECK int w_os_poller_add(struct w_os_poller *poller, int fd, uint32_t seq, uint32_t events);
W_MUST_CHECK int w_os_poller_arm(struct w_os_poller *poller, int fd, uint32_t seq, uint32_t events);
/* Watches a file, edge-triggered. The file must stay under that number until w_os_poller_forget or
 * its end, and is never armed. Each new event is reported to one w_os_poller_wait, together with
 * every other condition that holds then: IN, PRI, OUT, RDHUP, ERR, HUP. Several events may come as
 * one report. The first report is of the conditions that hold already. Errors as add. */
W_MUST_CHECK int w_os_poller_watch(struct w_os_poller *poller, int fd, uint32_t seq);
/* Reports the conditions of such a file again, as at the beginning. -ENOENT: the number belongs to
 * another file; -EBADF. */
W_MUST_CHECK int w_os_poller_remind(struct w_os_poller *poller, int fd, uint32_t seq);
void w_os_poller_forget(struct w_os_poller *poller, int fd);    /* no more reports about it */

/* Waits until the deadline for the first event and returns the number of events, at most n. Returns
 * 0 also after w_os_poller_wake, and spuriously. With a deadline that has passed it polls and
 * does not wait. */
W_MUST_CHECK int w_os_poller_wait(struct w_os_poller *poller, struct w_os_event *out, int n,
                                  int64_t deadline_at);
/* Ends every wait that is under way or begins, until w_os_poller_wake_clear. */
void w_os_poller_wake(struct w_os_poller *poller);
void w_os_poller_wake_clear(struct w_os_poller *poller);

#endif
