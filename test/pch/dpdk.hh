// SPDX-License-Identifier: BSD-3-Clause
#ifndef SLUICE_TEST_PCH_DPDK_HH
#define SLUICE_TEST_PCH_DPDK_HH

// Headers that most tests of code on DPDK include, compiled once for each program.
#include "gtest.hh"

extern "C" {
#include <rte_ethdev.h>
#include <rte_mbuf.h>
}

#endif
