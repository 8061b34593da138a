/* sched/inspect/dump_log.c - what a dump has found, in separate memory. Contract:
 * sched/inspect/dump_log.h.
 *
 * While the world is stopped, addresses are recorded and nothing is written: the reader of the
 * output may be a goroutine. Goroutines that are at the same place and were created at the same
 * place share one list of names. When the log is written, the list stands below the header lines of
 * all these goroutines. The names are looked up only then. Memory is mapped, not allocated: a
 * thread that runs on without a P may hold the allocator's lock for long. Entries do not move.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/inspect/dump_log.h"

#include "base/assert.h"
#include "os/os.h"
#include "sched/inspect/backtrace.h"

#include <string.h>

enum {
        CHUNK_BYTES = 256 * 1024,       /* address space; pages are committed as they are filled */
        OUT_BYTES = 32 * 1024,          /* of the first chunk, for the output buffer */
        FRAMES_MAX = W_BACKTRACE_FRAMES + W_BACKTRACE_MAYBES + W_FRAMES_MAX + 8,
        WRITE_TIMEOUT_NS = 1000000000,
};

struct dump_log_chunk {
        struct dump_log_chunk *next;
        size_t                 n, room; /* of bytes[]: used, and in total */
        _Alignas(16) char      bytes[];
};

struct dump_log_entry {
        struct dump_log_entry *next;    /* in the order in which entries were opened */
        struct dump_log_entry *same;    /* the next entry with the same frames */
        struct dump_log_entry *last;    /* the last entry of `same`; set in the first only */
        struct dump_frame     *frames;
        uint32_t               n_frames;
        uint32_t               header_bytes;
        bool                   is_listed;       /* written with an earlier entry */
        char                   header[];
};

/* ---- Recording ------------------------------------------------------------------------------- */

static size_t aligned(size_t n)
{
        return (n + 15) & ~(size_t)15;
}

static bool add_chunk(struct dump_log *r)
{
        void *memory;

        if (w_os_vm_map(&memory, CHUNK_BYTES) < 0)
                return false;
        struct dump_log_chunk *chunk = memory;

        chunk->room = CHUNK_BYTES - sizeof(*chunk);
        if (r->last)
                r->last->next = chunk;
        else
                r->first = chunk;
        r->last = chunk;
        return true;
}

void w_dump_log_begin(struct dump_log *r, int fd)
{
        *r = (struct dump_log){ .lines = { .fd = fd, .timeout = WRITE_TIMEOUT_NS } };
        if (!add_chunk(r))
                return;
        r->first->room -= OUT_BYTES;
        r->lines.buf = r->first->bytes + r->first->room;
        r->lines.room = OUT_BYTES;
}

void w_dump_log_begin_unbuffered(struct dump_log *r)
{
        *r = (struct dump_log){ .lines = w_lines_err(), .unbuffered = true };
}

/* Returns room for an entry with the largest number of frames. NULL: no memory. */
static struct dump_log_entry *room_for(struct dump_log *r, size_t header_bytes)
{
        size_t most = aligned(sizeof(struct dump_log_entry) + header_bytes) +
                      FRAMES_MAX * sizeof(struct dump_frame);

        r->cut = r->cut || !r->last || (r->last->room - r->last->n < most && !add_chunk(r));
        return r->cut ? NULL : (struct dump_log_entry *)(void *)(r->last->bytes + r->last->n);
}

bool w_dump_log_open(struct dump_log *r, const char *header, size_t n)
{
        if (r->unbuffered) {
                w_text_write(&r->lines, header, n);
                return true;
        }
        struct dump_log_entry *e = room_for(r, n);

        if (!e)
                return false;
        *e = (struct dump_log_entry){
                .frames = (struct dump_frame *)(void *)((char *)e + aligned(sizeof(*e) + n)),
                .header_bytes = (uint32_t)n,
        };
        memcpy(e->header, header, n);
        r->open = e;
        return true;
}

static void write_frame(struct lines *to, const struct dump_frame *s)
{
        switch (s->kind) {
        case W_DUMP_CALL:
                w_frame_write(to, (const void *)s->value);
                break;
        case W_DUMP_MAYBE:
                w_frame_write_maybe(to, (const void *)s->value);
                break;
        case W_DUMP_UNSEEN:
                w_line_write(to, "\t(running, its stack could not be examined)\n");
                break;
        case W_DUMP_PARENT:
                w_line_write(to, "created in goroutine %ld by\n", (long)s->value);
                break;
        }
}

