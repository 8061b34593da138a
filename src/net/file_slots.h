/* net/file_slots.h - a limit on the goroutines that use files at the same time.
 *
 * PROTOCOL file-slots stands in net/file_slots.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_NET_FILE_SLOTS_H
#define W_NET_FILE_SLOTS_H

#include "base/compiler.h"

#include <stdbool.h>

/* Does the caller need a slot? False for a foreign thread, and inside a blocking region of the
 * caller: such a caller blocks no further thread. */
bool w_file_slots_counts(void);

/* Waits for a slot. Returns 0, and the caller must call w_file_slots_leave; -ETIMEDOUT, -ECANCELED.
 * Context: a goroutine for which w_file_slots_counts; no lock held; may switch: yes. */
W_MUST_CHECK int w_file_slots_enter(void);
void w_file_slots_leave(void);

#endif
