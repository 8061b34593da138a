/* weft.h - goroutines for C.
 *
 * The one header a program includes. This release contains the ground that the runtime stands on;
 * of the public interface only the version exists yet.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEFT_H
#define WEFT_H

#define WEFT_VERSION_MAJOR 0
#define WEFT_VERSION_MINOR 1
#define WEFT_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library that is running, "MAJOR.MINOR.PATCH": compare with the macros above,
 * which say what the program was compiled against. Any thread, any time. */
const char *weft_version(void);

#ifdef __cplusplus
}
#endif

#endif
