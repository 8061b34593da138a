/* tests/flow/chan/test_chan_cpp.cpp - channels and select from C++11.
 *
 * SPDX-License-Identifier: MIT
 */
#include "harness/test.h"

#include <weft.h>

namespace {

struct point { int x, y; };

struct holder {
        WEFT_CHAN(point) points;
        WEFT_CHAN(int)   numbers;
};

int send_one(WEFT_CHAN(int) c)
{
        return weft_send(c, 42);
}

void main_cpp(void *)
{
        WEFT_CHAN(int) c = weft_make(int, 16);
        holder h = { weft_make(point, 3), c };
        point  p = { 0, 0 };
        int    v = 0;

        CHECK_EQ(send_one(h.numbers), 0);
        CHECK_EQ(weft_recv(c, &v), 0);
        CHECK_EQ(v, 42);
        CHECK_EQ(weft_send(h.points, point{ 3, 4 }), 0);
        CHECK_EQ(weft_recv(h.points, &p), 0);
        CHECK(p.x == 3 && p.y == 4);
        CHECK_EQ(weft_try_recv(c, nullptr), -EAGAIN);
        weft_case cs[] = { WEFT_RECV(c, &v), WEFT_SEND(h.points, &p), WEFT_AFTER(WEFT_MS(5)),
                           WEFT_JOIN(weft_id() + 1000), WEFT_DEFAULT };

        cs[3] = WEFT_RECV(weft_untyped(c), nullptr);
        CHECK_EQ(weft_select(cs, 5), 1);
        WEFT_CHAN(int) again = weft_chan_ref(c);

        CHECK_EQ(weft_chan_cap(again), 16);
        CHECK_EQ(weft_chan_len(weft_untyped(again)), 0);
        CHECK_EQ(weft_chan_close(again), 0);
        CHECK_EQ(weft_try_send(c, 1), -EPIPE);
        weft_chan_unref(again);
        weft_chan_unref(weft_untyped(c));
        weft_chan_unref(h.points);
}

} // namespace

TEST(typed_channels_in_cpp)
{
        CHECK_EQ(weft_run(main_cpp, nullptr), 0);
        CHECK_EQ(weft_threads_left(), 0);
}
