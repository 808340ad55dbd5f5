/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts DPDK's EAL, or says in one line why it does not start. */
#ifndef COMMON_EAL_H
#define COMMON_EAL_H

#include <stddef.h>
#include <stdint.h>

/* Starts the EAL with argv. Unless argv chooses NICs, the EAL gets only the NICs among the n ports.
 * 0, or negative errno with "CAUSE; CURE" in err. */
int eal_start(const char *const *ports, uint32_t n, int argc, char **argv, char *err,
              size_t err_len);

#endif
