// SPDX-License-Identifier: BSD-3-Clause
// The simulator's receive-side scaling hashes like NICs. The vectors are those with which drivers
// are tested: Microsoft, "Verifying the RSS hash calculation".
#include <gtest/gtest.h>

#include <cstring>
#include <string>

extern "C" {
#include "sim/rss.h"
#include "wire/frame.h"
#include "wire/neigh.h"
}

namespace
{

struct Vector {
    const char *dst;
    uint16_t dport;
    const char *src;
    uint16_t sport;
    uint32_t addresses, ports; // the hash of the addresses only, and of ports, too
};

const Vector kVectors[] = {
    {"161.142.100.80", 1766, "66.9.149.187", 2794, 0x323e8fc2, 0x51ccc178},
    {"65.69.140.83", 4739, "199.92.111.2", 14230, 0xd718262a, 0xc626b0ea},
    {"12.22.207.184", 38024, "24.19.198.95", 12898, 0xd2d0a5de, 0x5c2b394a},
    {"3ffe:2501:200:3::1", 1766, "3ffe:2501:200:1fff::7", 2794, 0x2cc18cd5, 0x40207d3d},
    {"ff02::1", 4739, "3ffe:501:8::260:97ff:fe40:efab", 14230, 0x0f0c461c, 0xdde51bbf},
};

frame_route route_of(const Vector &v)
{
    frame_route r = {};

    r.vlan = FRAME_VLAN_NONE;
    addr_parse(v.src, &r.src);
    addr_parse(v.dst, &r.dst);
    r.sport = v.sport;
    r.dport = v.dport;
    return r;
}

// The table is as large as it can be, and each entry is its own index, so it shows the hash.
rss plain()
{
    rss r;

    rss_init(&r, 1);
    r.reta_size = RSS_RETA_MAX;
    for (uint16_t i = 0; i < RSS_RETA_MAX; i++)
        r.reta[i] = i;
    return r;
}

TEST(Rss, HashesAsTheVectorsSay)
{
    rss r = plain();

    for (const Vector &v : kVectors) {
        uint8_t bytes[128] = {};
        frame_route route = route_of(v);
        uint32_t len = frame_put(bytes, &route, 0);

        EXPECT_EQ(rss_queue(&r, bytes, len), v.ports % RSS_RETA_MAX) << v.src;
        r.udp4 = r.udp6 = false;
        EXPECT_EQ(rss_queue(&r, bytes, len), v.addresses % RSS_RETA_MAX) << v.src;
        r.udp4 = r.udp6 = true;
    }
}

TEST(Rss, HashesAllThirtyTwoBits)
{
    // the first vector as bytes: source, destination, source port, destination port
    const uint8_t tuple[12] = {66,  9,  149,       187,         161,       142,
                               100, 80, 2794 >> 8, 2794 & 0xff, 1766 >> 8, 1766 & 0xff};
    rss r = plain();

    EXPECT_EQ(rss_hash(&r, tuple, 8), 0x323e8fc2u);
    EXPECT_EQ(rss_hash(&r, tuple, 12), 0x51ccc178u);
}

// Answers to neighbour solicitations are hashed by their addresses; ARP is not hashed at all.
TEST(Rss, NeighboursAnswersAreHashedOverIpv6Only)
{
    rss r = plain();
    rte_ether_addr mac = {{2, 0, 0, 0, 0, 1}};

    for (const Vector &v : kVectors) {
        uint8_t bytes[NEIGH_FRAME_MAX] = {};
        frame_route route = route_of(v);
        uint16_t len = neigh_put_reply(bytes, &mac, &route.src, &mac, &route.dst, FRAME_VLAN_NONE);
        uint32_t expected = addr_is_v4(&route.src) ? 0 : v.addresses;

        EXPECT_EQ(rss_queue(&r, bytes, len), expected % RSS_RETA_MAX) << v.src;
        r.ip6 = false;
        EXPECT_EQ(rss_queue(&r, bytes, len), 0u) << v.src;
        r.ip6 = true;
    }
}

} // namespace
