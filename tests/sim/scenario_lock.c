/* tests/sim/scenario_lock.c - PROTOCOL lock (base/lock.c) on the simulated machine.
 *
 * Several threads count in a plain word under one lock. Exclusion: the count is right, and no
 * thread meets another in the section. Progress: every thread ends.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/lock.h"
#include "sim/scenario.h"

enum { N_THREADS = 4, N_SECTIONS = 20 };

static struct lock lock;
static uint32_t    count, inside;
static void      (*take)(struct lock *l);
static void      (*release)(struct lock *l);

static void section(void)
{
        uint32_t others = w_plain_load(&inside);
        uint32_t old;

        SIM_CHECK(others == 0, "%u others in the section", others);
        w_plain_store(&inside, 1);
        old = w_plain_load(&count);
        if (sim_random(4) == 0)
                sim_work(sim_random(2000));
        w_plain_store(&count, old + 1);
        w_plain_store(&inside, 0);
}

static void contend(void *arg)
{
        (void)arg;
        for (int i = 0; i < N_SECTIONS; i++) {
                take(&lock);
                section();
                release(&lock);
                if (sim_random(4) == 0)
                        sim_work(sim_random(2000));
        }
}

static void play(void (*with_take)(struct lock *), void (*with_release)(struct lock *))
{
        struct worker workers[N_THREADS];

        w_lock_init(&lock, W_LOCK_test_outer);
        count = inside = 0;
        take = with_take;
        release = with_release;
        for (int i = 0; i < N_THREADS; i++)
                worker_start(&workers[i], "contender", contend, NULL);
        for (int i = 0; i < N_THREADS; i++)
                worker_join(&workers[i]);
        SIM_CHECK(count == N_THREADS * N_SECTIONS, "counted %u of %d", count,
                  N_THREADS * N_SECTIONS);
        SIM_CHECK(lock.word.raw == 0, "the lock is %u in the end", lock.word.raw);
}

static void take_somehow(struct lock *l)
{
        if (sim_random(4) != 0 || !w_lock_try(l))
                w_lock(l);
}

static void lock_main(void)
{
        play(take_somehow, w_unlock);
}

SIM_SCENARIO(lock, "several threads, one lock: exclusion and progress", lock_main, SIM_USUAL)

/* ---- Broken --------------------------------------------------------------------------------- */

enum { FREE, HELD, SLEPT_ON };  /* the words of base/lock.c */

static void take_torn(struct lock *l)
{
        while (w_load_acq(&l->word) != FREE)    /* [LK1] */
                w_os_yield();
        w_store_rlx(&l->word, HELD);            /* own word? no: this is what is broken */
}

static void release_plain(struct lock *l)
{
        w_store_rel(&l->word, FREE);            /* [LK1] */
}

static void lock_torn_main(void)
{
        play(take_torn, release_plain);
}

SIM_MUTANT(lock_torn, "load and store in place of a compare-and-swap", lock_torn_main, SIM_USUAL)

/* After its sleep it takes the lock as if no other thread slept. */
static void take_forgetful(struct lock *l)
{
        uint32_t seen = FREE;

        while (!w_cas_acq(&l->word, &seen, HELD)) {     /* [LK1] */
                if (seen == HELD && !w_cas_acq(&l->word, &seen, SLEPT_ON)) {
                        seen = FREE;
                        continue;
                }
                (void)w_os_futex_wait(&l->word, SLEPT_ON, W_FOREVER);
                seen = FREE;
        }
}

static void release_raw(struct lock *l)
{
        if (w_xchg_rel(&l->word, FREE) == SLEPT_ON)     /* [LK1] */
                w_os_futex_wake(&l->word, 1);
}

static void lock_forgets_sleepers_main(void)
{
        play(take_forgetful, release_raw);
}

SIM_MUTANT(lock_forgets_sleepers, "a woken thread does not mark the lock for the next sleeper",
           lock_forgets_sleepers_main, .no_spurious = true)

/* Checks before it releases: a sleeper that comes between is missed. */
static void release_checking_first(struct lock *l)
{
        bool slept_on = w_load_rlx(&l->word) == SLEPT_ON;       /* hint? no: it decides */

        (void)w_xchg_rel(&l->word, FREE);               /* [LK1] */
        if (slept_on)
                w_os_futex_wake(&l->word, 1);
}

static void take_raw(struct lock *l)
{
        uint32_t seen = FREE;

        if (w_cas_acq(&l->word, &seen, HELD))           /* [LK1] */
                return;
        while (w_xchg_acq(&l->word, SLEPT_ON) != FREE)  /* [LK1] */
                (void)w_os_futex_wait(&l->word, SLEPT_ON, W_FOREVER);
}

static void lock_checks_first_main(void)
{
        play(take_raw, release_checking_first);
}

SIM_MUTANT(lock_checks_first, "unlock checks for sleepers before it releases",
           lock_checks_first_main, .no_spurious = true)
