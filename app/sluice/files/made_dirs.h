/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The directories that were made for one sender, and whose mode and time it has not said yet. Only
 * those are its to change: one that was there before, or that another sender made, is not.
 *
 * At most MADE_DIRS_MAX are remembered, as many as one name can lead through; of more, the oldest
 * are forgotten and keep the mode they were made with.
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

/* The open directory was made just now. */
void made_dirs_add(struct made_dirs *m, int fd);
/* True if it is one of them; then it no longer is. */
bool made_dirs_take(struct made_dirs *m, int fd);

#endif
