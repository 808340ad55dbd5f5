/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a path does to a stream at an even rate ([ATM], figure 5 and table 1). The stream consists
 * of numbered cells, and the distances between lost cells are reported; or it consists of frames,
 * whose cells come one after the other on a line of the stream's rate.
 *
 *   [stream]  path, rate (of cells of 53 bytes, in bits on the line), cells (how many)
 *             frame: 0, or the bytes of an IP packet; skip: frames before counting begins
 */
#ifndef LAB_POLICED_H
#define LAB_POLICED_H

#include <stdint.h>

#include "lab/result.h"
#include "lab/text.h"

struct rte_mempool;

void policed_run(struct text *t, const char *section, uint64_t seed, struct rte_mempool *pool,
                 struct result *r);

#endif