void w_dump_log_add(struct dump_log *r, enum dump_frame_kind kind, uintptr_t value)
{
        struct dump_frame s = { .kind = kind, .value = value };

        if (r->unbuffered)
                write_frame(&r->lines, &s);
        else if (r->open->n_frames < FRAMES_MAX)
                r->open->frames[r->open->n_frames++] = s;
}

void w_dump_log_close(struct dump_log *r)
{
        if (r->unbuffered) {
                w_line_write(&r->lines, "\n");
                return;
        }
        struct dump_log_entry *e = r->open;

        r->last->n = (size_t)((char *)(e->frames + e->n_frames) - r->last->bytes);
        if (r->n++ == 0)
                r->oldest = e;
        else
                r->newest->next = e;
        r->newest = e;
        r->open = NULL;
}

/* ---- Entries with equal frames --------------------------------------------------------------- */

/* The first entry with each list of frames. A hash table with open addressing. */
struct table {
        struct dump_log_entry **slots;
        size_t              mask;       /* number of slots - 1 */
};

static size_t table_bytes(const struct table *t)
{
        size_t page = w_os_page_size();

        return ((t->mask + 1) * sizeof(t->slots[0]) + page - 1) & ~(page - 1);
}

static uint64_t hash_of(const struct dump_log_entry *e)
{
        uint64_t hash = e->n_frames;

        for (uint32_t i = 0; i < e->n_frames; i++) {
                hash = (hash ^ e->frames[i].value ^ e->frames[i].kind) * 0x9e3779b97f4a7c15u;
                hash ^= hash >> 32;
        }
        return hash;
}

static bool are_same(const struct dump_log_entry *a, const struct dump_log_entry *b)
{
        bool same = a->n_frames == b->n_frames;

        for (uint32_t i = 0; same && i < a->n_frames; i++)
                same = a->frames[i].kind == b->frames[i].kind &&
                       a->frames[i].value == b->frames[i].value;
        return same;
}

static void add_to_table(struct table *t, struct dump_log_entry *e)
{
        size_t i = (size_t)hash_of(e) & t->mask;

        while (t->slots[i] && !are_same(t->slots[i], e))
                i = (i + 1) & t->mask;
        struct dump_log_entry *first = t->slots[i];

        if (first) {
                first->last->same = e;
                e->is_listed = true;
        } else {
                first = t->slots[i] = e;
        }
        first->last = e;
}

/* Without memory for the table each entry is written with its own frames. */
static void find_same(struct dump_log *r)
{
        struct table t = { .mask = 63 };
        void        *memory;

        while (t.mask < 2 * r->n)
                t.mask = 2 * t.mask + 1;
        if (w_os_vm_map(&memory, table_bytes(&t)) < 0)
                return;
        t.slots = memory;
        for (struct dump_log_entry *e = r->oldest; e; e = e->next)
                add_to_table(&t, e);
        w_os_vm_unmap(memory, table_bytes(&t));
}

/* ---- Writing --------------------------------------------------------------------------------- */

static void write_same(struct dump_log *r, const struct dump_log_entry *first)
{
        for (const struct dump_log_entry *e = first; e; e = e->same)
                w_text_write(&r->lines, e->header, e->header_bytes);
        for (uint32_t i = 0; i < first->n_frames; i++)
                write_frame(&r->lines, &first->frames[i]);
        w_line_write(&r->lines, "\n");
}

void w_dump_log_write(struct dump_log *r)
{
        W_ASSERT(!r->unbuffered && !r->open);
        find_same(r);
        for (struct dump_log_entry *e = r->oldest; e && !r->lines.lost; e = e->next)
                if (!e->is_listed)
                        write_same(r, e);
        if (r->cut)
                w_line_write(&r->lines, "(cut: no memory for more goroutines)\n");
        w_lines_flush(&r->lines);
}

void w_dump_log_free(struct dump_log *r)
{
        for (struct dump_log_chunk *next, *chunk = r->first; chunk; chunk = next) {
                next = chunk->next;
                w_os_vm_unmap(chunk, CHUNK_BYTES);
        }
        *r = (struct dump_log){ 0 };
}
