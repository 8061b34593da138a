/* net/connect.h - connecting a socket.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_NET_CONNECT_H
#define W_NET_CONNECT_H

#include "os/os.h"

struct desc;

/* Completes a connect of fd, a non-blocking socket; rc is the result of w_os_socket_connect.
 * Returns 0, or -Exxx. Context: as w_poll_wait; may switch: yes. */
W_MUST_CHECK int w_connect_finish(struct desc *d, int fd, const void *addr, uint32_t len, int rc);

#endif
