/* net/unix_path.c - files of unix sockets, which are removed with the socket.
 *
 * SPDX-License-Identifier: MIT
 */
#include "net/unix_path.h"

#include "base/assert.h"
#include "net/desc.h"
#include "sched/run/run.h"
#include "sched/sched.h"

/* Key: p paths.lock   o the owner: a listener that is being made, or a descriptor */
struct unix_path {
        struct queue_node     link;     /* p  while it is free */
        bool                  is_file;  /* o  false: nothing to remove */
        struct w_os_unix_file file;     /* o */
};

static struct {
        struct lock    lock;            /* class paths */
        bool           ready;           /* p */
        struct records pool;            /* p */
        struct run_end at_end;
} paths = { .lock = W_LOCK_INIT(paths) };

/* Called when the last thread of the run is gone. */
static void free_all(void)
{
        w_records_destroy(&paths.pool);
        paths.ready = false;
}

static void get_ready_locked(void)
{
        if (paths.ready)
                return;
        w_records_init(&paths.pool, sizeof(struct unix_path));
        paths.at_end.free = free_all;
        w_run_at_end(&paths.at_end);
        paths.ready = true;
}

struct unix_path *w_unix_path_new(void)
{
        w_lock(&paths.lock);
        get_ready_locked();
        struct unix_path *path = w_records_get(&paths.pool);

        w_unlock(&paths.lock);
        if (path)
                path->is_file = false;
        return path;
}

void w_unix_path_bound(struct unix_path *path, const struct w_os_addr *addr)
{
        path->is_file = w_os_unix_file_find(addr, &path->file) == 0;
}

void w_unix_path_forget(struct unix_path *path)
{
        if (!path)
                return;
        w_lock(&paths.lock);
        w_records_put(&paths.pool, path);
        w_unlock(&paths.lock);
}

void w_unix_path_drop(struct unix_path *path)
{
        if (path && path->is_file)
                w_os_unix_file_remove(&path->file);
        w_unix_path_forget(path);
}

void w_unix_path_give(struct unix_path *path, int fd)
{
        struct desc *d = w_desc_find(fd);

        W_ASSERT(d);
        w_lock(&d->lock);
        d->path = path;
        w_unlock(&d->lock);
}

void w_unix_path_remove(struct desc *d, uint32_t *where)
{
        w_lock(&d->lock);
        struct unix_path *path = d->path;

        d->path = NULL;
        w_unlock(&d->lock);
        if (W_LIKELY(!path))
                return;
        w_leave(*where);
        if (path->is_file)
                w_os_unix_file_remove(&path->file);
        *where = w_enter();
        w_unix_path_forget(path);
}
