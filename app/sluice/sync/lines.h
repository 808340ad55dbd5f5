/* SPDX-License-Identifier: BSD-3-Clause */
/* The lines of a file of patterns or names. */
#ifndef SLUICE_COMMAND_LINES_H
#define SLUICE_COMMAND_LINES_H

/* Hands each line to take(), but for empty ones and those that begin with # or ;. take() returns
 * NULL, or what is wrong with the line. path "-": standard input. Returns an exit code; the error
 * is printed. */
int lines_read(const char *path, const char *(*take)(void *context, const char *line),
               void *context);

#endif
