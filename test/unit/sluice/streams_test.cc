// SPDX-License-Identifier: BSD-3-Clause
// Several connections of one transfer. At the receiver, requests are read in their order, whatever
// the order in which they come.
#include <algorithm>
#include <cstring>
#include <deque>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "unit/base/seed.h"
#include "unit/sluice/receiver.h"

extern "C" {
#include "sluice/sender/sender.h"
#include "sluice/transfer/incoming.h"

// For connections of this test, which have no daemon.
int __wrap_sluice_send(struct sluice_conn *c, const void *data, uint64_t len, uint64_t user);
int __real_sluice_send(struct sluice_conn *c, const void *data, uint64_t len, uint64_t user);
}

static std::vector<struct record> told; // what was sent on them

int __wrap_sluice_send(struct sluice_conn *c, const void *data, uint64_t len, uint64_t user)
{
    struct record r;
    const char *why;

    if (c != nullptr)
        return __real_sluice_send(c, data, len, user);
    EXPECT_EQ(record_decode((const uint8_t *)data, len, &r, &why), 0);
    told.push_back(r);
    return 0;
}

namespace
{
// A connection whose requests come when the test says so. No receive is posted.
class Connection
{
  public:
    Connection()
    {
        incoming_streams_begin(&in);
        in.state = INCOMING_OPEN;
        in.served = in.no_more = true;
        in.streams.most = 8;
        in.slots = 8;
        for (uint32_t i = 0; i < BUFFERS_MAX; i++)
            in.buffers.at[i] = memory[i].data();
        in.buffers.n = BUFFERS_MAX;
        in.buffers.most = 8;
        buffers_give_all(&in.buffers);
        result_queue_init(&in.results, results.data());
        strcpy(in.part.owner, "address 192.0.2.1");
    }
    ~Connection()
    {
        result_queue_fini(&in.results);
    }
    Connection(const Connection &) = delete;

    void come(const struct record &r, uint64_t number = 0)
    {
        int i = buffers_take(&in.buffers);
        uint8_t header[RECORD_HEADER_BYTES];

        ASSERT_GE(i, 0);
        record_encode(header, &r);
        if (number != 0)
            record_number(header, number);
        receiver_comes(&in, i, header, sizeof header);
    }
    void come(uint64_t number)
    {
        struct record r = {};

        r.type = RECORD_END_ALL;
        come(r, number);
    }

    struct incoming in = {};

  private:
    std::vector<uint8_t> results = std::vector<uint8_t>(RESULT_QUEUE_BYTES);
    std::vector<std::vector<uint8_t>> memory{BUFFERS_MAX, std::vector<uint8_t>(PACK_PAGE)};
};

struct record with_token(enum record_type type, uint64_t size, uint8_t token)
{
    struct record r = {};

    r.type = (uint8_t)type;
    r.size = size;
    memset(r.hash, token, sizeof r.hash);
    return r;
}

// Reads the first request, which asks for connections. Returns what is wrong.
const char *ask(Connection &c, uint64_t wanted, uint64_t number = 1)
{
    struct record r = with_token(RECORD_STREAMS, wanted, 7);
    const char *wrong;

    c.come(r, number);
    EXPECT_EQ(incoming_due(&c.in), &c.in);
    wrong = incoming_streams_asked(&c.in, &r);
    incoming_pass(&c.in);
    incoming_streams_answer(&c.in, RECORD_STREAMS_MAX);
    return wrong;
}

bool join(Connection &lead, Connection &c, uint8_t token = 7)
{
    c.come(with_token(RECORD_JOIN, 2, token));
    EXPECT_TRUE(incoming_wants_to_join(&c.in));
    return incoming_attach(&lead.in, &c.in);
}
} // namespace

