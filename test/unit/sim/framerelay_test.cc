// SPDX-License-Identifier: BSD-3-Clause
// The experiments of the frame-relay paper ([FRAME-RELAY], figures 4-16) with a TCP of 1993:
// regions, their borders, one-way delays, and the use of priority in the router.
//
// The path is Ethernet, the router's two queues before 1.5 Mbit/s, the switch's queue that drains
// at the CIR, and Ethernet, with 1 ms each way for hosts and routers. The paper's switches cut
// frames into cells of 24 bytes, which leave while the rest of the frame still arrives. So only one
// of the three lines of 1.5 Mbit/s takes the time of a frame. A round trip of 64 ms (one segment at
// 181.7 kbit/s) leaves no time for more.
#include <algorithm>

#include "bulk.hh"
#include "findings.hh"

namespace
{

constexpr double kStart = 3, kEnd = 103, kSettled = 23;
constexpr double kCirFrameMs = 1514 * 8 / 256.0;

std::string frame_relay(const std::string &queue, const char *more = "")
{
    return "rate 10mbit 24 rate 1.5mbit band length 68 limit 20 band limit 30 rate 256kbit limit " +
           queue + " rate 10mbit 24 delay 1ms" + more;
}

enum { ROUTER = 1, SWITCH = 2 }; // elements of it

Bulk bulk(uint32_t segments, const std::string &path, bool fast = false)
{
    BulkOptions o;

    o.there = o.back = path;
    o.window_bytes = segments * 1460;
    o.fast_retransmit = fast;
    return Bulk(o);
}

double saturated(uint32_t segments, const std::string &path)
{
    Bulk b = bulk(segments, path);

    b.run(kEnd);
    return b.rate_bps(kSettled, kEnd) / 1e3;
}

// The largest window, in segments, with which nothing is sent twice.
uint32_t border(const std::string &path, uint32_t from)
{
    for (;; from++) {
        Bulk b = bulk(from, path);

        b.run(kEnd);
        if (b.tcp.counts.retransmitted > 0)
            return from - 1;
    }
}

} // namespace

TEST(FrRegions, LinearAndSaturation)
{
    Findings &f = Findings::get();
    std::string path = frame_relay("38kB");
    Bulk one = bulk(1, path), two = bulk(2, path), most = bulk(26, path);

    for (Bulk *b : {&one, &two, &most})
        b->run(kEnd);
    f.add("fr-regions: linear, 1 MSS", "181.7 kb/s", one.rate_bps(kSettled, kEnd) / 1e3, "kb/s",
          181.7 * 0.95, 181.7 * 1.05);
    f.add("fr-regions: its delay increment, at most a frame's at CIR", "about 0",
          one.increment_ms(2, kSettled, kEnd, 0.5), "ms", 0, kCirFrameMs);
    double rate = two.rate_bps(kSettled, kEnd) / 1e3;

    f.add("fr-regions: saturation from 2 MSS", "about 236 kb/s", rate, "kb/s", 236 * 0.96,
          236 * 1.04);
    f.add("fr-regions: its delay increment, median", "40-80 ms",
          two.increment_ms(2, kSettled, kEnd, 0.5), "ms", 40, 80);
    f.add("fr-regions: 26 MSS: rate against 2 MSS", "1", most.rate_bps(kSettled, kEnd) / 1e3 / rate,
          "", 0.99, 1.01);
    f.add("fr-regions: 26 MSS: delay increment, median", "1180 ms",
          most.increment_ms(2, kSettled, kEnd, 0.5), "ms", 1180 * 0.9, 1180 * 1.1);
    // Five frames give a rate as even as in the paper's figures 6 and 7.
    std::vector<double> rates = most.momentary_bps();

    rates.erase(rates.begin(), rates.begin() + static_cast<long>(rates.size() / 2));
    f.add("fr-regions: 26 MSS: momentary rate, largest over least", "flat",
          *std::max_element(rates.begin(), rates.end()) /
              *std::min_element(rates.begin(), rates.end()),
          "", 1, 1.1);
    f.add("fr-regions: no transition without jitter: 2 MSS over 8 MSS", "1",
          rate / saturated(8, path), "", 0.99, 1.01);
    std::string jitter = frame_relay("38kB", " delay 20ms 20ms order");

    f.add("fr-regions: with jitter there is one: 3 MSS over 8 MSS", "below 1",
          saturated(3, jitter) / saturated(8, jitter), "", 0.5, 0.985);
}

