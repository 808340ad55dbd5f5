// SPDX-License-Identifier: BSD-3-Clause
// Random worlds: loss of 1 to 20 % in both directions, copies, reordering, flipped bits, any mode,
// any sizes, buffers posted at any time. SLUICE_SEED=n runs the one world n again; with
// SLUICE_WORLDS=k, the k worlds from n on.
#include <gtest/gtest.h>

#include <cstdlib>

#include "pair.hh"

extern "C" {
#include "base/rng.h"
}

namespace
{

constexpr uint64_t kWorlds = 200;
constexpr uint64_t kFirstSeed = 1;
constexpr uint32_t kFlipFrom = 14; // the port's FCS protects the Ethernet header

class RandomWorld
{
  public:
    explicit RandomWorld(uint64_t seed)
    {
        rng_init(&rng, seed);
        plan();
    }

    std::string run()
    {
        Pair p(opt);

        p.open();
        bool done = p.run([&] { return step(p); }, 600 * CLOCK_NS_PER_S);
        std::string fault;

        if (!done || !p.all_done())
            fault = "not done ";
        else if (!p.finish())
            fault = "no orderly close ";
        for (uint32_t side = 0; side < 2; side++)
            if (failures(p, side) > 0)
                fault += "a connection failed ";
        return fault.empty() ? "" : fault + about + p.state();
    }

    uint64_t flipped = 0, lost = 0, doubled = 0, displaced = 0;

  private:
    uint64_t below(uint64_t n)
    {
        return rng_below(&rng, n);
    }
    bool chance(uint64_t permille)
    {
        return below(1000) < permille;
    }

    void plan()
    {
        opt.delay_ns = 1000 + below(3) * below(2000000);
        opt.rate_Bps = below(2) * (10000000 + below(1000000000));
        opt.go_back_n = below(2);
        opt.ipv6 = below(2);
        opt.attach = below(2);
        opt.vlan = below(4) == 0 ? 7 : FRAME_VLAN_NONE;
        opt.mtu = static_cast<uint16_t>(below(3) == 0 ? 9000 : below(2) ? 1500 : 1280);
        opt.mtu_b = static_cast<uint16_t>(below(4) == 0 ? 1280 + below(1000) : opt.mtu);
        opt.sum = below(4) == 0 ? HOST_SUM_NONE : HOST_SUM_SOFTWARE;
        opt.gaps = static_cast<uint32_t>(2 + below(4) * below(20));
        opt.early = static_cast<uint32_t>(below(3) * below(9));
        opt.ahead = static_cast<uint32_t>(below(3) == 0 ? below(4) : 0);
        opt.rate_first_Bps = 1000000 + below(500000000);
        opt.burst_first = 2000 + below(50000);
        opt.control_ns = below(3) == 0 ? 1000000 : 0;
        opt.capacity_Bps = below(2) * (5000000 + below(200000000));
        opt.silence_ms = 20000;
        opt.conns = 2;
        loss = 10 + below(191);
        twice = below(3) * below(50);
        late = below(3) * below(100);
        flips = opt.sum != HOST_SUM_NONE ? below(3) * below(20) : 0;
        opt.fate = [this](uint32_t, rte_mbuf *m, uint64_t, world_fate *f) { fate(m, f); };
        for (auto &direction : lens)
            for (uint64_t n = below(12); n > 0; n--)
                direction.push_back(below(5) == 0 ? 0 : below(1 + below(60000)));
        about = "go-back-N " + std::to_string(opt.go_back_n) + " loss " + std::to_string(loss) +
                " twice " + std::to_string(twice) + " late " + std::to_string(late) + " flips " +
                std::to_string(flips) + " gaps " + std::to_string(opt.gaps) + " delay " +
                std::to_string(opt.delay_ns) + ": ";
    }

