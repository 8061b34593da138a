/* tests/tls/main.c - prints what tls_hop() found; fails if w_self() was ever stale.
 *
 * SPDX-License-Identifier: MIT
 */
#include "hop.h"

#include <stdio.h>

int main(void)
{
        struct stale s = tls_hop();

        printf("hops=%d weft=%d tls=%d errno=%d self=%d\n", s.hops, s.weft, s.tls, s.err, s.self);
        return s.weft != 0 || s.hops == 0;
}
