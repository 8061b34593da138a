/* os/sim/machine.h - the state of the simulated machine, shared by the files of os/sim.
 *
 * A simulated thread (an M, "m0" the first) is in one of four states:
 *
 *   FREE     no thread            -> WAITING  w_os_thread_start (its first step may be late)
 *   READY    may run; at most one READY thread runs, w_sim.running
 *                                 -> WAITING  itself, w_sim_wait;  -> ENDED  itself, end of fn
 *   WAITING  until due_at         -> READY    when the time has come; wakers bring due_at forward
 *   ENDED    waits to be joined   -> FREE     the joiner
 *
 * How the stacks compose. `here` is the context of an M while another M runs, on whatever stack
 * that is. `born` describes its first stack. Code under test may switch between goroutine stacks
 * inside an M without telling the simulator, and the simulator may switch away from the M on any of
 * them. `here` then adopts that stack until the M runs again, and ASan tells the next M the bounds
 * of the stack before. The fibers of goroutines belong to the scheduler under test. Such a fiber is
 * valid while its goroutine does not run, and `here` while its M does not run. Neither is read at
 * any other time.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_OS_SIM_MACHINE_H
#define W_OS_SIM_MACHINE_H

#include "arch/fiber.h"
#include "base/rand.h"
#include "base/thread.h"
#include "os/os.h"
#include "os/sim/sim.h"

enum { N_STORES = 12 };         /* entries of a store buffer; if full, the oldest is drained */

struct sim_store {
        void                *addr;
        uint64_t             value;
        const struct w_site *site;
        uint8_t              size;
        bool                 release;
};

enum sim_state { M_FREE, M_READY, M_WAITING, M_ENDED };

struct sim_m {
        struct fiber         here;      /* its context; valid while it does not run */
        struct fiber         born;      /* its first stack */
        enum sim_state       state;
        uint32_t             slot;      /* index in w_sim.ms */
        uint32_t             number;    /* of the thread in this run, for log and tid */
        uint32_t             generation; /* of the slot; tells stale handles */
        char                 name[16];
        void               (*fn)(void *);
        void                *arg;
        struct thread       *self;      /* what w_self() answers */
        struct w_os_foreign  foreign;

        const char          *call;      /* the OS call it is in; NULL: none */
        const void          *word;      /* it sleeps on this word; NULL: on none, or woken */
        uint32_t             expected;
        bool                 woken;     /* by another M, not by its deadline */
        int64_t              due_at;    /* WAITING: becomes READY then */
        struct sim_m        *joining;   /* it waits for this M to end */

        struct sim_store     stores[N_STORES];
        uint32_t             n_stores;
        const void          *last_addr; /* of its last atomic access, for reports */
        const struct w_site *last_site;

        int64_t              run, wait; /* see os/sim/cpu_usage.c */
        bool                 works, starves;
        int64_t              works_since;       /* not counted in `run` yet */
        uint32_t             n_timers;          /* made for it, and not deleted */
        int64_t              preempts_at;        /* of `run`; 0: its timer is not armed */
        bool                 in_preempt;        /* it is in the preemption handler */
        bool                 is_sent;           /* w_os_preempt_send; has not arrived */
        bool                 sleeps;            /* in w_os_sleep_until */

        uint32_t             priority;  /* strategy BY_PRIORITY */
        struct w_os_sigmask  mask;
        bool                 in_handler;
        int                  errno_value;
        struct w_os_altstack altstack;

        char                *stack;     /* kept from run to run */
        size_t               stack_size;
};

enum sim_strategy { BY_CHANCE, BY_SLICE, BY_PRIORITY };

/* The parameters that the seed gives a run. Chances are out of 1024. */
struct sim_profile {
        enum sim_strategy strategy;
        uint32_t          p_switch;     /* BY_CHANCE: per step */
        uint32_t          slice;        /* BY_SLICE: mean length in steps */
        uint32_t          patience;     /* longest stretch of one M in steps */
        uint32_t          p_drain;      /* per step, while anything is buffered */
        bool              weak;         /* relaxed stores may pass each other */
        uint32_t          p_spurious;
        uint32_t          p_late;
        uint32_t          p_fail;
};

enum { N_CHANGES = 4 };         /* most priority changes in a run BY_PRIORITY */

/* ---- poller.c, fd.c: descriptors ------------------------------------------------------------- */

