/* tests/flow/net/test_resolve.c - weft_getaddrinfo: answers, errors, and callers that do not wait.
 *
 * test: procs=1,2,4 sources=lib/extra/fake_names.c
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/extra/fake_names.h"

#include "os/inject.h"

static int ask(void *arg)
{
        struct addrinfo *res = NULL;
        int              rc = weft_getaddrinfo(arg, "80", NULL, &res);

        if (rc == 0)
                freeaddrinfo(res);
        return rc;
}

/* ---- Answers --------------------------------------------------------------------------------- */

GO_TEST(answers_are_those_of_the_c_library)
{
        struct addrinfo  hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_NUMERICHOST };
        struct addrinfo *res = NULL;

        CHECK_EQ(weft_getaddrinfo("127.0.0.2", "80", &hints, &res), 0);
        struct sockaddr_in *in = (void *)res->ai_addr;

        CHECK(res->ai_family == AF_INET && !res->ai_next && in->sin_port == htons(80));
        CHECK_EQ(ntohl(in->sin_addr.s_addr), INADDR_LOOPBACK + 1);
        freeaddrinfo(res);
        CHECK_EQ(weft_getaddrinfo("localhost", NULL, NULL, &res), 0);
        CHECK(res);
        freeaddrinfo(res);
        fake_names(2, INADDR_LOOPBACK, 6, 0);
        CHECK_EQ(weft_getaddrinfo("list.fake", "7", NULL, &res), 0);
        CHECK(res->ai_family == AF_INET && res->ai_next->ai_family == AF_INET6);
        freeaddrinfo(res);
        fake_await_none();
}

static void errors_main(void *arg)
{
        struct addrinfo *res;
        char             text[1100];

        (void)arg;
        errno = 7;
        CHECK_EQ(ask("none.fake"), EAI_NONAME);
        CHECK_EQ(ask("again.fake"), EAI_AGAIN);
        CHECK_EQ(errno, 7);
        CHECK_EQ(ask("system.fake"), EAI_SYSTEM);
        CHECK_EQ(errno, ENFILE);
        CHECK_EQ(weft_getaddrinfo(NULL, NULL, NULL, &res), EAI_NONAME);
        CHECK_EQ(weft_getaddrinfo("127.0.0.1", NULL, NULL, NULL), EAI_FAIL);
        memset(text, 'a', sizeof(text));
        text[sizeof(text) - 1] = '\0';
        CHECK_EQ(ask(text), EAI_NONAME);
        CHECK_EQ(weft_getaddrinfo("127.0.0.1", text, NULL, &res), EAI_SERVICE);
        struct addrinfo hints = { .ai_family = 12345 };

        CHECK_EQ(weft_getaddrinfo("127.0.0.1", NULL, &hints, &res), EAI_FAMILY);
}

TEST(errors_are_those_of_the_c_library)
{
        sched_run(errors_main, NULL);
        CHECK_EQ(ask("127.0.0.1"), -ESHUTDOWN);
}

/* ---- Leaving early --------------------------------------------------------------------------- */

GO_TEST(a_caller_that_leaves_does_not_wait_for_the_answer)
{
        fake_names(1, INADDR_LOOPBACK, 0, 0);
        CHECK_EQ(sync_call_timed(ask, "list.fake", 0), EAI_CANCELED);
        CHECK_EQ(w_load_rlx(&fake_n_calls), 0);
        CHECK_EQ(sync_call_timed(ask, "slow.fake", 1000000), EAI_CANCELED);
        CHECK_EQ(sync_call_cancelled(ask, "slow.fake"), EAI_CANCELED);
        weft_scope s;

        CHECK_EQ(weft_scope_open(&s, 1000000), 0);
        CHECK_EQ(ask("slow.fake"), EAI_CANCELED);
        CHECK_EQ(weft_cancelled(), -ETIMEDOUT);
        CHECK_EQ(weft_scope_close(&s), 0);
        fake_await_none();              /* late answers were freed */
        CHECK(w_load_rlx(&fake_n_calls) <= 3);  /* fewer: it was left before it was asked */
}

static void thread_asks(void *arg)
{
        (void)arg;
        CHECK_EQ(ask("brief.fake"), 0);
        CHECK_EQ(sync_call_timed(ask, "slow.fake", 1000000), EAI_CANCELED);
}

static void threads_main(void *arg)
{
        struct sync_thread t;

        (void)arg;
        fake_names(1, INADDR_LOOPBACK, 0, 0);
        sync_thread_start(&t, thread_asks, NULL);
        sync_thread_join(&t);
        fake_await_none();
}

TEST(foreign_threads_look_names_up)
{
        sched_run(threads_main, NULL);
}

/* ---- Many ------------------------------------------------------------------------------------ */

enum { LOOKUPS_MAX = 32, N_QUEUED = 20 };

