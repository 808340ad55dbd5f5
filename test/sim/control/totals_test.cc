// SPDX-License-Identifier: BSD-3-Clause
// What control counts for each peer: to the byte, whenever connections end, and only for peers that
// are there.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

extern "C" {
#include "host/control_internal.h"
}

#include "crowd.hh"
#include "pair.hh"
#include "peer.hh"
#include "whole_pools.hh"

namespace
{

constexpr uint64_t kMs = 1000000;

class Totals : public WholePools
{
  protected:
    // All entries of host i, read in pages. Checks that only the first has no peer.
    static std::vector<host_total> read(world *w, uint32_t i)
    {
        std::vector<host_total> all, page(7);
        uint32_t n;

        while ((n = host_control_totals(world_control(w, i), (uint32_t)all.size(), page.data(),
                                        7)) > 0)
            all.insert(all.end(), page.begin(), page.begin() + n);
        for (size_t k = 0; k < all.size(); k++)
            EXPECT_EQ(addr_is_unset(&all[k].peer), k == 0);
        return all;
    }

    static void expect(const host_total &t, uint64_t conns, uint64_t failed, uint64_t open)
    {
        EXPECT_EQ(t.conns, conns);
        EXPECT_EQ(t.conns_failed, failed);
        EXPECT_EQ(t.open_conns, open);
    }
};

} // namespace

// Control sees a connection only now and then; many begin and end, with the same number.
TEST_F(Totals, ToTheByteWhateverTheInterval)
{
    for (uint64_t control_ns : {kMs, 7 * kMs, 100 * kMs}) {
        PairOptions o;
        uint64_t sum[2] = {0, 0}, n = 0;

        o.control_ns = control_ns;
        o.conns = 2;
        Pair p(o);
        p.open();
        for (uint64_t len : {0ull, 1ull, 70001ull, 999999ull, 3ull, 12345ull}) {
            if (n++ > 0)
                p.connect();
            p.recv(len);
            p.send(len);
            p.recv_back(2 * len);
            p.send_back(2 * len);
            ASSERT_TRUE(p.run([&] { return p.all_done(); })) << p.state();
            ASSERT_TRUE(p.finish()) << p.state();
            sum[0] += len;
            sum[1] += 2 * len;
        }
        p.wait(2 * control_ns);
        for (uint32_t side = 0; side < 2; side++) {
            std::vector<host_total> all = read(p.w, side);
            host *h = world_host(p.w, side);

            ASSERT_EQ(all.size(), 2u);
            EXPECT_TRUE(
                addr_equal(&all[1].peer, &host_get_config(world_host(p.w, 1 - side))->address[0]));
            EXPECT_EQ(all[1].rx_bytes, sum[1 - side]) << "interval " << control_ns;
            EXPECT_EQ(all[1].tx_acked_bytes, sum[side]);
            EXPECT_GE(all[1].tx_bytes, sum[side]);
            expect(all[1], n, 0, 0);
            expect(all[0], 0, 0, 0);
            EXPECT_EQ(host_counter_named(h, "rx_payload_bytes"), sum[1 - side]);
            EXPECT_EQ(host_counter_named(h, "tx_acked_bytes"), sum[side]);
            EXPECT_EQ(host_counter_named(h, "tx_payload_bytes"), all[1].tx_bytes);
        }
    }
}

