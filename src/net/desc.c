/* net/desc.c - records of descriptors, found by number.
 *
 * A table of two levels for every number that an int can hold. Its memory is mapped when a number
 * is first used, and stays until the run has ended. Any thread may read a record at any time.
 *
 * Edges     [DT1] a new leaf   publish: store-release -> find: load-acquire
 *
 * SPDX-License-Identifier: MIT
 */
#include "net/desc.h"

#include "base/tuning.h"
#include "sched/run/run.h"
#include "sched/sched.h"

enum {
        LEAF_BITS = W_TUNE_DESC_LEAF_BITS,
        TOP_BITS = W_TUNE_DESC_TOP_BITS,
        N_IN_LEAF = 1 << LEAF_BITS,
        N_LEAVES = 1 << TOP_BITS,
};

struct leaf {
        struct leaf *next;              /* l */
        struct desc  descs[N_IN_LEAF];
};

typedef W_ATOMIC(struct leaf *) leaf_ptr;

static struct {
        struct lock    lock;            /* class descs */
        W_ATOMIC(leaf_ptr *) top;       /* a  [DT1] NULL: no number has been used */
        struct leaf   *leaves;          /* l  all of them */
        struct run_end at_end;
} table = { .lock = W_LOCK_INIT(descs) };

static size_t whole_pages(size_t bytes)
{
        size_t page = w_os_page_size();

        return (bytes + page - 1) / page * page;
}

/* Called when the last thread of the run is gone. */
static void free_all(void)
{
        for (struct leaf *leaf = table.leaves, *next; leaf; leaf = next) {
                next = leaf->next;
                w_os_vm_unmap(leaf, whole_pages(sizeof(*leaf)));
        }
        table.leaves = NULL;
        w_os_vm_unmap(w_load_rlx(&table.top),                     /* own word: no thread is left */
                      whole_pages(N_LEAVES * sizeof(leaf_ptr)));
        w_store_rlx(&table.top, NULL);                            /* own word: no thread is left */
}

static leaf_ptr *get_top_locked(void)
{
        leaf_ptr *top = w_load_rlx(&table.top);                   /* guarded by the lock */
        void     *made;

        if (top || w_os_vm_map(&made, whole_pages(N_LEAVES * sizeof(leaf_ptr))) < 0)
                return top;
        table.at_end.free = free_all;
        w_run_at_end(&table.at_end);
        w_store_rel(&table.top, (leaf_ptr *)made);                /* [DT1] */
        return made;
}

static struct leaf *new_leaf_locked(void)
{
        void *made;

        if (w_os_vm_map(&made, whole_pages(sizeof(struct leaf))) < 0)
                return NULL;
        struct leaf *leaf = made;

        for (uint32_t i = 0; i < N_IN_LEAF; i++) {
                w_lock_init(&leaf->descs[i].lock, W_LOCK_poll);
                w_list_init(&leaf->descs[i].waits);
                for (uint32_t k = 0; k < W_N_DIRS; k++)
                        w_list_init(&leaf->descs[i].dirs[k].waits);
        }
        leaf->next = table.leaves;
        table.leaves = leaf;
        return leaf;
}

static bool is_number(int fd)
{
        return fd >= 0 && fd >> LEAF_BITS < N_LEAVES;
}

struct desc *w_desc_find(int fd)
{
        leaf_ptr    *top = is_number(fd) ? w_load_acq(&table.top) : NULL;         /* [DT1] */
        struct leaf *leaf = top ? w_load_acq(&top[fd >> LEAF_BITS]) : NULL;       /* [DT1] */

        return leaf ? &leaf->descs[fd & (N_IN_LEAF - 1)] : NULL;
}

static W_NOINLINE struct desc *make(int fd)
{
        w_lock(&table.lock);
        leaf_ptr    *top = get_top_locked();
        leaf_ptr    *at = top ? &top[fd >> LEAF_BITS] : NULL;
        struct leaf *leaf = at ? w_load_rlx(at) : NULL;           /* guarded by the lock */

        if (at && !leaf) {
                leaf = new_leaf_locked();
                w_store_rel(at, leaf);                            /* [DT1] */
        }
        w_unlock(&table.lock);
        return leaf ? &leaf->descs[fd & (N_IN_LEAF - 1)] : NULL;
}

struct desc *w_desc_get(int fd)
{
        struct desc *d = w_desc_find(fd);

        return W_LIKELY(d != NULL) || !is_number(fd) ? d : make(fd);
}
