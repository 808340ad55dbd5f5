/* SPDX-License-Identifier: BSD-3-Clause */
/* The files in which files are received. See part_name.h. */
#include "sluice/files/part_name.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "crypto/hash.h"

#define MARK       ".part-"
#define DIGITS     16
#define SUFFIX_LEN (sizeof MARK - 1 + DIGITS)
#define OTHERS     (S_IWGRP | S_IWOTH)

#define DRAWN_AT_ONCE 32u
#define LINK_KEEP_S   60

static void name_set(struct part_name *n, const char *base, uint64_t digits)
{
    snprintf(n->text, sizeof n->text, ".%.*s" MARK "%016" PRIx64, (int)(NAME_MAX - 1 - SUFFIX_LEN),
             base, digits);
}

void part_name_make(struct part_name *n, const char *owner, const char *base,
                    const struct record *offer)
{
    /* A sender chooses size and time. So the hash is one whose value nobody can choose by them. */
    uint8_t fields[24 + PART_NAME_OWNER_MAX] = {0}, hash[HASH_BYTES];
    size_t len = strnlen(owner, PART_NAME_OWNER_MAX - 1);

    n->lasting = (offer->flags & RECORD_SIZE_UNKNOWN) == 0 && owner[0] != 0;
    bytes_put_u64(fields, offer->size);
    bytes_put_u64(fields + 8, (uint64_t)offer->mtime_s);
    bytes_put_u64(fields + 16, offer->mtime_ns);
    memcpy(fields + 24, owner, len);
    hash_two(fields, 24 + len + 1, base, strlen(base), hash);
    name_set(n, base, bytes_get_u64(hash));
}

/* Whether the open file still has the name. */
static bool has_name(int dir_fd, const char *name, int fd, struct stat *st)
{
    struct stat named;

    return fstat(fd, st) == 0 && fstatat(dir_fd, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           named.st_dev == st->st_dev && named.st_ino == st->st_ino;
}

bool part_name_holds(const struct part_name *n, int dir_fd, int fd)
{
    struct stat st;

    return has_name(dir_fd, n->text, fd, &st);
}

/* Whether the locked file is a part file of ours, and still has the name. */
static bool is_ours(int dir_fd, const char *name, int fd, struct stat *st)
{
    return has_name(dir_fd, name, fd, st) && S_ISREG(st->st_mode) && st->st_uid == geteuid() &&
           st->st_nlink == 1 && (st->st_mode & OTHERS) == 0;
}

/* Opens and locks a part file that is there. remove: only to remove it, for which it need not be
 * writable: one whose receiver was killed at the very end may have the mode of the file. Returns
 * the descriptor; -EBUSY: another process writes to it, or it is not ours; or another negative
 * errno. */
static int part_take(int dir_fd, const char *name, bool remove, struct stat *st)
{
    const int flags = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    int fd = openat(dir_fd, name, O_RDWR | flags); /* NFS locks nothing that is only read */

    if (fd < 0 && errno == EACCES && remove)
        fd = openat(dir_fd, name, O_RDONLY | flags);
    if (fd < 0)
        return errno == ENOENT ? -ENOENT : -EBUSY;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && is_ours(dir_fd, name, fd, st))
        return fd;
    close(fd);
    return -EBUSY;
}

/* Makes a part file. Returns the descriptor or a negative errno. */
static int part_create(const struct part_name *n, int dir_fd, mode_t mode)
{
    int fd = openat(dir_fd, n->text, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    (mode & ~OTHERS) | S_IRUSR | S_IWUSR);

    return fd < 0 ? -errno : fd;
}

/* The same, and locks it. A file system without locks gives a part file that nobody can resume. */
static int part_create_locked(struct part_name *n, int dir_fd)
{
    int fd = part_create(n, dir_fd, 0);

    if (fd < 0)
        return fd;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    n->lasting = false;
    if (errno != EWOULDBLOCK)
        return fd;
    close(fd); /* a transfer that saw it before we locked it has it */
    return -EEXIST;
}

