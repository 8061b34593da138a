/* fuzz/fuzz_http.c - any bytes in any pieces: the requests of examples/httpd.
 *
 * The first byte is the length of the pieces, the rest is what a peer sends on one connection.
 *
 * SPDX-License-Identifier: MIT
 */
#include "httpd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BODY_MAX = 2000 };

#define MUST(cond) ((cond) ? (void)0 : fail(#cond))

static void fail(const char *what)
{
        fprintf(stderr, "fuzz_http: wrong: %s\n", what);
        abort();
}

/* No served file lies above the root, and no path can be read in two ways. */
static void check_path(const struct request *r)
{
        char path[TARGET_MAX];

        if (target_path(r->target, path, sizeof(path)) != 0)
                return;
        MUST(path[0] == '/' && strlen(path) < sizeof(path));
        MUST(!strstr(path, "//") && !strstr(path, "/../") && !strstr(path, "/./"));
        size_t n = strlen(path);

        MUST(n < 3 || strcmp(path + n - 3, "/..") != 0);
        MUST(n < 2 || strcmp(path + n - 2, "/.") != 0);
}

static void check_request(const struct request *r)
{
        MUST(r->n_body <= BODY_MAX && r->n_head <= HEAD_MAX);
        MUST(strlen(r->target) == r->n_target && r->n_target < TARGET_MAX);
        for (int f = 0; f < N_FIELDS; f++)
                if (r->fields[f])
                        MUST(r->fields[f] >= r->values &&
                             r->fields[f] + strlen(r->fields[f]) < r->values + sizeof(r->values));
        check_path(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static struct request r;
        size_t piece = size ? data[0] + 1u : 1, at = 1;
        int    in_vain = 0;             /* it stops without taking a byte, but not for ever */

        request_init(&r, BODY_MAX);
        while (at < size && !r.refused) {
                size_t n = size - at < piece ? size - at : piece;
                size_t used = request_feed(&r, (const char *)data + at, n);

                MUST(used <= n);
                in_vain = used > 0 ? 0 : in_vain + 1;
                MUST(in_vain < 4);
                at += used;
                if (r.is_whole) {
                        check_request(&r);
                        request_reset(&r);
                }
        }
        request_free(&r);
        return 0;
}
