/* os/os.h - CONTRACT: everything weft asks of an operating system.
 *
 * Two implementations: os/linux (the real one) and os/sim (the simulated machine); os/explore
 * implements the few calls that the explored parts need. Nothing above this line talks to the
 * kernel or to libc's threads in any other way.
 *
 * Rules for every call:
 *   - 0 or a positive result on success, -Exxx on failure; errno is left as it was found;
 *   - EINTR never leaves this layer, absolute times are on the clock of w_os_now();
 *   - no call allocates with malloc, except w_os_thread_start and those that watch (libc's own);
 *   - context: any thread; async-signal-safe where it says so.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_OS_OS_H
#define W_OS_OS_H

#include "base/atomic.h"
#include "base/list.h"

#define W_FOREVER INT64_MAX     /* a deadline that never comes */

/* ---- The end, and the voice ------------------------------------------------------------------ */

/* Writes all of it, as far as the other end takes it: never SIGPIPE. Where a descriptor that does
 * not wait is full a reader gets `moment` ns. False: that was not all. Async-signal-safe. */
bool w_os_write(int fd, const char *text, size_t len, int64_t timeout);
void w_os_write_err(const char *text, size_t len);      /* the same to stderr, with 20 ms */
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

/* The same without waiting; false: not yet, destructors of thread-local values may still run. */
W_MUST_CHECK bool w_os_thread_try_join(struct w_os_thread *thread);

void w_os_yield(void);

/* How many threads this process has; one that ends may be counted for some time yet. -EMFILE,
 * -ENOENT and others: it cannot be known. */
W_MUST_CHECK int w_os_thread_count(void);

/* The kernel's id of the calling thread. Async-signal-safe. */
int w_os_tid(void);

/* What a thread of this process has had of the CPUs, in ns, since it began. Both lag behind: `run`
 * while it runs, by a tick of the kernel's at most (10 ms at worst); `wait` is counted when a wait
 * for a CPU is over, so who waits now seems to do nothing, and w_os_thread_is_ready tells. */
struct w_os_cpu_usage {
        int64_t run;            /* on a CPU */
        int64_t wait;           /* ready, with no CPU to be had */
};

/* A descriptor for w_os_cpu_usage_read; -EMFILE, -ENOENT and others: it cannot be known. */
W_MUST_CHECK int w_os_cpu_usage_open(int tid);
/* -ESRCH: that thread has ended; others as above. */
W_MUST_CHECK int w_os_cpu_usage_read(int fd, struct w_os_cpu_usage *out);
void w_os_cpu_usage_close(int fd);

/* 1: it runs, or would if it had a CPU. 0: it waits for something else. Else as above; -ESRCH. */
W_MUST_CHECK int w_os_thread_is_ready(int tid);

/* Where the calling thread's errno is: goroutines carry its value with them. Valid for the life of
 * the thread. */
int *w_os_errno(void);

/* What weft keeps for a thread that is not its own, all zero at first: see scope/tree.h,
 * sched/run/foreign.c and base/window.c. Valid for the life of the thread. Never asked for by a
 * goroutine, which changes threads. */
enum w_os_foreign_hook {
        W_OS_HOOK_SCOPE,
        W_OS_HOOK_ATTACHED,
        W_OS_N_HOOKS
};
struct scope;
struct w_os_foreign {
        struct scope    *scope;         /* innermost open one */
        uint32_t         n_shields;
        bool             attached;      /* and with this: */
        bool             fenced;        /*    no w_os_membarrier to rely on */
        bool             ends;          /* its end has been heard of */
        w_atomic_u32     in_call;
        struct list_node link;
        uint64_t         window_rand;   /* debug: as in struct thread */
        void           (*at_end[W_OS_N_HOOKS])(struct w_os_foreign *foreign);
};
struct w_os_foreign *w_os_foreign(void);

/* fn is called if the calling thread ends before the next call in the same matter, which may say
 * NULL. -EAGAIN, -ENOMEM: libc has no means left for that, and it is not. */
int w_os_foreign_watch(enum w_os_foreign_hook hook, void (*fn)(struct w_os_foreign *foreign));

/* fn(arg) is called if the calling thread ends (pthread_exit, cancellation) before the next call,
 * which may say NULL; on the thread's own stack. fn is the same for all threads. Where libc has no
 * means left for that it is not called. Never called by a goroutine, which changes threads. */
