/* SPDX-License-Identifier: BSD-3-Clause */
/* One file that is being received. See part_file.h. */
#include "sluice/files/part_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sluice/files/name.h"
#include "sluice/loop.h"

#define PART_FILE_MODE   0777        /* without a sender's setuid and setgid bits */
#define PART_FILE_SUFFIX (1 + 6 + 8) /* ".", ".part-", digits */
#define ROOM_MS          50          /* so often a full pipe lets other things be heard */

int part_file_init(struct part_file *p)
{
    memset(p, 0, sizeof *p);
    p->fd = p->dir_fd = -1;
    p->digest = digest_create();
    return p->digest == NULL ? -ENOMEM : 0;
}

void part_file_fini(struct part_file *p)
{
    part_file_discard(p);
    digest_destroy(p->digest);
    p->digest = NULL;
}

static enum record_code part_file_code(int err)
{
    switch (err) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return RECORD_NO_SPACE;
    case EACCES:
    case EPERM:
    case EROFS:
        return RECORD_DENIED;
    case ELOOP:
    case ENOTDIR:
    case EISDIR:
    case EEXIST:
    case ENOTEMPTY:
        return RECORD_IN_THE_WAY;
    case ENAMETOOLONG:
        return RECORD_BAD_NAME;
    default:
        return RECORD_IO;
    }
}

static enum record_code part_file_failed(struct part_file *p, const char *what, int err)
{
    snprintf(p->why, sizeof p->why, "%s: %s", what,
             err == ELOOP ? "a symbolic link is in the way" : strerror(err));
    return part_file_code(err);
}

