/* base/records.h - records of one type in memory that is never given back while the run lasts.
 *
 * A pointer to a record stays readable after the record was freed, and still points to a record of
 * the same type: a thread that looks at one a moment too late reads something harmless and finds
 * out by the record's own identity. Memory comes in large mappings; all of it goes at once.
 *
 * Not thread-safe but for w_records_each: the owner says which lock protects a pool.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_BASE_RECORDS_H
#define W_BASE_RECORDS_H

#include "base/atomic.h"
#include "base/list.h"

struct record_chunk;

struct records {
        size_t size;            /* i  bytes per record, a multiple of 16 */
        W_ATOMIC(struct record_chunk *) chunks; /* a  [RC1] newest first */
        struct queue free;      /* linked through the first word of a free record */
        struct record_chunk *filling;
};

void w_records_init(struct records *pool, size_t size);

/* A record: fresh ones are zero, reused ones as they were freed but for their first word. NULL: no
 * memory. */
W_MUST_CHECK void *w_records_get(struct records *pool);

/* The first word is overwritten. */
void w_records_put(struct records *pool, void *record);

/* Calls visit(record, arg) for every record ever handed out, free ones included, until it returns
 * false. Context: any thread, also while records are being added; async-signal-safe. */
void w_records_each(struct records *pool, bool (*visit)(void *record, void *arg), void *arg);

/* Unmaps everything. */
void w_records_destroy(struct records *pool);

#endif
