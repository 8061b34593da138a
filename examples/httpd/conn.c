/* conn.c - one connection. Pipelined requests are answered in order. The answers are gathered, and
 * written when there is no further request to read. */
#include "httpd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <weft.h>

struct conn {
        int            fd;
        const struct options *options;
        size_t         at, n;           /* bytes[at..n) were read and are not used yet */
        struct request request;
        struct out     out;
        char           bytes[IN_SIZE];
};

/* Reads more bytes. Writes the gathered output first, because the peer may wait for it. Returns the
 * number of bytes; 0 at the end of the connection or after a failed write; or an error such as
 * -ETIMEDOUT. */
static int read_some(struct conn *c)
{
        out_flush(&c->out);
        if (c->out.error)
                return 0;
        ssize_t n = weft_read(c->fd, c->bytes, sizeof(c->bytes));

        c->at = 0;
        c->n = n > 0 ? (size_t)n : 0;
        return (int)n;
}

/* Feeds bytes to the request until done(request), or until the request is refused. False: the
 * connection ended before. The first round uses the bytes that were read before. */
static bool feed_until(struct conn *c, int64_t timeout, bool (*done)(const struct request *))
{
        weft_scope scope;
        int        rc = 1;

        if (weft_scope_open(&scope, timeout) < 0)
                return false;
        while (rc > 0) {
                c->at += request_feed(&c->request, c->bytes + c->at, c->n - c->at);
                if (c->request.refused || done(&c->request))
                        break;
                if (c->at == c->n)
                        rc = read_some(c);
        }
        weft_scope_close(&scope);
        if (rc == -ETIMEDOUT)
                c->request.refused = 408;
        return c->request.refused || rc > 0;
}

static bool has_head(const struct request *r)
{
        return r->has_head;
}

static bool is_whole(const struct request *r)
{
        return r->is_whole;
}

/* Waits for the first byte of the next request, up to idle_ns. A request that has begun has other
 * deadlines. */
static bool await_request(struct conn *c)
{
        weft_scope scope;

        if (c->at < c->n)
                return true;
        if (weft_scope_open(&scope, c->options->idle_ns) < 0)
                return false;
        int n = read_some(c);

        weft_scope_close(&scope);
        return n > 0;
}

/* "Expect: 100-continue" asks whether the body is welcome: answers that it is. */
static void encourage(struct conn *c)
{
        const char *expect = c->request.fields[FIELD_EXPECT];

        if (!expect || c->request.refused || !request_is_1_1(&c->request))
                return;
        if (strcasecmp(expect, "100-continue") != 0)
                c->request.refused = 417;
        else if (c->at == c->n)
                out_text(&c->out, "HTTP/1.1 100 Continue\r\n\r\n");
}

static bool read_request(struct conn *c)
{
        request_reset(&c->request);
        if (!await_request(c) || !feed_until(c, c->options->head_ns, has_head))
                return false;
        encourage(c);
        return feed_until(c, c->options->body_ns, is_whole);
}

/* True: another request may follow. */
static bool answer_request(struct conn *c)
{
        if (c->request.refused) {
                c->request.keep_alive = false;
                answer_error(&c->out, &c->request, c->request.refused);
        } else {
                answer(&c->out, &c->request, c->options);
        }
        if (!c->request.keep_alive || c->at == c->n)
                out_flush(&c->out);
        return c->request.keep_alive && !c->out.error;
}

/* Reads and drops what the peer still sends. If the socket were closed with unread data, the kernel
 * would send a reset, and the peer could lose the answer. */
static void linger(struct conn *c)
{
        weft_scope scope;

        if (weft_scope_open(&scope, WEFT_SEC(1)) < 0)
                return;
        shutdown(c->fd, SHUT_WR);
        while (weft_read(c->fd, c->bytes, sizeof(c->bytes)) > 0)
                ;
        weft_scope_close(&scope);
}

void serve_connection(int fd, const struct options *o)
{
        struct conn *c = malloc(sizeof(*c));

        if (c) {
                c->fd = c->out.fd = fd;
                c->options = o;
                c->out.write_ns = o->write_ns;
                c->at = c->n = c->out.n = 0;
                c->out.error = 0;
                request_init(&c->request, o->body_max);
                bool ended = false;

                while (!ended && read_request(c))
                        ended = !answer_request(c);
                if (ended && !c->out.error)
                        linger(c);
                request_free(&c->request);
                free(c);
        }
        weft_close(fd);
}
