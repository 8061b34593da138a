/* tests/sim/scenario_faults.c - every call that may fail does, sooner or later, and nothing leaks.
 *
 * A small runtime starts, with memory, guards, a signal stack, a fault watcher, a barrier and a
 * thread, and gives everything back. Whatever fails on the way, the rest is undone. The machine
 * itself checks at the end that no thread, page or watcher is left.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/scenario.h"

#include <string.h>

enum { N_PAGES = 8, N_STARTS = 40 };

struct toy {
        char                *slab;
        size_t               size;
        struct w_os_altstack altstack;
        struct worker        helper;
        bool                 has_barrier;
        bool                 skips_unmap;       /* the broken one */
};

static void help(void *arg)
{
        struct w_os_altstack altstack;
        char                *slab = arg;

        if (w_os_altstack_install(&altstack) != 0)
                return;
        memset(slab, 1, w_os_page_size());
        w_os_altstack_remove(&altstack);
}

static void on_fault(void *addr)
{
        (void)addr;
}

static int guard(struct toy *t)
{
        char *last = t->slab + t->size - w_os_page_size();
        int   rc = w_os_vm_has_light_guard() ? w_os_vm_guard_light(last, w_os_page_size()) : -1;

        if (rc != 0)
                rc = w_os_vm_guard_heavy(last, w_os_page_size());
        SIM_CHECK(sim_is_guarded(last) == (rc == 0), "guard: %d, but the page says otherwise", rc);
        return rc;
}

static int start(struct toy *t)
{
        int rc = w_os_vm_map((void **)&t->slab, t->size);

        if (rc != 0)
                return rc;
        for (size_t i = 0; i < t->size; i += w_os_page_size())
                SIM_CHECK(t->slab[i] == 0, "fresh memory is not zero");
        rc = guard(t);
        if (rc != 0)
                goto out_slab;
        rc = w_os_altstack_install(&t->altstack);
        if (rc != 0)
                goto out_slab;
        rc = w_os_faults_watch(on_fault);
        if (rc != 0)
                goto out_altstack;
        t->has_barrier = w_os_membarrier_init() == 0;
        rc = worker_try_start(&t->helper, "helper", help, t->slab);
        if (rc == 0)
                return 0;
        w_os_faults_unwatch();
out_altstack:
        w_os_altstack_remove(&t->altstack);
out_slab:
        if (!t->skips_unmap)
                w_os_vm_unmap(t->slab, t->size);
        return rc;
}

static void use(struct toy *t)
{
        unsigned char resident[N_PAGES];
        int           rc = w_os_membarrier();

        SIM_CHECK((rc == 0) == t->has_barrier, "membarrier says %d", rc);
        worker_join(&t->helper);
        t->slab[w_os_page_size()] = 1;
        if (w_os_vm_discard(t->slab, t->size) == 0)
                SIM_CHECK(t->slab[0] == 0 && t->slab[w_os_page_size()] == 0,
                          "discarded memory is not zero");
        if (w_os_vm_resident(t->slab, t->size, resident) == 0)
                SIM_CHECK(t->slab[0] == 0 || resident[0], "a page in use is not resident");
}

static void stop(struct toy *t)
{
        char *last = t->slab + t->size - w_os_page_size();

        w_os_faults_unwatch();
        w_os_altstack_remove(&t->altstack);
        if (w_os_vm_unguard(last, w_os_page_size()) == 0)
                SIM_CHECK(!sim_is_guarded(last), "the guard is still there");
        w_os_vm_unmap(t->slab, t->size / 2);    /* in two parts, as slabs are trimmed */
        w_os_vm_unmap(t->slab + t->size / 2, t->size - t->size / 2);
}

static void play(bool skips_unmap)
{
        for (int i = 0; i < N_STARTS; i++) {
                struct toy toy = { .size = N_PAGES * w_os_page_size(),
                                   .skips_unmap = skips_unmap };

                if (start(&toy) != 0)
                        continue;
                use(&toy);
                stop(&toy);
        }
}

static void faults_main(void)
{
        play(false);
}

SIM_SCENARIO(faults, "start and stop while any call may fail: nothing leaks", faults_main,
             .calls_fail = true)

/* ---- Broken --------------------------------------------------------------------------------- */

static void faults_leak_main(void)
{
        play(true);
}

SIM_MUTANT(faults_leak, "a failed start keeps its memory", faults_leak_main, .calls_fail = true)
