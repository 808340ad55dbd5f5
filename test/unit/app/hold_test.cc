// SPDX-License-Identifier: BSD-3-Clause
// How many received frames a queue holds at least, before its port refuses one.
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

// net_ixgbe fills 32 descriptors at a time, and no driver waits for half of them.
TEST(Hold, HalfOfItsDescriptors)
{
    EXPECT_EQ(least("net_ixgbe", 1024), 512u);
    EXPECT_EQ(least("net_af_xdp", 4096), 2048u);
    EXPECT_EQ(least("net_null", 1), 1u) << "0 would say that it refuses none";
}

// DFLT_FRAME_COUNT of rte_eth_af_packet.c, ETH_MEMIF_DEFAULT_RING_SIZE of rte_eth_memif.h,
// TUN_READQ_SIZE of the kernel's tun.c: queue_size does not change these.
TEST(Hold, SomeDriversHaveASizeOfTheirOwn)
{
    EXPECT_EQ(least("net_af_packet", 4096), 256u);
    EXPECT_EQ(least("net_memif", 4096), 512u);
    EXPECT_EQ(least("net_tap", 4096), 250u);
}
