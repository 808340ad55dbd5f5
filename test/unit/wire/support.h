/* SPDX-License-Identifier: BSD-3-Clause */
/* For all tests of lib/wire: addresses from text, and what bytes.hh has. */
#ifndef SLUICE_TEST_UNIT_WIRE_SUPPORT_H
#define SLUICE_TEST_UNIT_WIRE_SUPPORT_H

#include <cstring>

#include <gtest/gtest.h>

#include <rte_byteorder.h>
#include <rte_ether.h>

#include "bytes.hh"

extern "C" {
#include "wire/addr.h"
#include "wire/frame.h"
#include "wire/neigh.h"
#include "wire/packet.h"
}

inline struct addr addr_of(const char *text)
{
    struct addr a;

    EXPECT_EQ(addr_parse(text, &a), 0) << text;
    return a;
}

inline struct rte_ether_addr mac_of(const char *hex)
{
    struct rte_ether_addr mac;
    Bytes b = from_hex(hex);

    EXPECT_EQ(b.size(), sizeof mac.addr_bytes);
    std::memcpy(mac.addr_bytes, b.data(), sizeof mac.addr_bytes);
    return mac;
}

#endif
