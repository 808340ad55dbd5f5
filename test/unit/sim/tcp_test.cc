// SPDX-License-Identifier: BSD-3-Clause
// The model of a present-day TCP: its window, its reaction to each acknowledgement, and its use of
// a link.
#include <cmath>
#include <ctime>
#include <memory>
#include <vector>

#include "findings.hh"
#include "flows.hh"

extern "C" {
#include "base/clock.h"
#include "path/path.h"
#include "model/line.h"
#include "model/tcp.h"
#include "model/tcp_receiver.h"
}

namespace
{

constexpr uint64_t kHz = 1000000000, kMs = 1000000;
constexpr uint16_t kMss = 1460;
constexpr uint32_t kWindow = 4096; // segments

using List = std::vector<uint32_t>;

frame_route route(uint16_t sport, uint16_t dport)
{
    frame_route r = {};

    r.vlan = FRAME_VLAN_NONE;
    r.src = addr_from_v4(0x0a000001);
    r.dst = addr_from_v4(0x0a000002);
    r.sport = sport;
    r.dport = dport;
    return r;
}

using Flight = std::vector<tcp_flight>;

tcp_config config(Flight &flight)
{
    tcp_config c = {};

    flight.resize(kWindow);
    c.flight = flight.data();
    c.window_segments = kWindow;

    c.route = route(1, 2);
    c.hz = kHz;
    c.mss_bytes = kMss;
    c.pool = test_pool;
    return c;
}

struct Sender {
    Sender() : t(std::make_unique<tcp>())
    {
        tcp_config c = config(flight);

        tcp_init(t.get(), &c);
    }
    List sends(uint64_t now)
    {
        rte_mbuf *m[64];
        List out;

        for (uint16_t i = 0, n = tcp_tx(t.get(), m, 64, now); i < n; i++) {
            segment s;

            EXPECT_TRUE(segment_parse(m[i], &s, nullptr));
            EXPECT_EQ(s.data_len, kMss);
            out.push_back(s.number);
            rte_pktmbuf_free(m[i]);
        }
        return out;
    }
    void ack(uint32_t received, const std::vector<std::pair<uint32_t, uint32_t>> &beyond,
             uint64_t now)
    {
        segment_spans spans = {};
        frame_route r = route(2, 1);

        for (const auto &b : beyond) {
            spans.first[spans.n] = b.first;
            spans.end[spans.n++] = b.second;
        }
        segment s = {0, received, 0, (uint16_t)segment_spans_bytes(&spans)};
        rte_mbuf *m = segment_build(test_pool, &r, &s);

        segment_spans_put(m, &spans);
        tcp_rx(t.get(), &m, 1, now);
    }
    Flight flight;
    std::unique_ptr<tcp> t;
};

struct Ack {
    uint32_t received;
    List beyond; // first and end of each span
    bool operator==(const Ack &o) const
    {
        return received == o.received && beyond == o.beyond;
    }
};

struct Receiver {
    Receiver() : r(std::make_unique<tcp_receiver>())
    {
        tcp_receiver_config c = {route(2, 1), kHz, test_pool};

        tcp_receiver_init(r.get(), &c);
    }
    std::vector<Ack> takes(const List &numbers, uint64_t now)
    {
        frame_route way = route(1, 2);
        rte_mbuf *m[64];
        std::vector<Ack> out;

        for (uint32_t number : numbers) {
            segment s = {number, 0, 0, kMss};
            rte_mbuf *one = segment_build(test_pool, &way, &s);

            tcp_receiver_rx(r.get(), &one, 1, now);
        }
        for (uint16_t i = 0, n = tcp_receiver_tx(r.get(), m, 64, now); i < n; i++) {
            segment_spans spans;
            segment s;
            Ack a;

            EXPECT_TRUE(segment_parse(m[i], &s, nullptr) && segment_spans_get(m[i], &spans));
            a.received = s.answer;
            for (uint32_t k = 0; k < spans.n; k++) {
                a.beyond.push_back(spans.first[k]);
                a.beyond.push_back(spans.end[k]);
            }
            out.push_back(a);
            rte_pktmbuf_free(m[i]);
        }
        return out;
    }
    std::unique_ptr<tcp_receiver> r;
};

} // namespace

