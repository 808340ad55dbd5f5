// SPDX-License-Identifier: BSD-3-Clause
// The paper's burst experiment ([XTP-RATE], figures 4-7). Ethernet of 10 Mbit/s leads to a host
// that takes 8.05 or 5.2 Mbit/s, and has room for 6 packets beside the one at work. Bursts that do
// not fit lose packets at any rate. The host finds the burst that fits, and grants it.
#include <gtest/gtest.h>

#include <stdexcept>
#include <tuple>
#include <vector>

#include "pair.hh"
#include "whole_pools.hh"

namespace
{

constexpr uint64_t kSecond = 1000000000;
constexpr uint16_t kUser = 1472, kHeaders = 28 + WIRE_DATA_BYTES; // of a packet
constexpr double kTheirs = 1454;                                  // the paper's user bytes
constexpr uint64_t kRequest = 100 * kUser;
constexpr double kSparc = 8.05e6, kSun3 = 5.2e6; // bit/s of user data

struct BurstOptions {
    double server_bps = kSparc;
    uint64_t rate_Bps = 200000, burst_bytes = 72700;
    bool go_back_n = false;
    uint32_t ring = 6; // frames that wait
    // Ethernet carries 813 of the paper's packets a second, and so it does of ours, which are
    // longer.
    const char *path = "rate 10mbit -32 limit 1000 delay 200us";
};

class Burst : public WholePools
{
  protected:
    void TearDown() override
    {
        if (w != nullptr) {
            for (uint32_t i = 0; i < 2; i++)
                host_close(world_host(w, i), conn[i], WIRE_END_ABORT, world_now(w));
            world_run(w, world_now(w) + 20 * kSecond);
            world_destroy(w);
        }
        WholePools::TearDown();
    }

    void add(uint32_t i, const BurstOptions &o)
    {
        host_config h = {};
        world_port port = {};
        char err[200];

        snprintf(h.name, sizeof h.name, "host%u", i);
        h.mac = {{2, 0, 0, 0, 0, static_cast<uint8_t>(i + 1)}};
        addr_parse(i == 0 ? "10.0.0.1" : "10.0.0.2", &h.address[0]);
        h.prefix_len[0] = 24;
        h.vlan = FRAME_VLAN_NONE;
        h.mtu = kUser + kHeaders;
        h.udp_port = WIRE_UDP_PORT;
        h.workers = 1;
        h.secrets = world_secrets(42 + i, 0);
        h.conns = 1;
        h.depth = 16;
        h.gaps = 64;
        h.early = 0;
        h.silence_ms = 5000;
        h.repeat_us = 100000;
        h.first_rate_Bps = o.rate_Bps;
        h.first_burst_bytes = kUser;
        h.capacity_Bps = i == 1 ? o.rate_Bps : 0;
        h.burst_bytes = i == 1 ? o.burst_bytes : 0;
        h.head_pool = Pools::get().head;
        h.attach_pool = Pools::get().attach;
        h.copy_pool = Pools::get().copy;
        h.tx_attach = true;
        h.tx_sum = h.rx_sum = HOST_SUM_NONE;
        port.seed = i;
        if (i == 0) {
            port.up = o.path;
        } else {
            port.ring = o.ring;
            port.burst = 1;
            port.poll_ns = static_cast<uint64_t>(1e9 * 8 * kTheirs / o.server_bps);
        }
        if (world_add(w, &h, &port, err, sizeof err) < 0)
            throw std::runtime_error(err);
    }

    void start(const BurstOptions &o)
    {
        world_config cfg = {};
        struct host_connect op = {};

        cfg.delay_ns = 10000;
        cfg.poll_ns = 1000;
        cfg.control_ns = 10000000;
        cfg.frames_max = 8000;
        cfg.pool = Pools::get().wire;
        cfg.app = app;
        cfg.ctx = this;
        w = world_create(&cfg);
        add(0, o);
        add(1, o);
        ASSERT_EQ(host_listen(world_host(w, 1), 9), 0);
        conn[1] = static_cast<uint32_t>(host_accept(world_host(w, 1), 9, 0, 0));
        addr_parse("10.0.0.2", &op.peer);
        op.service = 9;
        op.go_back_n = o.go_back_n;
        conn[0] = static_cast<uint32_t>(host_connect(world_host(w, 0), &op, world_now(w)));
        for (int i = 0; i < 8; i++)
            more(0), more(1);
    }

