/* SPDX-License-Identifier: BSD-3-Clause */
/* Synchronous sends by partial copy. */
#include <cerrno>
#include <thread>

extern "C" {
#include "base/rng.h"
}
#include "unit/client/fixture.h"

class SyncTest : public DaemonTest
{
  protected:
    /* Byte i of request r. */
    static uint8_t pattern(uint64_t r, uint64_t i)
    {
        return static_cast<uint8_t>((r * 131 + i * 7 + i / 4096) ^ (r >> 8));
    }
};

/* The buffer is overwritten as soon as the call returns. The receiver must get the old contents. */
TEST_F(SyncTest, DataMayBeReusedAtOnce)
{
    const uint64_t most = 700000, rounds = 200;
    struct rng rng;

    config.host.linger = 20;
    start();
    rng_init(&rng, seed);
    struct sluice *s = open();
    struct sluice *r = open();
    struct sluice_conn *out, *in;
    ASSERT_EQ(sluice_listen(r, 7000), 0);
    ASSERT_EQ(sluice_accept(r, 7000, 1, 0, &in), 0);
    ASSERT_EQ(sluice_connect(s, "10.0.0.1", 0, 0, &out), 0);
    std::vector<uint64_t> lens;
    for (uint64_t i = 0; i < rounds; i++)
        lens.push_back(i % 3 == 0 ? rng_below(&rng, 5000) : rng_below(&rng, most));

    auto receive = [&] {
        auto *m = static_cast<uint8_t *>(sluice_alloc(r, most));
        struct sluice_completion d;

        while (sluice_poll(r, &d, 1, 10000) == 1 && d.op != SLUICE_OP_ACCEPT)
            ;
        for (uint64_t i = 0; i < rounds; i++) {
            ASSERT_EQ(sluice_recv(in, m, most, i), 0) << sluice_error(r);
            ASSERT_EQ(sluice_poll(r, &d, 1, 10000), 1);
            ASSERT_EQ(d.status, 0);
            ASSERT_EQ(d.len, lens[i]);
            for (uint64_t k = 0; k < d.len; k++)
                ASSERT_EQ(m[k], pattern(i, k)) << "request " << i << " byte " << k;
        }
    };
    std::thread receiver([&] {
        receive();
        sluice_conn_close(in); /* so that the sender never waits for ever */
    });
    auto *m = static_cast<uint8_t *>(sluice_alloc(s, most));
    ASSERT_NE(m, nullptr);
    for (uint64_t i = 0; i < rounds; i++) {
        for (uint64_t k = 0; k < lens[i]; k++)
            m[k] = pattern(i, k);
        if (int err = sluice_send_sync(out, m, lens[i])) {
            ADD_FAILURE() << err << ": " << sluice_error(s);
            break;
        }
        memset(m, 0xee, lens[i]);
    }
    EXPECT_EQ(sluice_flush(out), 0);
    receiver.join();
    /* Only the CONNECT is left to take. Internal completions are not shown. */
    struct sluice_completion d[4];
    EXPECT_EQ(sluice_poll(s, d, 4, 0), 1);
    EXPECT_EQ(d[0].op, SLUICE_OP_CONNECT);
    EXPECT_EQ(sluice_free(s, m), 0) << sluice_error(s);
    sluice_close(s);
    sluice_close(r);
}

/* No receive is posted yet. A request that fits in a tail returns at once, and so do at least
 * four. */
TEST_F(SyncTest, ShortRequestsDoNotWait)
{
    struct sluice_conn *c[2];

    start();
    struct sluice *s = open();
    auto *m = static_cast<uint8_t *>(sluice_alloc(s, 1 << 20));
    pair(s, c);
    for (int i = 0; i < 4; i++) {
        memset(m, i + 1, 65536);
        ASSERT_EQ(sluice_send_sync(c[0], m, 65536), 0);
    }
    for (int i = 0; i < 4; i++) {
        ASSERT_EQ(sluice_recv(c[1], m, 65536, 5), 0);
        EXPECT_EQ(take(s, 1)[0].user, 5u);
        EXPECT_EQ(m[0], i + 1);
        EXPECT_EQ(m[65535], i + 1);
    }
    EXPECT_EQ(sluice_flush(c[0]), 0);
    sluice_close(s);
}

