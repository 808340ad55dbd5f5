/* SPDX-License-Identifier: BSD-3-Clause */
/* Are the paths of emulated wires good? Needs the EAL's memory, as they do: config_load() does not
 * look at them. */
#ifndef SLUICED_CONFIG_WIRE_H
#define SLUICED_CONFIG_WIRE_H

#include <stddef.h>

#include "sluiced/config/config.h"

/* c was loaded from this file. 0, or -EINVAL with a line as config_load() has it. */
int config_wire_check(const struct config *c, const char *path, char *err, size_t err_len);
/* The same, for a process without EAL: starts one that touches no device and no hugepage. */
int config_wire_check_alone(const struct config *c, const char *path, char *err, size_t err_len);

#endif
