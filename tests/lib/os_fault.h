/* tests/lib/os_fault.h - a page that faults, and handlers that mend it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_LIB_OS_FAULT_H
#define TESTS_LIB_OS_FAULT_H

#include "lib/os.h"

/* A page that faults until the earlier handler mends it, so that one process sees many faults. */
static char  *page;
static size_t page_size;

/* Written by handlers under the feet of the code that reads them. */
static void *volatile seen_addr;
static volatile int   n_seen;
static volatile int   n_mended;
static volatile int   mended_sig;
static void *volatile mended_addr;

static inline void note_fault(void *addr)
{
        seen_addr = addr;
        n_seen = n_seen + 1;
        errno = 99;
}

static inline void break_page(void)
{
        CHECK_EQ(w_os_vm_guard_heavy(page, page_size), 0);
}

static inline void mend(int sig)
{
        n_mended = n_mended + 1;
        mended_sig = sig;
        CHECK_EQ(w_os_vm_unguard(page, page_size), 0);
        errno = 98;
}

static inline void mend_with_info(int sig, siginfo_t *info, void *context)
{
        CHECK(context != NULL);
        mended_addr = info->si_addr;
        mend(sig);
}

static inline void map_page(void)
{
        void *out;

        page_size = w_os_page_size();
        CHECK_EQ(w_os_vm_map(&out, page_size), 0);
        page = out;
}

static inline void set_handler(int sig, void (*handler)(int), int flags)
{
        struct sigaction action = { .sa_handler = handler, .sa_flags = flags };

        CHECK(sigaction(sig, &action, NULL) == 0);
}

static inline void set_info_handler(int sig, void (*handler)(int, siginfo_t *, void *), int flags)
{
        struct sigaction action = { .sa_sigaction = handler, .sa_flags = flags | SA_SIGINFO };

        CHECK(sigaction(sig, &action, NULL) == 0);
}

static inline void watch(void)
{
        int rc;

        KEEPS_ERRNO(rc = w_os_faults_watch(note_fault));
        CHECK_EQ(rc, 0);
}

static inline void touch(size_t at)
{
        ((volatile char *)page)[at] = 1;
}

#endif
