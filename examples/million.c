/* million.c - a million goroutines wait at the same time, then each takes its turn.
 *
 *   million [N]      N goroutines, 1,000,000 by default
 *
 * Goroutine i waits until goroutine i + 1 wakes it. The first goroutine of the program wakes the
 * last goroutine of the chain, and each goroutine wakes the next, down to number 0. Prints the
 * costs. The exit status is 1 if not all goroutines of the chain were woken.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <weft.h>

static long     n_goroutines = 1000000;
static int64_t *ids;            /* of the goroutines of the chain */
static long     n_woken;        /* only the goroutine that was just woken touches it */

static void link_of_chain(void *arg)
{
        long i = (long)(intptr_t)arg;

        weft_park();
        n_woken++;
        weft_unpark(i > 0 ? ids[i - 1] : 1);
}

static double now_s(void)
{
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static long status_kib(const char *field)
{
        char  line[256];
        long  value = -1;
        FILE *status = fopen("/proc/self/status", "r");

        if (!status)
                return -1;
        while (fgets(line, sizeof(line), status))
                if (strncmp(line, field, strlen(field)) == 0)
                        value = strtol(line + strlen(field), NULL, 10);
        fclose(status);
        return value;
}

static void spawn_all(void)
{
        for (long i = 0; i < n_goroutines; i++) {
                ids[i] = weft_go(link_of_chain, (void *)(intptr_t)i);
                if (ids[i] < 0) {
                        fprintf(stderr, "goroutine %ld: %s\n", i, strerror((int)-ids[i]));
                        exit(1);
                }
        }
}

/* A yield lets a goroutine run until it parks. Yields until all goroutines have parked. */
static void let_all_park(void)
{
        weft_stats_t st = { .size = sizeof(st) };

        do {
                weft_yield();
                weft_stats(&st);
        } while ((long)st.parks_park < n_goroutines);
}

static void start(void *arg)
{
        long   before = status_kib("VmRSS:") + status_kib("VmPTE:");
        double t0 = now_s();

        (void)arg;
        spawn_all();
        double t1 = now_s();
        let_all_park();
        double t2 = now_s();
        long   used = status_kib("VmRSS:") + status_kib("VmPTE:") - before;

        printf("%ld goroutines spawned in %.2f s, all waiting after %.2f s\n", n_goroutines,
               t1 - t0, t2 - t0);
        printf("%.0f bytes each, stack, page table and record\n",
               (double)used * 1024 / (double)n_goroutines);
        weft_unpark(ids[n_goroutines - 1]);
        weft_park();
        printf("the wake ran through %ld of them in %.2f s: %.0f ns a hop\n", n_woken,
               now_s() - t2, (now_s() - t2) * 1e9 / (double)n_woken);
}

int main(int argc, char **argv)
{
        if (argc > 2 || (argc == 2 && (n_goroutines = strtol(argv[1], NULL, 10)) < 1)) {
                fprintf(stderr, "usage: %s [NUMBER OF GOROUTINES]\n", argv[0]);
                return 2;
        }
        ids = calloc((size_t)n_goroutines, sizeof(*ids));
        if (!ids) {
                fprintf(stderr, "no memory for %ld ids\n", n_goroutines);
                return 1;
        }
        int rc = weft_run(start, NULL);

        free(ids);
        if (rc != 0)
                fprintf(stderr, "weft_run: %d\n", rc);
        return rc != 0 || n_woken != n_goroutines;
}
