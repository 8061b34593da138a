/* debug/stats.h - the counters of a run.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_DEBUG_STATS_H
#define W_DEBUG_STATS_H

struct weft_stats_t;

/* Context: any thread, while the run is on. */
void w_stats_collect(struct weft_stats_t *st);

#endif
