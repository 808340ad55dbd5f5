/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps memory mapped until no polling loop can be using it. When a memif peer vanishes, net_memif
 * (to 25.11 at least) marks the port as not connected and at once unmaps its rings, on DPDK's
 * interrupt thread, while a loop may be in the middle of a burst. In about one of ten cases, the
 * program then crashes when a peer is killed. So programs that link this have a munmap() of their
 * own, which first lets every loop finish its iteration. (drivers/device.h mends what else is wrong
 * when peers come and go.)
 *
 * Invariant: when a thread other than a loop's unmaps memory, each running loop has run at least
 * one whole iteration since that thread made the memory unreachable.
 */
#ifndef COMMON_GRACE_H
#define COMMON_GRACE_H

#include <stdbool.h>

/* From now on wait(ctx) is called before memory is unmapped. wait() must not return before every
 * loop that runs has finished an iteration that began after the call. NULL: no more calls. */
void grace_set(void (*wait)(void *ctx), void *ctx);
/* true: this thread runs a loop, so its own munmap() does not wait; false: it no longer runs
 * one. */
void grace_loop(bool is);

#endif
