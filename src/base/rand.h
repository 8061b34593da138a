/* base/rand.h - a small generator per owner, and an order that visits every position once.
 *
 * w_rand is splitmix64's step: one word of state, every seed is good, 1 ns. Not for secrets.
 *
 * The visiting order starts anywhere and steps by a number that is coprime to the count. It
 * therefore reaches each of n positions exactly once per round, without a shuffle, in an order that
 * differs from round to round. Thieves visit the Ps in this order, so that no P is favoured.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_BASE_RAND_H
#define W_BASE_RAND_H

#include "base/assert.h"

#include <stdbool.h>

static inline uint64_t w_rand(uint64_t *state)
{
        uint64_t z = (*state += 0x9e3779b97f4a7c15u);

        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
}

/* Uniform in [0, n), except for a bias below n / 2^32; n > 0. */
static inline uint32_t w_rand_below(uint64_t *state, uint32_t n)
{
        return (uint32_t)(((w_rand(state) >> 32) * n) >> 32);
}

enum { W_VISIT_MAX = 1024 };    /* as many Ps as there may be */

/* The steps coprime to n; rebuilt when the number of Ps changes. */
struct visit_steps {
        uint32_t n;
        uint32_t n_steps;
        uint16_t steps[W_VISIT_MAX];
};

/* 1 <= n <= W_VISIT_MAX. */
void w_visit_steps_build(struct visit_steps *s, uint32_t n);

struct visit {
        uint32_t at;
        uint32_t left;
        uint32_t step;
        uint32_t n;
};

static inline struct visit w_visit_begin(const struct visit_steps *s, uint64_t *rand)
{
        return (struct visit){
                .at = w_rand_below(rand, s->n),
                .left = s->n,
                .step = s->steps[w_rand_below(rand, s->n_steps)],
                .n = s->n,
        };
}

/* False after n positions; else *position is the next position. */
static inline bool w_visit_next(struct visit *v, uint32_t *position)
{
        if (v->left == 0)
                return false;
        v->left--;
        *position = v->at;
        v->at += v->step;
        if (v->at >= v->n)
                v->at -= v->n;
        return true;
}

#endif
