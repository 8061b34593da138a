/* sched/run/config.h - the configuration of a run.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_RUN_CONFIG_H
#define W_SCHED_RUN_CONFIG_H

#include "sched/sched.h"

struct weft_config;
W_MUST_CHECK int w_config_read(struct run_config *out, const struct weft_config *cfg);

#endif
