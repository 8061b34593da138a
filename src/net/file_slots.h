/* net/file_slots.h - how many goroutines are busy with files at once.
 *
 * PROTOCOL file-slots stands in net/file_slots.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_NET_FILE_SLOTS_H
#define W_NET_FILE_SLOTS_H

#include "base/compiler.h"

#include <stdbool.h>

/* False: the caller blocks no thread but its own, or has said already that it blocks one. */
bool w_file_slots_counts(void);

/* Waits for its turn: 0, and w_file_slots_leave is called later; -ETIMEDOUT, -ECANCELED. Context: a
 * goroutine for which w_file_slots_counts; no lock held; may switch: yes. */
W_MUST_CHECK int w_file_slots_enter(void);
void w_file_slots_leave(void);

#endif
