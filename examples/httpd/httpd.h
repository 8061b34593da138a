/* httpd.h - what the parts of the HTTP server know of each other.
 *
 *   main.c     options, listening, one goroutine for each connection, stopping
 *   conn.c     one connection: requests are read, answered in order, and given up in time
 *   request.c  bytes into a request, within limits (parser: llhttp)
 *   target.c   what a request asks for, as a path
 *   answer.c   answers that are made here
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
        HEAD_MAX = 16 * 1024,           /* a request line and its headers: 431 */
        TARGET_MAX = 4096,              /* 414 */
        OUT_SIZE = 16 * 1024,           /* what is gathered before it is written */
        IN_SIZE = 8 * 1024,
};

struct options {
        const char *root;               /* directory that is served */
        int64_t     head_ns;            /* a request has to be there as a whole, head first */
        int64_t     body_ns;
        int64_t     idle_ns;            /* how long a connection may say nothing between two */
        int64_t     write_ns;           /* how long it may take for OUT_SIZE of an answer */
        size_t      body_max;           /* 413 */
};

/* ---- request.c ------------------------------------------------------------------------------- */

enum field { FIELD_HOST, FIELD_RANGE, FIELD_IF_RANGE, FIELD_IF_NONE_MATCH, FIELD_IF_MODIFIED_SINCE,
             FIELD_EXPECT, FIELD_TRANSFER_ENCODING, N_FIELDS };

/* Values that are not there are NULL. Texts end with 0. */
struct request {
        llhttp_t    parser;
        size_t      body_max;
        char        target[TARGET_MAX];
        char        values[HEAD_MAX];   /* of those fields, one after another */
        const char *fields[N_FIELDS];
        char        name[32];           /* the header that is being read */
        int         field;              /* which of those it is, or -1 */
        size_t      n_target, n_values, n_name, n_head;
        char       *body;               /* n_body bytes, from malloc */
        size_t      n_body, size_body;
        int         refused;            /* status of the answer that it deserves, or 0 */
        bool        has_head, is_whole, keep_alive;
};

void request_init(struct request *r, size_t body_max);
void request_free(struct request *r);
/* Ready for the next on the same connection. */
void request_reset(struct request *r);
/* Takes bytes until the request is whole, its head is (once), it is refused or they are used up.
 * How many it took. */
size_t request_feed(struct request *r, const char *bytes, size_t n);
/* 1.1, rather than 1.0. */
bool request_is_1_1(const struct request *r);

/* ---- target.c -------------------------------------------------------------------------------- */

/* The path that a target means, without what leads up or nowhere; begins with "/". 0, or the status
 * that it deserves. */
int target_path(const char *target, char *path, size_t size);

/* ---- answers --------------------------------------------------------------------------------- */

/* A connection's way out. */
struct out {
        int     fd;
        int     error;                  /* once something failed, nothing is written any more */
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

/* A whole answer that only says what is wrong. */
void answer_error(struct out *out, const struct request *r, int status);
/* With more headers, each with its line's end. */
void answer_error_with(struct out *out, const struct request *r, int status, const char *fields);
void answer(struct out *out, const struct request *r, const struct options *o);
void answer_file(struct out *out, const struct request *r, const char *root, const char *path);

/* ---- conn.c ---------------------------------------------------------------------------------- */

/* Until the peer has gone, or is given up; closes fd. */
void serve_connection(int fd, const struct options *o);

#endif
