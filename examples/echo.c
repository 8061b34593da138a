/* echo.c - a server that sends back what it receives, on any number of connections.
 *
 *   echo [ADDRESS]     127.0.0.1:7000 by default; SIGINT and SIGTERM end it
 */
#include "server.h"

/* Uses little stack, because there may be a hundred thousand connections. */
static void serve(int fd, void *arg)
{
        char    bytes[1024];
        ssize_t n;

        (void)arg;
        while ((n = weft_read(fd, bytes, sizeof(bytes))) > 0)
                if (weft_write_all(fd, bytes, (size_t)n) < n)
                        break;
        weft_close(fd);
}

static const char usage[] =
        "usage: echo [ADDRESS]\n"
        "Sends back what it gets; listens on ADDRESS (127.0.0.1:7000; port 0: any that is free).\n";

int main(int argc, char **argv)
{
        struct server s = { .program = "echo", .address = "127.0.0.1:7000", .serve = serve,
                            .n_connections = 100000 };

        server_arguments(&s, argc, argv, usage);
        return server_run(&s);
}
