/* bench/weft/main.c - weft-bench: runs one workload on weft and prints one line of JSON.
 *
 * The same program for Go is in bench/peers/go: the same names, parameters, work and units.
 * bench/run.py calls both in turn and compares them. The figures do not include starting and
 * stopping the runtime.
 *
 * SPDX-License-Identifier: MIT
 */
#include "bench.h"

#include <weft.h>

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PROCS = 1024 };

struct workload {
        const char *name, *unit;
        int64_t     n;                  /* default */
        int64_t     min, max;           /* the allowed range of -n */
        bench_fn   *run;
};

static const struct workload workloads[] = {
        { "yield", "ns per switch", 10000000, 2, 1000000000, bench_yield },
        { "spawn", "ns per goroutine", 1000000, 1, 1000000000, bench_spawn },
        { "fib", "ms", 30, 0, 40, bench_fib },
        { "fib-child-first", "ms", 30, 0, 40, bench_fib_child_first },
        { "mutex", "ns per operation", 800000, 8, 1000000000, bench_mutex },
        { "mutex-4", "ns per operation", 400000, 4, 1000000000, bench_mutex_4 },
        { "parked", "bytes each", 100000, 1, 10000000, bench_parked },
        { "pingpong", "ns per round trip", 2000000, 1, 1000000000, bench_pingpong },
        { "pipe", "ns per item", 5000000, 1, 1000000000, bench_pipe },
        { "pipe-4x4", "ns per item", 5000000, 4, 1000000000, bench_pipe_4x4 },
        { "select", "ns per select", 2000000, 4, 1000000000, bench_select },
        { "sleep", "ms of CPU", 100000, 1, 1000000, bench_sleep },
        { "timer-churn", "ns per arm and stop", 1000000, 1, 1000000000, bench_timer_churn },
        { "wake", "us, p50", 2000, 1, 100000, bench_wake },
        { "region", "ns per region", 10000000, 1, 1000000000, bench_region },
        { "block", "share of one P", 1000, 2, 60000, bench_block },
        { "hog", "us late, p99", 1000, 1, 60000, bench_hog },
        { "resize", "us per change", 2000, 2, 1000000, bench_resize },
        { "stop", "us, p99", 2000, 1, 1000000, bench_stop },
        { "echo-100", "requests/s", 200000, 1, 1000000000, bench_echo_100 },
        { "echo-1k", "requests/s", 200000, 1, 1000000000, bench_echo_1k },
        { "echo-10k", "requests/s", 200000, 1, 1000000000, bench_echo_10k },
        { "dial", "us, p99", 2000, 1, 100000, bench_dial },
        { "skynet", "ms", 1000000, 1, 10000000, bench_skynet },
        { "skynet-child-first", "ms", 1000000, 1, 10000000, bench_skynet_child_first },
};

enum { N_WORKLOADS = sizeof(workloads) / sizeof(workloads[0]) };

struct job {
        const struct workload *workload;
        struct bench_options   options;
        struct bench_result    result;
        struct bench_memory    memory;
};

/* ---- Arguments ------------------------------------------------------------------------------- */

static void usage(FILE *to)
{
        fputs("usage: weft-bench [-procs N] [-n N] [-wait join|park] WORKLOAD | -list\n"
              "  -procs N  number of Ps, 1 to 1024 (default 1)\n"
              "  -n N      size of the workload (default: its own)\n"
              "  -wait W   how a parent waits for its children, where there is a choice\n"
              "  -list     name the workloads and stop\n",
              to);
}

static _Noreturn void refuse(const char *what, const char *got)
{
        fprintf(stderr, "weft-bench: %s: '%s'\n", what, got);
        usage(stderr);
        exit(2);
}

static int64_t parse_number(const char *text, int64_t min, int64_t max, const char *what)
{
        char *end;

        errno = 0;
        long long value = strtoll(text, &end, 10);

        if (errno || end == text || *end || value < min || value > max)
                refuse(what, text);
        return value;
}

static enum bench_wait parse_wait(const char *text)
{
        if (strcmp(text, "join") == 0)
                return BENCH_WAIT_JOIN;
        if (strcmp(text, "park") == 0)
                return BENCH_WAIT_PARK;
        refuse("-wait is join or park", text);
}

static const struct workload *find_workload(const char *name)
{
        for (int i = 0; i < N_WORKLOADS; i++)
                if (strcmp(workloads[i].name, name) == 0)
                        return &workloads[i];
        refuse("no such workload; -list names them", name);
}

static _Noreturn void list(void)
{
        for (int i = 0; i < N_WORKLOADS; i++)
                puts(workloads[i].name);
        exit(0);
}

static struct job parse(int argc, char **argv)
{
        static const struct option known[] = {
                { "procs", required_argument, NULL, 'p' }, { "n", required_argument, NULL, 'n' },
                { "wait", required_argument, NULL, 'w' },  { "list", no_argument, NULL, 'l' },
                { "help", no_argument, NULL, 'h' },        { 0 },
        };
        struct job  job = { .options = { .procs = 1 } };
        const char *n = NULL;

        for (int c; (c = getopt_long_only(argc, argv, "", known, NULL)) != -1;) {
                switch (c) {
                case 'p':
                        job.options.procs = (int)parse_number(optarg, 1, MAX_PROCS,
                                                              "-procs is a number from 1 to 1024");
                        break;
                case 'n': n = optarg; break;
                case 'w': job.options.wait = parse_wait(optarg); break;
                case 'l': list();
                case 'h': usage(stdout); exit(0);
                default: usage(stderr); exit(2);
                }
        }
        if (optind + 1 != argc)
                refuse("one workload is needed", optind < argc ? argv[optind + 1] : "");
        job.workload = find_workload(argv[optind]);
        job.options.n = job.workload->n;
        if (n)
                job.options.n = parse_number(n, job.workload->min, job.workload->max,
                                             "-n is out of range for this workload");
        return job;
}

/* ---- Running --------------------------------------------------------------------------------- */

static void run_job(void *arg)
{
        struct job *job = arg;

        job->workload->run(&job->options, &job->result);
        job->memory = bench_memory();
}

static void report(const struct job *job)
{
        const struct bench_result *r = &job->result;

        printf("{\"runtime\":\"weft\",\"version\":\"%s\",\"workload\":\"%s\",\"procs\":%d,"
               "\"n\":%" PRId64 ",\"value\":%.6g,\"unit\":\"%s\"",
               weft_version(), job->workload->name, job->options.procs, job->options.n, r->value,
               job->workload->unit);
        if (r->wait)
                printf(",\"wait\":\"%s\"", r->wait);
        for (int i = 0; i < r->n_extras; i++)
                printf(",\"%s\":%.12g", r->extras[i].name, r->extras[i].value);
        printf(",\"rss_kib\":%ld,\"peak_rss_kib\":%ld,\"page_table_kib\":%ld,\"cpu_ms\":%.3f}\n",
               job->memory.rss, job->memory.peak, job->memory.tables, bench_cpu_ms());
}

int main(int argc, char **argv)
{
        struct job  job = parse(argc, argv);
        weft_config config = { .procs = job.options.procs };
        int         rc = weft_run_with(&config, run_job, &job);

        bench_must("weft_run_with", rc);
        if (weft_threads_left() > 0)    /* weft has reported it */
                return 1;
        report(&job);
        if (fflush(stdout) != 0) {
                perror("weft-bench: stdout");
                return 1;
        }
        return 0;
}
