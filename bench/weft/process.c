/* bench/weft/process.c - memory and CPU time of this process, the clock, and the end after a
 * failure.
 *
 * SPDX-License-Identifier: MIT
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

_Noreturn void bench_fail(const char *what, int64_t rc)
{
        fprintf(stderr, "weft-bench: %s: %s\n", what, strerror((int)-rc));
        fflush(stderr);
        _Exit(1);
}

void bench_extra(struct bench_result *result, const char *name, double value)
{
        if (result->n_extras == BENCH_MAX_EXTRAS)
                abort();
        result->extras[result->n_extras].name = name;
        result->extras[result->n_extras++].value = value;
}

struct bench_memory bench_memory(void)
{
        struct bench_memory m = { -1, -1, -1 };
        FILE               *status = fopen("/proc/self/status", "r");
        char                line[256];

        while (status && fgets(line, sizeof(line), status)) {
                if (sscanf(line, "VmRSS: %ld", &m.rss) == 1)
                        continue;
                if (sscanf(line, "VmHWM: %ld", &m.peak) == 1)
                        continue;
                sscanf(line, "VmPTE: %ld", &m.tables);
        }
        if (status)
                fclose(status);
        if (m.rss < 0 || m.peak < 0 || m.tables < 0) {
                fputs("weft-bench: no VmRSS, VmHWM and VmPTE in /proc/self/status\n", stderr);
                _Exit(1);
        }
        return m;
}

static double milliseconds(struct timeval t)
{
        return (double)t.tv_sec * 1e3 + (double)t.tv_usec / 1e3;
}

double bench_cpu_ms(void)
{
        struct rusage usage;

        getrusage(RUSAGE_SELF, &usage);
        return milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime);
}

int64_t bench_now_ns(void)
{
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
