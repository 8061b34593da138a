/* tests/unit/test_os_signal_catch.c - caught signals: which are reported, passed on, and put back.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/os_fault.h"

#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t n_reported, n_earlier, last;
static volatile bool         passes_on;

static bool tell(int sig)
{
        n_reported++;
        last = sig;
        errno = 1234;                   /* the handler puts it back */
        return passes_on;
}

static void earlier(int sig)
{
        (void)sig;
        n_earlier++;
}

static struct sigaction current(int sig)
{
        struct sigaction now;

        CHECK(sigaction(sig, NULL, &now) == 0);
        return now;
}

static void catch(int sig)
{
        int rc;

        KEEPS_ERRNO(rc = w_os_signal_catch(sig, tell));
        CHECK_EQ(rc, 0);
}

TEST(a_caught_signal_is_reported_and_passed_on_if_wanted)
{
        os_fault_set_handler(SIGUSR1, earlier, 0);
        catch(SIGUSR1);
        KEEPS_ERRNO(raise(SIGUSR1));
        CHECK_EQ(n_reported, 1);
        CHECK_EQ(last, SIGUSR1);
        CHECK_EQ(n_earlier, 0);
        passes_on = true;
        raise(SIGUSR1);
        CHECK_EQ(n_reported, 2);
        CHECK_EQ(n_earlier, 1);
        w_os_signal_release(SIGUSR1);
        CHECK(current(SIGUSR1).sa_handler == earlier);
        catch(SIGUSR2);                 /* its default is death: weft does not do that */
        raise(SIGUSR2);
        CHECK_EQ(n_reported, 3);
        w_os_signal_release(SIGUSR2);
        CHECK(current(SIGUSR2).sa_handler == SIG_DFL);
}

TEST(system_calls_go_on_and_the_signal_stack_is_used)
{
        catch(SIGUSR1);
        CHECK(current(SIGUSR1).sa_flags & SA_ONSTACK);
        CHECK(current(SIGUSR1).sa_flags & (int)SA_RESTART);
        w_os_signal_release(SIGUSR1);
}

TEST(what_cannot_be_caught_is_refused)
{
        CHECK_EQ(w_os_signal_catch(SIGKILL, tell), -EINVAL);
        CHECK_EQ(w_os_signal_catch(32, tell), -EINVAL); /* libc's own */
        CHECK_EQ(w_os_signals_reserved(), W_SIG_BIT(SIGKILL) | W_SIG_BIT(SIGSTOP) |
                                          W_SIG_BIT(SIGSEGV) | W_SIG_BIT(SIGBUS));
        CHECK(!w_os_signal_is_ignored(SIGQUIT));
        signal(SIGQUIT, SIG_IGN);
        CHECK(w_os_signal_is_ignored(SIGQUIT));
}

TEST(sets_become_words)
{
        sigset_t set;

        sigemptyset(&set);
        CHECK_EQ(w_os_signals_of(&set), 0);
        sigaddset(&set, SIGHUP);
        sigaddset(&set, 64);
        CHECK(w_os_signals_of(&set) == (W_SIG_BIT(SIGHUP) | W_SIG_BIT(64)));
}

/* An instruction that would only be reached again; the machine decides which signal it raises. */
static void trap(void *arg)
{
        (void)arg;
        catch(SIGILL);
        catch(SIGTRAP);
        raise(SIGILL);                  /* sent by a process: reported like any other */
        CHECK_EQ(n_reported, 1);
        __builtin_trap();
}

TEST(faults_of_the_program_itself_are_passed_on)
{
        char err[4096];
        int  status = test_run_child(trap, NULL, err, sizeof(err));

        CHECK_MSG(WIFSIGNALED(status) &&
                  (WTERMSIG(status) == SIGILL || WTERMSIG(status) == SIGTRAP), "%#x: %s",
                  (unsigned)status, err);
}

/* A handler on top of ours that passes on still calls ours after the release, and ours does not
 * call it once the signal is caught again. */
static struct sigaction below;

static void on_top(int sig, siginfo_t *info, void *context)
{
        n_earlier++;
        below.sa_sigaction(sig, info, context);
}

TEST(a_handler_on_top_is_not_called_in_a_circle)
{
        struct sigaction top = { .sa_sigaction = on_top, .sa_flags = SA_SIGINFO };

        passes_on = true;
        catch(SIGUSR1);
        CHECK_EQ(sigaction(SIGUSR1, &top, &below), 0);
        w_os_signal_release(SIGUSR1);
        CHECK(current(SIGUSR1).sa_sigaction == on_top);
        raise(SIGUSR1);
        CHECK_EQ(n_earlier, 1);
        catch(SIGUSR1);
        raise(SIGUSR1);
        CHECK_EQ(n_reported, 2);
        CHECK_EQ(n_earlier, 1);
        w_os_signal_release(SIGUSR1);
        CHECK(current(SIGUSR1).sa_sigaction == on_top);
}
