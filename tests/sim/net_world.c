/* tests/sim/net_world.c - what the scenarios with sockets share.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/net_world.h"

int net_listen(uint32_t *port)
{
        int fd = weft_listen("tcp", ":0");

        SIM_CHECK(fd >= 0, "listen: %d", fd);
        *port = sim_port(fd);
        return fd;
}

void net_where(char *out, int way, uint32_t port)
{
        snprintf(out, NET_TEXT, "10.0.0.%d:%u", way, port);
}

void net_quiet(void)
{
        for (int64_t pause = 20000; weft_count() > 1; pause *= 2)
                SIM_CHECK(weft_sleep(pause) == 0, "sleep");
        SIM_CHECK(sim_sockets_open() == 0, "%u sockets are open", sim_sockets_open());
        SIM_CHECK(sim_lists_left() == 0, "%u answers were not freed", sim_lists_left());
        SIM_CHECK(!w_netpoll_is_waited_for(), "a wait for a descriptor has not been counted off");
}
