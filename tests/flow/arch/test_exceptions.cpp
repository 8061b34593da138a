/* tests/flow/arch/test_exceptions.cpp - C++ exceptions inside a fiber stay inside it.
 *
 * A switch inside a catch block is not covered: libstdc++ keeps the caught exceptions per thread.
 *
 * test: sources=coroutine.c
 *
 * SPDX-License-Identifier: MIT
 */
#include "harness/test.h"

#include "coroutine.h"

#include <stdexcept>
#include <string>

namespace {

struct counted {
        static int alive;

        counted() { alive++; }
        counted(const counted &) { alive++; }
        ~counted() { alive--; }
};
int counted::alive;

int n_caught;

[[gnu::noinline]] void throw_from_depth(int depth, const char *text)
{
        counted on_the_way;

        if (depth == 0)
                throw std::runtime_error(text);
        throw_from_depth(depth - 1, text);
}

void catch_at_once(void *)
{
        try {
                throw 42;
        } catch (int value) {
                CHECK_EQ(value, 42);
                n_caught++;
        }
}

void catch_across_frames(void *)
{
        try {
                throw_from_depth(10, "deep");
        } catch (const std::exception &e) {
                CHECK_STR(e.what(), "deep");
                n_caught++;
        }
}

void run_to_end(void (*fn)(void *), void *arg)
{
        struct coroutine *c = coroutine_new(fn, arg);

        while (coroutine_resume(c))
                ;
        coroutine_free(c);
}

/* Yields with the try block open, so that the other fiber throws meanwhile. */
void throw_and_yield_in_turns(void *arg)
{
        const std::string name(static_cast<const char *>(arg));

        for (int round = 0; round < 50; round++) {
                std::string text = name + std::to_string(round);

                try {
                        coroutine_yield();
                        throw_from_depth(round % 7, text.c_str());
                } catch (const std::runtime_error &e) {
                        CHECK_STR(e.what(), text.c_str());
                        n_caught++;
                }
                coroutine_yield();
        }
}

void unwind_completely(void *)
{
        counted mine;

        try {
                counted inner;
                throw_from_depth(3, "x");
        } catch (...) {
                n_caught++;
        }
        CHECK_EQ(counted::alive, 1);
}

} // namespace

TEST(exception_is_caught_in_its_fiber)
{
        run_to_end(catch_at_once, nullptr);
        CHECK_EQ(n_caught, 1);
}

TEST(exception_unwinds_many_frames_of_a_fiber)
{
        run_to_end(catch_across_frames, nullptr);
        CHECK_EQ(n_caught, 1);
        CHECK_EQ(counted::alive, 0);
}

TEST(exception_runs_destructors_on_its_way)
{
        run_to_end(unwind_completely, nullptr);
        CHECK_EQ(n_caught, 1);
        CHECK_EQ(counted::alive, 0);
}

TEST(exceptions_of_two_fibers_in_turns_do_not_mix)
{
        char              a[] = "first ", b[] = "second ";
        struct coroutine *one = coroutine_new(throw_and_yield_in_turns, a);
        struct coroutine *two = coroutine_new(throw_and_yield_in_turns, b);

        while (coroutine_resume(one) + coroutine_resume(two) == 2) {
                try {
                        throw_from_depth(2, "thread");
                } catch (const std::runtime_error &e) {
                        CHECK_STR(e.what(), "thread");
                }
        }
        CHECK_EQ(n_caught, 100);
        CHECK_EQ(counted::alive, 0);
        coroutine_free(one);
        coroutine_free(two);
}
