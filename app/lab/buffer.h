/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The experiment of the paper on multi-threshold control ([THRESHOLDS]), on lib/control/occupancy:
 * a sender that always has data, a full-duplex line, a receive buffer of some packets, the one
 * being processed among them, and a host that processes them, for a while more slowly. A packet
 * that finds no room is asked for at once, and sent again in its turn, before new ones.
 *
 * A perfect schedule, for comparison, knows the host's load beforehand: each packet arrives when
 * the one before it begins to be processed, so that the buffer never runs empty and never over.
 */
#ifndef LAB_BUFFER_H
#define LAB_BUFFER_H

#include "lab/result.h"
#include "lab/text.h"

/* Runs the world that section [buffer] describes, if t is right so far. */
void buffer_run(struct text *t, const char *section, struct result *r);

#endif
