/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion for shells: `sluice complete WORD...` prints what may stand in the place of the last
 * word, one candidate in a line, with a tab and a description behind it. The scripts in
 * config/completion call it. Commands, views and options come from the help texts, the console's
 * words from its grammar, so none of them is listed twice. Nothing is asked of a daemon. Where the
 * shell should offer files, nothing is printed.
 */
#ifndef SLUICE_COMMAND_COMPLETE_H
#define SLUICE_COMMAND_COMPLETE_H

#include <stddef.h>

#include "sluice/command.h"

/* Prints the candidates for the last of `count` words, which follow the program's name. help: the
 * program's own. Returns an exit code (say.h). */
int complete_print(const struct command *commands, size_t n, const char *help, int count,
                   char *const *words);

#endif
