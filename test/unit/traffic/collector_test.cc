// SPDX-License-Identifier: BSD-3-Clause
// Each frame is counted in exactly one place.
#include "support.hh"

#include <memory>

#include "../base/seed.h"

extern "C" {
#include "base/rng.h"
#include "traffic/collector.h"
}

namespace
{

struct Collector {
    explicit Collector(const Stream &of, uint16_t window = 1, bool listening = false,
                       bool verify = false)
    {
        tally *all[STAMP_STREAMS] = {};

        for (int i = 0; i < 2; i++) {
            storage.emplace_back(tally_storage_bytes(of.s.n_flows) / 8);
            tally_init(&t[i], of.s.n_flows, storage[i].data());
            all[i] = &t[i];
        }
        c->listening = listening;
        c->verify = verify;
        stamp_shape_init(&c->shape, &of.flow_plan.route);
        collector_begin(c.get(), all, window);
    }

    void take(const std::vector<rte_mbuf *> &m, uint64_t time_ns = 0)
    {
        collector_take(c.get(), m.data(), static_cast<uint32_t>(m.size()), time_ns);
        uint64_t sum = c->earlier + c->corrupt + c->foreign;
        for (const tally &one : t)
            sum += one.received + one.duplicates + one.beyond;
        EXPECT_EQ(c->arrived, sum);
    }

    std::unique_ptr<collector> c = std::make_unique<collector>();
    std::vector<std::vector<uint64_t>> storage;
    tally t[2];
};

void free_all(std::vector<rte_mbuf *> &m)
{
    rte_pktmbuf_free_bulk(m.data(), static_cast<unsigned>(m.size()));
}

} // namespace

TEST(CollectorCounts, LatencyFromTheStamp)
{
    Stream s("imix", 3);
    Collector c(s);
    auto m = s.send(30, (1ull << 48) - 100); // the clock of stamps wraps meanwhile

    c.take(m, (1ull << 48) + 900);
    EXPECT_EQ(c.t[0].received, 30u);
    EXPECT_EQ(histogram_count(&c.c->latency), 30u);
    EXPECT_EQ(histogram_min(&c.c->latency), 1000u);
    EXPECT_EQ(c.c->latency.max, 1000u);
    c.take(m, 1); // duplicates have no latency
    EXPECT_EQ(c.t[0].duplicates, 30u);
    EXPECT_EQ(histogram_count(&c.c->latency), 30u);
    free_all(m);
}

TEST(CollectorCounts, ATimeAheadOfOursIsNone)
{
    Stream s("60", 1);
    Collector c(s);
    auto m = s.send(1, 5000);

    c.take(m, 4990); // by the clock of another core
    EXPECT_EQ(c.c->latency.max, 0u);
    EXPECT_EQ(histogram_count(&c.c->latency), 1u);
    free_all(m);
}

TEST(CollectorCounts, OtherWindowsAndStreams)
{
    Stream ours("60", 1, 0, 8), old("60", 1, 0, 7), other("60", 1, 9, 8), flows("60", 5, 0, 8);
    Collector c(ours, 8);

    for (Stream *s : {&ours, &old, &other, &flows}) {
        auto m = s->send(5);
        c.take(m);
        free_all(m);
    }
    EXPECT_EQ(c.t[0].received, 5u);
    EXPECT_EQ(c.t[0].duplicates, 1u); // frame 0 of flow 0
    EXPECT_EQ(c.c->earlier, 14u);
    EXPECT_EQ(c.c->foreign, 0u);
}

