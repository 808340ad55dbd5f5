// SPDX-License-Identifier: BSD-3-Clause
// A host that naps after work, as long as its connections allow (control/moderation.h), serves
// several packets at once, and nobody notices.
#include <gtest/gtest.h>

#include <string>

#include "../unit/base/seed.h"
#include "pair.hh"
#include "whole_pools.hh"

extern "C" {
#include "base/rng.h"
}

namespace
{

constexpr uint64_t kUs = 1000;
constexpr uint64_t kMs = 1000000;
constexpr uint64_t kNap = 250 * kUs;

struct Seen {
    uint64_t took_ns, napped_ns; // napped: by both hosts
};

class Nap : public WholePools
{
  protected:
    // Opens the connection. Returns when it is open.
    static uint64_t open(Pair *p)
    {
        p->open();
        EXPECT_TRUE(p->run([&] { return p->opened[0] == 0 && p->opened[1] == 0; }));
        return world_now(p->w);
    }

    // Ten requests of len bytes each, posted at once.
    static Seen transfer(const PairOptions &o, uint64_t len)
    {
        Pair p(o);
        uint64_t since = open(&p), napped = world_counts(p.w)->napped_ns;
        for (int i = 0; i < 10; i++) {
            p.recv(len);
            p.send(len);
        }
        EXPECT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
        const Seen seen = {world_now(p.w) - since, world_counts(p.w)->napped_ns - napped};
        EXPECT_TRUE(p.finish()) << p.state();
        return seen;
    }
};

} // namespace

// A link of 0.1 to 1 Gbit/s with a round trip of 8 to 80 ms. Its queue holds everything, for the
// oracle of Pair takes a loss for a fault.
TEST_F(Nap, ServesSeveralPacketsAtOnce)
{
    uint64_t seed = test_seed();
    int slower = 0;
    struct rng r;

    rng_init(&r, seed);
    for (int world = 0; world < 4; world++) {
        PairOptions o;

        SCOPED_TRACE("world " + std::to_string(world) + " of SLUICE_SEED=" + std::to_string(seed));
        o.control_ns = kMs;
        o.rate_Bps = 12500000 + rng_below(&r, 112500000);
        o.delay_ns = 4 * kMs + rng_below(&r, 36 * kMs);
        o.rate_first_Bps = o.rate_Bps;
        Seen polls = transfer(o, o.rate_Bps / 10);
        o.nap_max_ns = kNap;
        Seen naps = transfer(o, o.rate_Bps / 10);

        EXPECT_EQ(polls.napped_ns, 0u);
        EXPECT_LT((double)naps.took_ns, 2 * (double)polls.took_ns);
        // of the time of both: the sender may not nap for long, for its bursts are short
        EXPECT_GT((double)naps.napped_ns, 0.2 * 2 * (double)naps.took_ns);
        slower += (double)naps.took_ns >= 1.05 * (double)polls.took_ns ||
                  (double)naps.napped_ns <= 0.3 * 2 * (double)naps.took_ns;
    }
    EXPECT_LE(slower, 1) << "of 324 worlds, 4 were";
}

// A sends fast, with short bursts or by a contract that allows a packet every 11 us at most, and
// gets slow data back, for which it might nap for long.
TEST_F(Nap, WhatComesBackDoesNotSlowASenderDown)
{
    for (bool contract : {false, true}) {
        uint64_t took_ns[2];

        for (int naps = 0; naps < 2; naps++) {
            PairOptions o;

            o.control_ns = kMs;
            o.rate_Bps = 1250000000;
            o.delay_ns = 10 * kMs;
            o.rate_first_Bps = o.capacity_Bps = 125000000;
            o.nap_max_ns = naps * kNap;
            o.config = [&](uint32_t i, host_config *h) {
                h->burst_bytes = 3000;
                h->capacity_Bps = i == 0 ? 6250000 : 125000000;
                if (i == 0 && contract)
                    h->contract.pcr_Bps = 140000000;
            };
            Pair p(o);
            uint64_t since = open(&p);
            p.recv_back(2500000);
            p.send_back(2500000);
            for (int i = 0; i < 10; i++) {
                p.recv(5000000);
                p.send(5000000);
            }
            EXPECT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
            took_ns[naps] = world_now(p.w) - since;
            EXPECT_TRUE(p.finish()) << p.state();
        }
        EXPECT_LT((double)took_ns[1], 1.05 * (double)took_ns[0]) << "contract " << contract;
    }
}

// How long small requests at random times take in all, on short and long paths. The rate is so low
// that a burst takes long.
TEST_F(Nap, DelaysNoAnswerByMuchOfARoundTrip)
{
    for (uint64_t delay_ns : {10 * kUs, 100 * kUs, kMs, 10 * kMs}) {
        uint64_t took_ns[2] = {0, 0};

        for (int naps = 0; naps < 2; naps++) {
            struct rng r;
            PairOptions o;

            rng_init(&r, 1);
            o.control_ns = kMs;
            o.poll_ns = 100;
            o.rate_Bps = 1250000000;
            o.capacity_Bps = 12500000;
            o.delay_ns = delay_ns;
            o.nap_max_ns = naps * 100 * kMs;
            Pair p(o);
            open(&p);
            for (int i = 0; i < 100; i++) {
                p.recv(100);
                p.send(100);
                p.wait(rng_below(&r, 2 * delay_ns)); // the host may nap then
                uint64_t since = world_now(p.w);
                p.recv(100);
                p.send(100);
                EXPECT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
                took_ns[naps] += world_now(p.w) - since;
            }
            EXPECT_TRUE(p.finish()) << p.state();
        }
        EXPECT_LE((double)took_ns[1], 1.13 * (double)took_ns[0]) << delay_ns;
    }
}

// Packets come so fast that the port's ring would be full after a short nap.
TEST_F(Nap, DoesNotFillTheRing)
{
    PairOptions o;

    o.control_ns = kMs;
    o.rate_Bps = 1250000000;
    o.delay_ns = 10 * kMs;
    o.capacity_Bps = o.rate_first_Bps = 1000000000;
    o.nap_max_ns = 10 * kMs;
    o.ring = 48;
    Pair p(o);

    p.open();
    for (int i = 0; i < 10; i++) {
        p.recv(10000000);
        p.send(10000000);
    }
    EXPECT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
    EXPECT_EQ(world_port_counters(p.w, 1)->imissed, 0u);
    EXPECT_TRUE(p.finish()) << p.state();
}
