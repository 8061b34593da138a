/* request.c - parses bytes into a request. */
#include "httpd.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const field_names[N_FIELDS] = {
        [FIELD_HOST] = "host",
        [FIELD_RANGE] = "range",
        [FIELD_IF_RANGE] = "if-range",
        [FIELD_IF_NONE_MATCH] = "if-none-match",
        [FIELD_IF_MODIFIED_SINCE] = "if-modified-since",
        [FIELD_EXPECT] = "expect",
        [FIELD_TRANSFER_ENCODING] = "transfer-encoding",
};

/* ---- What the parser finds ------------------------------------------------------------------- */

static struct request *request_of(llhttp_t *parser)
{
        return parser->data;
}

static int refuse(struct request *r, int status)
{
        if (!r->refused)
                r->refused = status;
        return HPE_USER;
}

/* Appends to a text and ends it with 0. False: no room. */
static bool append(char *text, size_t size, size_t *n, const char *at, size_t length)
{
        if (length >= size - *n)
                return false;
        memcpy(text + *n, at, length);
        *n += length;
        text[*n] = 0;
        return true;
}

static int on_url(llhttp_t *parser, const char *at, size_t length)
{
        struct request *r = request_of(parser);

        return append(r->target, sizeof(r->target), &r->n_target, at, length) ? 0 : refuse(r, 414);
}

static int on_header_field(llhttp_t *parser, const char *at, size_t length)
{
        struct request *r = request_of(parser);

        if (memchr(at, ' ', length) || memchr(at, '\t', length))
                return refuse(r, 400);
        /* A name that is too long is none of field_names. */
        if (!append(r->name, sizeof(r->name), &r->n_name, at, length))
                r->n_name = sizeof(r->name) - 1;
        return 0;
}

/* These fields may occur several times, which means the same as one field with all values. */
static bool is_list(int field)
{
        return field == FIELD_IF_NONE_MATCH || field == FIELD_TRANSFER_ENCODING;
}

static bool append_value(struct request *r, const char *at, size_t length)
{
        return append(r->values, sizeof(r->values), &r->n_values, at, length);
}

static int on_header_field_complete(llhttp_t *parser)
{
        struct request *r = request_of(parser);

        if (r->n_name == 0)
                return refuse(r, 400);
        r->field = -1;
        for (int f = 0; f < N_FIELDS; f++)
                if (strlen(field_names[f]) == r->n_name && strcasecmp(field_names[f], r->name) == 0)
                        r->field = f;
        r->n_name = 0;
        if (r->has_head)                /* trailers of a chunked body are ignored */
                r->field = -1;
        if (r->field < 0)
                return 0;
        const char *before = r->fields[r->field];

        if (before && !is_list(r->field))
                return refuse(r, 400);
        r->fields[r->field] = r->values + r->n_values;
        return append_value(r, "", 0) && (!before || (append_value(r, before, strlen(before)) &&
                                                      append_value(r, ", ", 2)))
                       ? 0 : refuse(r, 431);
}

static int on_header_value(llhttp_t *parser, const char *at, size_t length)
{
        struct request *r = request_of(parser);

        if (r->field < 0)
                return 0;
        return append_value(r, at, length) ? 0 : refuse(r, 431);
}

/* Blanks around a value are not part of it. The parser removes only those in front. */
static void trim(struct request *r, size_t from)
{
        while (r->n_values > from && strchr(" \t", r->values[r->n_values - 1]))
                r->n_values--;
        r->values[r->n_values] = 0;
}

static int on_header_value_complete(llhttp_t *parser)
{
        struct request *r = request_of(parser);

        if (r->field < 0)
                return 0;
        trim(r, (size_t)(r->fields[r->field] - r->values));
        r->n_values++;                  /* its 0 stays */
        r->field = -1;
        return 0;
}

/* The only supported transfer coding is "chunked"; further codings are refused with 501. Without
 * "chunked" the end of the body is unknown: 400. HTTP/1.0 has no chunked bodies: 400, because a
 * proxy in between may have understood the request in another way. */
static int check_coding(const struct request *r)
{
        const char *codings = r->fields[FIELD_TRANSFER_ENCODING];

        if (!codings)
                return 0;
        if (!(r->parser.flags & F_CHUNKED) || !request_is_1_1(r))
                return 400;
        return strcasecmp(codings + strspn(codings, ", \t"), "chunked") == 0 ? 0 : 501;
}

