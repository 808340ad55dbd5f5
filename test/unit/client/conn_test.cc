/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections and requests through the library and the daemon's session code. */
#include <algorithm>
#include <cerrno>
#include <map>

#include "unit/client/fixture.h"

class ConnTest : public DaemonTest
{
  protected:
    void SetUp() override
    {
        DaemonTest::SetUp();
        start();
        s = open();
        ASSERT_NE(s, nullptr);
    }

    void TearDown() override
    {
        sluice_close(s);
        DaemonTest::TearDown();
    }

    uint8_t *memory(uint64_t len)
    {
        auto *m = static_cast<uint8_t *>(sluice_alloc(s, len));

        EXPECT_NE(m, nullptr) << sluice_error(s);
        return m;
    }

    struct sluice *s = nullptr;
};

TEST_F(ConnTest, RequestNFillsBufferN)
{
    const uint32_t n = 16, len = 5000;
    struct sluice_conn *c[2];
    uint8_t *m = memory(2 * n * len), *in = m + n * len;

    pair(s, c);
    for (uint32_t i = 0; i < n; i++) {
        memset(m + i * len, static_cast<int>(i + 1), len);
        ASSERT_EQ(sluice_recv(c[1], in + i * len, len, 100 + i), 0);
        ASSERT_EQ(sluice_send(c[0], m + i * len, len - i, 200 + i), 0);
    }
    EXPECT_EQ(sluice_send(c[0], m, 1, 0), -EAGAIN);
    EXPECT_EQ(sluice_recv(c[1], m, 1, 0), -EAGAIN);
    uint64_t next[2] = {100, 200};
    for (const auto &d : take(s, 2 * n)) {
        int side = d.op == SLUICE_OP_SEND;

        EXPECT_EQ(d.status, 0);
        EXPECT_EQ(d.user, next[side]++);
        EXPECT_EQ(d.conn, side == 1 ? c[0] : c[1]);
        EXPECT_EQ(d.len, len - (d.user % 100));
    }
    for (uint32_t i = 0; i < n; i++) {
        EXPECT_EQ(memcmp(in + i * len, m + i * len, len - i), 0) << i;
        if (i > 0) {
            EXPECT_EQ(in[(i + 1) * len - 1], 0) << "the daemon wrote beyond request " << i;
        }
    }
}

TEST_F(ConnTest, EmptyAndSingleByteRequests)
{
    struct sluice_conn *c[2];
    uint8_t *m = memory(4096);

    pair(s, c);
    m[0] = 77;
    ASSERT_EQ(sluice_recv(c[1], nullptr, 0, 1), 0);
    ASSERT_EQ(sluice_recv(c[1], m + 1, 1, 2), 0);
    ASSERT_EQ(sluice_send(c[0], nullptr, 0, 3), 0);
    ASSERT_EQ(sluice_send(c[0], m, 1, 4), 0);
    for (const auto &d : take(s, 4)) {
        EXPECT_EQ(d.status, 0);
        EXPECT_EQ(d.len, d.user == 2 || d.user == 4 ? 1u : 0u);
    }
    EXPECT_EQ(m[1], 77);
}

TEST_F(ConnTest, RequestsMayPrecedeTheConnection)
{
    struct sluice_conn *a, *b;
    uint8_t *m = memory(4096);

    m[0] = 9;
    ASSERT_EQ(sluice_listen(s, 7001), 0);
    ASSERT_EQ(sluice_connect(s, "10.0.0.1:7001", 0, 1, &a), 0);
    ASSERT_EQ(sluice_send(a, m, 1, 2), 0);
    ASSERT_EQ(sluice_accept(s, 7001, 1, 3, &b), 0);
    ASSERT_EQ(sluice_recv(b, m + 1, 1, 4), 0);
    for (const auto &d : take(s, 4))
        EXPECT_EQ(d.status, 0) << d.user;
    EXPECT_EQ(m[1], 9);
}

TEST_F(ConnTest, ShortBufferFailsBothEndsAndTheConnectionLives)
{
    struct sluice_conn *c[2];
    uint8_t *m = memory(8192);

    pair(s, c);
    ASSERT_EQ(sluice_recv(c[1], m, 99, 1), 0);
    ASSERT_EQ(sluice_recv(c[1], m, 100, 2), 0);
    ASSERT_EQ(sluice_send(c[0], m + 4096, 100, 3), 0);
    ASSERT_EQ(sluice_send(c[0], m + 4096, 100, 4), 0);
    for (const auto &d : take(s, 4))
        EXPECT_EQ(d.status, d.user == 1 || d.user == 3 ? -EMSGSIZE : 0) << d.user;
}

