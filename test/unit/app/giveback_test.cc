// SPDX-License-Identifier: BSD-3-Clause
// Some ports keep frames that they have sent (fake_nic.hh), and with them the memory of
// applications. Requests complete nevertheless: the daemon asks such ports for a report of each
// frame, or it copies the payload.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include <rte_cycles.h>
#include <rte_eth_ring.h>

#include "eal.hh"
#include "fake_nic.hh"

extern "C" {
#include "common/clock.h"
#include "sim/world.h"
#include "sluiced/worker/port_queue.h"
#include "wire/frame.h"
uint32_t channels_poll(struct channels *c, uint64_t now);
}

// The queues here have no clients.
uint32_t channels_poll(struct channels *, uint64_t)
{
    return 0;
}

namespace
{

constexpr uint16_t kService = 7;
constexpr double kPatience_s = 20; // for a hung process: completions take milliseconds

struct Rings {
    rte_ring *a, *b;

    Rings()
    {
        a = rte_ring_create("toA", 1024, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
        b = rte_ring_create("toB", 1024, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
    }
    ~Rings()
    {
        void *m;

        for (rte_ring *r : {a, b}) {
            while (rte_ring_dequeue(r, &m) == 0)
                rte_pktmbuf_free(static_cast<rte_mbuf *>(m));
            rte_ring_free(r);
        }
    }
};

config_port station(const std::string &name, unsigned int number)
{
    config_port c = {};

    std::snprintf(c.name, sizeof c.name, "%s", name.c_str());
    c.address[0].addr = addr_from_v4(0x0a000000 + number);
    c.address[0].len = 24;
    c.mtu_bytes = 1500;
    c.udp_port = WIRE_UDP_PORT;
    c.workers = 1;
    c.queue_size = 1024;
    c.checksum = CONFIG_SUM_SOFTWARE;
    return c;
}

// A port that is set up as start.c does it, with one port queue and its host.
struct Machine {
    config_port cfg;
    port p;
    std::unique_ptr<port_queue> l;
    char err[512] = "";

    Machine(const std::string &name, unsigned int number) : cfg(station(name, number)), p()
    {
        if (port_open(&p, &cfg, false, 1, err, sizeof err) == 0 &&
            port_start(&p, err, sizeof err) == 0)
            host_make(number);
    }
    ~Machine()
    {
        port_stop(&p);
        if (l) {
            port_queue_drain(l.get());
            host_destroy(l->host);
        }
        EXPECT_EQ(port_close(&p), 0u) << "mbufs are lost";
    }
    void host_make(unsigned int number)
    {
        host_config h = {};

        h.address[0] = cfg.address[0].addr;
        h.prefix_len[0] = 24;
        h.mac = p.mac;
        h.vlan = FRAME_VLAN_NONE;
        h.mtu = 1500;
        h.udp_port = WIRE_UDP_PORT;
        h.workers = 1;
        h.hz = rte_get_tsc_hz();
        h.secrets = world_secrets(number, 0);
        h.conns = 4;
        h.depth = 32;
        h.gaps = 64;
        h.early = 16;
        h.silence_ms = 60000;
        h.repeat_us = 2000;
        h.first_rate_Bps = 125000000;
        h.first_burst_bytes = 20000;
        h.tx_sum = p.tx_sum;
        h.rx_sum = p.rx_sum;
        h.tx_attach = p.attach;
        h.head_pool = p.pools[0].head;
        h.attach_pool = p.pools[0].attach;
        h.copy_pool = p.pools[0].copy;
        l = std::make_unique<port_queue>();
        l->port = &p;
        l->port_id = p.id;
        l->workers = 1;
        l->active = true;
        l->done_cleanup = p.done_cleanup && p.attach;
        port_queue_set_hz(l.get(), h.hz);
        l->host = host_create(&h, rte_rdtsc(), err, sizeof err);
        ASSERT_NE(l->host, nullptr) << err;
    }
    // Counts completions by operation; all have status 0.
    void run(unsigned int done[])
    {
        host_completion c[16];

        port_queue_run(l.get(), rte_rdtsc());
        for (uint32_t i = host_completions(l->host, c, 16); i-- > 0;) {
            EXPECT_EQ(c[i].status, 0) << "operation " << int(c[i].op);
            done[c[i].op]++;
        }
    }
};

// Sends requests from a host with this NIC to one on a plain port, then shuts down. All complete.
void transfer(Machine &a, Machine &b)
{
    std::vector<uint8_t> data(100000), room(100000);
    unsigned int at_a[8] = {}, at_b[8] = {};
    double end = double(rte_rdtsc()) + kPatience_s * double(rte_get_tsc_hz());

    for (size_t i = 0; i < data.size(); i++)
        data[i] = static_cast<uint8_t>(i * i >> 3);
    ASSERT_EQ(host_listen(b.l->host, kService), 0);
    auto peer = static_cast<uint32_t>(host_accept(b.l->host, kService, 0, 0));
    struct host_connect to = {};

    to.peer = b.cfg.address[0].addr;
    to.service = kService;
    auto conn = static_cast<uint32_t>(host_connect(a.l->host, &to, rte_rdtsc()));

    for (uint64_t i = 0; i < 3; i++) {
        struct host_send op = {};

        op.pieces[0] = {data.data(), data.size()};
        ASSERT_EQ(host_recv(b.l->host, peer, room.data(), room.size(), i, rte_rdtsc()), 0);
        ASSERT_EQ(host_send(a.l->host, conn, &op, rte_rdtsc()), 0);
    }
    ASSERT_EQ(host_shutdown(a.l->host, conn, 0, rte_rdtsc()), 0);
    while ((at_a[HOST_SEND] < 3 || at_a[HOST_SHUTDOWN] < 1) && double(rte_rdtsc()) < end) {
        a.run(at_a);
        b.run(at_b);
    }
    EXPECT_EQ(at_b[HOST_RECV], 3u);
    EXPECT_EQ(at_a[HOST_SEND], 3u) << "the memory of a request did not come back";
    EXPECT_EQ(at_a[HOST_SHUTDOWN], 1u);
    EXPECT_EQ(data, room);
    host_close(a.l->host, conn, WIRE_END_ABORT, rte_rdtsc());
    host_close(b.l->host, peer, WIRE_END_ABORT, rte_rdtsc());
}

class Giveback : public testing::Test
{
  protected:
    void SetUp() override
    {
        wire = rte_pktmbuf_pool_create("wire", 4095, 0, 0, 2304, SOCKET_ID_ANY);
        plain = rte_eth_from_rings("plain", &rings.b, 1, &rings.a, 1, 0);
        device = ring_device(plain);
        ASSERT_NE(device, nullptr);
        nic = std::make_unique<FakeNic>("nic", rings.a, rings.b, wire);
    }
    void TearDown() override
    {
        nic.reset();
        if (device != nullptr)
            rte_dev_remove(device);
    }
    ~Giveback() override
    {
        void *m;

        for (rte_ring *r : {rings.a, rings.b})
            while (rte_ring_dequeue(r, &m) == 0)
                rte_pktmbuf_free(static_cast<rte_mbuf *>(m));
        EXPECT_EQ(rte_mempool_in_use_count(wire), 0u);
        rte_mempool_free(wire);
    }
    Rings rings;
    rte_mempool *wire = nullptr;
    int plain = -1;
    rte_device *device = nullptr;
    std::unique_ptr<FakeNic> nic;
};

TEST_F(Giveback, EachFrameIsAskedToBeReportedWherePayloadIsAttached)
{
    Machine a(nic->name, 1), b("net_ring_plain", 2);

    ASSERT_TRUE(a.l && b.l) << a.err << b.err;
    EXPECT_TRUE(a.p.attach && a.p.dma);
    EXPECT_EQ(nic->thresh, 1);
    transfer(a, b);
}

TEST_F(Giveback, ADriverThatKeepsTheLastDescriptorsGetsCopies)
{
    nic->honours_thresh = false;
    Machine a(nic->name, 1), b("net_ring_plain", 2);

    ASSERT_TRUE(a.l && b.l) << a.err << b.err;
    EXPECT_FALSE(a.p.attach);
    transfer(a, b);
    EXPECT_GT(nic->ring.size(), 0u) << "the NIC keeps some frames, which are copies";
}

TEST_F(Giveback, ADriverThatRefusesToReportEachFrameGetsCopies)
{
    nic->refuses_thresh = true;
    Machine a(nic->name, 1), b("net_ring_plain", 2);

    ASSERT_TRUE(a.l && b.l) << a.err << b.err;
    EXPECT_FALSE(a.p.attach);
    transfer(a, b);
}

TEST_F(Giveback, APortWithoutALinkGetsCopies)
{
    nic->link = false;
    Machine a(nic->name, 1), b("net_ring_plain", 2);

    ASSERT_TRUE(a.l && b.l) << a.err << b.err;
    EXPECT_FALSE(a.p.attach);
    transfer(a, b);
}

TEST_F(Giveback, AQuietPortIsAskedByTheClockHoweverSeldomItIsPolled)
{
    Machine a(nic->name, 1);

    ASSERT_TRUE(a.l) << a.err;
    port_queue *l = a.l.get();
    uint64_t hz = rte_get_tsc_hz(), now = rte_rdtsc(), us = hz / 1000000;

    port_queue_run(l, now);
    /* this worker naps for a millisecond at a time */
    uint64_t before = nic->cleanups;

    l->clean_wait = l->clean_first;
    l->clean_due = now + l->clean_wait;
    EXPECT_EQ(port_queue_next(l, now), now + PORT_QUEUE_CLEAN_US * us) << "a nap ends by then";
    port_queue_run(l, now += 1000 * us);
    EXPECT_EQ(nic->cleanups, before + 1) << "the first round after the nap asks";
    /* Then it asks less and less often, but never waits longer than a nap lasts. */
    for (int i = 0; i < 100; i++)
        port_queue_run(l, now += 1000 * us);
    EXPECT_GE(nic->cleanups, before + 100 / PORT_QUEUE_CLEAN_MAX_MS);
    EXPECT_LE(nic->cleanups, before + 25);
    EXPECT_LE(port_queue_next(l, now), now + PORT_QUEUE_CLEAN_MAX_MS * 1000 * us);
}

} // namespace

int main(int argc, char **argv)
{
    testing::InitGoogleTest(&argc, argv);
    return eal_start(argv[0], "256") ? RUN_ALL_TESTS() : 1;
}
