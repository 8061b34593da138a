/* sched/local.h - values that belong to a goroutine.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_LOCAL_H
#define W_SCHED_LOCAL_H

#include "sched/g.h"

void w_locals_destroy(struct g *gp);
void w_locals_drop(struct g *gp);       /* without a call of the destructors */

#endif
