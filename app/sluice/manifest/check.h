/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares a directory with a manifest, and prints what differs. */
#ifndef SLUICE_COMMAND_CHECK_H
#define SLUICE_COMMAND_CHECK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "sluice/manifest/manifest.h"

struct check {
    const struct manifest *manifest;
    const char *dir;
    bool anywhere;        /* names may lead out of the directory */
    bool extra;           /* names that the manifest does not have are printed, too */
    bool verbose;         /* and those that are right */
    bool quiet;           /* no progress bar */
    unsigned int threads; /* 0: one for each processor, up to a limit */
    FILE *out;            /* gets a line for each name: a word, and the name */
    bool terminal;        /* it is one: names are made fit for it */
    struct stat own;      /* the manifest, which is no extra; st_ino 0: not known */
    int dir_fd;           /* set by check_run() */
    /* Results: */
    uint64_t right; /* files and links */
    uint64_t bytes; /* of the files that were read, right or not */
    uint64_t missing, differ, unread, extras;
};

/* Returns an exit code: SAY_TRANSFER if something is not as the manifest says, SAY_LOCAL if
 * something cannot be read. What cannot be read is printed as an error, too. */
int check_run(struct check *c);

#endif
