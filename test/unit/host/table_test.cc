// SPDX-License-Identifier: BSD-3-Clause
// Look-up of connections by key, by early key and by service, against maps and lists.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "../base/seed.h"

extern "C" {
#include "base/rng.h"
#include "host/host_internal.h"
}

#include "host.hh"

namespace
{
void give_back(struct host *h, struct conn *c)
{
    c->state = HOST_CLOSED;
    table_free(h, c);
}

struct conn_early_key early_key(uint32_t n, uint64_t key)
{
    struct conn_early_key k = {};

    k.addr = addr_from_v4(0x0a000000 + n % 7);
    k.port = 1 + n % 5;
    k.key = key;
    return k;
}

class Table : public testing::Test
{
  protected:
    void SetUp() override
    {
        h = host_make(host_config_make(16));
    }

    void TearDown() override
    {
        host_destroy(h);
    }

    uint64_t full() const
    {
        return h->count[COUNT_conns_full];
    }

    struct host *h = nullptr;
};
} // namespace

TEST(HostCreate, EveryFaultOfAConfigurationIsNamed)
{
    const struct {
        const char *word;
        void (*spoil)(struct host_config *);
    } faults[] = {
        {"connections", [](struct host_config *c) { c->conns = 0; }},
        {"connections", [](struct host_config *c) { c->conns = (1u << 20) + 1; }},
        {"depth", [](struct host_config *c) { c->depth = 0; }},
        {"depth", [](struct host_config *c) { c->depth = 3; }},
        {"depth", [](struct host_config *c) { c->depth = 1u << 17; }},
        {"gaps", [](struct host_config *c) { c->gaps = 1; }},
        {"mtu", [](struct host_config *c) { c->mtu = 575; }},
        {"mtu", [](struct host_config *c) { c->mtu = 0; }},
        {"address", [](struct host_config *c) { c->address[0] = {}; }},
        {"workers", [](struct host_config *c) { c->workers = 0; }},
        {"workers", [](struct host_config *c) { c->workers = HOST_WORKERS_MAX + 1; }},
        {"workers", [](struct host_config *c) { c->worker = c->workers; }},
        {"hz", [](struct host_config *c) { c->hz = 0; }},
        {"silence", [](struct host_config *c) { c->silence_ms = 0; }},
        {"repeat", [](struct host_config *c) { c->repeat_us = 0; }},
        {"udp_port", [](struct host_config *c) { c->udp_port = 0; }},
        {"pools", [](struct host_config *c) { c->head_pool = nullptr; }},
        {"pools", [](struct host_config *c) { c->copy_pool = nullptr; }},
        {"pools", [](struct host_config *c) { c->tx_attach = true; }},
    };

    for (const auto &f : faults) {
        struct host_config c = host_config_make(4);
        char err[200] = "";

        snprintf(c.name, sizeof c.name, "port7");
        f.spoil(&c);
        EXPECT_EQ(host_create(&c, 1, err, sizeof err), nullptr) << f.word;
        EXPECT_NE(std::string(err).find(f.word), std::string::npos) << err;
        EXPECT_EQ(std::string(err).find("port7: "), 0u) << err;
    }
}

// Keys, cookies and places in the table each follow from secrets of their own.
TEST(HostCreate, NoSecretFollowsFromAnother)
{
    struct Seen {
        uint64_t key, cookie;
        uint32_t table;
    };
    auto seen = [](const struct host_config &cfg) {
        struct host *h = host_make(cfg);
        uint64_t word = 1;
        Seen s = {table_new(h)->own_key, secret_hash(&h->cookies, &word, 1),
                  rte_hash_hash(h->early, std::vector<uint8_t>(sizeof(conn_early_key)).data())};

        h->conns[0].state = HOST_FREE;
        host_destroy(h);
        return s;
    };
    const struct host_config cfg = host_config_make(4);
    const Seen usual = seen(cfg);

    EXPECT_EQ(seen(cfg).key, usual.key);
    for (int word = 0; word < 5; word++) {
        struct host_config other = cfg;

        reinterpret_cast<uint64_t *>(&other.secrets)[word] ^= 1;
        const Seen s = seen(other);

        EXPECT_EQ(s.key != usual.key, word < 2) << word;
        EXPECT_EQ(s.cookie != usual.cookie, word == 2 || word == 3) << word;
        EXPECT_EQ(s.table != usual.table, word == 4) << word;
    }
    struct host_config worker = cfg;

    worker.worker--;
    EXPECT_EQ(seen(worker).cookie, usual.cookie) << "a worker's number is no secret";
}