TEST_F(ConnTest, ShutdownTellsThePeer)
{
    struct sluice_conn *c[2];
    uint8_t *m = memory(4096);

    pair(s, c);
    ASSERT_EQ(sluice_recv(c[1], m, 10, 1), 0);
    ASSERT_EQ(sluice_recv(c[1], m, 10, 2), 0);
    ASSERT_EQ(sluice_send(c[0], m + 100, 10, 3), 0);
    ASSERT_EQ(sluice_shutdown(c[0], 4), 0);
    std::map<uint64_t, int> status;
    for (const auto &d : take(s, 4))
        status[d.user] = d.status;
    EXPECT_EQ(status, (std::map<uint64_t, int>{{1, 0}, {2, -ENODATA}, {3, 0}, {4, 0}}));
    ASSERT_EQ(sluice_send(c[0], m, 1, 5), 0);
    EXPECT_EQ(take(s, 1)[0].status, -EPIPE);
}

TEST_F(ConnTest, FailuresHaveTheirStatus)
{
    struct sluice_conn *c;
    uint8_t *m = memory(4096);

    ASSERT_EQ(sluice_connect(s, "10.0.0.1:7999", 0, 1, &c), 0);
    EXPECT_EQ(take(s, 1)[0].status, -ECONNREFUSED);
    /* The handle lives until it is closed. Submissions to it complete. */
    ASSERT_EQ(sluice_send(c, m, 1, 2), 0);
    EXPECT_EQ(take(s, 1)[0].status, -ENOTCONN);
    EXPECT_EQ(sluice_conn_close(c), 0);
    ASSERT_EQ(sluice_accept(s, 7999, 0, 3, &c), 0);
    EXPECT_EQ(take(s, 1)[0].status, -ENOENT);
    ASSERT_EQ(sluice_recv(c, m, 1, 4), 0);
    EXPECT_EQ(take(s, 1)[0].status, -ENOTCONN);
    EXPECT_EQ(sluice_conn_close(c), 0);
    EXPECT_EQ(sluice_connect(s, "10.9.0.1", 0, 1, &c), -EHOSTUNREACH);
    EXPECT_NE(strstr(sluice_error(s), "10.9.0.1"), nullptr) << sluice_error(s);
    EXPECT_EQ(c, nullptr);
    EXPECT_EQ(sluice_accept(s, 7000, 2, 1, &c), -EINVAL);
}

TEST_F(ConnTest, AddressesAreParsed)
{
    struct sluice_conn *c;

    for (const char *bad : {"", ":7000", "10.0.0.1:", "10.0.0.1:0", "10.0.0.1:65536", "10.0.0.1:+7",
                            "10.0.0.1:7x", "[fd00::1", "[fd00::1]7000", "[]"}) {
        EXPECT_EQ(sluice_connect(s, bad, 0, 0, &c), -EINVAL) << bad;
        EXPECT_STRNE(sluice_error(s), "");
    }
    EXPECT_EQ(sluice_connect(s, "no-such-host.invalid", 0, 0, &c), -EHOSTUNREACH);
    EXPECT_NE(strstr(sluice_error(s), "no-such-host.invalid"), nullptr);
    /* These parse, but no port has a route to them. */
    for (const char *v6 : {"[fd00::1]:7000", "[fd00::1]", "fd00::1"}) {
        EXPECT_EQ(sluice_connect(s, v6, 0, 0, &c), -EHOSTUNREACH);
        EXPECT_NE(strstr(sluice_error(s), "fd00::1"), nullptr) << sluice_error(s);
    }
}

TEST_F(ConnTest, PeerThatGivesUpResets)
{
    struct sluice_conn *c[2];
    uint8_t *m = memory(4096);

    pair(s, c);
    ASSERT_EQ(sluice_recv(c[1], m, 10, 1), 0);
    ASSERT_EQ(sluice_conn_close(c[0]), 0);
    EXPECT_EQ(take(s, 1)[0].status, -ECONNRESET);
    EXPECT_EQ(sluice_conn_close(c[1]), 0);
    EXPECT_EQ(conns(), 0u);
}

TEST_F(ConnTest, CloseReturnsBuffersAndDropsCompletions)
{
    struct sluice_conn *c[2];
    struct sluice_completion d;

    for (int round = 0; round < 50; round++) {
        uint8_t *m = memory(1 << 20);

        pair(s, c);
        for (uint64_t i = 0; i < 16; i++) {
            ASSERT_EQ(sluice_recv(c[0], m, 1 << 20, i), 0);
            ASSERT_EQ(sluice_send(c[0], m, 1 << 20, i), 0);
        }
        EXPECT_EQ(sluice_free(s, m), -EBUSY);
        ASSERT_EQ(sluice_conn_close(c[0]), 0);
        /* The daemon reads the memory of closed connections for some rounds. To unmap it earlier
         * would crash. */
        ASSERT_EQ(sluice_free(s, m), 0) << sluice_error(s);
        ASSERT_EQ(sluice_conn_close(c[1]), 0);
        EXPECT_EQ(sluice_poll(s, &d, 1, 0), 0);
        ASSERT_EQ(sluice_unlisten(s, 7000), 0);
    }
    EXPECT_EQ(conns(), 0u);
}

