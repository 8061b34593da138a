/* httpd.h - shared by the parts of the HTTP server.
 *
 *   main.c     options, listening, one goroutine for each connection, stopping
 *   conn.c     one connection: reads requests, answers them in order, within deadlines
 *   request.c  parses bytes into a request, within limits (parser: llhttp)
 *   target.c   turns the target of a request into a path
 *   answer.c   answers that are not files
 *   file.c     answers that are files
 */
#ifndef HTTPD_H
#define HTTPD_H

#include <llhttp/llhttp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

enum {
        HEAD_MAX = 16 * 1024,           /* a request line and its headers; longer: status 431 */
        TARGET_MAX = 4096,              /* longer: status 414 */
        OUT_SIZE = 16 * 1024,           /* output buffer */
        IN_SIZE = 8 * 1024,
};

struct options {
        const char *root;               /* directory that is served */
        int64_t     head_ns;            /* time for the head of a request to arrive */
        int64_t     body_ns;            /* time for its body */
        int64_t     idle_ns;            /* time between two requests of a connection */
        int64_t     write_ns;           /* time to write OUT_SIZE bytes of an answer */
        size_t      body_max;           /* a longer body: status 413 */
};

/* ---- request.c ------------------------------------------------------------------------------- */

enum field { FIELD_HOST, FIELD_RANGE, FIELD_IF_RANGE, FIELD_IF_NONE_MATCH, FIELD_IF_MODIFIED_SINCE,
             FIELD_EXPECT, FIELD_TRANSFER_ENCODING, N_FIELDS };

/* A field that the request does not have is NULL. Texts end with 0. */
struct request {
        llhttp_t    parser;
        size_t      body_max;
        char        target[TARGET_MAX];
        char        values[HEAD_MAX];   /* of `fields`, one after another */
        const char *fields[N_FIELDS];
        char        name[32];           /* the header that is being read */
        int         field;              /* its index in `fields`, or -1 */
        size_t      n_target, n_values, n_name, n_head;
        char       *body;               /* n_body bytes, from malloc */
        size_t      n_body, size_body;
        int         refused;            /* 0, or the status with which it must be refused */
        bool        has_head, is_whole, keep_alive;
};

void request_init(struct request *r, size_t body_max);
void request_free(struct request *r);
/* Prepares r for the next request on the same connection. */
void request_reset(struct request *r);
/* Parses bytes until the head is complete, the request is complete, it is refused, or all n bytes
 * are used. Returns how many bytes were used. */
size_t request_feed(struct request *r, const char *bytes, size_t n);
/* The version is HTTP/1.1 or later, not HTTP/1.0. */
bool request_is_1_1(const struct request *r);

/* ---- target.c -------------------------------------------------------------------------------- */

/* Writes the path of a target: decoded, without "." and "..", beginning with "/". Returns 0, or the
 * status with which the request must be refused. */
int target_path(const char *target, char *path, size_t size);

/* ---- answers --------------------------------------------------------------------------------- */

/* The output of a connection. */
struct out {
        int     fd;
        int     error;                  /* after an error nothing more is written */
        int64_t write_ns;
        size_t  n;
        char    bytes[OUT_SIZE];
};

void out_bytes(struct out *out, const void *bytes, size_t n);
void out_text(struct out *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
void out_flush(struct out *out);
/* The status line, and the headers that every answer has. */
void out_head(struct out *out, int status, bool keep_alive);
void out_date(struct out *out, const char *name, time_t at);

/* A whole answer with only the status as text. */
void answer_error(struct out *out, const struct request *r, int status);
/* The same with more headers, each with its line end. */
void answer_error_with(struct out *out, const struct request *r, int status, const char *fields);
void answer(struct out *out, const struct request *r, const struct options *o);
void answer_file(struct out *out, const struct request *r, const char *root, const char *path);

/* ---- conn.c ---------------------------------------------------------------------------------- */

/* Serves requests until the peer closes the connection or a deadline passes, then closes fd. */
void serve_connection(int fd, const struct options *o);

#endif
