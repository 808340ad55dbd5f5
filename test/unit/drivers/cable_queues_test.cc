// SPDX-License-Identifier: BSD-3-Clause
// A cable between ports with several queues: one path for all of them, or one for each.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

extern "C" {
#include "drivers/cable.h"
}

namespace
{

constexpr uint16_t QUEUES = 3;
constexpr unsigned RING = 128; // a ring holds one frame less

// A port with a pair of rings for each queue. The test is at the other end of the rings.
class RingPort
{
  public:
    RingPort(const std::string &name, rte_mempool *pool)
    {
        for (uint16_t q = 0; q < QUEUES; q++) {
            in[q] = ring(name + "_in" + std::to_string(q));
            out[q] = ring(name + "_out" + std::to_string(q));
        }
        id = rte_eth_from_rings(name.c_str(), in.data(), QUEUES, out.data(), QUEUES, 0);
        EXPECT_GE(id, 0);
        rte_eth_conf conf = {};
        EXPECT_EQ(rte_eth_dev_configure((uint16_t)id, QUEUES, QUEUES, &conf), 0);
        for (uint16_t q = 0; q < QUEUES; q++) {
            EXPECT_EQ(rte_eth_rx_queue_setup((uint16_t)id, q, RING, 0, nullptr, pool), 0);
            EXPECT_EQ(rte_eth_tx_queue_setup((uint16_t)id, q, RING, 0, nullptr), 0);
        }
        EXPECT_EQ(rte_eth_dev_start((uint16_t)id), 0);
    }
    ~RingPort()
    {
        rte_eth_dev_info info;
        EXPECT_EQ(rte_eth_dev_info_get((uint16_t)id, &info), 0);
        rte_eth_dev_stop((uint16_t)id);
        rte_eth_dev_close((uint16_t)id);
        rte_dev_remove(info.device);
        for (auto *r : {&in, &out})
            for (rte_ring *x : *r) {
                void *m;
                while (rte_ring_dequeue(x, &m) == 0)
                    rte_pktmbuf_free((rte_mbuf *)m);
                rte_ring_free(x);
            }
    }
    RingPort(const RingPort &) = delete;

    void send(rte_mempool *pool, uint16_t queue, uint32_t number)
    {
        rte_mbuf *m = rte_pktmbuf_alloc(pool);
        ASSERT_NE(m, nullptr);
        m->hash.rss = 0xffffffff; // as a driver may leave it
        auto *p = (uint32_t *)(void *)rte_pktmbuf_append(m, 64);
        std::memset(p, 0, 64);
        p[4] = number;
        ASSERT_EQ(rte_ring_enqueue(in[queue], m), 0);
    }
    // Takes the first frame that waits at a queue.
    void take_one(uint16_t queue)
    {
        void *m;
        ASSERT_EQ(rte_ring_dequeue(out[queue], &m), 0);
        rte_pktmbuf_free((rte_mbuf *)m);
    }
    // The numbers of all frames that wait at a queue.
    std::vector<uint32_t> receive(uint16_t queue)
    {
        std::vector<uint32_t> numbers;
        void *m;
        while (rte_ring_dequeue(out[queue], &m) == 0) {
            numbers.push_back(rte_pktmbuf_mtod((rte_mbuf *)m, uint32_t *)[4]);
            rte_pktmbuf_free((rte_mbuf *)m);
        }
        return numbers;
    }

    int id = -1;