TEST(Streams, RequestsAreReadInTheirOrder)
{
    std::mt19937_64 rng(test_seed());

    for (int run = 0; run < 200; run++) {
        const uint32_t n = 1 + (uint32_t)(rng() % 8);
        std::vector<Connection> all(n);
        std::vector<std::deque<uint64_t>> under_way(n);
        uint64_t sent = 1, read = 1, last = 2 + rng() % 200;

        ASSERT_EQ(ask(all[0], 8), nullptr);
        for (uint32_t i = 1; i < n; i++)
            ASSERT_TRUE(join(all[0], all[i]));
        while (read < last) {
            uint32_t i = (uint32_t)(rng() % n);

            if (sent < last && under_way[i].size() + all[i].in.n_ready < BUFFERS_MAX)
                under_way[i].push_back(++sent);
            i = (uint32_t)(rng() % n);
            if (!under_way[i].empty()) {
                all[i].come(under_way[i].front());
                under_way[i].pop_front();
            }
            while (struct incoming *from = incoming_due(&all[0].in)) {
                ASSERT_EQ(record_number_of(incoming_request(from), RECORD_HEADER_BYTES), read + 1);
                incoming_pass(&all[0].in);
                read++;
            }
            ASSERT_FALSE(incoming_disordered(&all[0].in));
        }
    }
}

TEST(Streams, ARequestThatCannotBeReadIsSeen)
{
    for (uint64_t number : {uint64_t(0), uint64_t(1), uint64_t(2), uint64_t(3)}) {
        Connection lead, other;

        ASSERT_EQ(ask(lead, 2), nullptr);
        ASSERT_TRUE(join(lead, other));
        lead.come(2);
        EXPECT_EQ(incoming_due(&lead.in), &lead.in);
        incoming_pass(&lead.in);
        number == 0 ? other.come(with_token(RECORD_END_ALL, 0, 0)) : other.come(number);
        EXPECT_EQ(incoming_due(&lead.in), number == 3 ? &other.in : nullptr);
        EXPECT_EQ(incoming_disordered(&lead.in), number < 3) << number;
    }
    for (uint64_t number : {1, 2, 7}) {
        Connection plain;

        if (number == 7) { // the very first one
            plain.come(7);
        } else {
            plain.come(with_token(RECORD_END_ALL, 0, 0));
            EXPECT_EQ(incoming_due(&plain.in), &plain.in);
            incoming_pass(&plain.in);
            plain.come(number);
        }
        EXPECT_EQ(incoming_due(&plain.in), nullptr);
        EXPECT_TRUE(incoming_disordered(&plain.in));
    }
}

TEST(Streams, AreAskedForOnceAndFirst)
{
    Connection once, late, unnumbered;
    struct record r = with_token(RECORD_STREAMS, 2, 7);

    EXPECT_EQ(ask(once, 16), nullptr);
    EXPECT_EQ(once.in.streams.granted, 8u);
    EXPECT_EQ(once.in.buffers.most, once.in.buffers.n); // it keeps those that it has
    EXPECT_NE(incoming_streams_asked(&once.in, &r), nullptr);
    late.in.file = 1;
    EXPECT_NE(ask(late, 2), nullptr);
    EXPECT_NE(ask(unnumbered, 2, 0), nullptr);
}

TEST(Streams, OnlyThePeerItselfJoins)
{
    Connection lead, stranger, liar, second, third, plain, over;

    EXPECT_FALSE(join(plain, third)); // it has asked for nothing
    ASSERT_EQ(ask(lead, 2), nullptr);
    EXPECT_EQ(incoming_streams_expected(&lead.in), 1u);
    EXPECT_FALSE(join(lead, liar, 8));
    strcpy(stranger.in.part.owner, "address 192.0.2.2");
    EXPECT_FALSE(join(lead, stranger));
    EXPECT_EQ(lead.in.streams.n, 0u);
    told.clear();
    EXPECT_TRUE(join(lead, second));
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0].type, RECORD_JOIN);
    EXPECT_EQ(told[0].size, 2u);
    EXPECT_EQ(second.in.state, INCOMING_JOINED);
    EXPECT_EQ(second.in.n_ready, 0u);
    EXPECT_EQ(incoming_streams_expected(&lead.in), 0u);
    EXPECT_FALSE(incoming_attach(&lead.in, &third.in)); // no more than were granted
    ASSERT_EQ(ask(over, 3), nullptr);
    over.in.end_all = true;
    EXPECT_FALSE(incoming_attach(&over.in, &third.in));
}

