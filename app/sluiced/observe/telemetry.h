/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The daemon on DPDK's telemetry socket: commands /sluice/..., as in doc/telemetry.md. Threads of
 * the EAL answer them, several at a time, from what workers publish; what is control's, control
 * fetches (control_call.h). Only the asker waits for them.
 */
#ifndef SLUICED_TELEMETRY_H
#define SLUICED_TELEMETRY_H

struct daemon;

/* Once all of the daemon is there; what cannot be had is said, and done without. */
void telemetry_start(const struct daemon *d);
/* Waits for answers under way; from here on there are none, and the daemon may be taken down. */
void telemetry_stop(void);

#endif
