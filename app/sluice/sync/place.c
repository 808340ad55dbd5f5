/* SPDX-License-Identifier: BSD-3-Clause */
/* Directories and symbolic links of a sync, at the receiver. See place.h. */
#include "sluice/sync/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sluice/files/name.h"
#include "sluice/files/remove.h"
#include "sluice/sync/item.h"

#define MODE 0777 /* of what is new, until its content is there */

/* ---- directories --------------------------------------------------------------------------- */

/* Opens the directory that holds the name. Returns the descriptor or a negative errno. */
static int place_parent(const struct destination *d, const char *name, const char **base)
{
    if (name[0] != 0)
        return name_parent(d->dir_fd, name, base, NULL);
    *base = ".";
    return fcntl(d->dir_fd, F_DUPFD_CLOEXEC, 0);
}

/* Makes the directory, unless it is there: `before` is what has the name, or NULL. 0 or a negative
 * errno. */
static int begin_make(int parent_fd, const char *base, const struct stat *before,
                      const struct record *r)
{
    struct stat st;
    int fd;

    if (before != NULL && !S_ISDIR(before->st_mode) && unlinkat(parent_fd, base, 0) < 0)
        return -errno;
    if ((before == NULL || !S_ISDIR(before->st_mode)) &&
        mkdirat(parent_fd, base, (r->mode & MODE) | S_IRWXU) < 0)
        return -errno;
    fd = remove_open(parent_fd, base, true, &st);
    if (fd < 0)
        return fd;
    close(fd);
    return 0;
}

enum record_code place_begin(const struct sync *s, struct part_file *p, const struct destination *d,
                             const char *name, const struct record *r)
{
    const char *base;
    struct stat st;
    int err = 0, fd = place_parent(d, name, &base);
    bool there = fd >= 0 && fstatat(fd, base, &st, AT_SYMLINK_NOFOLLOW) == 0;

    p->why[0] = 0;
    settle_look(p->settle, fd, base, there ? &st : NULL, r->mode);
    if (there && !S_ISDIR(st.st_mode) && filter_excludes(s->options->filter, name, false))
        err = -EEXIST; /* a rule protects it, and not the directory */
    else if (!d->dry_run)
        err = fd < 0 ? fd : begin_make(fd, base, there ? &st : NULL, r);
    if (fd >= 0)
        close(fd);
    if (err < 0)
        return part_file_failed(p, "cannot be created", -err);
    there &= !(name[0] == 0 && d->made);
    item_directory(s, name, there && S_ISDIR(st.st_mode) ? &st : NULL, r);
    return RECORD_OK;
}

/* A dry run: counts what could not be kept of what is, or would be, there. */
static void place_foresee(const struct part_file *p, int parent_fd, const char *base)
{
    struct stat st = {.st_uid = geteuid(), .st_gid = getegid()};

    if (parent_fd >= 0)
        fstatat(parent_fd, base, &st, AT_SYMLINK_NOFOLLOW);
    settle_foresee(p->settle, &st);
}

static int end_settle(struct settle *s, int fd, const struct record *r)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
                                      {.tv_sec = r->mtime_s, .tv_nsec = r->mtime_ns}};
    struct stat st;
    int err = fstat(fd, &st) < 0 ? -errno : settle_set(s, fd, &st, r->mode);

    if (err < 0)
        return err;
    if ((st.st_mtim.tv_sec != times[1].tv_sec || st.st_mtim.tv_nsec != times[1].tv_nsec) &&
        futimens(fd, times) < 0 && errno != EINVAL)
        return -errno;
    return 0;
}