TEST(Cubic, SlowStartEndsAtSsthreshOrWhenTheRoundTripGrows)
{
    cubic c;

    cubic_init(&c, 10, false);
    c.ssthresh = 40;
    for (int i = 0; i < 30; i++)
        cubic_ack(&c, 1, 0.04, 1);
    EXPECT_EQ(c.cwnd, 40);
    cubic_ack(&c, 40, 0.04, 1);
    EXPECT_LT(c.cwnd, 42) << "slow start has ended";
    for (uint64_t grown : {4, 6}) { // an eighth of 40 ms is 5 ms
        cubic_init(&c, 32, true);
        for (uint64_t i = 0; i < 8; i++)
            cubic_rtt(&c, 40 * kMs, i, 32);
        for (uint64_t i = 32; i < 40; i++)
            cubic_rtt(&c, (40 + grown) * kMs, i, 64);
        EXPECT_EQ(c.ssthresh == c.cwnd, grown > 5);
    }
}

// RFC 9438: K seconds after a loss the window is back at its old value. It is flat there, and then
// rises faster and faster.
TEST(Cubic, ALossAndTheWayBack)
{
    const double rtt = 0.1, k = std::cbrt(200 * 0.3 / 0.4);
    cubic c;

    cubic_init(&c, 200, false);
    cubic_loss(&c);
    EXPECT_DOUBLE_EQ(c.ssthresh, 140);
    c.cwnd = c.ssthresh;
    double t = 100, half = 0, full = 0, beyond = 0;
    for (; t < 100 + 2 * k; t += rtt / c.cwnd) {
        cubic_ack(&c, 1, rtt, t);
        half = t < 100 + k / 2 ? c.cwnd : half;
        full = t < 100 + k ? c.cwnd : full;
        beyond = c.cwnd;
    }
    EXPECT_NEAR(half, 200 - 60. / 8, 3) << "an eighth of the loss is missing";
    EXPECT_NEAR(full, 200, 2);
    EXPECT_NEAR(beyond, 260, 6);
    c.cwnd = 150;
    c.w_max = 200;
    cubic_loss(&c);
    EXPECT_DOUBLE_EQ(c.w_max, 150 * 0.85) << "it leaves room for other flows";
}

TEST(Tcp, OneGapIsRepairedInARoundTrip)
{
    Sender s;

    EXPECT_EQ(s.sends(0).size(), 10u);
    s.ack(2, {{3, 5}}, 40 * kMs);
    List more = s.sends(40 * kMs);
    ASSERT_EQ(more.size(), 8u) << "two of three segments beyond: no loss yet, slow start";
    EXPECT_EQ(more[0], 10u);
    s.ack(2, {{3, 6}}, 41 * kMs);
    EXPECT_EQ(s.t->counts.recoveries, 1u);
    more = s.sends(41 * kMs);
    ASSERT_FALSE(more.empty());
    EXPECT_EQ(more[0], 2u);
    double ssthresh = s.t->law.cubic.window.ssthresh;
    EXPECT_NEAR(ssthresh, 0.7 * 14, 0.71);
    s.ack(2, {{3, 10}}, 42 * kMs);
    EXPECT_EQ(s.t->counts.retransmitted, 1u) << "only once";
    s.ack((uint32_t)s.t->nxt, {}, 80 * kMs);
    EXPECT_EQ(s.t->state, TCP_OPEN);
    EXPECT_NEAR(s.t->law.cwnd, ssthresh, 2);
    EXPECT_EQ(s.t->counts.recoveries, 1u);
    EXPECT_EQ(s.t->lost + s.t->sacked, 0u);
}

// If a repeated segment is overtaken by a segment that was sent later, it was lost again.
TEST(Tcp, ARepetitionMayBeLost)
{
    Sender s;

    s.sends(0);
    s.ack(0, {{1, 10}}, 40 * kMs);
    List again = s.sends(40 * kMs);
    ASSERT_GE(again.size(), 2u);
    EXPECT_EQ(again[0], 0u);
    EXPECT_EQ(again[1], 10u);
    s.ack(0, {{1, 11}}, 81 * kMs);
    EXPECT_EQ(s.sends(81 * kMs)[0], 0u);
    EXPECT_EQ(s.t->counts.retransmitted, 2u);
    EXPECT_EQ(s.t->counts.timeouts, 0u);
}

