/* tests/flow/signal/test_signal.c - signals as channels: delivered, copied, chained, put back.
 *
 * test: procs=1,2,4 valgrind=no
 * Valgrind reports the threads of a child that ends as leaks, and fails by its exit status. It also
 * takes a change from a goroutine's stack to a near signal stack and back for a large frame that
 * is gone, with everything between the two; with both stacks registered it loses count.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sched.h"
#include "signal/signal.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static sigset_t set_of(int a, int b)
{
        sigset_t set;

        sigemptyset(&set);
        sigaddset(&set, a);
        sigaddset(&set, b);
        return set;
}

static weft_chan *hear(int a, int b)
{
        sigset_t   set = set_of(a, b);
        weft_chan *c = weft_signal(&set);

        CHECK(c != NULL);
        return c;
}

static int next_of(weft_chan *c)
{
        int sig = 0;

        CHECK_EQ(weft_chan_recv(c, &sig), 0);
        return sig;
}

static struct sigaction installed(int sig)
{
        struct sigaction now;

        CHECK_EQ(sigaction(sig, NULL, &now), 0);
        return now;
}

/* ---- Delivery -------------------------------------------------------------------------------- */

GO_TEST(every_channel_gets_its_own_copy)
{
        weft_chan *a = hear(SIGUSR1, SIGUSR2), *b = hear(SIGUSR1, SIGHUP);

        CHECK_EQ(weft_chan_cap(a), 16);
        for (int i = 0; i < 20; i++) {
                CHECK_EQ(kill(getpid(), SIGUSR1), 0);
                CHECK_EQ(next_of(a), SIGUSR1);
                CHECK_EQ(next_of(b), SIGUSR1);
                CHECK_EQ(kill(getpid(), SIGUSR2), 0);
                CHECK_EQ(next_of(a), SIGUSR2);
                CHECK_EQ(raise(SIGHUP), 0);
                CHECK_EQ(next_of(b), SIGHUP);
                CHECK_EQ(weft_chan_len(a) + weft_chan_len(b), 0);
        }
        CHECK_EQ(w_signal_waits(), 2);
        CHECK_EQ(weft_chan_close(a), 0);
        CHECK_EQ(weft_chan_close(a), -EPIPE);
        weft_chan_unref(a);
        CHECK_EQ(w_signal_waits(), 1);
        weft_chan_unref(b);
        CHECK_EQ(w_signal_waits(), 0);
}

static w_atomic_u32 n_heard;

/* When all have gone to sleep: the signal hits a sleeping thread, and the monitor sleeps, too. */
static void *send_later(void *arg)
{
        for (uint32_t i = 0; i < 10; i++) {
                while (w_load_acq(&n_heard) < i)        /* two at once would be one */
                        usleep(100);
                usleep(3000);
                CHECK_EQ(kill(getpid(), *(int *)arg), 0);
        }
        return NULL;
}

GO_TEST(a_signal_finds_all_threads_asleep)
{
        weft_chan *c = hear(SIGTERM, SIGINT);
        pthread_t  sender;
        int        sig = SIGTERM;

        CHECK_EQ(pthread_create(&sender, NULL, send_later, &sig), 0);
        for (int i = 0; i < 10; i++) {
                CHECK_EQ(next_of(c), SIGTERM);
                w_add_rel(&n_heard, 1);
        }
        weft_block_begin();
        CHECK_EQ(pthread_join(sender, NULL), 0);
        weft_block_end();
        weft_chan_unref(c);
}

GO_TEST(what_does_not_fit_is_dropped)
{
        weft_chan *c = hear(SIGUSR1, SIGUSR1);

        for (size_t i = 0; i < 16; i++) {
                CHECK_EQ(raise(SIGUSR1), 0);
                while (weft_chan_len(c) <= i)
                        weft_yield();
        }
        for (int i = 0; i < 5; i++)
                CHECK_EQ(raise(SIGUSR1), 0);
        CHECK_EQ(weft_sleep(WEFT_MS(20)), 0);
        CHECK_EQ(weft_chan_len(c), 16);
        for (int i = 0; i < 16; i++)
                CHECK_EQ(next_of(c), SIGUSR1);
        CHECK_EQ(raise(SIGUSR1), 0);
        CHECK_EQ(next_of(c), SIGUSR1);
        weft_chan_unref(c);
}

static void *use_it(void *arg)
{
        weft_chan *c = hear(SIGUSR1, SIGUSR2);

        (void)arg;
        CHECK_EQ(raise(SIGUSR2), 0);
        CHECK_EQ(next_of(c), SIGUSR2);
        CHECK_EQ(weft_chan_close(c), 0);
        weft_chan_unref(c);
        return NULL;
}

GO_TEST(threads_of_the_program_may_listen_too)
{
        pthread_t other;

        weft_block_begin();
        CHECK_EQ(pthread_create(&other, NULL, use_it, NULL), 0);
        CHECK_EQ(pthread_join(other, NULL), 0);
        weft_block_end();
}

