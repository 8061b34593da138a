/* bench/weft/skynet.c - n leaves in a 10-ary tree of goroutines, sums passed up through channels.
 *
 * Each inner node makes one channel without a buffer for its ten children. In skynet-child-first
 * every child runs at once: the tree is walked depth first, so few stacks are in use at a time.
 *
 * SPDX-License-Identifier: MIT
 */
#include "bench.h"

#include <weft.h>

enum { FAN_OUT = 10 };

struct node {
        weft_chan *up;
        int64_t    first, leaves;       /* numbers first .. first + leaves - 1 */
        unsigned   flags;
};

static void run_node(void *arg)
{
        struct node *node = arg;
        int64_t      sum = node->first;

        if (node->leaves > 1) {
                weft_attr   attr = { .flags = node->flags };
                weft_chan  *c = weft_chan_new(sizeof(int64_t), 0);
                struct node children[FAN_OUT];
                int64_t     part, share = node->leaves / FAN_OUT;

                if (!c)
                        bench_fail("weft_chan_new", 0);
                for (int i = 0; i < FAN_OUT; i++) {
                        children[i] = (struct node){ weft_chan_ref(c), node->first + i * share,
                                                     share, node->flags };
                        bench_must("weft_go_with", weft_go_with(&attr, run_node, &children[i]));
                }
                sum = 0;
                for (int i = 0; i < FAN_OUT; i++) {
                        bench_must("weft_chan_recv", weft_chan_recv(c, &part));
                        sum += part;
                }
                weft_chan_unref(c);
        }
        weft_chan *up = node->up;       /* the node is gone once its sum has arrived */

        bench_must("weft_chan_send", weft_chan_send(up, &sum));
        weft_chan_unref(up);
}

static void skynet(unsigned flags, const struct bench_options *options, struct bench_result *result)
{
        struct node root = { weft_chan_new(sizeof(int64_t), 0), 0, 1, flags };
        int64_t     sum, start = bench_now_ns();

        while (root.leaves * FAN_OUT <= options->n)
                root.leaves *= FAN_OUT;
        bench_must("weft_go", weft_go(run_node, &root));
        bench_must("weft_chan_recv", weft_chan_recv(root.up, &sum));
        result->value = (double)(bench_now_ns() - start) / 1e6;
        bench_extra(result, "leaves", (double)root.leaves);
        if (sum != root.leaves * (root.leaves - 1) / 2)
                bench_fail("the sum of the leaves is wrong", sum);
}

void bench_skynet(const struct bench_options *options, struct bench_result *result)
{
        skynet(0, options, result);
}

void bench_skynet_child_first(const struct bench_options *options, struct bench_result *result)
{
        skynet(WEFT_CHILD_FIRST, options, result);
}