TEST_F(ConnTest, ManyConnectionsOneSession)
{
    const uint32_t n = 31;
    std::vector<struct sluice_conn *> a(n), b(n);
    uint8_t *m = memory(2 * n * 1000);

    ASSERT_EQ(sluice_listen(s, 7000), 0);
    for (uint32_t i = 0; i < n; i++) {
        ASSERT_EQ(sluice_accept(s, 7000, 0, i, &b[i]), 0);
        ASSERT_EQ(sluice_recv(b[i], m + (n + i) * 1000, 1000, i), 0);
    }
    for (uint32_t i = 0; i < n; i++) {
        memset(m + i * 1000, static_cast<int>(i), 1000);
        ASSERT_EQ(sluice_connect(s, "10.0.0.2", 0, i, &a[i]), 0);
        ASSERT_EQ(sluice_send(a[i], m + i * 1000, 1000, i), 0);
    }
    for (const auto &d : take(s, 4 * n))
        EXPECT_EQ(d.status, 0);
    /* The host decides which accept gets which connect. Each gets one. */
    std::vector<int> seen;
    for (uint32_t i = 0; i < n; i++)
        seen.push_back(m[(n + i) * 1000 + 999]);
    std::sort(seen.begin(), seen.end());
    for (uint32_t i = 0; i < n; i++)
        EXPECT_EQ(seen[i], static_cast<int>(i));
    for (uint32_t i = 0; i < n; i++) {
        EXPECT_EQ(sluice_conn_close(a[i]), 0);
        EXPECT_EQ(sluice_conn_close(b[i]), 0);
    }
    EXPECT_EQ(conns(), 0u);
}

TEST_F(ConnTest, NoConnectionFreeIsSaid)
{
    std::vector<struct sluice_conn *> all;
    struct sluice_conn *c;

    ASSERT_EQ(sluice_listen(s, 7000), 0);
    for (int i = 0; i < 65; i++) {
        ASSERT_EQ(sluice_accept(s, 7000, 0, static_cast<uint64_t>(i), &c), 0);
        all.push_back(c);
    }
    EXPECT_EQ(take(s, 1)[0].status, -ENOSPC);
    for (auto *one : all)
        EXPECT_EQ(sluice_conn_close(one), 0);
    ASSERT_EQ(sluice_accept(s, 7000, 0, 1, &c), 0);
    /* Submissions and requests to control take different paths. The submission must arrive
     * first. */
    EXPECT_TRUE(eventually([&] {
        struct sluice_stats t;

        sluice_conn_stats(c, &t);
        return t.state == 1;
    }));
    ASSERT_EQ(sluice_unlisten(s, 7000), 0);
    EXPECT_EQ(take(s, 1)[0].status, -ECANCELED);
}

TEST_F(ConnTest, HandlesRunOutAndComeBack)
{
    std::vector<struct sluice_conn *> all;
    struct sluice_conn *c;
    int err;

    ASSERT_EQ(sluice_listen(s, 7000), 0);
    while ((err = sluice_accept(s, 7000, 0, 0, &c)) == 0)
        all.push_back(c);
    EXPECT_EQ(err, -EMFILE);
    EXPECT_EQ(all.size(), 128u); /* both hosts together */
    for (auto *one : all)
        EXPECT_EQ(sluice_conn_close(one), 0);
    EXPECT_EQ(sluice_accept(s, 7000, 0, 0, &c), 0);
}

/* A limit is told to the daemon in the order of submission, before the connection, too, and the
 * application hears nothing of it. */
