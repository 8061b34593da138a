/* tests/sim/scope_world.h - what the scenarios of scopes share.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_SIM_SCOPE_WORLD_H
#define TESTS_SIM_SCOPE_WORLD_H

#include "sim/sched_world.h"

#include <string.h>

enum { POISON = 0x5a };

void open_scope(weft_scope *s, int64_t timeout);

/* The memory of a closed scope belongs to its owner again: a later write to it is found. */
void poison(weft_scope *s);

void check_poisoned(const weft_scope *s);

#endif
