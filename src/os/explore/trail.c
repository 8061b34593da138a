/* os/explore/trail.c - the list of decisions: depth-first search without keeping states.
 *
 * An execution follows the trail to its end, and takes choice 0 in each decision beyond. Afterwards
 * the last decision with an alternative left moves to that alternative, and the decisions behind it
 * are dropped.
 *
 * As text a trail is `PREEMPTIONS:STALE:DECISIONS`. It contains the two bounds because the
 * alternatives depend on them (`-` is unlimited). DECISIONS has one character for each decision;
 * choices 0 at the end are left out.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/explore/engine.h"

#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

static void check_replay(struct ex_choice *c, int n)
{
        if (c->taken >= n) {
                fprintf(stderr, "weft-explore: decision %d of the trail is %d, but it has only %d "
                        "alternatives: the trail belongs to another scenario or other sources\n",
                        w_ex.depth, c->taken, n);
                exit(2);
        }
        c->of = (uint8_t)n;
}

int w_ex_choose(int n)
{
        if (n <= 1)
                return 0;
        W_CHECK(n < (int)sizeof(digits), "explorer: %d alternatives for one decision", n);
        W_CHECK(w_ex.depth < W_EXPLORE_TRAIL, "explorer: more than %d decisions", W_EXPLORE_TRAIL);
        struct ex_choice *c = &w_ex.trail[w_ex.depth++];

        if (w_ex.depth > w_ex.n_trail) {
                *c = (struct ex_choice){ 0, (uint8_t)n };
                w_ex.n_trail = w_ex.depth;
        } else if (w_ex.replaying) {
                check_replay(c, n);
        }
        W_CHECK(c->of == n, "explorer: the scenario is not deterministic: decision %d had %d "
                "alternatives before and has %d now", w_ex.depth, c->of, n);
        return c->taken;
}

bool w_ex_trail_next(void)
{
        for (; w_ex.n_trail > 0; w_ex.n_trail--) {
                struct ex_choice *last = &w_ex.trail[w_ex.n_trail - 1];

                if (++last->taken < last->of)
                        return true;
        }
        return false;
}

static int bound_text(char *out, size_t size, int bound)
{
        return bound < 0 ? snprintf(out, size, "-:") : snprintf(out, size, "%d:", bound);
}

void w_ex_trail_text(char *out, size_t size)
{
        int n = w_ex.depth;
        int len = bound_text(out, size, w_ex.bound);

        len += bound_text(out + len, size - (size_t)len, w_ex.stale);
        while (n > 0 && w_ex.trail[n - 1].taken == 0)
                n--;
        for (int i = 0; i < n && (size_t)len + 1 < size; i++)
                out[len++] = digits[w_ex.trail[i].taken];
        out[len] = '\0';
}

/* Returns the text behind the colon, or NULL. */
static const char *parse_bound(const char *text, int *bound)
{
        char *end;

        if (text[0] == '-' && text[1] == ':') {
                *bound = W_EXPLORE_UNLIMITED;
                return text + 2;
        }
        if (text[0] < '0' || text[0] > '9')
                return NULL;
        long n = strtol(text, &end, 10);
        if (*end != ':' || n > 1000)
                return NULL;
        *bound = (int)n;
        return end + 1;
}

bool w_ex_trail_parse(const char *text)
{
        const char *at = parse_bound(text, &w_ex.bound);

        if (at)
                at = parse_bound(at, &w_ex.stale);
        if (!at || strlen(at) > W_EXPLORE_TRAIL)
                return false;
        for (w_ex.n_trail = 0; at[w_ex.n_trail]; w_ex.n_trail++) {
                const char *digit = strchr(digits, at[w_ex.n_trail]);

                if (!digit)
                        return false;
                w_ex.trail[w_ex.n_trail] = (struct ex_choice){ (uint8_t)(digit - digits), 0 };
        }
        return true;
}

bool w_explore_trail_ok(const char *text)
{
        return w_ex_trail_parse(text);
}
