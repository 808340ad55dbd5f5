/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory is unmapped only when no polling loop can be using it any more. When a memif peer
 * vanishes, net_memif (to 25.11 at least) marks the port as not connected and unmaps its rings at
 * once, on DPDK's interrupt thread, while a loop may be in the middle of a burst: a killed peer
 * then takes the program along, in about one of ten cases. So programs that link this have a
 * munmap() of their own, which lets every loop finish its iteration first.
 *
 * Invariant: what a thread other than a loop's unmaps was unreachable, as that thread left it, for
 * at least one whole iteration of each running loop.
 */
#ifndef COMMON_GRACE_H
#define COMMON_GRACE_H

#include <stdbool.h>

/* From here on wait(ctx) is called before memory goes: it returns when every loop has finished an
 * iteration that began after the call, or does not run. NULL: no longer. */
void grace_set(void (*wait)(void *ctx), void *ctx);
/* This thread is a loop's, which waits for nobody; or no longer. */
void grace_loop(bool is);

#endif