// If every hop stored and forwarded whole frames, each would add the time of a frame. Then one
// segment a round trip would not be the paper's rate.
TEST(FrRegions, StoreAndForwardIsSlower)
{
    std::string path = "rate 10mbit 24 rate 1.5mbit band length 68 limit 20 band limit 30 "
                       "rate 256kbit limit 38kB rate 1.5mbit rate 1.5mbit limit 64kB "
                       "rate 10mbit 24 delay 1ms";

    Findings::get().differs("fr-regions: 1 MSS, were all three lines store and forward",
                            "181.7 kb/s", saturated(1, path), "kb/s", 181.7 * 0.95, 181.7 * 1.05,
                            "the paper's switches send cells of a frame that still comes in");
}

TEST(FrRegions, BordersFollowTheQueue)
{
    Findings &f = Findings::get();

    f.add("fr-regions: 38 kB: right border of saturation", "26 MSS",
          border(frame_relay("38kB"), 20), "MSS", 24, 28);
    f.add("fr-regions: 8 kB: overflow from", "7 MSS", border(frame_relay("8kB"), 2) + 1.0, "MSS", 5,
          9);
}

// At this border, TCP's own frames fill the queue. TCP sends when one of them has left, so it finds
// room. Probes are sent at any time. The border depends on a few hundred bytes: the paper's 26 MSS
// just filled the queue, but ours leave 200 bytes of 38 kB.
TEST(FrRegions, ProbesAreLostBeforeTcp)
{
    Findings &f = Findings::get();
    Bulk b = bulk(26, frame_relay("38640b"));

    b.run(kEnd);
    f.add("fr-regions: full queue: probes lost of 1000", "some",
          b.probes_lost(0) + b.probes_lost(1), "", 10, 500);
    f.add("fr-regions: full queue: TCP segments lost", "0", (double)b.tcp.counts.retransmitted, "",
          0, 0);
}

TEST(FrRegions, OverflowIsASawTooth)
{
    Findings &f = Findings::get();
    Bulk b = bulk(27, frame_relay("38kB"));

    b.run(kEnd);
    EXPECT_GT(b.tcp.counts.timeouts, 2u);
    // After the first loss, each tooth rises to half of its peak fast, and from there slowly.
    double peak = b.increment_ms(1, kSettled, kEnd, 1), low_at = 0, half_at = 0;
    double fast = 0, slow = 0, least = 1e9;
    uint32_t teeth = 0;

    for (const Bulk::Probe &p : b.probes) {
        if (p.kind != 1 || p.at_s < kStart + 2)
            continue;
        if (p.increment_ms < 0.25 * peak) {
            low_at = p.at_s;
            half_at = 0;
        } else if (low_at > 0 && half_at == 0 && p.increment_ms >= 0.5 * peak) {
            half_at = p.at_s;
        } else if (half_at > 0 && p.increment_ms >= 0.97 * peak) {
            fast += half_at - low_at;
            slow += p.at_s - half_at;
            low_at = half_at = 0;
            teeth++;
        }
        least = std::min(least, p.increment_ms);
    }
    f.add("fr-regions: 27 MSS: teeth of the saw in 100 s", "several", teeth, "", 2, 20);
    f.add("fr-regions: 27 MSS: delay falls to, of its peak", "nearly 0", least / peak, "", 0, 0.25);
    f.add("fr-regions: 27 MSS: rise from half to peak over rise to half", "slow over fast",
          slow / fast, "", 2, 100);
    f.differs("fr-regions: 27 MSS: frames lost in the router's queue", "the first",
              (double)b.dropped(ROUTER), "", 1, 100,
              "30 frames of room take 27 frames at once; they drop first from about 36 MSS");
    Bulk large = bulk(40, frame_relay("38kB"));

    large.run(kStart + 1);
    f.add("fr-regions: 40 MSS: first losses in the router's queue", "yes",
          (double)large.dropped(ROUTER), "", 1, 100);
}

