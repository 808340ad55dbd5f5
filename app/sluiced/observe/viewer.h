/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What users see: root and the daemon's own user see everything. Others see what belongs to their
 * user, and totals. A view that leaves something out for that reason says so, in a member
 * "only_uid". Used on the control lcore.
 */
#ifndef SLUICED_VIEWER_H
#define SLUICED_VIEWER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "sluiced/daemon.h"

bool viewer_sees_conn(const struct daemon *d, const struct access_user *viewer,
                      const struct host_conn_info *c);
/* Writes the beginning of a view as JSON text: {"uptime_ns": ..., "WHAT":[ */
void viewer_begin(FILE *f, const struct access_user *viewer, uint64_t uptime_ns, const char *what);

#endif