TEST(Tcp, SilenceDoublesTheTimer)
{
    Sender s;
    List at;
    uint64_t now = 0;

    s.sends(0);
    s.ack(2, {}, 40 * kMs);
    s.sends(40 * kMs);
    for (int i = 0; i < 4; i++) {
        now = tcp_next(s.t.get(), now);
        EXPECT_EQ(s.sends(now), (List{2})) << "only the first missing segment";
        at.push_back((uint32_t)(now / kMs));
    }
    EXPECT_EQ(at[0], 40u + 40 + 200) << "a round trip and 200 ms";
    EXPECT_EQ(at[1] - at[0], 480u);
    EXPECT_EQ(at[2] - at[1], 960u);
    EXPECT_EQ(s.t->counts.timeouts, 4u);
    s.ack(12, {}, now + 40 * kMs);
    EXPECT_GT(s.t->law.cwnd, 1);
}

TEST(TcpReceiver, EachSecondSegmentOrLater)
{
    Receiver r;

    EXPECT_EQ(r.takes({0}, 0), (std::vector<Ack>{}));
    EXPECT_EQ(tcp_receiver_next(r.r.get(), 0), 40 * kMs);
    EXPECT_EQ(r.takes({1, 2}, 10), (std::vector<Ack>{{2, {}}}));
    EXPECT_EQ(r.takes({}, 10 + 40 * kMs), (std::vector<Ack>{{3, {}}}));
    EXPECT_EQ(tcp_receiver_next(r.r.get(), 0), TIME_NEVER);
    EXPECT_EQ(r.takes({1}, 50 * kMs), (std::vector<Ack>{{3, {}}})) << "it came twice";
    EXPECT_EQ(r.r->data_bytes, 3u * kMss);
}

TEST(TcpReceiver, TellsWhatCameBeyondTheNewestFirst)
{
    Receiver r;

    r.takes({0, 1}, 0);
    EXPECT_EQ(r.takes({3}, 1), (std::vector<Ack>{{2, {3, 4}}}));
    EXPECT_EQ(r.takes({4}, 2), (std::vector<Ack>{{2, {3, 5}}}));
    EXPECT_EQ(r.takes({7}, 3), (std::vector<Ack>{{2, {7, 8, 3, 5}}}));
    EXPECT_EQ(r.takes({9}, 4), (std::vector<Ack>{{2, {9, 10, 7, 8, 3, 5}}}));
    EXPECT_EQ(r.takes({11}, 5), (std::vector<Ack>{{2, {11, 12, 9, 10, 7, 8}}})) << "at most three";
    EXPECT_EQ(r.takes({2}, 6)[0].received, 5u);
}

// This looks at all segments in flight, which the sender does not do. Exactly those that were
// overtaken are taken for lost, and the counters are right.
TEST(Tcp, WhatIsLostIsWhatWasOvertaken)
{
    uint64_t lost_again = 0;

    for (tcp_law_kind law : {TCP_CUBIC, TCP_BBR}) {
        FlowsOptions o;

        o.loss = 0.1; // one segment in a hundred is lost twice
        o.rate_bps = 20e6;
        o.flows = {{law}};
        Flows f(o);
        f.watch(20, 0.0007, [&](double now_s) {
            const tcp &t = f.sender(0);
            uint32_t sacked = 0, lost = 0;

            for (uint64_t s = t.una; s < t.nxt; s++) {
                const tcp_flight &flight = t.cfg.flight[s % t.cfg.window_segments];
                bool overtaken = std::make_pair(flight.mark.sent_ns, s) <
                                 std::make_pair(t.newest.sent_ns, t.newest.segment);

                sacked += flight.sacked;
                lost += flight.lost;
                lost_again += flight.lost && flight.again;
                if (t.sacked >= 3 && t.state != TCP_OPEN && !flight.sacked) {
                    ASSERT_TRUE(flight.lost || !overtaken) << s << " at " << now_s << " s";
                }
            }
            ASSERT_EQ(sacked, t.sacked) << "at " << now_s << " s";
            ASSERT_EQ(lost, t.lost) << "at " << now_s << " s";
        });
        EXPECT_GT(f.delivered(0), 0.1e6);
    }
    EXPECT_GT(lost_again, 0u);
}

