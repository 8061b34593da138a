/* os/linux/sigmask.c - masks and signal stacks. Contract: os/signal.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/os.h"

#include "base/assert.h"
#include "os/linux/errno_call.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>

enum { LEAST_ALTSTACK = 64 * 1024 };

_Static_assert(sizeof(sigset_t) >= sizeof(struct w_os_sigmask), "a mask is a prefix of libc's");

/* ---- Masks ----------------------------------------------------------------------------------- */

/* Through libc and not by the raw call: libc reserves two signals, and a thread that blocked them
 * would hang the process when it changes its user. */
static void change_mask(int how, const sigset_t *set, struct w_os_sigmask *old)
{
        sigset_t was;

        memset(&was, 0, sizeof(was));   /* the kernel fills only the first half */
        int rc = pthread_sigmask(how, set, &was);
        W_CHECK(rc == 0, "the signal mask cannot be changed: %s", w_error_name(rc));
        if (old)
                memcpy(old, &was, sizeof(*old));
}

void w_os_signals_block(struct w_os_sigmask *old)
{
        sigset_t all;

        sigfillset(&all);
        change_mask(SIG_SETMASK, &all, old);
}

void w_os_signals_restore(const struct w_os_sigmask *old)
{
        sigset_t set;

        sigemptyset(&set);
        memcpy(&set, old, sizeof(*old));
        change_mask(SIG_SETMASK, &set, NULL);
}

void w_os_signals_get(struct w_os_sigmask *out)
{
        change_mask(SIG_BLOCK, NULL, out);
}

/* ---- Signal stacks --------------------------------------------------------------------------- */

/* Room for the registers that the kernel saves (more than 11 KiB with AMX), for a report, and for
 * a handler of the application that runs after ours. */
static size_t altstack_size(void)
{
        int    saved = errno;   /* set by kernels that do not tell */
        size_t least = 4 * (size_t)getauxval(AT_MINSIGSTKSZ);

        errno = saved;
        size_t page = w_os_page_size();
        size_t size = least > LEAST_ALTSTACK ? least : LEAST_ALTSTACK;

        return (size + page - 1) / page * page;
}

/* The light guard saves a mapping; the heavy guard is for systems that lack or refuse it. */
static int guard(void *base, size_t size)
{
        if (w_os_vm_has_light_guard() && w_os_vm_guard_light(base, size) == 0)
                return 0;
        return w_os_vm_guard_heavy(base, size);
}

static int map_guarded(void **base, size_t size, size_t guard_size)
{
        int rc = w_os_vm_map(base, size);

        if (rc < 0)
                return rc;
        rc = guard(*base, guard_size);
        if (rc < 0)
                w_os_vm_unmap(*base, size);
        return rc;
}

int w_os_altstack_install(struct w_os_altstack *out)
{
        size_t  guard_size = w_os_page_size(), usable = altstack_size();
        stack_t now;
        void   *base;

        *out = (struct w_os_altstack){ NULL, 0 };
        int rc = (int)W_SYS_AT(W_CALL_SIGALTSTACK, sigaltstack(NULL, &now));
        if (rc < 0)
                return rc;
        if (!(now.ss_flags & SS_DISABLE))
                return 0;
        rc = map_guarded(&base, guard_size + usable, guard_size);
        if (rc < 0)
                return rc;
        stack_t ours = { .ss_sp = (char *)base + guard_size, .ss_size = usable };
        rc = (int)W_SYS_AT(W_CALL_SIGALTSTACK, sigaltstack(&ours, NULL));
        if (rc < 0) {
                w_os_vm_unmap(base, guard_size + usable);
                return rc;
        }
        *out = (struct w_os_altstack){ base, guard_size + usable };
        return 0;
}

static bool inside(const struct w_os_altstack *stack, const void *addr)
{
        return (uintptr_t)addr - (uintptr_t)stack->base < stack->size;
}

void w_os_altstack_remove(struct w_os_altstack *stack)
{
        stack_t now, none = { .ss_flags = SS_DISABLE };

        if (!stack->base)
                return;
        intptr_t rc = W_SYS(sigaltstack(NULL, &now));
        /* The application may have replaced our stack meanwhile. */
        if (rc == 0 && !(now.ss_flags & SS_DISABLE) && inside(stack, now.ss_sp))
                rc = W_SYS(sigaltstack(&none, NULL));
        W_CHECK(rc == 0, "the signal stack cannot be removed: %s", w_error_name((int)rc));
        w_os_vm_unmap(stack->base, stack->size);
        *stack = (struct w_os_altstack){ NULL, 0 };
}
