/* SPDX-License-Identifier: BSD-3-Clause */
/* Sleeping and waking: no completion is missed by a sleeping client. */
#include <poll.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "unit/client/fixture.h"

class WaitTest : public DaemonTest
{
  protected:
    static bool readable(int fd, int timeout_ms)
    {
        struct pollfd p = {fd, POLLIN, 0};

        return poll(&p, 1, timeout_ms) == 1;
    }

    /*
     * There is nothing to take, and the descriptor is not readable. One extra wake-up is allowed:
     * the worker may have decided to wake before the last completion was taken.
     */
    static bool quiet(struct sluice *s, int fd, int timeout_ms)
    {
        struct sluice_completion d;

        return sluice_poll(s, &d, 1, 0) == 0 &&
               (!readable(fd, timeout_ms) ||
                (sluice_poll(s, &d, 1, 0) == 0 && !readable(fd, timeout_ms)));
    }
};

/* Two sessions in two threads. Each sleeps until the other has sent. */
TEST_F(WaitTest, PingPongAsleep)
{
    const uint64_t rounds = 3000;

    start();
    auto side = [&](struct sluice *s, struct sluice_conn *c, bool first, uint64_t *done) {
        auto *m = static_cast<uint64_t *>(sluice_alloc(s, 4096));
        struct sluice_completion d;

        for (uint64_t i = 0; i < rounds; i++) {
            int due = 2;

            m[0] = i;
            m[64] = ~0ull;
            if (sluice_recv(c, m + 64, 8, 0) != 0 || (first && sluice_send(c, m, 8, 1) != 0))
                return;
            while (due > 0) {
                if (sluice_poll(s, &d, 1, 10000) != 1 || d.status != 0)
                    return;
                if (d.op == SLUICE_OP_CONNECT || d.op == SLUICE_OP_ACCEPT)
                    continue;
                if (d.op == SLUICE_OP_RECV && !first && sluice_send(c, m, 8, 1) != 0)
                    return;
                due--;
            }
            if (m[64] != i)
                return;
            *done = i + 1;
        }
    };
    struct sluice *s = open(), *r = open();
    struct sluice_conn *out, *in;
    uint64_t done[2] = {0, 0};
    ASSERT_EQ(sluice_listen(r, 7000), 0);
    ASSERT_EQ(sluice_accept(r, 7000, 0, 0, &in), 0);
    ASSERT_EQ(sluice_connect(s, "10.0.0.2", 0, 0, &out), 0);
    std::thread other(side, r, in, false, &done[1]);
    side(s, out, true, &done[0]);
    other.join();
    EXPECT_EQ(done[0], rounds);
    EXPECT_EQ(done[1], rounds);
    sluice_close(s);
    sluice_close(r);
}

TEST_F(WaitTest, TimeoutsAreKept)
{
    struct sluice_completion d;

    start();
    struct sluice *s = open();
    auto t0 = std::chrono::steady_clock::now();
    EXPECT_EQ(sluice_poll(s, &d, 1, 0), 0);
    EXPECT_EQ(sluice_poll(s, &d, 1, 100), 0);
    std::chrono::duration<double> t = std::chrono::steady_clock::now() - t0;
    EXPECT_GE(t.count(), 0.099);
    EXPECT_LT(t.count(), 5);
    sluice_close(s);
}

/* The descriptor is readable while there is something to take, and soon not any more. */
TEST_F(WaitTest, DescriptorForOwnEventLoops)
{
    struct sluice_conn *c[2];
    struct sluice_completion d[4];

    start();
    struct sluice *s = open();
    auto *m = static_cast<uint8_t *>(sluice_alloc(s, 4096));
    pair(s, c);
    int fd = sluice_fd(s);
    ASSERT_GE(fd, 0);
    EXPECT_EQ(sluice_fd(s), fd);
    EXPECT_TRUE(quiet(s, fd, 20));
    for (uint64_t round = 0; round < 200; round++) {
        ASSERT_EQ(sluice_recv(c[1], m, 1, 1), 0);
        ASSERT_EQ(sluice_recv(c[1], m, 1, 2), 0);
        ASSERT_EQ(sluice_send(c[0], m, 1, 3), 0);
        ASSERT_EQ(sluice_send(c[0], m, 1, 4), 0);
        int got = 0;
        while (got < 4) {
            ASSERT_TRUE(readable(fd, 10000)) << "round " << round << ", after " << got;
            /* One at a time, so that some remain. */
            int n = sluice_poll(s, d, 1, 0);
            ASSERT_GE(n, 0);
            got += n;
        }
        ASSERT_TRUE(quiet(s, fd, 0)) << round;
    }
    stop();
    EXPECT_TRUE(readable(fd, 5000)) << "the end of the daemon wakes, too";
    EXPECT_EQ(sluice_poll(s, d, 4, 0), -ENOTCONN);
    sluice_close(s);
}

