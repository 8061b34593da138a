/* tests/lib/nowait.h - what a test needs that reads and writes without waiting.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_LIB_NOWAIT_H
#define TESTS_LIB_NOWAIT_H

#include "harness/test.h"
#include "os/os.h"

#include <errno.h>
#include <unistd.h>

void nowait_need(void);

#endif
