/* sched/exit.h - the end of a goroutine.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_EXIT_H
#define W_SCHED_EXIT_H

#include "sched/g.h"

W_NORETURN void w_goroutine_run(struct g *gp);
/* Around a call of user code: if that code ends gp, u->fn(u) is called. The last pushed is popped
 * first. Context: gp. */
void w_unwind_push(struct g *gp, struct unwind *u);
void w_unwind_pop(struct g *gp, struct unwind *u);

#endif
