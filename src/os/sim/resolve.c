/* os/sim/resolve.c - names of hosts on the simulated machine. Contract: os/names.h.
 *
 * The letters of a name say which addresses it has, see sim.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/sim/machine.h"

#include <errno.h>      /* ENOENT */
#include <string.h>

enum { UNKNOWN = -2, SLOW_NS = 8000000 };

static uint16_t port_of(const char *text)
{
        uint32_t port = 0;

        while (*text >= '0' && *text <= '9')
                port = port * 10 + (uint32_t)(*text++ - '0');
        return (uint16_t)port;
}

static void add(struct sim_list *list, char family, char way, uint16_t port)
{
        uint8_t ip[16] = { [3] = (uint8_t)way, [15] = (uint8_t)way };

        SIM_CHECK(list->n < N_LISTED, "a name with too many addresses");
        if (family == '6')
                w_os_addr_ip6(&list->addrs[list->n++], ip, 0, port);
        else
                w_os_addr_ip4(&list->addrs[list->n++], ip, port);
}

static struct sim_list *new_list(void)
{
        for (uint32_t i = 0; i < N_LISTS; i++) {
                struct sim_list *list = &w_sim.net.lists[i];

                if (list->used)
                        continue;
                *list = (struct sim_list){ .used = true };
                return list;
        }
        sim_fail("too many answers that were not freed");
}

/* Label by label. False: the name is unknown. */
static bool answer(struct sim_list *list, const struct w_os_lookup *ask, bool *slow)
{
        for (const char *label = ask->node; label; label = strchr(label, '-')) {
                label += *label == '-';
                if (label[0] == 'x')
                        return false;
                if (label[0] == 'w')
                        *slow = true;
                else
                        add(list, label[0], label[1], port_of(ask->service));
        }
        return true;
}

void w_os_lookup_run(const struct w_os_lookup *ask, struct w_os_answer *out)
{
        w_sim_call("lookup");
        struct sim_list *list = new_list();
        bool             slow = false;
        bool             known = answer(list, ask, &slow);

        if (!known)
                list->used = false;
        (void)w_sim_wait(w_sim.now + 1 + w_rand_below(&w_sim.rand, slow ? SLOW_NS : 50000));
        *out = (struct w_os_answer){ known ? 0 : UNKNOWN, 0, known ? list : NULL };
        w_sim_return();
}

void w_os_lookup_free(void *list)
{
        struct sim_list *l = list;

        if (!l)
                return;
        SIM_CHECK(l->used, "an answer is freed twice");
        l->used = false;
}

void w_os_lookup_hint(struct w_os_lookup *ask, enum w_os_kind kind, bool ip4, bool ip6)
{
        (void)kind;
        ask->has_hints = true;
        ask->family = ip4 << 4 | ip6 << 6;
}

int w_os_lookup_error(const struct w_os_answer *a)
{
        return a->rc == 0 ? 0 : -ENOENT;
}

enum w_os_family w_os_lookup_family(const void *list)
{
        return ((const struct sim_list *)list)->addrs[0].family;
}

uint16_t w_os_lookup_port(const void *list)
{
        (void)list;
        return 7;
}

bool w_os_lookup_next(const void *list, const void **at, enum w_os_family family,
                      struct w_os_addr *out)
{
        const struct sim_list  *l = list;
        const struct w_os_addr *addr = *at;

        for (addr = addr ? addr + 1 : l->addrs; addr < l->addrs + l->n; addr++) {
                if (addr->family != family)
                        continue;
                *at = addr;
                *out = *addr;
                return true;
        }
        return false;
}

uint32_t sim_lists_left(void)
{
        uint32_t n = 0;

        for (uint32_t i = 0; i < N_LISTS; i++)
                n += w_sim.net.lists[i].used;
        return n;
}
