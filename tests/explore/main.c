/* tests/explore/main.c - weft-explore: runs scenarios on the explorer from the command line.
 *
 * SPDX-License-Identifier: MIT
 */
#include "scenarios.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct explore_scenario *const groups[] = {
        litmus_scenarios, selftest_scenarios, note_scenarios, lock_scenarios, ring_scenarios,
        ring_empty_scenarios, parents_scenarios, wake_scenarios, chan_scenarios, select_scenarios,
        sync_locks_scenarios, sync_counts_scenarios, timers_scenarios, scope_scenarios,
        unpark_scenarios, take_scenarios,
};

static const char usage[] =
        "usage: weft-explore [options] SCENARIO...\n"
        "\n"
        "Tries every execution of small scenarios on the real sources, under C11's memory model.\n"
        "SCENARIO is a name, a prefix that ends in '*' (like 'ring-*'), or 'all'.\n"
        "\n"
        "  --list              name every scenario and what it is about\n"
        "  --bound N           at most N preemptions ('-' for any; default: the scenario's)\n"
        "  --stale N           at most N loads that do not read the newest value (likewise)\n"
        "  --max-executions N  stop a scenario after N executions\n"
        "  --seconds S         stop a scenario after S seconds\n"
        "  --replay TRAIL      run the one execution that TRAIL describes and print it\n"
        "  --expect-fail       stop at the first that fails; succeed if and only if there is one\n"
        "  --help              this text\n"
        "\n"
        "Exit status: 0 all as it should be, 1 a scenario failed, 2 bad arguments.\n";

struct command {
        const char *wanted[64];
        int         n_wanted;
        bool        own_bound, own_stale, expect_fail, list;
        struct explore_options options;
};

static void refuse(const char *what, const char *detail)
{
        fprintf(stderr, "weft-explore: %s '%s'; --help shows how\n", what, detail);
        exit(2);
}

static long parse_number(const char *option, const char *text, long max)
{
        char *end;

        errno = 0;
        long n = strtol(text, &end, 10);
        if (errno || end == text || *end || n < 0 || n > max) {
                fprintf(stderr, "weft-explore: %s takes a number from 0 to %ld, not '%s'\n",
                        option, max, text);
                exit(2);
        }
        return n;
}

static int parse_bound(const char *option, const char *text)
{
        return strcmp(text, "-") == 0 ? W_EXPLORE_UNLIMITED : (int)parse_number(option, text, 1000);
}

static double parse_seconds(const char *text)
{
        char  *end;
        double s = strtod(text, &end);

        if (end == text || *end || !(s > 0) || s > 1e6)
                refuse("--seconds takes a positive number, not", text);
        return s;
}

/* An option with a value; its value is the next argument. */
static void parse_valued(struct command *c, const char *option, const char *value)
{
        if (!value)
                refuse("no value after", option);
        if (strcmp(option, "--bound") == 0) {
                c->options.bound = parse_bound(option, value);
                c->own_bound = true;
        } else if (strcmp(option, "--stale") == 0) {
                c->options.stale = parse_bound(option, value);
                c->own_stale = true;
        } else if (strcmp(option, "--max-executions") == 0) {
                c->options.max_executions = (uint64_t)parse_number(option, value, LONG_MAX);
        } else if (strcmp(option, "--seconds") == 0) {
                c->options.seconds = parse_seconds(value);
        } else if (strcmp(option, "--replay") == 0) {
                if (!w_explore_trail_ok(value))
                        refuse("not a trail:", value);
                c->options.replay = value;
        } else {
                refuse("unknown option", option);
        }
}

static void parse(struct command *c, char **argv)
{
        for (char **at = argv + 1; *at; at++) {
                if (strcmp(*at, "--help") == 0) {
                        fputs(usage, stdout);
                        exit(0);
                } else if (strcmp(*at, "--list") == 0) {
                        c->list = true;
                } else if (strcmp(*at, "--expect-fail") == 0) {
                        c->expect_fail = true;
                } else if (strncmp(*at, "--", 2) == 0) {
                        parse_valued(c, at[0], at[1]);
                        at++;
                } else if (c->n_wanted < (int)(sizeof(c->wanted) / sizeof(c->wanted[0]))) {
                        c->wanted[c->n_wanted++] = *at;
                } else {
                        refuse("too many scenarios, from", *at);
                }
        }
}

