/* SPDX-License-Identifier: BSD-3-Clause */
/* A path that leads to an open file itself, whatever has its name meanwhile: for system calls that
 * take no descriptor, or none of O_PATH. */
#ifndef SLUICE_COMMAND_FD_PATH_H
#define SLUICE_COMMAND_FD_PATH_H

#include <stdio.h>

#define FD_PATH_MAX 32

static inline const char *fd_path(char path[FD_PATH_MAX], int fd)
{
    snprintf(path, FD_PATH_MAX, "/proc/self/fd/%d", fd);
    return path;
}

#endif
