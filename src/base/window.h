/* base/window.h - named race windows.
 *
 * If a PROTOCOL argues about what happens between two lines, W_WINDOW("name") stands between them.
 * In builds with W_WINDOWS it pauses the thread at random, from a few spins to a sleep, so that the
 * other party can act in between. It also pauses foreign threads. The environment variable
 * WEFT_WINDOW=name[,name] limits the pauses to these windows. In other builds W_WINDOW does
 * nothing: the simulator and the explorer can switch threads at every atomic access anyway.
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
