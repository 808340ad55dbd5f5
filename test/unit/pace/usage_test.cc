// SPDX-License-Identifier: BSD-3-Clause
// Honest senders, drawn at random, keep to what the receiver allows, however their packets and
// their grants travel. Cheaters gain no more than what the longest delay carries.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "../base/seed.h"

#include "credit_model.h"

extern "C" {
#include "pace/usage.h"
}

namespace
{
constexpr uint64_t kHz = 1000000000, kMs = kHz / 1000;
constexpr uint64_t kLate = 100 * kMs, kEnd = 40 * kLate;
constexpr uint32_t kUnit = 1400;

struct Cntl {
    uint64_t sent, comes; // comes UINT64_MAX: lost
    uint32_t seq;
    uint64_t rate_Bps, burst_bytes;
};

struct Data {
    uint64_t sent, comes;
    uint32_t bytes, seen;
};

// Takes a packet, unless it is more than was granted.
bool take(struct usage *a, uint32_t bytes, uint64_t t)
{
    if (!usage_holds(a, bytes, t))
        return false;
    usage_take(a, bytes);
    return true;
}

// One sender and its receiver, and all packets between them.
struct Line {
    struct rng r;
    std::vector<Cntl> cntl;
    std::vector<Data> data;
    uint64_t first_bytes = 0;

    explicit Line(uint64_t seed)
    {
        rng_init(&r, seed);
    }

    uint64_t below(uint64_t n)
    {
        return rng_below(&r, n);
    }

    uint64_t scale(uint64_t low, uint64_t high)
    {
        return rng_magnitude(&r, low, high);
    }

    // Grants that change now and then. Half of the CNTL may get lost.
    void grant()
    {
        const bool lossy = below(2) == 0, slow = below(2) == 0;
        uint64_t rate = scale(10000, 20000000), burst = scale(100, 100000);

        for (uint64_t t = below(kLate); t < kEnd; t += 1 + below(kLate / 8)) {
            if (below(4) == 0)
                rate = below(20) == 0 ? 0 : scale(10000, 20000000);
            if (below(4) == 0)
                burst = below(200) == 0 ? 0 : scale(100, 100000);
            cntl.push_back({t, lossy && below(2) == 0 ? UINT64_MAX : t + below(slow ? kLate : kMs),
                            static_cast<uint32_t>(cntl.size() + 1), rate, burst});
        }
    }

    // When a packet comes that was sent at t. No packet takes longer than kLate.
    uint64_t comes(uint64_t t, uint64_t kind)
    {
        switch (kind) {
        case 0:
            return t + kLate / 7;
        case 1: // out of order
            return t + below(kLate + 1);
        case 2: // the path holds everything back, then lets it go
            return (t / kLate + 1) * kLate;
        case 3: // a long way and a short one
            return t + (below(2) == 0 ? 0 : kLate);
        default: // the long way becomes the short one
            return t + (t / (3 * kLate) % 2 == 0 ? kLate : 0);
        }
    }

    void unit(uint64_t t, uint64_t kind, uint32_t seen)
    {
        data.push_back({t, comes(t, kind), static_cast<uint32_t>(1 + below(kUnit)), seen});
    }

    // A sender that keeps to the credit rule, and polls late at times.
    void send()
    {
        const uint64_t kind = below(5), gap = scale(10000, 20 * kMs);
        struct credit c;
        uint32_t seen = 0;
        bool idle = false;

        first_bytes = below(2) == 0 ? 0 : 16384;
        for (uint64_t sent = 0; sent + kUnit < first_bytes; sent += data.back().bytes)
            unit(below(kMs), kind, 0);
        credit_init(&c, kHz, 0, 1, 0);
        credit_take(&c, 1);
        for (uint64_t t = 1; t < kEnd; t += 1 + below(below(50) == 0 ? kLate : gap)) {
            const Cntl *newest = nullptr;

            for (const Cntl &x : cntl)
                if (x.comes <= t && x.seq > seen)
                    newest = &x;
            if (newest != nullptr && seen == 0)
                credit_init(&c, kHz, newest->rate_Bps, newest->burst_bytes, t);
            else if (newest != nullptr)
                credit_set(&c, kHz, newest->rate_Bps, newest->burst_bytes, t);
            seen = newest != nullptr ? newest->seq : seen;
            if (below(100) == 0)
                idle = !idle;
            for (int n = 0; !idle && seen > 0 && n < 2000 && credit_next(&c, t) <= t; n++) {
                unit(t, kind, seen);
                credit_update(&c, t);
                credit_take(&c, data.back().bytes);
            }
        }
    }

    // What the receiver sees, in order of time. Returns how many packets it would drop.
    size_t receive()
    {
        struct usage a;
        size_t next = 0, dropped = 0;

        std::stable_sort(data.begin(), data.end(),
                         [](const Data &x, const Data &y) { return x.comes < y.comes; });
        usage_init(&a, kHz, kLate, kUnit, first_bytes, 0);
        for (const Data &d : data) {
            for (; next < cntl.size() && cntl[next].sent <= d.comes; next++)
                usage_advertise(&a, cntl[next].seq, cntl[next].rate_Bps, cntl[next].burst_bytes,
                                cntl[next].sent);
            usage_seen(&a, d.seen, d.comes);
            dropped += !take(&a, d.bytes, d.comes);
        }
        return dropped;
    }
};

// How many bytes of a cheater are taken from `from` to `until`. It sends kUnit every gap.
uint64_t cheat(struct usage *a, uint64_t from, uint64_t until, uint64_t gap, uint32_t seen)
{
    uint64_t bytes = 0;

    for (uint64_t t = from; t < until; t += gap) {
        usage_seen(a, seen, t);
        bytes += take(a, kUnit, t) ? kUnit : 0;
    }
    return bytes;
}

double rate_of(uint64_t bytes, uint64_t tsc)
{
    return static_cast<double>(bytes) * kHz / static_cast<double>(tsc);
}
} // namespace

