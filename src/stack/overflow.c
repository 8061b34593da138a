/* stack/overflow.c - the report of a stack overflow, on the signal stack of the thread that ran it.
 *
 * Called by   os, when memory faults; stack.c, when a canary is damaged.
 * Protocols   owns stack-watch, cites stack-slabs.
 *
 * Only the address decides: the light guard faults as unmapped memory, the heavy one as forbidden
 * memory. A stack grows down into the guard of its own slot, so that slot's owner is named. A frame
 * larger than the guard could step over it into the slot below, and its first touch may even lie in
 * that slot's guard, which would be blamed on the wrong goroutine; code built with
 * -fstack-clash-protection, which weft's package files demand, touches every page on its way and
 * cannot. The guard of a slot that is free is nobody's overflow and is left to the chain.
 *
 * PROTOCOL stack-watch
 *
 * Goal      a pool is not unmapped under a fault handler that looks into it.
 * Parties   finder (the handler, any thread), owner of the pool, which ends it.
 * Words     watched: the pool or NULL.  n_finders: handlers that may be looking.
 * Finder    1 n_finders += 1   2 [SW1] full fence   3 loads watched [SW2]; looks if not NULL
 *           4 n_finders -= 1 [SW3].
 * Owner     1 watched = NULL   2 [SW1] full fence   3 ends the watch at the system: no new finders
 *           4 waits until n_finders is 0 [SW3]; unmaps.
 * Fences    [SW1] n_finders <-> watched   whichever fence is first, either the finder loads NULL
 *           or the owner sees its count.
 * Edges     [SW2] pool set up   watch: watched store-release      ->  finder: load-acquire
 *           [SW3] finder done   finder: n_finders sub-release     ->  unwatch: load-acquire
 * Why it ends   a finder looks at a few hundred headers and returns, or the program dies.
 * Tests     flow/stack/test_stack_overflow.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include "stack/pool.h"

#include "base/window.h"
#include "os/os.h"

static w_atomic_ptr watched;            /* a  [SW1][SW2] struct stack_pool * */
static w_atomic_u32 n_finders;          /* a  [SW1][SW3] */

/* Names are the user's and of any length; a line is 512 bytes. */
struct short_text {
        char text[160];
};

static const char *shorten(struct short_text *s, const char *text)
{
        if (w_format(s->text, sizeof(s->text), "%s", text) >= sizeof(s->text))
                w_format(s->text + sizeof(s->text) - 4, 4, "...");
        return s->text;
}

static void format_size(char *buf, size_t buf_size, size_t size)
{
        if (size % ((size_t)1 << 20) == 0)
                w_format(buf, buf_size, "%zu MiB", size >> 20);
        else if (size % 1024 == 0)
                w_format(buf, buf_size, "%zu KiB", size >> 10);
        else
                w_format(buf, buf_size, "%zu bytes", size);
}

static void say_headline(const struct stack_owner *who, bool known)
{
        char size[32];
        struct short_text name;

        format_size(size, sizeof(size), who->size);
        if (!known)
                w_fatal_begin("stack overflow (%s)", size);
        else if (who->name && *who->name)
                w_fatal_begin("stack overflow in goroutine %lld \"%s\" (%s)", (long long)who->id,
                              shorten(&name, who->name), size);
        else
                w_fatal_begin("stack overflow in goroutine %lld (%s)", (long long)who->id, size);
}

/* After the headline, because the dynamic linker may want a lock that somebody else holds. */
static void say_entry(void *entry)
{
        struct w_os_symbol found;
        struct short_text  name, object;

        if (!w_os_symbol_find(entry, &found))
                w_say("entry %p", entry);
        else if (found.name)
                w_say("entry %p %s (%s)", entry, shorten(&name, found.name),
                      shorten(&object, found.object));
        else
                w_say("entry %p (%s+0x%zx)", entry, shorten(&object, found.object), found.offset);
}

W_NORETURN void w_overflow_report(const struct stack_pool *pool, const struct stack *stack,
                                  void *owner, enum stack_damage damage)
{
        struct stack_owner who = { .size = w_load_rlx(&stack->asked) };   /* guarded by [SS2] */
        bool known = pool->config.describe != NULL;

        if (known)
                pool->config.describe(owner, &who);
        say_headline(&who, known);
        if (who.entry)
                say_entry(who.entry);
        if (damage == W_DAMAGE_CANARY)
                w_say("found after the fact: what lies below the stack may be damaged");
        w_fatal_end();
}

static void look(const struct stack_pool *pool, void *addr)
{
        bool in_guard;
        struct stack *stack = w_stack_find(pool, addr, &in_guard);

        if (!stack || !in_guard)
                return;
        void *owner = w_load_acq(&stack->owner);                /* [SS2] */

        if (owner)
                w_overflow_report(pool, stack, owner, W_DAMAGE_FAULT);
}

/* Context: signal handler on the signal stack; returns if the fault is not weft's. */
static void on_fault(void *addr)
{
        w_add_rlx(&n_finders, 1);                               /* guarded by the fence [SW1] */
        w_fence_full();                                         /* [SW1] */
        struct stack_pool *pool = w_load_acq(&watched);         /* [SW2] */

        W_WINDOW("fault-before-look");
        if (pool)
                look(pool, addr);
        w_sub_rel(&n_finders, 1);                               /* [SW3] */
}

int w_stack_watch(struct stack_pool *pool)
{
        int rc = w_os_faults_watch(on_fault);

        if (rc)
                return rc;
        w_store_rel(&watched, pool);                            /* [SW2] */
        return 0;
}

void w_stack_unwatch(struct stack_pool *pool)
{
        if (w_load_rlx(&watched) != pool)               /* own word: this pool's owner set it */
                return;
        w_store_rlx(&watched, NULL);                            /* guarded by the fence [SW1] */
        w_fence_full();                                         /* [SW1] */
        w_os_faults_unwatch();          /* from here on another pool may be watched */
        while (w_load_acq(&n_finders) != 0)                     /* [SW3] */
                w_os_yield();
}