int part_name_draw(struct part_name *n, const char *base)
{
    static uint64_t drawn[DRAWN_AT_ONCE]; /* a system call for each file would be many */
    static uint32_t left;

    n->lasting = false;
    if (left == 0 && getrandom(drawn, sizeof drawn, 0) == sizeof drawn)
        left = DRAWN_AT_ONCE;
    if (left == 0)
        return -EIO;
    name_set(n, base, drawn[--left]);
    return 0;
}

int part_name_open(struct part_name *n, int dir_fd, const char *base, bool resume)
{
    struct stat st;
    int fd = -EEXIST, tries;

    for (tries = 0; tries < 100 && fd == -EEXIST; tries++) {
        if (!n->lasting && part_name_draw(n, base) < 0)
            return -EIO;
        fd = part_create_locked(n, dir_fd);
        if (fd != -EEXIST || !n->lasting)
            continue;
        fd = part_take(dir_fd, n->text, false, &st);
        if (fd >= 0 && !resume && ftruncate(fd, 0) < 0) {
            close(fd);
            fd = -EBUSY;
        }
        if (fd == -EBUSY)
            n->lasting = false;
        if (fd == -EBUSY || fd == -ENOENT) /* ENOENT: removed since */
            fd = -EEXIST;
    }
    return fd == -EEXIST ? -EIO : fd;
}

int part_name_brief(struct part_name *n, int dir_fd, const char *base, mode_t mode)
{
    return part_name_draw(n, base) < 0 ? -EIO : part_create(n, dir_fd, mode);
}

uint64_t part_name_bytes(const struct part_name *n, int dir_fd)
{
    struct stat st;
    int fd = n->lasting ? part_take(dir_fd, n->text, false, &st) : -EBUSY;

    if (fd < 0)
        return 0;
    close(fd);
    return (uint64_t)st.st_size;
}

bool part_name_is(const char *name)
{
    size_t len = strlen(name);
    const char *mark = name + len - SUFFIX_LEN;

    return len > SUFFIX_LEN + 1 && name[0] == '.' && strncmp(mark, MARK, sizeof MARK - 1) == 0 &&
           strspn(mark + sizeof MARK - 1, "0123456789abcdef") == DIGITS;
}

/* Whether somebody may still write to a part file that is so short that it is not locked. Its time
 * of modification may be the sender's already. */
static bool brief_is_new(const struct stat *st, int64_t now_s)
{
    return st->st_size < (off_t)RECORD_CHUNK_BYTES &&
           st->st_ctim.tv_sec > now_s - PART_NAME_BRIEF_S;
}

/* Removes a symbolic link, or a further name of a file, that was to take the place of what has its
 * name. It has a part's name for a moment only, unless its receiver was killed then. The time of
 * its last change counts, since a file has the sender's time of modification. */
static void link_clean(int dir_fd, const char *name, uint32_t keep_s, int64_t now_s)
{
    int64_t age_s = keep_s > LINK_KEEP_S ? keep_s : LINK_KEEP_S;
    struct stat st;

    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_uid == geteuid() &&
        (S_ISLNK(st.st_mode) || (S_ISREG(st.st_mode) && st.st_nlink > 1)) &&
        st.st_ctim.tv_sec <= now_s - age_s)
        unlinkat(dir_fd, name, 0);
}

void part_name_clean(int dir_fd, uint32_t keep_s, int64_t now_s)
{
    int again = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = again < 0 ? NULL : fdopendir(again);
    const struct dirent *e;
    struct stat st;

    if (dir == NULL && again >= 0)
        close(again);
    while (dir != NULL && (e = readdir(dir)) != NULL) {
        int fd = part_name_is(e->d_name) ? part_take(dir_fd, e->d_name, true, &st) : -ENOENT;

        if (fd == -EBUSY)
            link_clean(dir_fd, e->d_name, keep_s, now_s);
        if (fd < 0)
            continue;
        if (st.st_mtim.tv_sec <= now_s - (int64_t)keep_s && !brief_is_new(&st, now_s))
            unlinkat(dir_fd, e->d_name, 0);
        close(fd);
    }
    if (dir != NULL)
        closedir(dir);
}