enum { N_FDS = 24, N_FILES = 48, N_PIPES = 16, N_KNOWN = 64, FIRST_FD = 3, PIPE_BYTES = 4,
       FILE_BYTES = 8, N_CHILDREN = 8 };

struct sim_pipe {
        uint32_t n_ends;                /* files; 0: free */
        uint32_t n_readers, n_writers;
        uint32_t n;
        unsigned char bytes[PIPE_BYTES];
        bool     lacks_room;            /* a writer had more bytes, or found it full */
};

struct sim_child {
        int  pid;                       /* 0: free */
        bool has_ended;
        int  status;
};

/* An open file: one end of a pipe, a socket, a regular file, or a descriptor of a child. */
struct sim_file {
        struct sim_pipe   *pipe;
        struct sim_socket *socket;
        bool               is_regular;
        bool               refuses;     /* every call returns -EAGAIN */
        bool               waits;       /* it has no non-blocking calls: -EOPNOTSUPP */
        int64_t            takes_ns;    /* how long a blocking call takes */
        const struct sim_child *child;  /* the file is a descriptor of this child */
        int                child_pid;
        uint32_t           position, size;
        unsigned char      bytes[FILE_BYTES];
        bool               writes;
        bool               is_tcp;      /* the result of w_os_fd_is_tcp */
        uint32_t           n_fds;       /* 0: free */
        uint32_t           number;      /* reused for later files */
        int                error;       /* -Exxx: one call returns it */
        int64_t            linger_ns;
};

/* ---- socket.c -------------------------------------------------------------------------------- */

enum { N_SOCKETS = 32, N_BACKLOG = 3, N_LISTS = 8, N_LISTED = 6 };

enum sim_socket_state { S_FREE, S_FRESH, S_BOUND, S_LISTENS, S_CONNECTING, S_CONNECTED, S_FAILED };

/* The bytes of an address. */
struct sim_addr {
        uint32_t way, port;             /* way: see sim.h */
};

struct sim_socket {
        enum sim_socket_state state;
        bool              blocks;       /* connect waits */
        bool              shut;
        uint32_t          port;         /* its own, or its peer's */
        uint32_t          way;          /* CONNECTING: how the network behaves, see sim.h */
        int64_t           due_at;       /* CONNECTING: when the result is known */
        int               error;        /* FAILED: the error, which one call returns */
        struct sim_pipe  *in, *out;     /* CONNECTED */
        struct sim_m     *sleeper;      /* waits in connect */
        struct sim_socket *pending[N_BACKLOG];  /* LISTENS: not accepted yet */
        uint32_t          n_pending;
};

/* The result of a lookup. */
struct sim_list {
        bool             used;
        uint32_t         n;
        struct w_os_addr addrs[N_LISTED];
};

/* A file that is registered with the poller under a number. */
struct sim_known {
        struct sim_file *file;          /* NULL: free */
        int              fd;
        uint32_t         seq, events;   /* events 0: not armed */
        bool             watched;       /* then events is 1 until a new event is reported */
};

struct sim_net {
        struct sim_file *fds[N_FDS];    /* NULL: free */
        struct sim_file  files[N_FILES];
        struct sim_pipe  pipes[N_PIPES];
        struct sim_known known[N_KNOWN];
        uint32_t         known_end;     /* none is in use from here on */
        struct sim_socket sockets[N_SOCKETS];
        uint32_t         sockets_end;   /* none is in use from here on */
        struct sim_list  lists[N_LISTS];
        uint32_t         fds_at_most;   /* for sockets; 0: N_FDS */
        uint32_t         last_port;
        uint32_t         p_abort;       /* of 1024: an accepted connection is gone already */
        uint32_t         p_refuse;      /* of 1024: the poller is full; 0: by chance only */
        bool             is_open, wakeups;
        struct sim_child children[N_CHILDREN];
        uint32_t         n_children;    /* ever started */
        uint32_t         n_busy, most_busy;     /* Ms that wait for a regular file */
};

struct sim_machine {
        struct sim_m               *running;    /* NULL: no run */
        struct fiber                hub;        /* the caller of sim_run() */
        const struct sim_scenario  *scenario;
        uint64_t                    seed;
        uint64_t                    rand;
        struct sim_profile          profile;
        struct sim_result          *result;
        FILE                       *log;

        uint64_t steps, switches, max_steps;
        int64_t  now;
        int64_t  next_due_at;           /* no WAITING M is due before */
        uint64_t ready;                 /* bit per slot */
        uint32_t n_slots;               /* slots used so far in this run */
        uint32_t n_started;             /* threads started so far in this run */
        uint32_t n_buffered;            /* stores in all buffers */
        uint32_t n_fallible;            /* calls so far that could have failed */