TEST_F(Table, AKeyFindsItsConnectionAndNoOther)
{
    struct conn *a = table_new(h), *b = table_new(h);

    ASSERT_TRUE(a != nullptr && b != nullptr && a != b);
    EXPECT_EQ(table_by_key(h, a->own_key), a);
    EXPECT_EQ(table_by_key(h, b->own_key), b);
    EXPECT_EQ(table_by_key(h, 0), nullptr);
    for (int bit = 0; bit < 64; bit++)
        EXPECT_EQ(table_by_key(h, a->own_key ^ 1ull << bit), nullptr) << bit;
    EXPECT_EQ(table_key_worker(h, a->own_key), 3u);
}

// All bits of a key that name neither a worker of the port nor a connection of the host are random.
TEST(TableKeys, HaveAsManyRandomBitsAsTheConfigurationLeaves)
{
    const struct {
        uint32_t conns, workers;
        int random_bits;
    } cases[] = {{1, 1, 63},    {2, 1, 63},    {1024, 1, 54},  {1024, 2, 53},
                 {1025, 3, 51}, {4096, 8, 49}, {4096, 32, 47}, {3, 1, 62}};

    for (const auto &x : cases) {
        struct host_config cfg = host_config_make(x.conns, (uint8_t)(x.workers - 1));

        cfg.workers = (uint8_t)x.workers;
        cfg.gaps = 2;
        struct host *h = host_make(cfg);
        uint64_t first = 0, varies = 0;

        for (uint32_t i = 0; i < 100 * x.conns && i < 200000; i++) {
            struct conn *c = table_new(h);

            ASSERT_EQ(table_key_worker(h, c->own_key), x.workers - 1);
            ASSERT_EQ(table_by_key(h, c->own_key), c);
            if (c->index == 0) {
                first = first == 0 ? c->own_key : first;
                varies |= c->own_key ^ first;
            }
            give_back(h, c);
        }
        EXPECT_EQ(__builtin_popcountll(varies), x.random_bits) << x.conns << " of " << x.workers;
        host_destroy(h);
    }
}

// A stranger that tries one key after the other finds that the key has changed. Only misses of the
// connection's own place count.
TEST_F(Table, AKeyIsRenewedAfterManyMisses)
{
    struct conn *c = table_new(h), *other = table_new(h);
    const uint64_t key = c->own_key, wrong = key ^ 1;

    c->state = HOST_OPEN;
    c->handshake.proven = true;
    for (uint32_t i = 0; i < (1u << 24) - 1; i++)
        ASSERT_EQ(table_missed(h, wrong), nullptr);
    EXPECT_EQ(table_missed(h, other->own_key ^ 1), nullptr);
    EXPECT_EQ(c->own_key, key);
    EXPECT_EQ(table_missed(h, wrong), c);
    EXPECT_NE(c->own_key, key);
    EXPECT_EQ(table_key_worker(h, c->own_key), 3u);
    EXPECT_EQ(h->count[COUNT_keys_renewed], 1u);
    EXPECT_EQ(table_by_key(h, key), c) << "the peer does not know the new key yet";
    for (uint32_t i = 0; i < 3u << 24; i++)
        ASSERT_EQ(table_missed(h, wrong), nullptr) << "two former keys";
    EXPECT_EQ(table_by_key(h, c->own_key), c);
    EXPECT_EQ(table_by_key(h, key), c) << "a packet that was overtaken";
    host_clock(h, h->now + h->silence_step_tsc);
    EXPECT_EQ(table_by_key(h, key), nullptr);
    EXPECT_EQ(table_missed(h, wrong), c) << "keys are still guessed";
    give_back(h, c);
    give_back(h, other);
}

