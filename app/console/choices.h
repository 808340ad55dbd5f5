/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion: what may end a console's line (words of the grammar, values, files). */
#ifndef SLUICE_COMMAND_CHOICES_H
#define SLUICE_COMMAND_CHOICES_H

#include "console/console.h"

#define CHOICES_MAX 128
#define CHOICE_MAX  256

struct choices {
    char word[CHOICES_MAX][CHOICE_MAX];
    unsigned n;
    char hints[512]; /* for values that cannot be listed: what may be written, with an example */
    /* Private to choices.c. */
    const struct console *console;
    const char *begun;
};

/* Finds the choices that begin like the last word of `line`. ch keeps a pointer into `line`, which
 * must stay as it is until the next call. */
void choices_find(struct choices *ch, const struct console *c, const char *line);
/* Sets `more` to the text that all choices have in common beyond the line, so that it can be
 * appended; "": there is none. */
void choices_more(const struct choices *ch, char *more, size_t more_len);
/* Prints the choices on stdout, in columns, below the line that is being written. */
void choices_print(const struct choices *ch);

#endif