TEST_F(ConnTest, LimitsAreTheDaemons)
{
    struct sluice_conn *c[2];
    struct sluice_stats t;
    uint8_t *m = memory(8192);

    ASSERT_EQ(sluice_listen(s, 7001), 0);
    ASSERT_EQ(sluice_accept(s, 7001, 1, 1, &c[1]), 0);
    ASSERT_EQ(sluice_limit(c[1], 0, 9000), 0);
    ASSERT_EQ(sluice_connect(s, "10.0.0.1:7001", 0, 2, &c[0]), 0);
    ASSERT_EQ(sluice_limit(c[0], 5000, 6000), 0);
    ASSERT_EQ(sluice_limit(c[0], 7000, 8000), 0);
    for (const auto &d : take(s, 2))
        EXPECT_EQ(d.user, d.op == SLUICE_OP_ACCEPT ? 1u : 2u) << "of a limit";
    EXPECT_TRUE(eventually([&] {
        sluice_conn_stats(c[0], &t);
        return t.tx_rate_Bps == 7000 && t.rx_rate_Bps == 8000;
    }));
    EXPECT_EQ(t.port_Bps, 1000000000u);
    sluice_conn_stats(c[1], &t);
    EXPECT_EQ(t.tx_rate_Bps, 100000000u);
    EXPECT_EQ(t.rx_rate_Bps, 9000u);
    ASSERT_EQ(sluice_limit(c[0], 0, 0), 0);
    EXPECT_TRUE(eventually([&] {
        sluice_conn_stats(c[0], &t);
        return t.tx_rate_Bps == 100000000 && t.rx_rate_Bps == 0;
    }));
    for (int i = 0; i < 10000; i++) { /* more than the rings hold */
        int err = sluice_limit(c[0], 1000 + (uint64_t)i, 0);

        ASSERT_TRUE(err == 0 || err == -EAGAIN) << sluice_error(s);
        if (err == -EAGAIN) {
            struct sluice_completion none;

            EXPECT_EQ(sluice_poll(s, &none, 1, 1), 0) << "a limit has completed";
        }
    }
    ASSERT_EQ(sluice_recv(c[1], m, 4096, 3), 0);
    ASSERT_EQ(sluice_send(c[0], m + 4096, 4096, 4), 0);
    for (const auto &d : take(s, 2)) {
        EXPECT_EQ(d.status, 0) << d.user;
        EXPECT_EQ(d.user, d.op == SLUICE_OP_RECV ? 3u : 4u) << "of a limit";
    }
    ASSERT_EQ(sluice_limit(c[0], 1, 1), 0);
    EXPECT_EQ(sluice_conn_close(c[0]), 0) << "with a limit under way";
}

TEST_F(ConnTest, StatsComeFromTheDaemon)
{
    struct sluice_conn *c[2];
    struct sluice_stats t;
    uint8_t *m = memory(8192);

    pair(s, c);
    sluice_conn_stats(c[0], &t);
    EXPECT_EQ(t.state, 3u) << "known once CONNECT has completed";
    EXPECT_EQ(t.unit_bytes, 1400u);
    EXPECT_EQ(t.rtt_ns, 1000000u);
    EXPECT_EQ(t.tx_rate_Bps, 100000000u);
    EXPECT_EQ(strncmp(t.peer, "10.0.0.", 7), 0) << t.peer;
    EXPECT_NE(strstr(t.peer, ":47800"), nullptr) << t.peer;
    ASSERT_EQ(sluice_recv(c[1], m, 4096, 1), 0);
    ASSERT_EQ(sluice_send(c[0], m + 4096, 4096, 2), 0);
    take(s, 2);
    EXPECT_TRUE(eventually([&] {
        sluice_conn_stats(c[0], &t);
        return t.tx_bytes == 4096;
    }));
    EXPECT_TRUE(eventually([&] {
        sluice_conn_stats(c[0], &t);
        return t.tx_rate_limited_ns == 3000;
    })) << "times are brought up to date before they are told";
    EXPECT_EQ(t.tx_app_limited_ns, 1000u);
    EXPECT_EQ(t.tx_peer_limited_ns, 2000u);
    EXPECT_STREQ(t.tx_why, "queue");
    EXPECT_STREQ(t.rx_why, "capacity");
    ASSERT_EQ(sluice_conn_close(c[0]), 0);
    EXPECT_TRUE(eventually([&] {
        sluice_conn_stats(c[1], &t);
        return t.state == 4;
    }));
}

TEST_F(ConnTest, DataMustBeRegisteredMemory)
{
    struct sluice_conn *c[2];
    uint8_t *m = memory(4096), other[16];

    pair(s, c);
    EXPECT_EQ(sluice_send(c[0], other, 16, 0), -EFAULT);
    EXPECT_EQ(sluice_send(c[0], m + 4090, 7, 0), -EFAULT);
    EXPECT_EQ(sluice_recv(c[0], m - 1, 2, 0), -EFAULT);
    EXPECT_EQ(sluice_send_sync(c[0], other, 16), -EFAULT);
    EXPECT_EQ(sluice_send(c[0], m, SLUICE_REQUEST_MAX + 1, 0), -EMSGSIZE);
    EXPECT_EQ(sluice_free(s, m), 0) << "refused requests hold no memory: " << sluice_error(s);
}
