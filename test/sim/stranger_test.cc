// SPDX-License-Identifier: BSD-3-Clause
// A million forged, flipped and replayed frames come to two hosts in mid-transfer. No byte of them
// is placed, the transfer is right, and each of them is in exactly one drop counter.
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <map>

#include "../unit/base/seed.h"
#include "forger.hh"
#include "pair.hh"

namespace
{

constexpr uint64_t kForged = 1000000;
constexpr uint64_t kBatch = 1500; // frames in 100 us
constexpr uint64_t kDelay = 20000;
constexpr size_t kHeardMax = 400;
constexpr uint64_t kTotal = 5000000;

class Stranger
{
  public:
    explicit Stranger(uint64_t seed) : forger(seed), pair(options())
    {
    }

    void run();

  private:
    PairOptions options()
    {
        PairOptions o;

        o.rate_first_Bps = 50000000;
        o.burst_first = 10000;
        o.delay_ns = kDelay;
        o.fate = [this](uint32_t from, rte_mbuf *m, uint64_t now, world_fate *) {
            keep(from, m, now);
        };
        return o;
    }

    struct Kept {
        uint64_t arrives;
        uint32_t to;
        std::vector<uint8_t> bytes;
    };

    // Keeps real frames for a replay when they have arrived: a replay that overtook its original
    // would cause repeats of other packets. ARP is not kept, since every copy of it is as good as
    // the first.
    void keep(uint32_t from, const rte_mbuf *m, uint64_t now)
    {
        const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);
        struct frame f;
        wire_header h;

        if (frame_parse(p, m->data_len, m->pkt_len, &f) != FRAME_UDP || !is_live(f) ||
            wire_parse_header(p + f.payload_off, f.payload_len, &h) != WIRE_OK)
            return;
        flying.push_back({now + kDelay, 1 - from, {p, p + m->data_len}});
    }

    void hear(uint64_t now)
    {
        for (; !flying.empty() && flying.front().arrives < now; flying.pop_front()) {
            auto &heard = target[flying.front().to].heard;

            if (heard.size() < kHeardMax)
                heard.push_back(flying.front().bytes);
            else
                heard[++kept % kHeardMax] = flying.front().bytes;
        }
    }

    // True for a frame between the two hosts, false for an answer to a forged FIRST.
    bool is_live(const struct frame &f)
    {
        for (uint32_t i = 0; i < 2; i++)
            if (std::memcmp(&f.dst_mac, &host_get_config(world_host(pair.w, i))->mac, 6) == 0)
                return true;
        return false;
    }

    void forge(uint64_t n)
    {
        hear(world_now(pair.w));
        for (; n > 0; n--, forged++) {
            uint32_t to = forged & 1;
            std::vector<uint8_t> f = forger.frame(target[to]);
            rte_mbuf *m = rte_pktmbuf_alloc(Pools::get().wire);

            ASSERT_NE(m, nullptr);
            std::memcpy(rte_pktmbuf_append(m, static_cast<uint16_t>(f.size())), f.data(), f.size());
            world_inject(pair.w, to, m);
        }
    }

    uint64_t drops()
    {
        uint64_t v, sum = 0;
        const char *name;

        by_name.clear();
        for (uint32_t side = 0; side < 2; side++)
            for (uint32_t i = 0; (name = host_counter(world_host(pair.w, side), i, &v)) != nullptr;
                 i++)
                if (std::strncmp(name, "drop_", 5) == 0) {
                    by_name[name] += v;
                    sum += v;
                }
        return sum;
    }

    Forger forger;
    Forger::Target target[2];
    std::deque<Kept> flying;
    uint64_t kept = 0, forged = 0;
    std::map<std::string, uint64_t> by_name;
    Pair pair;
};

void Stranger::run()
{
    pair.open();
    pair.recv(10);
    pair.send(10);
    ASSERT_TRUE(pair.run([&] { return pair.all_done(); })) << pair.state();
    for (uint32_t i = 0; i < 2; i++) {
        const host_config *own = host_get_config(world_host(pair.w, i));
        target[i].mac = own->mac;
        target[i].address = own->address[0];
        target[i].peer = host_get_config(world_host(pair.w, 1 - i))->address[0];
        target[i].key = pair.oracle.key_of[i];
        ASSERT_NE(target[i].key, 0u);
    }
    ASSERT_EQ(drops(), 0u);
    pair.recv(kTotal);
    pair.recv_back(kTotal / 4);
    pair.send(kTotal);
    pair.send_back(kTotal / 4);
    while (forged < kForged && !testing::Test::HasFatalFailure()) {
        forge(kBatch);
        world_run(pair.w, world_now(pair.w) + 100000);
    }
    EXPECT_FALSE(pair.all_done()) << "the transfer was over before all frames were forged";
    ASSERT_TRUE(pair.run([&] { return pair.all_done(); })) << pair.state();
    EXPECT_EQ(drops(), forged) << pair.state();
    for (const char *name : {"drop_other",
                             "drop_short",
                             "drop_ip",
                             "drop_fragment",
                             "drop_udp",
                             "drop_vlan",
                             "drop_not_ours",
                             "drop_port",
                             "drop_no_sum",
                             "drop_sum",
                             "drop_wire_short",
                             "drop_wire_version",
                             "drop_wire_type",
                             "drop_wire_security",
                             "drop_wire_flags",
                             "drop_wire_field",
                             "drop_wire_length",
                             "drop_unknown_key",
                             "drop_unknown_early",
                             "drop_address",
                             "drop_no_listener",
                             "drop_no_accept",
                             "drop_first_duplicate",
                             "drop_duplicate",
                             "drop_cntl_old"})
        EXPECT_GT(by_name[name], 0u) << name;
    for (uint32_t i = 0; i < 2; i++) {
        struct host_conn_info info;
        ASSERT_TRUE(host_conn_info(world_host(pair.w, i), pair.conn[i], &info));
        EXPECT_EQ(info.rx_bytes, i == 0 ? kTotal / 4 : kTotal + 10);
    }
    EXPECT_TRUE(pair.finish()) << pair.state();
}

TEST(Stranger, AMillionFramesInMidTransfer)
{
    uint64_t seed = test_seed();

    Stranger(seed).run();
    EXPECT_TRUE(Pools::get().whole()) << "mbufs leak";
}

} // namespace