  private:
    static rte_ring *ring(const std::string &name)
    {
        rte_ring *r = rte_ring_create(name.c_str(), RING, 0, 0);
        EXPECT_NE(r, nullptr);
        return r;
    }
    std::array<rte_ring *, QUEUES> in, out;
};

class CableQueues : public testing::Test
{
  protected:
    void SetUp() override
    {
        pool = rte_pktmbuf_pool_create("cables", 8191, 0, 0, 2176, SOCKET_ID_ANY);
        ASSERT_NE(pool, nullptr);
        for (unsigned int i = 0; i < 2; i++)
            port.emplace_back("cq" + std::to_string(i), pool);
    }
    void TearDown() override
    {
        for (struct cable *c : cables)
            cable_destroy(c);
        port.clear();
        EXPECT_EQ(rte_mempool_in_use_count(pool), 0u);
        rte_mempool_free(pool);
    }
    struct cable *make(const char *spec, uint16_t queue, std::array<uint16_t, 2> queues)
    {
        cable_config cfg = {};
        char err[512] = "";
        std::strcpy(cfg.name, "test");
        for (unsigned int i = 0; i < 2; i++) {
            cfg.port[i] = (uint16_t)port[i].id;
            cfg.queues[i] = queues[i];
            cfg.spec[i] = spec;
            cfg.packets_max[i] = 4096;
        }
        cfg.queue = queue;
        cfg.hz = rte_get_tsc_hz();
        cfg.seed = 1;
        cfg.pool = pool;
        cfg.compact_bytes = 128;
        cfg.socket = SOCKET_ID_ANY;
        struct cable *c = cable_create(&cfg, err, sizeof err);
        EXPECT_NE(c, nullptr) << err;
        cables.push_back(c);
        return c;
    }
    static void run(struct cable *c, unsigned int ms)
    {
        uint64_t end = rte_rdtsc() + rte_get_tsc_hz() / 1000 * ms;
        do
            cable_run(c);
        while (rte_rdtsc() < end);
    }

