/* stack/overflow.c - the report of a stack overflow, made on the signal stack of the thread.
 *
 * Protocols   owns stack-watch, cites stack-slabs.
 *
 * Only the address of the fault decides: a light guard faults as unmapped memory, a heavy guard as
 * forbidden memory. A stack grows down into the guard of its own slot, so the report names the
 * owner of that slot. A frame larger than the guard could step over it into the slot below. Its
 * first access may even be in the guard of that slot, and the report would then name the wrong
 * goroutine. Code that is built with -fstack-clash-protection, which weft's package files demand,
 * touches every page in between and cannot do this. A fault in the guard of a free slot is no
 * overflow and goes to the handler that was installed before.
 *
 * PROTOCOL stack-watch
 *
 * Goal      a pool is not unmapped while a fault handler reads it.
 * Parties   finder (the handler, any thread), owner of the pool, which ends it.
 * Words     watched: the pool or NULL. n_finders: the number of handlers that may read the pool.
 * Finder
 *   1. n_finders + 1.
 *   2. Full fence [SW1].
 *   3. Load watched [SW2]. It is not NULL: search the pool.
 *   4. n_finders - 1 [SW3].
 * Owner
 *   1. watched := NULL.
 *   2. Full fence [SW1].
 *   3. Remove the fault handler: no new finders.
 *   4. Wait until n_finders is 0 [SW3].
 *   5. Unmap the pool.
 * Fences    [SW1] n_finders <-> watched   whichever fence is first, either the finder loads NULL
 *           or the owner sees its count.
 * Edges     [SW2] pool set up   watch: watched store-release      ->  finder: load-acquire
 *           [SW3] finder done   finder: n_finders sub-release     ->  unwatch: load-acquire
 * Why the owner's wait ends   a finder reads a few hundred headers and returns, or the program
 *           dies.
 * Tests     flow/stack/test_stack_overflow.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include "stack/pool.h"

#include "base/window.h"
#include "os/os.h"

static w_atomic_ptr watched;            /* a  [SW1][SW2] struct stack_pool * */
static w_atomic_u32 n_finders;          /* a  [SW1][SW3] */

/* Names come from the user and may have any length; a line has 512 bytes. */
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

/* Called after the headline, because the dynamic linker may wait for a lock that another thread
 * holds. */
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

/* Context: signal handler on the signal stack. Returns if the fault is no overflow. */
static void on_fault(void *addr)
{
        w_add_rlx(&n_finders, 1);                               /* guarded by the fence [SW1] */
        w_fence_full();                                         /* [SW1] */
        struct stack_pool *pool = w_load_acq(&watched);         /* [SW2] */

        W_WINDOW("fault-before-check");
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
