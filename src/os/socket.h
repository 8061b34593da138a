/* os/socket.h - types of the system that callers hand over: pieces of memory, messages, addresses.
 *
 * For net only. They bring common names along (send, recv, connect), so neither os/os.h nor weft.h
 * includes them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_OS_SOCKET_H
#define W_OS_SOCKET_H

#include <sys/socket.h>
#include <sys/uio.h>

#endif
