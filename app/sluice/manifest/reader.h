/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads a manifest from a file.
 *
 * Invariant: what was read has names of name_check() only, unless the user trusts the file, so that
 * none leads out of the directory that is checked.
 */
#ifndef SLUICE_COMMAND_READER_H
#define SLUICE_COMMAND_READER_H

#include "sluice/manifest/manifest.h"

/*
 * Reads the file ("-": standard input), and sorts it. Every line must be right, no two may
 * contradict each other, and a manifest of sluice must have its last line. anywhere: names may be
 * absolute, or have "..". Returns an exit code; errors are printed, with the number of the line.
 */
int reader_read(struct manifest *m, const char *path, bool anywhere);

#endif
