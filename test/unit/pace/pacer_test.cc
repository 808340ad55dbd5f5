// SPDX-License-Identifier: BSD-3-Clause
// The pacer by example, and at random against a naive model of each flow.
#include <gtest/gtest.h>

#include <deque>

#include "credit_model.h"
#include "pacer_world.h"

extern "C" {
#include "pace/wheel.h"
}

namespace
{
constexpr uint64_t kHz = 1000000000;

pacer_config config(uint32_t flows, uint32_t lines = 100, bool contracts = false)
{
    return {flows, lines, kHz, contracts};
}

std::vector<uint32_t> flows_of(const std::vector<Packet *> &packets)
{
    std::vector<uint32_t> flows;

    for (const Packet *p : packets)
        flows.push_back(p->flow);
    return flows;
}
} // namespace

TEST(Pacer, BytesAFlow)
{
    pacer_config plain = config(1 << 20, 0), both = config(1 << 20, 0, true);

    EXPECT_LE(pacer_storage_bytes(&plain), 80ull << 20);
    EXPECT_LE(pacer_storage_bytes(&both), 128ull << 20);
}

TEST(Pacer, PacketsOfOneFlowAreSpacedToTheCycle)
{
    PacerWorld w(config(1), 1000);

    EXPECT_EQ(pacer_next(w.p), TIME_NEVER);
    pacer_flow_set(w.p, 0, kHz / 3, 100, 1000); // 100 bytes in 300 cycles
    for (int i = 0; i < 4; i++)
        w.push(0, 100, 1000);
    for (uint64_t at = 1000; at <= 1900; at += 300) {
        EXPECT_EQ(pacer_next(w.p), at);
        EXPECT_EQ(w.poll(at - 1).size(), 0u);
        EXPECT_EQ(w.poll(at).size(), 1u) << at;
    }
    EXPECT_EQ(pacer_next(w.p), TIME_NEVER);
}

/* The only flow that is due waits outside of the wheel. */
TEST(Pacer, WhoIsAloneMeetsOthersMovesAndEnds)
{
    PacerWorld w(config(3), 0);
    void *some[32];

    for (uint32_t f = 0; f < 3; f++)
        pacer_flow_set(w.p, f, kHz / 3, 100, 0); // 100 bytes in 300 cycles
    for (int i = 0; i < 20; i++)
        w.push(0, 100, 0);
    EXPECT_EQ(flows_of(w.poll(0)), (std::vector<uint32_t>{0}));
    EXPECT_EQ(pacer_next(w.p), 300u);
    w.push(1, 100, 10); // may be sent at once
    EXPECT_EQ(pacer_next(w.p), 10u);
    EXPECT_EQ(flows_of(w.poll(299)), (std::vector<uint32_t>{1}));
    EXPECT_EQ(flows_of(w.poll(300)), (std::vector<uint32_t>{0}));
    pacer_flow_set(w.p, 0, kHz, 100, 300); // the same 100 bytes, in 100 cycles
    EXPECT_EQ(pacer_next(w.p), 400u);
    EXPECT_EQ(w.poll(399).size(), 0u);
    EXPECT_EQ(w.poll(400).size(), 1u);
    w.push(2, 100, 450);
    EXPECT_EQ(w.poll(1ull << 41).size(), 2u); // one refresh allows one packet of each flow
    EXPECT_EQ(pacer_drain(w.p, 0, some, 32), 16u);
    EXPECT_EQ(pacer_next(w.p), TIME_NEVER);
    EXPECT_EQ(w.poll(1ull << 42).size(), 0u);
}

