/* tests/lib/os_fault.c - a page that faults, and handlers that repair it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/os_fault.h"

char  *os_fault_page;
size_t os_fault_page_size;
void *volatile os_fault_seen_addr;
volatile int   os_fault_n_seen;
volatile int   os_fault_n_mended;
volatile int   os_fault_mended_sig;
void *volatile os_fault_mended_addr;

void os_fault_note(void *addr)
{
        os_fault_seen_addr = addr;
        os_fault_n_seen = os_fault_n_seen + 1;
        errno = 99;
}

void os_fault_break_page(void)
{
        CHECK_EQ(w_os_vm_guard_heavy(os_fault_page, os_fault_page_size), 0);
}

void os_fault_mend(int sig)
{
        os_fault_n_mended = os_fault_n_mended + 1;
        os_fault_mended_sig = sig;
        CHECK_EQ(w_os_vm_unguard(os_fault_page, os_fault_page_size), 0);
        errno = 98;
}

void os_fault_mend_with_info(int sig, siginfo_t *info, void *context)
{
        CHECK(context != NULL);
        os_fault_mended_addr = info->si_addr;
        os_fault_mend(sig);
}

void os_fault_map_page(void)
{
        void *out;

        os_fault_page_size = w_os_page_size();
        CHECK_EQ(w_os_vm_map(&out, os_fault_page_size), 0);
        os_fault_page = out;
}

void os_fault_set_handler(int sig, void (*handler)(int), int flags)
{
        struct sigaction action = { .sa_handler = handler, .sa_flags = flags };

        CHECK(sigaction(sig, &action, NULL) == 0);
}

void os_fault_set_info_handler(int sig, void (*handler)(int, siginfo_t *, void *), int flags)
{
        struct sigaction action = { .sa_sigaction = handler, .sa_flags = flags | SA_SIGINFO };

        CHECK(sigaction(sig, &action, NULL) == 0);
}

void os_fault_watch(void)
{
        int rc;

        KEEPS_ERRNO(rc = w_os_faults_watch(os_fault_note));
        CHECK_EQ(rc, 0);
}

void os_fault_touch(size_t at)
{
        ((volatile char *)os_fault_page)[at] = 1;
}
