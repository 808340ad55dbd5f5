// SPDX-License-Identifier: BSD-3-Clause
// Packets as frames, and frames as mbufs.
#ifndef SLUICE_TEST_SIM_FRAMED_HH
#define SLUICE_TEST_SIM_FRAMED_HH

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

extern "C" {
#include <rte_mbuf.h>

#include "host/host.h"
#include "wire/frame.h"
}

// From one host to another, with Sluice's UDP port at both ends.
inline frame_route route_between(const host_config &from, const host_config &to, bool ipv6)
{
    frame_route r = {};

    r.src_mac = from.mac;
    r.dst_mac = to.mac;
    r.vlan = FRAME_VLAN_NONE;
    r.src = from.address[ipv6];
    r.dst = to.address[ipv6];
    r.sport = r.dport = WIRE_UDP_PORT;
    return r;
}

// A packet as a frame.
inline std::vector<uint8_t> framed(const frame_route &r, const uint8_t *p, uint32_t len)
{
    std::vector<uint8_t> f(frame_header_len(&r) + len);
    uint16_t head = frame_put(f.data(), &r, len);

    std::memcpy(f.data() + head, p, len);
    frame_set_udp_sum(f.data(), &r, len, frame_sum(p, len));
    return f;
}

// A frame in an mbuf of the pool.
inline rte_mbuf *mbuf_of(rte_mempool *pool, const uint8_t *p, size_t len)
{
    rte_mbuf *m = rte_pktmbuf_alloc(pool);

    if (m == nullptr)
        throw std::runtime_error("no mbuf");
    std::memcpy(rte_pktmbuf_append(m, static_cast<uint16_t>(len)), p, len);
    return m;
}

inline rte_mbuf *mbuf_of(rte_mempool *pool, const std::vector<uint8_t> &f)
{
    return mbuf_of(pool, f.data(), f.size());
}

#endif
