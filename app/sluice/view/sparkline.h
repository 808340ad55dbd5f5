/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The last minute of a rate, second by second, and its text as a line of small bars.
 *
 * Invariant: bin s % SPARKLINE_BINS holds the bytes that moved in second s of CLOCK_MONOTONIC, for
 * the SPARKLINE_BINS newest seconds; seconds before the first report are not known.
 */
#ifndef SLUICE_COMMAND_SPARKLINE_H
#define SLUICE_COMMAND_SPARKLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPARKLINE_SECONDS  60
#define SPARKLINE_BINS     (SPARKLINE_SECONDS + 1) /* the newest second is not over */
#define SPARKLINE_TEXT_MAX (SPARKLINE_SECONDS * 3 + 1)

struct sparkline {
    double bytes[SPARKLINE_BINS];
    uint64_t first, newest; /* seconds; newest 0: nothing was reported yet */
};

/* Reports bytes that moved, evenly, between two times. Times do not go back. */
void sparkline_add(struct sparkline *s, uint64_t from_ns, uint64_t to_ns, double bytes);
/* The largest rate of the bars that sparkline_text() draws with so many columns, bytes/s. */
double sparkline_max(const struct sparkline *s, unsigned columns);
/* A bar for each 60 / columns seconds, newest last; columns divides 60. A bar of full height stands
 * for max_Bps; a blank: nothing was moved, or nothing is known. UTF-8 or ASCII, always `columns`
 * places wide. out: SPARKLINE_TEXT_MAX. */
const char *sparkline_text(const struct sparkline *s, unsigned columns, double max_Bps, bool utf8,
                           char *out);

#endif