void w_os_thread_end_watch(void (*fn)(void *arg), void *arg);

/* in_child is called in every child that fork makes from now on, on its only thread, before fork
 * returns there. Not in those of vfork and posix_spawn. Cannot be undone. -ENOMEM. */
W_MUST_CHECK int w_os_fork_watch(void (*in_child)(void));

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

/* ---- Threads that compute ---------------------------------------------------------------------
 *
 * A timer that runs down with the CPU time of a thread and then sends it a signal: a thread that
 * blocks gets none, so no call that it makes of the kernel ends early. */

/* Where a thread was when a signal hit it. */
struct w_os_regs {
        const void      *pc, *sp, *fp;  /* fp: whatever stands in that register */
        const uintptr_t *all;           /* every register, as long as the handler runs; or NULL */
        size_t           n_all;
        bool             in_handler;    /* on its signal stack: another handler was running */
};

enum w_os_preempt_cause {
        W_PREEMPT_BY_TIMER,                 /* the timer has run down */
        W_PREEMPT_BY_SEND,                  /* w_os_preempt_send */
};

/* From now on on_preempt runs when such a timer goes off or the signal is sent as below: on that
 * thread, in a signal handler on its signal stack. What else comes with that signal goes to whoever
 * was there before. One user at a time. -EINVAL: not with that signal; others as sigaction. */
W_MUST_CHECK int w_os_preempt_watch(int signo, void (*on_preempt)(const struct w_os_regs *regs,
                                                                 enum w_os_preempt_cause why));
/* Sends that signal to a thread of this process, which is there. It may be lost if the same signal
 * is on its way to it from elsewhere: send again. What the thread waits for in the kernel may end
 * early, see w_os_thread_state. -EAGAIN and others: it was not sent. */
W_MUST_CHECK int w_os_preempt_send(int tid);
/* False: somebody has installed another handler since. */
bool w_os_preempt_is_watched(void);
/* Restores what was there before, as far as the handler is still ours. */
void w_os_preempt_unwatch(void);

/* False: a thread that stands at pc may hold a lock of libc's, the linker's or the allocator's.
 * Async-signal-safe. */
bool w_os_is_safepoint(const void *pc);

/* What a thread of this process that is in user code does at this moment. */
struct w_os_thread_state {
        bool        computes;   /* or would, if it had a CPU; the others are of one that waits */
        bool        goes_on;    /* what it waits for is not cut short by a handler */
        const void *pc, *sp;
};

/* -EMFILE, -ENOENT and others: it cannot be known. */
W_MUST_CHECK int w_os_thread_state(int tid, struct w_os_thread_state *out);
/* 1: that thread blocks that signal. 0: it does not. Else as above. */
W_MUST_CHECK int w_os_signal_is_blocked(int tid, int signo);
/* Finds out what is code now. May wait for a lock of the linker's. One caller at a time. */
void w_os_code_learn(void);
/* True: that is code, or was, as far as was found out. None of these three takes a lock. */
bool w_os_is_code(const void *addr);
W_MUST_CHECK bool w_os_is_return_address(const void *addr);     /* a call may return there */
/* As w_os_symbol_find, but no function's name, and the file's without its folders. */
W_MUST_CHECK bool w_os_code_find(const void *addr, struct w_os_symbol *out);

struct w_os_cpu_timer {
        int  id;                /* the implementation's own */
        bool made;
};

/* For a thread of this process. -EAGAIN, -EINVAL and others: none to be had. */
W_MUST_CHECK int w_os_cpu_timer_make(struct w_os_cpu_timer *timer, int tid);
/* To go off once, after so much CPU time from now on. Nothing if it was never made.
 * Async-signal-safe. */
void w_os_cpu_timer_arm(const struct w_os_cpu_timer *timer, int64_t ns);
void w_os_cpu_timer_delete(struct w_os_cpu_timer *timer);

/* Sets of signals are words: bit n - 1 is signal n. */
#define W_SIG_BIT(sig) (UINT64_C(1) << ((sig) - 1))
enum { W_SIG_QUIT = 3, W_SIG_URG = 23 };

