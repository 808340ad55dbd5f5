/* SPDX-License-Identifier: BSD-3-Clause */
/* Ports and their workers by the names that people see. [any] thread. */
#ifndef SLUICED_NAMES_H
#define SLUICED_NAMES_H

#include "sluiced/daemon.h"

#define LANE_NAME_MAX (CONFIG_NAME_MAX + 24)

/* The port's index, or -1. */
int port_by_name(const struct daemon *d, const char *name);

/* "PORT/WORKER"; returns name. */
const char *lane_name(const struct lane *l, char name[LANE_NAME_MAX]);

/* NULL: none has that name, or it is NULL. */
const struct lane *lane_by_name(const struct daemon *d, const char *wanted);

#endif
