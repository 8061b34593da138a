/* tests/lib/os_fault.h - a page that faults, and handlers that repair it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_LIB_OS_FAULT_H
#define TESTS_LIB_OS_FAULT_H

#include "lib/os.h"

/* A page that faults until the earlier handler repairs it, so that one process sees many faults. */
extern char  *os_fault_page;
extern size_t os_fault_page_size;

/* Written by handlers while other code reads them. */
extern void *volatile os_fault_seen_addr;
extern volatile int   os_fault_n_seen;
extern volatile int   os_fault_n_mended;
extern volatile int   os_fault_mended_sig;
extern void *volatile os_fault_mended_addr;

void os_fault_note(void *addr);

void os_fault_break_page(void);

void os_fault_mend(int sig);

void os_fault_mend_with_info(int sig, siginfo_t *info, void *context);

void os_fault_map_page(void);

void os_fault_set_handler(int sig, void (*handler)(int), int flags);

void os_fault_set_info_handler(int sig, void (*handler)(int, siginfo_t *, void *), int flags);

void os_fault_watch(void);

void os_fault_touch(size_t at);

#endif