// 100 000 segments are in flight, and each hundredth is lost. If each acknowledgement searched all
// of them, the test would take minutes.
TEST(Tcp, AWindowAsLargeAsTheCallerWants)
{
    const uint32_t window = tcp_window(100000);
    const uint64_t rtt = 100 * kMs, sent_of = 100000;
    Flight flight(window);
    tcp_config c = {};
    auto t = std::make_unique<tcp>();

    EXPECT_GE(window, 200000u);
    c.route = route(1, 2);
    c.hz = kHz;
    c.mss_bytes = 64;
    c.pool = test_pool;
    c.flight = flight.data();
    c.window_segments = window;
    tcp_init(t.get(), &c);
    t->law.cwnd = t->law.cubic.window.cwnd = sent_of;
    t->law.cubic.window.ssthresh = 1;
    auto send = [&](uint64_t now) {
        rte_mbuf *m[64];
        uint64_t n = 0;

        for (uint16_t got; (got = tcp_tx(t.get(), m, 64, now)) > 0; n += got)
            rte_pktmbuf_free_bulk(m, got);
        return n;
    };
    auto ack = [&](uint32_t received, uint32_t first, uint32_t end, uint64_t now) {
        segment_spans spans = {};
        frame_route r = route(2, 1);

        spans.n = end > first;
        spans.first[0] = first;
        spans.end[0] = end;
        segment s = {0, received, 0, (uint16_t)segment_spans_bytes(&spans)};
        rte_mbuf *m = segment_build(test_pool, &r, &s);
        segment_spans_put(m, &spans);
        tcp_rx(t.get(), &m, 1, now);
    };
    EXPECT_EQ(send(0), sent_of);
    // each hundredth is missing; each answer has the newest span
    for (uint32_t s = 0; s < sent_of; s += 2)
        ack(0, s / 100 * 100 + 1, s + 2, rtt + s);
    EXPECT_EQ(t->lost, sent_of / 100);
    EXPECT_GE(send(rtt + sent_of), sent_of / 100);
    EXPECT_EQ(t->counts.retransmitted, sent_of / 100);
    ack((uint32_t)t->nxt, 0, 0, 2 * rtt + sent_of);
    EXPECT_EQ(t->lost + t->sacked, 0u);
    EXPECT_EQ(t->state, TCP_OPEN);
    EXPECT_EQ(t->counts.timeouts, 0u);

    uint32_t una = (uint32_t)t->una;
    t->law.cwnd = t->law.cubic.window.cwnd = sent_of;
    EXPECT_GE(send(3 * rtt), sent_of - 1);
    std::clock_t begun = std::clock();
    for (uint32_t s = 2; s <= sent_of; s += 2)
        ack(una, una + 1, una + s, 4 * rtt + s);
    EXPECT_EQ(t->lost, 1u);
    EXPECT_LT((double)(std::clock() - begun) / CLOCKS_PER_SEC, 1) << "seconds of processor time";
}

TEST(Tcp, LawsHaveNames)
{
    for (uint32_t i = 0; i < TCP_LAWS; i++) {
        tcp_law_kind kind = TCP_LAWS;

        EXPECT_TRUE(tcp_law_find(tcp_law_name((tcp_law_kind)i), &kind));
        EXPECT_EQ(kind, (tcp_law_kind)i);
    }
    tcp_law_kind kind;
    EXPECT_FALSE(tcp_law_find("reno", &kind));
    EXPECT_FALSE(tcp_law_find("", &kind));
}

// One flow, with a queue of one bandwidth-delay product, fills the link and repairs all losses
// without a time-out. A second run gives the same result.
TEST(Tcp, FillsALink)
{
    uint64_t before = 0;

    for (int run = 0; run < 2; run++) {
        line_config cfg = {
            {"rate 10mbit limit 25000B delay 10ms", "delay 10ms"}, kHz, 1, 4000, test_pool};
        tcp_receiver_config rc = {route(2, 1), kHz, test_pool};
        Flight flight;
        tcp_config tc = config(flight);
        auto sender = std::make_unique<tcp>();
        auto receiver = std::make_unique<tcp_receiver>();
        char err[300];
        struct line *l = line_create(&cfg, err, sizeof err);

        ASSERT_NE(l, nullptr) << err;
        tcp_init(sender.get(), &tc);
        tcp_receiver_init(receiver.get(), &rc);
        line_add(l, 0, tcp_node(sender.get()));
        line_add(l, 1, tcp_receiver_node(receiver.get()));
        line_run(l, 5000 * kMs);
        uint64_t bytes = receiver->data_bytes;
        line_run(l, 35000 * kMs);
        EXPECT_GE((double)(receiver->data_bytes - bytes) * 8 * 1514 / 1460 / 30, 0.97 * 10e6);
        EXPECT_GT(sender->counts.recoveries, 3u);
        EXPECT_EQ(sender->counts.timeouts, 0u);
        EXPECT_TRUE(run == 0 || receiver->data_bytes == before);
        before = receiver->data_bytes;
        line_destroy(l);
    }
}
