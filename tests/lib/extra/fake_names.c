/* tests/lib/extra/fake_names.c - a resolver for tests, which is called before the C library's
 * resolver.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/extra/fake_names.h"

/* What "list.fake" stands for: IPv4 addresses of the loopback net, 6: ::1. */
static uint32_t fake_list[FAKE_MAX];
static uint32_t fake_n_list;
w_atomic_u32 fake_slow_end, fake_gate_open;
w_atomic_u32 fake_asked[FAKE_ASKED_MAX];
w_atomic_u32 fake_n_calls, fake_n_running, fake_most_running, fake_n_lists;

static struct addrinfo *fake_entry(uint32_t addr, const char *service)
{
        struct fake_entry *e = calloc(1, sizeof(*e));
        uint16_t           port = htons((uint16_t)(service ? atoi(service) : 0));

        CHECK(e);
        if (addr == 6) {
                *(struct sockaddr_in6 *)&e->sa = (struct sockaddr_in6){
                        .sin6_family = AF_INET6, .sin6_port = port,
                        .sin6_addr = IN6ADDR_LOOPBACK_INIT };
        } else {
                *(struct sockaddr_in *)&e->sa = (struct sockaddr_in){
                        .sin_family = AF_INET, .sin_port = port, .sin_addr = { htonl(addr) } };
        }
        e->ai = (struct addrinfo){
                .ai_flags = FAKE_MARK, .ai_family = e->sa.ss_family, .ai_socktype = SOCK_STREAM,
                .ai_addr = (void *)&e->sa,
                .ai_addrlen = addr == 6 ? sizeof(struct sockaddr_in6)
                                        : sizeof(struct sockaddr_in) };
        return &e->ai;
}

static struct addrinfo *fake_answer(const char *service)
{
        struct addrinfo *list = NULL;

        for (uint32_t i = fake_n_list; i-- > 0;) {
                struct addrinfo *ai = fake_entry(fake_list[i], service);

                ai->ai_next = list;
                list = ai;
        }
        w_add_rlx(&fake_n_lists, 1);
        return list;
}

static void fake_wait(const char *node, const char *service)
{
        uint32_t n = w_add_rlx(&fake_n_running, 1) + 1, most = w_load_rlx(&fake_most_running);

        w_store_rlx(&fake_asked[w_add_rlx(&fake_n_calls, 1) % FAKE_ASKED_MAX],
                    service ? (uint32_t)atoi(service) : 0);
        while (n > most && !w_cas_rlx(&fake_most_running, &most, n))
                ;
        while (strcmp(node, "slow.fake") == 0 && !w_load_acq(&fake_slow_end))
                test_sleep_us(1000);
        while (strcmp(node, "gate.fake") == 0 && !w_load_acq(&fake_gate_open))
                test_sleep_us(1000);
        if (strcmp(node, "soon.fake") == 0)
                test_sleep_us(60000);
        else if (strcmp(node, "brief.fake") == 0)
                test_sleep_us(2000);
        w_sub_rlx(&fake_n_running, 1);
}

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **res)
{
        const char *dot = node ? strrchr(node, '.') : NULL;

        if (dot && strcmp(dot, ".fake") == 0) {
                fake_wait(node, service);
                if (strcmp(node, "none.fake") == 0)
                        return EAI_NONAME;
                if (strcmp(node, "again.fake") == 0)
                        return EAI_AGAIN;
                if (strcmp(node, "system.fake") == 0) {
                        errno = ENFILE;
                        return EAI_SYSTEM;
                }
                *res = fake_answer(service);
                return 0;
        }
        int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

        *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
        CHECK(real);
        return real(node, service, hints, res);
}

void freeaddrinfo(struct addrinfo *list)
{
        if (list->ai_flags != FAKE_MARK) {
                void (*real)(struct addrinfo *);

                *(void **)&real = dlsym(RTLD_NEXT, "freeaddrinfo");
                CHECK(real);
                real(list);
                return;
        }
        w_sub_rlx(&fake_n_lists, 1);
        for (struct addrinfo *next; list; list = next) {
                next = list->ai_next;
                free(list);
        }
}

void fake_names(uint32_t n, uint32_t a, uint32_t b, uint32_t c)
{
        fake_list[0] = a;
        fake_list[1] = b;
        fake_list[2] = c;
        fake_n_list = n;
}

void fake_await_none(void)
{
        w_store_rel(&fake_slow_end, 1);
        while (weft_count() > 1)
                CHECK_EQ(weft_sleep(1000000), 0);
        w_store_rel(&fake_slow_end, 0);
        CHECK_EQ(w_load_rlx(&fake_n_running), 0);
        CHECK_EQ(w_load_rlx(&fake_n_lists), 0);
}