/* Makes the temporary file in the final directory. 0 or a negative errno. */
static int part_file_create(struct part_file *p)
{
    uint32_t digits;
    int tries;

    for (tries = 0; tries < 100; tries++) {
        if (getrandom(&digits, sizeof digits, 0) != sizeof digits)
            return -EIO;
        snprintf(p->temporary, sizeof p->temporary, ".%.*s.part-%08" PRIx32,
                 NAME_MAX - PART_FILE_SUFFIX, p->base, digits);
        p->fd = openat(p->dir_fd, p->temporary,
                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (p->fd >= 0)
            return 0;
        if (errno != EEXIST)
            return -errno;
    }
    return -EIO;
}

/* Checks early whether the final name is taken; otherwise only the rename at the end would notice.
 * 0 or a negative errno. */
static int part_file_vacant(const struct part_file *p)
{
    struct stat st;

    if (fstatat(p->dir_fd, p->base, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    if (S_ISDIR(st.st_mode))
        return -EISDIR;
    return p->destination->overwrite ? 0 : -EEXIST;
}

/* Gives the file its final name, atomically. 0 or a negative errno; -EEXIST: the name is taken and
 * must not be replaced. */
static int part_file_rename(const struct part_file *p)
{
    const char *from = p->temporary;
    int fd = p->dir_fd;

    if (p->destination->overwrite)
        return renameat(fd, from, fd, p->base) < 0 ? -errno : 0;
    if (renameat2(fd, from, fd, p->base, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -errno;
    /* File systems without RENAME_NOREPLACE, such as NFS: a link does not replace a file either. */
    if (linkat(fd, from, fd, p->base, 0) < 0)
        return -errno;
    unlinkat(fd, from, 0);
    return 0;
}

/* RECORD_OK if the destination takes a file of so many bytes. */
static enum record_code part_file_fits(struct part_file *p, uint64_t bytes)
{
    if (p->destination->max_bytes == 0 || bytes <= p->destination->max_bytes)
        return RECORD_OK;
    snprintf(p->why, sizeof p->why, "it is larger than %" PRIu64 " bytes%s",
             p->destination->max_bytes,
             p->destination->max_given ? "" : ", the room of the whole file system");
    return RECORD_TOO_LARGE;
}

enum record_code part_file_open(struct part_file *p, struct destination *destination,
                                const char *name, const struct record *offer)
{
    const char *base = destination->base;
    int err;

    p->destination = destination;
    p->offer = *offer;
    p->at_bytes = p->hole_bytes = 0;
    digest_reset(p->digest);
    p->why[0] = 0;
    if (part_file_fits(p, offer->size) != RECORD_OK)
        return RECORD_TOO_LARGE;
    if (destination->kind != DESTINATION_DIR) {
        if (destination->taken)
            return RECORD_ONE_FILE;
        destination->taken = true;
    }
    if (destination->kind == DESTINATION_STREAM) {
        p->open = true;
        return RECORD_OK;
    }
    if (destination->kind == DESTINATION_DIR)
        p->dir_fd = name_parent(destination->dir_fd, name, &base, &p->made);
    else
        p->dir_fd = fcntl(destination->dir_fd, F_DUPFD_CLOEXEC, 0);
    if (p->dir_fd < 0)
        return part_file_failed(p, "its directory",
                                destination->kind == DESTINATION_DIR ? -p->dir_fd : errno);
    snprintf(p->base, sizeof p->base, "%s", base);
    err = part_file_vacant(p);
    if (err == 0)
        err = part_file_create(p);
    if (err < 0) {
        close(p->dir_fd);
        p->dir_fd = -1;
        return err == -EEXIST ? RECORD_EXISTS : part_file_failed(p, "cannot be created", -err);
    }
    p->open = true;
    return RECORD_OK;
}

/* Waits for room in a pipe, and for what loop_wait() waits for. */
static void part_file_wait(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    struct loop none = {.fd = -1};

    if (poll(&p, 1, ROOM_MS) == 0)
        loop_wait(&none, -1, 0);
}

/* Writes all len bytes. 0 or a negative errno; -EINTR: something asked to stop. Callers write at
 * most DIGEST_PIECE_BYTES at a time, so that signals are noticed soon. */
static int part_file_put(struct part_file *p, const uint8_t *data, uint64_t len)
{
    while (len > 0) {
        ssize_t n = p->fd < 0 ? write(p->destination->stream_fd, data, len)
                              : pwrite(p->fd, data, len, (off_t)p->at_bytes);

        if (n < 0 && errno == EAGAIN && p->fd < 0) {
            part_file_wait(p->destination->stream_fd);
            errno = EINTR;
        }
        if (n < 0 && errno == EINTR && loop_code() == 0)
            continue;
        if (n < 0)
            return -errno;
        data += n;
        len -= (uint64_t)n;
        p->at_bytes += (uint64_t)n;
    }
    return 0;
}

enum record_code part_file_write(struct part_file *p, const uint8_t *data, uint32_t len_bytes)
{
    uint32_t n;
    int err = 0;

    if (part_file_fits(p, p->at_bytes + len_bytes) != RECORD_OK)
        return RECORD_TOO_LARGE;
    for (; len_bytes > 0 && err == 0; data += n, len_bytes -= n) {
        n = len_bytes < DIGEST_PIECE_BYTES ? len_bytes : DIGEST_PIECE_BYTES;
        digest_update(p->digest, data, n);
        err = part_file_put(p, data, n);
    }
    if (err == -EPIPE) {
        snprintf(p->why, sizeof p->why, "its reader has gone");
        return RECORD_IO;
    }
    return err < 0 ? part_file_failed(p, "writing", -err) : RECORD_OK;
}

enum record_code part_file_hole(struct part_file *p, uint64_t len_bytes)
{
    static const uint8_t zeros[65536];
    int err = 0;

    digest_zeros(p->digest, len_bytes);
    p->hole_bytes += len_bytes;
    if (p->fd >= 0) {
        p->at_bytes += len_bytes; /* not written: the file grows over the hole */
        return RECORD_OK;
    }
    while (len_bytes > 0 && err == 0) {
        uint64_t n = len_bytes < sizeof zeros ? len_bytes : sizeof zeros;

        err = part_file_put(p, zeros, n);
        len_bytes -= n;
    }
    return err < 0 ? part_file_failed(p, "writing", -err) : RECORD_OK;
}

/* Sets the file's size, mode and time, and syncs it: everything but the name. */
static int part_file_settle(struct part_file *p)
{
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
                                {.tv_sec = p->offer.mtime_s, .tv_nsec = p->offer.mtime_ns}};
    struct stat st;

    if (fstat(p->fd, &st) < 0)
        return -errno;
    /* A hole at the end leaves the file too short. */
    if ((uint64_t)st.st_size != p->at_bytes && ftruncate(p->fd, (off_t)p->at_bytes) < 0)
        return -errno;
    if (fchmod(p->fd, p->offer.mode & PART_FILE_MODE & ~p->destination->mask) < 0)
        return -errno;
    if (futimens(p->fd, times) < 0 && errno != EINVAL) /* EINVAL: the disk cannot store this time */
        return -errno;
    if (p->destination->fsync && fsync(p->fd) < 0)
        return -errno;
    return 0;
}

static enum record_code part_file_compare(struct part_file *p, const struct record *end)
{
    uint8_t hash[RECORD_HASH_BYTES];

    if (end->size != p->at_bytes ||
        ((p->offer.flags & RECORD_SIZE_UNKNOWN) == 0 && p->offer.size != end->size)) {
        snprintf(p->why, sizeof p->why, "%" PRIu64 " bytes came, %" PRIu64 " were meant",
                 p->at_bytes, end->size);
        return RECORD_CORRUPT;
    }
    digest_value(p->digest, hash);
    if (memcmp(hash, end->hash, sizeof hash) != 0) {
        snprintf(p->why, sizeof p->why, "the hash differs");
        return RECORD_CORRUPT;
    }
    return RECORD_OK;
}

enum record_code part_file_finish(struct part_file *p, const struct record *end)
{
    enum record_code code = part_file_compare(p, end);
    int err;

    if (code != RECORD_OK || p->fd < 0) {
        part_file_discard(p);
        return code;
    }
    err = part_file_settle(p);
    if (err == 0 && close(p->fd) < 0)
        err = -errno;
    else if (err < 0)
        close(p->fd);
    p->fd = -1;
    if (err == 0)
        err = part_file_rename(p);
    if (err == 0 && p->destination->fsync && fsync(p->dir_fd) < 0)
        err = -errno;
    if (err == 0)
        p->temporary[0] = 0;
    part_file_discard(p);
    if (err == -EEXIST) /* a file of this name appeared while ours was being received */
        return RECORD_EXISTS;
    return err < 0 ? part_file_failed(p, "completing it", -err) : RECORD_OK;
}

void part_file_discard(struct part_file *p)
{
    if (p->fd >= 0)
        close(p->fd);
    if (p->dir_fd >= 0) {
        if (p->temporary[0] != 0)
            unlinkat(p->dir_fd, p->temporary, 0);
        close(p->dir_fd);
    }
    p->fd = p->dir_fd = -1;
    p->temporary[0] = 0;
    p->open = false;
}

enum record_code part_file_directory(struct part_file *p, struct destination *destination,
                                     const char *name, const struct record *r)
{
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
                                {.tv_sec = r->mtime_s, .tv_nsec = r->mtime_ns}};
    const char *base;
    char inside[RECORD_NAME_MAX + 3];
    int err = 0, fd;

    p->why[0] = 0;
    if (destination->kind != DESTINATION_DIR)
        return RECORD_ONE_FILE;
    /* The parent of "name/." is name itself: name_parent() makes and opens it. */
    snprintf(inside, sizeof inside, "%s/.", name);
    fd = name_parent(destination->dir_fd, inside, &base, &p->made);
    if (fd < 0)
        return part_file_failed(p, "cannot be created", -fd);
    if (!made_dirs_take(&p->made, fd)) {
        close(fd);
        return RECORD_OK;
    }
    if (fchmod(fd, r->mode & PART_FILE_MODE & ~destination->mask) < 0)
        err = errno;
    else if (futimens(fd, times) < 0 && errno != EINVAL)
        err = errno;
    close(fd);
    return err != 0 ? part_file_failed(p, "setting its mode and time", err) : RECORD_OK;
}
