/* os/sim/address.c - addresses of the simulated network. Contract: os/socket.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/sim/machine.h"

#include <errno.h>      /* ENODEV, ENOENT */
#include <string.h>

static void set_addr(struct w_os_addr *out, enum w_os_family family, uint32_t way, uint32_t port)
{
        struct sim_addr sa = { way, port };

        *out = (struct w_os_addr){ .family = family, .len = sizeof(sa) };
        memcpy(out->bytes, &sa, sizeof(sa));
}

void w_os_addr_ip4(struct w_os_addr *out, const uint8_t ip[4], uint16_t port)
{
        set_addr(out, W_OS_IP4, ip[3], port);
}

void w_os_addr_ip6(struct w_os_addr *out, const uint8_t ip[16], uint32_t zone, uint16_t port)
{
        (void)zone;
        set_addr(out, W_OS_IP6, ip[15], port);
}

/* The name is the port. */
void w_os_addr_unix(struct w_os_addr *out, const char *path, size_t n, bool abstract)
{
        uint32_t port = 70000 + abstract;

        for (size_t i = 0; i < n; i++)
                port = port * 31 + (unsigned char)path[i];
        set_addr(out, W_OS_UNIX, SIM_GOOD, port);
}

int w_os_zone_find(const char *name)
{
        return name[0] == 'e' ? 2 : -ENODEV;
}

/* There is no file system. */
int w_os_unix_file_find(const struct w_os_addr *addr, struct w_os_unix_file *out)
{
        (void)addr;
        (void)out;
        return -ENOENT;
}

void w_os_unix_file_remove(const struct w_os_unix_file *file)
{
        sim_fail("a file %s is removed", file->path);
}
