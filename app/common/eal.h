/* SPDX-License-Identifier: BSD-3-Clause */
/* Starting DPDK's EAL, and saying in one line why it does not start. */
#ifndef COMMON_EAL_H
#define COMMON_EAL_H

#include <stddef.h>
#include <stdint.h>

/* Starts it with argv, and of all NICs with those among the n ports only, unless argv chooses NICs
 * itself. 0, or negative errno with "CAUSE; CURE" in err. */
int eal_start(const char *const *ports, uint32_t n, int argc, char **argv, char *err,
              size_t err_len);

#endif
