/* where.h - prints the address on which a server listens, also if the system chose the port. */
#ifndef WHERE_H
#define WHERE_H

#include <netdb.h>
#include <stdio.h>
#include <sys/socket.h>

static inline void say_where(const char *program, int listener)
{
        struct sockaddr_storage sa;
        socklen_t               len = sizeof(sa);
        char                    host[64], port[8];

        if (getsockname(listener, (struct sockaddr *)&sa, &len) == 0 &&
            getnameinfo((struct sockaddr *)&sa, len, host, sizeof(host), port, sizeof(port),
                        NI_NUMERICHOST | NI_NUMERICSERV) == 0)
                printf("%s: listening on %s port %s\n", program, host, port);
        fflush(stdout);
}

#endif