static void ask_brief(void *arg)
{
        (void)arg;
        CHECK_EQ(ask("brief.fake"), 0);
}

static void ask_hurriedly(void *arg)
{
        int rc = sync_call_timed(ask, "brief.fake", 100000 + 400000 * (weft_id() % 30));

        (void)arg;
        CHECK_MSG(rc == 0 || rc == EAI_CANCELED, "%d", rc);
}

GO_TEST(a_limited_number_of_lookups_run_at_once)
{
        fake_names(1, INADDR_LOOPBACK, 0, 0);
        sync_together(150, ask_brief, NULL);
        CHECK_EQ(w_load_rlx(&fake_n_calls), 150);
        CHECK_MSG(w_load_rlx(&fake_most_running) <= LOOKUPS_MAX, "%u at once",
                  w_load_rlx(&fake_most_running));
        sync_together(200, ask_hurriedly, NULL);        /* some leave while they are queued */
        CHECK(w_load_rlx(&fake_most_running) <= LOOKUPS_MAX);
        fake_await_none();
}

static void ask_name(void *arg)
{
        CHECK_EQ(ask(arg), 0);
}

/* The service is its position in the queue. */
static void ask_queued(void *arg)
{
        struct addrinfo *res;
        char             service[8];

        snprintf(service, sizeof(service), "%u", (uint32_t)(uintptr_t)arg);
        CHECK_EQ(weft_getaddrinfo("list.fake", service, NULL, &res), 0);
        freeaddrinfo(res);
}

static int ask_list(void *arg)
{
        (void)arg;
        return ask("list.fake");
}

/* Of all workers only one becomes free: it makes the queued lookups. Some of the callers have
 * left. */
GO_TEST(queued_lookups_are_made_in_order)
{
        int64_t ids[LOOKUPS_MAX + N_QUEUED];
        int     n = 0;

        fake_names(1, INADDR_LOOPBACK, 0, 0);
        for (; n < LOOKUPS_MAX; n++)
                ids[n] = sched_go(ask_name, n ? "slow.fake" : "gate.fake");
        sched_await(&fake_n_calls, LOOKUPS_MAX);
        for (uintptr_t i = 0; i < N_QUEUED; i++) {
                ids[n++] = sync_go_waiting(ask_queued, (void *)i);
                if (i % 4 == 0)
                        CHECK_EQ(sync_call_timed(ask_list, NULL, 100000), EAI_CANCELED);
        }
        CHECK_EQ(w_load_rlx(&fake_n_calls), LOOKUPS_MAX);
        w_store_rel(&fake_gate_open, 1);
        sched_join(ids[0]);
        for (int i = LOOKUPS_MAX; i < n; i++)
                sched_join(ids[i]);
        CHECK_EQ(w_load_rlx(&fake_n_calls), LOOKUPS_MAX + N_QUEUED);
        for (uint32_t i = 0; i < N_QUEUED; i++)
                CHECK_EQ(w_load_rlx(&fake_asked[LOOKUPS_MAX + i]), i);
        fake_await_none();
}

/* The run ends: a result that no caller took is freed, and the worker's thread is abandoned. */
static void ask_slowly(void *arg)
{
        (void)arg;
        (void)ask("soon.fake");
}

static void ends_main(void *arg)
{
        (void)arg;
        fake_names(1, INADDR_LOOPBACK, 0, 0);
        for (int i = 0; i < 3; i++)
                (void)sched_go(ask_slowly, NULL);
        sched_await(&fake_n_calls, 3);
}

TEST(a_run_ends_during_a_lookup)
{
        weft_config cfg = { .shutdown_ms = 300000 };    /* they come back while it waits */

        CHECK_EQ(sched_run_left(&cfg, ends_main, NULL), 0);
        CHECK_EQ(w_load_rlx(&fake_n_running), 0);
        CHECK_EQ(w_load_rlx(&fake_n_lists), 0);
        sched_run(threads_main, NULL);
}

/* ---- Refusals -------------------------------------------------------------------------------- */

#if defined(W_DEBUG)
/* First the records, then the stack of the goroutine that asks: there is none of that size yet. */
static void refused_main(void *arg)
{
        (void)arg;
        fake_names(1, INADDR_LOOPBACK, 0, 0);
        for (uint32_t k = 1; k <= 2; k++) {
                w_inject_from(W_CALL_MMAP, k, ENOMEM);
                int rc = ask("list.fake");

                w_inject_off();
                CHECK_EQ(rc, EAI_MEMORY);
        }
        CHECK_EQ(ask("list.fake"), 0);
        fake_await_none();
}
#endif

TEST(without_memory_no_lookup_is_made)
{
#if defined(W_DEBUG)
        sched_run(refused_main, NULL);
#else
        test_skip("calls are refused in debug builds only");
#endif
}
