/* net/unix_path.h - files of unix sockets, which are removed with the socket.
 *
 * A listener calls:
 *
 *   path = w_unix_path_new()                   before the socket is bound
 *   w_unix_path_bound(path, addr)              right after
 *   w_unix_path_give(path, fd)                 success: weft_close of fd removes the file
 *   w_unix_path_drop(path)                     failure: removes the file
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
/* Remembers the file of addr; an abstract name has none. */
void w_unix_path_bound(struct unix_path *path, const struct w_os_addr *addr);
/* weft_close of fd will remove the file. */
void w_unix_path_give(struct unix_path *path, int fd);
/* Removes the file now, while the socket is still open. NULL is allowed. */
void w_unix_path_drop(struct unix_path *path);
/* Frees the record and leaves the file alone. NULL is allowed. */
void w_unix_path_forget(struct unix_path *path);

/* For weft_close of d: removes the file of d, if there is one and the path does not lead to another
 * file by now. The socket is still open, so that no other file can have its inode number. *where is
 * the result of w_enter: the call leaves the runtime around the system call, which may be slow. */
void w_unix_path_remove(struct desc *d, uint32_t *where);

#endif
