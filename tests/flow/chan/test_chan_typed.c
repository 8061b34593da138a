/* tests/flow/chan/test_chan_typed.c - typed channels in C: parameters, structs, every kind of
 * element.
 *
 * Code that must not compile is in tests/checks/typed.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sched.h"

#include <string.h>

struct point { int x, y; };
typedef void (*callback)(void);

struct holder {
        WEFT_CHAN(struct point) points;
        WEFT_CHAN(int)          numbers;
};

static int add_one(WEFT_CHAN(int) c, int value)
{
        CHECK_EQ(weft_send(c, value + 1), 0);
        return value;
}

static void nothing(void)
{
}

GO_TEST(typed_channels_are_channels)
{
        WEFT_CHAN(int) c = weft_make(int, 16);
        struct holder            h = { weft_make(struct point, 3), c };
        WEFT_CHAN(const char *)  texts = weft_make(const char *, 2);
        WEFT_CHAN(callback)      callbacks = weft_make(callback, 1);
        WEFT_CHAN(double)        reals = weft_make(double, 1);
        struct point             p = { 1, 2 };
        const char              *text;
        callback                 fn = NULL;
        double                   real;
        int                      v;

        CHECK_EQ(weft_send(c, 42), 0);
        CHECK_EQ(weft_recv(c, &v), 0);
        CHECK_EQ(v, 42);
        add_one(h.numbers, 'a');
        CHECK_EQ(weft_try_recv(c, &v), 0);
        CHECK_EQ(v, 'b');
        CHECK_EQ(weft_try_recv(c, NULL), -EAGAIN);
        CHECK_EQ(weft_send(h.points, p), 0);
        CHECK_EQ(weft_send(h.points, (struct point){ 3, 4 }), 0);
        CHECK_EQ(weft_recv(h.points, NULL), 0);
        CHECK_EQ(weft_recv(h.points, &p), 0);
        CHECK(p.x == 3 && p.y == 4);
        CHECK_EQ(weft_send(texts, "text"), 0);
        CHECK_EQ(weft_try_send(texts, NULL), 0);
        CHECK_EQ(weft_recv(texts, &text), 0);
        CHECK_STR(text, "text");
        CHECK_EQ(weft_recv(texts, &text), 0);
        CHECK(!text);
        CHECK_EQ(weft_send(callbacks, nothing), 0);
        CHECK_EQ(weft_recv(callbacks, &fn), 0);
        CHECK(fn == nothing);
        CHECK_EQ(weft_send(reals, 1), 0);
        weft_case cs[] = { WEFT_RECV(reals, &real), WEFT_RECV(weft_untyped(c), &v) };

        CHECK_EQ(weft_select(cs, 2), 0);
        CHECK(real == 1.0);
        weft_chan      *plain = weft_chan_ref(weft_untyped(c));
        WEFT_CHAN(int)  again = weft_chan_ref(c);

        CHECK_EQ(weft_chan_cap(again), 16);
        CHECK_EQ(weft_chan_len(plain), 0);
        CHECK_EQ(weft_chan_close(again), 0);
        CHECK_EQ(weft_recv(c, &v), -EPIPE);
        weft_chan_unref(again);
        weft_chan_unref(plain);
        weft_chan_unref(c);
        weft_chan_unref(h.points);
        weft_chan_unref(texts);
        weft_chan_unref(callbacks);
        weft_chan_unref(reals);
}
