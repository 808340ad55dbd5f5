/* SPDX-License-Identifier: BSD-3-Clause */
/* One file that is being received. See part_file.h. */
#include "sluice/files/part_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sluice/attributes/fd_path.h"
#include "sluice/files/listing.h"
#include "sluice/files/name.h"
#include "sluice/files/remove.h"
#include "sluice/loop.h"

#define PART_FILE_MODE 0777 /* without a sender's setuid and setgid bits */
#define BASIS_MIN      4096 /* bytes; the list of a smaller file would cost about as much */
#define PAGE_BYTES     4096 /* a hole is at least as long in usual file systems */
#define ROOM_MS        50   /* so often a full pipe lets other things be heard */

int part_file_init(struct part_file *p)
{
    memset(p, 0, sizeof *p);
    p->fd = p->dir_fd = p->basis_fd = p->dir.fd = -1;
    p->digest = digest_create();
    p->chunk = digest_create();
    if (p->digest != NULL && p->chunk != NULL)
        return 0;
    part_file_fini(p);
    return -ENOMEM;
}

void part_file_fini(struct part_file *p)
{
    part_file_discard(p);
    part_file_rest(p);
    digest_destroy(p->digest);
    digest_destroy(p->chunk);
    p->digest = p->chunk = NULL;
}

