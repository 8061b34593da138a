/* pipeline.c - numbers flow through goroutines that are connected by channels.
 *
 * One goroutine counts, three goroutines square its numbers, and the first goroutine of the program
 * adds up the squares:
 *
 *   count --numbers--> square (three of them) --squares--> start
 *
 * The sender closes a channel after the last element. The next stage then finds the channel closed
 * and empty (-EPIPE) and ends. Three goroutines send on `squares`, so a further goroutine waits for
 * all three and closes it.
 */
#include <stdio.h>
#include <weft.h>

enum { LAST = 1000, SQUARERS = 3 };

struct stages {
        WEFT_CHAN(int)       numbers;
        WEFT_CHAN(long long) squares;
        weft_wg              squarers;
};

static void count(void *arg)
{
        struct stages *st = arg;

        for (int i = 1; i <= LAST; i++)
                weft_send(st->numbers, i);
        weft_chan_close(st->numbers);
}

static void square(void *arg)
{
        struct stages *st = arg;
        int            n;

        while (weft_recv(st->numbers, &n) == 0)
                weft_send(st->squares, (long long)n * n);
        weft_wg_done(&st->squarers);
}

static void close_squares(void *arg)
{
        struct stages *st = arg;

        weft_wg_wait(&st->squarers);
        weft_chan_close(st->squares);
}

static void start(void *result)
{
        struct stages st = { weft_make(int, 16), weft_make(long long, 16), WEFT_WG_INIT };
        long long     n = 0, sum = 0, value;

        if (!st.numbers || !st.squares)
                return;
        weft_wg_add(&st.squarers, SQUARERS);
        int64_t counter = weft_go(count, &st);
        for (int i = 0; i < SQUARERS; i++)
                if (weft_go(square, &st) < 0)
                        weft_wg_done(&st.squarers);     /* the other squarers do its work */
        int64_t closer = weft_go(close_squares, &st);

        while (weft_recv(st.squares, &value) == 0) {
                n++;
                sum += value;
        }
        weft_join(counter);             /* it may still be in weft_chan_close; so may the closer */
        weft_join(closer);
        printf("%lld squares came through, their sum is %lld\n", n, sum);
        weft_chan_unref(st.numbers);
        weft_chan_unref(st.squares);
        *(int *)result = n == LAST ? 0 : 1;
}

int main(void)
{
        int result = 1;
        int rc = weft_run(start, &result);

        return rc != 0 ? 1 : result;
}
