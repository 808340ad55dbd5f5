/* SPDX-License-Identifier: BSD-3-Clause */
/* Where received files go. */
#include "sluice/files/destination.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "console/text.h"
#include "sluice/loop.h"
#include "sluice/say.h"

#define READER_NS  50000000u    /* between two looks for the reader of a pipe */
#define ROOM_BYTES (256u << 20) /* are kept ahead of what has come, at most */
#define ROOM_PAGE  4096u
#define BLOCK      512u /* what st_blocks counts */

static int destination_failed(const char *path, int err, const char *cure)
{
    char safe[512];

    return say_error(SAY_LOCAL, "%s: %s; %s", text_safe(safe, sizeof safe, path), strerror(err),
                     cure);
}

/* Bytes of the file system that fd lies in; 0 if that is not known. */
static uint64_t destination_size(int fd)
{
    struct statvfs fs;
    uint64_t bytes;

    if (fstatvfs(fd, &fs) < 0 || fs.f_blocks == 0 ||
        __builtin_mul_overflow((uint64_t)fs.f_blocks, (uint64_t)fs.f_frsize, &bytes))
        return 0;
    return bytes;
}

static int destination_open_dir(struct destination *k, const char *path)
{
    k->kind = DESTINATION_DIR;
    k->dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (k->dir_fd < 0)
        return destination_failed(path, errno, "give a directory that can be read");
    if (faccessat(k->dir_fd, ".", W_OK | X_OK, AT_EACCESS) < 0)
        return destination_failed(path, errno, "give a directory that can be written");
    k->max_bytes = destination_size(k->dir_fd);
    return SAY_OK;
}

/* For a file to be made or replaced: opens its directory. */
static int destination_open_file(struct destination *k, char *path)
{
    char *slash = strrchr(path, '/');
    const char *base = slash == NULL ? path : slash + 1;
    const char *dir = slash == NULL ? "." : slash == path ? "/" : path;
    int code;

    if (*base == 0)
        return destination_failed(path, ENOENT, "make the directory first (mkdir)");
    if (strlen(base) > NAME_MAX)
        return destination_failed(path, ENAMETOOLONG, "choose a shorter name");
    strcpy(k->base, base);
    if (slash != NULL)
        *slash = 0;
    code = destination_open_dir(k, dir);
    k->kind = DESTINATION_FILE;
    return code;
}

/* Opens a device, or a pipe: waits for its reader, until something asks to stop. Returns the
 * descriptor or a negative errno. */
static int destination_open_stream(const char *path, bool pipe)
{
    struct loop none = {.fd = -1};
    int fd, flags;

    while ((fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)) < 0) {
        if (!pipe || errno != ENXIO)
            return -errno;
        if (loop_code() != 0)
            return -EINTR;
        loop_wait(&none, -1, READER_NS);
    }
    if (pipe)
        return fd; /* part_file.c waits for room in it */
    flags = fcntl(fd, F_GETFL);
    if (flags >= 0 && fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) == 0)
        return fd;
    flags = -errno;
    close(fd);
    return flags;
}

mode_t destination_umask(void)
{
    mode_t mask = umask(0777);

    umask(mask);
    return mask;
}

int destination_open(struct destination *k, const char *path, bool overwrite)
{
    char real[PATH_MAX];
    struct stat st;

    memset(k, 0, sizeof *k);
    k->dir_fd = k->stream_fd = -1;
    k->overwrite = overwrite;
    k->mask = destination_umask();
    if (strcmp(path, "-") == 0) {
        k->kind = DESTINATION_STREAM;
        k->stream_fd = STDOUT_FILENO;
        if (isatty(STDOUT_FILENO))
            return say_error(SAY_USAGE, "standard output: is a terminal; redirect it or name a "
                                        "file with -o");
        return SAY_OK;
    }
    if (strlen(path) >= sizeof real)
        return destination_failed("-o", ENAMETOOLONG, "choose a shorter path");
    /* A link that the user names is followed, as by cp: the file it points to is replaced. */
    if (realpath(path, real) == NULL)
        strcpy(real, path);
    if (stat(real, &st) < 0)
        return destination_open_file(k, real);
    if (S_ISDIR(st.st_mode))
        return destination_open_dir(k, real);
    if (S_ISREG(st.st_mode))
        return overwrite ? destination_open_file(k, real)
                         : destination_failed(path, EEXIST,
                                              "give --overwrite to replace it, or another name");
    k->kind = DESTINATION_STREAM;
    k->stream_fd = destination_open_stream(real, S_ISFIFO(st.st_mode));
    if (k->stream_fd >= 0)
        return SAY_OK;
    return loop_code() != 0
               ? loop_code()
               : destination_failed(path, -k->stream_fd, "give one that can be written");
}

