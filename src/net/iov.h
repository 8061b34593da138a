/* net/iov.h - several pieces of memory, done up to some byte.
 *
 * The rest of a piece that is partly done is handed to the kernel alone, and the whole ones after
 * it next time: so the caller's array is neither copied nor changed.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_NET_IOV_H
#define W_NET_IOV_H

#include "base/compiler.h"
#include "os/socket.h"

#include <stdbool.h>

struct pieces {
        const struct iovec *v;          /* from the first that is not done */
        size_t              n;
        size_t              skip;       /* of the first */
        struct iovec        rest;       /* of the first, if it is partly done */
};

/* What comes next: so many at *v. */
static inline size_t w_pieces_next(struct pieces *p, const struct iovec **v)
{
        *v = p->v;
        if (W_LIKELY(!p->skip))
                return p->n;
        p->rest = (struct iovec){ (char *)p->v->iov_base + p->skip, p->v->iov_len - p->skip };
        *v = &p->rest;
        return 1;
}

/* So many bytes are done. True: there are more. */
static inline bool w_pieces_advance(struct pieces *p, size_t bytes)
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
