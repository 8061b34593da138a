/* timeout.c - a deadline around a producer that is too slow.
 *
 * The producer is a child of the scope, so the deadline ends the waits of both the producer and the
 * consumer. weft_scope_close returns only when the producer has ended: no goroutine is left
 * running, and the producer can release its resources.
 */
#include <errno.h>
#include <stdio.h>
#include <weft.h>

enum { QUICK = 3 };

/* Sends the first elements at once; the next would take an hour. */
static int produce(void *arg)
{
        weft_chan *items = arg;
        int        rc = 0;

        for (int i = 1; rc == 0; i++) {
                if (i > QUICK)
                        rc = weft_sleep(WEFT_SEC(3600));
                if (rc == 0)
                        rc = weft_chan_send(items, &i);
        }
        printf("producer: %s\n", rc == -ETIMEDOUT ? "out of time" : "?");
        return 0;
}

static void start(void *result)
{
        WEFT_CHAN(int) items = weft_make(int, 0);
        weft_scope     scope;
        int            item, rc;

        if (!items || weft_scope_open(&scope, WEFT_MS(1500)) < 0)
                return;
        rc = (int)weft_scope_go(&scope, produce, weft_untyped(items));
        while (rc >= 0 && (rc = weft_recv(items, &item)) == 0)
                printf("item %d\n", item);
        weft_scope_close(&scope);
        printf("consumer: %s\n", rc == -ETIMEDOUT ? "out of time" : "?");
        printf("%lld goroutine is left\n", (long long)weft_count());
        weft_chan_unref(items);
        *(int *)result = weft_scope_status(&scope) == -ETIMEDOUT ? 0 : 1;
}

int main(void)
{
        int result = 1;
        int rc = weft_run(start, &result);

        return rc != 0 ? 1 : result;
}