TEST(CollectorCounts, DamageIsNotBelieved)
{
    rng r;
    Stream s("200", 4);
    Collector c(s, 1, false, true);

    rng_init(&r, test_seed());
    for (int i = 0; i < 4000; i++) {
        auto m = s.send(1);
        uint8_t *p = rte_pktmbuf_mtod(m[0], uint8_t *);
        uint64_t bit = 8 * 14 + rng_below(&r, 8 * (200 - 14));

        p[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
        c.take(m);
        free_all(m);
    }
    EXPECT_EQ(c.t[0].received, 0u);
    EXPECT_EQ(c.c->corrupt + c.c->foreign, 4000u);
    EXPECT_GT(c.c->corrupt, 3800u); // only the magic's 16 of 1488 bits make strangers
}

// While listening, frames may have another shape than the tester's own: a tag, say.
TEST(CollectorCounts, FillerIsFoundBehindATagToo)
{
    Stream s("1514", 1, 0, 1, 9);
    Collector c(Stream("1514", 1), 1, true, true);
    auto m = s.send(2);

    rte_pktmbuf_mtod(m[0], uint8_t *)[1513] ^= 1;
    c.take(m);
    EXPECT_EQ(c.c->corrupt, 1u);
    EXPECT_EQ(c.t[0].received, 1u);
    free_all(m);
}

TEST(CollectorCounts, ArrivalsOnlyIfAsked)
{
    Stream s("60:1+1514:1", 1);
    Collector c(s);
    tally *all[STAMP_STREAMS] = {&c.t[0], &c.t[1]};
    auto m = s.send(4);

    c.c->counts = true;
    collector_begin(c.c.get(), all, 1); // keeps what it was told
    std::memset(rte_pktmbuf_mtod(m[0], void *), 0, 60);
    collector_take(c.c.get(), m.data(), 4, 0);
    EXPECT_EQ(c.c->arrived, 4u);
    EXPECT_EQ(c.c->arrived_bytes, 2u * (60 + 1514));
    EXPECT_EQ(c.t[0].received + c.c->corrupt + c.c->foreign + c.c->earlier, 0u);
    free_all(m);
}

TEST(CollectorCounts, FillerIsReadOnlyIfAsked)
{
    for (bool verify : {false, true}) {
        Stream s("1514", 1);
        Collector c(s, 1, false, verify);
        auto m = s.send(2);

        rte_pktmbuf_mtod(m[0], uint8_t *)[1513] ^= 1;
        c.take(m);
        EXPECT_EQ(c.c->corrupt, verify ? 1u : 0u);
        EXPECT_EQ(c.t[0].received, verify ? 1u : 2u);
        free_all(m);
    }
}

// A frame in segments, as a port with small buffers receives it.
TEST(CollectorCounts, Segments)
{
    Stream s("1514", 1);
    Collector c(s, 1, false, true);
    auto m = s.send(3);

    for (int i = 0; i < 2; i++) {
        rte_mbuf *head = m[i], *tail = rte_pktmbuf_alloc(test_pool);
        const uint16_t at = 701;
        uint16_t rest = static_cast<uint16_t>(head->data_len - at);

        std::memcpy(rte_pktmbuf_append(tail, rest), rte_pktmbuf_mtod_offset(head, char *, at),
                    rest);
        head->data_len = head->pkt_len = at;
        ASSERT_EQ(rte_pktmbuf_chain(head, tail), 0);
    }
    rte_pktmbuf_mtod(m[1]->next, uint8_t *)[100] ^= 4;
    c.take(m);
    EXPECT_EQ(c.t[0].received, 2u);
    EXPECT_EQ(c.c->corrupt, 1u);
    free_all(m);
}

TEST(CollectorCounts, ListeningFollowsTheWindows)
{
    Stream a("60", 1, 1, STAMP_WINDOWS - 1), b("60", 1, 1, 0), first("60", 1, 0, 5);
    Collector c(a, 0, true);
    auto old = a.send(10), now = b.send(4), x = first.send(2);

    rte_pktmbuf_free(old[3]);
    old.erase(old.begin() + 3);
    c.take(old);
    c.take(now); // a window begins
    c.take(old); // too late
    c.take(x);
    EXPECT_EQ(c.t[1].received, 13u);
    EXPECT_EQ(tally_missing(&c.t[1]), 1u);
    EXPECT_EQ(c.t[0].received, 2u);
    EXPECT_EQ(c.c->earlier, 9u);
    EXPECT_EQ(histogram_count(&c.c->latency), 0u); // another clock
    for (auto *m : {&old, &now, &x})
        free_all(*m);
}
