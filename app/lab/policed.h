/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a path does to a stream at an even rate ([ATM], figure 5 and table 1). The stream consists
 * of numbered cells, and the distances between lost cells are reported; or it consists of frames,
 * whose cells come one after the other on a line of the stream's rate.
 *
 *   [stream]  path, rate (of cells of 53 bytes, in bits on the line), cells (how many)
 *             frame: 0, or the bytes of an IP packet; skip: frames before counting begins
 *             frames (under way)
 *
 * What is on the path when the source ends still arrives. Neither a copy counts, nor, in a stream
 * of cells, one that comes behind a later one (sim/cells.h).
 */
#ifndef LAB_POLICED_H
#define LAB_POLICED_H

#include <stdint.h>

#include "lab/pools.h"
#include "lab/result.h"
#include "lab/text.h"

/* Runs the stream, if t has no error so far. Makes new pools if the stream needs others. */
void policed_run(struct text *t, const char *section, uint64_t seed, struct scenario_pools *pools,
                 struct result *r);
/* The memory that the stream takes, if t has no error so far. */
struct scenario_memory policed_size(struct text *t, const char *section);

#endif