/* ---- Refusals -------------------------------------------------------------------------------- */

static void main_refused(void *arg)
{
        const int bad[] = { SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGURG };
        sigset_t  set;

        (void)arg;
        CHECK(!weft_signal(NULL));
        sigemptyset(&set);
        CHECK(!weft_signal(&set));
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                set = set_of(SIGUSR1, bad[i]);
                CHECK(!weft_signal(&set));
        }
        CHECK(installed(SIGUSR1).sa_handler == SIG_DFL);
        CHECK_EQ(w_signal_waits(), 0);
}

TEST(what_cannot_be_heard_is_refused)
{
        sigset_t set = set_of(SIGUSR1, SIGUSR2);

        CHECK(!weft_signal(&set));
        sched_run(main_refused, NULL);
        CHECK(!weft_signal(&set));
}

/* ---- What was there before ------------------------------------------------------------------- */

static volatile sig_atomic_t n_own;

static void own_handler(int sig)
{
        (void)sig;
        n_own++;
}

static void main_put_back(void *arg)
{
        (void)arg;
        weft_chan *a = hear(SIGUSR1, SIGUSR2), *b = hear(SIGUSR1, SIGUSR1);

        CHECK_EQ(raise(SIGUSR1), 0);
        CHECK_EQ(next_of(a) + next_of(b), 2 * SIGUSR1);
        CHECK_EQ(n_own, 0);
        CHECK(installed(SIGUSR1).sa_flags & SA_ONSTACK);
        CHECK(installed(SIGUSR1).sa_flags & (int)SA_RESTART);
        weft_chan_unref(a);
        CHECK(installed(SIGUSR1).sa_handler != own_handler);
        CHECK(installed(SIGUSR2).sa_handler == SIG_IGN);
        CHECK_EQ(weft_chan_close(b), 0);
        CHECK(installed(SIGUSR1).sa_handler == own_handler);
        CHECK_EQ(raise(SIGUSR1), 0);
        CHECK_EQ(n_own, 1);
        weft_chan_unref(b);
        (void)hear(SIGUSR1, SIGUSR2);           /* the run's end closes it */
        b = hear(SIGHUP, SIGHUP);
        signal(SIGHUP, own_handler);            /* in our place: it stays */
        weft_chan_unref(b);
        CHECK(installed(SIGHUP).sa_handler == own_handler);
}

TEST(what_was_there_before_is_put_back)
{
        for (int i = 0; i < 2; i++) {
                n_own = 0;
                signal(SIGUSR1, own_handler);
                signal(SIGUSR2, SIG_IGN);
                signal(SIGHUP, SIG_DFL);
                sched_run(main_put_back, NULL);
                CHECK(installed(SIGUSR1).sa_handler == own_handler);
                CHECK(installed(SIGUSR2).sa_handler == SIG_IGN);
                CHECK(installed(SIGHUP).sa_handler == own_handler);
                CHECK(installed(SIGQUIT).sa_handler == SIG_DFL);
        }
}

/* A handler on top of weft's handler, to which it passes on, as libraries do. */
static struct sigaction below;

static void pass_on(int sig, siginfo_t *info, void *context)
{
        n_own++;
        if (below.sa_flags & SA_SIGINFO)
                below.sa_sigaction(sig, info, context);
}

GO_TEST(handlers_on_top_may_pass_on)
{
        struct sigaction top = { .sa_sigaction = pass_on, .sa_flags = SA_SIGINFO };

        n_own = 0;
        weft_chan *c = hear(SIGUSR1, SIGUSR1);

        CHECK_EQ(sigaction(SIGUSR1, &top, &below), 0);
        CHECK_EQ(raise(SIGUSR1), 0);
        CHECK_EQ(next_of(c), SIGUSR1);
        CHECK_EQ(n_own, 1);
        weft_chan_unref(c);
        CHECK_EQ(raise(SIGUSR1), 0);            /* our handler gets it, and no channel wants it */
        CHECK_EQ(n_own, 2);
        c = hear(SIGUSR1, SIGUSR1);             /* on top of it */
        CHECK_EQ(raise(SIGUSR1), 0);
        CHECK_EQ(next_of(c), SIGUSR1);
        CHECK_EQ(n_own, 2);
        weft_chan_unref(c);
        CHECK(installed(SIGUSR1).sa_sigaction == pass_on);
}

/* ---- Many ------------------------------------------------------------------------------------ */

static w_atomic_u32 storm_over;

static void *storm(void *arg)
{
        uint32_t n = *(uint32_t *)arg;

        for (uint32_t i = 0; i < n; i++) {
                CHECK_EQ(kill(getpid(), i % 2 ? SIGUSR1 : SIGUSR2), 0);
                if (i % 8 == 0)
                        usleep(50);
        }
        w_store_rel(&storm_over, 1);
        return NULL;
}