        uint32_t stretch;               /* steps since the last switch */
        uint32_t slice_left;
        uint64_t changes[N_CHANGES];    /* steps at which the running M falls to the bottom */
        uint32_t lowest;                /* the next priority below all others */
        bool     reconsider;            /* BY_PRIORITY: an M became ready or changed */

        void   (*on_interrupt)(void);
        void   (*on_step)(void);
        void   (*on_fault)(void *addr);
        void   (*on_preempt)(const struct w_os_regs *regs, enum w_os_preempt_cause why);
        int      preempt_signal;
        bool   (*on_arrival)(int sig);
        uint64_t caught, raised;        /* sets of signals, see os/signal.h */
        bool     has_membarrier;
        uint32_t n_usage_fds;           /* w_os_cpu_usage_open */
        struct sim_net net;
        int      cpus, quota;           /* set by sim_machine_has; cpus 0: not set */
        int64_t  scarce_ns;             /* how long a step may wait for a CPU */
        size_t   said_len;
        char     said[4000];            /* the text that went to w_os_write_err */

        struct sim_m ms[SIM_MAX_THREADS];
};

extern struct sim_machine w_sim;

/* ---- machine.c: steps and waiting ----------------------------------------------------------- */

/* A point at which anything may happen before the caller goes on. */
void w_sim_step(void);

/* The same at the entry of an OS call: costs more time and empties the store buffer. */
void w_sim_call(const char *call);
/* The end of that OS call. */
void w_sim_return(void);

/* Sleeps until due_at or until another M wakes it; true if woken. */
bool w_sim_wait(int64_t due_at);

/* Ends the wait of m, at once or late. */
void w_sim_wake(struct sim_m *m);

/* Lets another M run if one is READY. */
void w_sim_give_way(void);

/* Makes m READY, whatever it waited for. */
void w_sim_become_ready(struct sim_m *m);
/* Sets the time until which m is WAITING. */
void w_sim_set_due(struct sim_m *m, int64_t due_at);
/* How long a wake-up or a start takes; by chance 0. */
int64_t w_sim_lateness(void);

/* The running M ends; the other Ms go on. */
W_NORETURN void w_sim_leave_for_good(void);
/* The run ends, whatever state the other Ms are in. */
W_NORETURN void w_sim_end_run(void);

/* ---- preempt.c: a timer that has run down ---------------------------------------------------- */

void w_sim_preempt(void);
/* The signal of w_os_preempt_send arrives. */
void w_sim_preempt_sent(void);
void w_sim_preempt_at_step(void);

/* ---- cpu_usage.c: another thread has the CPU ------------------------------------------------ */

void w_sim_starve_at_step(void);

/* ---- run.c: threads and the run ------------------------------------------------------------- */

/* Makes a WAITING thread in a free slot. NULL: no slot is free, or no stack is available. */
struct sim_m *w_sim_m_new(const char *name, size_t stack_size, void (*fn)(void *), void *arg);
void w_sim_m_free(struct sim_m *m);

static inline bool w_sim_chance(uint32_t of_1024)
{
        return w_rand_below(&w_sim.rand, 1024) < of_1024;
}

static inline int w_sim_tid(const struct sim_m *m)
{
        return 1000 + (int)m->number;
}

/* Should this call fail? */
static inline bool w_sim_fails(void)
{
        uint32_t nth = ++w_sim.n_fallible;

        if (w_sim.scenario->config.fail_at)
                return nth == w_sim.scenario->config.fail_at;
        return w_sim.profile.p_fail && w_sim_chance(w_sim.profile.p_fail);
}

/* ---- choose.c: which M runs next ------------------------------------------------------------ */

void w_sim_profile_draw(const struct sim_config *config);
/* The M that runs the next step, possibly the running M. Some M is READY. */
struct sim_m *w_sim_choose_at_step(void);
/* After the running M yielded or cannot go on. */
struct sim_m *w_sim_choose_other(void);

/* ---- buffer.c: store buffers ---------------------------------------------------------------- */

void w_sim_buffer_put(struct sim_m *m, const struct sim_store *store);
/* True if the newest store to addr is still in m's buffer. */
bool w_sim_buffer_find(const struct sim_m *m, const void *addr, unsigned size, uint64_t *value);
void w_sim_buffer_drain_all(struct sim_m *m);
/* Some store of some M reaches memory. */
void w_sim_buffer_drain_some(void);
uint64_t w_sim_memory_read(const void *addr, unsigned size);
void w_sim_memory_write(void *addr, unsigned size, uint64_t value);