/* The signals that libc's sigset_t at `set` names. */
uint64_t w_os_signals_of(const void *set);
/* Those that cannot be caught, and those that w_os_faults_watch has. */
uint64_t w_os_signals_reserved(void);
bool w_os_signal_is_ignored(int sig);

/* From now on `on_arrival` is called whenever the signal arrives, on whatever thread it hits, in a
 * handler on the signal stack, in place of what was there before: to that it is passed on if
 * on_arrival returns true. It is the same function for all signals, and may still be called a
 * moment after the release, or for ever by handlers that were installed on top and pass on.
 * System calls that the signal interrupts go on. -EINVAL: it cannot be caught. Not called twice for
 * a signal without a release between; one call at a time. */
W_MUST_CHECK int w_os_signal_catch(int sig, bool (*on_arrival)(int sig));
/* Puts back what was there before, unless the handler is not ours any more. */
void w_os_signal_release(int sig);

/* ---- Descriptors ----------------------------------------------------------------------------- */

/* What happens on a descriptor, or is asked for: the values of poll(2). */
enum {
        W_POLL_IN = 0x001,
        W_POLL_PRI = 0x002,
        W_POLL_OUT = 0x004,
        W_POLL_ERR = 0x008,
        W_POLL_HUP = 0x010,
        W_POLL_NVAL = 0x020,
        W_POLL_RDHUP = 0x2000,
};

struct iovec;
struct msghdr;

struct w_os_poller {
        int fd, wakeup;           /* the implementation's own */
};

struct w_os_event {
        int      fd;
        uint32_t seq;           /* as it was given with the descriptor */
        uint32_t events;        /* W_POLL_* */
};

/* -EMFILE, -ENFILE, -ENOMEM. */
W_MUST_CHECK int w_os_poller_open(struct w_os_poller *poller);
void w_os_poller_close(struct w_os_poller *poller);

/* One of `events` on fd, or ERR or HUP, is told to one w_os_poller_wait, at once if it is so
 * already; then no more until it is armed again. To arm it anew replaces what was asked for, but
 * does not take back what a wait has been told. What is remembered is the open file together with
 * the number, and ends with the file's last descriptor, which may be another number.
 * add: for a file that is not known yet under that number, arm: for one that is. -EEXIST, -ENOENT:
 * it is the other way round. -EBADF. add only: -EPERM: such files do not wait; -ENOMEM, -ENOSPC. */
W_MUST_CHECK int w_os_poller_add(struct w_os_poller *poller, int fd, uint32_t seq, uint32_t events);
W_MUST_CHECK int w_os_poller_arm(struct w_os_poller *poller, int fd, uint32_t seq, uint32_t events);
/* For a file that stays under that number until w_os_poller_forget or its end, and that nobody
 * arms: each time that something new happens on it some w_os_poller_wait is told of all that is so
 * then, IN, PRI, OUT, RDHUP, ERR and HUP; of several things, once, if nobody was told in between;
 * at the beginning, of what is so already. Errors as of add. */
W_MUST_CHECK int w_os_poller_watch(struct w_os_poller *poller, int fd, uint32_t seq);
/* Tells of such a file as at the beginning. -ENOENT: it is another one; -EBADF. */
W_MUST_CHECK int w_os_poller_remind(struct w_os_poller *poller, int fd, uint32_t seq);
void w_os_poller_forget(struct w_os_poller *poller, int fd);    /* nothing more is told of it */

/* How many things have happened, at most n, waiting until the deadline for the first. 0 also if
 * the bell rings, or for no reason at all. A deadline that has passed: looks, does not wait. */
W_MUST_CHECK int w_os_poller_wait(struct w_os_poller *poller, struct w_os_event *out, int n,
                                  int64_t deadline_at);
/* From the ring until the hush no wait lasts. */
void w_os_poller_wake(struct w_os_poller *poller);
void w_os_poller_wake_clear(struct w_os_poller *poller);

/* Which of `events` are so now, and NVAL, ERR and HUP: as poll(2) would say. */
W_MUST_CHECK int w_os_fd_poll(int fd, uint32_t events);

/* As read(2) and write(2) but for SIGPIPE, which is never sent. The first two do not wait, whatever
 * the descriptor's flags say, which stay as they are: -EAGAIN: it would have to; -EOPNOTSUPP: it
 * cannot be done without. Those with _here wait as long as it takes, but a write to a terminal that
 * is full may say -EAGAIN. */
