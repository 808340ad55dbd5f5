/* SPDX-License-Identifier: BSD-3-Clause */
/* Removes files, and directories with what is in them. See remove.h. */
#include "sluice/files/remove.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sluice/files/listing.h"
#include "sluice/loop.h"

char *remove_join(const char *path, const char *name)
{
    size_t len = strlen(path) + strlen(name) + 2;
    char *out = malloc(len);

    if (out != NULL)
        snprintf(out, len, "%s%s%s", path, path[0] != 0 ? "/" : "", name);
    return out;
}

bool remove_stops(void)
{
    struct loop none = {.fd = -1};

    if (loop_code() == 0)
        loop_wait(&none, -1, 0);
    return loop_code() != 0;
}

int remove_open(int dir_fd, const char *base, bool change, struct stat *st)
{
    int fd = openat(dir_fd, base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    if (fstat(fd, st) < 0) {
        int err = -errno;

        close(fd);
        return err;
    }
    /* If this fails, what is to be changed in there says why. */
    if (change && faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) < 0)
        (void)!fchmod(fd, (st->st_mode & 07777) | S_IRWXU);
    return fd;
}

void remove_close(int fd, const struct stat *st)
{
    struct stat now;

    if (fstat(fd, &now) == 0 && now.st_mode != st->st_mode)
        (void)!fchmod(fd, st->st_mode & 07777);
    close(fd);
}

/* Whether something is mounted there: another file system, or another directory of this one, which
 * has the same device. 0, -EXDEV, or another negative errno. */
static int remove_mounted(int dir_fd, const char *base)
{
    struct statx above, there;

    if (statx(dir_fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &above) < 0 ||
        statx(dir_fd, base, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_MNT_ID, &there) < 0)
        return -errno;
    if (above.stx_dev_major != there.stx_dev_major || above.stx_dev_minor != there.stx_dev_minor)
        return -EXDEV;
    /* Before Linux 5.8, mounts have no numbers here. */
    return (above.stx_mask & there.stx_mask & STATX_MNT_ID) != 0 &&
                   above.stx_mnt_id != there.stx_mnt_id
               ? -EXDEV
               : 0;
}

/* Removes what is in the directory. A dry run looks, but does not open it for writing. */
static int remove_content(const struct remove_rules *rules, int dir_fd, const char *base,
                          const char *path)
{
    struct listing names = {0};
    struct stat st;
    size_t i;
    int err = remove_stops() ? -EINTR : remove_mounted(dir_fd, base), fd;

    if (err < 0)
        return err;
    fd = remove_open(dir_fd, base, !rules->dry_run, &st);
    if (fd < 0)
        return fd;
    err = listing_read(&names, fd);
    for (i = 0; i < names.n && err != -EINTR; i++) {
        char *below = remove_join(path, names.names[i]);
        int e = below == NULL ? -ENOMEM : remove_entry(rules, fd, names.names[i], below);

        /* What cannot be removed counts more than what is to stay. */
        if (e < 0 && (err == 0 || err == -ENOTEMPTY || e == -EINTR))
            err = e;
        free(below);
    }
    listing_free(&names);
    remove_close(fd, &st); /* if it stays, it is as it was */
    return err;
}

int remove_entry(const struct remove_rules *rules, int dir_fd, const char *base, const char *path)
{
    struct stat st;
    int err = 0;
    bool directory;

    if (loop_code() != 0)
        return -EINTR;
    if (fstatat(dir_fd, base, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : -errno;
    directory = S_ISDIR(st.st_mode);
    if (rules->keep != NULL && rules->keep(rules->context, path, directory))
        return -ENOTEMPTY;
    if (directory)
        err = remove_content(rules, dir_fd, base, path);
    if (err == 0 && !rules->dry_run && unlinkat(dir_fd, base, directory ? AT_REMOVEDIR : 0) < 0 &&
        errno != ENOENT)
        err = -errno;
    if (err == 0 && rules->removed != NULL)
        rules->removed(rules->context, path, directory);
    return err;
}

int remove_directory(const struct remove_rules *rules, int dir_fd, const char *base,
                     const char *path)
{
    bool stays = rules != NULL && rules->keep != NULL && rules->keep(rules->context, path, true);
    int err = stays ? -ENOTEMPTY : rules != NULL ? remove_content(rules, dir_fd, base, path) : 0;

    if (err < 0 || (rules != NULL && rules->dry_run))
        return err;
    return unlinkat(dir_fd, base, AT_REMOVEDIR) < 0 ? -errno : 0;
}

int remove_foresee(const struct remove_rules *rules, int dir_fd, const char *base, const char *path,
                   const struct stat *st)
{
    bool goes = rules != NULL && st != NULL && S_ISDIR(st->st_mode);

    return goes ? remove_directory(rules, dir_fd, base, path) : 0;
}