// The peer may not have proved that it knows the key, or FIRST still carries it.
TEST_F(Table, AKeyThatNobodyUsesStays)
{
    struct conn *c = table_new(h);
    const uint64_t key = c->own_key;

    c->misses = KEY_MISSES_MAX - 1;
    for (enum host_state state : {HOST_WAITING, HOST_OPENING, HOST_OPEN, HOST_CLOSED}) {
        c->state = state;
        c->handshake.proven = state != HOST_OPEN;
        EXPECT_EQ(table_missed(h, key ^ 1), nullptr) << state;
    }
    EXPECT_EQ(c->own_key, key);
    give_back(h, c);
    EXPECT_EQ(table_missed(h, key ^ 1), nullptr);
}

TEST_F(Table, AKeyIsGoneWithItsConnection)
{
    struct conn *c = table_new(h);
    uint64_t key = c->own_key, epoch = c->pub.epoch;
    uint32_t index = c->index;

    give_back(h, c);
    EXPECT_EQ(table_by_key(h, key), nullptr);
    for (int i = 0; i < 15; i++)
        ASSERT_NE(table_new(h)->index, index) << "the index unused for longest is reused first";
    c = table_new(h);
    EXPECT_EQ(c->index, index);
    EXPECT_NE(c->own_key, key);
    EXPECT_EQ(c->pub.epoch, epoch + 1);
    EXPECT_EQ(table_by_key(h, key), nullptr);
}

TEST_F(Table, NoMoreThanThereAre)
{
    std::vector<struct conn *> all;

    for (int i = 0; i < 16; i++)
        all.push_back(table_new(h));
    EXPECT_EQ(full(), 0u);
    EXPECT_EQ(table_new(h), nullptr);
    EXPECT_EQ(full(), 1u);
    give_back(h, all[5]);
    EXPECT_EQ(table_new(h), all[5]);
}

TEST_F(Table, AnUnusedPlaceHasNoKeyAtAll)
{
    for (uint64_t index = 0; index < 20; index++)
        EXPECT_EQ(table_by_key(h, index << h->key_random_bits), nullptr);
}

TEST(TableProperty, KeysMatchAMap)
{
    struct rng r;
    uint64_t seen = 0;

    rng_init(&r, test_seed());
    for (int world = 0; world < 20; world++) {
        struct host_config cfg =
            host_config_make(1 + (uint32_t)rng_below(&r, 60), (uint8_t)rng_below(&r, 32));

        cfg.secrets.keys[0] = rng_u64(&r);
        struct host *h = host_make(cfg);
        std::map<uint64_t, struct conn *> live;
        std::set<uint64_t> used;

        for (int k = 0; k < 1000; k++) {
            if (rng_below(&r, 2)) {
                struct conn *c = table_new(h);

                ASSERT_EQ(c == nullptr, live.size() == cfg.conns);
                if (c == nullptr)
                    continue;
                ASSERT_TRUE(used.insert(c->own_key).second) << "a key was used twice";
                ASSERT_NE(c->own_key << (64 - h->key_random_bits), 0u);
                ASSERT_EQ(table_key_worker(h, c->own_key), cfg.worker);
                live[c->own_key] = c;
            } else if (!live.empty()) {
                auto i = std::next(live.begin(), (long)rng_below(&r, live.size()));

                give_back(h, i->second);
                live.erase(i);
            }
            for (uint64_t key : used)
                if (k % 50 == 0 || live.count(key) != 0) {
                    ASSERT_EQ(table_by_key(h, key), live.count(key) ? live[key] : nullptr);
                    seen++;
                }
            ASSERT_EQ(table_by_key(h, rng_u64(&r)), nullptr);
        }
        host_destroy(h);
    }
    EXPECT_GT(seen, 1000u);
}

