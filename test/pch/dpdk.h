/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SLUICE_TEST_PCH_DPDK_H
#define SLUICE_TEST_PCH_DPDK_H

/* Headers that sources on DPDK include, compiled once for each target. They declare none of the
 * sockets API, so they take no names from sources without it. */

#define ALLOW_EXPERIMENTAL_API /* because some of the sources define it */
#include <rte_malloc.h>
#include <rte_mbuf.h>

#endif
