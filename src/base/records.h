/* base/records.h - records of one type in memory that is never given back while the run lasts.
 *
 * A record stays readable after it was freed, and its memory is only used for records of the same
 * type. A thread that reads a record a moment too late reads harmless data, and notices this by the
 * identity in the record. Memory comes in large mappings; all of it is unmapped at once.
 *
 * Only w_records_each is thread-safe: the owner of a pool says which lock protects it.
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

/* Returns a record, or NULL: no memory. A fresh record is zero. A reused record has the contents
 * that it was freed with, except its first word. */
W_MUST_CHECK void *w_records_get(struct records *pool);

/* The first word is overwritten. */
void w_records_put(struct records *pool, void *record);

/* Calls visit(record, arg) for every record that was ever handed out, also for free records, until
 * visit returns false. Context: any thread, also while records are added; async-signal-safe. */
void w_records_each(struct records *pool, bool (*visit)(void *record, void *arg), void *arg);

/* Unmaps everything. */
void w_records_destroy(struct records *pool);

#endif
