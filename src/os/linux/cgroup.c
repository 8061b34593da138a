/* os/linux/cgroup.c - from /proc/self to the tightest CPU quota. Contract: os/linux/cgroup.h.
 *
 * /proc/self/cgroup names the group of the process once per hierarchy. /proc/self/mountinfo says
 * where each hierarchy is mounted and which of its groups is the root of the mount. For each mount
 * of a hierarchy with CPU limits (version 2, or version 1 with the controller "cpu"; hybrid systems
 * have both) this file finds the directory of our group and reads every limit from there up to the
 * mount point. All limits apply at the same time, so the tightest holds.
 *
 * A mount may show only a part: its root is then a group other than "/". If that group is ours or
 * above us, the rest of our path is what lies below the mount point. If it lies above our cgroup
 * namespace ("/.."), our own directory has no name there, but the mount point is still an ancestor.
 * Any other part does not concern us.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/linux/cgroup.h"

#include "base/assert.h"
#include "os/linux/errno_call.h"
#include "os/linux/procfs.h"
#include "os/os.h"

#include <limits.h>
#include <string.h>

enum { PATH_BYTES = 4096 };

/* Too large for a goroutine's stack, hence a mapping of its own. */
struct scratch {
        struct w_lines lines;
        char line[PATH_BYTES];
        char path[PATH_BYTES];          /* for files: the directory and the name */
        char dir[PATH_BYTES];           /* of a group, root included */
        char v1_group[PATH_BYTES];      /* empty: no such hierarchy */
        char v2_group[PATH_BYTES];
};

/* ---- Limits of one group --------------------------------------------------------------------- */

static int whole_cpus(int64_t quota, int64_t period)
{
        if (quota <= 0 || period <= 0)
                return 0;
        int64_t n = quota / period + (quota % period != 0);
        return n > INT_MAX ? 0 : (int)n;
}

/* Reads dir/name as text of at most 64 bytes; empty if it cannot be read. */
static void read_in_dir(struct scratch *s, const char *name, char text[64])
{
        text[0] = '\0';
        if (w_format(s->path, sizeof(s->path), "%s/%s", s->dir, name) < sizeof(s->path))
                (void)w_file_read(s->path, text, 64);  /* empty then, which limits nothing */
}

/* "<quota> <period>", or "max <period>". */
static int limit_v2(struct scratch *s)
{
        char    text[64];
        int64_t quota = 0, period = 0;

        read_in_dir(s, "cpu.max", text);
        const char *blank = strchr(text, ' ');
        if (!blank || !w_file_number(text, &quota) || !w_file_number(blank, &period))
                return 0;
        return whole_cpus(quota, period);
}

static int limit_v1(struct scratch *s)
{
        char    text[64];
        int64_t quota = 0, period = 0;

        read_in_dir(s, "cpu.cfs_quota_us", text);
        if (!w_file_number(text, &quota))
                return 0;
        read_in_dir(s, "cpu.cfs_period_us", text);
        if (!w_file_number(text, &period))
                return 0;
        return whole_cpus(quota, period);
}

static int tighter(int a, int b)
{
        if (a == 0 || b == 0)
                return a + b;
        return a < b ? a : b;
}

/* From s->dir up to the directory that is the first `top` bytes of it. */
static int tightest_upwards(struct scratch *s, size_t top, int (*limit)(struct scratch *))
{
        int best = 0;

        for (;;) {
                best = tighter(best, limit(s));
                if (strlen(s->dir) <= top)
                        return best;
                *strrchr(s->dir, '/') = '\0';
        }
}

/* ---- /proc/self/cgroup ----------------------------------------------------------------------- */

static bool list_has(const char *list, const char *word)
{
        size_t n = strlen(word);

        for (; *list; list += strcspn(list, ","), list += *list == ',')
                if (strcspn(list, ",") == n && memcmp(list, word, n) == 0)
                        return true;
        return false;
}

/* "<id>:<controllers>:<path>"; version 2 has id 0 and no controllers. */
static void note_group(struct scratch *s)
{
        char *controllers = strchr(s->line, ':');
        char *path = controllers ? strchr(controllers + 1, ':') : NULL;

        if (!path)
                return;
        *controllers++ = '\0';
        *path++ = '\0';
        if (path[0] != '/')
                return;
        /* Both are as long as the line, so the copies fit. */
        if (strcmp(s->line, "0") == 0 && controllers[0] == '\0')
                memcpy(s->v2_group, path, strlen(path) + 1);
        else if (list_has(controllers, "cpu"))
                memcpy(s->v1_group, path, strlen(path) + 1);
}

