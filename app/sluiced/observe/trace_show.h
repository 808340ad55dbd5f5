/* SPDX-License-Identifier: BSD-3-Clause */
/* Shows the rings of latest events as JSON (`sluice show trace`), and has a crash write them. */
#ifndef SLUICED_TRACE_SHOW_H
#define SLUICED_TRACE_SHOW_H

#include <stdint.h>

#include "sluiced/daemon.h"

/* {"uptime_ns": ..., "trace": [...]} to free(), or NULL. Events of connections are for viewers that
 * see everything: a connection's number may have been another user's. */
char *trace_show(const struct daemon *d, const struct access_user *viewer, uint64_t uptime_ns);
/* From here on until crash_stop(), a crash writes the rings' events. */
void trace_guard(const struct daemon *d);

#endif