static enum record_code part_file_code(int err)
{
    switch (err) {
    case ENOSPC:
    case EDQUOT:
        return RECORD_NO_SPACE; /* for the next file, too; with EFBIG, for this one only */
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

enum record_code part_file_failed(struct part_file *p, const char *what, int err)
{
    snprintf(p->why, sizeof p->why, "%s: %s", what,
             err == ELOOP ? "a symbolic link is in the way" : strerror(err));
    return part_file_code(err);
}

enum record_code part_file_reserved(struct part_file *p)
{
    snprintf(p->why, sizeof p->why, "its name is that of an incomplete file");
    return RECORD_BAD_NAME;
}

/* Bytes of whole chunks in a part of so many bytes, of a file of `size` bytes. */
static uint64_t part_file_whole(uint64_t part_bytes, uint64_t size)
{
    uint64_t bytes = part_bytes < size ? part_bytes : size;

    return bytes - bytes % RECORD_CHUNK_BYTES;
}

/* Opens a regular file for reading, and nothing else. Returns the descriptor, or a negative errno.
 */
static int part_file_look(const struct part_file *p, struct stat *st)
{
    int err, fd = openat(p->dir_fd, p->base, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    if (fstat(fd, st) == 0 && S_ISREG(st->st_mode))
        return fd;
    err = -ESTALE;
    close(fd);
    return err;
}

/* The mode that the file is to have, as far as it is known already. */
static mode_t part_file_mode(const struct part_file *p)
{
    return p->offer.mode & ~p->destination->mask & PART_FILE_MODE;
}

/* Bytes that the file has, if it is resumed. */
static uint64_t part_file_left(const struct part_file *p)
{
    struct stat st;

    return (p->offer.flags & RECORD_RESUME) != 0 && fstat(p->fd, &st) == 0 ? (uint64_t)st.st_size
                                                                           : 0;
}

/* Looks whether there is room for a file without holes, and has the disk keep some of it. What
 * comes of the basis may be a hole. 0 or a negative errno. */
static int part_file_reserve(struct part_file *p)
{
    uint64_t have = part_file_left(p);
    int err;

    p->room_bytes = DESTINATION_NO_ROOM;
    if ((p->offer.flags & RECORD_SOLID) == 0 || (p->offer.flags & RECORD_COPIES) != 0 ||
        p->offer.size < RECORD_CHUNK_BYTES || have >= p->offer.size)
        return 0;
    err = destination_room(p->fd, have, p->offer.size, &p->room_bytes);
    destination_room_keep(p->fd, have, p->offer.size, &p->room_bytes);
    return err;
}

/* Gives room behind what has come free again. */
static void part_file_release(const struct part_file *p)
{
    struct stat st;

    if (p->room_bytes != DESTINATION_NO_ROOM && fstat(p->fd, &st) == 0)
        (void)!ftruncate(p->fd, st.st_size);
}

/* Makes or opens the temporary file in the final directory. 0 or a negative errno. */
static int part_file_create(struct part_file *p)
{
    bool resume = (p->offer.flags & RECORD_RESUME) != 0;
    struct stat st;

    p->brief = !resume && (p->offer.flags & RECORD_SIZE_UNKNOWN) == 0 &&
               p->offer.size < RECORD_CHUNK_BYTES;
    p->temporary.lasting = false;
    if (p->brief) { /* has its mode at once; a long one may stay when its owner has gone */
        p->fd = part_name_brief(&p->temporary, p->dir_fd, p->base, part_file_mode(p));
    } else {
        part_name_make(&p->temporary, p->owner, p->base, &p->offer);
        p->fd = part_name_open(&p->temporary, p->dir_fd, p->base, resume);
    }
    if (p->fd >= 0 && resume && fstat(p->fd, &st) == 0)
        p->part_bytes = part_file_whole((uint64_t)st.st_size, p->offer.size);
    if (p->fd >= 0 && (p->offer.flags & RECORD_COPIES) != 0)
        p->basis_fd = part_file_look(p, &st);
    return p->fd < 0 ? p->fd : 0;
}

/* Removes what transfers that ended long ago have left in the directory, once for each directory in
 * which files of some size are received. */
static void part_file_clean(struct part_file *p)
{
    struct stat st;

    if (p->offer.size < RECORD_CHUNK_BYTES || fstat(p->dir_fd, &st) < 0 ||
        (st.st_dev == p->cleaned.st_dev && st.st_ino == p->cleaned.st_ino))
        return;
    p->cleaned = st;
    part_name_clean(p->dir_fd, p->destination->keep_s, time(NULL));
}

/* Checks early whether the final name is taken; otherwise only the rename at the end would notice.
 * 0 or a negative errno. */
static int part_file_vacant(struct part_file *p)
{
    struct listing names;
    int err, fd;

    p->there = fstatat(p->dir_fd, p->base, &p->before, AT_SYMLINK_NOFOLLOW) == 0;
    settle_look(p->settle, p->dir_fd, p->base, p->there ? &p->before : NULL, p->offer.mode);
    if (!p->there)
        return 0;
    if (!S_ISDIR(p->before.st_mode))
        return p->destination->overwrite ? 0 : -EEXIST;
    if (!p->destination->sync)
        return -EISDIR;
    if (p->destination->clear != NULL)
        return 0;
    fd = openat(p->dir_fd, p->base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    err = fd < 0 ? -errno : listing_read(&names, fd);
    if (err == 0) {
        err = names.n > 0 ? -ENOTEMPTY : 0;
        listing_free(&names);
    }
    if (fd >= 0)
        close(fd);
    return err;
}

/* Gives the file its final name, atomically. 0 or a negative errno; -EEXIST: the name is taken and
 * must not be replaced. */
static int part_file_rename(const struct part_file *p)
{
    const struct destination *d = p->destination;
    const char *from = p->temporary.text;
    int err, fd = p->dir_fd;

    if (d->overwrite) {
        err = renameat(fd, from, fd, p->base) < 0 ? -errno : 0;
        if (err != -EISDIR || !d->sync)
            return err;
        err = remove_directory(d->clear, fd, p->base, p->name);
        return err == 0 && renameat(fd, from, fd, p->base) < 0 ? -errno : err;
    }
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

/* Opens the directory that gets the file, and sets its name in there. 0 or a negative errno. */
static int part_file_place(struct part_file *p, const char *name, struct made_dirs *made)
{
    const struct destination *d = p->destination;
    const char *base = d->base;
    int fd = d->dir_fd;

    if (d->kind == DESTINATION_DIR) {
        p->dir.root_fd = d->dir_fd;
        fd = name_dir_parent(&p->dir, name, &base, made);
    }
    if (fd < 0)
        return fd;
    p->dir_fd = fd;
    snprintf(p->base, sizeof p->base, "%s", base);
    return 0;
}

static void part_file_unplace(struct part_file *p)
{
    p->dir_fd = -1;
    p->temporary.text[0] = 0;
}

/* Reads all len bytes at `at`. 0 or a negative errno. */
static int part_file_piece(int fd, uint8_t *to, uint64_t at, uint64_t len)
{
    while (len > 0) {
        ssize_t n = pread(fd, to, len, (off_t)at);

        if (n < 0 && errno == EINTR && loop_code() == 0)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -ENODATA;
        to += n;
        at += (uint64_t)n;
        len -= (uint64_t)n;
    }
    return 0;
}

/* Reads the bytes from `at` to `end` for a digest. 0 or a negative errno. */
static int part_file_digest(int fd, struct digest *d, uint64_t at, uint64_t end)
{
    static uint8_t piece[DIGEST_PIECE_BYTES];
    int err = 0;

    while (at < end && err == 0) {
        uint64_t want = end - at < sizeof piece ? end - at : sizeof piece;

        err = loop_code() != 0 ? -EINTR : part_file_piece(fd, piece, at, want);
        if (err == 0)
            digest_update(d, piece, want);
        at += want;
    }
    return err;
}

/* Whether a file with so many bytes, and with this hash, has the name. */
static bool part_file_matches(struct part_file *p, uint64_t bytes, const uint8_t *hash)
{
    uint8_t found[RECORD_HASH_BYTES];
    struct stat st;
    int err, fd = part_file_look(p, &st);

    if (fd < 0)
        return false;
    digest_reset(p->chunk);
    err = (uint64_t)st.st_size == bytes ? part_file_digest(fd, p->chunk, 0, bytes) : -ESTALE;
    digest_value(p->chunk, found);
    close(fd);
    return err == 0 && memcmp(found, hash, sizeof found) == 0;
}

/* Whether what has the name is the file that the sender asks about. */
static bool part_file_is_whole(struct part_file *p, const struct record *ask, const uint8_t *hash)
{
    const struct stat *st = &p->before;

    if (!p->there || !S_ISREG(st->st_mode) || (uint64_t)st->st_size != ask->size)
        return false;
    if (p->destination->checksum)
        return hash != NULL && part_file_matches(p, ask->size, hash);
    return st->st_mtim.tv_sec == ask->mtime_s && st->st_mtim.tv_nsec == (int64_t)ask->mtime_ns;
}

/* Gives the file that is there the mode and time of `ask`. 0 or a negative errno. */
static int part_file_adjust(const struct part_file *p, const struct record *ask)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
                                      {.tv_sec = ask->mtime_s, .tv_nsec = ask->mtime_ns}};
    bool mode = ((p->before.st_mode ^ ask->mode) & PART_FILE_MODE) != 0;
    bool time = p->before.st_mtim.tv_sec != times[1].tv_sec ||
                p->before.st_mtim.tv_nsec != times[1].tv_nsec;
    bool other = p->settle != NULL && p->settle->differs != 0;
    char path[FD_PATH_MAX];
    struct stat st;
    int err = 0, fd;

    if (!mode && !time && !other) {
        settle_foresee(p->settle, &p->before);
        return 0;
    }
    /* The file itself, and neither a link that has taken its place nor what that points to. It need
     * not be readable. */
    fd = openat(p->dir_fd, p->base, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) < 0 || st.st_ino != p->before.st_ino || st.st_dev != p->before.st_dev)
        err = -ESTALE;
    else
        err = settle_set(p->settle, fd, &st, ask->mode);
    if (err == 0 && time && utimensat(AT_FDCWD, fd_path(path, fd), times, 0) < 0)
        err = -errno;
    close(fd);
    return err;
}

/* Opens the file that has the name, if it is worth looking for content that the new one of so many
 * bytes shares. -1: it is not. */
static int part_file_basis(const struct part_file *p, uint64_t size)
{
    const struct destination *d = p->destination;
    struct stat st;
    int fd;

    if (!d->sync || d->whole_files || d->dry_run || size < BASIS_MIN || !p->there ||
        p->before.st_size < BASIS_MIN)
        return -1;
    fd = part_file_look(p, &st);
    return fd < 0 ? -1 : fd;
}

uint64_t part_file_ask(struct part_file *p, struct destination *destination, const char *name,
                       const struct record *ask, const uint8_t *hash, bool *whole, int *basis_fd)
{
    uint64_t bytes = 0;

    *whole = p->there = false;
    *basis_fd = -1;
    p->destination = destination;
    if (destination->kind == DESTINATION_STREAM || part_file_place(p, name, NULL) < 0)
        return 0;
    p->there = fstatat(p->dir_fd, p->base, &p->before, AT_SYMLINK_NOFOLLOW) == 0;
    settle_look(p->settle, p->dir_fd, p->base, p->there ? &p->before : NULL, ask->mode);
    *whole = part_file_is_whole(p, ask, hash);
    if (*whole && destination->sync && !destination->dry_run)
        *whole = part_file_adjust(p, ask) == 0; /* else a new one gets this mode and time */
    /* The one file is there: another would replace it. */
    if (*whole && destination->kind == DESTINATION_FILE)
        destination->taken = true;
    if (!*whole) {
        if (ask->size >= RECORD_CHUNK_BYTES) {
            part_name_make(&p->temporary, p->owner, p->base, ask);
            bytes = part_file_whole(part_name_bytes(&p->temporary, p->dir_fd), ask->size);
        }
        *basis_fd = part_file_basis(p, ask->size);
    }
    if (destination->dry_run && !*whole)
        remove_foresee(destination->clear, p->dir_fd, p->base, name, p->there ? &p->before : NULL);
    part_file_unplace(p);
    return bytes;
}

enum record_code part_file_open(struct part_file *p, struct destination *destination,
                                const char *name, const struct record *offer)
{
    char what[64];
    int err, full = 0;

    p->destination = destination;
    p->offer = *offer;
    p->at_bytes = p->hole_bytes = p->kept_bytes = p->hashed_bytes = p->part_bytes = 0;
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
    if (destination->sync)
        snprintf(p->name, sizeof p->name, "%s", name);
    err = part_file_place(p, name, &p->made);
    if (err < 0)
        return part_file_failed(p, "its directory", -err);
    if (part_name_is(p->base)) {
        part_file_unplace(p);
        return part_file_reserved(p);
    }
    err = part_file_vacant(p);
    if (err == 0)
        err = part_file_create(p);
    part_file_clean(p); /* an old part that is resumed is locked by now, and stays */
    if (err == 0)
        full = part_file_reserve(p);
    if (err < 0) {
        part_file_unplace(p);
        return err == -EEXIST ? RECORD_EXISTS : part_file_failed(p, "cannot be created", -err);
    }
    p->open = true;
    if (full < 0) {
        part_file_leave(p); /* what an interrupted transfer has left may have room later */
        snprintf(what, sizeof what, "no room for its %" PRIu64 " bytes", offer->size);
        return part_file_failed(p, what, -full);
    }
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
    destination_room_keep(p->fd, p->at_bytes, p->offer.size, &p->room_bytes);
    if (err == -EPIPE) {
        snprintf(p->why, sizeof p->why, "its reader has gone");
        return RECORD_IO;
    }
    return err < 0 ? part_file_failed(p, "writing", -err) : RECORD_OK;
}

enum record_code part_file_pass(struct part_file *p, uint32_t len_bytes)
{
    if (part_file_fits(p, p->at_bytes + len_bytes) != RECORD_OK)
        return RECORD_TOO_LARGE;
    p->at_bytes += len_bytes;
    destination_room_keep(p->fd, p->at_bytes, p->offer.size, &p->room_bytes);
    return RECORD_OK;
}

enum record_code part_file_hole(struct part_file *p, uint64_t len_bytes)
{
    static const uint8_t zeros[65536];
    int err = 0;

    digest_zeros(p->digest, len_bytes);
    p->hole_bytes += len_bytes;
    /* Not written: the file grows over the hole. What was left there goes. */
    if (p->fd >= 0 && (p->at_bytes >= part_file_left(p) ||
                       fallocate(p->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                 (off_t)p->at_bytes, (off_t)len_bytes) == 0)) {
        p->at_bytes += len_bytes;
        return RECORD_OK;
    }
    while (len_bytes > 0 && err == 0) {
        uint64_t n = len_bytes < sizeof zeros ? len_bytes : sizeof zeros;

        err = part_file_put(p, zeros, n);
        len_bytes -= n;
    }
    return err < 0 ? part_file_failed(p, "writing", -err) : RECORD_OK;
}

enum record_code part_file_keep(struct part_file *p, uint64_t len_bytes)
{
    int err = part_file_digest(p->fd, p->digest, p->at_bytes, p->at_bytes + len_bytes);

    if (err < 0)
        return part_file_failed(p, "keeping what was there", -err);
    p->at_bytes += len_bytes;
    p->kept_bytes += len_bytes;
    return RECORD_OK;
}

/* Writes a piece of the basis. Pages of zeros that lie behind what the part has become holes, as
 * those of the basis are. 0 or a negative errno. */
static int part_file_put_copy(struct part_file *p, const uint8_t *data, uint64_t len)
{
    static const uint8_t zeros[PAGE_BYTES];
    uint64_t left = part_file_left(p);
    int err = 0;

    while (len > 0 && err == 0) {
        uint64_t run = 0, page = PAGE_BYTES - p->at_bytes % PAGE_BYTES;

        page = page < len ? page : len;
        if (p->at_bytes >= left && memcmp(data, zeros, page) == 0) {
            p->at_bytes += page;
            data += page;
            len -= page;
            continue;
        }
        do { /* with the pages behind it that are not zero either */
            run += page;
            page = len - run < PAGE_BYTES ? len - run : PAGE_BYTES;
        } while (run < len && memcmp(data + run, zeros, page) != 0);
        err = part_file_put(p, data, run);
        data += run;
        len -= run;
    }
    return err;
}

enum record_code part_file_copy(struct part_file *p, uint64_t from, uint64_t len_bytes)
{
    static uint8_t piece[DIGEST_PIECE_BYTES];
    int err = p->basis_fd < 0 ? -ENOENT : 0;
    uint64_t left = len_bytes;

    while (err == 0 && left > 0) {
        uint64_t want = left < sizeof piece ? left : sizeof piece;

        err = loop_code() != 0 ? -EINTR : part_file_piece(p->basis_fd, piece, from, want);
        if (err == 0) {
            digest_update(p->digest, piece, want);
            err = part_file_put_copy(p, piece, want);
        }
        from += want;
        left -= want;
    }
    if (err < 0)
        return part_file_failed(p, "copying from what was there", -err);
    p->kept_bytes += len_bytes;
    return RECORD_OK;
}

/* Hashes the chunk at `at`. 0 or a negative errno. */
static int part_file_chunk(const struct part_file *p, uint64_t at, uint8_t hash[RECORD_HASH_BYTES])
{
    int err;

    digest_reset(p->chunk);
    err = part_file_digest(p->fd, p->chunk, at, at + RECORD_CHUNK_BYTES);
    digest_value(p->chunk, hash);
    return err;
}

uint32_t part_file_hash(struct part_file *p, uint8_t *hashes, uint32_t max, uint64_t *offset)
{
    uint64_t at = p->at_bytes + RECORD_CHUNK_BYTES - 1;
    uint32_t n;

    at -= at % RECORD_CHUNK_BYTES;
    if (p->hashed_bytes < at) /* the sender did not wait for these hashes */
        p->hashed_bytes = at;
    *offset = p->hashed_bytes;
    for (n = 0; n < max && !part_file_hashed(p) && p->hashed_bytes < p->at_bytes + PART_FILE_AHEAD;
         n++) {
        if (part_file_chunk(p, p->hashed_bytes, hashes + n * RECORD_HASH_BYTES) < 0) {
            p->part_bytes = p->hashed_bytes; /* the rest is sent again */
            break;
        }
        p->hashed_bytes += RECORD_CHUNK_BYTES;
    }
    return n;
}

/* Sets the file's size, mode and time, and syncs it: everything but the name. */
static int part_file_settle(struct part_file *p)
{
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
                                {.tv_sec = p->offer.mtime_s, .tv_nsec = p->offer.mtime_ns}};
    int err;

    if (fstat(p->fd, &p->placed) < 0)
        return -errno;
    /* A hole at the end leaves the file too short. */
    if ((uint64_t)p->placed.st_size != p->at_bytes && ftruncate(p->fd, (off_t)p->at_bytes) < 0)
        return -errno;
    err = settle_set(p->settle, p->fd, &p->placed, p->offer.mode & ~p->destination->mask);
    if (err < 0)
        return err;
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
    int err, lock;

    if (code == RECORD_OK && p->fd < 0) {
        err = destination_stream_end(p->destination);
        code = err < 0 ? part_file_failed(p, "completing it", -err) : RECORD_OK;
    }
    if (code != RECORD_OK || p->fd < 0) {
        part_file_discard(p);
        return code;
    }
    err = part_file_settle(p);
    /* Some file systems say only at a close that they could not store what was written. The other
     * descriptor keeps the lock until the file has its name, or another transfer could resume or
     * remove it meanwhile. */
    lock = p->brief ? -1 : fcntl(p->fd, F_DUPFD_CLOEXEC, 0);
    if (close(p->fd) < 0 && err == 0)
        err = -errno;
    p->fd = lock;
    if (err == 0 && p->fd >= 0 && p->temporary.lasting &&
        !part_name_holds(&p->temporary, p->dir_fd, p->fd))
        err = -ENOENT;
    if (err == 0)
        err = part_file_rename(p);
    if (err == 0 && p->destination->fsync && fsync(p->dir_fd) < 0)
        err = -errno;
    if (err == 0)
        p->temporary.text[0] = 0;
    part_file_discard(p);
    if (err == -EEXIST) /* a file of this name appeared while ours was being received */
        return RECORD_EXISTS;
    return err < 0 ? part_file_failed(p, "completing it", -err) : RECORD_OK;
}

void part_file_discard(struct part_file *p)
{
    if (p->dir_fd >= 0 && p->temporary.text[0] != 0 &&
        (p->fd < 0 || part_name_holds(&p->temporary, p->dir_fd, p->fd)))
        unlinkat(p->dir_fd, p->temporary.text, 0);
    if (p->fd >= 0)
        close(p->fd);
    if (p->basis_fd >= 0)
        close(p->basis_fd);
    p->fd = p->basis_fd = -1;
    part_file_unplace(p);
    p->open = false;
}

void part_file_rest(struct part_file *p)
{
    if (!p->open)
        name_dir_close(&p->dir);
}

bool part_file_leave(struct part_file *p)
{
    bool left = p->fd >= 0 && p->temporary.lasting && p->destination->keep_s > 0 &&
                (p->at_bytes >= RECORD_CHUNK_BYTES || p->part_bytes > 0) &&
                part_name_holds(&p->temporary, p->dir_fd, p->fd);

    if (left)
        p->temporary.text[0] = 0;
    if (left)
        part_file_release(p);
    part_file_discard(p);
    return left;
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
    /* The parent of "name/." is name itself: name_dir_parent() makes and opens it. */
    snprintf(inside, sizeof inside, "%s/.", name);
    p->dir.root_fd = destination->dir_fd;
    fd = name_dir_parent(&p->dir, inside, &base, &p->made);
    if (fd < 0)
        return part_file_failed(p, "cannot be created", -fd);
    if (!made_dirs_take(&p->made, fd))
        return RECORD_OK;
    if (fchmod(fd, r->mode & PART_FILE_MODE & ~destination->mask) < 0)
        err = errno;
    else if (futimens(fd, times) < 0 && errno != EINVAL)
        err = errno;
    return err != 0 ? part_file_failed(p, "setting its mode and time", err) : RECORD_OK;
}
