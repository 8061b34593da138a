/* os/sim/sim.h - the simulated machine, for authors of scenarios.
 *
 * The library's own sources, built with W_HOOKED, run on one OS thread. Threads are fibers, and
 * time is virtual. A random generator is seeded once per run. Before every atomic access and every
 * call of os/os.h it may let another thread go on, drain a buffered store, fail the call or delay a
 * wake-up. The same scenario and seed give the same run, step for step.
 *
 * What is simulated, and what is not:
 *   - each thread has a store buffer, so that a missing StoreLoad fence shows. Loads are never
 *     reordered and read-modify-writes empty the own buffer: this is x86 (TSO), and in some runs a
 *     weaker machine on which relaxed stores pass each other. C11 in full is the explorer's job;
 *   - plain memory is not buffered. An atomic object must therefore not change its role (be set
 *     through `raw`, freed, or leave its frame) while a store to it may still be buffered: a
 *     read-modify-write, w_fence_full() or a call of os/os.h by the same thread empties the buffer;
 *   - every thread has a CPU of its own. A thread spends CPU time in the call sim_work(), and waits
 *     for its CPU in the call sim_starve(), unless a scenario makes CPUs scarce.
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
        uint32_t fail_at;       /* not 0: of the calls that can fail, only the fail_at-th does */
        bool     no_spurious;   /* a futex sleep ends only by wake or deadline */
        bool     no_late;       /* wake-ups and starts take effect at once */
        bool     slow_starts;   /* some threads begin milliseconds after they were started */
        bool     slow_voice;    /* the reader of stderr takes milliseconds */
        bool     no_weak;       /* TSO in every run */
        bool     may_leave;     /* main may return with threads left and memory mapped */
        const char *dies_of;    /* not NULL: the run must end by a fatal error with this text; the
                                 * next run finds the library's static data as they were then */
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

/* The calling thread computes for that long; other threads run meanwhile. Signals interrupt it. */
void sim_work(int64_t ns);

/* The calling thread would compute but gets no CPU for that long. */
void sim_starve(int64_t ns);

/* From now on any thread may lose its CPU at any step, for up to ns. 0: none does. No step. */
void sim_cpus_are_scarce(int64_t ns);

/* Calls fn on a thread in the middle of its sim_work(), at seeded moments: where a signal or a
 * retake of the P would hit user code. NULL: no call. Reset at the end of the run. */
void sim_on_interrupt(void (*fn)(void));

/* Calls fn between any two steps of any thread. fn takes no step itself: it reads memory as it is,
 * and buffers by sim_peek(). For invariants that hold at all times. NULL: no call. Reset at the end
 * of the run. */
void sim_on_step(void (*fn)(void));

/* The value of a word as the thread with that record (base/thread.h) sees it, its buffered stores
 * included; NULL or no such thread: as it is in memory. No step. */
uint64_t sim_peek(const struct thread *thread, const void *addr, unsigned size);

/* Virtual time. No step. */
int64_t sim_now(void);

/* A memory fault at addr on the calling thread: calls the callback of w_os_faults_watch(). If there
 * is no callback, or it returns, the run has failed. */
void sim_fault(void *addr);

/* Sends a signal to the process: soon it hits a thread that does not block it, at any point. False:
 * the signal is not caught, and nothing happens. No step. */
bool sim_raise(int sig);
bool sim_is_caught(int sig);
/* How often the text was written to stderr, as far as the text fits into the buffer. No step. */
uint32_t sim_times_said(const char *text);
/* The stack pointer of a thread that is in its handler, by w_os_thread_state. */
extern const char sim_handler_stack[1];

/* A pipe of a few bytes, as from pipe(2), with the lowest free numbers. Fails the run if there are
 * too many. sim_dup is dup(2). w_os_fd_close closes both ends. */
void sim_pipe(int fds[2]);
int  sim_dup(int fd);
/* A regular file of `size` bytes, at most 8: 1, 2, 3 and so on. */
int  sim_open_file(uint32_t size);
/* The largest number of threads that waited for regular files at the same time. No step. */
uint32_t sim_most_busy(void);
/* From now on every call on fd returns -EAGAIN, though the poller cannot wait for fd: a file that
 * was opened non-blocking, with a driver that may have to wait. */
void sim_refuse_file(int fd);
/* From now on that end of a pipe has no non-blocking calls, as a terminal. A blocking call takes
 * that long, and a call that would wait for ever fails the run. No step. */
void sim_make_wait(int fd, int64_t ns);
/* A child process, and its end. */
int  sim_start_child(void);
void sim_end_child(int pid, int status);
/* The next read or write of fd returns `error` (-Exxx), once; data that came before is read
 * first. */
void sim_fail_file(int fd, int error);
/* Closing the last number that leads to the file takes that long. No step. */
void sim_linger_file(int fd, int64_t ns);
/* True: an event that the poller is armed for has happened and was not reported yet. No step. */
bool sim_has_news(void);
/* True: the poller's wakeup is set. No step. */
bool sim_wakeups(void);

/* How the simulated network treats a connection, by the last byte of the address. Names of hosts
 * contain the letters: "6b-4g" has an IPv6 and an IPv4 address, of which the first never answers.
 * A label "w" makes the lookup slow, "x" is an unknown name. */
enum {
        SIM_GOOD = 'g',         /* soon connected if a socket listens, else refused */
        SIM_BLACK = 'b',        /* never answers; the machine gives up after a second */
        SIM_REFUSES = 'r',
        SIM_NO_WAY = 'u',       /* -ENETUNREACH, at once */
        SIM_SLOW = 's',         /* as SIM_GOOD, but after a quarter of a second */
        SIM_RESETS = 'e',       /* connected, and reset at some later moment */
};
/* From now on connect on that socket waits. */
void sim_socket_blocks(int fd);
/* The port that it is bound to. */
uint32_t sim_port(int fd);
/* Limits the descriptors of the process to n, not counting those below FIRST_FD; 0: no limit. */
void sim_fds_at_most(uint32_t n);
/* That many out of 1024 connections are gone before they are accepted. */
void sim_accepts_abort(uint32_t of_1024);
/* That many out of 1024 calls find the poller full: it cannot be opened, or register a file. */
void sim_poller_refuses(uint32_t of_1024);
/* Sockets that are open, and answers of lookups that were not freed. No step. */
uint32_t sim_sockets_open(void);
uint32_t sim_lists_left(void);

/* A random number of the run, uniform in [0, n). */
uint32_t sim_random(uint32_t n);

/* From now on the machine has `cpus` CPUs, with the limit `quota`. */
void sim_machine_has(int cpus, int quota);

/* True: the page of addr is a guard. Guards are recorded, not enforced. */
bool sim_is_guarded(const void *addr);

/* Pages that are mapped now. */
size_t sim_mapped_pages(void);

#endif
