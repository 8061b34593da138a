/* net/iov.h - an array of buffers, of which some bytes are done.
 *
 * The rest of a buffer that is partly done is passed to the kernel alone; the whole buffers after
 * it follow in the next call. The caller's array is neither copied nor changed.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_NET_IOV_H
#define W_NET_IOV_H

#include "base/compiler.h"
#include "os/socket_types.h"

#include <stdbool.h>

struct iov_iter {
        const struct iovec *v;          /* from the first buffer that is not done */
        size_t              n;
        size_t              skip;       /* bytes of the first buffer that are done */
        struct iovec        rest;       /* of the first buffer, if it is partly done */
};

/* Sets *v to the buffers of the next call, and returns their number. */
static inline size_t w_iov_next(struct iov_iter *p, const struct iovec **v)
{
        *v = p->v;
        if (W_LIKELY(!p->skip))
                return p->n;
        p->rest = (struct iovec){ (char *)p->v->iov_base + p->skip, p->v->iov_len - p->skip };
        *v = &p->rest;
        return 1;
}

/* Marks that many bytes as done. True: there are more. */
static inline bool w_iov_advance(struct iov_iter *p, size_t bytes)
{
        p->skip += bytes;
        while (p->n > 0 && p->skip >= p->v->iov_len) {
                p->skip -= p->v->iov_len;
                p->v++;
                p->n--;
        }
        return p->n > 0;
}

#endif