int destination_open_tree(struct destination *k, const char *path, bool dry_run)
{
    struct stat st;

    memset(k, 0, sizeof *k);
    k->kind = DESTINATION_DIR;
    k->dir_fd = k->stream_fd = -1;
    k->sync = k->overwrite = true;
    k->dry_run = dry_run;
    k->made = stat(path, &st) < 0 && errno == ENOENT;
    if (k->made) {
        if (dry_run)
            return SAY_OK;
        if (mkdir(path, 0777) < 0)
            return destination_failed(path, errno, "make the directory first (mkdir -p)");
    }
    return destination_open_dir(k, path);
}

void destination_close(struct destination *k)
{
    if (k->dir_fd >= 0)
        close(k->dir_fd);
    if (k->stream_fd > STDERR_FILENO)
        close(k->stream_fd);
    k->dir_fd = k->stream_fd = -1;
}

int destination_stream_end(const struct destination *k)
{
    int copy;

    /* A pipe, or another thing without a disk, says EINVAL. */
    if (k->fsync && fsync(k->stream_fd) < 0 && errno != EINVAL && errno != EROFS)
        return -errno;
    /* Each close makes the file system tell what it could not store. The stream itself may be
     * standard output, which stays open. */
    copy = fcntl(k->stream_fd, F_DUPFD_CLOEXEC, 0);
    return copy >= 0 && close(copy) < 0 ? -errno : 0;
}

int destination_room(int fd, uint64_t have, uint64_t size, uint64_t *room_bytes)
{
    uint64_t need = size - have, held;
    struct statfs fs;
    struct stat st;
    bool memory;

    *room_bytes = DESTINATION_NO_ROOM;
    if (fstat(fd, &st) < 0 || fstatfs(fd, &fs) < 0)
        return 0;
    memory = fs.f_type == TMPFS_MAGIC;  /* it would fill its pages twice */
    if (fs.f_type == BTRFS_SUPER_MAGIC) /* it would not compress the file */
        return 0;
    /* Some file systems cannot keep room: glibc's posix_fallocate() would write zeros there. */
    if (!memory && fallocate(fd, FALLOC_FL_KEEP_SIZE, (off_t)have, ROOM_PAGE) < 0)
        return errno == ENOSPC || errno == EDQUOT ? -errno : 0;
    /* A receiver that was killed may have left more room than bytes. */
    held = (uint64_t)st.st_blocks * BLOCK;
    held = held > have ? held - have : 0;
    need = need > held ? need - held : 0;
    /* A tmpfs without blocks has no limit, and the last ones of a disk are root's. */
    if (fs.f_blocks != 0 &&
        need / (uint64_t)fs.f_bsize > (geteuid() == 0 ? fs.f_bfree : fs.f_bavail))
        return -ENOSPC;
    if (!memory)
        *room_bytes = have;
    return 0;
}

void destination_room_keep(int fd, uint64_t at, uint64_t size, uint64_t *room_bytes)
{
    uint64_t n;

    if (*room_bytes == DESTINATION_NO_ROOM || *room_bytes >= size ||
        *room_bytes > at + ROOM_BYTES / 2)
        return;
    n = size - *room_bytes < ROOM_BYTES ? size - *room_bytes : ROOM_BYTES;
    if (fallocate(fd, FALLOC_FL_KEEP_SIZE, (off_t)*room_bytes, (off_t)n) == 0)
        *room_bytes += n;
    else
        *room_bytes = size; /* writing says what is wrong */
}
