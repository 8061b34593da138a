/* The walk over frames ends where there is no valid frame. */
#include "sched/inspect/frames.h"

#include "harness/test.h"

#include <stdint.h>

enum { WORDS = 8 };

static uintptr_t stack[WORDS];

static struct frames from(uintptr_t at)
{
        return (struct frames){ .at = (const char *)at, .low = (const char *)stack,
                                .end = (const char *)(stack + WORDS) };
}

TEST(frames_are_followed_upwards)
{
        struct frames f = from((uintptr_t)stack);

        stack[0] = (uintptr_t)&stack[4];
        stack[1] = 1000;
        stack[4] = (uintptr_t)&stack[6];
        stack[5] = 2000;
        stack[6] = (uintptr_t)&stack[0];        /* does not climb */
        stack[7] = 3000;
        CHECK(w_frames_next(&f) && w_frames_next(&f) && w_frames_next(&f));
        CHECK(!w_frames_next(&f));
}

/* Code that uses the register for other things leaves any number there. */
TEST(frames_end_at_any_number)
{
        for (uintptr_t n = 0; n < 64; n++) {
                struct frames small = from(n), large = from(-n);
                struct frames beyond = from((uintptr_t)&stack[7] + n);

                CHECK(!w_frames_next(&small));
                CHECK(!w_frames_next(&large));
                CHECK(!w_frames_next(&beyond));
        }
}