TEST(TableProperty, EarlyKeysMatchAMap)
{
    struct rng r;
    struct host *h = host_make(host_config_make(40));
    std::map<uint32_t, struct conn *> live; /* n -> the connection with early key n */
    uint64_t found = 0;

    rng_init(&r, test_seed());
    for (int k = 0; k < 20000; k++) {
        uint32_t n = (uint32_t)rng_below(&r, 70);
        struct conn_early_key key = early_key(n, 1000 + n / 35);

        if (rng_below(&r, 3) != 0) {
            struct conn *c = table_early_find(h, &key);

            ASSERT_EQ(c, live.count(n) ? live[n] : nullptr);
            found += c != nullptr;
        } else if (live.count(n) != 0) {
            table_early_remove(h, live[n]);
            table_early_remove(h, live[n]); /* a second removal does nothing */
            ASSERT_EQ(live[n]->early_key.port, 0u);
            give_back(h, live[n]);
            live.erase(n);
        } else if (live.size() < 40) {
            struct conn *c = table_new(h);

            ASSERT_EQ(table_early_add(h, c, &key), 0);
            live[n] = c;
        }
    }
    EXPECT_GT(found, 1000u);
    for (auto &[n, c] : live)
        table_early_remove(h, c);
    host_destroy(h);
}

TEST_F(Table, AddressPortAndKeyAllCount)
{
    struct conn *c = table_new(h);
    struct conn_early_key key = early_key(3, 77), other = key;

    ASSERT_EQ(table_early_add(h, c, &key), 0);
    other.key++;
    EXPECT_EQ(table_early_find(h, &other), nullptr);
    other = key;
    other.port++;
    EXPECT_EQ(table_early_find(h, &other), nullptr);
    other = key;
    other.addr.b[0] ^= 1;
    EXPECT_EQ(table_early_find(h, &other), nullptr);
    EXPECT_EQ(table_early_find(h, &key), c);
    table_early_remove(h, c);
    EXPECT_EQ(table_early_find(h, &key), nullptr);
}

TEST_F(Table, Services)
{
    EXPECT_EQ(host_listen(h, 0), -EINVAL);
    EXPECT_EQ(table_service(h, 7), nullptr);
    EXPECT_EQ(host_accept(h, 7, 0, 0), -ENOENT);
    EXPECT_EQ(host_accept(h, 0, 0, 0), -ENOENT);
    EXPECT_EQ(host_listen(h, 7), 0);
    EXPECT_EQ(host_listen(h, 7), -EADDRINUSE);
    ASSERT_NE(table_service(h, 7), nullptr);
    EXPECT_EQ(table_service(h, 7)->head, NONE);
    for (uint16_t n = 1; n < HOST_SERVICES_MAX; n++)
        EXPECT_EQ(host_listen(h, (uint16_t)(1000 + n)), 0);
    EXPECT_EQ(host_listen(h, 8), -ENOSPC);
    host_unlisten(h, 1001);
    EXPECT_EQ(host_listen(h, 8), 0);
}

/* Connections of a service are served in order. Removal from the middle leaves the order of the
 * others. */
TEST(TableProperty, ServicesMatchQueues)
{
    struct rng r;
    struct host *h = host_make(host_config_make(40));
    std::map<uint16_t, std::deque<uint32_t>> model = {{5, {}}, {6, {}}, {700, {}}};
    uint64_t middle = 0;

    rng_init(&r, test_seed());
    for (auto &[number, queue] : model)
        ASSERT_EQ(host_listen(h, number), 0);
    for (int k = 0; k < 10000; k++) {
        auto &[number, queue] = *std::next(model.begin(), (long)rng_below(&r, 3));

        if (queue.size() < 13 && rng_below(&r, 2)) {
            int64_t c = host_accept(h, number, 9, 9);

            ASSERT_GE(c, 0);
            queue.push_back((uint32_t)c);
        } else if (!queue.empty()) {
            size_t i = rng_below(&r, queue.size());
            struct conn *c = &h->conns[queue[i]];

            middle += i > 0 && i + 1 < queue.size();
            table_service_remove(h, c);
            give_back(h, c);
            queue.erase(queue.begin() + (long)i);
        }
        const struct host_service *s = table_service(h, number);
        std::deque<uint32_t> seen;

        for (uint32_t i = s->head; i != NONE && seen.size() < 40; i = h->conns[i].service_next)
            seen.push_back(i);
        ASSERT_EQ(seen, queue) << "step " << k;
        ASSERT_TRUE(queue.empty() || s->tail == queue.back());
    }
    EXPECT_GT(middle, 500u);
    for (auto &[number, queue] : model)
        for (uint32_t i : queue) {
            table_service_remove(h, &h->conns[i]);
            give_back(h, &h->conns[i]);
        }
    host_destroy(h);
}
