/* net/offload.h - a call that blocks its thread, made by a worker goroutine for a caller that may
 * leave before it ends.
 *
 * PROTOCOL offload stands in net/offload.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_NET_OFFLOAD_H
#define W_NET_OFFLOAD_H

#include "base/list.h"
#include "base/lock.h"
#include "os/os.h"

struct desc;

/* The arguments of the call, and room for its result. The worker works on a copy. */
union offload_job {
        struct {
                struct w_os_lookup ask;
                struct w_os_answer answer;
        } lookup;
        struct {
                int          fd;
                int          rc;
                struct desc *d;         /* with a use of its own */
                uint32_t     len;
                uint64_t     addr[16];
        } connect;
};

/* All jobs of one kind. Key: i immutable   l offloads.lock */
struct offload_kind {
        const char *name;                               /* i  of the worker goroutines */
        uint32_t    most;                               /* i  workers at the same time */
        void      (*run)(union offload_job *job);       /* i  must touch nothing but the job */
        void      (*drop)(union offload_job *job);      /* i  discards a result */
        void      (*free)(union offload_job *job);      /* i  the same after the run; or NULL */
        uint32_t         n_workers;                     /* l */
        struct list_node queue;                         /* l  FIFO */
        bool             known;                         /* l  it is in the list of all kinds: */
        struct offload_kind *next;                      /* l */
};

#define W_OFFLOAD_KIND(var, ...) { .queue = { &(var).queue, &(var).queue }, __VA_ARGS__ }

/* Has a worker make the call, and waits until it is done. After an error the result is dropped,
 * sooner or later.
 *
 * Returns
 *   0         the result is in *job and belongs to the caller
 *   -EBADF    d, if it is not NULL, is being closed
 *   -ETIMEDOUT, -ECANCELED, -ESHUTDOWN
 *   -ENOMEM, and the errors of weft_go
 * Context: as w_poll_wait; may switch: yes. */
W_MUST_CHECK int w_offload_call(struct offload_kind *kind, union offload_job *job, struct desc *d);

#endif
