// SPDX-License-Identifier: BSD-3-Clause
// The models themselves: their reactions to each acknowledgement, segment, probe and cell.
#include <vector>

#include "findings.hh"
#include "route.hh"

extern "C" {
#include "base/clock.h"
#include "sim/cells.h"
#include "sim/probe.h"
#include "sim/segment.h"
#include "sim/tahoe.h"
#include "sim/tahoe_receiver.h"
}

namespace
{

constexpr uint64_t kHz = 1000000000, kTick = 500000000, kAckTick = 200000000;
constexpr uint16_t kMss = 1000;

struct Sender {
    explicit Sender(uint32_t window, uint64_t limit = 0, bool open_at_once = false)
    {
        tahoe_config c = {};

        c.route = route(0, 1, 2);
        c.hz = kHz;
        c.window_bytes = window * kMss;
        c.mss_bytes = kMss;
        c.limit_bytes = limit;
        c.open_at_once = open_at_once;
        c.pool = test_pool;
        tahoe_init(&t, &c, 0);
    }
    // The numbers of the segments that are sent now, in segments.
    std::vector<uint32_t> sends(uint64_t now)
    {
        rte_mbuf *m[64];
        std::vector<uint32_t> out;
        uint16_t n = tahoe_tx(&t, m, 64, now);

        for (uint16_t i = 0; i < n; i++) {
            segment s;

            EXPECT_TRUE(segment_parse(m[i], &s, nullptr));
            EXPECT_EQ(m[i]->pkt_len, 14u + 40 + s.data_len);
            out.push_back(s.number / kMss);
            rte_pktmbuf_free(m[i]);
        }
        return out;
    }
    void ack(uint32_t segments, uint64_t now)
    {
        frame_route r = route(1, 2, 1);
        segment s = {0, segments * kMss, 0, 0};
        rte_mbuf *m = segment_build(test_pool, &r, &s);

        tahoe_rx(&t, &m, 1, now);
    }
    tahoe t;
};

struct Receiver {
    Receiver()
    {
        tahoe_receiver_config c = {};

        c.route = route(1, 2, 1);
        c.hz = kHz;
        c.window_bytes = 8 * kMss;
        c.mss_bytes = kMss;
        c.pool = test_pool;
        tahoe_receiver_init(&r, &c, 0);
    }
    void take(uint32_t number, uint64_t now)
    {
        frame_route way = route(0, 1, 2);
        segment s = {number * kMss, 0, 0, kMss};
        rte_mbuf *m = segment_build(test_pool, &way, &s);

        tahoe_receiver_rx(&r, &m, 1, now);
    }
    std::vector<uint32_t> acks(uint64_t now)
    {
        rte_mbuf *m[64];
        std::vector<uint32_t> out;
        uint16_t n = tahoe_receiver_tx(&r, m, 64, now);

        for (uint16_t i = 0; i < n; i++) {
            segment s;

            EXPECT_TRUE(segment_parse(m[i], &s, nullptr));
            out.push_back(s.answer / kMss);
            rte_pktmbuf_free(m[i]);
        }
        return out;
    }
    tahoe_receiver r;
};

using List = std::vector<uint32_t>;

} // namespace

TEST(Tahoe, SlowStartThenASegmentARoundTrip)
{
    Sender s(64);

    s.t.ssthresh = 4 * kMss;
    EXPECT_EQ(s.sends(0), (List{0}));
    EXPECT_EQ(s.sends(1), (List{}));
    s.ack(1, 10);
    EXPECT_EQ(s.sends(10), (List{1, 2}));
    s.ack(2, 20), s.ack(3, 20);
    EXPECT_EQ(s.sends(20), (List{3, 4, 5, 6}));
    EXPECT_EQ(s.t.cwnd, 4u * kMss);
    s.ack(4, 30);
    EXPECT_EQ(s.t.cwnd, 5u * kMss);
    for (uint32_t n = 5; n <= 7; n++)
        s.ack(n, 30);
    EXPECT_GT(s.t.cwnd, 5u * kMss);
    EXPECT_LT(s.t.cwnd, 6u * kMss);
}

TEST(Tahoe, TheFirstAcknowledgementMayOpenAllOfTheWindow)
{
    Sender s(8, 0, true);

    EXPECT_EQ(s.sends(0), (List{0}));
    s.ack(1, 10);
    EXPECT_EQ(s.sends(10).size(), 8u);
}

TEST(Tahoe, ThirdDuplicateRetransmitsAndBeginsAnew)
{
    Sender s(8, 0, true);

    s.sends(0), s.ack(1, 10), s.sends(10);
    s.ack(1, 20), s.ack(1, 21);
    EXPECT_EQ(s.sends(21), (List{}));
    s.ack(1, 22);
    EXPECT_EQ(s.sends(22), (List{1}));
    EXPECT_EQ(s.t.ssthresh, 4u * kMss);
    EXPECT_EQ(s.t.cwnd, 1u * kMss);
    s.ack(1, 23), s.ack(1, 24);
    EXPECT_EQ(s.sends(24), (List{})) << "only once";
    EXPECT_EQ(s.t.counts.fast_retransmits, 1u);
    s.ack(9, 30);
    EXPECT_EQ(s.sends(30), (List{9, 10}));
}

