/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The directories that were made for one sender and still wait for its DIR record. The sender may
 * set mode and time of these directories only, not of one that was there before or that was made
 * for another sender.
 *
 * At most MADE_DIRS_MAX directories are remembered, as many as one name can contain. If more are
 * made, the oldest are forgotten; they keep the mode they were made with.
 */
#ifndef SLUICE_COMMAND_MADE_DIRS_H
#define SLUICE_COMMAND_MADE_DIRS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sluice/files/record.h"

#define MADE_DIRS_MAX ((RECORD_NAME_MAX + 1) / 2)

struct made_dirs {
    uint32_t n;
    struct {
        dev_t dev;
        ino_t ino;
    } dirs[MADE_DIRS_MAX]; /* the oldest first */
};

/* Adds the open directory, which has just been made. */
void made_dirs_add(struct made_dirs *m, int fd);
/* Forgets the open directory. False if it was not remembered. */
bool made_dirs_take(struct made_dirs *m, int fd);

#endif
