// SPDX-License-Identifier: BSD-3-Clause
// The keys of a configuration on their way to control of the ports, which stands in here: which
// ports get them, with what, and what happens if control has no room for them.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

extern "C" {
#include "common/key_memory.h"
#include "common/say.h"
#include "sluiced/config/config_keys.h"
#include "sluiced/control/security.h"
#include "sluiced/daemon.h"
}

namespace
{

struct Calls {
    std::vector<size_t> secured;        // ports whose control got our key
    std::vector<struct noise_self> own; // and which one
    std::vector<std::string> seeds;
    std::vector<std::pair<size_t, uint32_t>> peers; // a port, and how many peers it got
    std::vector<int> results; // of the next calls that set peers; 0 after that
    std::vector<size_t> walls;
    std::vector<std::pair<size_t, void *>> logs; // ports that log keys, and where
    std::vector<std::string> said;
    uint64_t wall_ns = 0;
} calls;

size_t port_of(const struct host_control *c)
{
    return reinterpret_cast<size_t>(c) - 1;
}

} // namespace

extern "C" {

int host_control_secure(struct host_control *c, const struct assoc_config *cfg,
                        enum aead_library library, char *err, size_t err_len)
{
    calls.secured.push_back(port_of(c));
    EXPECT_TRUE(aead_has(library));
    calls.own.push_back(cfg->self);
    calls.seeds.emplace_back(reinterpret_cast<const char *>(cfg->seed), sizeof cfg->seed);
    EXPECT_NE(cfg->ciphers & 1u << cfg->cipher, 0)
        << "the preferred cipher is one that may be used";
    EXPECT_EQ(cfg->peers_max, (uint32_t)CONFIG_PEERS_MAX);
    return 0;
}

int host_control_set_secured(struct host_control *c, const struct assoc_peer *peers, uint32_t n)
{
    int rc = 0;

    EXPECT_NE(peers, nullptr);
    calls.peers.emplace_back(port_of(c), n);
    if (!calls.results.empty()) {
        rc = calls.results.front();
        calls.results.erase(calls.results.begin());
    }
    return rc;
}

void host_control_set_key_log(struct host_control *c, host_keys_fn *add, void *ctx)
{
    EXPECT_EQ(add, key_log_add);
    calls.logs.emplace_back(port_of(c), ctx);
}

void key_log_add(void *ctx, const struct assoc_keys *keys)
{
}

void host_control_set_wall(struct host_control *c, uint64_t wall_ns)
{
    calls.walls.push_back(port_of(c));
    calls.wall_ns = wall_ns;
}

void say_line(enum say_level, const struct say_fields *, const char *format, ...)
{
    char text[400];
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    calls.said.emplace_back(text);
}

} // extern "C"

namespace
{

/* Three ports: one requires security, one has none, one offers it. */
class Security : public testing::Test
{
  protected:
    void SetUp() override
    {
        static const enum host_security levels[] = {HOST_SECURITY_REQUIRED, HOST_SECURITY_NONE,
                                                    HOST_SECURITY_OFFERED};

        calls = Calls();
        d->n_ports = d->config.n_ports = 3;
        for (size_t i = 0; i < 3; i++) {
            snprintf(d->config.ports[i].name, sizeof d->config.ports[i].name, "p%zu", i);
            d->config.ports[i].security = levels[i];
            d->controls[i] = reinterpret_cast<struct host_control *>(i + 1);
        }
        d->config.secrets =
            static_cast<struct config_secrets *>(key_memory_new(sizeof *d->config.secrets));
        ASSERT_NE(d->config.secrets, nullptr);
        memset(d->config.secrets->self.private_key, 7, DH_BYTES);
        d->config.secrets->n_peers = 2;
    }
    void TearDown() override
    {
        config_keys_free(&d->config);
    }

