// SPDX-License-Identifier: BSD-3-Clause
// Hosts lose their core now and then. One flow must still use the link well, and path control must
// not take the stalls for a queue.
#include <gtest/gtest.h>

#include <cstdio>
#include <map>

#include "../unit/base/seed.h"
#include "pair.hh"
#include "dumbbell.hh"
#include "whole_pools.hh"

namespace
{

constexpr double kMs = 1e6, kS = 1e9, G = 1e9;
constexpr double kSettle = 20 * kMs, kLook = 0.5 * kS, kStep = kMs / 4;

enum Side { RECEIVER, SENDER, BOTH };

const char *name(Side side)
{
    return side == RECEIVER ? "receiver" : side == SENDER ? "sender" : "both";
}

// How often each WHY was seen.
using Whys = std::map<std::string, int>;

std::string text_of(const Whys &whys)
{
    std::string text;

    for (const auto &[word, times] : whys)
        text += " " + word + " " + std::to_string(times);
    return text;
}

// How many of the words that name the path were seen.
size_t names_path(const Whys &whys)
{
    return whys.count("queue") + whys.count("loss") + whys.count("competing");
}

struct Road {
    bool link; // a link limits, with a queue of a bandwidth-delay product; else the receiver
    Side side;
    double stall_ns, gap_ns; // on average
    uint32_t ring = 0;       // frames that the receiver's port holds; 0: any number
};

class RoadWorld : public WholePools, public testing::WithParamInterface<Road>
{
};

struct Outcome {
    double used; // share of the bytes that the link carries while both hosts run
    Whys why;
    // Samples before which data came, so the receiver ran; a stalled one repeats its last reason.
    int running = 0, lossy = 0;
};

Outcome drive(const Road &r, uint64_t seed)
{
    const Pools &pools = Pools::get();
    DumbbellOptions o;
    Outcome out;

    o.rate_bps = 10 * G;
    o.rtt_ns = 100e3;
    o.queue_bytes = 125000;
    o.host_limits = !r.link;
    o.seed = seed;
    o.ring = r.ring;
    world_spell spell = {static_cast<uint64_t>(r.gap_ns), static_cast<uint64_t>(r.stall_ns)};
    if (r.side != SENDER)
        o.stall[0] = spell;
    if (r.side != RECEIVER)
        o.stall[1] = spell;
    Dumbbell s(o, {pools.head, pools.attach, pools.copy, pools.wire});
    s.start(0);
    s.run(kSettle);
    double stalled = s.stalled_ns();
    uint64_t bytes = s.info(0).rx_bytes, last = bytes;
    for (double t = 0; t < kLook; t += kStep) {
        s.run(kStep);
        struct host_conn_info now = s.info(0);
        std::string why = host_reason_name(now.rx_reason);
        bool ran = now.rx_bytes > last;

        out.why[why]++;
        out.running += ran;
        out.lossy += ran && why == "loss";
        last = now.rx_bytes;
    }
    double could_ns = kLook - (s.stalled_ns() - stalled);
    double came = static_cast<double>(s.info(0).rx_bytes - bytes);
    out.used =
        came * 8e9 / could_ns / o.rate_bps * (r.link ? Dumbbell::kFrame / Dumbbell::kPayload : 1);
    return out;
}

} // namespace

