/* file.c - answers that are files. HEAD, a single range, conditional requests, ETag and
 * Last-Modified work as in nginx; the tests compare the two. */
#include "httpd.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include <weft.h>

struct file {
        int     fd;
        off_t   size;
        time_t  changed;
        char    tag[40];
        char    path[TARGET_MAX * 2];
};

/* The part of a file that the request asks for. */
struct range {
        off_t from, n;
        bool  is_part;
};

/* ---- Opening --------------------------------------------------------------------------------- */

/* The file may be on a slow disk, so it is opened in a blocking region: this thread may block while
 * other goroutines run. Returns 0 or an errno value. */
static int open_file(struct file *f)
{
        struct stat st;

        weft_block_begin();
        f->fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        int rc = f->fd < 0 || fstat(f->fd, &st) < 0 ? errno : 0;

        weft_block_end();
        if (rc)
                return rc;
        f->size = st.st_size;
        f->changed = st.st_mtime;
        snprintf(f->tag, sizeof(f->tag), "\"%jx-%jx\"", (uintmax_t)st.st_mtime,
                 (uintmax_t)st.st_size);
        return S_ISREG(st.st_mode) ? 0 : S_ISDIR(st.st_mode) ? EISDIR : EACCES;
}

/* Used to answer 403, not 404, for a directory without an index. */
static bool is_directory(const char *root, const char *path)
{
        char        name[TARGET_MAX * 2];
        struct stat st;

        snprintf(name, sizeof(name), "%s%s", root, path);
        weft_block_begin();
        bool is = stat(name, &st) == 0 && S_ISDIR(st.st_mode);

        weft_block_end();
        return is;
}

static int status_of(int error)
{
        switch (error) {
        case ENOENT:
        case ENOTDIR:
        case ENAMETOOLONG:
                return 404;
        case EACCES:
        case EPERM:
        case ELOOP:
        case EISDIR:
        case ENXIO:
                return 403;
        case EMFILE:
        case ENFILE:
        case ENOMEM:
                return 503;
        default:
                return 500;
        }
}

static const char *type_of(const char *path)
{
        static const char *const types[][2] = {
                { "html", "text/html" },         { "css", "text/css" },
                { "txt", "text/plain" },         { "js", "application/javascript" },
                { "json", "application/json" },  { "png", "image/png" },
                { "jpg", "image/jpeg" },         { "svg", "image/svg+xml" },
                { "pdf", "application/pdf" },    { "xml", "text/xml" },
        };
        const char *name = strrchr(path, '/'), *dot = strrchr(name ? name : path, '.');

        for (size_t i = 0; dot && i < sizeof(types) / sizeof(types[0]); i++)
                if (strcasecmp(dot + 1, types[i][0]) == 0)
                        return types[i][1];
        return "application/octet-stream";
}

/* ---- What is asked of it --------------------------------------------------------------------- */

static bool parse_date(const char *text, time_t *at)
{
        struct tm   tm = { 0 };
        const char *end = strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &tm);

        *at = end && !*end ? timegm(&tm) : -1;
        return *at != -1;
}

static bool is_unchanged(const struct file *f, const struct request *r)
{
        const char *tag = r->fields[FIELD_IF_NONE_MATCH];
        const char *date = r->fields[FIELD_IF_MODIFIED_SINCE];
        time_t      at;

        if (tag)
                return strcmp(tag, "*") == 0 || strstr(tag, f->tag) != NULL;
        return date && parse_date(date, &at) && at == f->changed;
}

/* Reads a number. False: there is no digit. */
static bool parse_offset(const char **p, off_t *value)
{
        char *end;

        if (**p < '0' || **p > '9')
                return false;
        errno = 0;
        intmax_t v = strtoimax(*p, &end, 10);

        *p = end;
        *value = errno || v > INT64_MAX / 2 ? INT64_MAX / 2 : (off_t)v;
        return true;
}

/* False: the range is malformed, or outside the file. Leaves *out unchanged, which means the whole
 * file, if the request asks for several ranges or for a unit other than bytes. */
static bool parse_range(const struct file *f, const char *text, struct range *out)
{
        off_t       first = 0, last = f->size - 1, given;
        const char *p = text + 6;

        if (strncasecmp(text, "bytes=", 6) != 0 || strchr(text, ',') || f->size == 0)
                return true;
        if (*p == '-') {                /* the last `given` bytes */
                p++;
                if (!parse_offset(&p, &given) || given == 0)
                        return false;
                first = given < f->size ? f->size - given : 0;
        } else {
                if (!parse_offset(&p, &first) || *p++ != '-')
                        return false;
                if (parse_offset(&p, &given) && given < last)
                        last = given;
        }
        if (*p || first >= f->size || first > last)
                return false;
        *out = (struct range){ .from = first, .n = last - first + 1, .is_part = true };
        return true;
}

