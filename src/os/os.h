/* os/os.h - CONTRACT: everything weft asks of an operating system.
 *
 * Two implementations: os/linux (the real one) and os/sim (the simulated machine); os/explore
 * implements the few calls that the explored parts need. Nothing above this line talks to the
 * kernel or to libc's threads in any other way.
 *
 * Rules for every call:
 *   - 0 or a positive result on success, -Exxx on failure; errno is left as it was found;
 *   - EINTR never leaves this layer, absolute times are on the clock of w_os_now();
 *   - no call allocates with malloc, except w_os_thread_start and w_os_guest_watch (libc's own);
 *   - context: any thread; async-signal-safe where it says so.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_OS_OS_H
#define W_OS_OS_H

#include "base/atomic.h"

#define W_FOREVER INT64_MAX     /* a deadline that never comes */

/* ---- The end, and the voice ------------------------------------------------------------------ */

/* Writes all of it, as far as the other end takes it: never SIGPIPE. Async-signal-safe. */
void w_os_write(int fd, const char *text, size_t len);
/* The same to stderr. */
void w_os_write_err(const char *text, size_t len);
W_NORETURN void w_os_abort(void);

/* What the dynamic linker knows of a code address: the symbol that it lies in (NULL: unknown), the
 * file that holds it, how far behind that file's start it is. False: nothing. May wait for a lock
 * of the linker's, so a report calls it only after it has said the rest. */
struct w_os_symbol {
        const char *name;
        const char *object;
        size_t      offset;
};
W_MUST_CHECK bool w_os_symbol_find(const void *addr, struct w_os_symbol *out);

/* ---- Time ------------------------------------------------------------------------------------ */

/* Nanoseconds, monotonic. Async-signal-safe. */
int64_t w_os_now(void);
void    w_os_sleep_until(int64_t at);

/* Not for secrets. Differs from process to process; the simulator derives it from its seed. */
uint64_t w_os_random_seed(void);

/* ---- Threads --------------------------------------------------------------------------------- */

struct w_os_thread {
        uint64_t handle;        /* the implementation's own */
};

/* Starts fn(arg) on a new thread with every signal blocked; the caller's mask is untouched.
 * `name` (at most 15 bytes are used) is what ps and perf show. stack_size is a minimum.
 * -EAGAIN: no thread to be had; -ENOMEM. */
W_MUST_CHECK int w_os_thread_start(struct w_os_thread *thread, const char *name,
                                   size_t stack_size, void (*fn)(void *), void *arg);

/* Waits until fn has returned and the thread's resources are gone. Once per started thread. */
void w_os_thread_join(struct w_os_thread *thread);

void w_os_yield(void);

/* The kernel's id of the calling thread. Async-signal-safe. */
int w_os_tid(void);

/* What a thread of this process has had of the CPUs, in ns, since it began. Both lag behind: `run`
 * while it runs, by a tick of the kernel's at most (10 ms at worst); `wait` is counted when a wait
 * for a CPU is over, so who waits now seems to do nothing, and w_os_use_is_ready tells. */
struct w_os_use {
        int64_t run;            /* on a CPU */
        int64_t wait;           /* ready, with no CPU to be had */
};

/* A descriptor for w_os_use_read; -EMFILE, -ENOENT and others: it cannot be known. */
W_MUST_CHECK int w_os_use_open(int tid);
/* -ESRCH: that thread has ended; others as above. */
W_MUST_CHECK int w_os_use_read(int fd, struct w_os_use *out);
void w_os_use_close(int fd);

/* 1: it runs, or would if it had a CPU. 0: it waits for something else. Else as above; -ESRCH. */
W_MUST_CHECK int w_os_use_is_ready(int tid);

/* Where the calling thread's errno is: goroutines carry its value with them. Valid for the life of
 * the thread. */
int *w_os_errno(void);

/* What weft keeps for a thread that is not its own, all zero at first: see wait/scopes.h. Valid for
 * the life of the thread. Never asked for by a goroutine, which changes threads. */
struct scope;
struct w_os_guest {
        struct scope *scope;            /* innermost open one */
        uint32_t      n_shields;
        void        (*at_end)(struct w_os_guest *guest);        /* see w_os_guest_watch */
};
struct w_os_guest *w_os_guest(void);