// The paper's hosts waited for a time-out after each loss. Tahoe retransmits at the third duplicate
// acknowledgement, and loses almost no throughput. This test runs both.
TEST(FrRegions, SmallQueue)
{
    Findings &f = Findings::get();
    Bulk late = bulk(7, frame_relay("8kB")), soon = bulk(7, frame_relay("8kB"), true);
    Bulk larger = bulk(26, frame_relay("8kB"));

    for (Bulk *b : {&late, &soon, &larger})
        b->run(kEnd);
    double whole = saturated(2, frame_relay("8kB"));
    double share = late.rate_bps(kStart, kEnd) / 1e3 / whole;

    f.differs(
        "fr-regions: 8 kB, 7 MSS: rate over saturation, by time-outs", "0.69 (162 kb/s)", share, "",
        0.65, 0.8,
        "a time-out of 500 ms ticks costs 0.5-1 s of each 4 s; the paper's was shorter, as next");
    for (uint64_t tick_ms : {300, 400}) {
        BulkOptions o = late.opt;

        o.tick_ns = tick_ms * 1000000;
        Bulk b(o);

        b.run(kEnd);
        f.add(text("fr-regions: 8 kB, 7 MSS: the same with ticks of %u ms",
                   static_cast<unsigned int>(tick_ms)),
              "0.69 (162 kb/s)", b.rate_bps(kStart, kEnd) / 1e3 / whole, "", 0.65, 0.8);
    }
    f.differs("fr-regions: 8 kB, 7 MSS: the same with fast retransmit", "0.69 (162 kb/s)",
              soon.rate_bps(kStart, kEnd) / 1e3 / whole, "", 0.65, 0.8,
              "no idle time at all: so the paper's hosts had none");
    f.add("fr-regions: 8 kB, 7 MSS: delay increment, median while loaded", "about 200 ms",
          soon.increment_ms(2, kSettled, kEnd, 0.5), "ms", 150, 260);
    f.add("fr-regions: 8 kB: 26 MSS against 7 MSS, rate", "little change",
          larger.rate_bps(kStart, kEnd) / late.rate_bps(kStart, kEnd), "", 0.9, 1.1);
}

TEST(FrPriority, WorksOnALeasedLine)
{
    Findings &f = Findings::get();
    std::string path = "rate 10mbit 24 rate 256kbit band length 68 limit 20 band limit 30 rate "
                       "10mbit 24 delay 1ms";
    Bulk b = bulk(25, path);

    b.run(kEnd);
    f.add("fr-priority: HDLC: right border of saturation", "25 MSS", border(path, 22), "MSS", 24,
          27);
    f.add("fr-priority: HDLC, 25 MSS: normal probes, largest increment", "about 1200 ms",
          b.increment_ms(1, kSettled, kEnd, 1), "ms", 1080, 1320);
    f.add("fr-priority: HDLC, 25 MSS: high-priority probes, largest", "below 100 ms",
          b.increment_ms(0, kSettled, kEnd, 1), "ms", 0, 100);
}

TEST(FrPriority, DoesNotReachTheSwitch)
{
    Bulk b = bulk(26, frame_relay("38kB"));

    b.run(kEnd);
    Findings::get().add("fr-priority: frame relay: high over normal, median increments", "1",
                        b.increment_ms(0, kSettled, kEnd, 0.5) /
                            b.increment_ms(1, kSettled, kEnd, 0.5),
                        "", 0.97, 1.03);
}
