/* tests/harness/test.h - assertions for tests that run as one process each.
 *
 *   TEST(runq_push_full_returns_false) { ... CHECK_EQ(n, 3); }
 *
 * CTest starts `t_unit_runq runq_push_full_returns_false`; a failing check prints what was
 * expected, what was found and the seed, dumps the goroutines and ends the process, from
 * any thread and any stack. There is no longjmp: a test may stand on a goroutine's stack.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_HARNESS_TEST_H
#define TESTS_HARNESS_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __cplusplus
#define WEFT_TEST_NORETURN [[noreturn]]
#else
#define WEFT_TEST_NORETURN _Noreturn
#endif

struct test_case {
        const char       *name;
        void            (*fn)(void);
        struct test_case *next;
};

void test_register(struct test_case *test);

#define TEST(id)                                                                                \
        static void test_fn_##id(void);                                                         \
        __attribute__((constructor)) static void test_add_##id(void)                            \
        {                                                                                       \
                static struct test_case entry = { #id, test_fn_##id, 0 };                       \
                test_register(&entry);                                                          \
        }                                                                                       \
        static void test_fn_##id(void)

/* Prints and ends the process with status 1. */
WEFT_TEST_NORETURN void test_fail(const char *file, int line, const char *fmt, ...)
        __attribute__((format(printf, 3, 4)));

/* Ends the process as skipped, not as passed; CTest shows that. Always prints the reason. */
WEFT_TEST_NORETURN void test_skip(const char *why);

/* The seed of this run: SEED from the environment, else a fresh one. Printed when a test fails. */
uint64_t test_seed(void);

/* n, or a tenth of it where everything is slow: sanitizers, valgrind, an emulated CPU. */
long test_scale(long n);
bool test_is_slow(void);
bool test_under_valgrind(void);

/* Must there be another repetition after n_done of them? `least` repetitions always, and up to
 * `most` in the first second: fewer where each hand-over between threads must wait for a CPU.
 * TEST_LONG: all of them. */
bool test_again(uint32_t n_done, uint32_t least, uint32_t most);

/* Is the kernel of another architecture? Then the test runs in an emulator. */
bool test_is_emulated(void);

/* Called between a failing check's message and the end: dumps the state of the test's runtime. */
void test_set_dump(void (*dump)(void));

#define CHECK(cond) do {                                                                        \
        if (!(cond))                                                                            \
                test_fail(__FILE__, __LINE__, "%s", #cond);                                     \
} while (0)

#define CHECK_MSG(cond, ...) do {                                                               \
        if (!(cond))                                                                            \
                test_fail(__FILE__, __LINE__, __VA_ARGS__);                                     \
} while (0)

#define CHECK_EQ(found, expected) do {                                                          \
        long long check_f_ = (long long)(found), check_e_ = (long long)(expected);              \
        if (check_f_ != check_e_)                                                               \
                test_fail(__FILE__, __LINE__, "%s is %lld, expected %s = %lld", #found,         \
                          check_f_, #expected, check_e_);                                       \
} while (0)

#define CHECK_STR(found, expected) test_check_str(__FILE__, __LINE__, #found, found, expected)
void test_check_str(const char *file, int line, const char *what, const char *found,
                    const char *expected);

/* Runs fn(arg) in a child process and returns its wait status; the first `size - 1` bytes of its
 * stderr go to `err`, terminated. */
int test_run_child(void (*fn)(void *), void *arg, char *err, size_t size);

/* As waitpid, which must succeed, whatever signals arrive. */
void test_wait_for(pid_t pid, int *status);

/* As read, whatever signals arrive. */
ssize_t test_read(int fd, void *buf, size_t size);

/* As connect, and as accept without an address, whatever signals arrive. */
int test_connect(int fd, const void *addr, unsigned size);
int test_accept(int fd);

/* Sleeps for that long, whatever signals arrive. */
void test_sleep_us(long us);

/* The child must die by `signal` with `text` somewhere on its stderr. */
void test_expect_death(void (*fn)(void *), void *arg, int signal, const char *text);

/* Resources that a test may leak: compare before and after. */
struct test_resources {
        long threads;
        long mappings;
        long descriptors;
};
struct test_resources test_resources_now(void);
/* Memory of this process that is in RAM. */
long test_resident_kib(void);

/* False under the sanitizers and valgrind, which map memory of their own at any time: numbers of
 * mappings mean nothing there, and test_check_no_leak does not compare them. */
bool test_maps_are_ours(void);
void test_check_no_leak(const struct test_resources *before);

#ifdef __cplusplus
}
#endif
#endif
