/* chan/memory.c - allocation of channels and their buffers.
 *
 * All memory belongs to the run. Records come from one pool. Buffers that do not fit into the
 * record come from pools of doubling sizes. A larger buffer is a mapping of its own; a list of
 * mappings lets the end of the run unmap the mappings that are left. There is one lock, which is
 * held for a few instructions: a cache per P would save less than its own bookkeeping costs.
 *
 * SPDX-License-Identifier: MIT
 */
#include "chan/chan.h"

#include "base/assert.h"
#include "base/records.h"
#include "os/os.h"
#include "sched/run/run.h"
#include "sched/sched.h"

enum {
        CLASS_MIN = 2 * W_CHAN_INLINE,
        N_CLASSES = 8,                  /* the largest is 16 KiB */
        HEADER = 64,                    /* of a mapping: keeps the elements aligned */
};

/* At the start of a mapping. */
struct mapping {
        struct list_node link;
        size_t           size;
};

_Static_assert(sizeof(struct mapping) <= HEADER, "room for the header of a mapping");

static struct {
        struct lock      lock;          /* class chan_pool: all of this */
        bool             ready;         /* in this run */
        struct records   chans;
        struct records   buffers[N_CLASSES];
        struct list_node mappings;
        struct run_end   at_end;
} pool = { .lock = W_LOCK_INIT(chan_pool) };

/* ---- Begin and end of the run ---------------------------------------------------------------- */

/* Runs when the last thread of the run is gone. */
static void free_all(void)
{
        w_records_destroy(&pool.chans);
        for (int i = 0; i < N_CLASSES; i++)
                w_records_destroy(&pool.buffers[i]);
        for (struct list_node *n; (n = w_list_pop_front(&pool.mappings));) {
                struct mapping *m = W_CONTAINER_OF(n, struct mapping, link);

                w_os_vm_unmap(m, m->size);
        }
        pool.ready = false;
}

/* Called for the first channel of a run. */
static W_NOINLINE void set_up_locked(void)
{
        w_records_init(&pool.chans, sizeof(struct chan));
        for (int i = 0; i < N_CLASSES; i++)
                w_records_init(&pool.buffers[i], (size_t)CLASS_MIN << i);
        w_list_init(&pool.mappings);
        pool.at_end.free = free_all;
        w_run_at_end(&pool.at_end);
        pool.ready = true;
}

/* ---- Buffers --------------------------------------------------------------------------------- */

static struct records *class_of(size_t bytes)
{
        for (int i = 0; i < N_CLASSES; i++)
                if (bytes <= (size_t)CLASS_MIN << i)
                        return &pool.buffers[i];
        return NULL;
}

/* The size of a mapping with room for `bytes` bytes; 0: overflow. */
static size_t mapping_size(size_t bytes)
{
        size_t page = w_os_page_size();
        size_t size;

        if (__builtin_add_overflow(bytes, HEADER + page - 1, &size) || size > PTRDIFF_MAX)
                return 0;
        return size & ~(page - 1);
}

static char *map_buffer(size_t bytes)
{
        size_t size = mapping_size(bytes);
        void  *memory;

        if (size == 0 || w_os_vm_map(&memory, size) < 0)
                return NULL;
        struct mapping *m = memory;

        m->size = size;
        w_list_init(&m->link);
        w_lock(&pool.lock);
        w_list_push_back(&pool.mappings, &m->link);
        w_unlock(&pool.lock);
        return (char *)memory + HEADER;
}

static void unmap_buffer(char *buffer)
{
        struct mapping *m = (struct mapping *)(void *)(buffer - HEADER);

        w_lock(&pool.lock);
        w_list_unlink(&m->link);
        w_unlock(&pool.lock);
        w_os_vm_unmap(m, m->size);
}

/* ---- Channels -------------------------------------------------------------------------------- */

static void put_locked(struct chan *c, struct records *class)
{
        if (class)
                w_records_put(class, c->buffer);
        w_records_put(&pool.chans, c);
}

/* False: no memory, and nothing was taken. */
static bool get_locked(struct chan **c, struct records *class)
{
        *c = w_records_get(&pool.chans);
        if (!*c)
                return false;
        (*c)->buffer = (*c)->room;
        if (!class)
                return true;
        (*c)->buffer = w_records_get(class);
        if ((*c)->buffer)
                return true;
        w_records_put(&pool.chans, *c);
        return false;
}

struct chan *w_chan_get(size_t elem_size, size_t cap)
{
        struct chan *c;
        size_t       bytes;

        if (__builtin_mul_overflow(elem_size, cap, &bytes) || cap > PTRDIFF_MAX ||
            elem_size > PTRDIFF_MAX)
                return NULL;
        bool            in_record = bytes <= W_CHAN_INLINE;
        struct records *class = in_record ? NULL : class_of(bytes);

        w_lock(&pool.lock);
        if (W_UNLIKELY(!pool.ready))
                set_up_locked();
        bool ok = get_locked(&c, class);

        w_unlock(&pool.lock);
        if (!ok)
                return NULL;
        if (in_record || class)
                return c;
        c->buffer = map_buffer(bytes);
        if (c->buffer)
                return c;
        w_lock(&pool.lock);
        put_locked(c, NULL);
        w_unlock(&pool.lock);
        return NULL;
}

void w_chan_put(struct chan *c)
{
        size_t          bytes = c->elem_size * c->cap;
        struct records *class = bytes <= W_CHAN_INLINE ? NULL : class_of(bytes);

        if (!class && bytes > W_CHAN_INLINE)
                unmap_buffer(c->buffer);
        w_lock(&pool.lock);
        put_locked(c, class);
        w_unlock(&pool.lock);
}
