/* sched/ids.c - from an id to its goroutine, and to the knowledge that it has ended.
 *
 * PROTOCOL ids
 *
 * Goal      An id is never given twice. A caller that asks for an id learns exactly: never given,
 *           alive, ended. A caller that finds a goroutine alive can act on it before its record
 *           becomes another goroutine. Spawn and exit take a lock once in 16 times.
 * Parties   giver (spawner), ender (the goroutine's exit), finder (join, unpark).
 * Words     gs[i] of a page: the goroutine; NULL: not given.
 *           state of a page, three bits for each of its ids:
 *             SEEN    a finder has acted on the goroutine
 *             ENDED   the goroutine has ended
 *             GONE    its ender will not use the page again
 *           A page stands in the table from before its first id is given until all 16 are GONE.
 * Giver     1. Store the pointer [IP1].
 * Ender, if SEEN is not set
 *           1. CAS adds ENDED and GONE [IP2].
 * Ender, if SEEN is set
 *           1. Add ENDED [IP2].
 *           2. Lock the bucket, take out the joiners, unlock.
 *           3. Add GONE [IP2].
 * Ender, if all 16 are GONE now
 *           1. Lock the bucket, take the page out, unlock, recycle the page.
 * Finder    1. Lock the bucket.
 *           2. There is no page: the id has ended if its batch was begun, else it was never given.
 *           3. Read the pointer [IP1]. NULL: never given.
 *           4. Add SEEN [IP2]. ENDED was set: it has ended.
 *           5. Act on the goroutine: append to its joiners, or hand over a token.
 *           6. Unlock.
 * Edges     [IP1] goroutine and its id     give: gs store-release -> find: gs load-acquire
 *           [IP2] all that it did, and all 16 ends   end: state RMW-acqrel -> find, last end: state
 *                 RMW-acqrel
 * Why a finder never acts on a recycled record   Its step 4 comes before or after the ender's first
 *           change of the word. After: it sees ENDED. Before: the ender sees SEEN and must lock the
 *           bucket, which the finder holds until it is done. Only then does the exit recycle the
 *           record.
 * Why no joiner is missed   It stands in the list before the finder unlocks. The ender empties the
 *           list under the same lock, after its change of the word.
 * Why a joiner that gives up is not missed   It takes itself out under the same lock. The ender
 *           wakes only the joiners whose claim it won there.
 * Why a page is not lost   A finder holds the bucket's lock, and a page is taken out only under
 *           that lock. An ender that still needs its joiners is not GONE.
 * Rejected  Slot and generation in the id (ugly numbers in every dump). A hash entry per goroutine
 *           (a lock or a CAS on a shared line per spawn).
 * Tests     unit/test_ids.c, sim scenarios sched_spawn, sched_ids.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/ids.h"

#include "base/assert.h"
#include "base/records.h"
#include "base/window.h"
#include "sched/g.h"

enum {
        N_BUCKETS = 1024,       /* a million goroutines are 61 pages in each bucket */
};

struct bucket {
        struct lock  lock;
        struct queue pages;     /* b  under lock */
};

static struct {
        struct bucket    buckets[N_BUCKETS];
        struct lock      lock;          /* class ids: the three below */
        struct records   pages;
        uint64_t         next_batch;
        struct id_source central;
        w_atomic_u64     n_batches;     /* a  hint: next_batch for those without the lock */
} ids;

static struct bucket *bucket_of(uint64_t batch)
{
        return &ids.buckets[batch % N_BUCKETS];
}

void w_ids_init(void)
{
        for (int i = 0; i < N_BUCKETS; i++) {
                w_lock_init(&ids.buckets[i].lock, W_LOCK_id_bucket);
                ids.buckets[i].pages = (struct queue){ 0 };
        }
        w_lock_init(&ids.lock, W_LOCK_ids);
        w_records_init(&ids.pages, sizeof(struct id_page));
        ids.next_batch = 0;
        ids.central = (struct id_source){ NULL, W_ID_BATCH };
        w_store_rlx(&ids.n_batches, 0);         /* own word: no other thread runs yet */
}

void w_ids_destroy(void)
{
        w_records_destroy(&ids.pages);
}

/* Id 0 is never given: the first batch begins with 1. */
static void page_reset(struct id_page *page, uint64_t batch)
{
        page->batch = batch;
        w_list_init(&page->joiners);
        for (int i = 0; i < W_ID_BATCH; i++)
                w_store_rlx(&page->gs[i], NULL);                  /* guarded by the bucket's lock */
        uint64_t state = batch == 0 ? W_ID_ENDED(0) | W_ID_GONE(0) : 0;

        w_store_rlx(&page->state, state);                         /* guarded by the bucket's lock */
}

/* The page stands in the table before its batch is counted: a finder that sees the count but not
 * the page, under the bucket's lock, knows that the page is gone. */
static bool take_batch_locked(struct id_source *source)
{
        struct id_page *page = w_records_get(&ids.pages);

        if (!page)
                return false;
        uint64_t       batch = ids.next_batch++;
        struct bucket *b = bucket_of(batch);

        page_reset(page, batch);
        w_lock(&b->lock);
        w_queue_push(&b->pages, &page->link);
        w_unlock(&b->lock);
        w_store_rlx(&ids.n_batches, ids.next_batch);              /* guarded by the bucket's lock */
        source->page = page;
        source->next = batch == 0 ? 1 : 0;
        return true;
}

