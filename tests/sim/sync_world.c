/* tests/sim/sync_world.c - the frame of the scenarios of mutex, semaphore and the like.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/sync_world.h"

#include <string.h>

enum { PATTERN = 0xA5 };

struct object sync_objects[N_OBJECTS];
struct state  sync_states[N_OBJECTS];

static struct worker strangers[N_OBJECTS];
static bool          gone[N_OBJECTS];
static bool          has_stranger;
static void        (*user)(void *);

uint32_t sync_n_users(void)
{
        return N_USERS + has_stranger;
}

void sync_gone(struct state *s)
{
        gone[s - sync_states] = true;
        memset(s->object, PATTERN, sizeof(*s->object));
}

static void check_patterns(void)
{
        for (uint32_t i = 0; i < N_OBJECTS; i++)
                for (size_t at = 0; gone[i] && at < sizeof(sync_objects[i]); at++)
                        SIM_CHECK(((unsigned char *)&sync_objects[i])[at] == PATTERN,
                                  "object %u was touched at byte %zu after its end", i, at);
}

void sync_maybe_yield(void)
{
        switch (sim_random(4)) {
        case 0:
                weft_yield();
                break;
        case 1:
                sim_work((int64_t)sim_random(3000));
                break;
        default:
                break;
        }
}

void sync_section(struct state *s)
{
        SIM_CHECK(w_plain_load(&s->inside) == 0, "two in one section");
        w_plain_store(&s->inside, 1);
        w_plain_store(&s->sum, w_plain_load(&s->sum) + 1);
        sync_maybe_yield();
        w_plain_store(&s->inside, 0);
}

/* ---- The users ------------------------------------------------------------------------------- */

static void stranger(void *arg)
{
        foreign_begin();
        user(arg);
}

static void first(void *arg)
{
        int64_t ids[N_OBJECTS][N_USERS];

        (void)arg;
        for (uint32_t i = 0; i < N_OBJECTS; i++)
                for (uint32_t k = 0; k < N_USERS; k++)
                        ids[i][k] = sched_go(user, &sync_states[i]);
        for (uint32_t i = 0; i < N_OBJECTS; i++)
                for (uint32_t k = 0; k < N_USERS; k++)
                        sched_join(ids[i][k]);
        check_patterns();
}

void sync_begin(void (*fn)(void *), bool strangers_welcome)
{
        user = fn;
        has_stranger = strangers_welcome && sim_random(2);
        memset(sync_objects, 0, sizeof(sync_objects));
        memset(sync_states, 0, sizeof(sync_states));
        memset(gone, 0, sizeof(gone));
        for (uint32_t i = 0; i < N_OBJECTS; i++) {
                sync_states[i].object = &sync_objects[i];
                sync_states[i].n_refs = sync_n_users();
        }
}

void sync_stranger_start(void)
{
        worker_start(&strangers[0], "stranger", stranger, &sync_states[0]);
}

void sync_stranger_join(void)
{
        worker_join(&strangers[0]);
}

void sync_run_users(void)
{
        for (uint32_t i = 0; has_stranger && i < N_OBJECTS; i++)
                worker_start(&strangers[i], "stranger", stranger, &sync_states[i]);
        sched_run_well(NULL, first);
        for (uint32_t i = 0; has_stranger && i < N_OBJECTS; i++)
                worker_join(&strangers[i]);
        check_patterns();
}

void sync_run_all(void)
{
        sync_run_users();
        for (uint32_t i = 0; i < N_OBJECTS; i++)
                SIM_CHECK(gone[i], "object %u has users left", i);
}
