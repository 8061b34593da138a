/* tests/sim/main.c - weft-sim: runs scenarios on the simulated machine, many seeds or one.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/runner.h"
#include "sim/scenario.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <time.h>
#include <unistd.h>

static const char usage[] =
        "usage: weft-sim [SCENARIO | all] [options]\n"
        "\n"
        "Runs scenarios on the simulated machine, once per seed, and stops at the first seed that\n"
        "fails. Without a scenario: all that must succeed; with --expect-fail, all that must not.\n"
        "\n"
        "  --seeds N       how many seeds each (default 1000)\n"
        "  --seconds T     as many seeds as fit into T seconds for all scenarios together\n"
        "  --first S       the first of them (default 1; with --seconds another one each time)\n"
        "  --jobs J        spread them over J processes (default 1)\n"
        "  --seed N        this one seed only\n"
        "  --log           with --seed: print every step to stdout\n"
        "  --expect-fail   succeed only if some seed fails: for scenarios broken on purpose\n"
        "  --list          name the scenarios\n"
        "  --help          this text\n"
        "\n"
        "Exit status: 0 as expected, 1 not, 2 wrong arguments.\n";

enum { EXIT_USAGE = 2 };

#define MAX_SEED (UINT64_MAX / 4)       /* first and number of seeds never add up to an overflow */

struct options {
        const char  *scenario;
        struct seeds seeds;
        bool         one_seed, log, expect_fail, list, help, many;
        bool         has_first, has_n;
};

static struct sim_scenario *scenarios;  /* by name */

void scenario_register(struct sim_scenario *scenario)
{
        struct sim_scenario **at = &scenarios;

        while (*at && strcmp((*at)->name, scenario->name) < 0)
                at = &(*at)->next;
        scenario->next = *at;
        *at = scenario;
}

static W_NORETURN void wrong(const char *what, const char *which)
{
        fprintf(stderr, "weft-sim: %s%s%s\nTry weft-sim --help.\n", what, which ? ": " : "",
                which ? which : "");
        exit(EXIT_USAGE);
}

/* ---- Arguments ------------------------------------------------------------------------------ */

static uint64_t number(const char *option, const char *text, uint64_t low, uint64_t high)
{
        char              *end;
        unsigned long long value;

        if (!text)
                wrong("a number must follow", option);
        errno = 0;
        value = strtoull(text, &end, 10);
        if (text[0] < '0' || text[0] > '9' || *end || errno || value < low || value > high) {
                fprintf(stderr, "weft-sim: %s %s is not a number from %lu to %lu\n", option, text,
                        (unsigned long)low, (unsigned long)high);
                exit(EXIT_USAGE);
        }
        return value;
}

/* Options with a number; false if `name` is none of them. */
static bool parse_number(struct options *o, const char *name, const char *value)
{
        if (strcmp(name, "--seeds") == 0) {
                o->seeds.n = number(name, value, 1, MAX_SEED);
                o->many = o->has_n = true;
        } else if (strcmp(name, "--seconds") == 0) {
                o->seeds.seconds = (double)number(name, value, 1, 1000000);
                o->many = true;
        } else if (strcmp(name, "--first") == 0) {
                o->seeds.first = number(name, value, 0, MAX_SEED);
                o->many = o->has_first = true;
        } else if (strcmp(name, "--jobs") == 0) {
                o->seeds.n_jobs = (unsigned)number(name, value, 1, 256);
                o->many = true;
        } else if (strcmp(name, "--seed") == 0) {
                o->seeds.first = number(name, value, 0, UINT64_MAX);
                o->one_seed = true;
        } else {
                return false;
        }
        return true;
}

static void parse_word(struct options *o, const char *word)
{
        if (strcmp(word, "--log") == 0)
                o->log = true;
        else if (strcmp(word, "--expect-fail") == 0)
                o->expect_fail = true;
        else if (strcmp(word, "--list") == 0)
                o->list = true;
        else if (strcmp(word, "--help") == 0)
                o->help = true;
        else if (word[0] == '-')
                wrong("unknown option", word);
        else if (o->scenario)
                wrong("more than one scenario", word);
        else
                o->scenario = word;
}

static void check(const struct options *o)
{
        if (o->one_seed && o->many)
                wrong("--seed goes with none of --seeds, --seconds, --first, --jobs", NULL);
        if (o->log && !o->one_seed)
                wrong("--log needs --seed", NULL);
        if (o->one_seed && (!o->scenario || strcmp(o->scenario, "all") == 0))
                wrong("--seed needs one scenario", NULL);
        if (o->has_n && o->seeds.seconds > 0)
                wrong("either --seeds or --seconds", NULL);
}

