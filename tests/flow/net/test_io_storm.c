/* tests/flow/net/test_io_storm.c - reads, waits, deadlines and weft_close at once, and numbers that
 * are used again at once, by descriptors that weft made and by foreign ones: no goroutine ever sees
 * the bytes of another descriptor.
 *
 * In check some ten thousand calls; TEST_LONG=1, as `make stress` sets it: 10^7.
 *
 * test: procs=1,2,4 timeout=600
 * The long form takes minutes.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/edge.h"

#include "base/rand.h"

#include <poll.h>

enum { N_SLOTS = 6, N_READERS = 3, CALLS_PER_ROUND = 4 + N_READERS, LONGEST_NS = 60000,
       NUMBERS_MAX = 1024 };

/* What a reader does first. */
enum first { READS, WAITS, SELECTS, N_FIRST };

struct reader {
        struct round *round;
        int64_t       timeout, id;
        bool          scoped;
        enum first    first;
};

/* A pair of sockets, and the readers of the first. A goroutine that makes two calls must know that
 * the socket was not closed between them. */
struct round {
        int           fds[2];
        uint32_t      tag;              /* of no other round */
        w_atomic_u32  n_done;
        weft_mutex    mutex;            /* for: */
        bool          closed;
        struct reader readers[N_READERS];
};

struct slot {
        uint64_t     rand;
        uint32_t     number;
        struct round rounds[2];         /* readers of one may still be active in the next */
};

static w_atomic_u32 n_bytes_seen, n_timeouts, n_closed, n_reported, n_foreign, n_reused;
static w_atomic_u32 numbers[NUMBERS_MAX];       /* 1: that number was read from before */

static uint32_t n_rounds(void)
{
        if (getenv("TEST_LONG"))
                return 10000000 / CALLS_PER_ROUND / N_SLOTS;
        return sched_scale((uint32_t)test_scale(1000)) + 4;
}

/* ---- Readers --------------------------------------------------------------------------------- */

/* A goroutine that was in its call already may still find the end of the old file. */
static void judge(const struct round *r, ssize_t got, uint32_t word)
{
        bool closed = got == -EBADF || got == -ECONNRESET || got == 0;

        CHECK_MSG(closed || got == -ETIMEDOUT || got == sizeof(word), "read returned %zd", got);
        CHECK_MSG(got <= 0 || word == r->tag, "read %u from descriptor %d of %u", word, r->fds[0],
                  r->tag);
        w_add_rlx(closed ? &n_closed : got < 0 ? &n_timeouts : &n_bytes_seen, 1);
}

static void read_tag(const struct round *r)
{
        uint32_t word = 0;
        ssize_t  got = weft_read(r->fds[0], &word, sizeof(word));

        judge(r, got, word);
}

/* Another reader may have been quicker. */
static void take_tag(struct round *r)
{
        uint32_t word = 0;

        weft_mutex_lock(&r->mutex);
        if (!r->closed) {
                ssize_t got = weft_recvfrom(r->fds[0], &word, sizeof(word), MSG_DONTWAIT, NULL,
                                            NULL);

                if (got != -EAGAIN)
                        judge(r, got, word);
        }
        weft_mutex_unlock(&r->mutex);
}

static int await_tag(const struct reader *reader)
{
        int       fd = reader->round->fds[0];
        weft_case c[] = { WEFT_READABLE(fd) };

        if (reader->first == WAITS)
                return weft_fd_wait(fd, POLLIN);
        int rc = weft_select(c, 1);

        return rc < 0 ? rc : c[0].result;
}

static void await_and_take(const struct reader *reader)
{
        int events = await_tag(reader);

        CHECK_MSG(events > 0 || events == -EBADF || events == -ETIMEDOUT, "a wait returned %d",
                  events);
        if (events < 0) {
                judge(reader->round, events, 0);
                return;
        }
        w_add_rlx(&n_reported, 1);
        take_tag(reader->round);
}

static void reader_main(void *arg)
{
        struct reader *reader = arg;
        weft_scope     s;

        if (reader->scoped)
                CHECK_EQ(weft_scope_open(&s, reader->timeout), 0);
        if (reader->first == READS)
                read_tag(reader->round);
        else
                await_and_take(reader);
        if (reader->scoped)
                CHECK_EQ(weft_scope_close(&s), 0);
        w_add_acqrel(&reader->round->n_done, 1);
}

