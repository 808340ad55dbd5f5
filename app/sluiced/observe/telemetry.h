/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The daemon's commands on DPDK's telemetry socket: /sluice/..., as in doc/telemetry.md. EAL
 * threads answer them, several at a time, from what workers publish. Only control reads what
 * control owns: an EAL thread has it do so (control_call.h). Only the client that asks waits for an
 * answer.
 */
#ifndef SLUICED_TELEMETRY_H
#define SLUICED_TELEMETRY_H

struct daemon;

/* To be called once all of the daemon exists. A command that cannot be registered is left out,
 * and a line says so. */
void telemetry_start(const struct daemon *d);
/* Waits for answers under way. From here on there are none, and the daemon may be taken down. */
void telemetry_stop(void);

#endif
