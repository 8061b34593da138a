/* tests/flow/arch/switch_probe.h - the part of test_switch_registers.c that must be assembly.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_FLOW_SWITCH_PROBE_H
#define TESTS_FLOW_SWITCH_PROBE_H

#include "arch/fiber.h"

/* The callee-saved registers, in the order of probe_names: six general ones on x86-64; x19 to x29
 * and d8 to d15 on aarch64. */
#if defined(__x86_64__)
enum { PROBE_WORDS = 6 };
#else
enum { PROBE_WORDS = 19 };
#endif

struct probe {
        uint64_t before[PROBE_WORDS];
        uint64_t after[PROBE_WORDS];
};

extern const char *const probe_names[PROBE_WORDS];

/* Loads the registers from p->before, calls w_fiber_switch(from, to), stores them to p->after. */
void probe_switch(struct probe *p, struct fiber *from, struct fiber *to);

/* The control words, without the flags that any call may change. */
uint64_t probe_fp_control(void);

/* Whether this machine lets floating-point exceptions be unmasked and remembers it. */
bool probe_has_traps(void);

#endif