TEST(Streams, EndWhenAllHaveEnded)
{
    Connection lead, second, third;

    ASSERT_EQ(ask(lead, 3), nullptr);
    ASSERT_TRUE(join(lead, second));
    ASSERT_TRUE(join(lead, third));
    lead.in.peer_ended = lead.in.shut = true;
    EXPECT_FALSE(incoming_streams_ended(&lead.in));
    second.in.peer_ended = second.in.shut = true;
    EXPECT_FALSE(incoming_streams_ended(&lead.in));
    EXPECT_FALSE(incoming_streams_are_shut(&lead.in));
    third.in.status = -ECONNRESET;
    EXPECT_TRUE(incoming_streams_ended(&lead.in));
    EXPECT_TRUE(incoming_streams_are_shut(&lead.in));
}

// ---- at the sender --------------------------------------------------------------------------

namespace
{
class Sending : public testing::Test
{
  protected:
    void wants(uint32_t wanted, uint32_t buffers)
    {
        s.options = &options;
        s.streams.wanted = wanted;
        s.streams.n = 1;
        s.buffers.most = buffers;
        memset(s.streams.token, 7, sizeof s.streams.token);
        s.streams.list[0].conn = connection(0);
        s.streams.list[0].open = true;
        s.end_sent = true; // nothing is opened
    }
    struct sluice_conn *connection(size_t i)
    {
        return reinterpret_cast<struct sluice_conn *>(&connections[i]);
    }
    // As many as can be sent before anything is confirmed.
    uint32_t fill()
    {
        uint32_t n = 0;

        while (struct sender_stream *t = sender_streams_choose(&s)) {
            t->in_flight++;
            n++;
        }
        return n;
    }

    struct sender_options options = {};
    struct sender s = {};
    char connections[RECORD_STREAMS_MAX] = {};
};
} // namespace

TEST_F(Sending, TheFirstOneLeavesTheOthersTheirPart)
{
    wants(4, 8);
    EXPECT_EQ(fill(), 2u);
    s.streams.heard = true; // and none was granted
    EXPECT_EQ(fill(), 6u);
}

TEST_F(Sending, EachHasItsPart)
{
    std::mt19937_64 rng(test_seed());

    for (int run = 0; run < 100; run++) {
        uint32_t n = 1 + (uint32_t)(rng() % RECORD_STREAMS_MAX),
                 most = n * (2 + (uint32_t)(rng() % 4));

        s = {};
        wants(n, most);
        s.streams.heard = true;
        s.streams.n = n;
        for (uint32_t i = 0; i < n; i++) {
            s.streams.list[i].conn = connection(i);
            s.streams.list[i].open = true;
        }
        for (int step = 0; step < 300; step++) {
            uint32_t i = (uint32_t)(rng() % n);

            fill();
            for (uint32_t k = 0; k < n; k++)
                ASSERT_EQ(s.streams.list[k].in_flight, most / n) << k << " of " << n;
            s.streams.list[i].in_flight -= (uint32_t)(rng() % (most / n + 1));
        }
    }
}

TEST_F(Sending, OnesThatAreNotOpenCarryNothing)
{
    wants(3, 6);
    s.streams.heard = true;
    s.streams.n = 3;
    s.streams.list[1].conn = connection(1); // still being opened; the third was given up
    EXPECT_EQ(fill(), 3u);
    EXPECT_EQ(s.streams.list[0].in_flight, 3u);
    s.streams.list[1].open = true;
    EXPECT_EQ(fill(), 3u);
    EXPECT_EQ(s.streams.list[2].in_flight, 0u);
}

TEST_F(Sending, HearsOneAnswer)
{
    struct record r = with_token(RECORD_STREAMS, 2, 7);
    const char *why = nullptr;

    wants(1, 8);
    EXPECT_FALSE(sender_streams_heard(&s, &r, &why));
    EXPECT_STREQ(why, "connections that nobody has asked for");
    wants(2, 8);
    r.size = 3;
    EXPECT_FALSE(sender_streams_heard(&s, &r, &why));
    r = with_token(RECORD_STREAMS, 2, 8);
    EXPECT_FALSE(sender_streams_heard(&s, &r, &why));
    r = with_token(RECORD_STREAMS, 2, 7);
    EXPECT_TRUE(sender_streams_heard(&s, &r, &why));
    EXPECT_FALSE(sender_streams_heard(&s, &r, &why));
}
