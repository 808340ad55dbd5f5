/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory is unmapped only when no worker can be using it any more. When a memif peer vanishes,
 * net_memif (to 25.11 at least) marks the port as not connected and unmaps its rings at once, on
 * DPDK's interrupt thread, while a worker may be in the middle of a burst: a killed peer then takes
 * the daemon along, in about one of ten cases. So this program has a munmap() of its own, which
 * lets every worker finish its iteration first.
 *
 * Invariant: what a thread other than a worker unmaps was unreachable, as that thread left it, for
 * at least one whole iteration of each running worker.
 */
#ifndef SLUICED_GRACE_H
#define SLUICED_GRACE_H

#include <stdint.h>

#include "sluiced/worker.h"

/* From here on the workers are waited for; n = 0: no longer. */
void grace_set(const struct worker *workers, uint32_t n);

#endif
