/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One trial of a throughput search (RFC 9971, section 4.4.3; RFC 2544, section 23): frames at an
 * even rate through a path and, if there is one, into a host behind it. Whatever leaves this device
 * until `linger` after the last frame was sent has been received.
 *
 *   [trial]  path, rate (frames a second), for, frame (bytes without CRC), flows, linger, frames
 *            service: bytes of frames a second that a host takes out of its ring; 0: no host
 *            ring: frames that wait for the host at most
 *
 * Invariant: sent >= received. A frame that comes again counts as a duplicate, and as nothing else.
 */
#ifndef LAB_TRIAL_H
#define LAB_TRIAL_H

#include <stdint.h>

#include "lab/pools.h"
#include "lab/result.h"
#include "lab/text.h"

/* Runs the trial, if t has no error so far. Makes new pools if the trial needs others. */
void trial_run(struct text *t, const char *section, uint64_t seed, struct scenario_pools *pools,
               struct result *r);
/* The memory that the trial takes, if t has no error so far. */
struct scenario_memory trial_size(struct text *t, const char *section);

#endif
