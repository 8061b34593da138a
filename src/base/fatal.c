/* base/fatal.c - the report of a fatal error, and the small formatter that it needs.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/fatal.h"

#include "base/atomic.h"
#include "os/os.h"

#include <errno.h>      /* names of errors */
#include <stdbool.h>

enum { LINE_MAX_BYTES = 512 };

struct sink {
        char  *buf;
        size_t size;
        size_t len;     /* length of the whole text, also beyond size */
};

static void put(struct sink *s, char c)
{
        if (s->len + 1 < s->size)
                s->buf[s->len] = c;
        s->len++;
}

static void put_text(struct sink *s, const char *text)
{
        for (text = text ? text : "(null)"; *text; text++)
                put(s, *text);
}

struct spec {
        bool zero_pad;
        int  width;
        int  longs;     /* 0 int, 1 long or size_t, 2 long long */
};

static void put_number(struct sink *s, uint64_t value, unsigned base, bool negative,
                       const struct spec *spec)
{
        char digits[24];
        int  n = 0;

        do {
                digits[n++] = "0123456789abcdef"[value % base];
                value /= base;
        } while (value);
        if (negative)
                digits[n++] = '-';
        for (int i = n; i < spec->width; i++)
                put(s, spec->zero_pad ? '0' : ' ');
        while (n)
                put(s, digits[--n]);
}

static const char *parse_spec(const char *f, struct spec *spec)
{
        *spec = (struct spec){ 0 };
        if (*f == '0') {
                spec->zero_pad = true;
                f++;
        }
        for (; *f >= '0' && *f <= '9'; f++)
                spec->width = spec->width * 10 + (*f - '0');
        for (; *f == 'l' || *f == 'z'; f++)
                spec->longs++;
        return f;
}

static uint64_t next_unsigned(const struct spec *spec, va_list *args)
{
        return spec->longs ? va_arg(*args, unsigned long) : va_arg(*args, unsigned);
}

static int64_t next_signed(const struct spec *spec, va_list *args)
{
        return spec->longs ? va_arg(*args, long) : va_arg(*args, int);
}

static void put_conversion(struct sink *s, char conversion, const struct spec *spec,
                           va_list *args)
{
        switch (conversion) {
        case 's':
                put_text(s, va_arg(*args, const char *));
                break;
        case 'c':
                put(s, (char)va_arg(*args, int));
                break;
        case 'd': {
                int64_t v = next_signed(spec, args);
                put_number(s, v < 0 ? -(uint64_t)v : (uint64_t)v, 10, v < 0, spec);
                break;
        }
        case 'u':
                put_number(s, next_unsigned(spec, args), 10, false, spec);
                break;
        case 'x':
                put_number(s, next_unsigned(spec, args), 16, false, spec);
                break;
        case 'p':
                put_text(s, "0x");
                put_number(s, (uintptr_t)va_arg(*args, void *), 16, false, spec);
                break;
        default:
                put(s, conversion);
        }
}

size_t w_vformat(char *buf, size_t size, const char *fmt, va_list args)
{
        struct sink s = { buf, size, 0 };
        va_list copy;

        va_copy(copy, args);
        for (const char *f = fmt; *f; f++) {
                if (*f != '%') {
                        put(&s, *f);
                        continue;
                }
                struct spec spec;
                f = parse_spec(f + 1, &spec);
                if (!*f)
                        break;
                put_conversion(&s, *f, &spec, &copy);
        }
        va_end(copy);
        if (size)
                buf[s.len < size ? s.len : size - 1] = '\0';
        return s.len;
}

size_t w_format(char *buf, size_t size, const char *fmt, ...)
{
        va_list args;

        va_start(args, fmt);
        size_t n = w_vformat(buf, size, fmt, args);
        va_end(args);
        return n;
}

const char *w_error_name(int error)
{
        static const char *const names[] = {
                [EPERM] = "EPERM",   [ESRCH] = "ESRCH",   [EINTR] = "EINTR",   [EBADF] = "EBADF",
                [EAGAIN] = "EAGAIN", [ENOMEM] = "ENOMEM", [EACCES] = "EACCES", [EFAULT] = "EFAULT",
                [EBUSY] = "EBUSY",   [EINVAL] = "EINVAL", [ENFILE] = "ENFILE", [EMFILE] = "EMFILE",
                [ENOSPC] = "ENOSPC", [ENOSYS] = "ENOSYS", [EDEADLK] = "EDEADLK",
        };
        unsigned    number = error < 0 ? -(unsigned)error : (unsigned)error;
        const char *name = number < W_ARRAY_LEN(names) ? names[number] : NULL;

        return name ? name : "unknown error";
}

/* A line that is too long loses its end, never its newline. */
static void write_line(const char *prefix, const char *fmt, va_list args)
{
        char   line[LINE_MAX_BYTES];
        size_t n = w_format(line, sizeof(line), "%s", prefix);

        n += w_vformat(line + n, sizeof(line) - n, fmt, args);
        if (n > sizeof(line) - 1)
                n = sizeof(line) - 1;
        line[n++] = '\n';
        w_os_write_err(line, n);
}

void w_say(const char *fmt, ...)
{
        va_list args;

        va_start(args, fmt);
        write_line("weft: ", fmt, args);
        va_end(args);
}

static void (*fatal_dump)(void);
static w_atomic_u32 n_dying;

void w_fatal_set_dump(void (*dump)(void))
{
        fatal_dump = dump;
}

void w_fatal_begin(const char *fmt, ...)
{
        va_list args;

        va_start(args, fmt);
        write_line("weft: fatal: ", fmt, args);
        va_end(args);
}

W_NORETURN void w_fatal_end(void)
{
        /* counter: only the first call dumps, so that a failure inside the dump still aborts. */
        if (w_add_rlx(&n_dying, 1) == 0 && fatal_dump)
                fatal_dump();
        w_os_abort();
}

W_NORETURN void w_fatal(const char *fmt, ...)
{
        va_list args;

        va_start(args, fmt);
        write_line("weft: fatal: ", fmt, args);
        va_end(args);
        w_fatal_end();
}
