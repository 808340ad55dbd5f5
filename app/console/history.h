/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lines that were typed at a console of one program, across its runs: in memory, where the line
 * editor finds them, and in the file sluice/PROGRAM.history below $XDG_STATE_HOME, else below
 * ~/.local/state (XDG Base Directory Specification), one line each.
 *
 * Each line is appended when it is typed, so consoles that run at once lose none. Without a folder
 * that can be written, there is history, but none that outlives the console; this is no error.
 */
#ifndef SLUICE_COMMAND_HISTORY_H
#define SLUICE_COMMAND_HISTORY_H

#include <stdbool.h>

#include <histedit.h>

struct history_file {
    History *lines; /* of libedit */
    char path[512]; /* "": no file */
};

/* Reads the file of this program. False: no memory. */
bool history_file_open(struct history_file *h, const char *program);
void history_file_close(struct history_file *h);
/* Adds a line, without its newline, unless it is blank or the same as the one before. */
void history_file_add(struct history_file *h, const char *line);

#endif
