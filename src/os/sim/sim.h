/* os/sim/sim.h - the simulated machine, as those see it who write scenarios for it.
 *
 * The library's own sources, built with W_HOOKED, run on one OS thread. Threads are fibers, time is
 * virtual, and before every atomic access and every call of os/os.h a generator that is seeded once
 * per run may let another thread go on, drain a buffered store, fail the call or delay a wake-up.
 * The same scenario and seed give the same run, step for step.
 *
 * What is simulated, and what is not:
 *   - each thread has a store buffer, so that a missing StoreLoad fence shows. Loads are never
 *     reordered and read-modify-writes empty the own buffer: this is x86 (TSO), and in some runs a
 *     weaker machine on which relaxed stores pass each other. C11 in full is the explorer's job;
 *   - plain memory is not buffered. An atomic object must therefore not change its role (be set
 *     through `raw`, freed, or leave its frame) while a store to it may still be buffered: a
 *     read-modify-write, w_fence_full() or a call of os/os.h by the same thread empties the buffer;
 *   - every thread has a CPU of its own; spending time is a call, sim_work(), and so is having to
 *     wait for that CPU, sim_starve(), unless a scenario makes them scarce.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_OS_SIM_SIM_H
#define W_OS_SIM_SIM_H

#include "base/compiler.h"

#include <stdbool.h>
#include <stdio.h>      /* FILE */

struct thread;

/* All zero is the usual hostile machine: spurious and late wake-ups, weak stores in some runs, and
 * calls that always succeed. */
struct sim_config {
        bool     calls_fail;    /* per seed: thread, memory, membarrier and signal calls may fail */
        uint32_t fail_at;       /* not 0: exactly the fail_at-th call that can fail does */
        bool     no_spurious;   /* a futex sleep ends only by wake or deadline */
        bool     no_late;       /* wake-ups and starts take effect at once */
        bool     slow_starts;   /* some threads begin milliseconds after they were started */
        bool     slow_voice;    /* whoever reads what is said on stderr takes milliseconds */
        bool     no_weak;       /* TSO in every run */
        bool     no_membarrier; /* an old kernel */
        bool     may_leave;     /* threads may still exist, memory be mapped, when main returns */
        const char *dies_of;    /* not NULL: it has to end by a fatal error that says so, and who
                                 * runs next finds the library's static data as they were then */
        uint32_t max_steps;     /* 0: SIM_MAX_STEPS; more is reported as a live-lock */
        int      cpus;          /* w_os_cpu_count; 0: 4 */
        int      quota;         /* w_os_cpu_quota */
};

enum { SIM_MAX_STEPS = 200000, SIM_MAX_THREADS = 64 };

struct sim_scenario {
        const char              *name;
        const char              *what;          /* one line for --list */
        void                   (*run)(void);    /* the first thread, m0; starts the others */
        struct sim_config        config;
        bool                     must_fail;     /* broken on purpose: some seed must show it */
        struct sim_scenario     *next;          /* registry of the runner */
};

struct sim_result {
        bool     failed;
        uint64_t steps;
        uint64_t switches;
        uint32_t n_fallible;    /* calls that could have failed */
        int64_t  ended_at;      /* virtual time */
        char     report[6000];  /* if it failed: what, how to replay, where each thread stands */
};

/* How the report names the runner in its replay command. */
extern const char *sim_program;

/* One run, complete with a fresh machine. `log` may be NULL. Context: not inside a run. */
void sim_run(const struct sim_scenario *scenario, uint64_t seed, FILE *log,
             struct sim_result *result);

/* ---- For code inside a run ------------------------------------------------------------------ */

/* Ends the run as failed. */
W_NORETURN void sim_fail(const char *fmt, ...) W_PRINTF(1, 2);

#define SIM_CHECK(cond, ...) do {                                                               \
        if (W_UNLIKELY(!(cond)))                                                                \
                sim_fail(__VA_ARGS__);                                                          \
} while (0)

/* The calling thread computes for that long; the others go on meanwhile. Strikes land here. */
void sim_work(int64_t ns);

/* The calling thread would compute but gets no CPU for that long. */
void sim_starve(int64_t ns);

/* From now on any thread may lose its CPU at any step, for up to so long. 0: none does. No step. */
void sim_cpus_are_scarce(int64_t ns);

/* fn runs on a thread in the middle of its sim_work(), at seeded moments: where a signal or the
 * taking of a P would hit user code. NULL: nothing strikes. Forgotten at the end of the run. */