/* fn is called if the calling thread ends before the next call, which may say NULL. Where libc has
 * no means left for that it is not. */
void w_os_guest_watch(void (*fn)(struct w_os_guest *guest));

/* ---- Futex ----------------------------------------------------------------------------------- */

/* Sleeps while *word == expected, until woken or until `deadline_at`. 0 also if the word differed
 * from the start or for no reason at all: callers look again. -ETIMEDOUT once the deadline has
 * passed. Private to the process. Async-signal-safe. */
int w_os_futex_wait(w_atomic_u32 *word, uint32_t expected, int64_t deadline_at);

/* Wakes at most n sleepers; the number woken. The word's memory may be gone already.
 * Async-signal-safe. */
int w_os_futex_wake(w_atomic_u32 *word, int n);

/* ---- Memory ---------------------------------------------------------------------------------- */

size_t w_os_page_size(void);

/* Reserves readable and writable address space of whole pages, zero until touched, never backed by
 * huge pages, not charged before it is touched where the system allows that. -ENOMEM. */
W_MUST_CHECK int w_os_vm_map(void **out, size_t size);
void w_os_vm_unmap(void *addr, size_t size);

/* Gives the pages back; they read as zero afterwards. Guards inside survive. -ENOMEM and others:
 * nothing was given back, which costs memory only. */
int w_os_vm_discard(void *addr, size_t size);

/* The two ways to make pages fault on any access. `light` costs no mapping of its own and may not
 * exist (w_os_vm_has_light_guard: probed once by its effect); `heavy` splits the mapping. */
bool w_os_vm_has_light_guard(void);
W_MUST_CHECK int w_os_vm_guard_light(void *addr, size_t size);
W_MUST_CHECK int w_os_vm_guard_heavy(void *addr, size_t size);
/* Undoes either. */
int w_os_vm_unguard(void *addr, size_t size);

/* One byte per page into `resident`: bit 0 is set if the page is in memory. */
W_MUST_CHECK int w_os_vm_resident(void *addr, size_t size, unsigned char *resident);

/* How many mappings the system allows this process. */
int64_t w_os_vm_map_limit(void);

/* ---- Barriers -------------------------------------------------------------------------------- */

/* Prepares w_os_membarrier for this process. -ENOSYS, -EPERM, -EINVAL: there is none; callers fall
 * back to a full fence on the light side. */
W_MUST_CHECK int w_os_membarrier_init(void);

/* On return every other thread of the process has passed a full fence. */
W_MUST_CHECK int w_os_membarrier(void);

/* ---- Signals --------------------------------------------------------------------------------- */

struct w_os_sigmask {
        uint64_t bits[2];       /* room for the kernel's 64 signals, twice */
};

/* Blocks every signal on this thread; what was blocked before goes to *old (may be NULL). */
void w_os_signals_block(struct w_os_sigmask *old);
void w_os_signals_restore(const struct w_os_sigmask *old);
void w_os_signals_get(struct w_os_sigmask *out);

/* A signal stack for the calling thread, large enough for this CPU's register file, guarded below.
 * Leaves alone one that the application installed before (*out stays empty then). */
struct w_os_altstack {
        void  *base;            /* mapping, guard included; NULL: none of ours */
        size_t size;
};
W_MUST_CHECK int w_os_altstack_install(struct w_os_altstack *out);
void w_os_altstack_remove(struct w_os_altstack *stack);

/* Asks to see memory faults (SIGSEGV, SIGBUS) first, on the signal stack. `on_fault` gets the
 * address and returns if the fault is not weft's; then what was installed before runs, or the
 * default. One user at a time: -EBUSY. */
W_MUST_CHECK int w_os_faults_watch(void (*on_fault)(void *addr));
/* Restores what was there before, as far as the handlers are still ours. */
void w_os_faults_unwatch(void);

/* ---- Processors ------------------------------------------------------------------------------ */

/* CPUs this process may run on (its affinity); at least 1. */
int w_os_cpu_count(void);

/* The tightest CPU limit of the process's own cgroup and all its ancestors, v2 and v1, in whole
 * CPUs rounded up; 0: no limit. */
int w_os_cpu_quota(void);

#endif