static struct options parse(char **argv)
{
        struct options o = { .seeds = { .first = 1, .n = 1000, .n_jobs = 1 } };

        for (char **arg = argv + 1; *arg; arg++) {
                if (parse_number(&o, arg[0], arg[1]))
                        arg++;
                else
                        parse_word(&o, arg[0]);
        }
        check(&o);
        if (o.seeds.seconds > 0)
                o.seeds.n = MAX_SEED;
        if (o.seeds.seconds > 0 && !o.has_first)
                o.seeds.first = (uint64_t)time(NULL) * 1000000;
        return o;
}

static struct sim_scenario *find(const char *name)
{
        for (struct sim_scenario *s = scenarios; s; s = s->next)
                if (strcmp(s->name, name) == 0)
                        return s;
        wrong("no such scenario (--list shows them)", name);
}

/* ---- Running -------------------------------------------------------------------------------- */

static int list(void)
{
        for (struct sim_scenario *s = scenarios; s; s = s->next)
                printf("%-28s %s%s\n", s->name, s->must_fail ? "must fail: " : "", s->what);
        return 0;
}

static void print_summary(const struct sim_scenario *s, const struct outcome *o)
{
        printf("%-8s %-28s %9lu seeds %11lu steps %9.0f seeds/s", o->last.failed ? "failed" : "ok",
               s->name, (unsigned long)o->n_seeds, (unsigned long)o->n_steps,
               (double)o->n_seeds / (o->seconds > 0 ? o->seconds : 1e-9));
        if (o->last.failed)
                printf("   seed %lu", (unsigned long)o->failed_seed);
        printf("\n");
        fflush(stdout);
}

static bool run_one(const struct sim_scenario *s, const struct options *opts)
{
        static struct outcome o;

        run_seeds(s, &opts->seeds, &o);
        print_summary(s, &o);
        if (o.last.failed && !opts->expect_fail)
                fputs(o.last.report, stderr);
        if (!o.last.failed && opts->expect_fail)
                fprintf(stderr, "NOT FOUND %s: no seed of %lu shows what is broken in it\n",
                        s->name, (unsigned long)o.n_seeds);
        return o.last.failed == opts->expect_fail;
}

static int run_all(struct options *opts)
{
        int n = 0, n_wrong = 0;

        for (struct sim_scenario *s = scenarios; s; s = s->next)
                n += s->must_fail == opts->expect_fail;
        opts->seeds.seconds /= n;
        opts->seeds.apart = true;
        for (struct sim_scenario *s = scenarios; s; s = s->next)
                if (s->must_fail == opts->expect_fail)
                        n_wrong += !run_one(s, opts);
        return n_wrong != 0;
}

static int replay(const struct sim_scenario *s, const struct options *opts)
{
        static struct sim_result result;

        run_seed(s, opts->seeds.first, opts->log ? stdout : NULL, &result);
        fflush(stdout);
        if (result.failed)
                fputs(result.report, stderr);
        printf("%s %s, seed %lu: %lu steps, %lu switches, %ld ns\n",
               result.failed ? "failed" : "ok", s->name, (unsigned long)opts->seeds.first,
               (unsigned long)result.steps, (unsigned long)result.switches,
               (long)result.ended_at);
        return result.failed != opts->expect_fail;
}

/* Addresses decide which objects share a bucket of the wait queues and which of two channels is
 * locked first, so a seed takes the same steps only if all addresses are the same. */
static void fix_addresses(char **argv)
{
        int how = personality(0xffffffff);

        if (how < 0 || (how & ADDR_NO_RANDOMIZE))
                return;
        if (personality((unsigned)how | ADDR_NO_RANDOMIZE) >= 0)
                (void)execv("/proc/self/exe", argv);    /* not allowed: it goes on as it is */
}

int main(int argc, char **argv)
{
        struct options opts = parse(argv);

        (void)argc;
        fix_addresses(argv);
        sim_program = argv[0];
        if (opts.help) {
                fputs(usage, stdout);
                return 0;
        }
        if (opts.list)
                return list();
        watch_for_crashes();
        if (!opts.scenario || strcmp(opts.scenario, "all") == 0)
                return run_all(&opts);
        struct sim_scenario *scenario = find(opts.scenario);

        return opts.one_seed ? replay(scenario, &opts) : !run_one(scenario, &opts);
}