TEST(UsageProperty, NoHonestPacketIsDropped)
{
    uint64_t seed = test_seed(), packets = 0, changes = 0;

    for (uint64_t world = 0; world < 300; world++) {
        Line line(seed + world);

        line.grant();
        line.send();
        ASSERT_EQ(line.receive(), 0u) << "world " << seed + world;
        packets += line.data.size();
        for (size_t i = 1; i < line.cntl.size(); i++)
            changes += line.cntl[i].rate_Bps != line.cntl[i - 1].rate_Bps;
    }
    EXPECT_GT(packets, 500000u);
    EXPECT_GT(changes, 2000u);
}

TEST(Usage, ACheaterGainsWhatTheLongestDelayCarries)
{
    constexpr uint64_t kRate = 1000000, kBurst = 10000;
    const double most = kRate * (1 + 1.0 / 1024),
                 room = most * kLate / kHz + 2 * kBurst + 2 * kUnit;
    struct usage a;

    usage_init(&a, kHz, kLate, kUnit, 0, 0);
    EXPECT_TRUE(usage_holds(&a, kUnit, 0));
    EXPECT_FALSE(usage_holds(&a, kUnit + 2, 5 * kLate)) << "no grant was given";
    usage_advertise(&a, 1, kRate, kBurst, 0);
    for (uint64_t second = 0; second < 10; second++) {
        uint64_t bytes = cheat(&a, second * kHz, (second + 1) * kHz, kUnit * kHz / kRate / 10, 1);

        EXPECT_LE(static_cast<double>(bytes), most + (second == 0 ? room : 2 * kUnit)) << second;
        EXPECT_GE(static_cast<double>(bytes), most - 2 * kUnit) << second;
    }
}

// A cheater ignores a lower grant, and pretends that it has not seen it, or that it has.
TEST(Usage, ALowerGrantIsInForceSoon)
{
    for (uint32_t seen : {0u, 1u, 2u, 100u}) {
        struct usage a;
        uint64_t t = 0;

        usage_init(&a, kHz, kLate, kUnit, 0, 0);
        usage_advertise(&a, 1, 10000000, 10000, 0);
        t += kLate;
        usage_advertise(&a, 2, 100000, 10000, t);
        for (uint32_t seq = 3; seq < 200; seq++) {
            uint64_t bytes = cheat(&a, t, t + kLate / 8, kUnit * 100, seen);

            t += kLate / 8;
            if (seq > 3 + 8 * 7) {
                EXPECT_LT(rate_of(bytes, kLate / 8), 400000) << seen << " " << seq;
            }
            usage_advertise(&a, seq, 100000, 10000, t);
        }
    }
}

// A grant was high for a moment. That fills no bucket once the peer has shown that it knows better.
TEST(Usage, AShortHighGrantGivesLittle)
{
    constexpr uint64_t kRate = 1000000;
    struct usage a;
    uint64_t bytes = 0, t = 0;

    usage_init(&a, kHz, kLate, kUnit, 0, 0);
    for (uint32_t seq = 1; seq < 4000; seq++) {
        usage_advertise(&a, seq, seq % 100 == 0 ? 10 * kRate : kRate, 10000, t);
        uint64_t taken = cheat(&a, t, t + kMs, kUnit * kHz / kRate / 20, seq);

        t += kMs;
        bytes += seq >= 2000 ? taken : 0;
    }
    EXPECT_LT(rate_of(bytes, 2000 * kMs), 1.5 * kRate);
}

TEST(Usage, WithoutALimitNothingIsDropped)
{
    struct usage a;

    usage_init(&a, kHz, kLate, kUnit, 0, 0);
    usage_advertise(&a, 1, 1000, 0, 0);
    EXPECT_TRUE(usage_holds(&a, 1ull << 40, 0));
    for (uint64_t t = 0; t < 20 * kLate; t += kLate) {
        usage_seen(&a, 1, t);
        EXPECT_TRUE(usage_holds(&a, 1ull << 40, t));
        usage_take(&a, 1ull << 40);
    }
    usage_advertise(&a, 2, 1000, 1000, 20 * kLate);
    EXPECT_TRUE(usage_holds(&a, 1ull << 40, 20 * kLate)) << "it may have been sent before";
    for (uint64_t t = 20 * kLate; t < 40 * kLate; t += kLate / 4) {
        usage_seen(&a, 2, t);
        usage_advertise(&a, 2, 1000, 1000, t);
    }
    EXPECT_FALSE(usage_holds(&a, 1ull << 40, 40 * kLate));
    EXPECT_TRUE(usage_holds(&a, kUnit, 40 * kLate));
}