/* A flow whose time lies beyond the wheel's horizon is due there, and sends nothing then. */
TEST(Pacer, FlowsThatAreDueAndSendNothingKeepTheirTurn)
{
    constexpr uint32_t kFlows = 200;
    constexpr uint64_t kNext = 2000 * kHz; // 2000 bytes at 1 B/s
    PacerWorld w(config(kFlows, 2 * kFlows), 0);
    size_t sent = 0;

    static_assert(kNext > WHEEL_HORIZON, "it lies beyond");
    for (uint32_t f = 0; f < kFlows; f++) {
        pacer_flow_set(w.p, f, 1, 2000, 0);
        for (int i = 0; i < 2; i++)
            w.push(f, 2000, 0);
    }
    while (size_t n = w.poll(0).size())
        sent += n;
    EXPECT_EQ(sent, kFlows);
    for (uint64_t at : {uint64_t{WHEEL_HORIZON}, kNext - 1})
        for (int i = 0; i < 10; i++)
            EXPECT_EQ(w.poll(at).size(), 0u) << at;
    while (size_t n = w.poll(kNext).size())
        sent += n;
    EXPECT_EQ(sent, 2 * kFlows) << "flows are lost";
    EXPECT_EQ(pacer_next(w.p), TIME_NEVER);
}

TEST(Pacer, RateZeroParksAndAnotherRateWakes)
{
    PacerWorld w(config(2), 0);

    w.push(1, 100, 0); // a flow begins with rate 0
    EXPECT_EQ(pacer_next(w.p), TIME_NEVER);
    pacer_flow_set(w.p, 1, kHz, 100, 50);
    EXPECT_EQ(w.poll(149).size(), 1u); // the credit left was one byte
    w.push(1, 100, 149);
    pacer_flow_set(w.p, 1, 0, 100, 149);
    EXPECT_EQ(pacer_next(w.p), TIME_NEVER);
    EXPECT_EQ(w.poll(1ull << 40).size(), 0u);
    pacer_flow_set(w.p, 1, kHz, 100, 1ull << 40);
    EXPECT_EQ(w.poll(pacer_next(w.p)).size(), 1u);
}

TEST(Pacer, BurstZeroHasNoLimitAndTakesTurns)
{
    PacerWorld w(config(3), 0);
    void *some[2 * PACER_TURN];

    for (uint32_t f = 0; f < 3; f++)
        pacer_flow_set(w.p, f, kHz, f < 2 ? 0 : 1000, 0);
    for (uint32_t i = 0; i < 100; i++) {
        w.push(0, 60000, 0);
        w.push(1, 60000, 0);
    }
    w.push(2, 1000, 0);
    ASSERT_EQ(pacer_poll(w.p, 0, some, 2 * PACER_TURN), 2 * PACER_TURN);
    for (uint32_t i = 0; i < 2 * PACER_TURN - 1; i++)
        EXPECT_EQ(static_cast<Packet *>(some[i])->flow, i / PACER_TURN);
    EXPECT_EQ(static_cast<Packet *>(some[2 * PACER_TURN - 1])->flow, 2u) << "flow 2 gets its turn";
    EXPECT_EQ(w.poll(0).size(), 201u - 2 * PACER_TURN);
}

TEST(Pacer, DueTogetherFirstComeFirstServed)
{
    PacerWorld w(config(100), 0);

    for (uint32_t f = 0; f < 100; f++)
        pacer_flow_set(w.p, f, kHz / 1000, 1000, 0);
    for (int round = 0; round < 2; round++)
        for (uint32_t f = 0; f < 100; f++)
            w.push((f * 37) % 100, 2000, 0);
    std::vector<uint32_t> first = flows_of(w.poll(0, 7));
    std::vector<uint32_t> second = flows_of(w.poll(5000000, 7));
    ASSERT_EQ(first.size(), 100u);
    for (uint32_t f = 0; f < 100; f++)
        EXPECT_EQ(first[f], (f * 37) % 100);
    EXPECT_EQ(second, first);
}

