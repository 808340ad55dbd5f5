// SPDX-License-Identifier: BSD-3-Clause
// Two hosts whose packets are sealed, and what an attacker on the path sees of these.
#ifndef SLUICE_TEST_SIM_SEALED_HH
#define SLUICE_TEST_SIM_SEALED_HH

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <tuple>

#include "pair.hh"
#include "whole_pools.hh"

extern "C" {
#include "wire/assoc.h"
}

// What a frame of Sluice is; type 0: it is none.
struct Seen {
    int type = 0;
    uint32_t association = 0, payload_off = 0, payload_len = 0;
    uint64_t number = 0; // of its trailer
};

inline Seen look(const rte_mbuf *m)
{
    const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);
    struct frame f;
    wire_header h;
    Seen s;

    if (frame_parse(p, m->data_len, m->pkt_len, &f) != FRAME_UDP ||
        wire_parse_header(p + f.payload_off, f.payload_len, &h) != WIRE_OK)
        return s;
    s = {h.type, h.association, f.payload_off, f.payload_len, 0};
    if (h.association != 0)
        s.number = wire_parse_trailer(p + f.payload_off + f.payload_len - WIRE_TRAILER_BYTES);
    return s;
}

// Two hosts that demand associations, and a ledger of the numbers under which packets were sealed:
// none may occur twice.
class Sealed : public WholePools
{
  protected:
    PairOptions o;
    std::set<std::tuple<uint32_t, uint32_t, uint64_t>> ledger;
    uint64_t plain = 0; // packets of FIRST, DATA and CNTL that were not sealed
    // Further work of fate().
    std::function<void(uint32_t from, rte_mbuf *m, const Seen &s, world_fate *fate)> path;

    Sealed()
    {
        o.control_ns = 1000000;
        o.security = HOST_SECURITY_REQUIRED;
        o.fate = [this](uint32_t from, rte_mbuf *m, uint64_t, world_fate *fate) {
            Seen s = look(m);

            if (s.association != 0) {
                EXPECT_TRUE(ledger.insert({from, s.association, s.number}).second)
                    << "number " << s.number << " was used twice";
            } else if (s.type >= WIRE_FIRST && s.type <= WIRE_CNTL) {
                plain++;
            }
            if (path)
                path(from, m, s, fate);
        };
    }

    void TearDown() override
    {
        EXPECT_EQ(plain, 0u);
        WholePools::TearDown();
    }

    void transfer(size_t packets = 1400)
    {
        Pair p(o);

        p.open();
        for (uint64_t len : {0ul, 1ul, 1383ul, 1384ul, 1385ul, 100000ul, 1000000ul}) {
            p.recv(len);
            p.send(len);
            p.recv_back(len);
            p.send_back(len);
        }
        EXPECT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
        EXPECT_TRUE(p.finish()) << p.state();
        for (host *h : {p.a(), p.b()}) {
            EXPECT_EQ(host_counter_named(h, "drop_seal"), 0u);
            EXPECT_EQ(host_counter_named(h, "drop_plain"), 0u);
            EXPECT_EQ(host_counter_named(h, "drop_association"), 0u);
            EXPECT_EQ(host_counter_named(h, "drop_replay"), 0u);
        }
        EXPECT_GT(ledger.size(), packets);
    }
};

#endif