/* ---- Makers and closers ---------------------------------------------------------------------- */

/* Every reader is in its call, or was: what follows concerns the old file only. */
static void await_readers(struct round *r)
{
        for (;;) {
                uint32_t done = w_load_acq(&r->n_done);         /* first: none counts twice */

                if (done == N_READERS || done + edge_users(r->fds[0]) >= N_READERS)
                        return;
                weft_yield();
        }
}

static void write_tags(struct slot *s, struct round *r)
{
        for (uint32_t n = w_rand_below(&s->rand, N_READERS + 1); n > 0; n--)
                CHECK_EQ(weft_write(r->fds[1], &r->tag, sizeof(r->tag)), sizeof(r->tag));
}

static void make_pair(struct slot *s, struct round *r)
{
        if (w_rand_below(&s->rand, 8))
                edge_unix_pair(r->fds);
        else
                edge_tcp_pair(r->fds);
        if (w_rand_below(&s->rand, 3))
                edge_both(r->fds);
        else
                w_add_rlx(&n_foreign, 1);
        CHECK(r->fds[0] < NUMBERS_MAX);
        w_add_rlx(&n_reused, w_load_rlx(&numbers[r->fds[0]]));
        w_store_rlx(&numbers[r->fds[0]], 1);
}

static void begin(struct slot *s, struct round *r, uint32_t i)
{
        make_pair(s, r);
        r->tag = i * N_SLOTS + s->number + 1;
        r->closed = false;
        w_store_rlx(&r->n_done, 0);
        for (int k = 0; k < N_READERS; k++) {
                struct reader *reader = &r->readers[k];
                uint32_t       chance = w_rand_below(&s->rand, 6);

                *reader = (struct reader){ .round = r, .scoped = w_rand_below(&s->rand, 2),
                                           .timeout = w_rand_below(&s->rand, LONGEST_NS),
                                           .first = chance < N_FIRST ? chance : READS };
                reader->id = sched_go(reader_main, reader);
        }
}

/* A goroutine that waits, or reads at once, may be in its call. */
static void end(struct round *r)
{
        weft_mutex_lock(&r->mutex);
        r->closed = true;
        CHECK_EQ(weft_close(r->fds[0]), 0);
        weft_mutex_unlock(&r->mutex);
        CHECK_EQ(weft_close(r->fds[1]), 0);
}

static void storm_round(struct slot *s, uint32_t i)
{
        struct round *r = &s->rounds[i % 2];

        for (int k = 0; k < N_READERS && i >= 2; k++)
                sched_join(r->readers[k].id);
        begin(s, r, i);
        if (w_rand_below(&s->rand, 2))
                write_tags(s, r);       /* some find it there at once */
        await_readers(r);
        write_tags(s, r);
        if (w_rand_below(&s->rand, 4) == 0)
                CHECK_EQ(weft_sleep(w_rand_below(&s->rand, LONGEST_NS)), 0);
        end(r);
}

static void slot_main(void *arg)
{
        struct slot *s = arg;
        uint32_t     n = n_rounds();

        for (uint32_t i = 0; i < n; i++)
                storm_round(s, i);
        for (int i = 0; i < 2; i++)
                for (int k = 0; k < N_READERS; k++)
                        sched_join(s->rounds[i].readers[k].id);
}

GO_TEST(no_reader_sees_the_bytes_of_another_descriptor)
{
        static struct slot slots[N_SLOTS];
        int64_t            ids[N_SLOTS];

        for (uint32_t i = 0; i < N_SLOTS; i++) {
                slots[i] = (struct slot){ .rand = test_seed() + i, .number = i };
                ids[i] = sched_go(slot_main, &slots[i]);
        }
        for (int i = 0; i < N_SLOTS; i++)
                sched_join(ids[i]);
        CHECK(w_load_rlx(&n_bytes_seen) && w_load_rlx(&n_timeouts) && w_load_rlx(&n_closed));
        CHECK(w_load_rlx(&n_reported) && w_load_rlx(&n_foreign) && w_load_rlx(&n_reused));
}