TEST_F(Totals, OpenConnectionsCountWhileTheyRun)
{
    PairOptions o;
    struct host_conn_info info = {};

    o.control_ns = kMs;
    o.rate_Bps = 12500000;
    Pair p(o);
    p.open();
    p.recv(10000000);
    p.send(10000000);
    p.wait(200 * kMs);
    ASSERT_TRUE(host_conn_info(p.b(), p.conn[1], &info));
    std::vector<host_total> all = read(p.w, 1);
    ASSERT_EQ(all.size(), 2u);
    expect(all[1], 1, 0, 1);
    EXPECT_GT(all[1].rx_bytes, 1000000u);
    EXPECT_LE(all[1].rx_bytes, info.rx_bytes);
    EXPECT_GE(all[1].rx_bytes + 2 * o.rate_Bps / 1000, info.rx_bytes)
        << "more than two intervals old";
    p.close(); // an abort
    ASSERT_TRUE(p.run([&] { return p.all_free(); }));
    for (uint32_t side = 0; side < 2; side++)
        expect(read(p.w, side)[1], 1, 1, 0);
    EXPECT_EQ(read(p.w, 1)[1].rx_bytes, host_counter_named(p.b(), "rx_payload_bytes"));
}

// The opener has tried to connect; the acceptor has kept nothing.
TEST_F(Totals, RefusedConnectionFails)
{
    PairOptions o;

    o.control_ns = kMs;
    Pair p(o);
    p.open();
    host_unlisten(p.b(), 7);
    ASSERT_TRUE(p.run([&] { return p.opened[0] != 1; }));
    EXPECT_EQ(p.opened[0], -ECONNREFUSED);
    p.close();
    ASSERT_TRUE(p.run([&] { return p.all_free(); }));
    p.wait(2 * kMs);
    expect(read(p.w, 0).at(1), 1, 1, 0);
    EXPECT_EQ(read(p.w, 1).size(), 1u);
}

// A control of its own for the one host of a peer's world.
class Control
{
  public:
    explicit Control(Peer &peer) : p(peer)
    {
        struct host *hosts[] = {p.h()};
        char err[200];

        c = host_control_create(hosts, 1, p.now(), err, sizeof err);
    }
    ~Control()
    {
        host_control_destroy(c);
    }
    Control(const Control &) = delete;

    std::vector<host_total> totals()
    {
        host_port_counters none = {};

        p.run(kMs);
        host_control(c, &none, p.now());
        return read();
    }
    std::vector<host_total> read() const
    {
        std::vector<host_total> all(HOST_TOTALS_MAX + 9);

        all.resize(host_control_totals(c, 0, all.data(), (uint32_t)all.size()));
        return all;
    }
    // A connection with peer i, of 10 + i bytes, that began and ended since control last looked.
    void carry(uint32_t i, bool failed = false)
    {
        static struct conn conn;

        conn.peer = Crowd::address(i);
        conn.pub.epoch++;
        conn.pub.proven = 1;
        conn.pub.failed = failed;
        conn.pub.rx_bytes = 10 + i;
        table_ended(p.h(), &conn);
    }

    Peer &p;
    struct host_control *c;
};

// A host that sends FIRST, and more, from an address that is not its own, gets no entry.
TEST_F(Totals, ForgedAddressesGetNoEntry)
{
    Peer p;
    Control c(p);

    p.accept();
    p.say_first();
    p.say_data(p.initial, 0, 1000, 1000);
    p.run(10 * kMs);
    ASSERT_EQ(p.info().state, HOST_OPEN);
    EXPECT_EQ(c.totals().size(), 1u);
    p.host_key = p.last_cntl()->own_key;
    p.say(p.state());
    p.run(10 * kMs);
    ASSERT_EQ(c.totals().size(), 2u) << "the peer has shown that it is there";
    expect(c.totals()[1], 1, 0, 1);
}

// A local user may try any address. An attempt that nobody answers takes no entry, but counts in
// the one that the peer has.
TEST_F(Totals, UnansweredAttemptsTakeNoEntry)
{
    for (bool known : {false, true}) {
        PeerOptions o;

        o.answer_arp = known;
        Peer p(o);
        Control c(p);
        if (known) {
            p.open_by_host();
            p.close();
            ASSERT_TRUE(p.until([&] { return p.is_free(); }));
            expect(c.totals().at(1), 1, 1, 0);
        }
        for (uint64_t i = 1; i <= 2; i++) {
            p.connect();
            ASSERT_TRUE(p.until([&] { return p.counter("conns_failed") == known + i; }));
            if (i == 1) // control sees its end before its number is free
                c.totals();
            p.close();
            ASSERT_TRUE(p.until([&] { return p.is_free(); }));
        }
        std::vector<host_total> all = c.totals();
        ASSERT_EQ(all.size(), known ? 2u : 1u);
        expect(all.back(), known + 2, known + 2, 0);
    }
}