static bool range_holds(const struct file *f, const struct request *r)
{
        const char *only_if = r->fields[FIELD_IF_RANGE];
        time_t      at;

        if (!r->fields[FIELD_RANGE])
                return false;
        return !only_if || strcmp(only_if, f->tag) == 0 ||
               (parse_date(only_if, &at) && at == f->changed);
}

/* ---- Answering ------------------------------------------------------------------------------- */

static void say_what_it_is(struct out *out, const struct file *f)
{
        out_date(out, "Last-Modified", f->changed);
        out_text(out, "ETag: %s\r\n", f->tag);
}

/* Reads straight from the file into the output buffer. If the file has become shorter meanwhile,
 * the connection ends: the head of the answer has given the old length. */
static void send_range(struct out *out, const struct file *f, struct range range)
{
        while (range.n > 0 && !out->error) {
                size_t  room = sizeof(out->bytes) - out->n;
                size_t  some = range.n < (off_t)room ? (size_t)range.n : room;
                ssize_t n = weft_pread(f->fd, out->bytes + out->n, some, range.from);

                if (n <= 0) {
                        out->error = n < 0 ? (int)n : -EIO;
                        return;
                }
                out->n += (size_t)n;
                range.from += n;
                range.n -= n;
                if (out->n == sizeof(out->bytes))
                        out_flush(out);
        }
}

static void send_file(struct out *out, const struct file *f, const struct request *r)
{
        struct range range = { .n = f->size };

        if (range_holds(f, r) && !parse_range(f, r->fields[FIELD_RANGE], &range)) {
                char all[64];

                snprintf(all, sizeof(all), "Content-Range: bytes */%jd\r\n", (intmax_t)f->size);
                answer_error_with(out, r, 416, all);
                return;
        }
        out_head(out, range.is_part ? 206 : 200, r->keep_alive);
        say_what_it_is(out, f);
        out_text(out, "Content-Type: %s\r\nContent-Length: %jd\r\n", type_of(f->path),
                 (intmax_t)range.n);
        if (range.is_part)
                out_text(out, "Content-Range: bytes %jd-%jd/%jd\r\n", (intmax_t)range.from,
                         (intmax_t)(range.from + range.n - 1), (intmax_t)f->size);
        else
                out_text(out, "Accept-Ranges: bytes\r\n");
        out_bytes(out, "\r\n", 2);
        if (r->parser.method != HTTP_HEAD)
                send_range(out, f, range);
}

static void answer_unchanged(struct out *out, const struct file *f, const struct request *r)
{
        out_head(out, 304, r->keep_alive);
        say_what_it_is(out, f);
        out_bytes(out, "\r\n", 2);
}

/* Percent-encodes the characters that may not be in a path. */
static void out_path(struct out *out, const char *path)
{
        for (; *path; path++) {
                bool plain = (*path >= 'a' && *path <= 'z') || (*path >= 'A' && *path <= 'Z') ||
                             (*path >= '0' && *path <= '9') ||
                             strchr("/-._~!$&'()*+,;=:@", *path);

                out_text(out, plain ? "%c" : "%%%02X", (unsigned char)*path);
        }
}

/* Redirects to the decoded path, not to the target of the request: a target such as
 * "//host/..%2fdirectory" would lead to another host. */
static void redirect(struct out *out, const struct request *r, const char *path)
{
        const char *query = r->target + strcspn(r->target, "?#");

        out_head(out, 301, r->keep_alive);
        out_text(out, "Location: ");
        out_path(out, path);
        out_text(out, "/%.*s\r\nContent-Length: 0\r\n\r\n",
                 *query == '?' ? (int)strcspn(query, "#") : 0, query);
}

void answer_file(struct out *out, const struct request *r, const char *root, const char *path)
{
        struct file f;
        bool        is_dir = path[strlen(path) - 1] == '/';

        snprintf(f.path, sizeof(f.path), "%s%s%s", root, path, is_dir ? "index.html" : "");
        int error = open_file(&f);

        if (error == ENOENT && is_dir && is_directory(root, path))
                error = EACCES;
        if (error == EISDIR && !is_dir)
                redirect(out, r, path);
        else if (error)
                answer_error(out, r, status_of(error));
        else if (is_unchanged(&f, r))
                answer_unchanged(out, &f, r);
        else
                send_file(out, &f, r);
        if (f.fd >= 0)
                close(f.fd);
}