TEST(Pacer, FullLinesRefuseAndNothingIsLost)
{
    PacerWorld w(config(2, 2), 0);
    uint32_t taken = 0;

    pacer_flow_set(w.p, 0, kHz, 100, 0);
    while (w.push(0, 100, 0) != nullptr)
        taken++;
    EXPECT_EQ(taken, 1u + 2 * 8); /* flow 0 takes both lines; its first packet is in none */
    EXPECT_NE(w.push(1, 1, 0), nullptr);
    EXPECT_NE(w.push(1, 1, 0), nullptr);
    EXPECT_EQ(w.push(1, 1, 0), nullptr);
    for (uint32_t i = 0; i < taken; i++) {
        std::vector<Packet *> got = w.poll(i * 100);

        ASSERT_EQ(got.size(), 1u);
        EXPECT_EQ(got[0]->number, i);
    }
    EXPECT_NE(w.push(1, 1, taken * 100), nullptr) << "a line is free again";
}

TEST(Pacer, DrainEndsAFlow)
{
    PacerWorld w(config(2), 0);
    void *some[8];

    pacer_flow_set(w.p, 1, 1, 1000, 0);
    for (int i = 0; i < 12; i++)
        w.push(1, 1000, 0);
    EXPECT_EQ(w.poll(0).size(), 1u);
    EXPECT_EQ(pacer_drain(w.p, 1, some, 8), 8u);
    EXPECT_EQ(static_cast<Packet *>(some[7])->number, 8u);
    EXPECT_NE(pacer_next(w.p), TIME_NEVER);
    EXPECT_EQ(pacer_drain(w.p, 1, some, 8), 3u);
    EXPECT_EQ(pacer_next(w.p), TIME_NEVER);
}

/* The rate in bits a second over a long time, from 1 kbit/s to 400 Gbit/s. Packets do not divide a
 * burst. */
TEST(Pacer, LongRunRateWithinOnePpm)
{
    const uint64_t rates[] = {125, 12500, 1250000, 125000000, 1250000000, 12500000000, 50000000000};
    const uint64_t bursts[] = {64, 1500, 9000, 65535};

    for (uint64_t rate : rates) {
        for (uint64_t burst : bursts) {
            PacerWorld w(config(1, 8), 77);
            uint64_t now = 77, bytes = 0, first = 0, packets = 0;

            pacer_flow_set(w.p, 0, rate, burst, now);
            // 2 * 10^5 bursts, or with short ones, so many that a cycle is less than 1 ppm
            uint64_t span = std::max<uint64_t>(200000, 4 * rate / burst / 1000);
            w.push(0, (uint32_t)burst, now);
            while (packets < span) {
                now = pacer_next(w.p);
                for (Packet *p : w.poll(now)) {
                    if (first == 0)
                        first = now;
                    else
                        bytes += p->len_bytes;
                    packets++;
                    ASSERT_TRUE(pacer_push(w.p, 0, p, p->len_bytes, now));
                }
            }
            long double real = (long double)bytes * kHz / (now - first);
            EXPECT_NEAR((double)(real / rate), 1, 1e-6) << rate << " " << burst;
        }
    }
}

namespace
{
/* A flow in the words of the rules. */
struct FlowModel {
    CreditModel credit{kHz, 0, 1, 0};
    std::deque<uint32_t> numbers, lens; /* of waiting packets */
};

struct ModelWorld {
    /* spare: flows that have no packets */
    ModelWorld(struct rng *r_, uint32_t flows, uint32_t spare)
        : r(r_), n(flows), w(config(flows + spare, 400), 0), model(flows)
    {
    }

    void change(uint32_t f)
    {
        uint64_t rate = rng_below(r, 6) ? rng_magnitude(r, 1000, 1ull << 34) : 0;
        uint64_t burst = rng_below(r, 10) ? rng_magnitude(r, 1, 100000) : 0;

        // RTIMER is at least 65 us, since the model walks every one
        rate = std::min(rate, burst * (kHz >> 16));
        pacer_flow_set(w.p, f, rate, burst, now);
        model[f].credit.set(rate, burst, now);
    }

