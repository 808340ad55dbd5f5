/* SPDX-License-Identifier: BSD-3-Clause */
/* What the box has done: a table for people, JSON for programs (fields: sluice-emu(8)). */
#ifndef EMU_REPORT_H
#define EMU_REPORT_H

#include <stdio.h>

#include "emu/box.h"

/* Prints the counters since the paths were made. */
void report_show(const struct box *b, FILE *out);
/* Prints one line: the rates since the last call, when the counters were those in *last. */
struct report_rates {
    uint64_t at, rx[2], tx[2], bytes[2], dropped[2];
};
void report_rates(const struct box *b, struct report_rates *last, FILE *out);
/* Writes all counters as JSON to a file, whole or not at all; "-" is stdout. Returns 0 or negative
 * errno. */
int report_json(const struct box *b, const char *path);

#endif
