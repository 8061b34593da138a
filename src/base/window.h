/* base/window.h - named race windows.
 *
 * A PROTOCOL that argues about "between this line and that one" puts W_WINDOW("name") there. In
 * builds with W_WINDOWS it pauses the thread at random, from a few spins to a sleep, so that the
 * other party gets its chance; also a thread that is not weft's. The variable
 * WEFT_WINDOW=name[,name] confines it to some windows. Elsewhere it is nothing. Under the simulator
 * and the explorer every atomic access is such a point already.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_BASE_WINDOW_H
#define W_BASE_WINDOW_H

#if defined(W_WINDOWS) && !defined(W_HOOKED)
void w_window(const char *name);
#define W_WINDOW(name) w_window(name)
#else
#define W_WINDOW(name) ((void)0)
#endif

#endif
