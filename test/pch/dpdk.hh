// SPDX-License-Identifier: BSD-3-Clause
#ifndef SLUICE_TEST_PCH_DPDK_HH
#define SLUICE_TEST_PCH_DPDK_HH

// The same for tests of what is made of DPDK.
#include "gtest.hh"

extern "C" {
#include <rte_ethdev.h>
#include <rte_mbuf.h>
}

#endif
