/* tests/unit/test_os_procfs.c - small text files of the kernel.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/linux/procfs.h"
#include "lib/os.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

static char path[64];

static void remove_file(void)
{
        unlink(path);
}

static void make_file(const char *text, size_t len)
{
        snprintf(path, sizeof(path), "/tmp/weft-file-XXXXXX");
        int fd = mkstemp(path);
        CHECK(fd >= 0);
        atexit(remove_file);
        CHECK(write(fd, text, len) == (ssize_t)len);
        close(fd);
}

TEST(numbers_are_read_or_refused)
{
        static const struct {
                const char *text;
                bool        ok;
                int64_t     value;
        } cases[] = {
                { "0", true, 0 },
                { "42\n", true, 42 },
                { " \t7 8", true, 7 },
                { "-1\n", true, -1 },
                { "007", true, 7 },
                { "9223372036854775807", true, INT64_MAX },
                { "9223372036854775808", false, 0 },
                { "99999999999999999999999", false, 0 },
                { "", false, 0 },
                { "-", false, 0 },
                { "--1", false, 0 },
                { "+1", false, 0 },
                { "1x", false, 0 },
                { "max", false, 0 },
                { "\n1", false, 0 },
        };

        for (size_t i = 0; i < W_ARRAY_LEN(cases); i++) {
                int64_t value = 0;
                bool    ok = w_file_number(cases[i].text, &value);

                CHECK_MSG(ok == cases[i].ok && value == cases[i].value, "\"%s\": %d, %lld",
                          cases[i].text, ok, (long long)value);
        }
}

TEST(read_keeps_what_fits)
{
        char text[6];
        int  n;

        make_file("abcdefgh", 8);
        KEEPS_ERRNO(n = w_file_read(path, text, sizeof(text)));
        CHECK_EQ(n, 5);
        CHECK_STR(text, "abcde");
}

TEST(read_of_nothing_is_an_empty_text)
{
        char text[6] = "xxxxx";
        int  n;

        KEEPS_ERRNO(n = w_file_read("/nonexistent", text, sizeof(text)));
        CHECK_EQ(n, -ENOENT);
        CHECK_STR(text, "");
        KEEPS_ERRNO(n = w_file_read("/", text, sizeof(text)));
        CHECK_EQ(n, -EISDIR);
        CHECK_STR(text, "");
}

TEST(lines_come_one_by_one_and_long_ones_not_at_all)
{
        struct w_lines lines;
        char           line[8];

        make_file("one\n\n1234567\n12345678\n123456789abcdef\nlast", 42);
        CHECK_EQ(w_lines_open(&lines, path), 0);
        CHECK(w_lines_next(&lines, line, sizeof(line)));
        CHECK_STR(line, "one");
        CHECK(w_lines_next(&lines, line, sizeof(line)));
        CHECK_STR(line, "");
        CHECK(w_lines_next(&lines, line, sizeof(line)));
        CHECK_STR(line, "1234567");
        CHECK(w_lines_next(&lines, line, sizeof(line)));
        CHECK_STR(line, "last");
        CHECK(!w_lines_next(&lines, line, sizeof(line)));
        w_lines_close(&lines);
}

TEST(lines_that_cross_a_read_are_whole)
{
        enum { N = 9000 };
        static char    text[N];
        struct w_lines lines;
        char           line[64];
        int            n = 0;

        for (int i = 0; i < N; i++)
                text[i] = "abcdefghijklmnopqrstuvwxyzabc\n"[i % 30];
        make_file(text, N);
        CHECK_EQ(w_lines_open(&lines, path), 0);
        while (w_lines_next(&lines, line, sizeof(line))) {
                CHECK_STR(line, "abcdefghijklmnopqrstuvwxyzabc");
                n++;
        }
        CHECK_EQ(n, N / 30);
        w_lines_close(&lines);
}

TEST(lines_of_a_missing_file)
{
        struct w_lines lines;
        int            rc;

        KEEPS_ERRNO(rc = w_lines_open(&lines, "/nonexistent"));
        CHECK_EQ(rc, -ENOENT);
}
