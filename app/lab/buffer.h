/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The experiment of the paper on multi-threshold control ([THRESHOLDS]), on lib/control/occupancy.
 * A sender always has data, and the line is full duplex. The receive buffer holds at most `buffer`
 * packets, including the one being processed. A host processes them, for a while more slowly. A
 * packet that finds no room is requested again at once, and is sent again in its turn, before new
 * ones.
 *
 * A perfect schedule, for comparison, knows the host's load in advance: each packet arrives when
 * the one before it begins to be processed, so that the buffer never runs empty and never
 * overflows.
 */
#ifndef LAB_BUFFER_H
#define LAB_BUFFER_H

#include "lab/result.h"
#include "lab/text.h"

/* Runs the world that section [buffer] describes, if t has no error so far. */
void buffer_run(struct text *t, const char *section, struct result *r);

#endif
