/* SPDX-License-Identifier: BSD-3-Clause */
/* Hard links. See hard.h. */
#include "sluice/sync/hard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sluice/attributes/fd_path.h"
#include "sluice/files/name.h"
#include "sluice/files/remove.h"
#include "sluice/sync/item.h"
#include "sluice/sync/place.h"

/* Opens the file itself by the name that it got here. Returns the descriptor, or a negative errno;
 * -ESTALE: something else has that name now. */
static int hard_open(const struct destination *d, const struct link_file *f)
{
    const char *base;
    struct stat st;
    int fd, parent_fd = name_parent(d->dir_fd, f->name, &base, NULL);

    if (parent_fd < 0)
        return parent_fd;
    fd = openat(parent_fd, base, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        fd = -errno;
    close(parent_fd);
    if (fd < 0)
        return fd;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_dev == f->dev && st.st_ino == f->ino)
        return fd;
    close(fd);
    return -ESTALE;
}

/* Gives the open file a name that nothing has, then the one that it is to have. 0 or a negative
 * errno. */
static int hard_make(const struct destination *d, int fd, int dir_fd, const char *base,
                     const char *path)
{
    struct part_name temporary;
    char self[FD_PATH_MAX];
    int err;

    fd_path(self, fd);
    do {
        if (part_name_draw(&temporary, base) < 0)
            return -EIO;
        err = linkat(AT_FDCWD, self, dir_fd, temporary.text, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
    } while (err == -EEXIST);
    return err < 0 ? err : place_rename(d, dir_fd, temporary.text, base, path);
}

/* Makes the name, unless it is there. 0 or a negative errno. */
static int hard_do(const struct destination *d, const struct link_file *f, int dir_fd,
                   const char *base, const char *path)
{
    int err, fd = hard_open(d, f);

    if (fd < 0)
        return fd;
    err = hard_make(d, fd, dir_fd, base, path);
    close(fd);
    if (err == 0 && d->fsync && fsync(dir_fd) < 0)
        err = -errno;
    return err;
}

enum record_code hard_place(const struct sync *s, struct part_file *p, const struct destination *d,
                            const char *name, const struct record *r)
{
    const struct link_file *f = link_files_find(&s->links, r->offset);
    const char *base = "";
    struct stat st;
    int err = 0, fd = name_parent(d->dir_fd, name, &base, NULL);
    bool there = fd >= 0 && fstatat(fd, base, &st, AT_SYMLINK_NOFOLLOW) == 0;
    bool same = there && f != NULL && st.st_ino == f->ino && st.st_dev == f->dev;
    bool refused = fd >= 0 && part_name_is(base);

    p->why[0] = 0;
    settle_look(p->settle, fd, base, there ? &st : NULL, r->mode);
    if (refused || f == NULL || same)
        ;
    else if (d->dry_run)
        err = remove_foresee(d->clear, fd, base, name, there ? &st : NULL);
    else
        err = fd < 0 ? fd : hard_do(d, f, fd, base, name);
    if (fd >= 0)
        close(fd);
    if (refused)
        return part_file_reserved(p);
    if (f == NULL) {
        snprintf(p->why, sizeof p->why, "the file of which this is a name has not arrived");
        return RECORD_IO;
    }
    if (err == -ESTALE)
        snprintf(p->why, sizeof p->why,
                 "something else took the place of the file that this links");
    if (err < 0)
        return err == -ESTALE ? RECORD_IO
                              : part_file_failed(p, "the hard link cannot be made", -err);
    if (!same)
        item_hard(s, name, f->name, there ? &st : NULL, r);
    return RECORD_OK;
}
