/* os/socket_types.h - the system's types for buffers, messages and addresses.
 *
 * For net only. The system's headers declare common names (send, recv, connect), so neither os/os.h
 * nor weft.h includes them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_OS_SOCKET_TYPES_H
#define W_OS_SOCKET_TYPES_H

#include <sys/socket.h>
#include <sys/uio.h>

#endif
