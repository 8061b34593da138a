/* sched/ids.h - goroutine ids: given once, found while they live, remembered as ended for ever.
 *
 * Ids count up from 1 and are handed out in batches of 16, so that a P takes a new batch only every
 * 16 spawns. A batch is one record, struct id_page, with a word per id; it stands in a hash table
 * until all 16 goroutines have ended. PROTOCOL ids stands in sched/ids.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_IDS_H
#define W_SCHED_IDS_H

#include "base/atomic.h"
#include "base/list.h"
#include "base/lock.h"

struct g;

enum { W_ID_BATCH = 16 };

struct id_page {
        struct queue_node link;         /* b  in its bucket, or free; first, see base/records.h */
        uint64_t          batch;        /* i  id / W_ID_BATCH */
        struct list_node  joiners;      /* b  who waits for an id of this page */
        w_atomic_u32      n_left;       /* a  [IP2] ids that have not ended */
        w_atomic_uptr     words[W_ID_BATCH];    /* a  [IP1] see PROTOCOL ids */
};

/* What is left of the batch that a P works on. Owner: the P; a central one serves those without. */
struct id_source {
        struct id_page *page;
        uint32_t        next;           /* index in page; W_ID_BATCH: take a new batch */
};

/* One who waits for the end of a goroutine; lives in the waiting call's frame. */
struct joiner {
        struct list_node link;
        struct g        *waiting;
        int64_t          id;
};

void w_ids_init(void);
void w_ids_destroy(void);

/* Gives gp its id and makes it findable. false: no memory, nothing happened. Context: owner of
 * `source`, or NULL for the central one. */
W_MUST_CHECK bool w_id_give(struct id_source *source, struct g *gp);

/* gp has ended: joiners are moved to `woken`, for the caller to make ready. Context: gp's commit of
 * its exit; gp->id and gp->id_page are gone afterwards. */
void w_id_end(struct g *gp, struct list_node *woken);

enum id_found { W_ID_NEVER_GIVEN, W_ID_ENDED, W_ID_ALIVE };

/* Finds the goroutine with that id and keeps it from ending until w_id_release; *gp is set and the
 * lock of its bucket is held only if the answer is ALIVE. */
enum id_found w_id_find(int64_t id, struct g **gp, struct lock **held);

/* With what w_id_find locked: waits for the end of gp as soon as the lock is released. */
void w_id_join_locked(struct g *gp, struct joiner *joiner);

/* How many ids were given in this run, for statistics. */
uint64_t w_ids_given_hint(void);

#endif
