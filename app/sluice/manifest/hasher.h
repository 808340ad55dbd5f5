/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads files and computes their hashes, by several threads.
 *
 * Invariant: no file is opened that lies outside the root, or behind a symbolic link, unless its
 * job has a path of its own. done() is called for each job once, in order, by the caller's thread.
 */
#ifndef SLUICE_COMMAND_HASHER_H
#define SLUICE_COMMAND_HASHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/files/record.h"
#include "sluice/manifest/identity.h"

#define HASHER_THREADS_MAX 64

struct hasher_job {
    const char *name; /* name_check() passes it */
    const char *path; /* what is opened; NULL: the name, below the root */
    /* Results: */
    uint8_t hash[RECORD_HASH_BYTES];
    struct identity identity; /* the file when it was opened */
    /* 0, or a negative errno. -ENOENT: there is none; -EISDIR: the name is not that of a regular
     * file; -ESTALE: it changed while it was read; -ECANCELED: hasher_run() was stopped. */
    int err;
};

struct hasher {
    struct hasher_job *jobs;
    size_t n;
    int root_fd;          /* paths that are relative begin here, too */
    unsigned int threads; /* 0: one for each processor, up to a limit */
    bool stops;           /* loop_code() stops it */
    bool quiet;           /* no progress bar */
    uint64_t total_bytes; /* of all files, for the bar; 0: not known */
    void *context;
    void (*done)(void *context, struct hasher_job *job);
};

/* 0, -ECANCELED or -ENOMEM. */
int hasher_run(struct hasher *h);

#endif