static void listen_until_term(void *arg)
{
        weft_chan *c = hear(SIGUSR1, SIGTERM);

        (void)arg;
        for (int sig = 0; sig != SIGTERM;) {
                sig = next_of(c);
                CHECK(sig == SIGUSR1 || sig == SIGTERM);
        }
        CHECK_EQ(w_load_acq(&storm_over), 1);
        weft_chan_unref(c);
}

static void come_and_go(void *arg)
{
        (void)arg;
        while (!w_load_acq(&storm_over)) {
                weft_chan *c = hear(SIGUSR1, SIGUSR2);
                int        sig;

                if (weft_chan_try_recv(c, &sig) == 0)
                        CHECK(sig == SIGUSR1 || sig == SIGUSR2);
                if (weft_now() % 2)
                        CHECK_EQ(weft_chan_close(c), 0);
                weft_yield();
                weft_chan_unref(c);
        }
}

GO_TEST(channels_come_and_go_in_a_storm)
{
        enum { N = 4 };
        int64_t    ids[2 * N];
        pthread_t  sender;
        uint32_t   n = sched_scale(5000);
        weft_chan *keep = hear(SIGUSR1, SIGUSR2);       /* never the default, which is death */

        for (int i = 0; i < N; i++)
                ids[i] = sched_go(listen_until_term, NULL);
        while (w_signal_waits() < 1 + N)
                weft_yield();
        for (int i = 0; i < N; i++)
                ids[N + i] = sched_go(come_and_go, NULL);
        CHECK_EQ(pthread_create(&sender, NULL, storm, &n), 0);
        for (int i = N; i < 2 * N; i++)
                sched_join(ids[i]);
        weft_block_begin();
        CHECK_EQ(pthread_join(sender, NULL), 0);
        weft_block_end();
        for (int i = 0; i < N; i++)
                sched_await_parked(ids[i]);     /* there is room: none may be lost */
        CHECK_EQ(kill(getpid(), SIGTERM), 0);
        for (int i = 0; i < N; i++)
                sched_join(ids[i]);
        weft_chan_unref(keep);
        CHECK_EQ(w_signal_waits(), 0);
}

/* ---- SIGQUIT --------------------------------------------------------------------------------- */

static void wait_for_ever(void *arg)
{
        (void)arg;
        weft_name("sleeper");
        (void)weft_sleep(WEFT_FOREVER);
}

static bool said(int fd, const char *text)
{
        static char buf[1 << 16];
        ssize_t     n = pread(fd, buf, sizeof(buf) - 1, 0);

        buf[n > 0 ? n : 0] = '\0';
        return strstr(buf, text) != NULL;
}

static void main_quit(void *arg)
{
        int fd = *(int *)arg;

        sched_await_parked(sched_go(wait_for_ever, NULL));
        CHECK_EQ(raise(SIGQUIT), 0);
        while (!said(fd, "created in goroutine 0"))     /* the last that is printed */
                CHECK_EQ(weft_sleep(WEFT_MS(1)), 0);
        CHECK(said(fd, "\"sleeper\" [sleep") && said(fd, "goroutine 1 ["));
        CHECK(!said(fd, "goroutine 3"));        /* the goroutine that prints is not shown */
        CHECK_EQ(n_own, 1);
        weft_chan *c = hear(SIGQUIT, SIGQUIT);

        CHECK_EQ(ftruncate(fd, 0), 0);
        CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
        CHECK_EQ(raise(SIGQUIT), 0);
        CHECK_EQ(next_of(c), SIGQUIT);
        CHECK_EQ(weft_sleep(WEFT_MS(10)), 0);
        CHECK(!said(fd, "goroutine"));
        CHECK_EQ(n_own, 1);
        weft_chan_unref(c);
}

TEST(sigquit_prints_and_goes_on)
{
        FILE *file = tmpfile();
        int   fd = file ? fileno(file) : -1, err = dup(2);

        CHECK(fd >= 0 && err >= 0);
        n_own = 0;
        signal(SIGQUIT, own_handler);
        CHECK(dup2(fd, 2) == 2);
        sched_run(main_quit, &fd);
        CHECK(dup2(err, 2) == 2);
        CHECK(installed(SIGQUIT).sa_handler == own_handler);
        CHECK_EQ(raise(SIGQUIT), 0);
        CHECK_EQ(n_own, 2);
        fclose(file);
        close(err);
}

static void main_left_alone(void *arg)
{
        CHECK(installed(SIGQUIT).sa_handler == (arg ? SIG_IGN : SIG_DFL));
}

TEST(sigquit_is_left_alone_where_that_is_wanted)
{
        bool ignored = true;

        signal(SIGQUIT, SIG_IGN);
        sched_run(main_left_alone, &ignored);
        signal(SIGQUIT, SIG_DFL);
        setenv("WEFT_DEBUG", "dump=0", 1);
        sched_run(main_left_alone, NULL);
}
