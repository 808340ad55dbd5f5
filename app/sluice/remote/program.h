/* SPDX-License-Identifier: BSD-3-Clause */
/* Where Sluice's other programs are. */
#ifndef SLUICE_COMMAND_PROGRAM_H
#define SLUICE_COMMAND_PROGRAM_H

#include <stddef.h>

/* The program of that name beside this one, or that of the build tree; else the name itself, for
 * the PATH. out: where it may be written. */
const char *program_find(const char *name, char *out, size_t out_len);

#endif
