/* sched/self.h - what a goroutine knows of itself.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_SELF_H
#define W_SCHED_SELF_H

#include "sched/g.h"

void w_name_copy(char out[W_NAME_BYTES], const char *name);

#endif
