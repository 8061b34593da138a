/* target.c - turns the target of a request into a path. */
#include "httpd.h"

#include <string.h>
#include <strings.h>

static int hex(char c)
{
        if (c >= '0' && c <= '9')
                return c - '0';
        c |= 0x20;
        return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "http://host/path" means "/path". */
static const char *skip_authority(const char *target)
{
        size_t scheme = strncasecmp(target, "http://", 7) == 0 ? 7 : 0;

        if (!scheme)
                return target;
        const char *path = strpbrk(target + scheme, "/?#");

        return path && *path == '/' ? path : "/";
}

/* One byte, percent-decoded; 0: a byte that may not be in a path. */
static char decode(const char **p)
{
        char c = **p;

        if (c != '%') {
                *p += 1;
                return c;
        }
        int high = hex((*p)[1]), low = high < 0 ? -1 : hex((*p)[2]);

        *p += low < 0 ? 1 : 3;
        if (low < 0)
                return 0;
        return (char)(high << 4 | low);
}

/* path[0..n) ends with "/". Returns its length without the last segment; 0: path is the root. */
static size_t go_up(const char *path, size_t n)
{
        if (n <= 1)
                return 0;
        for (n--; path[n - 1] != '/'; n--)
                ;
        return n;
}

/* The segment that begins at `from` is complete. Returns the length of the path with "." and ".."
 * resolved; SIZE_MAX: the path leads above the root. */
static size_t end_segment(const char *path, size_t from, size_t n)
{
        size_t length = n - from;

        if (length == 1 && path[from] == '.')
                return from;
        if (length != 2 || path[from] != '.' || path[from + 1] != '.')
                return n;
        size_t above = go_up(path, from);

        return above ? above : SIZE_MAX;
}

int target_path(const char *target, char *path, size_t size)
{
        const char *p = skip_authority(target);
        size_t      n = 1, from = 1;

        if (*p != '/')
                return 400;
        path[0] = *p++;
        while (*p && *p != '?' && *p != '#') {
                char c = decode(&p);

                if (c == 0)
                        return 400;
                if (c == '/') {
                        n = end_segment(path, from, n);
                        if (n == SIZE_MAX)
                                return 400;
                }
                if (c == '/' && path[n - 1] == '/') {   /* several slashes are one */
                        from = n;
                        continue;
                }
                if (n + 1 >= size)
                        return 414;
                path[n++] = c;
                if (c == '/')
                        from = n;
        }
        n = end_segment(path, from, n);
        if (n == SIZE_MAX)
                return 400;
        path[n] = 0;
        return 0;
}