    void fate(rte_mbuf *m, world_fate *f)
    {
        if (chance(loss)) {
            f->copies = 0;
            lost++;
            return;
        }
        if (chance(twice)) {
            f->copies = 2;
            f->extra_ns[1] = below(3) * below(4 * opt.delay_ns);
            doubled++;
        }
        if (chance(late)) {
            f->extra_ns[0] = below(1 + below(6 * opt.delay_ns));
            displaced++;
        }
        uint8_t *p = rte_pktmbuf_mtod(m, uint8_t *);
        uint32_t from = kFlipFrom + (opt.vlan == FRAME_VLAN_NONE ? 0 : 4);
        bool arp = p[from - 2] == 0x08 && p[from - 1] == 0x06;

        if (!arp && chance(flips)) {
            uint64_t bit = below((m->data_len - from) * 8ull);

            p[from + bit / 8] ^= static_cast<uint8_t>(1u << (bit % 8));
            flipped++;
        }
    }

    // Posts sends and receives now and then, in order, as long as there is room. True when all are
    // over.
    bool step(Pair &p)
    {
        for (uint32_t dir = 0; dir < 2; dir++) {
            auto &sends = p.sends[dir];
            auto &recvs = p.recvs[1 - dir];

            if (sends.size() < lens[dir].size() && room(sends) && chance(200)) {
                uint64_t len = lens[dir][sends.size()];

                if (dir == 1)
                    p.send_back(len);
                else if (len > 100 && below(4) == 0)
                    p.send(len, true, below(len));
                else
                    p.send(len);
            }
            if (recvs.size() < lens[dir].size() && room(recvs) && chance(200)) {
                uint64_t len = lens[dir][recvs.size()] + below(3) * below(100);

                dir == 0 ? p.recv(len) : p.recv_back(len);
            }
        }
        for (uint32_t dir = 0; dir < 2; dir++)
            if (p.sends[dir].size() < lens[dir].size() ||
                p.recvs[1 - dir].size() < lens[dir].size())
                return false;
        return p.opened[0] == 0 && p.opened[1] == 0 && p.all_done();
    }

    bool room(const std::deque<Pair::Request> &q)
    {
        size_t open = 0;

        for (const Pair::Request &r : q)
            open += !r.done;
        return open < opt.depth;
    }

    static uint64_t failures(Pair &p, uint32_t side)
    {
        return host_counter_named(world_host(p.w, side), "conns_failed");
    }

    struct rng rng;
    PairOptions opt;
    uint64_t loss, twice, late, flips; // per 1000 frames
    std::vector<uint64_t> lens[2];
    std::string about;
};

TEST(Random, Worlds)
{
    const char *text = std::getenv("SLUICE_SEED");
    uint64_t first = text != nullptr ? std::strtoull(text, nullptr, 0) : kFirstSeed;
    const char *many = std::getenv("SLUICE_WORLDS");
    uint64_t worlds = many != nullptr   ? std::strtoull(many, nullptr, 0)
                      : text != nullptr ? 1
                                        : kWorlds;
    uint64_t last = first + worlds - 1;
    uint64_t flipped = 0, lost = 0, doubled = 0, displaced = 0;
    int shown = 0;

    std::printf("SLUICE_SEED=%lu to %lu\n", first, last);
    for (uint64_t seed = first; seed <= last && shown < 5; seed++) {
        RandomWorld w(seed);
        std::string fault = w.run();

        EXPECT_EQ(fault, "") << "SLUICE_SEED=" << seed;
        EXPECT_TRUE(Pools::get().whole()) << "mbufs leak, SLUICE_SEED=" << seed;
        shown += !fault.empty();
        flipped += w.flipped, lost += w.lost, doubled += w.doubled, displaced += w.displaced;
    }
    if (worlds >= kWorlds && shown == 0) {
        EXPECT_GT(flipped, 100u);
        EXPECT_GT(lost, 1000u);
        EXPECT_GT(doubled, 100u);
        EXPECT_GT(displaced, 100u);
    }
}

} // namespace
