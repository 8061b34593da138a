/* os/linux/address.c - addresses of sockets in the kernel's own form. Contract: os/socket.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/os.h"

#include "base/assert.h"
#include "os/linux/errno_call.h"

#include <limits.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

_Static_assert(sizeof(struct sockaddr_storage) <= sizeof(((struct w_os_addr *)0)->bytes),
               "every address fits");
_Static_assert(sizeof(((struct sockaddr_un *)0)->sun_path) == W_OS_UNIX_MAX + 1, "a path fits");
_Static_assert((int)PATH_MAX == (int)W_OS_PATH_MAX, "the kernel takes no longer paths");

/* ---- IP -------------------------------------------------------------------------------------- */

void w_os_addr_ip4(struct w_os_addr *out, const uint8_t ip[4], uint16_t port)
{
        struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };

        memcpy(&in.sin_addr, ip, 4);
        *out = (struct w_os_addr){ .family = W_OS_IP4, .len = sizeof(in) };
        memcpy(out->bytes, &in, sizeof(in));
}

void w_os_addr_ip6(struct w_os_addr *out, const uint8_t ip[16], uint32_t zone, uint16_t port)
{
        struct sockaddr_in6 in = { .sin6_family = AF_INET6, .sin6_port = htons(port),
                                   .sin6_scope_id = zone };

        memcpy(&in.sin6_addr, ip, 16);
        *out = (struct w_os_addr){ .family = W_OS_IP6, .len = sizeof(in) };
        memcpy(out->bytes, &in, sizeof(in));
}

int w_os_zone_find(const char *name)
{
        int saved = errno;
        unsigned index = if_nametoindex(name);

        errno = saved;
        return index > 0 && index <= INT_MAX ? (int)index : -ENODEV;
}

/* ---- Unix ------------------------------------------------------------------------------------ */

/* An abstract name has a leading zero and a length, a path has a terminator. */
void w_os_addr_unix(struct w_os_addr *out, const char *path, size_t n, bool abstract)
{
        struct sockaddr_un un = { .sun_family = AF_UNIX };

        W_CHECK(n <= W_OS_UNIX_MAX, "a unix address of %zu bytes", n);
        memcpy(un.sun_path + (abstract ? 1 : 0), path, n);
        *out = (struct w_os_addr){
                .family = W_OS_UNIX,
                .len = (uint32_t)(offsetof(struct sockaddr_un, sun_path) + n + 1),
        };
        memcpy(out->bytes, &un, sizeof(un));
}

/* Makes the path absolute: the program may change its directory later. */
static int write_path(char *out, const char *path)
{
        size_t n = 0;

        if (path[0] != '/') {
                if (!getcwd(out, W_OS_PATH_MAX - 1))
                        return -ENAMETOOLONG;
                n = strlen(out);
                out[n++] = '/';
        }
        size_t rest = strlen(path) + 1;

        if (n + rest > W_OS_PATH_MAX)
                return -ENAMETOOLONG;
        memcpy(out + n, path, rest);
        return 0;
}

static int find_file(const char *path, uint64_t *device, uint64_t *number)
{
        struct stat st;
        int         rc = (int)W_SYS(lstat(path, &st));

        if (rc < 0)
                return rc;
        *device = st.st_dev;
        *number = st.st_ino;
        return S_ISSOCK(st.st_mode) ? 0 : -ENOENT;
}

int w_os_unix_file_find(const struct w_os_addr *addr, struct w_os_unix_file *out)
{
        struct sockaddr_un un;
        int                saved = errno;

        memcpy(&un, addr->bytes, sizeof(un));
        int rc = un.sun_path[0] ? write_path(out->path, un.sun_path) : -ENOENT;

        errno = saved;
        return rc < 0 ? rc : find_file(out->path, &out->device, &out->number);
}

void w_os_unix_file_remove(const struct w_os_unix_file *file)
{
        uint64_t device, number;

        if (find_file(file->path, &device, &number) == 0 && device == file->device &&
            number == file->number)
                (void)W_SYS(unlink(file->path));
}