W_MUST_CHECK intptr_t w_os_fd_read(int fd, void *buf, size_t n);
W_MUST_CHECK intptr_t w_os_fd_write(int fd, const void *buf, size_t n);
/* For a socket of which w_os_fd_is_tcp said 1, n > 0: *dry: it has taken all that had come, and the
 * call itself can tell. What comes later, and the end of the stream, is told of later. */
W_MUST_CHECK intptr_t w_os_fd_read_tcp(int fd, void *buf, size_t n, bool *drained);
W_MUST_CHECK int w_os_fd_is_tcp(int fd);
W_MUST_CHECK intptr_t w_os_fd_write_blocking(int fd, const void *buf, size_t n);
/* The same for several pieces, and at a place in the file; at -1: where it stands, which moves. */
W_MUST_CHECK intptr_t w_os_fd_readv(int fd, const struct iovec *v, int n, int64_t at);
W_MUST_CHECK intptr_t w_os_fd_writev(int fd, const struct iovec *v, int n, int64_t at);
W_MUST_CHECK intptr_t w_os_fd_readv_blocking(int fd, const struct iovec *v, int n, int64_t at);
W_MUST_CHECK intptr_t w_os_fd_writev_blocking(int fd, const struct iovec *v, int n, int64_t at);
/* As recvmsg(2) and sendmsg(2) but for SIGPIPE; they never wait: -EAGAIN. */
W_MUST_CHECK intptr_t w_os_fd_recv(int fd, struct msghdr *msg, int flags);
W_MUST_CHECK intptr_t w_os_fd_send(int fd, const struct msghdr *msg, int flags);
/* The number is free again, whatever the result. */
int w_os_fd_close(int fd);

struct w_os_file {
        uint64_t device, number;        /* the same for the same file only */
        bool     is_file;               /* to poll(2) it is always ready, though it may take long */
        bool     tells_once;            /* a socket: one call hears of an error, and no other */
};

/* What kind of file it is. -EBADF and others as fstat(2). */
W_MUST_CHECK int w_os_fd_ask(int fd, struct w_os_file *out);
/* A terminal that was told not to wait for input, or not long: read(2) says 0. */
bool w_os_tty_may_read_empty(int fd);
/* A socket that knows no borders between what was sent. */
bool w_os_fd_is_stream(int fd);

/* ---- Children -------------------------------------------------------------------------------- */

enum { W_CHILD_NOWAIT = 1 };    /* of the options of waitpid(2), whose values are used */

/* As waitpid(2), but never waits: 0: nothing to be told yet. -ECHILD, -EINVAL. */
W_MUST_CHECK int w_os_child_wait(int pid, int *status, int options);
/* A descriptor that is readable once the child has ended. -ENOSYS, -EMFILE and others: none to be
 * had. */
W_MUST_CHECK int w_os_child_open(int pid);

/* ---- Sockets --------------------------------------------------------------------------------- */

enum w_os_family { W_OS_IP4, W_OS_IP6, W_OS_UNIX };
enum w_os_kind { W_OS_STREAM, W_OS_PACKET };

enum { W_OS_UNIX_MAX = 107, W_OS_PATH_MAX = 4096 };     /* bytes; the first of a name, too */

/* The address of a socket; the bytes are in the system's own form. */
struct w_os_addr {
        enum w_os_family family;
        uint32_t         len;
        uint64_t         bytes[16];
};

void w_os_addr_ip4(struct w_os_addr *out, const uint8_t ip[4], uint16_t port);
/* zone: the number of a network interface, or 0. */
void w_os_addr_ip6(struct w_os_addr *out, const uint8_t ip[16], uint32_t zone, uint16_t port);
/* n: at most W_OS_UNIX_MAX. Abstract: a name, not of a file. */
void w_os_addr_unix(struct w_os_addr *out, const char *path, size_t n, bool abstract);

/* The number of the network interface of that name, above 0; -ENODEV. */
W_MUST_CHECK int w_os_zone_find(const char *name);

/* A new socket that does not wait and is closed by exec. -EAFNOSUPPORT: there are no addresses of
 * that family here; -EMFILE, -ENFILE, -ENOMEM, -ENOBUFS. */
