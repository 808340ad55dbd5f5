/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts DPDK's EAL, or says in one line why it does not start; ends it. */
#ifndef COMMON_EAL_H
#define COMMON_EAL_H

#include <stddef.h>
#include <stdint.h>

/* Starts the EAL with argv. Unless argv chooses NICs, the EAL gets only the NICs among the n ports.
 * 0, or negative errno with "CAUSE; CURE" in err. */
int eal_start(const char *const *ports, uint32_t n, int argc, char **argv, char *err,
              size_t err_len);

/* Ends the EAL in place of rte_eal_cleanup(); call it when all devices are closed. From then on the
 * EAL's interrupt thread handles nothing more: a device may have left an event source to it (memif
 * leaves its listening socket), whose memory is unmapped here. */
void eal_stop(void);

#endif
