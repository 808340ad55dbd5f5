/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds Sluice's other programs. */
#ifndef SLUICE_COMMAND_PROGRAM_H
#define SLUICE_COMMAND_PROGRAM_H

#include <stddef.h>

/* Path of the program `name` beside this one, or in the build tree; else the name itself, to be
 * found in the PATH. out: a buffer for the path. */
const char *program_find(const char *name, char *out, size_t out_len);

#endif
