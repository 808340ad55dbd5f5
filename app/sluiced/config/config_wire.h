/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks the paths of emulated wires. Making paths needs the EAL's memory, so config_load() does
 * not check them. */
#ifndef SLUICED_CONFIG_WIRE_H
#define SLUICED_CONFIG_WIRE_H

#include <stddef.h>

#include "sluiced/config/config.h"

/* path: the file that c was read from. 0, or -EINVAL with a line in err like config_load()'s. */
int config_wire_check(const struct config *c, const char *path, char *err, size_t err_len);
/* As config_wire_check(), but first starts an EAL, which touches no device and no hugepage. */
int config_wire_check_alone(const struct config *c, const char *path, char *err, size_t err_len);

#endif
