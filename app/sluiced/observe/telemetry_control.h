/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Telemetry of what only control may touch: control fetches it (control_call.h). arg: the command's
 * parameter, or NULL. Functions that fill `to` return 0 or negative errno.
 */
#ifndef SLUICED_TELEMETRY_CONTROL_H
#define SLUICED_TELEMETRY_CONTROL_H

#include <stdint.h>

#include <rte_telemetry.h>

#include "sluiced/daemon.h"

#define TELEMETRY_LIST RTE_TEL_MAX_ARRAY_ENTRIES /* names in one answer */

/* arg: PORT. */
int telemetry_capacity(const struct daemon *d, const char *arg, struct rte_tel_data *to);
/* arg: PORT for the newest decisions, or PORT,NUMBER for those from this number on. */
int telemetry_history(const struct daemon *d, const char *arg, struct rte_tel_data *to);
/* arg: PORT or PORT,INDEX: what was carried for each peer, from this index on. */
int telemetry_totals(const struct daemon *d, const char *arg, struct rte_tel_data *to);
/* arg: the first slot to look at, or none. */
int telemetry_clients(const struct daemon *d, const char *arg, struct rte_tel_data *to);
/* arg: the client's slot. */
int telemetry_client(const struct daemon *d, const char *arg, struct rte_tel_data *to);

/* A whole decimal number below the limit, or -1. */
int64_t telemetry_number(const char *text, uint64_t limit);

#endif