W_MUST_CHECK int w_os_socket_open(enum w_os_family family, enum w_os_kind kind);

/* A stream may take an address that old connections of others still have. both: an IPv6 address
 * that means any takes IPv4 as well. -EADDRINUSE, -EADDRNOTAVAIL, -EACCES and others. */
W_MUST_CHECK int w_os_socket_bind(int fd, const struct w_os_addr *addr, enum w_os_kind kind,
                                  bool both);
W_MUST_CHECK int w_os_socket_listen(int fd);

/* Does the call wait on that descriptor, because its flags say so? 1, 0, -EBADF. */
enum w_os_waiting { W_OS_ACCEPTING, W_OS_CONNECTING };
W_MUST_CHECK int w_os_socket_waits(int fd, enum w_os_waiting call);
/* As accept(2); what it makes neither waits nor outlives exec, and has kind and options of fd. */
W_MUST_CHECK int w_os_socket_accept(int fd);
void w_os_socket_no_delay(int fd);      /* where it is TCP: sends small pieces at once */
/* As connect(2), called again: -EALREADY as long as it is under way, then 0 or why not, once. One
 * that waits is never interrupted. */
W_MUST_CHECK int w_os_socket_connect(int fd, const void *addr, uint32_t len);
/* Is a stream connected with itself? Two ends that look for each other on one machine may be. */
W_MUST_CHECK bool w_os_socket_is_self_connected(int fd);
/* Ends what is under way on it, and its connection. */
void w_os_socket_shut(int fd);

/* The file that a unix socket was bound to: which, and where. find: -ENOENT, -ENAMETOOLONG and
 * others: it cannot be told. remove: unless there is another file by now. */
struct w_os_unix_file {
        uint64_t device, number;
        char     path[W_OS_PATH_MAX];
};
W_MUST_CHECK int w_os_unix_file_find(const struct w_os_addr *addr, struct w_os_unix_file *out);
void w_os_unix_file_remove(const struct w_os_unix_file *file);

/* ---- Names ----------------------------------------------------------------------------------- */

enum { W_OS_NODE_MAX = 1024, W_OS_SERVICE_MAX = 63 };

/* What getaddrinfo(3) is asked, with its constants. */
struct w_os_lookup {
        bool has_node, has_service, has_hints;
        int  flags, family, kind, protocol;
        char node[W_OS_NODE_MAX + 1];
        char service[W_OS_SERVICE_MAX + 1];
};

/* What it said: 0 or EAI_*; with EAI_SYSTEM what errno was; what freeaddrinfo(3) takes, or NULL. */
struct w_os_answer {
        int   rc, error;
        void *list;
};

/* Waits as long as it takes, and needs a stack such as threads have. */
void w_os_lookup_run(const struct w_os_lookup *ask, struct w_os_answer *out);
/* NULL is fine. */
void w_os_lookup_free(void *list);

/* Asks for addresses of IP for sockets of that kind. */
void w_os_lookup_hint(struct w_os_lookup *ask, enum w_os_kind kind, bool ip4, bool ip6);
/* 0, or what a call says that needs the answer: -ENOENT: no such name; -EADDRNOTAVAIL: no address
 * of the families asked for; -EINVAL: no such service; -EAGAIN: no server answered; -ENOMEM; what
 * errno was; -EIO. */
W_MUST_CHECK int w_os_lookup_error(const struct w_os_answer *answer);
/* Of what it has found first: the family, and the port. */
enum w_os_family w_os_lookup_family(const void *list);
uint16_t w_os_lookup_port(const void *list);
/* The next address behind *at, NULL: the first; of that family only. False: there is none. */
W_MUST_CHECK bool w_os_lookup_next(const void *list, const void **at, enum w_os_family family,
                                   struct w_os_addr *out);

/* ---- Processors ------------------------------------------------------------------------------ */

/* CPUs that the thread with that w_os_tid may run on (its affinity), 0: the calling one; at least
 * 1. */
int w_os_cpu_count(int tid);

/* The tightest CPU limit of the process's own cgroup and all its ancestors, v2 and v1, in whole
 * CPUs rounded up; 0: no limit. */
int w_os_cpu_quota(void);

#endif
