/* answer.c - the output of a connection, and answers that are not files. */
#include "httpd.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <weft.h>

/* ---- The way out ----------------------------------------------------------------------------- */

/* The deadline is for each piece of OUT_SIZE bytes. It ends the connection to a peer that reads
 * nothing, but a peer may read a long answer slowly. */
void out_flush(struct out *out)
{
        weft_scope scope;

        if (!out->error && out->n > 0) {
                ssize_t n = weft_scope_open(&scope, out->write_ns);

                if (n == 0) {
                        n = weft_write_all(out->fd, out->bytes, out->n);
                        weft_scope_close(&scope);
                }
                if (n < 0 || (size_t)n < out->n)
                        out->error = n < 0 ? (int)n : -1;
        }
        out->n = 0;
}

void out_bytes(struct out *out, const void *bytes, size_t n)
{
        const char *from = bytes;

        while (n > 0 && !out->error) {
                size_t some = sizeof(out->bytes) - out->n;

                some = some < n ? some : n;
                memcpy(out->bytes + out->n, from, some);
                out->n += some;
                from += some;
                n -= some;
                if (out->n == sizeof(out->bytes))
                        out_flush(out);
        }
}

void out_text(struct out *out, const char *format, ...)
{
        char    text[TARGET_MAX + 256];
        va_list args;

        va_start(args, format);
        int n = vsnprintf(text, sizeof(text), format, args);

        va_end(args);
        if (n > 0)
                out_bytes(out, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

/* ---- Heads ----------------------------------------------------------------------------------- */

static const char *reason(int status)
{
        switch (status) {
        case 200: return "OK";
        case 206: return "Partial Content";
        case 301: return "Moved Permanently";
        case 304: return "Not Modified";
        case 400: return "Bad Request";
        case 403: return "Forbidden";
        case 404: return "Not Found";
        case 405: return "Method Not Allowed";
        case 408: return "Request Timeout";
        case 413: return "Content Too Large";
        case 414: return "URI Too Long";
        case 416: return "Range Not Satisfiable";
        case 417: return "Expectation Failed";
        case 431: return "Request Header Fields Too Large";
        case 500: return "Internal Server Error";
        case 501: return "Not Implemented";
        case 503: return "Service Unavailable";
        case 505: return "HTTP Version Not Supported";
        default: return "Unknown";
        }
}

/* The names of days and months do not depend on the locale. */
void out_date(struct out *out, const char *name, time_t at)
{
        static const char days[][4] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };
        static const char months[][4] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
        struct tm tm;

        if (gmtime_r(&at, &tm))
                out_text(out, "%s: %s, %02d %s %d %02d:%02d:%02d GMT\r\n", name, days[tm.tm_wday],
                         tm.tm_mday, months[tm.tm_mon], tm.tm_year + 1900, tm.tm_hour, tm.tm_min,
                         tm.tm_sec);
}

void out_head(struct out *out, int status, bool keep_alive)
{
        out_text(out, "HTTP/1.1 %d %s\r\nServer: weft-httpd\r\nConnection: %s\r\n", status,
                 reason(status), keep_alive ? "keep-alive" : "close");
        out_date(out, "Date", time(NULL));
}

/* ---- Answers --------------------------------------------------------------------------------- */

static void answer_text(struct out *out, const struct request *r, const char *text)
{
        out_head(out, 200, r->keep_alive);
        out_text(out, "Content-Type: text/plain\r\nContent-Length: %zu\r\n\r\n", strlen(text));
        if (r->parser.method != HTTP_HEAD)
                out_bytes(out, text, strlen(text));
}

void answer_error(struct out *out, const struct request *r, int status)
{
        answer_error_with(out, r, status, "");
}

void answer_error_with(struct out *out, const struct request *r, int status, const char *fields)
{
        char text[64];
        int  n = snprintf(text, sizeof(text), "%d %s\n", status, reason(status));

        out_head(out, status, r->keep_alive);
        out_text(out, "%sContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n", fields, n);
        if (r->parser.method != HTTP_HEAD)
                out_bytes(out, text, (size_t)n);
}

/* Sends back the body of the request; chunked if the request was chunked. */
static void answer_echo(struct out *out, const struct request *r)
{
        enum { PIECE = 4096 };
        bool in_pieces = r->parser.flags & F_CHUNKED;

        out_head(out, 200, r->keep_alive);
        out_text(out, "Content-Type: application/octet-stream\r\n");
        if (!in_pieces) {
                out_text(out, "Content-Length: %zu\r\n\r\n", r->n_body);
                out_bytes(out, r->body, r->n_body);
                return;
        }
        out_text(out, "Transfer-Encoding: chunked\r\n\r\n");
        for (size_t at = 0, n; at < r->n_body; at += n) {
                n = r->n_body - at < PIECE ? r->n_body - at : PIECE;
                out_text(out, "%zx\r\n", n);
                out_bytes(out, r->body + at, n);
                out_bytes(out, "\r\n", 2);
        }
        out_text(out, "0\r\n\r\n");
}

void answer(struct out *out, const struct request *r, const struct options *o)
{
        char path[TARGET_MAX];
        int  wrong = target_path(r->target, path, sizeof(path));
        bool gets = r->parser.method == HTTP_GET || r->parser.method == HTTP_HEAD;

        if (wrong)
                answer_error(out, r, wrong);
        else if (strcmp(path, "/.echo") == 0 && r->parser.method == HTTP_POST)
                answer_echo(out, r);
        else if (strcmp(path, "/.echo") == 0)
                answer_error_with(out, r, 405, "Allow: POST\r\n");
        else if (!gets)
                answer_error_with(out, r, 405, "Allow: GET, HEAD\r\n");
        else if (strcmp(path, "/.hello") == 0)
                answer_text(out, r, "Hello, world!");
        else
                answer_file(out, r, o->root, path);
}
