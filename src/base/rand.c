/* base/rand.c - the table of steps behind the visiting order of base/rand.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/rand.h"

static uint32_t gcd(uint32_t a, uint32_t b)
{
        while (b) {
                uint32_t rest = a % b;

                a = b;
                b = rest;
        }
        return a;
}

void w_visit_steps_build(struct visit_steps *s, uint32_t n)
{
        W_ASSERT(n >= 1 && n <= W_VISIT_MAX);
        s->n = n;
        s->n_steps = 0;
        for (uint32_t step = 1; step <= n; step++)
                if (gcd(step, n) == 1)
                        s->steps[s->n_steps++] = (uint16_t)step;
}