enum record_code place_end(struct part_file *p, const struct destination *d, const char *name,
                           const struct record *r)
{
    const char *base;
    int err, fd, parent_fd;

    p->why[0] = 0;
    parent_fd = place_parent(d, name, &base);
    if (d->dry_run) {
        place_foresee(p, parent_fd, base);
        if (parent_fd >= 0)
            close(parent_fd);
        return RECORD_OK;
    }
    if (parent_fd < 0)
        return part_file_failed(p, "its directory", -parent_fd);
    fd = openat(parent_fd, base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    err = fd < 0 ? -errno : end_settle(p->settle, fd, r);
    if (fd >= 0)
        close(fd);
    close(parent_fd);
    return err < 0 ? part_file_failed(p, "setting its mode and time", -err) : RECORD_OK;
}

/* ---- symbolic links ------------------------------------------------------------------------ */

/* Whether the link points to the target. */
static bool link_same(int dir_fd, const char *base, const char *target)
{
    char there[RECORD_TARGET_MAX + 2];
    ssize_t n = readlinkat(dir_fd, base, there, sizeof there);

    return n >= 0 && (size_t)n == strlen(target) && memcmp(there, target, (size_t)n) == 0;
}

int place_rename(const struct destination *d, int dir_fd, const char *temporary, const char *base,
                 const char *path)
{
    int err = renameat(dir_fd, temporary, dir_fd, base) < 0 ? -errno : 0;

    if (err == 0)
        return 0;
    if (err == -EISDIR)
        err = remove_directory(d->clear, dir_fd, base, path);
    if (err == 0 && renameat(dir_fd, temporary, dir_fd, base) == 0)
        return 0;
    err = err == 0 ? -errno : err;
    unlinkat(dir_fd, temporary, 0);
    return err;
}

/* Gives the link owner, group and attributes, then the time, which not every file system can. */
static void link_settle(struct settle *s, int dir_fd, const char *base,
                        const struct timespec times[2])
{
    struct stat st;
    int fd = s != NULL && s->given ? openat(dir_fd, base, O_PATH | O_NOFOLLOW | O_CLOEXEC) : -1;

    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISLNK(st.st_mode))
        settle_set(s, fd, &st, 0);
    if (fd >= 0)
        close(fd);
    utimensat(dir_fd, base, times, AT_SYMLINK_NOFOLLOW);
}

/* Makes the link under a name that nothing has, then gives it its own. 0 or a negative errno. */
static int link_make(struct settle *s, const struct destination *d, int dir_fd, const char *base,
                     const char *path, const char *target, const struct timespec times[2])
{
    struct part_name temporary;
    int err;

    do {
        if (part_name_draw(&temporary, base) < 0)
            return -EIO;
    } while ((err = symlinkat(target, dir_fd, temporary.text) < 0 ? -errno : 0) == -EEXIST);
    if (err < 0)
        return err;
    link_settle(s, dir_fd, temporary.text, times);
    return place_rename(d, dir_fd, temporary.text, base, path);
}

enum record_code place_link(const struct sync *s, struct part_file *p, const struct destination *d,
                            const char *name, const char *target, const struct record *r)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
                                      {.tv_sec = r->mtime_s, .tv_nsec = r->mtime_ns}};
    const char *base;
    struct stat st;
    int err = 0, fd = place_parent(d, name, &base);
    bool there = fd >= 0 && fstatat(fd, base, &st, AT_SYMLINK_NOFOLLOW) == 0;
    bool same = there && S_ISLNK(st.st_mode) && link_same(fd, base, target);
    bool refused = fd >= 0 && part_name_is(base);

    p->why[0] = 0;
    settle_look(p->settle, fd, base, there ? &st : NULL, 0);
    if (refused)
        ;
    else if (d->dry_run && there && S_ISDIR(st.st_mode) && d->clear != NULL)
        err = remove_directory(d->clear, fd, base, name);
    else if (d->dry_run)
        place_foresee(p, fd, base);
    else if (fd < 0)
        err = fd;
    else if (same)
        link_settle(p->settle, fd, base, times);
    else
        err = link_make(p->settle, d, fd, base, name, target, times);
    if (err == 0 && !d->dry_run && d->fsync && fsync(fd) < 0)
        err = -errno;
    if (fd >= 0)
        close(fd);
    if (refused)
        return part_file_reserved(p);
    if (err < 0)
        return part_file_failed(p, "the link cannot be made", -err);
    item_link(s, name, target, there && S_ISLNK(st.st_mode) ? &st : NULL, same, r);
    return RECORD_OK;
}
