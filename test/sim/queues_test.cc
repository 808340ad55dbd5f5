// SPDX-License-Identifier: BSD-3-Clause
// Ports with several queues: which worker gets a frame, and how it hands over frames of other
// workers.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "queues.hh"

namespace
{

uint32_t sum(const std::vector<uint32_t> &v)
{
    uint32_t n = 0;

    for (uint32_t i : v)
        n += i;
    return n;
}

// The scaling of a port, as app/ reads it.
host_rss known(const rss &r)
{
    host_rss k = {};

    std::memcpy(k.key, r.key, sizeof r.key);
    k.udp4 = r.udp4;
    k.udp6 = r.udp6;
    k.reta_size = r.reta_size;
    std::memcpy(k.reta, r.reta, sizeof r.reta);
    return k;
}

class Spread : public testing::TestWithParam<bool>
{
  protected:
    Spread() : ipv6(GetParam())
    {
        rss r;

        rss_init(&r, 4);
        scaling = known(r);
        o.ipv6 = ipv6;
        o.config = [this](host_config *c) {
            c->rss = &scaling;
            c->source_first = 61440;
            c->source_last = 65535;
        };
    }

    bool ipv6;
    host_rss scaling;
    QueuesOptions o;
};

// There are 64 connections between one pair of hosts. Each of four workers opens 16 of them, and
// applications accept on all workers of the other side. The connections work in both directions,
// and spread over all workers of both sides. No frame comes to a worker that has to hand it over.
TEST_P(Spread, SixtyFourConnectionsOverFourWorkers)
{
    Queues q(o);

    for (uint32_t i = 0; i < 256; i++)
        q.accept(i % 4, 20000);
    for (uint32_t i = 0; i < 64; i++) {
        q.connect(i % 4, 20000);
        q.run([] { return false; }, 1000000); // one after the other
    }
    EXPECT_TRUE(q.run([&] { return sum(q.done(0)) == 64 && sum(q.done(1)) == 64; }))
        << q.counters();
    for (uint32_t side = 0; side < 2; side++) {
        EXPECT_EQ(q.counter(side, "rx_foreign"), 0u) << q.counters();
        for (uint32_t n : q.done(side)) {
            EXPECT_GE(n, 12u) << "side " << side;
            EXPECT_LE(n, 20u) << "side " << side;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Families, Spread, testing::Bool(),
                         [](const testing::TestParamInfo<bool> &i) {
                             return std::string(i.param ? "IPv6" : "IPv4");
                         });

// An application accepts on one worker only. Every peer reaches it, whatever queue scaling chooses
// for FIRST. FIRST is handed over to that worker, with the early data behind it, and with all
// packets of the connection until the peer knows its key.
TEST_P(Spread, OneWorkerAcceptsForAll)
{
    Queues q(o);

    for (uint32_t i = 0; i < 64; i++) // so many that the host asks for no cookie
        q.accept(2, 20000);
    for (uint32_t i = 0; i < 16; i++)
        q.connect(i % 4, 20000);
    EXPECT_TRUE(q.run([&] { return sum(q.done(0)) == 16 && sum(q.done(1)) == 16; }, 1000000000))
        << q.counters();
    EXPECT_EQ(q.done(1)[2], 16u);
    EXPECT_EQ(q.counter(0, "rx_foreign"), 0u) << q.counters();
    EXPECT_EQ(q.counter(1, "drop_no_accept"), 0u) << q.counters();
    EXPECT_EQ(q.counter(1, "drop_unknown_early"), 0u) << q.counters();
}

// A FIRST comes twice, since the answer got lost. It takes no second connection.
TEST_P(Spread, ARepeatedFirstFindsTheSameWorker)
{
    uint32_t answers = 0;

    o.fate = [&](uint32_t from, rte_mbuf *, world_fate *f) {
        if (from != 0 && answers++ < 4)
            f->copies = 0;
    };
    Queues q(o);
    for (uint32_t k = 0; k < 4; k++)
        q.accept(k, 1000);
    for (uint32_t i = 0; i < 4; i++)
        q.connect(1, 1000);
    EXPECT_TRUE(q.run([&] { return sum(q.done(0)) == 4 && sum(q.done(1)) == 4; }, 2000000000))
        << q.counters();
    EXPECT_EQ(q.counter(1, "conns_accepted"), 4u) << q.counters();
}

// A port may have no receive-side scaling, like memif. All frames come to the first worker, which
// hands over those whose keys name other workers.
TEST(Queues, WithoutScalingFramesAreHandedOver)
{
    QueuesOptions o;

    o.rss = false;
    Queues q(o);
    q.accept(0, 100000);
    q.connect(2, 100000);
    EXPECT_TRUE(q.run([&] { return sum(q.done(0)) + sum(q.done(1)) == 2; })) << q.counters();
    EXPECT_GT(q.counter(0, "rx_foreign"), 0u);
    EXPECT_EQ(q.counter(1, "rx_foreign"), 0u);
}

// A FIRST for a service that its peer may not use is answered where it came, at once, although
// another worker has a connection waiting for the service.
TEST(Queues, RefusedFirstIsNotHandedOver)
{
    QueuesOptions o;
    struct assoc_rights other = {}, right = {};

    other.n_services = right.n_services = 1;
    other.services[0] = {8, 8};
    right.services[0] = {7, 7};
    o.workers = 2;
    o.rss = false;
    o.introduced = false;
    o.config = [](host_config *c) {
        c->security = HOST_SECURITY_REQUIRED;
        c->secured_max = 1;
    };
    Queues q(o);
    world_secure(q.w, 42, AEAD_AES_128_GCM);
    world_permit(q.w, 2, 42, &other);
    q.accept(1, 100);
    Queues::Conn &refused = q.connect(0, 100);
    EXPECT_TRUE(q.run([&] { return refused.opened != 1; })) << q.counters();
    EXPECT_EQ(refused.opened, -ECONNREFUSED);
    EXPECT_EQ(q.counter(1, "drop_not_allowed"), 1u) << q.counters();
    EXPECT_EQ(q.counter(1, "rx_foreign"), 0u) << q.counters();
    world_permit(q.w, 2, 42, &right);
    Queues::Conn &served = q.connect(0, 100);
    EXPECT_TRUE(q.run([&] { return served.opened != 1; })) << q.counters();
    EXPECT_EQ(served.opened, 0);
    EXPECT_GT(q.counter(1, "rx_foreign"), 0u) << q.counters();
}

} // namespace
