/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files that hold one key each: a host's private key, or a key that two hosts share. The daemon
 * reads them, `sluice key` makes them.
 *
 * Invariant: a file that is read is a regular one, has no permission for group and others, and
 * holds exactly one key (crypto/key.h), with or without a newline at its end. Each error is one
 * line "FILE: CAUSE; CURE" or "FILE:LINE: CAUSE; CURE". What a file holds never stands in it.
 */
#ifndef SLUICE_COMMAND_KEY_FILE_H
#define SLUICE_COMMAND_KEY_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "crypto/key.h"

enum key_file_owner {
    KEY_FILE_ANYONE,  /* the file may belong to any user */
    KEY_FILE_TRUSTED, /* it belongs to root or to the user of this process */
};

/*
 * Reads the key of a file. Returns 0, or a negative errno with a line in err. -EACCES: this user
 * cannot read the file; -EPERM: its mode or owner is refused; -EINVAL: its kind or content.
 */
int key_file_read(const char *path, enum key_file_owner owner, uint8_t key[KEY_BYTES], char *err,
                  size_t err_len);

/* Reads the key from a descriptor up to its end; `name` stands in errors. Returns 0, -EINVAL, or
 * what read() failed with. */
int key_file_take(int fd, const char *name, uint8_t key[KEY_BYTES], char *err, size_t err_len);

/* The name of a user, or the number where there is no name, in buf. */
const char *key_file_user(uid_t uid, char *buf, size_t len);

/* Is this file refused because of its kind, mode or owner? 0, or a negative errno as above. */
int key_file_judge(const struct stat *st, const char *path, enum key_file_owner owner, char *err,
                   size_t err_len);

/* Makes a file of mode 0600 that holds the key, and that this user owns (owner -1) or another.
 * Never replaces a file. Returns 0, or a negative errno with a line in err. */
int key_file_make(const char *path, const uint8_t key[KEY_BYTES], uid_t owner, char *err,
                  size_t err_len);

#endif
