// SPDX-License-Identifier: BSD-3-Clause
// Properties of any path. All losses are counted. Times ascend. Polls and bursts only change how
// late packets come out.
#include <algorithm>
#include <cstdlib>

#include "base/seed.h"
#include "spec_maker.h"
#include "support.h"

namespace
{

struct Arrival {
    uint64_t at;
    uint32_t flow, payload;
};

class Property : public testing::Test
{
  protected:
    Property()
        : seed(test_seed()), trace("1\n1\n3\n4\n9\n"), table("-8192 0 0 4096 8192\n"),
          maker(seed, trace.name, table.name)
    {
    }

    /* Bursts and gaps. Half of the times are on a coarse grid, so that some coincide. */
    std::vector<Arrival> arrivals(uint64_t n, uint64_t hz)
    {
        std::vector<Arrival> v;
        uint64_t grid = hz / 10000, at = 0;

        for (uint64_t i = 0; i < n; i++) {
            if (maker.below(3) > 0)
                at += maker.below(2) > 0 ? grid : 1 + maker.below(2 * grid);
            v.push_back({at, (uint32_t)maker.below(12), (uint32_t)maker.below(1400)});
        }
        return v;
    }

    /* The number of a packet is in its MAC address, so that packets differ in contents. */
    static struct rte_mbuf *make(const Arrival &a, uint32_t number)
    {
        struct frame_route r = route_make(("10.0.0." + std::to_string(a.flow % 4 + 1)).c_str(),
                                          ("10.0.1." + std::to_string(a.flow + 1)).c_str());

        r.dport = (uint16_t)(2000 + a.flow % 5);
        r.dscp = a.flow % 3 == 0 ? 46 : 0;
        r.ecn = a.flow % 4;
        r.vlan = a.flow == 7 ? 5 : FRAME_VLAN_NONE;
        r.dst_mac.addr_bytes[4] = (uint8_t)(number >> 8);
        r.dst_mac.addr_bytes[5] = (uint8_t)number;
        if (a.flow == 11) {
            r.dport = WIRE_UDP_PORT;
            return cntl_make(r, a.payload * 1000, a.payload % 5 + 1);
        }
        return udp_make(r, a.payload);
    }

    /* Keeps a hash (FNV-1a) of the bytes of each packet that leaves. */
    static void watch(Line &l, std::vector<uint64_t> &seen)
    {
        l.look = [&seen](struct rte_mbuf *m) {
            uint64_t h = 14695981039346656037u;

            for (; m != nullptr; m = m->next)
                for (uint16_t i = 0; i < m->data_len; i++)
                    h = (h ^ rte_pktmbuf_mtod(m, uint8_t *)[i]) * 1099511628211u;
            seen.push_back(h);
        };
    }

    /* Pushes all packets of one arrival time at once. */
    static void push_all(Line &l, std::vector<struct rte_mbuf *> &burst)
    {
        if (!burst.empty())
            path_push(l.p, burst.data(), (uint16_t)burst.size(), l.now);
        burst.clear();
    }

    void conserve(const Line &l, const std::string &spec)
    {
        const struct path_counts *c = path_counts(l.p);
        uint64_t gone = 0, made = 0;
        struct path_element_info e;

        for (uint32_t i = 0; path_element(l.p, i, &e); i++) {
            gone += e.counts->dropped;
            made += e.counts->copied;
            EXPECT_EQ(e.counts->in_packets + e.counts->copied,
                      e.counts->out_packets + e.counts->dropped + e.counts->queued_packets)
                << e.text << " in " << spec;
        }
        EXPECT_EQ(c->in_packets, l.pushed);
        EXPECT_EQ(c->out_packets, l.out.size());
        EXPECT_EQ(c->in_packets + made, c->out_packets + gone + c->held_packets + c->drop_full)
            << spec;
    }

    uint64_t seed;
    TempFile trace, table;
    SpecMaker maker;
};

TEST_F(Property, PollsAndBurstsDecideNothingAndNothingIsLost)
{
    for (int round = 0; round < 400; round++) {
        uint64_t hz = CLOCKS[maker.below(CLOCKS.size())], fate = maker.below(1000);
        std::string spec = maker.path(5);
        Line fine(spec, hz, fate), coarse(spec, hz, fate);
        std::vector<uint64_t> saw_fine, saw_coarse;
        std::vector<struct rte_mbuf *> burst;
        uint64_t last = 0;

        watch(fine, saw_fine);
        watch(coarse, saw_coarse);
        SCOPED_TRACE(spec);
        for (const Arrival &a : arrivals(200, hz)) {
            uint64_t poll = coarse.now + maker.below(hz / 500);

            fine.push(a.at, make(a, fine.pushed));
            if (a.at != coarse.now || maker.below(8) == 0)
                push_all(coarse, burst);
            if (maker.below(4) == 0 && poll > coarse.now && poll <= a.at)
                coarse.poll(poll);
            burst.push_back(make(a, coarse.pushed++));
            coarse.now = a.at;
        }
        push_all(coarse, burst);
        fine.finish(3600 * hz);
        conserve(fine, spec);
        coarse.poll(3600 * hz);
        conserve(coarse, spec);
        for (const Out &o : fine.out) {
            ASSERT_GE(o.at, last);
            last = o.at;
        }
        ASSERT_EQ(saw_fine, saw_coarse);
        for (size_t i = 0; i < fine.out.size(); i++)
            ASSERT_LE(fine.out[i].at, coarse.out[i].at) << i;
        if (HasFatalFailure())
            return;
    }
}

TEST_F(Property, SameSeedSameFate)
{
    for (int round = 0; round < 50; round++) {
        std::string spec = maker.path(4);
        Line a(spec, GHZ, 5), b(spec, GHZ, 5);
        std::vector<uint64_t> saw_a, saw_b;

        watch(a, saw_a);
        watch(b, saw_b);
        for (const Arrival &x : arrivals(100, GHZ)) {
            a.push(x.at, make(x, a.pushed));
            b.push(x.at, make(x, b.pushed));
        }
        a.finish(3600 * GHZ);
        b.finish(3600 * GHZ);
        ASSERT_EQ(saw_a, saw_b) << spec;
        for (size_t i = 0; i < a.out.size(); i++)
            ASSERT_EQ(a.out[i].at, b.out[i].at) << spec;
    }
}

TEST_F(Property, HoldsNoMoreThanPacketsMax)
{
    for (int round = 0; round < 100; round++) {
        std::string spec = maker.path(4);
        Line l(spec, GHZ, 5, 7);

        for (const Arrival &x : arrivals(100, GHZ)) {
            l.push(x.at, make(x, l.pushed));
            ASSERT_LE(path_counts(l.p)->held_packets, 7u) << spec;
        }
        conserve(l, spec); // then the path is destroyed with packets in it
    }
}

} // namespace
