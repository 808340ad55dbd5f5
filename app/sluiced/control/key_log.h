/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The key log: a file to which the daemon appends the keys of each new association, so that
 * captured packets can be decrypted (doc/capture.md has its format). There is none unless the key
 * key_log_file is configured: the packets are no secret to any reader of the file.
 *
 * Invariant: only this process's user, and root, can read the file. It is a regular file of that
 * user, with one name and no permission for group and others, and no symbolic link leads to it.
 * Nothing is appended to a file that is neither empty nor a key log. No message has a key, and
 * buffers that held one are wiped.
 *
 * Errors are lines "FILE: CAUSE; CURE". Owned by the control lcore.
 */
#ifndef SLUICED_KEY_LOG_H
#define SLUICED_KEY_LOG_H

#include <stdbool.h>
#include <stddef.h>

#include "assoc/assoc.h"

/* With the file's name. */
#define KEY_LOG_WARNING "keys are logged to %s: anyone with this file can read the packets"

struct key_log {
    bool on; /* false: all else is undefined */
    int fd;
    const char *path; /* the caller's */
    bool failed;      /* the newest keys could not be written, or only in part */
};

/* Opens the file, or makes it with mode 0600. Returns 0, or a negative errno with a line in err;
 * then *log is off. */
int key_log_open(struct key_log *log, const char *path, char *err, size_t err_len);
void key_log_close(struct key_log *log);

/* Appends two lines, one for each direction. ctx: the struct key_log. What cannot be written is
 * missing; that is said once. */
void key_log_add(void *ctx, const struct assoc_keys *keys);

/* Would key_log_open() refuse a file that is there? Makes none, and does not judge its owner: the
 * daemon may run as another user. Returns 0, or as key_log_open(); -EACCES: this user cannot look
 * at it. */
int key_log_check(const char *path, char *err, size_t err_len);

#endif
