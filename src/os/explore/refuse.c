/* os/explore/refuse.c - the calls of os/os.h that the explorer does not model.
 *
 * Each call prints its name and ends the program, because a scenario that needs the call would
 * explore something that does not exist.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/os.h"

#include "base/fatal.h"

/* A refused call uses none of its parameters. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define REFUSE(result, name, params)                                                            \
        result name params                                                                      \
        {                                                                                       \
                w_fatal("explorer: " #name " is not modelled");                                 \
        }

REFUSE(void,    w_os_sleep_until, (int64_t at))
REFUSE(int,     w_os_thread_start, (struct w_os_thread *thread, const char *name,
                 size_t stack_size, void (*fn)(void *), void *arg))
REFUSE(int,     w_os_thread_count, (void))
REFUSE(void,    w_os_thread_join, (struct w_os_thread *thread))
REFUSE(bool,    w_os_thread_try_join, (struct w_os_thread *thread))
REFUSE(int,     w_os_cpu_usage_open, (int tid))
REFUSE(int,     w_os_cpu_usage_read, (int fd, struct w_os_cpu_usage *out))
REFUSE(void,    w_os_cpu_usage_close, (int fd))
REFUSE(int,     w_os_thread_is_ready, (int tid))
REFUSE(int,     w_os_foreign_watch, (void (*fn)(struct w_os_foreign *foreign)))
REFUSE(size_t,  w_os_page_size, (void))
REFUSE(int,     w_os_vm_map, (void **out, size_t size))
REFUSE(void,    w_os_vm_unmap, (void *addr, size_t size))
REFUSE(int,     w_os_vm_discard, (void *addr, size_t size))
REFUSE(bool,    w_os_vm_has_light_guard, (void))
REFUSE(int,     w_os_vm_guard_light, (void *addr, size_t size))
REFUSE(int,     w_os_vm_guard_heavy, (void *addr, size_t size))
REFUSE(int,     w_os_vm_unguard, (void *addr, size_t size))
REFUSE(int,     w_os_vm_resident, (void *addr, size_t size, unsigned char *resident))
REFUSE(int64_t, w_os_vm_map_limit, (void))
REFUSE(int,     w_os_membarrier_init, (void))
REFUSE(int,     w_os_membarrier, (void))
REFUSE(void,    w_os_signals_block, (struct w_os_sigmask *old))
REFUSE(void,    w_os_signals_restore, (const struct w_os_sigmask *old))
REFUSE(void,    w_os_signals_get, (struct w_os_sigmask *out))
REFUSE(int,     w_os_altstack_install, (struct w_os_altstack *out))
REFUSE(void,    w_os_altstack_remove, (struct w_os_altstack *stack))
REFUSE(int,     w_os_faults_watch, (void (*on_fault)(void *addr)))
REFUSE(void,    w_os_faults_unwatch, (void))
REFUSE(int,     w_os_preempt_watch, (int signo, void (*on_preempt)(const struct w_os_regs *regs,
                                                              enum w_os_preempt_cause why)))
REFUSE(int,     w_os_preempt_send, (int tid))
REFUSE(int,     w_os_thread_state, (int tid, struct w_os_thread_state *out))
REFUSE(int,     w_os_signal_is_blocked, (int tid, int signo))
REFUSE(void,    w_os_code_learn, (void))
REFUSE(bool,    w_os_is_code, (const void *addr))
REFUSE(bool,    w_os_is_return_address, (const void *addr))
REFUSE(bool,    w_os_code_find, (const void *addr, struct w_os_symbol *out))
REFUSE(bool,    w_os_preempt_is_watched, (void))
REFUSE(void,    w_os_preempt_unwatch, (void))
REFUSE(bool,    w_os_is_safepoint, (const void *pc))
REFUSE(int,     w_os_cpu_timer_make, (struct w_os_cpu_timer *timer, int tid))
REFUSE(void,    w_os_cpu_timer_arm, (const struct w_os_cpu_timer *timer, int64_t ns))
REFUSE(void,    w_os_cpu_timer_delete, (struct w_os_cpu_timer *timer))
REFUSE(int,     w_os_cpu_count, (int tid))
REFUSE(int,     w_os_cpu_quota, (void))