TEST(Tahoe, TimeOutsDoubleAndGoBack)
{
    Sender s(8, 0, true);

    s.sends(0), s.ack(1, 10), s.sends(10);
    std::vector<uint64_t> at;

    for (uint64_t now = 10; at.size() < 4; now = tahoe_next(&s.t, now)) {
        ASSERT_NE(tahoe_next(&s.t, now), TIME_NEVER);
        List sent = s.sends(now);

        if (!sent.empty()) {
            EXPECT_EQ(sent, (List{1}));
            at.push_back(now / kTick);
        }
    }
    EXPECT_EQ(at[0], 2u);
    EXPECT_EQ(at[1] - at[0], 4u);
    EXPECT_EQ(at[2] - at[1], 8u);
    EXPECT_EQ(at[3] - at[2], 16u);
    EXPECT_EQ(s.t.ssthresh, 2u * kMss);
    EXPECT_EQ(s.t.counts.timeouts, 4u);
    EXPECT_EQ(s.t.counts.retransmitted, 4u);
}

TEST(Tahoe, EndsAndIgnoresNonsense)
{
    Sender s(4, 2500);

    s.sends(0);
    s.ack(100, 5); // acknowledges what was never sent
    s.ack(0x80000000 / kMss, 5);
    EXPECT_EQ(s.t.una, 0u);
    rte_mbuf *m = rte_pktmbuf_alloc(test_pool);
    rte_pktmbuf_append(m, 20);
    tahoe_rx(&s.t, &m, 1, 6);
    s.ack(1, 10);
    EXPECT_EQ(s.sends(10), (List{1, 2})); // the last one is half a segment
    EXPECT_FALSE(tahoe_done(&s.t));
    frame_route r = route(1, 2, 1);
    segment last = {0, 2500, 0, 0};
    m = segment_build(test_pool, &r, &last);
    tahoe_rx(&s.t, &m, 1, 20);
    EXPECT_TRUE(tahoe_done(&s.t));
    EXPECT_EQ(tahoe_next(&s.t, 20), TIME_NEVER);
}

TEST(TahoeReceiver, AcknowledgesTwoSegmentsOrAtATick)
{
    Receiver r;

    r.take(0, 10);
    EXPECT_EQ(r.acks(10), (List{}));
    EXPECT_EQ(tahoe_receiver_next(&r.r, 10), kAckTick);
    r.take(1, 20);
    EXPECT_EQ(r.acks(20), (List{2}));
    r.take(2, 30);
    EXPECT_EQ(r.acks(kAckTick), (List{3}));
    EXPECT_EQ(tahoe_receiver_next(&r.r, kAckTick), TIME_NEVER);
}

TEST(TahoeReceiver, SaysAtOnceWhatIsOutOfOrder)
{
    Receiver r;

    r.take(0, 10), r.take(2, 20), r.take(4, 30), r.take(3, 40);
    EXPECT_EQ(r.acks(40), (List{1, 1, 1}));
    r.take(1, 50);
    EXPECT_EQ(r.acks(50), (List{5})) << "earlier arrivals count";
    r.take(1, 60);
    EXPECT_EQ(r.acks(60), (List{5}));
    EXPECT_EQ(r.r.counts.duplicates, 1u);
    EXPECT_TRUE(span_set_empty(&r.r.beyond));
}

TEST(Segment, BytesBeyondThePoolOrTheFrameAreRefused)
{
    frame_route r = route(0, 1, 2);
    segment s = {1, 2, 3, 20000}, out;

    EXPECT_EQ(segment_build(test_pool, &r, &s), nullptr);
    s.data_len = 0;
    rte_mbuf *m = segment_build(test_pool, &r, &s);
    ASSERT_NE(m, nullptr);
    EXPECT_TRUE(segment_parse(m, &out, nullptr));
    EXPECT_EQ(out.number, 1u);
    EXPECT_EQ(out.answer, 2u);
    EXPECT_EQ(out.size, 3u);
    rte_pktmbuf_trim(m, 1);
    EXPECT_FALSE(segment_parse(m, &out, nullptr));
    rte_pktmbuf_free(m);
}

TEST(Cells, EvenToACycleForEver)
{
    // 3 s of cells at a rate that divides no round number
    cells_config cfg = {kHz, 7, 16873125, 0, test_pool};
    cells_count count = {};
    cells c;

    cells_init(&c, &cfg);
    for (uint64_t i = 0; i < 955000; i++) {
        rte_mbuf *m;

        ASSERT_EQ(cells_next(&c), 7 + i * CELLS_BYTES * kHz / cfg.rate_Bps);
        ASSERT_EQ(cells_tx(&c, &m, 1, cells_next(&c)), 1);
        if (i % 100 == 50)
            rte_pktmbuf_free(m);
        else
            cells_rx(&count, &m, 1);
    }
    cells_end(&count, c.sent + 2);
    EXPECT_EQ(count.lost, 9550u + 2);
    EXPECT_EQ(count.received, 955000u - 9550);
    EXPECT_EQ(count.gap_max, 100u);
    EXPECT_EQ(count.gap_min, 1u);
    EXPECT_EQ(count.gaps, count.lost - 1);
    EXPECT_EQ(count.gap_sum, 955001u - 50);
}

TEST(Cells, OutOfOrderOrTwiceCountOnce)
{
    cells_config cfg = {kHz, 0, 16873125, 5, test_pool};
    cells_count count = {};
    rte_mbuf *m[6];
    cells c;

    cells_init(&c, &cfg);
    ASSERT_EQ(cells_tx(&c, m, 5, kHz), 5);
    m[5] = rte_pktmbuf_copy(m[3], test_pool, 0, UINT32_MAX);
    ASSERT_NE(m[5], nullptr);
    std::swap(m[1], m[2]);
    cells_rx(&count, m, 6); // 0 2 1 3 4 3
    cells_end(&count, c.sent);
    EXPECT_EQ(count.received, 4u);
    EXPECT_EQ(count.lost, 1u);
}