/* The host may be empty. Characters that cannot be in a host and port are refused: a proxy in
 * between may understand such a request in another way. */
static bool check_host(const struct request *r)
{
        const char *host = r->fields[FIELD_HOST];

        return host ? !strpbrk(host, " \t\"#/<>?@\\^`{|}") : !request_is_1_1(r);
}

static int on_headers_complete(llhttp_t *parser)
{
        struct request *r = request_of(parser);

        r->has_head = true;
        if (parser->http_major != 1)
                return refuse(r, 505);
        if (!check_host(r))
                return refuse(r, 400);
        if (parser->method == HTTP_CONNECT)
                return refuse(r, 501);
        int wrong = check_coding(r);

        if (wrong)
                return refuse(r, wrong);
        if (parser->content_length > r->body_max)
                return refuse(r, 413);
        return HPE_PAUSED;
}

static bool make_room(struct request *r, size_t n)
{
        size_t size = r->size_body ? r->size_body : 1024;

        while (size < r->n_body + n)
                size *= 2;
        if (size == r->size_body)
                return true;
        char *body = realloc(r->body, size);

        if (!body)
                return false;
        r->body = body;
        r->size_body = size;
        return true;
}

static int on_body(llhttp_t *parser, const char *at, size_t length)
{
        struct request *r = request_of(parser);

        if (length > r->body_max - r->n_body)
                return refuse(r, 413);
        if (!make_room(r, length))
                return refuse(r, 503);
        memcpy(r->body + r->n_body, at, length);
        r->n_body += length;
        return 0;
}

static int on_message_complete(llhttp_t *parser)
{
        struct request *r = request_of(parser);

        r->is_whole = true;
        r->keep_alive = llhttp_should_keep_alive(parser);
        return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
        .on_url = on_url,
        .on_header_field = on_header_field,
        .on_header_field_complete = on_header_field_complete,
        .on_header_value = on_header_value,
        .on_header_value_complete = on_header_value_complete,
        .on_headers_complete = on_headers_complete,
        .on_body = on_body,
        .on_message_complete = on_message_complete,
};

/* ---- For the connection ---------------------------------------------------------------------- */

void request_init(struct request *r, size_t body_max)
{
        r->body = NULL;
        r->size_body = 0;
        r->body_max = body_max;
        llhttp_init(&r->parser, HTTP_REQUEST, &settings);
        r->parser.data = r;
        request_reset(r);
}

void request_free(struct request *r)
{
        free(r->body);
}

void request_reset(struct request *r)
{
        memset(r->fields, 0, sizeof(r->fields));
        r->target[0] = 0;
        r->parser.method = HTTP_GET;    /* not that of the last request, until it is known */
        r->n_target = r->n_values = r->n_name = r->n_head = r->n_body = 0;
        r->field = -1;
        r->refused = 0;
        r->has_head = r->is_whole = r->keep_alive = false;
}

/* The parser has stopped: a callback told it to stop, or the request is malformed. */
static size_t stopped(struct request *r, llhttp_errno_t why, const char *bytes)
{
        size_t used = (size_t)(llhttp_get_error_pos(&r->parser) - bytes);

        if (why == HPE_PAUSED)
                llhttp_resume(&r->parser);
        else if (why == HPE_PAUSED_UPGRADE)     /* upgrades are not supported: continue */
                llhttp_resume_after_upgrade(&r->parser);
        else
                (void)refuse(r, 400);
        return used;
}

size_t request_feed(struct request *r, const char *bytes, size_t n)
{
        bool   had_head = r->has_head;
        size_t room = HEAD_MAX - r->n_head;

        if (!had_head && n > room)
                n = room;
        llhttp_errno_t why = llhttp_execute(&r->parser, bytes, n);
        size_t         used = why == HPE_OK ? n : stopped(r, why, bytes);

        if (!had_head)
                r->n_head += used;
        if (!r->has_head && !r->refused && r->n_head == HEAD_MAX)
                r->refused = 431;
        return used;
}

bool request_is_1_1(const struct request *r)
{
        return r->parser.http_minor >= 1;
}
