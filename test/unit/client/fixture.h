/* SPDX-License-Identifier: BSD-3-Clause */
/* A daemon on fake hosts, and the steps that many tests share. */
#ifndef TEST_CLIENT_FIXTURE_H
#define TEST_CLIENT_FIXTURE_H

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "client/sluice.h"
#include "unit/client/fake_daemon.h"

/* SLUICE_SEED replays a failure. */
uint64_t test_seed();

class DaemonTest : public ::testing::Test
{
  protected:
    void SetUp() override
    {
        seed = test_seed();
        RecordProperty("seed", std::to_string(seed));
        descriptors_before = descriptors();
        path = "/tmp/sluice-test-" + std::to_string(getpid()) + ".sock";
        config.host = {64, 16, seed, 3, 1000000, 100000000, 16, nullptr};
        config.channels = 2;
        config.max_sessions = 8;
        config.show_bytes = 100000;
    }

    void TearDown() override
    {
        stop();
        /* sluiced/session/fd_closer.h closes some descriptors later. */
        EXPECT_TRUE(eventually([&] { return descriptors() == descriptors_before; }))
            << descriptors_before << " descriptors have become " << descriptors();
        if (HasFailure())
            std::cerr << "SLUICE_SEED=" << seed << "\n";
    }

    void start()
    {
        char err[300] = "";

        config.socket_path = path.c_str();
        daemon = fake_daemon_start(&config, err, sizeof err);
        ASSERT_NE(daemon, nullptr) << err;
    }

    void stop()
    {
        if (daemon != nullptr)
            fake_daemon_stop(daemon);
        daemon = nullptr;
    }

    struct sluice *open()
    {
        struct sluice *s = nullptr;
        char err[300] = "";

        EXPECT_EQ(sluice_open(&s, path.c_str(), err, sizeof err), 0) << err;
        return s;
    }

    /* Waits until done(), for at most 10 s. */
    static bool eventually(const std::function<bool()> &done)
    {
        for (int i = 0; i < 10000; i++) {
            if (done())
                return true;
            usleep(1000);
        }
        return false;
    }

    /* Open descriptors of this process, including the one that counts them. */
    static long descriptors()
    {
        std::filesystem::directory_iterator fds("/proc/self/fd");

        return std::distance(begin(fds), end(fds));
    }

    uint32_t conns() const
    {
        uint32_t n = 0;

        for (uint32_t i = 0; i < config.channels; i++) {
            struct fake_counts c;

            fake_daemon_counts(daemon, i, &c);
            n += c.conns;
        }
        return n;
    }

    uint32_t services() const
    {
        uint32_t n = 0;

        for (uint32_t i = 0; i < config.channels; i++) {
            struct fake_counts c;

            fake_daemon_counts(daemon, i, &c);
            n += c.services;
        }
        return n;
    }

    /* Takes exactly n completions, or fails after 10 s. */
    static std::vector<struct sluice_completion> take(struct sluice *s, size_t n)
    {
        std::vector<struct sluice_completion> all;
        struct sluice_completion c[16];

        while (all.size() < n) {
            uint32_t most = n - all.size() < 16 ? static_cast<uint32_t>(n - all.size()) : 16;
            int got = sluice_poll(s, c, most, 10000);

            EXPECT_GT(got, 0) << sluice_error(s);
            if (got <= 0)
                break;
            all.insert(all.end(), c, c + got);
        }
        return all;
    }

    /* Opens a connection within session s: out[0] is connected to out[1] on channel 1. */
    static void pair(struct sluice *s, struct sluice_conn *out[2], uint16_t port = 7000)
    {
        ASSERT_EQ(sluice_listen(s, port), 0) << sluice_error(s);
        ASSERT_EQ(sluice_accept(s, port, 1, 2, &out[1]), 0) << sluice_error(s);
        ASSERT_EQ(sluice_connect(s, ("10.0.0.1:" + std::to_string(port)).c_str(), 0, 1, &out[0]), 0)
            << sluice_error(s);
        for (const auto &c : take(s, 2)) {
            EXPECT_EQ(c.status, 0);
            EXPECT_EQ(c.op, c.user == 1 ? SLUICE_OP_CONNECT : SLUICE_OP_ACCEPT);
            EXPECT_EQ(c.conn, c.user == 1 ? out[0] : out[1]);
        }
    }

    uint64_t seed = 0;
    long descriptors_before = 0;
    std::string path;
    struct fake_daemon_config config = {};
    struct fake_daemon *daemon = nullptr;
};

#endif