static bool matches(const char *wanted, const char *name)
{
        size_t n = strlen(wanted);

        if (strcmp(wanted, "all") == 0)
                return true;
        if (n > 0 && wanted[n - 1] == '*')
                return strncmp(wanted, name, n - 1) == 0;
        return strcmp(wanted, name) == 0;
}

static void print_complete(const struct explore_options *o)
{
        printf("complete");
        if (o->bound >= 0)
                printf(" within %d preemptions", o->bound);
        if (o->stale >= 0)
                printf(" %s %d stale reads", o->bound >= 0 ? "and" : "within", o->stale);
}

static void print_summary(const struct explore_scenario *s, const struct explore_options *o,
                          const struct explore_result *r)
{
        printf("%-24s %9llu executions %8.0f/s  ", s->name, (unsigned long long)r->executions,
               r->seconds > 0 ? (double)r->executions / r->seconds : 0);
        if (r->failure)
                printf("%s", w_explore_failure_name(r->failure));
        else if (r->complete)
                print_complete(o);
        else
                printf("cut short");
        if (r->pruned)
                printf(", %llu pruned", (unsigned long long)r->pruned);
        if (s->must_fail && r->failure == s->must_fail)
                printf(", as it should");
        printf("\n");
}

/* True if it ended as expected. */
static bool print_result(const struct explore_scenario *s, const struct explore_result *r)
{
        bool as_wanted = r->failure == s->must_fail;

        if (!as_wanted && s->must_fail && !r->failure)
                printf("FAILED %s: %s must be found and was not%s\n", s->name,
                       w_explore_failure_name(s->must_fail), r->complete ? "" : " (cut short)");
        else if (!as_wanted)
                printf("FAILED %s: %s: %s\n", s->name, w_explore_failure_name(r->failure),
                       r->text);
        if (!as_wanted && r->trail[0])
                printf("  again: weft-explore %s --replay %s\n", s->name, r->trail);
        fflush(stdout);
        return as_wanted;
}

static bool run(const struct explore_scenario *s, const struct command *c)
{
        static struct explore_result result;
        struct explore_options       o = c->options;

        if (!c->own_bound)
                o.bound = s->bound ? s->bound : 2;
        if (!c->own_stale)
                o.stale = s->stale ? s->stale : W_EXPLORE_UNLIMITED;
        w_explore_run(s, &o, &result);
        if (!o.replay) {
                print_summary(s, &o, &result);
                return print_result(s, &result);
        }
        printf("%s: %s%s%s\n", s->name, w_explore_failure_name(result.failure),
               result.failure ? ": " : "", result.text);
        return result.failure == W_EXPLORE_OK;
}

/* Runs the scenarios that one argument names, unless enough failures were seen; returns their
 * number. */
static int run_wanted(const char *wanted, const struct command *c, int *n_failed)
{
        int n = 0;

        for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
                for (const struct explore_scenario *s = groups[i]; s->name; s++) {
                        if (!matches(wanted, s->name))
                                continue;
                        n++;
                        if (!c->expect_fail || *n_failed == 0)
                                *n_failed += !run(s, c);
                }
        }
        return n;
}

static int list(void)
{
        for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
                for (const struct explore_scenario *s = groups[i]; s->name; s++)
                        printf("%-24s %s\n", s->name, s->about);
        return 0;
}

int main(int argc, char **argv)
{
        struct command c = { .n_wanted = 0 };
        int            n_failed = 0;

        (void)argc;
        parse(&c, argv);
        if (c.list)
                return list();
        if (c.n_wanted == 0)
                refuse("no scenario given", "");
        if (c.options.replay && (c.n_wanted != 1 || matches(c.wanted[0], "")))
                refuse("--replay needs one scenario by its name, not", c.wanted[0]);
        for (int i = 0; i < c.n_wanted; i++)
                if (run_wanted(c.wanted[i], &c, &n_failed) == 0)
                        refuse("no scenario", c.wanted[i]);
        return (n_failed > 0) != c.expect_fail;
}