static int find_groups(struct scratch *s, const char *root)
{
        if (w_format(s->path, sizeof(s->path), "%s/proc/self/cgroup", root) >= sizeof(s->path))
                return -ENAMETOOLONG;
        int rc = w_lines_open(&s->lines, s->path);
        if (rc < 0)
                return rc;
        while (w_lines_next(&s->lines, s->line, sizeof(s->line)))
                note_group(s);
        w_lines_close(&s->lines);
        return 0;
}

/* ---- /proc/self/mountinfo -------------------------------------------------------------------- */

struct mount {
        char *root;             /* the group that is seen at the mount point */
        char *point;
        char *type;
        char *options;          /* of the file system: version 1 lists its controllers there */
};

/* Ends the field at *at and moves on behind the blank; NULL if there is no field. */
static char *next_field(char **at)
{
        char *field = *at;

        if (!field || !*field)
                return NULL;
        char *blank = strchr(field, ' ');
        *at = blank ? blank + 1 : NULL;
        if (blank)
                *blank = '\0';
        return field;
}

static bool is_octal(const char *c, char largest)
{
        return *c >= '0' && *c <= largest;
}

/* Blanks, newlines and backslashes are written as \ooo. */
static void unescape(char *text)
{
        char *to = text;

        for (char *c = text; *c; c++) {
                if (c[0] == '\\' && is_octal(c + 1, '3') && is_octal(c + 2, '7') &&
                    is_octal(c + 3, '7')) {
                        *to++ = (char)((c[1] - '0') * 64 + (c[2] - '0') * 8 + (c[3] - '0'));
                        c += 3;
                } else {
                        *to++ = *c;
                }
        }
        *to = '\0';
}

/* "<id> <parent> <dev> <root> <point> <options> <optional>... - <type> <source> <options>" */
static bool parse_mount(char *line, struct mount *m)
{
        char *at = line, *field;

        for (int i = 0; i < 3; i++)
                (void)next_field(&at);
        m->root = next_field(&at);
        m->point = next_field(&at);
        while ((field = next_field(&at)) && strcmp(field, "-") != 0)
                continue;
        m->type = next_field(&at);
        (void)next_field(&at);
        m->options = next_field(&at);
        if (!m->options)
                return false;
        unescape(m->root);
        unescape(m->point);
        return m->root[0] == '/' && m->point[0] == '/';
}

static bool is_above_namespace(const char *group)
{
        return strncmp(group, "/..", 3) == 0 && (group[3] == '/' || group[3] == '\0');
}

/* The part of `group` below the mount's root: "" for the root itself; NULL: not related. */
static const char *below_mount(const char *root, const char *group)
{
        size_t n = strlen(root);

        if (is_above_namespace(root))
                return "";
        if (is_above_namespace(group))
                return NULL;
        if (strcmp(root, "/") == 0)
                n = 0;
        if (strncmp(group, root, n) != 0 || (group[n] != '/' && group[n] != '\0'))
                return NULL;
        return group[n] == '/' && group[n + 1] == '\0' ? "" : group + n;
}

static int limit_at_mount(struct scratch *s, const char *root, const struct mount *m,
                          const char *group, int (*limit)(struct scratch *))
{
        const char *below = group[0] ? below_mount(m->root, group) : NULL;

        if (!below)
                return 0;
        size_t top = w_format(s->dir, sizeof(s->dir), "%s%s", root, m->point);
        size_t all = w_format(s->dir, sizeof(s->dir), "%s%s%s", root, m->point, below);
        return all < sizeof(s->dir) ? tightest_upwards(s, top, limit) : 0;
}

static int tightest_of_mounts(struct scratch *s, const char *root)
{
        struct mount m;
        int          best = 0, found;

        if (w_format(s->path, sizeof(s->path), "%s/proc/self/mountinfo", root) >= sizeof(s->path))
                return 0;
        if (w_lines_open(&s->lines, s->path) < 0)
                return 0;
        while (w_lines_next(&s->lines, s->line, sizeof(s->line))) {
                if (!parse_mount(s->line, &m))
                        continue;
                if (strcmp(m.type, "cgroup2") == 0)
                        found = limit_at_mount(s, root, &m, s->v2_group, limit_v2);
                else if (strcmp(m.type, "cgroup") == 0 && list_has(m.options, "cpu"))
                        found = limit_at_mount(s, root, &m, s->v1_group, limit_v1);
                else
                        continue;
                best = tighter(best, found);
        }
        w_lines_close(&s->lines);
        return best;
}

int w_cgroup_quota(const char *root)
{
        size_t page = w_os_page_size();
        size_t size = (sizeof(struct scratch) + page - 1) / page * page;
        void  *map;
        int    quota = 0;

        if (w_os_vm_map(&map, size) < 0)
                return 0;
        struct scratch *s = map;
        if (find_groups(s, root) == 0)
                quota = tightest_of_mounts(s, root);
        w_os_vm_unmap(map, size);
        return quota;
}
