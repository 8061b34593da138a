/* tests/lib/nowait.h - reads and writes of a test that do not wait.
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
