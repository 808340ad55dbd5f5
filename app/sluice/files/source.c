/* SPDX-License-Identifier: BSD-3-Clause */
/* One file that is being read to be sent. See source.h. */
#include "sluice/files/source.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "sluice/loop.h"

int source_init(struct source *s)
{
    memset(s, 0, sizeof *s);
    s->fd = -1;
    s->digest = digest_create();
    return s->digest == NULL ? -ENOMEM : 0;
}

void source_fini(struct source *s)
{
    source_close(s);
    digest_destroy(s->digest);
    s->digest = NULL;
}

static void source_clear(struct source *s)
{
    source_close(s);
    s->stream = false;
    s->at_bytes = s->hole_bytes = s->kept_bytes = s->size = 0;
    memset(&s->extent, 0, sizeof s->extent);
    digest_reset(s->digest);
}

/* Finds out what s->fd is. 0 or a negative errno. */
static int source_look(struct source *s)
{
    if (fstat(s->fd, &s->st) < 0)
        return -errno;
    if (S_ISDIR(s->st.st_mode))
        return -EISDIR;
    s->stream = !S_ISREG(s->st.st_mode) || s->fd == STDIN_FILENO;
    if (s->stream)
        return 0;
    s->size = (uint64_t)s->st.st_size;
    if (s->size > DIGEST_PIECE_BYTES) /* else one call reads all of it */
        posix_fadvise(s->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    return 0;
}

int source_open(struct source *s, const char *path)
{
    /* A pipe without a writer is waited for with everything else, and not here. */
    const int flags = O_RDONLY | O_NOCTTY | O_CLOEXEC | O_NONBLOCK;

    source_clear(s);
    s->fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, flags);
    return s->fd < 0 ? -errno : source_look(s);
}

/* Opens a regular file. It may have become a pipe or a link since the walk: does not wait for it or
 * follow it. */
static int source_open_regular(struct source *s, int parent_fd, const char *base)
{
    const int flags = O_RDONLY | O_NOCTTY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    int err;

    s->fd = openat(parent_fd, base, flags);
    err = s->fd < 0 ? -errno : source_look(s);
    return err == 0 && s->stream ? -ESTALE : err;
}

int source_open_itself(struct source *s, const char *path)
{
    source_clear(s);
    return source_open_regular(s, AT_FDCWD, path);
}

int source_open_below(struct source *s, struct name_dir *d, const char *below)
{
    const char *base;
    int parent_fd;

    source_clear(s);
    /* A link in place of a directory would lead to files that nobody has asked to send. */
    parent_fd = name_dir_parent(d, below, &base, NULL);
    return parent_fd < 0 ? parent_fd : source_open_regular(s, parent_fd, base);
}

void source_close(struct source *s)
{
    if (s->fd > STDIN_FILENO)
        close(s->fd);
    s->fd = -1;
}

/* Holes are worth looking for only if the file has fewer blocks than its bytes need. */
static bool source_sparse(const struct source *s)
{
    return (uint64_t)s->st.st_blocks * 512 < s->size;
}

bool source_solid(const struct source *s)
{
    return !s->stream && s->size >= RECORD_CHUNK_BYTES && !source_sparse(s);
}

int source_next(struct source *s, uint64_t *len_bytes, bool *hole)
{
    struct extent *e = &s->extent;
    int err = 0;

    *hole = false;
    *len_bytes = s->stream ? UINT64_MAX : s->size - s->at_bytes;
    if (s->stream || *len_bytes == 0 || !source_sparse(s))
        return 0;
    if (s->at_bytes >= e->offset + e->len)
        err = extent_find(s->fd, s->at_bytes, s->size, e);
    *hole = e->hole;
    *len_bytes = e->offset + e->len - s->at_bytes;
    return err;
}

int64_t source_read(struct source *s, void *to, size_t len)
{
    struct pollfd p = {.fd = s->fd, .events = POLLIN};
    size_t done = 0;

    while (done < len) {
        size_t piece = len - done < DIGEST_PIECE_BYTES ? len - done : DIGEST_PIECE_BYTES;
        ssize_t n;

        if (s->stream && poll(&p, 1, 0) == 0) {
            if (done == 0)
                return -EAGAIN;
            break;
        }
        n = s->stream ? read(s->fd, (char *)to + done, piece)
                      : pread(s->fd, (char *)to + done, piece, (off_t)s->at_bytes);
        if (n < 0 && errno == EINTR && loop_code() == 0)
            continue;
        if (n < 0 && errno == EAGAIN && done > 0)
            break; /* another process has read what poll() saw */
        if (n < 0)
            return -errno;
        if (n == 0 && !s->stream)
            return -ENODATA;
        if (n == 0)
            break;
        digest_update(s->digest, (char *)to + done, (size_t)n);
        s->at_bytes += (uint64_t)n;
        done += (size_t)n;
    }
    return (int64_t)done;
}

void source_skip(struct source *s, uint64_t len_bytes)
{
    digest_zeros(s->digest, len_bytes);
    s->at_bytes += len_bytes;
    s->hole_bytes += len_bytes;
}

int source_peek(const struct source *s, void *to, size_t len)
{
    size_t done = 0;

    while (done < len) {
        ssize_t n = pread(s->fd, (char *)to + done, len - done, (off_t)(s->at_bytes + done));

        if (n < 0 && errno == EINTR && loop_code() == 0)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -ENODATA;
        done += (size_t)n;
    }
    return 0;
}

void source_take(struct source *s, const void *data, size_t len)
{
    digest_update(s->digest, data, len);
    s->at_bytes += len;
}

void source_keep(struct source *s, const void *data, size_t len)
{
    source_take(s, data, len);
    s->kept_bytes += len;
}
