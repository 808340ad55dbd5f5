// SPDX-License-Identifier: BSD-3-Clause
// The number of received frames that a queue holds at least before its port refuses one.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

extern "C" {
#include "sluiced/port/port.h"
}

namespace
{

uint32_t least(const char *driver, uint16_t rx_desc)
{
    rte_eth_dev_info info = {};
    port p = {};

    std::snprintf(p.driver, sizeof p.driver, "%s", driver);
    p.is_memif = std::string(driver) == "net_memif";
    p.rx_desc = rx_desc;
    port_hold(&p, &info);
    return p.rx_min;
}

} // namespace

// net_ixgbe refills 32 descriptors at a time. No driver waits until half of them are empty.
TEST(Hold, HalfOfItsDescriptors)
{
    EXPECT_EQ(least("net_ixgbe", 1024), 512u);
    EXPECT_EQ(least("net_af_xdp", 4096), 2048u);
    EXPECT_EQ(least("net_null", 1), 1u) << "0 would mean that the port refuses no frame";
}

// net_af_packet has DFLT_FRAME_COUNT (rte_eth_af_packet.c), net_memif ETH_MEMIF_DEFAULT_RING_SIZE
// (rte_eth_memif.h), and net_tap TUN_READQ_SIZE (the kernel's tun.c). queue_size changes none of
// them.
TEST(Hold, SomeDriversHaveASizeOfTheirOwn)
{
    EXPECT_EQ(least("net_af_packet", 4096), 256u);
    EXPECT_EQ(least("net_memif", 4096), 512u);
    EXPECT_EQ(least("net_tap", 4096), 250u);
}
