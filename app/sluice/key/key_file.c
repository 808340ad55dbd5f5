/* SPDX-License-Identifier: BSD-3-Clause */
/* See key_file.h. All buffers that held a key are wiped. */
#include "sluice/key/key_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "crypto/secret.h"

#define TEXT_LEN (KEY_TEXT_BYTES - 1)
/* A key, its newline, and a byte more, which shows that something follows. */
#define READ_MAX (TEXT_LEN + 2)

/* Reads until `len` bytes are there or the end is; returns their number, or a negative errno. */
static ssize_t read_all(int fd, char *out, size_t len)
{
    size_t have = 0;

    while (have < len) {
        ssize_t n = read(fd, out + have, len - have);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        have += (size_t)n;
    }
    return (ssize_t)have;
}

int key_file_take(int fd, const char *name, uint8_t key[KEY_BYTES], char *err, size_t err_len)
{
    char text[READ_MAX + 1] = "";
    ssize_t got = read_all(fd, text, READ_MAX);
    size_t len = got > 0 ? (size_t)got : 0;
    char *end = memchr(text, '\n', len);
    size_t line_len = end != NULL ? (size_t)(end - text) : len;
    int rc = -EINVAL;

    text[line_len] = '\0';
    if (got < 0) {
        rc = (int)got;
        snprintf(err, err_len, "%s: cannot be read: %s; name a file that holds a key", name,
                 strerror(-rc));
    } else if (got == 0) {
        snprintf(err, err_len, "%s: is empty; make a key with sluice key generate", name);
    } else if (strlen(text) != line_len || key_parse(text, key) != 0) {
        snprintf(err, err_len,
                 "%s:1: is not a key; a key has %d characters of base64, as sluice key generate "
                 "writes it",
                 name, TEXT_LEN);
    } else if (len > line_len + 1) {
        snprintf(err, err_len, "%s:2: follows the key; keep one key in the file, and nothing else",
                 name);
    } else {
        rc = 0;
    }
    if (rc != 0)
        secret_wipe(key, KEY_BYTES);
    secret_wipe(text, sizeof text);
    return rc;
}

const char *key_file_user(uid_t uid, char *buf, size_t len)
{
    const struct passwd *user = getpwuid(uid);

    if (user != NULL)
        snprintf(buf, len, "%s", user->pw_name);
    else
        snprintf(buf, len, "%u", (unsigned int)uid);
    return buf;
}

int key_file_judge(const struct stat *st, const char *path, enum key_file_owner owner, char *err,
                   size_t err_len)
{
    char theirs[64], ours[64];

    if (!S_ISREG(st->st_mode)) {
        snprintf(err, err_len, "%s: is no regular file; name one that holds a key", path);
        return -EINVAL;
    }
    if ((st->st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        snprintf(err, err_len, "%s: its mode %04o lets other users at the key; chmod 600 %s", path,
                 (unsigned int)(st->st_mode & 07777), path);
        return -EPERM;
    }
    if (owner == KEY_FILE_TRUSTED && st->st_uid != 0 && st->st_uid != geteuid()) {
        key_file_user(st->st_uid, theirs, sizeof theirs);
        key_file_user(geteuid(), ours, sizeof ours);
        snprintf(err, err_len, "%s: belongs to user %s, not to %s%s; chown %s %s", path, theirs,
                 geteuid() != 0 ? "root or " : "", ours, ours, path);
        return -EPERM;
    }
    return 0;
}

/* Says why a file cannot be opened. */
static int open_error(const char *path, char *err, size_t err_len)
{
    int rc = -errno;
    char ours[64];

    key_file_user(geteuid(), ours, sizeof ours);
    if (rc == -EACCES)
        snprintf(err, err_len, "%s: user %s cannot read it; chown %s %s, or run as its owner", path,
                 ours, ours, path);
    else if (rc == -ENOENT)
        snprintf(err, err_len,
                 "%s: cannot be read: %s; make it with sluice key, or correct the name", path,
                 strerror(-rc));
    else
        snprintf(err, err_len, "%s: cannot be read: %s; name a file that holds a key", path,
                 strerror(-rc));
    return rc;
}

int key_file_read(const char *path, enum key_file_owner owner, uint8_t key[KEY_BYTES], char *err,
                  size_t err_len)
{
    /* O_NONBLOCK: a pipe is refused, not waited for */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    int rc;

    if (fd < 0)
        return open_error(path, err, err_len);
    if (fstat(fd, &st) != 0)
        rc = open_error(path, err, err_len);
    else
        rc = key_file_judge(&st, path, owner, err, err_len);
    if (rc == 0)
        rc = key_file_take(fd, path, key, err, err_len);
    close(fd);
    return rc;
}

/* Gives the file its mode and owner, then writes it. */
static int fill(int fd, const char *text, size_t len, uid_t owner)
{
    ssize_t n;

    if (fchmod(fd, S_IRUSR | S_IWUSR) != 0 ||
        (owner != (uid_t)-1 && fchown(fd, owner, (gid_t)-1) != 0))
        return -errno;
    do {
        n = write(fd, text, len);
    } while (n < 0 && errno == EINTR);
    if (n >= 0 && (size_t)n != len)
        return -ENOSPC;
    return n < 0 || fsync(fd) != 0 ? -errno : 0;
}

int key_file_make(const char *path, const uint8_t key[KEY_BYTES], uid_t owner, char *err,
                  size_t err_len)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
    char text[KEY_TEXT_BYTES + 1];
    int rc = fd < 0 ? -errno : 0;

    if (rc == 0) {
        key_format(key, text);
        text[TEXT_LEN] = '\n';
        rc = fill(fd, text, TEXT_LEN + 1, owner);
        secret_wipe(text, sizeof text);
        if (close(fd) != 0 && rc == 0)
            rc = -errno;
        if (rc != 0)
            unlink(path);
    }
    if (rc == -EEXIST)
        snprintf(err, err_len,
                 "%s: exists, and a key is never replaced; remove it first, or name another file",
                 path);
    else if (rc == -EPERM && fd >= 0)
        snprintf(err, err_len, "%s: cannot be given to another user: %s; run as root", path,
                 strerror(-rc));
    else if (rc != 0)
        snprintf(err, err_len, "%s: cannot be made: %s; name a file in a folder of yours", path,
                 strerror(-rc));
    return rc;
}