    void push(uint32_t f)
    {
        uint32_t len = (uint32_t)rng_magnitude(r, 1, 9000);
        Packet *p = w.push(f, len, now);

        if (p != nullptr) {
            model[f].numbers.push_back(p->number);
            model[f].lens.push_back(len);
        }
    }

    void drain(uint32_t f)
    {
        FlowModel &m = model[f];
        void *some[7];
        uint32_t got;

        do {
            got = pacer_drain(w.p, f, some, 7);
            ASSERT_LE(got, m.numbers.size());
            for (uint32_t i = 0; i < got; i++) {
                ASSERT_EQ(static_cast<Packet *>(some[i])->number, m.numbers.front());
                m.numbers.pop_front();
                m.lens.pop_front();
            }
        } while (got > 0);
        ASSERT_TRUE(m.numbers.empty());
        drained++;
    }

    /* Takes all that may go now, max packets at a time. In between, flows may change or end before
     * their turn. */
    void take(std::vector<std::vector<uint32_t>> *by_flow, uint32_t max)
    {
        std::vector<void *> some(max);
        uint32_t got;

        do {
            uint32_t f = (uint32_t)rng_below(r, n);

            got = pacer_poll(w.p, now, some.data(), max);
            for (uint32_t i = 0; i < got; i++) {
                const Packet *packet = static_cast<Packet *>(some[i]);

                (*by_flow)[packet->flow].push_back(packet->number);
            }
            if (got == 0 || !(*by_flow)[f].empty())
                continue;
            if (rng_below(r, 8) == 0) {
                change(f);
            } else if (rng_below(r, 8) == 0) {
                ASSERT_NO_FATAL_FAILURE(drain(f));
            }
        } while (got > 0 || pacer_next(w.p) <= now);
    }

    void poll()
    {
        uint64_t next = pacer_next(w.p);
        std::vector<std::vector<uint32_t>> by_flow(n);

        if (next != TIME_NEVER && next > now && rng_below(r, 2) && next - now < 1ull << 26)
            now = next; // exactly in time
        else
            now += rng_u64(r) >> (38 + rng_below(r, 26));
        ASSERT_NO_FATAL_FAILURE(take(&by_flow, (uint32_t)rng_magnitude(r, 1, 64)));
        for (uint32_t f = 0; f < n; f++) {
            FlowModel &m = model[f];
            std::vector<uint32_t> want;

            m.credit.walk(now);
            for (; !m.numbers.empty() && m.credit.open(); m.numbers.pop_front()) {
                want.push_back(m.numbers.front());
                m.credit.take(m.lens.front());
                m.lens.pop_front();
            }
            released += want.size();
            ASSERT_EQ(by_flow[f], want) << "flow " << f << " now " << now;
        }
    }

    struct rng *r;
    uint32_t n;
    PacerWorld w;
    std::vector<FlowModel> model;
    uint64_t now = 0, released = 0, drained = 0;
};
} // namespace

/*
 * Flows have random rates and bursts, with packets and idle times. New values come while packets
 * wait or are due. Polls are exactly in time or late, and take all or a little. Each poll releases
 * exactly the packets that the model of each flow releases.
 */
TEST(PacerProperty, MatchesTheModelOfEachFlow)
{
    struct rng r;
    uint64_t released = 0, drained = 0;

    rng_init(&r, test_seed());
    for (int run = 0; run < 60; run++) {
        ModelWorld world(&r, 1 + (uint32_t)rng_below(&r, 40), run % 4 == 0 ? 10000 : 0);

        for (int step = 0; step < 1500; step++) {
            uint64_t kind = rng_below(&r, 5);
            uint32_t flow = (uint32_t)rng_below(&r, world.n);

            if (kind == 0)
                world.change(flow);
            else if (kind < 3)
                world.push(flow);
            else
                world.poll();
            ASSERT_FALSE(HasFatalFailure()) << "run " << run << " step " << step;
        }
        released += world.released;
        drained += world.drained;
    }
    EXPECT_GT(released, 10000u);
    EXPECT_GT(drained, 100u);
}
