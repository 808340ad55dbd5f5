/* SPDX-License-Identifier: BSD-3-Clause */
/* See key_log.h. */
#include "sluiced/control/key_log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/say.h"
#include "common/utc.h"
#include "crypto/secret.h"
#include "sluice/key/key_file.h"

#define HEADER         "# Sluice key log, version 1: anyone with this file can read the packets\n"
/* Of a line with the longest cipher's name and key. */
#define LINE_MAX_BYTES 192

/* Opens the folder of this name in the folder `at`, and closes `at`. A link fails with ELOOP. */
static int folder_open(int at, const char *name)
{
    int fd = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), error = errno;
    struct stat st;

    if (fd < 0 && fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode))
        error = ELOOP;
    if (at != AT_FDCWD)
        close(at);
    errno = error;
    return fd;
}

/* Opens the file without following links, as openat2() would with RESOLVE_NO_SYMLINKS. But the
 * service manager does not let the daemon call openat2() (RestrictSUIDSGID=). O_NONBLOCK: a pipe is
 * refused, not waited for. Returns a descriptor, or -1 with errno. */
static int file_open(const char *path, int flags)
{
    char parts[PATH_MAX], *rest, *name, *next;
    int at = AT_FDCWD, fd, error;

    if (snprintf(parts, sizeof parts, "%s", path) >= (int)sizeof parts) {
        errno = ENAMETOOLONG;
        return -1;
    }
    if (parts[0] == '/')
        at = folder_open(at, "/");
    name = strtok_r(parts, "/", &rest);
    while (at != -1 && name != NULL && (next = strtok_r(NULL, "/", &rest)) != NULL) {
        at = folder_open(at, name);
        name = next;
    }
    if (at == -1)
        return -1;
    fd = openat(at, name != NULL ? name : ".",
                flags | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, S_IRUSR | S_IWUSR);
    error = errno;
    if (at != AT_FDCWD)
        close(at);
    errno = error;
    return fd;
}

static int open_error(const char *path, char *err, size_t err_len)
{
    int rc = -errno;
    char user[64];

    key_file_user(geteuid(), user, sizeof user);
    if (rc == -ELOOP)
        snprintf(err, err_len,
                 "%s: is or goes through a symbolic link, which others may turn elsewhere; write "
                 "the path without links that realpath prints",
                 path);
    else if (rc == -EACCES)
        snprintf(err, err_len, "%s: user %s cannot write it; name a file in a folder of this user",
                 path, user);
    else
        snprintf(err, err_len, "%s: cannot be opened: %s; name a file in a folder of user %s", path,
                 strerror(-rc), user);
    return rc;
}

/* Writes all of it; returns 0 or a negative errno. */
static int bytes_write(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, bytes, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        bytes += n;
        len -= (size_t)n;
    }
    return 0;
}

/* Is the file empty, or does it begin as a key log does? */
static bool content_right(int fd)
{
    char begin[sizeof HEADER - 1];
    ssize_t n = pread(fd, begin, sizeof begin, 0);

    return n == 0 || (n == (ssize_t)sizeof begin && memcmp(begin, HEADER, sizeof begin) == 0);
}

/* Is the file refused because of its kind, mode, names, owner or content? */
static int file_judge(int fd, const char *path, bool any_owner, char *err, size_t err_len)
{
    char theirs[64], ours[64];
    struct stat st;

    if (fstat(fd, &st) != 0)
        return open_error(path, err, err_len);
    if (!S_ISREG(st.st_mode)) {
        snprintf(err, err_len, "%s: is no regular file; name one, or one that does not exist",
                 path);
        return -EINVAL;
    }
    if ((st.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        snprintf(err, err_len, "%s: its mode %04o lets other users at the keys; chmod 600 %s", path,
                 (unsigned int)(st.st_mode & 07777), path);
        return -EPERM;
    }
    if (!any_owner && st.st_uid != geteuid()) {
        snprintf(err, err_len, "%s: belongs to user %s, not to %s; remove it, or chown %s %s", path,
                 key_file_user(st.st_uid, theirs, sizeof theirs),
                 key_file_user(geteuid(), ours, sizeof ours), ours, path);
        return -EPERM;
    }
    if (st.st_nlink > 1) {
        snprintf(err, err_len,
                 "%s: has another name (hard link), under which others may keep it; remove it",
                 path);
        return -EPERM;
    }
    if (!content_right(fd)) {
        snprintf(err, err_len, "%s: has something in it that is no key log; name another file",
                 path);
        return -EINVAL;
    }
    return 0;
}

int key_log_check(const char *path, char *err, size_t err_len)
{
    int fd = file_open(path, O_RDONLY), rc;

    if (fd < 0)
        return errno == ENOENT ? 0 : open_error(path, err, err_len);
    rc = file_judge(fd, path, true, err, err_len);
    close(fd);
    return rc;
}

int key_log_open(struct key_log *log, const char *path, char *err, size_t err_len)
{
    int fd = file_open(path, O_RDWR | O_APPEND | O_CREAT), rc;
    struct stat st;

    log->on = false;
    if (fd < 0)
        return open_error(path, err, err_len);
    rc = file_judge(fd, path, false, err, err_len);
    if (rc == 0 && fstat(fd, &st) == 0 && st.st_size == 0) {
        rc = bytes_write(fd, HEADER, sizeof HEADER - 1);
        if (rc != 0)
            snprintf(err, err_len, "%s: cannot be written: %s; name a file on another disk", path,
                     strerror(-rc));
    }
    if (rc != 0) {
        close(fd);
        return rc;
    }
    *log = (struct key_log){.on = true, .fd = fd, .path = path};
    return 0;
}

void key_log_close(struct key_log *log)
{
    if (log->on)
        close(log->fd);
    log->on = false;
}

/* Writes the line of one direction, without a final 0; returns its length. */
static size_t line_put(char *out, const char *time, const struct assoc_keys *k, bool sent)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *key = sent ? k->keys.seal : k->keys.open;
    size_t len = (size_t)snprintf(out, LINE_MAX_BYTES, "KEY %s %08x %s %s %s ", time,
                                  sent ? k->remote : k->number, aead_cipher_name(k->cipher),
                                  k->outgoing == sent ? "initiator" : "responder",
                                  sent ? "sent" : "received");

    for (uint32_t i = 0; i < aead_key_bytes(k->cipher); i++) {
        out[len++] = digits[key[i] >> 4];
        out[len++] = digits[key[i] & 15];
    }
    out[len++] = '\n';
    return len;
}

void key_log_add(void *ctx, const struct assoc_keys *keys)
{
    struct key_log *log = ctx;
    char text[2 * LINE_MAX_BYTES + 1], time[UTC_TEXT_MAX];
    size_t len = 0;
    int rc;

    utc_text(time, 3);
    if (log->failed) /* the line before may have been cut */
        text[len++] = '\n';
    len += line_put(text + len, time, keys, true);
    len += line_put(text + len, time, keys, false);
    rc = bytes_write(log->fd, text, len);
    secret_wipe(text, sizeof text);
    if (rc != 0 && !log->failed)
        say(SAY_ERROR,
            "key log %s: cannot be written: %s; make room, until then keys are missing in it",
            log->path, strerror(-rc));
    else if (rc == 0 && log->failed)
        say(SAY_NOTICE, "key log %s: is written again", log->path);
    log->failed = rc != 0;
}
