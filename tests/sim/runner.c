/* tests/sim/runner.c - many seeds of one scenario, in this process or in several.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/runner.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
        SEEDS_PER_CHECK = 64,            /* at the clock */
        SECONDS_PER_LINE = 2,           /* of progress */
        SECONDS_UNTIL_STUCK = 60,       /* without a look at the clock */
        MAX_JOBS = 256,
};

static const struct sim_scenario *under_way;
static volatile uint64_t          seed_under_way;

/* Shared by the jobs. Two that fail at once may leave the higher one here: then some seeds are run
 * in vain, and none is missed. */
static volatile uint64_t *lowest_failed;

/* ---- When a run ends the program ------------------------------------------------------------ */

static void on_crash(int sig)
{
        char text[300];
        int  n = snprintf(text, sizeof(text), "\nFAILED   %s, seed %lu: %s\n  replay: %s %s --seed"
                          " %lu --log\n", under_way ? under_way->name : "(no scenario)",
                          (unsigned long)seed_under_way,
                          sig == SIGALRM ? "does not come back: it loops without any step"
                                         : strsignal(sig),
                          sim_program, under_way ? under_way->name : "?",
                          (unsigned long)seed_under_way);

        (void)!write(STDERR_FILENO, text, (size_t)n);
        signal(sig, SIG_DFL);
        raise(sig);
}

void watch_for_crashes(void)
{
        static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM };
        static char      stack[64 << 10];
        const stack_t    own = { .ss_sp = stack, .ss_size = sizeof(stack) };
        struct sigaction action = { .sa_handler = on_crash, .sa_flags = SA_ONSTACK | SA_NODEFER };

        sigaltstack(&own, NULL);
        for (size_t i = 0; i < W_ARRAY_LEN(signals); i++)
                sigaction(signals[i], &action, NULL);
}

/* ---- One process ---------------------------------------------------------------------------- */

static double seconds_now(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void run_seed(const struct sim_scenario *scenario, uint64_t seed, FILE *log,
              struct sim_result *result)
{
        under_way = scenario;
        seed_under_way = seed;
        sim_run(scenario, seed, log, result);
}

struct progress {
        double began, last;
};

static void print_progress(const struct seeds *seeds, const struct outcome *o, double passed)
{
        double n = (double)(o->n_seeds * seeds->n_jobs);

        fprintf(stderr, "  %-24s %.0f ", under_way->name, n);
        if (seeds->seconds > 0)
                fprintf(stderr, "seeds in %.0f of %.0f s", passed, seeds->seconds);
        else
                fprintf(stderr, "of %lu seeds", (unsigned long)seeds->n);
        fprintf(stderr, ", %.0f a second\n", n / passed);
}

/* True when the time is up. One job prints for all. */
static bool look_at_clock(struct progress *p, const struct seeds *seeds, unsigned index,
                          const struct outcome *o)
{
        double now = seconds_now();

        alarm(SECONDS_UNTIL_STUCK);
        if (index == 0 && now - p->last >= SECONDS_PER_LINE) {
                p->last = now;
                print_progress(seeds, o, now - p->began);
        }
        return seeds->seconds > 0 && now - p->began >= seeds->seconds;
}

/* Every n_jobs-th seed from the index-th on. */
static void run_share(const struct seeds *seeds, unsigned index, struct outcome *o)
{
        struct progress progress = { seconds_now(), seconds_now() };

        for (uint64_t i = index; i < seeds->n && seeds->first + i < *lowest_failed;
             i += seeds->n_jobs) {
                if (o->n_seeds % SEEDS_PER_CHECK == 0 &&
                    look_at_clock(&progress, seeds, index, o))
                        break;
                run_seed(under_way, seeds->first + i, NULL, &o->last);
                o->n_seeds++;
                o->n_steps += o->last.steps;
                o->failed_seed = seeds->first + i;
                if (o->last.failed && o->failed_seed < *lowest_failed)
                        *lowest_failed = o->failed_seed;
        }
        alarm(0);
}

/* ---- Several processes ---------------------------------------------------------------------- */

struct job {
        pid_t pid;
        int   pipe;
};

static void write_all(int fd, const void *data, size_t size)
{
        for (const char *at = data; size;) {
                ssize_t n = write(fd, at, size);

                if (n <= 0)
                        _exit(1);
                at += n;
                size -= (size_t)n;
        }
}

static void start_job(struct job *job, const struct seeds *seeds, unsigned index)
{
        int ends[2];

        fflush(NULL);
        if (pipe(ends) != 0 || (job->pid = fork()) < 0) {
                perror("weft-sim: cannot start a job");
                exit(1);
        }
        if (job->pid == 0) {
                static struct outcome mine;

                close(ends[0]);
                run_share(seeds, index, &mine);
                write_all(ends[1], &mine, sizeof(mine));
                _exit(0);
        }
        close(ends[1]);
        job->pipe = ends[0];
}

static bool read_all(int fd, void *data, size_t size)
{
        for (char *at = data; size;) {
                ssize_t n = read(fd, at, size);

                if (n <= 0)
                        return false;
                at += n;
                size -= (size_t)n;
        }
        return true;
}

static W_NORETURN void give_up(const struct job *jobs, unsigned n)
{
        for (unsigned i = 0; i < n; i++)
                if (jobs[i].pid > 0)
                        kill(jobs[i].pid, SIGKILL);
        fprintf(stderr, "weft-sim: a job died; its output is above\n");
        exit(1);
}

/* The lowest failing seed of all is reported. False: the job died. */
static bool collect(struct job *job, struct outcome *o)
{
        static struct outcome theirs;
        bool was_read = read_all(job->pipe, &theirs, sizeof(theirs));

        close(job->pipe);
        waitpid(job->pid, NULL, 0);
        job->pid = 0;
        if (!was_read)
                return false;
        o->n_seeds += theirs.n_seeds;
        o->n_steps += theirs.n_steps;
        if (theirs.last.failed && (!o->last.failed || theirs.failed_seed < o->failed_seed)) {
                o->failed_seed = theirs.failed_seed;
                o->last = theirs.last;
        }
        return true;
}

static void run_jobs(const struct seeds *seeds, struct outcome *o)
{
        struct job jobs[MAX_JOBS];

        for (unsigned i = 0; i < seeds->n_jobs; i++)
                start_job(&jobs[i], seeds, i);
        for (unsigned i = 0; i < seeds->n_jobs; i++)
                if (!collect(&jobs[i], o))
                        give_up(jobs, seeds->n_jobs);
}

static void share_lowest(void)
{
        if (!lowest_failed) {
                void *page = mmap(NULL, sizeof(*lowest_failed), PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

                if (page == MAP_FAILED) {
                        perror("weft-sim");
                        exit(1);
                }
                lowest_failed = page;
        }
        *lowest_failed = UINT64_MAX;
}

void run_seeds(const struct sim_scenario *scenario, const struct seeds *seeds,
               struct outcome *outcome)
{
        double began = seconds_now();

        memset(outcome, 0, sizeof(*outcome));
        under_way = scenario;
        share_lowest();
        if (seeds->n_jobs == 1 && !seeds->apart)
                run_share(seeds, 0, outcome);
        else
                run_jobs(seeds, outcome);
        outcome->seconds = seconds_now() - began;
}
