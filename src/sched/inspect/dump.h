/* sched/inspect/dump.h - the list of all goroutines.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_INSPECT_DUMP_H
#define W_SCHED_INSPECT_DUMP_H

#include "base/atomic.h"

/* As weft_dump, without the goroutine that calls it. May switch: yes. */
void w_dump_hidden(int fd);
/* For w_fatal_set_dump. Context: any, also a signal handler. */
void w_dump_fatal(void);

#endif