TEST_P(RoadWorld, StallsAreNoQueue)
{
    const Road &r = GetParam();
    uint64_t first = test_seed();

    for (uint64_t seed = first; seed < first + 2; seed++) {
        Outcome o = drive(r, seed % 1000000);
        std::string why = text_of(o.why);

        std::printf("  %s limits, %-8s stalls of %4.0f ms each %4.0f ms: %5.1f %% of what they "
                    "could;%s%s\n",
                    r.link ? "link" : "host", name(r.side), r.stall_ns / kMs, r.gap_ns / kMs,
                    100 * o.used, r.ring > 0 ? " ring overflows," : "", why.c_str());
        if (r.ring > 0)
            std::printf("    lossy %d of %d\n", o.lossy, o.running);
        EXPECT_GE(o.used, 0.9) << "seed " << seed;
        if (r.ring > 0) {
            EXPECT_LT(o.lossy, o.running / 100) << "seed " << seed;
        }
        if (!r.link) {
            EXPECT_EQ(names_path(o.why), 0u) << "seed " << seed << why;
        }
    }
}
INSTANTIATE_TEST_SUITE_P(Host, RoadWorld,
                         testing::Values(Road{false, RECEIVER, 1 * kMs, 5 * kMs},
                                         Road{false, RECEIVER, 4 * kMs, 10 * kMs},
                                         Road{false, RECEIVER, 20 * kMs, 40 * kMs},
                                         Road{false, SENDER, 1 * kMs, 5 * kMs},
                                         Road{false, SENDER, 4 * kMs, 10 * kMs},
                                         Road{false, SENDER, 20 * kMs, 40 * kMs},
                                         Road{false, BOTH, 1 * kMs, 5 * kMs},
                                         Road{false, BOTH, 4 * kMs, 10 * kMs}));
// The receiver's port refuses the frames that come during most of each stall.
INSTANTIATE_TEST_SUITE_P(Ring, RoadWorld,
                         testing::Values(Road{true, RECEIVER, 1 * kMs, 5 * kMs, 128},
                                         Road{true, RECEIVER, 4 * kMs, 10 * kMs, 256}));
INSTANTIATE_TEST_SUITE_P(Link, RoadWorld,
                         testing::Values(Road{true, RECEIVER, 1 * kMs, 5 * kMs},
                                         Road{true, RECEIVER, 4 * kMs, 10 * kMs},
                                         Road{true, SENDER, 1 * kMs, 5 * kMs},
                                         Road{true, SENDER, 4 * kMs, 10 * kMs}));

namespace
{

struct Theft {
    Side side;
    double spell_ns; // a core is lost for so long, and kept for so long, on average
};

class BusyWorld : public WholePools, public testing::WithParamInterface<Theft>
{
};

} // namespace

// Other processes take the cores for half of the time, at any point of the hosts' loops. The path
// is a memif's: it never limits, and has no queue of its own.
TEST_P(BusyWorld, LostCoresAreNoQueue)
{
    constexpr double kServiceBps = 4e9;
    const Pools &pools = Pools::get();
    uint64_t first = test_seed();

    for (uint64_t seed = first; seed < first + 4; seed++) {
        const Theft &t = GetParam();
        DumbbellOptions o;
        world_spell spell = {static_cast<uint64_t>(t.spell_ns), static_cast<uint64_t>(t.spell_ns)};

        o.rtt_ns = 10e3;
        o.queue_bytes = 8e6;
        o.service_Bps = kServiceBps;
        o.mtu = 9000;
        o.seed = seed % 1000000;
        if (t.side != SENDER)
            o.stall[0] = spell;
        if (t.side != RECEIVER)
            o.stall[1] = spell;
        Dumbbell s(o, {pools.head, pools.attach, pools.copy, pools.wire});
        Whys whys;

        s.start(0);
        for (double at = 0; at < 100 * t.spell_ns; at += kStep) {
            s.run(kStep);
            whys[host_reason_name(s.info(0).rx_reason)]++;
        }
        std::string text = text_of(whys);

        std::printf(
            "  %-8s %2.0f ms: %4.1f %% of its core's rate;%s\n", name(t.side), t.spell_ns / kMs,
            100 * static_cast<double>(s.info(0).rx_bytes) / (100 * t.spell_ns / kS) / kServiceBps,
            text.c_str());
        EXPECT_EQ(names_path(whys), 0u) << "seed " << seed << text;
    }
}
INSTANTIATE_TEST_SUITE_P(Cores, BusyWorld,
                         testing::Values(Theft{RECEIVER, 1 * kMs}, Theft{RECEIVER, 10 * kMs},
                                         Theft{SENDER, 1 * kMs}, Theft{SENDER, 10 * kMs},
                                         Theft{BOTH, 1 * kMs}, Theft{BOTH, 4 * kMs},
                                         Theft{BOTH, 20 * kMs}));
