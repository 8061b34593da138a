/* sched/ids.h - goroutine ids: given once, found while they live, remembered as ended for ever.
 *
 * Ids count up from 1 and are handed out in batches of 16, so that a P takes a new batch only every
 * 16 spawns. A batch is one record, struct id_page; it stands in a hash table until all 16
 * goroutines have ended. PROTOCOL ids stands in sched/ids.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_IDS_H
#define W_SCHED_IDS_H

#include "base/atomic.h"
#include "base/list.h"
#include "base/lock.h"
#include "sched/g.h"

enum { W_ID_BATCH = 16 };

struct id_page {
        struct queue_node link;         /* b  in its bucket, or free; first, see base/records.h */
        uint64_t          batch;        /* i  id / W_ID_BATCH */
        struct list_node  joiners;      /* b  waiters for an id of this page */
        w_atomic_u64      state;        /* a  [IP2] three bits per id: see PROTOCOL ids */
        W_ATOMIC(struct g *) gs[W_ID_BATCH];    /* a  [IP1] NULL: not given yet */
};

/* The rest of a P's current batch. Owner: the P. Threads without a P share a central one. */
struct id_source {
        struct id_page *page;
        uint32_t        next;           /* index in page; W_ID_BATCH: take a new batch */
};

/* A waiter for the end of a goroutine. Stands in the frame of the waiting call. */
struct joiner {
        struct list_node link;          /* b  in the page, or on no list */
        int64_t          id;
        /* The goroutine has ended. True: the waiting party must be woken for it. False: another
         * event has ended the wait, and the record is not touched any more. With the bucket's lock;
         * takes no other lock. */
        bool           (*claim)(struct joiner *joiner);
        /* Adds its goroutine to `woken`. A waiting thread is woken at once, and then the record is
         * gone. No lock is held. */
        void           (*gather)(struct joiner *joiner, struct queue *woken);
};

void w_ids_init(void);
void w_ids_destroy(void);

/* The next id of a source that has one. */
W_INLINE void w_id_give_next(struct id_source *source, struct g *gp)
{
        uint32_t i = source->next++;

        gp->id = (int64_t)(source->page->batch * W_ID_BATCH + i);
        gp->id_page = source->page;
        w_store_rel(&source->page->gs[i], gp);                    /* [IP1] */
}

W_MUST_CHECK bool w_id_give_slow(struct id_source *source, struct g *gp);

/* Gives gp its id and makes it findable. False: no memory, nothing happened. Context: the owner of
 * `source`; NULL is the central source. */
W_MUST_CHECK W_INLINE bool w_id_give(struct id_source *source, struct g *gp)
{
        if (W_UNLIKELY(!source || source->next == W_ID_BATCH))
                return w_id_give_slow(source, gp);
        w_id_give_next(source, gp);
        return true;
}

/* The bits of the id at `index` in a page's state. */
#define W_ID_SEEN(index)  ((uint64_t)1 << (index))
#define W_ID_ENDED(index) ((uint64_t)1 << (W_ID_BATCH + (index)))
#define W_ID_GONE(index)  ((uint64_t)1 << (2 * W_ID_BATCH + (index)))
#define W_ID_ALL_GONE     ((((uint64_t)1 << W_ID_BATCH) - 1) << (2 * W_ID_BATCH))

/* The slow paths of w_id_end: a finder has seen the goroutine, or another id of the page ended at
 * the same time; and the last id of the page is gone. */
void w_id_end_slow(struct id_page *page, int64_t id, struct list_node *woken);
void w_id_retire(struct id_page *page);

/* gp has ended. Moves the joiners that must be woken to `woken`; the caller wakes them. Context:
 * gp's exit; gp->id and gp->id_page are cleared. */
W_INLINE void w_id_end(struct g *gp, struct list_node *woken)
{
        struct id_page *page = gp->id_page;
        int64_t         id = gp->id;
        uint32_t        i = (uint64_t)id % W_ID_BATCH;
        uint64_t        state = w_load_rlx(&page->state);         /* guarded by the CAS */
        uint64_t        after = state | W_ID_ENDED(i) | W_ID_GONE(i);

        W_ASSERT(!(state & (W_ID_ENDED(i) | W_ID_GONE(i))));
        if (W_UNLIKELY(state & W_ID_SEEN(i)) ||
            W_UNLIKELY(!w_cas_acqrel(&page->state, &state, after)))     /* [IP2] */
                w_id_end_slow(page, id, woken);
        else if (W_UNLIKELY((after & W_ID_ALL_GONE) == W_ID_ALL_GONE))
                w_id_retire(page);
        gp->id = 0;             /* not before: a finder may have read them */
        gp->id_page = NULL;
}

enum id_found { W_ID_NEVER_GIVEN, W_ID_HAS_ENDED, W_ID_ALIVE };

/* Finds the goroutine with that id. If the answer is ALIVE, *gp is set, *held is the lock of its
 * bucket, and the goroutine cannot end until the caller unlocks it. */
enum id_found w_id_find(int64_t id, struct g **gp, struct lock **held);

/* Adds a joiner of gp. With the lock of w_id_find; gp cannot end before it is released. */
void w_id_join_locked(struct g *gp, struct joiner *joiner);

/* Takes a joiner out, if it is not out already. No thread reads it afterwards. */
void w_id_unjoin(struct joiner *joiner);

/* How many ids were given in this run, for statistics. */
uint64_t w_ids_given_hint(void);

#endif
