/* base/records.c - chunks of records that live as long as the run.
 *
 * Edges     [RC1] chunk and its count   get: chunks, n store-release -> each: load-acquire
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/records.h"

#include "os/os.h"

enum { CHUNK_BYTES = 256 * 1024 };      /* address space; pages are committed as they are filled */

struct record_chunk {
        struct record_chunk *older;     /* i */
        w_atomic_u32         n;         /* a  [RC1] records handed out so far */
        uint32_t             cap;       /* i */
        _Alignas(W_CACHELINE) char records[];
};

void w_records_init(struct records *pool, size_t size)
{
        *pool = (struct records){ .size = (size + 15) & ~(size_t)15 };
}

static struct record_chunk *add_chunk(struct records *pool)
{
        void *memory;

        if (w_os_vm_map(&memory, CHUNK_BYTES) < 0)
                return NULL;
        struct record_chunk *chunk = memory;

        chunk->older = w_load_rlx(&pool->chunks);                 /* own word */
        chunk->cap = (uint32_t)((CHUNK_BYTES - sizeof(*chunk)) / pool->size);
        w_store_rel(&pool->chunks, chunk);                        /* [RC1] */
        pool->filling = chunk;
        return chunk;
}

void *w_records_get(struct records *pool)
{
        struct queue_node *reused = w_queue_pop(&pool->free);

        if (reused)
                return reused;
        struct record_chunk *chunk = pool->filling;

        if (!chunk || w_load_rlx(&chunk->n) == chunk->cap)        /* own word */
                chunk = add_chunk(pool);
        if (!chunk)
                return NULL;
        uint32_t n = w_load_rlx(&chunk->n);                       /* own word */

        w_store_rel(&chunk->n, n + 1);                            /* [RC1] */
        return chunk->records + (size_t)n * pool->size;
}

void w_records_put(struct records *pool, void *record)
{
        w_queue_push_front(&pool->free, record);
}

void w_records_each(struct records *pool, bool (*visit)(void *record, void *arg), void *arg)
{
        struct record_chunk *chunk = w_load_acq(&pool->chunks);   /* [RC1] */

        for (; chunk; chunk = chunk->older) {
                uint32_t n = w_load_acq(&chunk->n);               /* [RC1] */

                for (uint32_t i = 0; i < n; i++)
                        if (!visit(chunk->records + (size_t)i * pool->size, arg))
                                return;
        }
}

void w_records_destroy(struct records *pool)
{
        struct record_chunk *chunk = w_load_rlx(&pool->chunks);   /* own word */

        while (chunk) {
                struct record_chunk *older = chunk->older;

                w_os_vm_unmap(chunk, CHUNK_BYTES);
                chunk = older;
        }
        w_records_init(pool, pool->size);
}