    std::unique_ptr<struct daemon> d = std::make_unique<struct daemon>();
    char err[256] = "";
};

typedef std::vector<std::pair<size_t, uint32_t>> Peers;

TEST_F(Security, PortsThatSecureGetOurKeyAndThePeers)
{
    for (uint32_t i = 0; i < 3; i++)
        EXPECT_EQ(security_start(d.get(), i, err, sizeof err), 0) << err;
    EXPECT_EQ(calls.secured, (std::vector<size_t>{0, 2}));
    EXPECT_EQ(calls.own[1].private_key[DH_BYTES - 1], 7);
    for (size_t k = 0; k < DRBG_SEED_BYTES; k += 8)
        EXPECT_NE(calls.seeds[0].substr(k, 8), calls.seeds[1].substr(k, 8)) << "seeds are random";
    EXPECT_EQ(calls.peers, (Peers{{0, 2}, {2, 2}}));
}

TEST_F(Security, KeysAreLoggedOnlyIfThereIsALog)
{
    for (bool on : {false, true}) {
        d->key_log.on = on;
        calls.logs.clear();
        for (uint32_t i = 0; i < 3; i++)
            EXPECT_EQ(security_start(d.get(), i, err, sizeof err), 0) << err;
        EXPECT_EQ(calls.logs.size(), on ? 2u : 0u);
        for (const auto &log : calls.logs)
            EXPECT_TRUE(log.first != 1 && log.second == &d->key_log);
    }
}

TEST_F(Security, WithoutAKeyNothingIsDone)
{
    config_keys_free(&d->config);
    for (size_t i = 0; i < 3; i++)
        d->config.ports[i].security = HOST_SECURITY_NONE;
    EXPECT_EQ(security_start(d.get(), 0, err, sizeof err), 0);
    security_reload(d.get());
    security_tick(d.get());
    EXPECT_TRUE(calls.secured.empty() && calls.peers.empty() && calls.walls.empty());
}

TEST_F(Security, AStartThatFailsSaysWhy)
{
    calls.results = {-EEXIST};
    EXPECT_EQ(security_start(d.get(), 2, err, sizeof err), -EEXIST);
    EXPECT_STREQ(err, "port p2: its peers' keys cannot be set: File exists");
}

TEST_F(Security, WhatAWorkerHasNoRoomForIsTriedAgain)
{
    calls.results = {-EAGAIN, 0, -EBUSY, 0};
    security_reload(d.get());
    EXPECT_EQ(calls.peers, (Peers{{0, 2}, {2, 2}}));
    d->config.secrets->n_peers = 1;
    security_tick(d.get()); // fails once more
    security_tick(d.get());
    security_tick(d.get());
    EXPECT_EQ(calls.peers, (Peers{{0, 2}, {2, 2}, {0, 1}, {0, 1}}));
    EXPECT_TRUE(calls.said.empty());
}

TEST_F(Security, MissingMemoryIsSaidOnce)
{
    calls.results = {-ENOMEM, 0, -ENOMEM, 0};
    security_reload(d.get());
    security_tick(d.get());
    security_tick(d.get());
    ASSERT_EQ(calls.said.size(), 1u);
    EXPECT_NE(calls.said[0].find("give EAL more (-m)"), std::string::npos);
}

TEST_F(Security, AReloadThatCannotTakeEffectIsSaid)
{
    calls.results = {-EEXIST, 0, -EEXIST};
    security_reload(d.get());
    security_tick(d.get());
    ASSERT_EQ(calls.said.size(), 1u);
    EXPECT_NE(calls.said[0].find("cannot be set (File exists)"), std::string::npos)
        << calls.said[0];
}

TEST_F(Security, EachIntervalHasTheTimeOfDay)
{
    security_tick(d.get());
    EXPECT_EQ(calls.walls, (std::vector<size_t>{0, 2}));
    EXPECT_NEAR(calls.wall_ns / 1e9, (double)time(nullptr), 5);
    EXPECT_TRUE(calls.peers.empty());
}

} // namespace
