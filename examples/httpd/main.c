/* main.c - an HTTP/1.1 server: static files, keep-alive, pipelining, chunked bodies, time-outs.
 *
 * Plain code that blocks where it must wait. One goroutine accepts, and each connection has its own
 * goroutine (server.h). SIGINT and SIGTERM end the server.
 */
#include "httpd.h"

#include "../server.h"

#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <sys/stat.h>

static void serve(int fd, void *arg)
{
        serve_connection(fd, arg);
}

/* ---- Options --------------------------------------------------------------------------------- */

static const char usage[] =
        "usage: httpd [options] DIRECTORY\n"
        "Serves the files in DIRECTORY; /.hello says hello, POST /.echo sends back what it gets.\n"
        "  --listen ADDRESS     where (127.0.0.1:8080; port 0: any that is free)\n"
        "  --connections N      at once (100000)\n"
        "  --body-max BYTES     of a request (1048576)\n"
        "  --idle-ms N          between two requests of a connection (60000)\n"
        "  --head-ms N          for a request's head to arrive (10000)\n"
        "  --body-ms N          for its body (60000)\n"
        "  --write-ms N         for 16 KiB of an answer to be taken (60000)\n";

/* Accepts only digits. */
static int64_t number(const char *option, const char *text, int64_t max)
{
        char *end;

        errno = 0;
        intmax_t value = strtoimax(text, &end, 10);

        if (*text >= '0' && *text <= '9' && !*end && !errno && value >= 1 && value <= max)
                return value;
        fprintf(stderr, "httpd: --%s takes a number from 1 to %jd, not \"%s\"\n", option,
                (intmax_t)max, text);
        exit(2);
}

/* Takes milliseconds, returns nanoseconds. The maximum keeps the result below WEFT_FOREVER. */
static int64_t duration(const char *option, const char *text)
{
        return WEFT_MS(number(option, text, WEFT_FOREVER / WEFT_MS(1)));
}

static void parse(struct server *s, struct options *to, int argc, char **argv)
{
        static const struct option long_options[] = {
                { "listen", 1, NULL, 'l' },  { "connections", 1, NULL, 'c' },
                { "body-max", 1, NULL, 'b' }, { "idle-ms", 1, NULL, 'i' },
                { "head-ms", 1, NULL, 'h' }, { "body-ms", 1, NULL, 'd' },
                { "write-ms", 1, NULL, 'w' }, { "help", 0, NULL, 'H' },
                { NULL, 0, NULL, 0 },
        };

        for (int o, which = 0; (o = getopt_long(argc, argv, "", long_options, &which)) != -1;) {
                const char *name = long_options[which].name;

                switch (o) {
                case 'l': s->address = optarg; break;
                case 'c': s->n_connections = (unsigned)number(name, optarg, UINT_MAX); break;
                case 'b': to->body_max = (size_t)number(name, optarg, PTRDIFF_MAX); break;
                case 'i': to->idle_ns = duration(name, optarg); break;
                case 'h': to->head_ns = duration(name, optarg); break;
                case 'd': to->body_ns = duration(name, optarg); break;
                case 'w': to->write_ns = duration(name, optarg); break;
                case 'H': fputs(usage, stdout); exit(0);
                default: fputs(usage, stderr); exit(2);
                }
        }
}

int main(int argc, char **argv)
{
        struct options o = { .idle_ns = WEFT_SEC(60), .head_ns = WEFT_SEC(10),
                             .body_ns = WEFT_SEC(60), .write_ns = WEFT_SEC(60),
                             .body_max = 1024 * 1024 };
        struct server  s = { .program = "httpd", .address = "127.0.0.1:8080", .serve = serve,
                             .arg = &o, .n_connections = 100000 };
        struct stat    st;

        parse(&s, &o, argc, argv);
        if (optind != argc - 1) {
                fputs(usage, stderr);
                return 2;
        }
        o.root = argv[optind];
        if (stat(o.root, &st) < 0 || !S_ISDIR(st.st_mode)) {
                fprintf(stderr, "httpd: not a directory: %s\n", o.root);
                return 2;
        }
        return server_run(&s);
}
