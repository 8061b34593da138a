/* bench/echo/measure.h - how a server is measured: it starts echo-load, and measures its own
 * process when all clients are connected and at the end.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BENCH_ECHO_MEASURE_H
#define BENCH_ECHO_MEASURE_H

#include <stdint.h>

struct echo_figures {
        double requests_per_s, p50_us, p99_us;
        double cpu_us_per_request;      /* of this process, while it is under load */
        double idle_cpu_ms;             /* of this process, in one second without messages */
        double idle_bytes;              /* of memory of this process, for each idle connection */
};

/* Blocks its thread. The server must listen on this port already. Ends the program on failure. */
struct echo_figures echo_measure(int port, int connections, int64_t requests);

/* Raises the limit on descriptors to its maximum. */
void echo_raise_limit(void);

#endif
