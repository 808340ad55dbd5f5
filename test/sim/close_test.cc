// SPDX-License-Identifier: BSD-3-Clause
// Closing against a scripted peer: every order of WCLOSE, RCLOSE and END, lost answers, aborts at
// any state, copies and late packets.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "peer.hh"
#include "whole_pools.hh"

namespace
{

constexpr uint64_t kMs = 1000000;

class Close : public WholePools
{
};

// No operation completed twice.
void expect_once(const Peer &p)
{
    for (size_t i = 0; i < p.log.size(); i++)
        for (size_t k = i + 1; k < p.log.size(); k++)
            EXPECT_FALSE(p.log[i].op == p.log[k].op && p.log[i].user == p.log[k].user)
                << "op " << int(p.log[i].op) << " user " << p.log[i].user;
}

void expect_freed(Peer &p)
{
    p.close();
    EXPECT_TRUE(p.until([&] { return p.is_free(); })) << p.info().state;
    expect_once(p);
}

int status(const Peer &p, uint8_t op, uint64_t user)
{
    const host_completion *c = p.done(op, user);

    return c == nullptr ? 1 : c->status;
}

TEST_F(Close, WriterFirst)
{
    Peer p;
    p.open_by_host();
    p.post_recv(10, 5);
    p.shutdown(9);
    ASSERT_TRUE(p.until([&] { return p.heard_flags(WIRE_WCLOSE) > 0; }));
    EXPECT_EQ(p.last_cntl()->close_request, p.host_initial);
    EXPECT_EQ(status(p, HOST_SHUTDOWN, 9), 1);
    p.say(p.state(WIRE_RCLOSE));
    p.run(kMs);
    EXPECT_EQ(status(p, HOST_SHUTDOWN, 9), 0);
    EXPECT_EQ(p.heard_flags(WIRE_END), 0u);
    p.say(p.state(WIRE_RCLOSE | WIRE_WCLOSE));
    p.run(kMs);
    EXPECT_EQ(status(p, HOST_RECV, 5), -ENODATA);
    EXPECT_EQ(p.heard_flags(WIRE_END | WIRE_RCLOSE | WIRE_WCLOSE), 1u);
    p.say(p.state(WIRE_RCLOSE | WIRE_WCLOSE | WIRE_END));
    p.run(kMs);
    EXPECT_EQ(p.heard_flags(WIRE_END), 1u) << "END needs no third answer";
    EXPECT_EQ(p.counter("conns_closed"), 1u);
    expect_freed(p);
}

TEST_F(Close, ReaderFirst)
{
    Peer p;
    p.open_to_host();
    p.post_recv(3000, 5);
    p.run(kMs);
    for (uint32_t u = 0; u < 3; u++)
        p.say_data(p.initial, u, 3000, 1400, u == 2 ? WIRE_WCLOSE | WIRE_DREQ : 0);
    p.close_request = p.initial + 1;
    p.run(kMs);
    EXPECT_EQ(status(p, HOST_RECV, 5), 0);
    EXPECT_GE(p.heard_flags(WIRE_RCLOSE), 1u);
    EXPECT_EQ(p.info().state, HOST_OPEN);
    p.post_recv(10, 6);
    p.run(kMs);
    EXPECT_EQ(status(p, HOST_RECV, 6), -ENODATA);
    p.posted++;
    p.say(p.state(WIRE_WCLOSE));
    p.post_send(100, 7);
    p.shutdown(9);
    ASSERT_TRUE(p.until([&] { return p.heard_type(WIRE_DATA) > 0; }));
    EXPECT_TRUE(p.heard.back().data.h.flags & WIRE_WCLOSE || p.heard_flags(WIRE_WCLOSE) > 0);
    p.ack = pos_make(p.host_initial + 1, 0);
    p.say(p.state(WIRE_WCLOSE | WIRE_RCLOSE));
    p.run(kMs);
    EXPECT_EQ(status(p, HOST_SEND, 7), 0);
    EXPECT_EQ(status(p, HOST_SHUTDOWN, 9), 0);
    EXPECT_EQ(p.heard_flags(WIRE_END), 1u);
    expect_freed(p);
}

TEST_F(Close, BothAtOnce)
{
    Peer p;
    p.open_by_host();
    p.shutdown(9);
    p.say(p.state(WIRE_WCLOSE)); // the two WCLOSE cross
    p.run(kMs);
    EXPECT_GE(p.heard_flags(WIRE_WCLOSE | WIRE_RCLOSE), 1u);
    EXPECT_EQ(p.heard_flags(WIRE_END), 0u);
    p.say(p.state(WIRE_WCLOSE | WIRE_RCLOSE | WIRE_END));
    p.run(kMs);
    EXPECT_EQ(status(p, HOST_SHUTDOWN, 9), 0);
    EXPECT_EQ(p.heard_flags(WIRE_END), 1u);
    EXPECT_EQ(p.counter("conns_closed"), 1u);
    expect_freed(p);
}

// The peer stops reading. Outstanding sends fail, and the other direction goes on.
TEST_F(Close, ReaderGivesUp)
{
    Peer p;
    p.open_by_host();
    p.posted += 2;
    p.post_send(100000, 3);
    p.post_send(1, 4);
    p.post_recv(10, 5);
    p.say(p.state());
    p.run(50000);
    p.say(p.state(WIRE_RCLOSE));
    p.run(kMs);
    EXPECT_EQ(status(p, HOST_SEND, 3), -EPIPE);
    EXPECT_EQ(status(p, HOST_SEND, 4), -EPIPE);
    EXPECT_EQ(p.info().state, HOST_OPEN);
    p.say_data(p.initial, 0, 10, 1400);
    p.run(kMs);
    EXPECT_EQ(status(p, HOST_RECV, 5), 0);
    p.close_request = p.initial + 1;
    p.say(p.state(WIRE_RCLOSE | WIRE_WCLOSE));
    p.run(kMs);
    EXPECT_EQ(p.heard_flags(WIRE_END), 1u);
    EXPECT_EQ(p.counter("conns_closed"), 1u);
    expect_freed(p);
}

TEST_F(Close, EndIsRepeatedUntilAnswered)
{
    Peer p;
    p.open_by_host();
    p.shutdown(9);
    p.run(kMs);
    p.say(p.state(WIRE_RCLOSE | WIRE_WCLOSE));
    p.run(20 * kMs);
    size_t ends = p.heard_flags(WIRE_END);
    EXPECT_GE(ends, 2u);
    EXPECT_EQ(status(p, HOST_SHUTDOWN, 9), 0);
    p.say(p.state(WIRE_RCLOSE | WIRE_WCLOSE | WIRE_END));
    p.run(2000 * kMs);
    EXPECT_EQ(p.heard_flags(WIRE_END), ends);
    expect_freed(p);
}

TEST_F(Close, EndIsNeverAnswered)
{
    Peer p;
    p.open_by_host();
    p.shutdown(9);
    p.run(kMs);
    p.say(p.state(WIRE_RCLOSE | WIRE_WCLOSE));
    p.close();
    EXPECT_TRUE(p.until([&] { return p.is_free(); }));
    EXPECT_GE(p.heard_flags(WIRE_END), 3u);
    EXPECT_LE(p.heard_flags(WIRE_END), 9u);
    expect_once(p);
}

// The peer missed our END. The host answers each of its packets by END, until the number is free.
TEST_F(Close, LatePackets)
{
    Peer p;
    p.open_by_host();
    p.post_recv(10, 5);
    p.run(kMs);
    p.close(); // abort
    p.run(50000);
    EXPECT_EQ(status(p, HOST_RECV, 5), -ECANCELED);
    size_t ends = p.heard_flags(WIRE_END);
    EXPECT_EQ(ends, 1u);
    EXPECT_EQ(p.last_cntl()->end, WIRE_END_ABORT);
    p.say_data(p.initial, 0, 10, 1400);
    p.run(10000);
    EXPECT_EQ(p.heard_flags(WIRE_END), ends + 1);
    EXPECT_EQ(p.counter("drop_state"), 1u);
    p.say(p.state());
    p.run(10000);
    EXPECT_EQ(p.heard_flags(WIRE_END), ends + 2);
    p.say(p.state(WIRE_END | WIRE_SREQ));
    p.run(10000);
    EXPECT_EQ(p.heard_flags(WIRE_END), ends + 3) << "SREQ is not answered";
    p.say(p.state(WIRE_END));
    p.run(10000);
    EXPECT_EQ(p.heard_flags(WIRE_END), ends + 3) << "END alone is answered";
    EXPECT_TRUE(p.until([&] { return p.is_free(); }));
    uint64_t unknown = p.counter("drop_unknown_key");
    size_t heard = p.heard.size();
    p.say_data(p.initial, 0, 10, 1400);
    p.say(p.state());
    p.say(p.state(WIRE_END));
    p.run(kMs);
    EXPECT_EQ(p.counter("drop_unknown_key"), unknown + 3);
    EXPECT_EQ(p.heard.size(), heard);
    EXPECT_EQ(p.buffers[0], std::vector<uint8_t>(11, 0xee));
}

TEST_F(Close, AbortByPeerInEveryState)
{
    const struct {
        wire_end end;
        int status;
    } reasons[] = {{WIRE_END_ABORT, -ECONNRESET},
                   {WIRE_END_SILENCE, -ETIMEDOUT},
                   {WIRE_END_SHUTDOWN, -ESHUTDOWN},
                   {WIRE_END_PROTOCOL, -EPROTO},
                   {WIRE_END_NONE, -ECONNRESET}};

    for (const auto &reason : reasons)
        for (int state = 0; state < 5; state++) {
            SCOPED_TRACE(testing::Message() << wire_end_name(reason.end) << " state " << state);
            Peer p;
            state == 0 ? p.open_to_host() : p.open_by_host();
            p.post_recv(10, 5);
            if (state >= 2) {
                p.posted++;
                p.say(p.state());
                p.post_send(100000, 6);
                p.run(100000);
            }
            if (state >= 3)
                p.shutdown(9);
            if (state == 4)
                p.say(p.state(WIRE_WCLOSE));
            p.run(kMs);
            wire_cntl v = p.state(WIRE_END);
            v.end = reason.end;
            p.say(v);
            p.say(v); // and a copy
            p.run(kMs);
            EXPECT_EQ(status(p, HOST_RECV, 5), state == 4 ? -ENODATA : reason.status);
            if (state >= 2) {
                EXPECT_EQ(status(p, HOST_SEND, 6), reason.status);
            }
            if (state >= 3) {
                EXPECT_EQ(status(p, HOST_SHUTDOWN, 9), reason.status);
            }
            EXPECT_EQ(p.counter("conns_failed"), 1u);
            // Later requests fail for the same reason.
            uint8_t byte = 0;
            struct host_send op = {};

            op.pieces[0] = {&byte, 1};
            EXPECT_EQ(host_send(p.h(), p.conn, &op, p.now()), reason.status);
            EXPECT_EQ(p.shutdown(10), reason.status);
            p.post_recv(10, 11);
            p.run(kMs);
            EXPECT_EQ(status(p, HOST_RECV, 11), state == 4 ? -ENODATA : reason.status);
            expect_freed(p);
        }
}

// A real sender gives up. All receives of its peer end with that reason, with and without requests
// under way, and none ends with -ENODATA.
TEST_F(Close, AnAbortIsNoOrderlyEnd)
{
    for (wire_end end : {WIRE_END_ABORT, WIRE_END_SHUTDOWN})
        for (int under_way = 0; under_way < 3; under_way++) {
            const int status_of = end == WIRE_END_ABORT ? -ECONNRESET : -ESHUTDOWN;
            SCOPED_TRACE(testing::Message() << wire_end_name(end) << " " << under_way);
            Pair p({});
            p.open();
            for (int i = 0; i < 5; i++)
                p.recv(100000);
            p.send(100000);
            p.send(1);
            ASSERT_TRUE(p.run([&] { return p.sends[0][1].done && p.recvs[1][1].done; }))
                << p.state();
            if (under_way > 0)
                p.send(100000);
            if (under_way == 2)
                p.shutdown(0);
            p.wait(under_way == 0 ? kMs : 60000);
            host_close(p.a(), p.conn[0], end, world_now(p.w));
            ASSERT_TRUE(p.run([&] { return p.recvs[1][4].done; })) << p.state();
            p.recv(1); // later receives end so, too
            ASSERT_TRUE(p.run([&] { return p.recvs[1][5].done; })) << p.state();
            for (int i = 0; i < 6; i++)
                EXPECT_EQ(p.recvs[1][i].status, i < 2 ? 0 : status_of) << i;
            host_close(p.b(), p.conn[1], WIRE_END_ABORT, world_now(p.w));
            EXPECT_TRUE(p.run([&] { return p.all_free(); })) << p.state();
        }
}

// When its application gives up, the host sends END with the reason. It does not say that all has
// been sent.
TEST_F(Close, AnAbortSaysNoWclose)
{
    for (bool shut : {false, true}) {
        Peer p;
        p.open_by_host();
        p.posted++;
        p.say(p.state());
        p.post_send(10, 5);
        p.run(kMs);
        if (shut)
            p.shutdown(9);
        p.run(kMs);
        host_close(p.h(), p.conn, WIRE_END_ABORT, p.now());
        p.run(kMs);
        ASSERT_EQ(p.heard_flags(WIRE_END), 1u);
        EXPECT_EQ(p.last_cntl()->end, WIRE_END_ABORT);
        EXPECT_EQ(p.last_cntl()->h.flags & WIRE_WCLOSE, shut ? WIRE_WCLOSE : 0);
        p.say(p.state(WIRE_END));
        EXPECT_TRUE(p.until([&] { return p.is_free(); }));
    }
}

// A peer sends its three flags in all orders, with our own WCLOSE before, between or after them.
TEST_F(Close, EveryOrder)
{
    std::array<unsigned, 3> order = {WIRE_WCLOSE, WIRE_RCLOSE, WIRE_END};

    std::sort(order.begin(), order.end());
    do {
        for (int ours = 0; ours <= 3; ours++) {
            Peer p;
            uint8_t flags = 0;
            bool in_order = true;

            p.open_by_host();
            p.post_recv(10, 5);
            for (int i = 0; i <= 3; i++) {
                if (i == ours && p.info().state == HOST_OPEN) {
                    // a peer that stopped reading has closed this direction already
                    EXPECT_EQ(p.shutdown(9), flags & WIRE_RCLOSE ? -EPIPE : 0);
                }
                p.run(100000);
                if (i == 3)
                    break;
                if (order.at(i) == WIRE_END)
                    in_order = flags == (WIRE_WCLOSE | WIRE_RCLOSE);
                flags |= order.at(i);
                p.say(p.state(flags));
                p.say(p.state(flags)); // repeated
                p.run(100000);
            }
            SCOPED_TRACE(testing::Message() << int(order[0]) << " " << int(order[1]) << " "
                                            << int(order[2]) << " ours " << ours);
            EXPECT_EQ(p.counter("conns_closed"), in_order ? 1u : 0u);
            EXPECT_EQ(p.counter("conns_failed"), in_order ? 0u : 1u);
            EXPECT_NE(status(p, HOST_RECV, 5), 1);
            expect_freed(p);
        }
    } while (std::next_permutation(order.begin(), order.end()));
}

} // namespace
