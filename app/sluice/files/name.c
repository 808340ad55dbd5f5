/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks the names of files that come from another host, and opens the directories in them. */
#include "sluice/files/name.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *name_component(const char *at, size_t len)
{
    if (len == 0)
        return "it has an empty component";
    if (len == 1 && at[0] == '.')
        return "it has a component \".\"";
    if (len == 2 && at[0] == '.' && at[1] == '.')
        return "it has a component \"..\"";
    if (len > NAME_MAX)
        return "a component is too long";
    return NULL;
}

const char *name_check(const char *name, size_t len)
{
    size_t start = 0, i;
    const char *why;

    if (len == 0)
        return "it is empty";
    if (len > RECORD_NAME_MAX)
        return "it is too long";
    if (memchr(name, 0, len) != NULL)
        return "it has a zero byte";
    if (name[0] == '/')
        return "it is absolute";
    for (i = 0; i <= len; i++) {
        if (i < len && name[i] != '/')
            continue;
        why = name_component(name + start, i - start);
        if (why != NULL)
            return why;
        start = i + 1;
    }
    return NULL;
}

/* Opens the directory of one component; makes it if it is missing, unless made is NULL. */
static int name_step(int dir_fd, const char *component, struct made_dirs *made)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(dir_fd, component, flags);

    if (fd < 0 && errno == ENOENT && made != NULL) {
        bool new = mkdirat(dir_fd, component, 0777) == 0;

        if (!new &&errno != EEXIST)
            return -errno;
        fd = openat(dir_fd, component, flags);
        if (fd >= 0 && new)
            made_dirs_add(made, fd);
    }
    return fd < 0 ? -errno : fd;
}

int name_parent(int root_fd, const char *name, const char **base, struct made_dirs *made)
{
    char component[NAME_MAX + 1];
    int next, fd = fcntl(root_fd, F_DUPFD_CLOEXEC, 0);
    const char *slash;

    if (fd < 0)
        return -errno;
    while ((slash = strchr(name, '/')) != NULL) {
        memcpy(component, name, (size_t)(slash - name));
        component[slash - name] = 0;
        next = name_step(fd, component, made);
        close(fd);
        if (next < 0)
            return next;
        fd = next;
        name = slash + 1;
    }
    *base = name;
    return fd;
}

int name_dir_parent(struct name_dir *d, const char *name, const char **base, struct made_dirs *made)
{
    const char *slash = strrchr(name, '/');
    size_t len = slash == NULL ? 0 : (size_t)(slash - name);
    int fd;

    if (slash == NULL) {
        *base = name;
        return d->root_fd < 0 ? -EBADF : d->root_fd;
    }
    if (d->fd >= 0 && d->len == len && memcmp(d->path, name, len) == 0) {
        *base = slash + 1;
        return d->fd;
    }
    name_dir_close(d);
    if (len > sizeof d->path)
        return -ENAMETOOLONG;
    fd = name_parent(d->root_fd, name, base, made);
    if (fd < 0)
        return fd;
    d->fd = fd;
    d->len = len;
    memcpy(d->path, name, len);
    return fd;
}

void name_dir_close(struct name_dir *d)
{
    if (d->fd >= 0)
        close(d->fd);
    d->fd = -1;
}