    rte_mempool *pool = nullptr;
    std::deque<RingPort> port;
    std::vector<struct cable *> cables;
};

using Numbers = std::vector<uint32_t>;

TEST_F(CableQueues, FramesLeaveByTheQueueTheyCameFrom)
{
    for (const char *spec : {"", "delay 2ms", "rate 100mbit duplicate 100%"}) {
        bool twice = std::strstr(spec, "duplicate") != nullptr;
        struct cable *c = make(spec, 0, {QUEUES, QUEUES});

        for (uint32_t i = 0; i < 60; i++)
            port[i / 30].send(pool, (uint16_t)(i % QUEUES), i);
        run(c, 10);
        for (uint16_t q = 0; q < QUEUES; q++)
            for (unsigned int i = 0; i < 2; i++) {
                Numbers want;
                for (uint32_t k = 30 * i + q; k < 30 * i + 30; k += QUEUES)
                    want.insert(want.end(), twice ? 2 : 1, k);
                EXPECT_EQ(port[1 - i].receive(q), want) << spec << ", queue " << q;
            }
        EXPECT_EQ(cable_counts(c, 0)->rx_packets, 30u);
        EXPECT_EQ(cable_counts(c, 0)->tx_packets, twice ? 60u : 30u);
        cable_destroy(c);
        cables.pop_back();
    }
}

TEST_F(CableQueues, OnePathIsOneLinkForAllQueues)
{
    struct cable *c = make("rate 8mbit limit 10", 0, {QUEUES, 1});

    for (uint32_t i = 0; i < 60; i++)
        port[0].send(pool, (uint16_t)(i % QUEUES), i);
    run(c, 1);
    path_element_info link;
    ASSERT_TRUE(path_element(cable_path(c, 0), 0, &link));
    EXPECT_EQ(link.counts->in_packets, 60u);
    EXPECT_GE(link.counts->dropped, 27u); // 11 of each queue's 20 find room, or fewer
}

TEST_F(CableQueues, AFullQueueDoesNotStopTheOthersForLong)
{
    struct cable *c = make("", 0, {QUEUES, 1});
    uint32_t sent = 0;

    // Queue 1 is full, and nobody takes its frames.
    for (; sent < RING - 1; sent++)
        port[0].send(pool, 1, sent);
    run(c, 1);
    port[0].send(pool, 1, sent);
    uint64_t keep = rte_get_tsc_hz() / 1000 * CABLE_KEEP_MS, start = rte_rdtsc();
    while (!cable_stuck(c, 0, 1) && rte_rdtsc() - start < 100 * keep)
        cable_run(c);
    EXPECT_TRUE(cable_stuck(c, 0, 1));
    EXPECT_GT(rte_rdtsc() - start, keep);
    EXPECT_EQ(cable_counts(c, 0)->tx_dropped, 1u);
    EXPECT_EQ(cable_counts(c, 0)->tx_packets, sent);
    const uint64_t each = cable_counts(c, 0)->rx_bytes / cable_counts(c, 0)->rx_packets;
    EXPECT_EQ(cable_counts(c, 0)->tx_bytes, sent * each) << "bytes that were not sent";
    for (uint32_t i = 0; i < 20; i++) {
        port[0].send(pool, 1, 1000 + i);
        port[0].send(pool, 0, 2000 + i);
        for (unsigned int k = 0; k < 4; k++)
            cable_run(c);
        EXPECT_EQ(port[1].receive(0), Numbers{2000 + i}); // at once, not 20 ms later
    }
    EXPECT_EQ(cable_counts(c, 0)->tx_dropped, 21u);
    // A peer that takes a frame now and then does not hold up the others either.
    for (uint32_t i = 0; i < 5; i++) {
        port[1].take_one(1);
        port[0].send(pool, 1, 4000 + 2 * i);
        port[0].send(pool, 1, 4001 + 2 * i);
        port[0].send(pool, 0, 5000 + i);
        for (unsigned int k = 0; k < 4; k++)
            cable_run(c);
        EXPECT_EQ(port[1].receive(0), Numbers{5000 + i});
        EXPECT_TRUE(cable_stuck(c, 0, 1));
    }
    // The peer is back: the queue works again.
    EXPECT_EQ(port[1].receive(1).size(), RING - 1);
    port[0].send(pool, 1, 3000);
    run(c, 1);
    EXPECT_EQ(port[1].receive(1), Numbers{3000});
    EXPECT_FALSE(cable_stuck(c, 0, 1));
}

TEST_F(CableQueues, EachQueueMayHaveACableOfItsOwn)
{
    struct cable *first = make("loss every 2", 0, {1, QUEUES}), *second = make("", 2, {1, 0});

    port[0].send(pool, 0, 1);
    port[0].send(pool, 0, 2);
    port[0].send(pool, 1, 3); // no cable has this queue
    port[0].send(pool, 2, 4);
    port[1].send(pool, 2, 5);
    for (unsigned int i = 0; i < 100; i++) {
        cable_run(first);
        cable_run_direction(second, 0);
        EXPECT_EQ(cable_run_direction(second, 1), 0u);
    }
    EXPECT_EQ(port[1].receive(0), Numbers{1});
    EXPECT_EQ(port[1].receive(1), Numbers{});
    EXPECT_EQ(port[1].receive(2), Numbers{4});
    EXPECT_EQ(port[0].receive(2), Numbers{5});
    EXPECT_EQ(cable_path(second, 1), nullptr);
    EXPECT_EQ(cable_next(second), UINT64_MAX);
}

TEST_F(CableQueues, TwoThreadsRunTheDirections)
{
    struct cable *c = make("delay 100us", 0, {QUEUES, QUEUES});
    constexpr uint32_t FRAMES = 3000;
    std::atomic<bool> stop{false};
    std::vector<std::thread> runners;
    std::array<std::array<uint32_t, QUEUES>, 2> next = {};
    uint32_t came = 0;

    for (unsigned int i = 0; i < 2; i++)
        runners.emplace_back([&, i] {
            while (!stop)
                cable_run_direction(c, i);
        });
    for (uint32_t sent = 0; came < 2 * FRAMES;) {
        for (uint32_t k = 0; k < 30 && sent < FRAMES; k++, sent++)
            for (unsigned int i = 0; i < 2; i++)
                port[i].send(pool, (uint16_t)(sent % QUEUES), sent / QUEUES);
        for (uint64_t end = rte_rdtsc() + 10 * rte_get_tsc_hz(); came < 2 * sent;) {
            ASSERT_LT(rte_rdtsc(), end) << came << " frames came of " << 2 * sent;
            for (unsigned int i = 0; i < 2; i++)
                for (uint16_t q = 0; q < QUEUES; q++)
                    for (uint32_t number : port[i].receive(q)) {
                        ASSERT_EQ(number, next[i][q]++) << "order, port " << i << " queue " << q;
                        came++;
                    }
            std::this_thread::yield();
        }
    }
    stop = true;
    for (std::thread &t : runners)
        t.join();
}

} // namespace
