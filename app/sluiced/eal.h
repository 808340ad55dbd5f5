/* SPDX-License-Identifier: BSD-3-Clause */
/* Starting DPDK's EAL, and saying in one line why it does not start. */
#ifndef SLUICED_EAL_H
#define SLUICED_EAL_H

#include <stddef.h>

#include "sluiced/config.h"

/* Starts it with argv and what the configuration implies. 0, or negative errno with "CAUSE; CURE"
 * in err. */
int eal_start(const struct config *c, int argc, char **argv, char *err, size_t err_len);

#endif