void sim_on_interrupt(void (*fn)(void));

/* fn runs between any two steps, whoever runs, and takes none itself: it reads memory as it is, and
 * buffers by sim_peek(). For invariants that hold at all times. NULL: none. Forgotten likewise. */
void sim_on_step(void (*fn)(void));

/* The value of a word as the thread with that record (base/thread.h) sees it, its buffered stores
 * included; NULL or no such thread: as it is in memory. No step. */
uint64_t sim_peek(const struct thread *whose, const void *addr, unsigned size);

/* Virtual time. No step. */
int64_t sim_now(void);

/* A memory fault at addr on the calling thread: the watcher of w_os_faults_watch() sees it; if
 * there is none or it returns, the run has failed. */
void sim_fault(void *addr);

/* A signal for the process: soon it hits a thread that does not block it, in the middle of what it
 * does. False: nobody catches it, so that nothing happens. No step. */
bool sim_raise(int sig);
bool sim_is_caught(int sig);
/* How often that was said on stderr; what no longer fits is not counted. No step. */
uint32_t sim_times_said(const char *text);
/* The stack pointer of a thread that is in its handler, by w_os_thread_state. */
extern const char sim_handler_stack[1];

/* A pipe of a few bytes, as from pipe(2): the lowest numbers that are free. Fails the run if there
 * are too many. sim_dup is dup(2). Both ends are closed by w_os_fd_close. */
void sim_pipe(int fds[2]);
int  sim_dup(int fd);
/* A regular file of so many bytes, at most 8: 1, 2, 3 and so on. */
int  sim_open_file(uint32_t size);
/* How many threads have waited for regular files at most at the same time. No step. */
uint32_t sim_most_busy(void);
/* From now on every attempt is told -EAGAIN, though nobody can wait for it: a file that was opened
 * not to wait, by a driver that may have to. */
void sim_refuse_file(int fd);
/* From now on that end of a pipe cannot be asked not to wait, as a terminal; calls that may take so
 * long, and one that would wait for ever is a failure of the run. No step. */
void sim_make_wait(int fd, int64_t ns);
/* A child process, and its end. */
int  sim_start_child(void);
void sim_end_child(int pid, int status);
/* Who reads or writes fd next, beyond what there is to be read, is told -Exxx, once. */
void sim_fail_file(int fd, int error);
/* The close of the last number that leads to it takes so long. No step. */
void sim_linger_file(int fd, int64_t ns);
/* Has something happened on a descriptor that the poller is armed for, and nobody was told? No
 * step. */
bool sim_has_news(void);
/* Does the poller's bell ring? No step. */
bool sim_wakeups(void);

/* What the simulated network does to who connects to an address whose last byte is one of these.
 * Names of hosts say it in letters: "6b-4g" has an IPv6 and an IPv4 address, of which the first
 * never answers; a label "w" lets the lookup take its time, "x" is not known to anybody. */
enum {
        SIM_GOOD = 'g',         /* soon connected, if somebody listens, else refused */
        SIM_BLACK = 'b',        /* never answers; the machine gives up after a second */
        SIM_REFUSES = 'r',
        SIM_NO_WAY = 'u',       /* -ENETUNREACH, at once */
        SIM_SLOW = 's',         /* as good, but after a quarter of a second */
        SIM_RESETS = 'e',       /* connected, and reset at some later moment */
};
/* From now on connect on that socket waits. */
void sim_socket_blocks(int fd);
/* The port that it is bound to. */
uint32_t sim_port(int fd);
/* The process may have so many descriptors, those before FIRST_FD not counted; 0: plenty. */
void sim_fds_at_most(uint32_t n);
/* Out of 1024 connections, so many are gone before they are accepted. */
void sim_accepts_abort(uint32_t of_1024);
/* Out of 1024 times, so many the poller has no room: it cannot be opened, or know one more. */
void sim_poller_refuses(uint32_t of_1024);
/* Sockets that are open, and lookups whose answer was not freed. No step. */
uint32_t sim_sockets_open(void);
uint32_t sim_lists_left(void);

/* From the run's own stream: uniform in [0, n). */
uint32_t sim_random(uint32_t n);

/* From now on the machine has so many CPUs, and that limit of them. */
void sim_machine_has(int cpus, int quota);

/* Is the page of addr a guard? Guards are recorded, not enforced. */
bool sim_is_guarded(const void *addr);

/* Pages that are mapped now. */
size_t sim_mapped_pages(void);

#endif
