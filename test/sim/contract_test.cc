// SPDX-License-Identifier: BSD-3-Clause
// Connections with a traffic contract. The path emulator's algorithm checks every frame that leaves
// a host, with no tolerance beyond the contract's. Some ports send each frame at a given time.
#include <gtest/gtest.h>

#include "../unit/pace/police.h"
#include "pair.hh"
#include "whole_pools.hh"

namespace
{

constexpr uint64_t kUs = 1000;
constexpr uint64_t kPeak = 12500000; // 100 Mbit/s
constexpr uint64_t kUnit = 1500 + 18;
constexpr uint64_t kRequest = 1000000;

class Contracts : public WholePools
{
  protected:
    PairOptions options(const contract_config &cfg)
    {
        PairOptions o;

        o.contract = cfg;
        o.sum = HOST_SUM_NONE; // so that note() may write peak_in into CNTL
        o.burst_first = 100000;
        watch(cfg);
        o.fate = [this](uint32_t from, rte_mbuf *m, uint64_t now, world_fate *) {
            note(from, m, now);
        };
        return o;
    }

    // Sets up a policer for the frames of each host.
    void watch(contract_config cfg)
    {
        cfg.unit_bytes = kUnit;
        police.assign(2, Police(cfg, WORLD_HZ));
    }

    void note(uint32_t from, rte_mbuf *m, uint64_t now)
    {
        uint8_t *p = rte_pktmbuf_mtod(m, uint8_t *);
        struct frame f;
        wire_header h;

        if (frame_parse(p, m->data_len, m->pkt_len, &f) != FRAME_UDP ||
            wire_parse_header(p + f.payload_off, f.payload_len, &h) != WIRE_OK)
            return;
        seen[from]++;
        bytes[from] += m->pkt_len;
        beyond[from] += !police[from].conforms(now, m->pkt_len);
        if (from == 0 && h.type == WIRE_DATA)
            left.push_back({now, m->pkt_len});
        if (from == 1 && h.type == WIRE_CNTL && peak_in != 0)
            for (int i = 0; i < 8; i++) // the place of the peak in CNTL: wire/packet.h
                p[f.payload_off + 48 + i] = static_cast<uint8_t>(peak_in >> (56 - 8 * i));
    }

    // Sends two requests in each direction. Returns the time between the first and the last DATA of
    // A.
    uint64_t transfer(Pair &p)
    {
        p.open();
        for (int i = 0; i < 2; i++) {
            p.recv(kRequest);
            p.send(kRequest);
            p.recv_back(kRequest);
            p.send_back(kRequest);
        }
        EXPECT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
        EXPECT_TRUE(p.finish()) << p.state();
        return left.back().at - left.front().at;
    }

    struct Left {
        uint64_t at, len;
    };
    std::vector<Police> police;
    std::vector<Left> left;
    uint64_t seen[2] = {0, 0}, beyond[2] = {0, 0}, bytes[2] = {0, 0};
    uint64_t peak_in = 0; // written into the CNTL that host B sends
};

TEST_F(Contracts, EveryFrameConforms)
{
    Pair p(options({kPeak, kPeak / 2, 20 * kUnit, 0, 0}));
    uint64_t took = transfer(p);

    EXPECT_EQ(beyond[0], 0u) << "of " << seen[0];
    EXPECT_EQ(beyond[1], 0u) << "of " << seen[1];
    EXPECT_GT(bytes[0] * 1e9 / took, 0.97 * kPeak / 2) << "the contract is not used up";
}

TEST_F(Contracts, ToleranceMakesUpForLatePolls)
{
    PairOptions o = options({kPeak, 0, 0, 0, 200 * kUs});

    o.poll_spread_ns = 150 * kUs; // a frame takes 121 us
    Pair p(o);
    uint64_t took = transfer(p);

    EXPECT_EQ(beyond[0] + beyond[1], 0u) << "of " << seen[0] << " and " << seen[1];
    EXPECT_GT(bytes[0] * 1e9 / took, 0.97 * kPeak);
}

// The peak that a receiver grants counts payload only, so the rate of frames may be higher.
TEST_F(Contracts, APeakFromTheReceiverIsKept)
{
    PairOptions o = options({});
    constexpr uint64_t kHead = RTE_ETHER_HDR_LEN + 28 + WIRE_DATA_BYTES;

    peak_in = kPeak;
    o.mtu = 1500;
    o.early = 0; // no DATA before the first CNTL
    watch({kPeak * 2, 0, 0, 0, 0});
    Pair p(o);

    transfer(p);
    for (size_t i = 1; i < left.size(); i++) {
        ASSERT_GE(left[i].at - left[i - 1].at, (left[i - 1].len - kHead) * WORLD_HZ / kPeak)
            << "frame " << i << " of " << left.size();
    }
    EXPECT_GT(left.size(), 1000u);
}

// Polls are late by up to 30 us. The port gets frames 50 us ahead, and sends each at its time.
TEST_F(Contracts, PortsThatSendAtATimeDoSoExactly)
{
    PairOptions o = options({kPeak, 0, 0, 0, 0});
    size_t exact = 0;

    o.poll_spread_ns = 30 * kUs;
    o.lead_ns = 50 * kUs;
    Pair p(o);

    transfer(p);
    EXPECT_EQ(beyond[0] + beyond[1], 0u) << "of " << seen[0] << " and " << seen[1];
    for (size_t i = 1; i < left.size(); i++) {
        uint64_t gap = left[i].at - left[i - 1].at;
        uint64_t wanted = left[i - 1].len * WORLD_HZ / kPeak;

        exact += gap >= wanted && gap <= wanted + 1;
    }
    EXPECT_GT(exact, left.size() * 8 / 10) << "only frames behind a CNTL may be later";
}

TEST_F(Contracts, AMistakeIsNamed)
{
    try {
        Pair p(options({kPeak, kPeak * 2, 20 * kUnit, 0, 0}));
        FAIL();
    } catch (const std::runtime_error &e) {
        EXPECT_NE(std::string(e.what()).find("above the peak"), std::string::npos) << e.what();
    }
}

} // namespace