    void more(uint32_t i)
    {
        struct host_send op = {};

        op.pieces[0] = {memory.data(), kRequest};
        if (i == 0)
            host_send(world_host(w, 0), conn[0], &op, world_now(w));
        else
            host_recv(world_host(w, 1), conn[1], memory.data(), kRequest, 0, world_now(w));
    }

    static void app(void *ctx, uint32_t i, host *h, uint64_t)
    {
        Burst *b = static_cast<Burst *>(ctx);
        host_completion done[16];
        uint32_t n = host_completions(h, done, 16);

        for (uint32_t k = 0; k < n; k++)
            if ((done[k].op == HOST_SEND || done[k].op == HOST_RECV) && done[k].status == 0)
                b->more(i);
    }

    void run(uint64_t ns)
    {
        world_run(w, world_now(w) + ns);
    }

    struct host_conn_info info()
    {
        struct host_conn_info out = {};

        host_conn_info(world_host(w, 1), conn[1], &out);
        return out;
    }

    uint64_t drops() const
    {
        return world_port_counters(w, 1)->imissed;
    }

    uint32_t conn[2] = {0, 0};
    world *w = nullptr;
    std::vector<uint8_t> memory = std::vector<uint8_t>(kRequest);
};

class BurstFits : public Burst,
                  public testing::WithParamInterface<std::tuple<double, uint32_t, bool>>
{
};

} // namespace

// Bursts have 50 or 70 packets to the faster host, and 20 to the slower one. Each burst loses
// packets, at a quarter of the rate that the host can take. The host finds the burst that fits, and
// then few packets are lost.
TEST_P(BurstFits, IsFoundAndGranted)
{
    const auto &[server_bps, burst_packets, go_back_n] = GetParam();
    double least = server_bps == kSun3 ? 10 : 35, most = server_bps == kSun3 ? 18 : 50;
    BurstOptions o;

    o.server_bps = server_bps;
    o.burst_bytes = burst_packets * kUser;
    o.go_back_n = go_back_n;
    start(o);
    while (info().rx_burst_bytes >= o.burst_bytes && world_now(w) < 20 * kSecond)
        run(kSecond / 100);
    struct host_conn_info found = info();
    double packets = (double)found.rx_burst_bytes / kUser * 8 / 7;

    RecordProperty("packets", std::to_string(packets));
    EXPECT_LT(world_now(w), 15 * kSecond);
    EXPECT_EQ(found.unit_bytes, kUser);
    EXPECT_GE(packets, least);
    EXPECT_LE(packets, most);
    EXPECT_GE((double)found.rx_clean / (double)found.rx_loss_runs, least * 0.8);
    EXPECT_LE((double)found.rx_clean / (double)found.rx_loss_runs, most);

    uint64_t lost = drops(), bytes = found.rx_bytes;

    run(60 * kSecond);
    EXPECT_LE(drops() - lost, 60 * o.rate_Bps / kUser / 100) << "more than 1 in 100 lost";
    // with go-back-N, a loss costs all that comes behind it
    EXPECT_GE((double)(info().rx_bytes - bytes),
              (go_back_n ? 0.9 : 0.95) * 60 * (double)o.rate_Bps);
    EXPECT_LE((double)info().rx_burst_bytes, 1.3 * most * kUser);
}
INSTANTIATE_TEST_SUITE_P(
    Hosts, BurstFits,
    testing::Values(std::make_tuple(kSparc, 50u, false), std::make_tuple(kSparc, 70u, false),
                    std::make_tuple(kSparc, 50u, true), std::make_tuple(kSparc, 70u, true),
                    std::make_tuple(kSun3, 20u, false), std::make_tuple(kSun3, 20u, true)));

// Bursts that fit stay as they are configured.
TEST_F(Burst, WhatFitsIsLeftAlone)
{
    BurstOptions o;

    o.burst_bytes = 30 * kUser;
    start(o);
    run(20 * kSecond);
    EXPECT_EQ(drops(), 0u);
    EXPECT_EQ(info().rx_burst_bytes, o.burst_bytes);
    EXPECT_NEAR((double)info().rx_bytes, 20 * (double)o.rate_Bps, (double)o.rate_Bps);
}

// A path with such a small buffer loses as regularly, but the host must not take this for its own
// loss.
TEST_F(Burst, PathLossDoesNotCount)
{
    BurstOptions o;

    o.ring = 0;
    o.path = "rate 10mbit -32 limit 1000 receiver 8.05mbit limit 6";
    start(o);
    run(20 * kSecond);
    EXPECT_GT(info().rx_loss_runs, 20u);
    EXPECT_EQ(info().rx_burst_bytes, o.burst_bytes);
}
