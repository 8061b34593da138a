/* server.h - shared by the example servers: a listener, a goroutine for each connection, and an end
 * on SIGINT and SIGTERM.
 *
 * The goroutines of all connections are children of one scope. The signal cancels the scope: every
 * call that waits in one of these goroutines returns -ECANCELED. weft_scope_close returns once the
 * last of them has ended.
 */
#ifndef SERVER_H
#define SERVER_H

#include "where.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>

struct server {
        const char *program, *address;
        void      (*serve)(int fd, void *arg);  /* serves one connection, then closes fd */
        void       *arg;
        unsigned    n_connections;              /* at most; further connections wait for accept */
        int         status;                     /* the exit status */

        int         listener;
        weft_scope  scope;
        weft_sem    room;                       /* one permit for each further connection */
};

/* For servers with one argument, the address. --help prints the usage to stdout. Any other option,
 * or a second argument, prints the usage to stderr and fails. */
static inline void server_arguments(struct server *s, int argc, char **argv, const char *usage)
{
        bool asks = argc == 2 && strcmp(argv[1], "--help") == 0;

        if (asks || argc > 2 || (argc == 2 && argv[1][0] == '-')) {
                fputs(usage, asks ? stdout : stderr);
                exit(asks ? 0 : 2);
        }
        if (argc == 2)
                s->address = argv[1];
}

struct server_visit {
        struct server *server;
        int            fd;
};

static inline int server_serve(void *arg)
{
        struct server_visit v = *(struct server_visit *)arg;

        free(arg);
        v.server->serve(v.fd, v.server->arg);
        weft_sem_release(&v.server->room);
        return 0;
}

static inline bool server_begin(struct server *s, int fd)
{
        struct server_visit *v = malloc(sizeof(*v));

        if (!v)
                return false;
        *v = (struct server_visit){ .server = s, .fd = fd };
        if (weft_scope_go(&s->scope, server_serve, v) > 0)
                return true;
        free(v);
        return false;
}

/* Accepts connections until it is cancelled. If there is no memory for a connection, the connection
 * is closed. */
static inline int server_accept(void *arg)
{
        struct server *s = arg;

        while (weft_sem_acquire(&s->room) == 0) {
                int fd = weft_accept(s->listener);

                if (fd < 0) {
                        if (fd != -ECANCELED)
                                fprintf(stderr, "%s: accept: %s\n", s->program, strerror(-fd));
                        break;
                }
                if (!server_begin(s, fd)) {
                        weft_close(fd);
                        weft_sem_release(&s->room);
                }
        }
        return 0;
}

static inline void server_accept_until(struct server *s, weft_chan *signals)
{
        int which;

        weft_sem_init(&s->room, s->n_connections);
        if (weft_scope_open(&s->scope, WEFT_FOREVER) < 0)
                return;
        if (weft_scope_go(&s->scope, server_accept, s) > 0 &&
            weft_chan_recv(signals, &which) == 0)
                s->status = 0;
        weft_scope_cancel(&s->scope);
        weft_scope_close(&s->scope);
}

static inline void server_first(void *arg)
{
        struct server *s = arg;
        sigset_t       ends;

        sigemptyset(&ends);
        sigaddset(&ends, SIGINT);
        sigaddset(&ends, SIGTERM);
        weft_chan *signals = weft_signal(&ends);

        s->listener = weft_listen("tcp", s->address);
        if (signals && s->listener >= 0) {
                say_where(s->program, s->listener);
                server_accept_until(s, signals);
                weft_close(s->listener);
        } else {
                fprintf(stderr, "%s: cannot listen on %s: %s\n", s->program, s->address,
                        strerror(s->listener < 0 ? -s->listener : ENOMEM));
        }
        weft_chan_unref(signals);
}

/* Returns the exit status. */
static inline int server_run(struct server *s)
{
        s->status = 1;
        int rc = weft_run(server_first, s);

        if (rc < 0)
                fprintf(stderr, "%s: %s\n", s->program, strerror(-rc));
        return rc < 0 ? 1 : s->status;
}

#endif