/* Calls that wait for one completion also gather others. The descriptor must show those. */
TEST_F(WaitTest, DescriptorAfterOtherCalls)
{
    struct sluice_conn *c[2], *other;
    struct sluice_completion d[4];

    start();
    struct sluice *s = open();
    auto *m = static_cast<uint8_t *>(sluice_alloc(s, 4096));
    pair(s, c);
    int fd = sluice_fd(s);
    ASSERT_GE(fd, 0);
    for (int round = 0; round < 60; round++) {
        ASSERT_EQ(sluice_connect(s, "10.0.0.1:7999", 0, 9, &other), 0);
        ASSERT_EQ(sluice_recv(c[1], m, 1, 1), 0);
        if (round % 3 == 1) {
            ASSERT_EQ(sluice_send_sync(c[0], m, 1), 0);
            ASSERT_EQ(sluice_flush(c[0]), 0);
        } else {
            ASSERT_EQ(sluice_send(c[0], m, 1, 3), 0);
        }
        if (round % 3 == 2)
            usleep(1000);
        ASSERT_EQ(sluice_conn_close(other), 0); /* discards its own completion */
        for (int got = 0; got < (round % 3 == 1 ? 1 : 2);) {
            ASSERT_TRUE(readable(fd, 10000)) << "round " << round << ", after " << got;
            int n = sluice_poll(s, d, 1, 0);
            ASSERT_GE(n, 0);
            got += n;
        }
        ASSERT_TRUE(quiet(s, fd, 0)) << round;
    }
    sluice_close(s);
}

/* A call that waits for one completion sleeps, although others are ready and the descriptor says
 * so. */
TEST_F(WaitTest, WaitingSleepsWhileCompletionsAreReady)
{
    start();
    struct sluice *s = open(), *r = open();
    auto *m = static_cast<uint8_t *>(sluice_alloc(s, 1 << 20));
    auto *to = static_cast<uint8_t *>(sluice_alloc(r, 1 << 20));
    struct sluice_conn *out, *in;
    struct sluice_completion d;

    ASSERT_EQ(sluice_listen(r, 7000), 0);
    ASSERT_EQ(sluice_accept(r, 7000, 0, 0, &in), 0);
    ASSERT_EQ(sluice_recv(in, to, 1, 1), 0);
    ASSERT_EQ(sluice_connect(s, "10.0.0.2", 0, 0, &out), 0);
    int fd = sluice_fd(s);
    ASSERT_GE(fd, 0);
    ASSERT_TRUE(readable(fd, 10000));
    ASSERT_EQ(sluice_send_sync(out, m, 1), 0); /* gathers the completion of connect */
    std::thread late([&] {
        usleep(500000);
        EXPECT_EQ(sluice_recv(in, to, 1 << 20, 2), 0);
    });
    struct timespec before, after;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
    EXPECT_EQ(sluice_send_sync(out, m, 1 << 20), 0);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
    late.join();
    EXPECT_LT(static_cast<double>(after.tv_sec - before.tv_sec) +
                  static_cast<double>(after.tv_nsec - before.tv_nsec) / 1e9,
              0.1);
    EXPECT_TRUE(readable(fd, 10000)) << "the ready one still shows";
    EXPECT_EQ(sluice_poll(s, &d, 1, 0), 1);
    EXPECT_EQ(d.op, SLUICE_OP_CONNECT);
    sluice_close(s);
    sluice_close(r);
}

/* When the submission ring is full, calls wait for room. Far more submissions than entries go in,
 * although no completion is taken. */
TEST_F(WaitTest, SubmissionsWaitForTheWorker)
{
    struct sluice_conn *c;
    struct sluice_completion d[64];
    uint32_t sent = 0, got = 0;
    int n;

    start();
    struct sluice *s = open();
    ASSERT_EQ(sluice_connect(s, "10.0.0.1:7999", 0, 1, &c), 0);
    ASSERT_EQ(take(s, 1)[0].status, -ECONNREFUSED);
    while (sent < 20000 && (n = sluice_shutdown(c, sent)) == 0)
        sent++;
    EXPECT_EQ(sent, 20000u) << n;
    while (got < sent && (n = sluice_poll(s, d, 64, 10000)) > 0) {
        for (int i = 0; i < n; i++) {
            ASSERT_EQ(d[i].user, got++);
            ASSERT_EQ(d[i].status, -ENOTCONN);
        }
    }
    EXPECT_EQ(got, sent);
    sluice_close(s);
}
