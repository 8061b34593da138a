/* bench/weft/chan.c - channels: a round trip, a pipe, a select.
 *
 * pingpong   two goroutines, two channels without buffers
 * pipe       a channel of capacity 128; one producer and one consumer, or four of each
 * select     one goroutine receives from four channels without buffers, with a producer on each
 *
 * SPDX-License-Identifier: MIT
 */
#include "bench.h"

#include <weft.h>

enum { PIPE_CAPACITY = 128, PIPE_MANY = 4, N_SELECT = 4 };

static weft_chan *new_chan(size_t elem_size, size_t capacity)
{
        weft_chan *c = weft_chan_new(elem_size, capacity);

        if (!c)
                bench_fail("weft_chan_new", 0);
        return c;
}

static void send_number(weft_chan *c, int64_t number)
{
        bench_must("weft_chan_send", weft_chan_send(c, &number));
}

static int64_t receive_number(weft_chan *c)
{
        int64_t number;

        bench_must("weft_chan_recv", weft_chan_recv(c, &number));
        return number;
}

/* ---- Ping-pong ------------------------------------------------------------------------------- */

struct pair {
        weft_chan *there, *back;
        int64_t    n;
};

static void return_all(void *arg)
{
        struct pair *p = arg;

        for (int64_t i = 0; i < p->n; i++)
                send_number(p->back, receive_number(p->there));
}

void bench_pingpong(const struct bench_options *options, struct bench_result *result)
{
        struct pair p = { new_chan(8, 0), new_chan(8, 0), options->n };
        int64_t     start = bench_now_ns();
        int64_t     id = bench_must("weft_go", weft_go(return_all, &p));

        for (int64_t i = 0; i < p.n; i++) {
                send_number(p.there, i);
                if (receive_number(p.back) != i)
                        bench_fail("a number came back wrong", i);
        }
        result->value = (double)(bench_now_ns() - start) / (double)p.n;
        bench_must("weft_join", weft_join(id));
        weft_chan_unref(p.there);
        weft_chan_unref(p.back);
}

/* ---- Pipe ------------------------------------------------------------------------------------ */

struct pipe_end {
        weft_chan *c;
        int64_t    n, sum, id;
};

static void produce(void *arg)
{
        struct pipe_end *end = arg;

        for (int64_t i = 1; i <= end->n; i++)
                send_number(end->c, i);
}

static void consume(void *arg)
{
        struct pipe_end *end = arg;
        int64_t          number;

        while (weft_chan_recv(end->c, &number) == 0)
                end->sum += number;
}

static void pipe_of(int ends, const struct bench_options *options, struct bench_result *result)
{
        weft_chan      *c = new_chan(8, PIPE_CAPACITY);
        struct pipe_end in[PIPE_MANY] = { { 0 } }, out[PIPE_MANY] = { { 0 } };
        int64_t         each = options->n / ends, sum = 0, start = bench_now_ns();

        for (int i = 0; i < ends; i++) {
                in[i] = (struct pipe_end){ .c = c, .n = each };
                out[i] = (struct pipe_end){ .c = c };
                out[i].id = bench_must("weft_go", weft_go(consume, &out[i]));
                in[i].id = bench_must("weft_go", weft_go(produce, &in[i]));
        }
        for (int i = 0; i < ends; i++)
                bench_must("weft_join", weft_join(in[i].id));
        bench_must("weft_chan_close", weft_chan_close(c));
        for (int i = 0; i < ends; i++) {
                bench_must("weft_join", weft_join(out[i].id));
                sum += out[i].sum;
        }
        result->value = (double)(bench_now_ns() - start) / (double)(each * ends);
        if (sum != ends * (each * (each + 1) / 2))
                bench_fail("the sum of what came out is wrong", sum);
        weft_chan_unref(c);
}

void bench_pipe(const struct bench_options *options, struct bench_result *result)
{
        pipe_of(1, options, result);
}

void bench_pipe_4x4(const struct bench_options *options, struct bench_result *result)
{
        pipe_of(PIPE_MANY, options, result);
}

/* ---- Select ---------------------------------------------------------------------------------- */

void bench_select(const struct bench_options *options, struct bench_result *result)
{
        struct pipe_end in[N_SELECT] = { { 0 } };
        weft_case       cases[N_SELECT];
        int64_t         each = options->n / N_SELECT, sum = 0, number;

        for (int i = 0; i < N_SELECT; i++) {
                in[i] = (struct pipe_end){ .c = new_chan(8, 0), .n = each };
                cases[i] = WEFT_RECV(in[i].c, &number);
        }
        int64_t start = bench_now_ns();

        for (int i = 0; i < N_SELECT; i++)
                in[i].id = bench_must("weft_go", weft_go(produce, &in[i]));
        for (int64_t i = 0; i < each * N_SELECT; i++) {
                bench_must("weft_select", weft_select(cases, N_SELECT));
                sum += number;
        }
        result->value = (double)(bench_now_ns() - start) / (double)(each * N_SELECT);
        if (sum != N_SELECT * (each * (each + 1) / 2))
                bench_fail("the sum of what was selected is wrong", sum);
        for (int i = 0; i < N_SELECT; i++) {
                bench_must("weft_join", weft_join(in[i].id));
                weft_chan_unref(in[i].c);
        }
}