/* The tail is 100 MB/s x 1 ms = 100 kB. So 100 kB do not wait, and 300 kB wait for 200 kB. */
TEST_F(SyncTest, TailIsRateTimesRoundTrip)
{
    struct sluice_conn *c[2];
    struct fake_counts n[2];

    config.host.linger = 0;
    start();
    struct sluice *s = open();
    auto *m = static_cast<uint8_t *>(sluice_alloc(s, 1 << 20));
    pair(s, c);
    fake_daemon_counts(daemon, 1, &n[0]);
    ASSERT_EQ(sluice_send_sync(c[0], m, 100000), 0);
    EXPECT_TRUE(eventually([&] {
        fake_daemon_counts(daemon, 1, &n[1]);
        return n[1].operations == n[0].operations + 1;
    }));
    ASSERT_EQ(sluice_recv(c[1], m + 500000, 300000, 1), 0);
    ASSERT_EQ(sluice_recv(c[1], m + 500000, 300000, 2), 0);
    memset(m, 1, 200000);
    memset(m + 200000, 2, 100000);
    ASSERT_EQ(sluice_send_sync(c[0], m, 300000), 0);
    memset(m, 3, 300000);
    EXPECT_EQ(sluice_flush(c[0]), 0);
    take(s, 2);
    EXPECT_EQ(m[500000], 1);
    EXPECT_EQ(m[500000 + 199999], 1);
    EXPECT_EQ(m[500000 + 200000], 2);
    EXPECT_EQ(m[500000 + 299999], 2);
    sluice_close(s);
}

TEST_F(SyncTest, ErrorsOfTailsAreReportedOnce)
{
    struct sluice_conn *c[2];

    start();
    struct sluice *s = open();
    auto *m = static_cast<uint8_t *>(sluice_alloc(s, 1 << 20));
    pair(s, c);
    ASSERT_EQ(sluice_recv(c[1], m, 10, 1), 0);
    ASSERT_EQ(sluice_send_sync(c[0], m, 11), 0);
    EXPECT_EQ(take(s, 1)[0].status, -EMSGSIZE);
    EXPECT_EQ(sluice_flush(c[0]), -EMSGSIZE);
    EXPECT_EQ(sluice_flush(c[0]), 0);
    /* A long request that fails returns the error itself, and only once. */
    ASSERT_EQ(sluice_recv(c[1], m, 10, 2), 0);
    EXPECT_EQ(sluice_send_sync(c[0], m, 900000), -EMSGSIZE);
    EXPECT_EQ(sluice_flush(c[0]), 0);
    EXPECT_EQ(sluice_conn_close(c[1]), 0);
    EXPECT_LT(sluice_send_sync(c[0], m, 900000), 0);
    sluice_close(s);
}

/* The peer took none of it when the daemon ended. */
TEST_F(SyncTest, FlushTellsThatTheDaemonEnded)
{
    struct sluice_conn *c[2];

    start();
    struct sluice *s = open();
    auto *m = static_cast<uint8_t *>(sluice_alloc(s, 1 << 20));
    pair(s, c);
    ASSERT_EQ(sluice_send_sync(c[0], m, 65536), 0);
    stop();
    EXPECT_EQ(sluice_flush(c[0]), -ENOTCONN);
    sluice_close(s);
}

/* Completions of other operations that arrive meanwhile are kept, in order. */
TEST_F(SyncTest, OtherCompletionsAreKept)
{
    struct sluice_conn *c[2];

    start();
    struct sluice *s = open();
    auto *m = static_cast<uint8_t *>(sluice_alloc(s, 1 << 20));
    pair(s, c);
    for (uint64_t i = 0; i < 8; i++)
        ASSERT_EQ(sluice_recv(c[1], m + 500000, 400000, i), 0);
    for (uint64_t i = 0; i < 8; i++)
        ASSERT_EQ(sluice_send_sync(c[0], m, 400000), 0);
    EXPECT_EQ(sluice_flush(c[0]), 0);
    uint64_t next = 0;
    for (const auto &d : take(s, 8)) {
        EXPECT_EQ(d.user, next++);
        EXPECT_EQ(d.status, 0);
    }
    sluice_close(s);
}

/* The quota leaves no memory for tails, so sends are slower, but right. */
TEST_F(SyncTest, WithoutMemoryForTailsItWaits)
{
    struct sluice_conn *c[2];

    config.quota_bytes = 64 << 20;
    start();
    struct sluice *s = open();
    auto *m = static_cast<uint8_t *>(sluice_alloc(s, 1 << 20));
    ASSERT_NE(m, nullptr);
    for (uint64_t size = 32 << 20; size >= 4096; size /= 2)
        while (sluice_alloc(s, size) != nullptr)
            ;
    EXPECT_NE(strstr(sluice_error(s), "quota"), nullptr) << sluice_error(s);
    pair(s, c);
    ASSERT_EQ(sluice_recv(c[1], m + 500000, 300000, 1), 0);
    memset(m, 5, 300000);
    ASSERT_EQ(sluice_send_sync(c[0], m, 300000), 0) << sluice_error(s);
    memset(m, 6, 300000);
    take(s, 1);
    EXPECT_EQ(m[500000], 5);
    EXPECT_EQ(m[799999], 5);
    sluice_close(s);
}
