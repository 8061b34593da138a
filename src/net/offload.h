/* net/offload.h - a call that blocks its thread, made by a goroutine of its own for somebody who
 * may leave before it ends.
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

/* What is asked, and room for what comes of it. The runner works on a copy. */
union offload_job {
        struct {
                struct w_os_lookup ask;
                struct w_os_answer answer;
        } lookup;
        struct {
                int          fd;
                int          rc;
                struct desc *d;         /* begun, once more */
                uint32_t     len;
                uint64_t     addr[16];
        } connect;
};

/* Those of one kind. Key: i immutable   l errands.lock */
struct offload_kind {
        const char *name;                               /* i  of the goroutines */
        uint32_t    most;                               /* i  at once */
        void      (*run)(union offload_job *job);  /* i  touches nothing but the matter */
        void      (*drop)(union offload_job *job); /* i  nobody wants what came of it */
        void      (*free)(union offload_job *job); /* i  likewise after the run; or NULL */
        uint32_t         n_workers;                     /* l */
        struct list_node queue;                         /* l  who came first is first */
        bool             known;                         /* l  and in the list of all kinds: */
        struct offload_kind *next;                       /* l */
};

#define W_OFFLOAD_KIND(var, ...) { .queue = { &(var).queue, &(var).queue }, __VA_ARGS__ }

/* Waits until it is done: 0, and what came of it is in *matter and the caller's. Else it is
 * dropped, sooner or later: -ETIMEDOUT, -ECANCELED, -ESHUTDOWN; -EBADF: d, if it is not NULL, is
 * being closed; -ENOMEM and what weft_go says. Context: as w_poll_wait; may switch: yes. */
W_MUST_CHECK int w_offload_call(struct offload_kind *kind, union offload_job *job,
                             struct desc *d);

#endif
