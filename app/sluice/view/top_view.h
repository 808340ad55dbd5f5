/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A page of `sluice top`: a struct top as lines of text that fit a terminal.
 *
 * Invariant: whatever the data are, the page has at most `rows` lines, and no line is wider than
 * `columns`. No byte of it controls the terminal, except for colours if they are wanted.
 */
#ifndef SLUICE_COMMAND_TOP_VIEW_H
#define SLUICE_COMMAND_TOP_VIEW_H

#include <stdbool.h>
#include <stdio.h>

#include "sluice/view/top_data.h"

#define TOP_FILTER_MAX 40

struct top_view {
    unsigned rows, columns;
    bool utf8, colours;
    enum top_order order;
    bool backward, paused, help;
    bool typing; /* the filter is being typed */
    char filter[TOP_FILTER_MAX];
    size_t first;   /* index of the flow at the top of the list; top_view() keeps it in range */
    size_t visible; /* out: how many flows there was room for */
};

/* Writes the page; the last line ends without \n. */
void top_view(const struct top *t, struct top_view *v, FILE *out);

#endif
