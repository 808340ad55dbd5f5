/* SPDX-License-Identifier: BSD-3-Clause */
/* What may stand where a line of a console ends: words of the grammar, values, files. */
#ifndef SLUICE_COMMAND_CHOICES_H
#define SLUICE_COMMAND_CHOICES_H

#include "console/console.h"

#define CHOICES_MAX 128
#define CHOICE_MAX  256

struct choices {
    char word[CHOICES_MAX][CHOICE_MAX];
    unsigned n;
    char hints[512]; /* values that only people know */
    /* Ours. */
    const struct console *console;
    const char *begun;
};

/* Those that begin as the last word of line does, which must stay until the next. */
void choices_find(struct choices *ch, const struct console *c, const char *line);
/* What the line can go on with without a choice being made; "": nothing. */
void choices_more(const struct choices *ch, char *more, size_t more_len);
/* On stdout, in columns, below the line that is being written. */
void choices_print(const struct choices *ch);

#endif
