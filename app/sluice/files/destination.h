/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where received files go: into a directory by their names, to one file, or down a stream (standard
 * output, a pipe, a device).
 */
#ifndef SLUICE_COMMAND_DESTINATION_H
#define SLUICE_COMMAND_DESTINATION_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sluice/files/remove.h"

enum destination_kind {
    DESTINATION_DIR,
    DESTINATION_FILE,
    DESTINATION_STREAM,
};

struct destination {
    enum destination_kind kind;
    int dir_fd;              /* DIR: the directory; FILE: the one that holds the file */
    int stream_fd;           /* STREAM: where its bytes are written */
    char base[NAME_MAX + 1]; /* FILE: the file's name in dir_fd */
    bool taken;     /* FILE, STREAM: a sender has offered a file, and no other is accepted */
    bool fsync;     /* sync each file to the disk before it gets its name; a stream at its end */
    bool overwrite; /* replace existing files */
    uint64_t max_bytes; /* of a file, larger ones are refused; 0: no limit */
    bool max_given;     /* by the user; else it is the size of the file system */
    uint32_t keep_s;    /* how long part files of interrupted transfers are kept; 0: not at all */
    mode_t mask;        /* the umask: permission bits that no file gets; 0 with sync */
    /* With sync, the directory is to become as the sender's. So what is there may be replaced, and
     * serves as a basis; modes and times of what is there are set, too. */
    bool sync;
    bool checksum;    /* sync: the content decides whether a file is there, not size and time */
    bool whole_files; /* sync: a changed file is sent whole, without a look at what is there */
    bool made;        /* sync: the directory was missing */
    bool dry_run;     /* sync: nothing is changed; dir_fd is -1 if the directory is missing */
    const struct remove_rules *clear; /* sync: how a directory that is in a file's way is removed,
                                         with what is in it; NULL: only an empty one is */
};

/* path: as given with -o ("-": standard output). Returns an exit code; the error is printed.
 * max_bytes is set to the size of the file system: a sender whose file is larger names holes, each
 * of which costs it 64 bytes and the receiver the hashing of up to 64 MiB. A stream has no limit.
 * A pipe is waited for until it has a reader; loop_end() and signals end that. */
int destination_open(struct destination *k, const char *path, bool overwrite);
/* For a sync: path is a directory, which is made if it is missing, unless in a dry run. Returns an
 * exit code; the error is printed. */
int destination_open_tree(struct destination *k, const char *path, bool dry_run);
void destination_close(struct destination *k);
/* All bytes of a stream were written: with k->fsync, has them stored. 0 or a negative errno, which
 * some file systems tell only now. */
int destination_stream_end(const struct destination *k);

/* Looks whether the file system has room for a file of `size` bytes without holes, of which the
 * first `have` are there, so that a full disk is known before anything is sent. *room_bytes: up to
 * where room is kept, for destination_room_keep(). 0, -ENOSPC or -EDQUOT. */
#define DESTINATION_NO_ROOM UINT64_MAX /* none is kept here */
int destination_room(int fd, uint64_t have, uint64_t size, uint64_t *room_bytes);
/* Has the disk keep room for what follows byte `at`, so that the file lies in few places; only some
 * of it, since its sender may send nothing. */
void destination_room_keep(int fd, uint64_t at, uint64_t size, uint64_t *room_bytes);

/* The umask. It can only be read by setting it, which is safe while there is one thread. */
mode_t destination_umask(void);

#endif
