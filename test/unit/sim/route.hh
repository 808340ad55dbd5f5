// SPDX-License-Identifier: BSD-3-Clause
// Routes between the two ends of a line: 10.0.0.1 is at end 0, 10.0.0.2 at end 1.
#ifndef SLUICE_TEST_UNIT_SIM_ROUTE_HH
#define SLUICE_TEST_UNIT_SIM_ROUTE_HH

#include <cstdint>

extern "C" {
#include "wire/addr.h"
#include "wire/frame.h"
}

inline frame_route route(uint32_t from, uint16_t sport, uint16_t dport)
{
    frame_route r = {};

    r.src_mac = {{2, 0, 0, 0, 0, static_cast<uint8_t>(from + 1)}};
    r.dst_mac = {{2, 0, 0, 0, 0, static_cast<uint8_t>(2 - from)}};
    r.vlan = FRAME_VLAN_NONE;
    r.src = addr_from_v4(0x0a000001 + from);
    r.dst = addr_from_v4(0x0a000002 - from);
    r.sport = sport;
    r.dport = dport;
    return r;
}

#endif
