/* net/unix_path.h - files of unix sockets, which go with the socket.
 *
 * Called by   listen:
 *
 *   path = w_unix_path_new()                   before the socket is bound
 *   w_unix_path_bound(path, addr)              right after
 *   w_unix_path_give(path, fd)                 fd has become one that weft_close closes
 *   w_unix_path_drop(path)                     or not: removes the file
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_NET_UNIX_PATH_H
#define W_NET_UNIX_PATH_H

#include "os/os.h"

struct desc;
struct unix_path;

/* NULL: no memory. */
W_MUST_CHECK struct unix_path *w_unix_path_new(void);
/* Remembers which file that is; an abstract name has none. */
void w_unix_path_bound(struct unix_path *path, const struct w_os_addr *addr);
/* The weft_close of fd removes it. */
void w_unix_path_give(struct unix_path *path, int fd);
/* Removes it now, while the socket is still open. NULL is fine. */
void w_unix_path_drop(struct unix_path *path);
/* Leaves the file alone. NULL is fine. */
void w_unix_path_forget(struct unix_path *path);

/* weft_close of d: removes its file, if it has one and there is no other by now. The socket is
 * still open, so that no other file can have its number. *before is what w_enter said: the kernel
 * is called outside, because it may take its time. */
void w_path_remove(struct desc *d, uint32_t *before);

#endif