/* ---- signal.c ------------------------------------------------------------------------------- */

/* At a step: a raised signal may hit the running M. */
void w_sim_signals_arrive(void);
/* The running M is about to sleep where a signal would wake it: every pending signal that it does
 * not block hits it now. Otherwise the signal might never hit a thread. */
void w_sim_signals_before_sleep(void);

/* ---- fd.c ----------------------------------------------------------------------------------- */

/* The open file, or NULL. */
struct sim_file *w_sim_file(int fd);
bool w_sim_is_regular(int fd);
/* What poll(2) would report with all events requested. */
uint32_t w_sim_file_state(const struct sim_file *file);
/* The same for a caller that will wait: records that it found no room, so that the poller reports
 * room later. */
uint32_t w_sim_file_look(struct sim_file *file);

/* A free number for the file, -EMFILE. */
int w_sim_new_fd(struct sim_file *file);
/* A free record. */
struct sim_file *w_sim_new_file(void);
struct sim_pipe *w_sim_new_pipe(void);
/* Removes one end of the pipe. */
void w_sim_leave_pipe(struct sim_pipe *pipe, bool writes);
/* Read from a pipe and write to it, as read(2) and write(2). all: no short reads. */
intptr_t w_sim_take_bytes(struct sim_pipe *pipe, bool all, void *buf, size_t n);
intptr_t w_sim_put_bytes(struct sim_pipe *pipe, const void *buf, size_t n);

/* ---- socket.c ------------------------------------------------------------------------------- */

/* Applies the network events that are due by now. No step. */
void w_sim_net_settle(void);
/* The time of the next network event; W_FOREVER: none. */
int64_t w_sim_net_due(void);
/* As the functions for files. */
uint32_t w_sim_socket_state(const struct sim_socket *s);
intptr_t w_sim_socket_read(struct sim_socket *s, bool all, void *buf, size_t n);
intptr_t w_sim_socket_write(struct sim_socket *s, const void *buf, size_t n);
void     w_sim_socket_end(struct sim_socket *s);

/* ---- file.c: regular files ------------------------------------------------------------------ */

struct iovec;

/* w_sim_file_try does not wait, w_sim_file_use waits. */
intptr_t w_sim_file_try(int fd, const struct iovec *v, int n, int64_t at, bool writes);
intptr_t w_sim_file_use(int fd, const struct iovec *v, int n, int64_t at, bool writes);

/* ---- poller.c ------------------------------------------------------------------------------- */

/* Wakes waiters: an event may have happened on some file. */
void w_sim_poller_tell(void);
/* Records a new event on this end of the pipe, on the socket, on the child. w_sim_poller_tell wakes
 * the waiters for it. No step. */
void w_sim_poller_mark(const struct sim_pipe *pipe, bool writes);
void w_sim_poller_mark_socket(const struct sim_socket *s);
void w_sim_poller_mark_child(const struct sim_child *child);
/* The last descriptor of file is gone. */
void w_sim_poller_lose(const struct sim_file *file);

/* ---- futex.c -------------------------------------------------------------------------------- */

/* When a sleep until deadline_at ends by itself, perhaps spuriously. */
int64_t w_sim_spurious_at(int64_t deadline_at);

/* ---- vm.c ----------------------------------------------------------------------------------- */

void w_sim_vm_reset(void);
/* True: a page was written after it was unmapped. */
bool w_sim_vm_has_strays(void);

/* ---- report.c: log and failure report ------------------------------------------------------- */

void w_sim_log_line(const struct sim_m *m, const struct w_site *site, const char *fmt, ...)
        W_PRINTF(3, 4);
/* Costs a test of one pointer when there is no log. */
#define W_SIM_LOG(m, site, ...) do {                                                            \
        if (W_UNLIKELY(w_sim.log != NULL))                                                      \
                w_sim_log_line(m, site, __VA_ARGS__);                                           \
} while (0)

/* A value for the log, the same in every replay: values that look like addresses are numbered in
 * the order of first appearance. The text is valid until the fifth next call. */
const char *w_sim_value(uint64_t value);
void w_sim_names_reset(void);

/* Fills the report of the run's result. */
void w_sim_report(const char *what);

#endif