bool w_id_give_slow(struct id_source *source, struct g *gp)
{
        w_lock(&ids.lock);
        if (!source)
                source = &ids.central;
        bool ok = source->next < W_ID_BATCH || take_batch_locked(source);

        if (ok)
                w_id_give_next(source, gp);
        w_unlock(&ids.lock);
        return ok;
}

/* Takes the page out of the table and frees it. Its last id has ended: no joiner waits for it. */
void w_id_retire(struct id_page *page)
{
        struct bucket *b = bucket_of(page->batch);
        struct queue   kept = { 0 };

        w_lock(&b->lock);
        for (struct queue_node *n; (n = w_queue_pop(&b->pages));)
                if (n != &page->link)
                        w_queue_push(&kept, n);
        b->pages = kept;
        W_CHECK(w_list_empty(&page->joiners), "an id page with joiners is retired");
        w_unlock(&b->lock);
        w_lock(&ids.lock);
        w_records_put(&ids.pages, page);
        w_unlock(&ids.lock);
}

static void collect_joiners(struct id_page *page, int64_t id, struct list_node *woken)
{
        struct bucket *b = bucket_of(page->batch);

        w_lock(&b->lock);
        W_LIST_EACH(n, &page->joiners) {
                struct joiner *j = W_CONTAINER_OF(n, struct joiner, link);

                if (j->id != id)
                        continue;
                w_list_unlink(n);
                if (j->claim(j))
                        w_list_push_back(woken, n);
        }
        w_unlock(&b->lock);
}

/* A finder got hold of the goroutine: its joiners must be fetched before the page may go. */
static bool end_seen(struct id_page *page, int64_t id, struct list_node *woken)
{
        uint32_t i = (uint64_t)id % W_ID_BATCH;

        w_or_acqrel(&page->state, W_ID_ENDED(i));                 /* [IP2] */
        W_WINDOW("id-ended-before-joiners");
        collect_joiners(page, id, woken);
        uint64_t before = w_or_acqrel(&page->state, W_ID_GONE(i));      /* [IP2] */

        return ((before | W_ID_GONE(i)) & W_ID_ALL_GONE) == W_ID_ALL_GONE;
}

void w_id_end_slow(struct id_page *page, int64_t id, struct list_node *woken)
{
        uint32_t i = (uint64_t)id % W_ID_BATCH;
        uint64_t seen = w_load_rlx(&page->state);                 /* guarded by the CAS */
        uint64_t after = seen;
        bool     last;

        while (!(seen & W_ID_SEEN(i))) {
                after = seen | W_ID_ENDED(i) | W_ID_GONE(i);
                if (w_cas_acqrel(&page->state, &seen, after))     /* [IP2] */
                        break;
        }
        if (seen & W_ID_SEEN(i))
                last = end_seen(page, id, woken);
        else
                last = (after & W_ID_ALL_GONE) == W_ID_ALL_GONE;
        if (last)
                w_id_retire(page);
}

static struct id_page *find_page(struct bucket *b, uint64_t batch)
{
        for (struct queue_node *n = b->pages.head; n; n = n->next) {
                struct id_page *page = W_CONTAINER_OF(n, struct id_page, link);

                if (page->batch == batch)
                        return page;
        }
        return NULL;
}

/* Marks the goroutine as seen, unless it has ended or was never given. */
static enum id_found pin(struct id_page *page, uint32_t i, struct g **gp)
{
        *gp = w_load_acq(&page->gs[i]);                           /* [IP1] */
        if (!*gp)
                return W_ID_NEVER_GIVEN;
        uint64_t before = w_or_acqrel(&page->state, W_ID_SEEN(i));      /* [IP2] */

        return before & W_ID_ENDED(i) ? W_ID_HAS_ENDED : W_ID_ALIVE;
}

enum id_found w_id_find(int64_t id, struct g **gp, struct lock **held)
{
        uint64_t batch = (uint64_t)id / W_ID_BATCH;

        if (id <= 0)
                return W_ID_NEVER_GIVEN;
        struct bucket *b = bucket_of(batch);

        w_lock(&b->lock);
        struct id_page *page = find_page(b, batch);
        enum id_found   found;

        if (page)
                found = pin(page, (uint64_t)id % W_ID_BATCH, gp);
        else if (batch < w_load_rlx(&ids.n_batches))              /* guarded by the lock */
                found = W_ID_HAS_ENDED;
        else
                found = W_ID_NEVER_GIVEN;
        if (found == W_ID_ALIVE)
                *held = &b->lock;
        else
                w_unlock(&b->lock);
        return found;
}

void w_id_join_locked(struct g *gp, struct joiner *joiner)
{
        w_list_init(&joiner->link);
        w_list_push_back(&gp->id_page->joiners, &joiner->link);
}

void w_id_unjoin(struct joiner *joiner)
{
        struct bucket *b = bucket_of((uint64_t)joiner->id / W_ID_BATCH);

        w_lock(&b->lock);
        w_list_unlink(&joiner->link);
        w_unlock(&b->lock);
}

uint64_t w_ids_given_hint(void)
{
        return w_load_rlx(&ids.n_batches) * W_ID_BATCH;           /* hint */
}
