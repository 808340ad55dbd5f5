// SPDX-License-Identifier: BSD-3-Clause
// A cable that makes both of its ports. The test is in the same process and uses the ports as any
// program would.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

extern "C" {
#include "drivers/cable.h"
}

namespace
{

class Cable : public testing::Test
{
  protected:
    void SetUp() override
    {
        pool = rte_pktmbuf_pool_create("cable", 8191, 0, 0, 2176, SOCKET_ID_ANY);
        ASSERT_NE(pool, nullptr);
    }
    void TearDown() override
    {
        stop();
        cable_destroy(cable);
        EXPECT_EQ(rte_mempool_in_use_count(pool), 0u);
        rte_mempool_free(pool);
    }
    bool make(const char *forward, const char *reverse, uint32_t packets = 2048)
    {
        cable_config cfg = {};
        std::strcpy(cfg.name, "test");
        cfg.port[0] = cfg.port[1] = CABLE_MAKE;
        cfg.queues[0] = cfg.queues[1] = 1;
        cfg.spec[0] = forward;
        cfg.spec[1] = reverse;
        cfg.hz = rte_get_tsc_hz();
        cfg.seed = 1;
        cfg.packets_max[0] = cfg.packets_max[1] = packets;
        cfg.pool = pool;
        cfg.socket = SOCKET_ID_ANY;
        cable = cable_create(&cfg, err, sizeof err);
        return cable != nullptr;
    }
    // Runs the cable in a thread until stop().
    void start()
    {
        stopping = false;
        runner = std::thread([this] {
            while (!stopping)
                cable_run(cable);
        });
    }
    void stop()
    {
        stopping = true;
        if (runner.joinable())
            runner.join();
    }
    void send(unsigned int end, uint32_t number)
    {
        rte_mbuf *m = rte_pktmbuf_alloc(pool);
        ASSERT_NE(m, nullptr);
        auto *p = (uint32_t *)(void *)rte_pktmbuf_append(m, 64);
        std::memset(p, 0, 64);
        p[4] = number;
        ASSERT_EQ(rte_eth_tx_burst(cable_port(cable, end), 0, &m, 1), 1);
    }
    // The number of the next frame, or -1.
    int64_t receive(unsigned int end)
    {
        rte_mbuf *m;
        if (rte_eth_rx_burst(cable_port(cable, end), 0, &m, 1) == 0)
            return -1;
        int64_t number = rte_pktmbuf_mtod(m, uint32_t *)[4];
        rte_pktmbuf_free(m);
        return number;
    }
    int64_t wait(unsigned int end)
    {
        int64_t number = -1;
        for (int i = 0; i < 200000 && (number = receive(end)) < 0; i++) {
            if (!runner.joinable())
                cable_run(cable);
            std::this_thread::sleep_for(std::chrono::microseconds(10));
        }
        return number;
    }

    rte_mempool *pool = nullptr;
    struct cable *cable = nullptr;
    std::thread runner;
    std::atomic<bool> stopping{true};
    char err[512] = "";
};

TEST_F(Cable, CarriesFramesBothWays)
{
    ASSERT_TRUE(make("", "")) << err;
    EXPECT_NE(cable_port(cable, 0), cable_port(cable, 1));
    send(0, 17);
    send(1, 18);
    EXPECT_EQ(wait(1), 17);
    EXPECT_EQ(wait(0), 18);
    EXPECT_EQ(receive(0), -1);
    EXPECT_EQ(receive(1), -1);
    EXPECT_EQ(cable_counts(cable, 0)->rx_packets, 1u);
    EXPECT_EQ(cable_counts(cable, 0)->tx_packets, 1u);
}

TEST_F(Cable, IsNeverEarly)
{
    ASSERT_TRUE(make("delay 2ms", "")) << err;
    uint64_t least = rte_get_tsc_hz() / 500;
    for (uint32_t i = 0; i < 5; i++) {
        uint64_t start = rte_rdtsc();
        send(0, i);
        ASSERT_EQ(wait(1), i);
        EXPECT_GE(rte_rdtsc() - start, least);
    }
    EXPECT_GT(cable_next(cable), rte_rdtsc()); // nothing waits in it
}

TEST_F(Cable, DirectionsAreTheirOwn)
{
    ASSERT_TRUE(make("loss 100%", "")) << err;
    send(0, 1);
    send(1, 2);
    EXPECT_EQ(wait(0), 2);
    for (int i = 0; i < 1000; i++)
        cable_run(cable);
    EXPECT_EQ(receive(1), -1);
}

TEST_F(Cable, SendersKeepNothingOfTheirs)
{
    ASSERT_TRUE(make("delay 1h", "")) << err;
    // The frame has memory of the sender attached. The cable must not keep that memory.
    static uint8_t memory[512];
    static rte_mbuf_ext_shared_info shared;
    bool gone = false;
    shared.free_cb = [](void *, void *opaque) { *(bool *)opaque = true; };
    shared.fcb_opaque = &gone;
    rte_mbuf_ext_refcnt_set(&shared, 1);
    rte_mbuf *m = rte_pktmbuf_alloc(pool);
    rte_pktmbuf_attach_extbuf(m, memory, 0, sizeof memory, &shared);
    rte_pktmbuf_append(m, 100);
    ASSERT_EQ(rte_eth_tx_burst(cable_port(cable, 0), 0, &m, 1), 1);
    cable_run(cable);
    EXPECT_TRUE(gone);
    EXPECT_EQ(path_counts(cable_path(cable, 0))->held_packets, 1u);
}

TEST_F(Cable, AnotherPathWhileItRuns)
{
    ASSERT_TRUE(make("delay 300ms", "")) << err;
    start();
    send(0, 1);
    while (cable_counts(cable, 0)->rx_packets == 0)
        std::this_thread::yield();
    ASSERT_EQ(cable_set(cable, 0, "", err, sizeof err), 0) << err;
    send(0, 2);
    EXPECT_EQ(wait(1), 2); // by the new path
    EXPECT_EQ(wait(1), 1); // the frame on the old path is not lost
    EXPECT_EQ(cable_set(cable, 0, "dealy 1ms", err, sizeof err), -EINVAL);
    EXPECT_NE(std::strstr(err, "did you mean \"delay\""), nullptr) << err;
    send(0, 3);
    EXPECT_EQ(wait(1), 3);
}

TEST_F(Cable, ManyOldPaths)
{
    ASSERT_TRUE(make("delay 1h", "")) << err;
    start();
    int rc = 0, sets = 0;
    for (uint32_t i = 0; i < 20 && rc == 0; i++) {
        uint64_t before = cable_counts(cable, 0)->rx_packets;
        send(0, i);
        while (cable_counts(cable, 0)->rx_packets == before)
            std::this_thread::yield();
        rc = cable_set(cable, 0, "delay 1h", err, sizeof err);
        sets += rc == 0;
    }
    EXPECT_EQ(rc, -EBUSY);
    EXPECT_GE(sets, 8);
    EXPECT_NE(std::strstr(err, "former paths"), nullptr) << err;
}

TEST_F(Cable, WithoutARunnerNothingChanges)
{
    ASSERT_TRUE(make("", "")) << err;
    EXPECT_EQ(cable_set(cable, 0, "delay 1ms", err, sizeof err), -ETIMEDOUT);
    send(0, 5);
    EXPECT_EQ(wait(1), 5);
}

TEST_F(Cable, ErrorsSayWhichPath)
{
    EXPECT_FALSE(make("", "loss 5"));
    EXPECT_NE(std::strstr(err, "reverse path: position 6"), nullptr) << err;
}

} // namespace
