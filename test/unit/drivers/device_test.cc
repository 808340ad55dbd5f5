// SPDX-License-Identifier: BSD-3-Clause
// A memif that is polled, stopped and started while its peers come and go.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <sched.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "memif_peer.hh"

extern "C" {
#include "common/eal.h"
#include "common/grace.h"
#include "drivers/device.h"
}

namespace
{

constexpr uint16_t QUEUES = 4;
constexpr int PEERS = 3000;
constexpr unsigned STOPS = 1500, HANDSHAKE_STEPS = 4 + 2 * QUEUES;

// A server of net_memif with several queues, started.
class Memif
{
  public:
    Memif()
    {
        folder = mkdtemp(template_);
        path = folder + "/memif.sock";
        pool = rte_pktmbuf_pool_create("memif", 1023, 0, 0, 2048 + RTE_PKTMBUF_HEADROOM, 0);
        EXPECT_EQ(
            rte_eal_hotplug_add("vdev", "net_memif0",
                                ("role=server,id=0,socket-abstract=no,socket=" + path).c_str()),
            0);
        EXPECT_EQ(rte_eth_dev_get_port_by_name("net_memif0", &id), 0);
        rte_eth_conf conf = {};
        EXPECT_EQ(rte_eth_dev_configure(id, QUEUES, QUEUES, &conf), 0);
        for (uint16_t q = 0; q < QUEUES; q++) {
            EXPECT_EQ(rte_eth_rx_queue_setup(id, q, 64, 0, nullptr, pool), 0);
            EXPECT_EQ(rte_eth_tx_queue_setup(id, q, 64, 0, nullptr), 0);
        }
        EXPECT_EQ(device_start(id), 0);
    }
    ~Memif()
    {
        EXPECT_EQ(device_stop(id), 0);
        EXPECT_EQ(device_close(id), 0);
        rte_eal_hotplug_remove("vdev", "net_memif0");
        rte_mempool_free(pool);
        unlink(path.c_str());
        rmdir(folder.c_str());
    }
    Memif(const Memif &) = delete;

    uint16_t id = 0;
    rte_mempool *pool;
    std::string path;

  private:
    char template_[32] = "/tmp/sluice-device-XXXXXX";
    std::string folder;
};

// Polls all queues, on each CPU one thread: the thread that handles the peers takes a core from
// one.
class Pollers
{
  public:
    explicit Pollers(const Memif &of) : memif(of)
    {
        cpu_set_t mine;

        sched_getaffinity(0, sizeof mine, &mine);
        for (int cpu = 0; cpu < CPU_SETSIZE && turns.size() < 8; cpu++)
            if (CPU_ISSET(cpu, &mine))
                turns.push_back(std::make_unique<std::atomic<uint64_t>>(0));
        grace_set(pass, this);
        for (int cpu = 0; threads.size() < turns.size(); cpu++)
            if (CPU_ISSET(cpu, &mine))
                threads.emplace_back(&Pollers::poll, this, cpu, std::ref(*turns[threads.size()]));
    }
    ~Pollers()
    {
        over = true;
        for (std::thread &t : threads)
            t.join();
        grace_set(nullptr, nullptr);
    }
    Pollers(const Pollers &) = delete;

  private:
    const Memif &memif;
    std::atomic<bool> over{false};
    std::vector<std::unique_ptr<std::atomic<uint64_t>>> turns;
    std::vector<std::thread> threads;

    void poll(int cpu, std::atomic<uint64_t> &turn)
    {
        rte_mbuf *m[32], *one = rte_pktmbuf_alloc(memif.pool);
        cpu_set_t here;

        CPU_ZERO(&here);
        CPU_SET(cpu, &here);
        pthread_setaffinity_np(pthread_self(), sizeof here, &here);
        grace_loop(true);
        rte_pktmbuf_append(one, 64);
        for (; !over; turn++)
            for (uint16_t q = 0; q < QUEUES; q++) {
                EXPECT_EQ(device_rx(memif.id, q, m, 32), 0);
                EXPECT_EQ(device_tx(memif.id, q, &one, 1), 0) << "the peer gives no buffers";
            }
        rte_pktmbuf_free(one);
        grace_loop(false);
    }
    static void pass(void *ctx)
    {
        auto *p = static_cast<Pollers *>(ctx);

        for (auto &turn : p->turns)
            for (uint64_t before = *turn; *turn - before < 2 && !p->over;)
                usleep(20);
    }
};

} // namespace

TEST(Device, MemifIsPolledWhilePeersComeAndGo)
{
    Memif memif;
    Pollers pollers(memif);

    for (int i = 0; i < PEERS; i++) {
        MemifPeer peer(memif.path, QUEUES);
        ASSERT_TRUE(peer.connected()) << i;
    }
}

TEST(Device, MemifIsPolledWhenItsLinkIsUp)
{
    Memif memif;

    EXPECT_TRUE(device_is_guarded(memif.id));
    EXPECT_FALSE(device_link_up(memif.id));
    MemifPeer peer(memif.path, QUEUES);
    EXPECT_TRUE(peer.connected());
    EXPECT_TRUE(device_link_up(memif.id));
}

// Stops the device after each step of a peer's handshake, and when the peer is connected.
TEST(Device, MemifStopsWhilePeersComeAndGo)
{
    Memif memif;
    std::atomic<bool> over{false};
    std::atomic<uint64_t> steps{0};
    unsigned connected = 0;
    std::thread peers([&] {
        while (!over) {
            MemifPeer peer(memif.path, QUEUES, &steps);
            connected += peer.connected();
        }
    });

    for (unsigned i = 0; i < STOPS; i++) {
        uint64_t before = steps;

        while (steps - before < i % (2 * HANDSHAKE_STEPS))
            sched_yield();
        EXPECT_EQ(device_stop(memif.id), 0);
        EXPECT_EQ(device_start(memif.id), 0);
    }
    over = true;
    peers.join();
    EXPECT_GE(connected, STOPS / 10);
}

// net_memif leaves event sources to the EAL, in memory that rte_eal_cleanup() unmaps.
TEST(Device, MemifLeavesWhenTheEalHasEnded)
{
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    EXPECT_EXIT(
        {
            std::unique_ptr<MemifPeer> silent;

            {
                Memif memif;
                silent = std::make_unique<MemifPeer>(memif.path);
                EXPECT_TRUE(silent->connected());
                usleep(50'000);
            }
            eal_stop();
            silent.reset();
            usleep(200'000);
            _exit(0);
        },
        testing::ExitedWithCode(0), "");
}
