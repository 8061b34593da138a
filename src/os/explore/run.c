/* os/explore/run.c - the search: execution after execution until none is left.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/explore/engine.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { CLOCK_EVERY = 1024 };    /* executions between two looks at the clock */

static const char *const failure_names[] = {
        [W_EXPLORE_OK] = "ok",
        [W_EXPLORE_ASSERTION] = "assertion",
        [W_EXPLORE_DEADLOCK] = "deadlock",
        [W_EXPLORE_RACE] = "data race",
        [W_EXPLORE_STEPS] = "step limit",
        [W_EXPLORE_OUTCOME] = "outcome",
};

const char *w_explore_failure_name(enum explore_failure failure)
{
        return failure_names[failure];
}

static double clock_now(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void run_once(void)
{
        w_ex_memory_reset();
        w_ex_threads_reset();
        w_ex.scenario->setup();
        w_ex_threads_run();
}

static bool is_allowed(const struct explore_scenario *s, int outcome)
{
        return !s->allowed || (s->allowed >> outcome & 1);
}

/* Adds the execution that has just ended to the result. */
static void judge(struct explore_result *r)
{
        r->executions++;
        r->pruned += w_ex.pruned;
        if (w_ex.ended && w_ex.failure == W_EXPLORE_OK) {
                r->seen |= UINT64_C(1) << w_ex.outcome;
                if (!is_allowed(w_ex.scenario, w_ex.outcome)) {
                        w_ex.failure = W_EXPLORE_OUTCOME;
                        snprintf(w_ex.text, sizeof(w_ex.text), "outcome %d is not allowed",
                                 w_ex.outcome);
                }
        }
        r->failure = w_ex.failure;
        if (r->failure == W_EXPLORE_OK)
                return;
        memcpy(r->text, w_ex.text, sizeof(r->text));
        w_ex_trail_text(r->trail, sizeof(r->trail));
}

static void print_progress(const struct explore_result *r)
{
        fprintf(stderr, "%s: %llu executions, %.0f/s\n", w_ex.scenario->name,
                (unsigned long long)r->executions, (double)r->executions / r->seconds);
}

/* True while there is budget left. */
static bool within_budget(const struct explore_options *o, struct explore_result *r,
                          double started, double *reported)
{
        if (o->max_executions && r->executions >= o->max_executions)
                return false;
        if (r->executions % CLOCK_EVERY)
                return true;
        r->seconds = clock_now() - started;
        if (r->seconds - *reported >= 2 && !o->quiet) {
                *reported = r->seconds;
                print_progress(r);
        }
        return o->seconds <= 0 || r->seconds < o->seconds;
}

static void search(const struct explore_options *o, struct explore_result *r)
{
        double started = clock_now(), reported = 0;

        do {
                run_once();
                judge(r);
                if (r->failure == W_EXPLORE_OK && !w_ex_trail_next())
                        r->complete = true;
        } while (r->failure == W_EXPLORE_OK && !r->complete &&
                 within_budget(o, r, started, &reported));
        r->seconds = clock_now() - started;
}

/* Runs the execution that the trail describes once more, and prints it. */
static void print_execution(void)
{
        w_ex.logging = true;
        w_ex.replaying = true;
        run_once();
        w_ex.logging = false;
        w_ex.replaying = false;
        fflush(stdout);
}

static void check_required(struct explore_result *r)
{
        uint64_t missing = w_ex.scenario->required & ~r->seen;

        if (!r->complete || !missing)
                return;
        r->failure = W_EXPLORE_OUTCOME;
        snprintf(r->text, sizeof(r->text), "outcome %d was never seen", __builtin_ctzll(missing));
}

static void begin(const struct explore_scenario *s, const struct explore_options *o)
{
        w_ex.scenario = s;
        w_ex.bound = o->bound;
        w_ex.stale = o->stale;
        w_ex.n_trail = 0;
        for (w_ex.n_threads = 0; w_ex.n_threads < W_EXPLORE_THREADS &&
             s->threads[w_ex.n_threads].fn; w_ex.n_threads++)
                ;
        w_fiber_adopt(&w_ex.main);
}

void w_explore_run(const struct explore_scenario *scenario, const struct explore_options *options,
                   struct explore_result *result)
{
        memset(result, 0, sizeof(*result));
        begin(scenario, options);
        if (options->replay) {
                (void)w_ex_trail_parse(options->replay);
                print_execution();
                judge(result);
                return;
        }
        w_ex_witness_call(print_execution);
        search(options, result);
        w_ex_witness_dismiss(result->failure != scenario->must_fail ? result->trail : "");
        if (result->failure == W_EXPLORE_OK)
                check_required(result);
}
