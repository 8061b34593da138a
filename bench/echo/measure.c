/* bench/echo/measure.c - starts echo-load and reads its results.
 *
 * SPDX-License-Identifier: MIT
 */
#include "measure.h"

#include <libgen.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct load {
        pid_t pid;
        FILE *said;
        int   say;
};

static _Noreturn void fail(const char *what)
{
        fprintf(stderr, "echo: %s\n", what);
        _Exit(1);
}

/* $ECHO_LOAD, or the path where the build puts it, relative to this program. */
static void find_load(char *path, size_t size)
{
        char    self[PATH_MAX];
        ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

        if (getenv("ECHO_LOAD")) {
                snprintf(path, size, "%s", getenv("ECHO_LOAD"));
                return;
        }
        if (n < 0)
                fail("no /proc/self/exe");
        self[n] = 0;
        snprintf(path, size, "%s/../echo/echo-load", dirname(self));
}

static struct load start(int port, int connections, int64_t requests)
{
        posix_spawn_file_actions_t actions;
        struct load                load;
        char                       path[PATH_MAX + 32], numbers[3][24];
        int                        in[2], out[2];

        find_load(path, sizeof(path));
        snprintf(numbers[0], sizeof(numbers[0]), "%d", port);
        snprintf(numbers[1], sizeof(numbers[1]), "%d", connections);
        snprintf(numbers[2], sizeof(numbers[2]), "%lld", (long long)requests);
        char *argv[] = { path, numbers[0], numbers[1], numbers[2], NULL };

        if (pipe(in) < 0 || pipe(out) < 0)
                fail("no pipes");
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, in[0], 0);
        posix_spawn_file_actions_adddup2(&actions, out[1], 1);
        posix_spawn_file_actions_addclose(&actions, in[1]);
        posix_spawn_file_actions_addclose(&actions, out[0]);
        if (posix_spawn(&load.pid, path, &actions, NULL, argv, environ) != 0)
                fail("cannot start echo-load; is it built?");
        posix_spawn_file_actions_destroy(&actions);
        close(in[0]);
        close(out[1]);
        load.say = in[1];
        load.said = fdopen(out[0], "r");
        return load;
}

static double cpu_us(void)
{
        struct rusage u;

        getrusage(RUSAGE_SELF, &u);
        return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
               (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* The memory of this process, with its page tables. */
static double memory_bytes(void)
{
        FILE  *status = fopen("/proc/self/status", "r");
        char   line[256];
        double kib = 0;
        long   some;

        while (status && fgets(line, sizeof(line), status))
                if (sscanf(line, "VmRSS: %ld", &some) == 1 ||
                    sscanf(line, "VmPTE: %ld", &some) == 1)
                        kib += (double)some;
        if (status)
                fclose(status);
        return kib * 1024;
}

struct echo_figures echo_measure(int port, int connections, int64_t requests)
{
        struct echo_figures f;
        char                line[128];
        double              empty = memory_bytes();
        struct load         load = start(port, connections, requests);
        int                 status;

        if (!fgets(line, sizeof(line), load.said) || strcmp(line, "ready\n") != 0)
                fail("echo-load is not ready");
        f.idle_bytes = (memory_bytes() - empty) / connections;
        double idle = cpu_us();

        sleep(1);
        double before = cpu_us();

        f.idle_cpu_ms = (before - idle) / 1e3;
        if (write(load.say, "\n", 1) != 1 || !fgets(line, sizeof(line), load.said) ||
            sscanf(line, "%lf %lf %lf", &f.requests_per_s, &f.p50_us, &f.p99_us) != 3)
                fail("echo-load did not come to its end");
        f.cpu_us_per_request = (cpu_us() - before) / (double)requests;
        waitpid(load.pid, &status, 0);
        fclose(load.said);
        close(load.say);
        return f;
}

void echo_raise_limit(void)
{
        struct rlimit limit;

        getrlimit(RLIMIT_NOFILE, &limit);
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
}