// The first peers have entries of their own; all others share the first entry.
TEST_F(Totals, TableIsFull)
{
    const uint32_t n = HOST_TOTALS_MAX + 4;
    Peer p;
    Control c(p);

    for (uint32_t i = 0; i < n; i++)
        c.carry(i, i % 2 != 0);
    c.totals();
    for (uint32_t i = 0; i < n; i++)
        c.carry(i);
    std::vector<host_total> all = c.totals();
    ASSERT_EQ(all.size(), HOST_TOTALS_MAX + 1u);
    for (uint32_t i = 1; i <= HOST_TOTALS_MAX; i++) {
        addr peer = Crowd::address(i - 1);

        EXPECT_TRUE(addr_equal(&all[i].peer, &peer));
        EXPECT_EQ(all[i].rx_bytes, 2 * (10 + i - 1));
        expect(all[i], 2, i % 2 == 0, 0);
    }
    EXPECT_EQ(all[0].rx_bytes, 2 * (4 * (10 + HOST_TOTALS_MAX) + 6));
    expect(all[0], 8, 2, 0);
    EXPECT_EQ(p.counter("totals_missed"), 0u);
}

// More connections end than the worker can tell control of.
TEST_F(Totals, MissedConnectionsAreCounted)
{
    Peer p;
    Control c(p);

    for (uint32_t round = 1; round <= 2; round++) {
        for (uint32_t i = 0; i < HOST_ENDED_MAX + 5; i++)
            c.carry(1);
        expect(c.totals()[1], round * HOST_ENDED_MAX, 0, 0);
        EXPECT_EQ(p.counter("totals_missed"), round * 5);
    }
}

// Control looks at a number while its connection ends, and the next one begins.
TEST_F(Totals, NumberIsUsedAgainWhileControlLooks)
{
    Peer p;
    Control c(p);
    struct conn &conn = p.h()->conns[0]; // unused: only control looks at it
    uint64_t peer[2];

    conn.peer = Crowd::address(1);
    memcpy(peer, conn.peer.b, sizeof peer);
    conn.pub.peer[0] = peer[0];
    conn.pub.peer[1] = peer[1];
    conn.pub.proven = 1;
    conn.pub.state = HOST_OPEN;
    conn.pub.epoch = 1;
    conn.pub.rx_bytes = 5;
    totals_update(c.c, 0, 0);
    EXPECT_EQ(c.read().at(1).rx_bytes, 5u);
    conn.pub.rx_bytes = 9;
    table_ended(p.h(), &conn);
    conn.pub.epoch = 2; // control finds this one before it has taken the end of the first
    conn.pub.rx_bytes = 3;
    totals_update(c.c, 0, 0);
    EXPECT_EQ(c.read()[1].rx_bytes, 9u + 3);
    expect(c.read()[1], 2, 0, 1);
    totals_take(c.c, 0);
    EXPECT_EQ(c.read()[1].rx_bytes, 9u + 3);
    // The second one ends; of the third, control has read old figures when that ends, too.
    table_ended(p.h(), &conn);
    conn.pub.epoch = 3;
    conn.pub.rx_bytes = 20;
    table_ended(p.h(), &conn);
    conn.pub.rx_bytes = 4;
    totals_update(c.c, 0, 0);
    EXPECT_EQ(c.read()[1].rx_bytes, 9u + 3 + 20);
    expect(c.read()[1], 3, 0, 0);
    conn.pub = {};
    conn.peer = {};
}
