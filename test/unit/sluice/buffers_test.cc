// SPDX-License-Identifier: BSD-3-Clause
// Memory for requests: made as it is needed, at both ends.
#include <cerrno>
#include <set>
#include <vector>

#include <gtest/gtest.h>

extern "C" {
#include "sluice/request/buffers.h"
#include "sluice/transfer/incoming.h"

// For requests of this test: without a session, and on this connection.
void *__wrap_sluice_alloc(struct sluice *s, uint64_t len_bytes);
void *__real_sluice_alloc(struct sluice *s, uint64_t len_bytes);
int __wrap_sluice_recv(struct sluice_conn *c, void *data, uint64_t len, uint64_t user);
int __real_sluice_recv(struct sluice_conn *c, void *data, uint64_t len, uint64_t user);
int __wrap_sluice_accept(struct sluice *s, uint16_t port, uint32_t channel, uint64_t user,
                         struct sluice_conn **conn);
int __real_sluice_accept(struct sluice *s, uint16_t port, uint32_t channel, uint64_t user,
                         struct sluice_conn **conn);
}

namespace
{
std::vector<std::vector<uint8_t>> regions;
uint64_t room_bytes; /* that are left of a quota */
std::vector<uint64_t> posted;
auto *const connection = reinterpret_cast<struct sluice_conn *>(&posted);
} // namespace

void *__wrap_sluice_alloc(struct sluice *s, uint64_t len_bytes)
{
    if (s != nullptr)
        return __real_sluice_alloc(s, len_bytes);
    if (len_bytes > room_bytes) {
        errno = EDQUOT;
        return nullptr;
    }
    room_bytes -= len_bytes;
    regions.emplace_back(len_bytes);
    return regions.back().data();
}

int __wrap_sluice_recv(struct sluice_conn *c, void *data, uint64_t len, uint64_t user)
{
    if (c != connection)
        return __real_sluice_recv(c, data, len, user);
    posted.push_back(user);
    return 0;
}

int __wrap_sluice_accept(struct sluice *s, uint16_t port, uint32_t channel, uint64_t user,
                         struct sluice_conn **conn)
{
    if (s != nullptr)
        return __real_sluice_accept(s, port, channel, user, conn);
    *conn = connection;
    return 0;
}

class Buffers : public testing::Test
{
  protected:
    void SetUp() override
    {
        regions.clear();
        posted.clear();
        room_bytes = 1u << 30;
    }
};

TEST_F(Buffers, AsManyAgainEachTime)
{
    struct buffers b;
    std::vector<uint32_t> n;

    buffers_init(&b, nullptr, 11);
    EXPECT_EQ(buffers_take(&b), -1);
    for (int i = 0; i < 6; i++) {
        ASSERT_EQ(buffers_grow(&b), 0);
        n.push_back(b.n);
    }
    EXPECT_EQ(n, (std::vector<uint32_t>{1, 2, 4, 8, 11, 11}));
    std::set<uint8_t *> at;
    std::set<int> numbers;
    for (int i; (i = buffers_take(&b)) >= 0;) {
        numbers.insert(i);
        at.insert(b.at[i]);
        b.at[i][0] = b.at[i][PACK_BYTES - 1] = 1;
    }
    EXPECT_EQ(numbers.size(), 11u);
    EXPECT_EQ(at.size(), 11u);
    buffers_give(&b, 7);
    EXPECT_EQ(buffers_take(&b), 7);
    buffers_give_all(&b);
    EXPECT_EQ(b.n_free, 11u);
}

/* A transfer that has begun goes on with what there is. */
TEST_F(Buffers, WithoutMemoryForMore)
{
    struct buffers b;

    buffers_init(&b, nullptr, 8);
    room_bytes = PACK_BYTES - 1;
    EXPECT_EQ(buffers_grow(&b), -EDQUOT);
    EXPECT_EQ(b.n, 0u);
    room_bytes = 3 * PACK_BYTES;
    EXPECT_EQ(buffers_grow(&b), 0);
    EXPECT_EQ(buffers_grow(&b), 0);
    EXPECT_EQ(buffers_grow(&b), -EDQUOT);
    EXPECT_EQ(b.n, 2u);
    room_bytes = 1u << 30;
    EXPECT_EQ(buffers_grow(&b), 0);
    EXPECT_EQ(b.n, 2u) << "it is not asked for again";
}

// A connection of which requests arrive, as the daemon says.
class Arriving : public Buffers
{
  protected:
    void SetUp() override
    {
        Buffers::SetUp();
        destination.kind = DESTINATION_DIR;
        ASSERT_EQ(incoming_init(&in, nullptr, &destination, 8), 0);
    }
    void TearDown() override
    {
        summary_fini(&in.summary);
        in.summary = {};
        incoming_fini(&in);
    }
    void arrives(uint64_t len)
    {
        struct sluice_completion c = {};

        c.op = SLUICE_OP_RECV;
        c.len = len;
        incoming_complete(&in, &c);
    }

    struct destination destination = {};
    struct incoming in = {};
};

TEST_F(Arriving, OneThatSendsLittleGetsLittleMemory)
{
    ASSERT_EQ(incoming_accept(&in, 7, 0, 2), 0);
    EXPECT_EQ(posted.size(), 2u);
    arrives(1000);
    arrives(RECORD_REQUEST_MAX / 2);
    EXPECT_EQ(posted.size(), 2u);
    EXPECT_EQ(in.buffers.n, 2u);
}

TEST_F(Arriving, OneThatSendsMuchGetsAsMuchAgain)
{
    ASSERT_EQ(incoming_accept(&in, 7, 0, 2), 0);
    arrives(RECORD_REQUEST_MAX);
    EXPECT_EQ(posted.size(), 4u);
    EXPECT_EQ(in.posted, 3u) << "one has come";
    for (int i = 0; i < 3; i++)
        arrives(RECORD_REQUEST_MAX);
    EXPECT_EQ(in.buffers.n, 8u);
    EXPECT_EQ(posted.size(), 8u);
    EXPECT_EQ(std::set<uint64_t>(posted.begin(), posted.end()).size(), 8u);
    /* what has come is read in its order */
    EXPECT_EQ(in.n_ready, 4u);
    for (uint32_t i = 0; i < 8; i++)
        EXPECT_EQ(in.buffer[i], posted[i]);
}

TEST_F(Arriving, WithoutMemoryItIsServedNevertheless)
{
    room_bytes = RESULT_QUEUE_BYTES + PACK_BYTES;
    ASSERT_EQ(incoming_accept(&in, 7, 0, 2), 0);
    arrives(RECORD_REQUEST_MAX);
    EXPECT_EQ(posted.size(), 1u);
    EXPECT_EQ(in.status, 0);
}

TEST_F(Arriving, WithoutAnyMemoryItIsNotAccepted)
{
    room_bytes = RESULT_QUEUE_BYTES + PACK_BYTES - 1;
    EXPECT_EQ(incoming_accept(&in, 7, 0, 2), -EDQUOT);
    EXPECT_TRUE(posted.empty());
}
