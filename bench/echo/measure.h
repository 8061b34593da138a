/* bench/echo/measure.h - what a server does to be measured: starts echo-load, and looks at itself
 * when all are connected and at the end.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BENCH_ECHO_MEASURE_H
#define BENCH_ECHO_MEASURE_H

#include <stdint.h>

struct echo_figures {
        double requests_per_s, p50_us, p99_us;
        double cpu_us_per_request;      /* of this process, while it is under load */
        double idle_cpu_ms;             /* of its CPU in a second in which none says anything */
        double idle_bytes;              /* of its memory for each connection that waits */
};

/* Blocks its thread. The server listens on this port already. Ends the program if it fails. */
struct echo_figures echo_measure(int port, int connections, int64_t requests);

/* As many descriptors as there may be. */
void echo_raise_limit(void);

#endif
