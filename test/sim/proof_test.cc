// SPDX-License-Identifier: BSD-3-Clause
// A blind peer never receives packets of the host, since it forges its address; so it knows no key
// of the host. Whatever it sends, the application's sends, receives and shutdown do not succeed. An
// honest peer proves within one round trip that it receives, and earlier operations complete then.
#include <gtest/gtest.h>

#include <cerrno>

extern "C" {
#include "base/seq.h"
}
#include "peer.hh"

namespace
{

constexpr uint64_t kUnit = 1000, kLen = 2500;

// Sends without having heard a packet: marked EARLY, with its own key.
class Blind : public Peer
{
  public:
    explicit Blind(const PeerOptions &o = {}) : Peer(o)
    {
        accept();
        deaf();
        say_first();
    }
    void deaf()
    {
        host_key = 0;
        host_seq = 0;
        host_time_ns = 0;
    }
    void tell(uint8_t flags)
    {
        deaf();
        say(state(flags));
        run(100000);
        deaf();
    }
    // Sends one whole request, the last one.
    void all_data()
    {
        deaf();
        for (uint32_t u = 0; u * kUnit < kLen; u++)
            say_data(initial, u, kLen, kUnit,
                     (u + 1) * kUnit >= kLen ? WIRE_DREQ | WIRE_PACK | WIRE_WCLOSE : 0);
        close_request = initial + 1;
        run(100000);
        deaf();
    }
    // Completions of sends, receives and the shutdown. good: only those that moved or closed
    // something.
    size_t completions(bool good) const
    {
        size_t n = 0;

        for (const host_completion &c : log)
            n += c.op != HOST_ACCEPT &&
                 (!good || c.status == 0 || c.status == -ENODATA || c.len > 0);
        return n;
    }
};

TEST(Proof, EarlyDataOfABlindPeerCompleteNothing)
{
    Blind p;

    p.post_recv(kLen, 5);
    p.post_recv(kLen, 6);
    p.all_data();
    p.run(100000000);
    EXPECT_EQ(p.info().rx_bytes, kLen) << "early data are not placed";
    EXPECT_EQ(p.completions(false), 0u);
    p.tell(WIRE_WCLOSE);
    p.run(100000000);
    EXPECT_EQ(p.completions(false), 0u);
    p.run(2 * CLOCK_NS_PER_S);
    ASSERT_EQ(p.completions(false), 2u) << "the peer is not given up";
    EXPECT_EQ(p.completions(true), 0u);
    EXPECT_EQ(p.done(HOST_RECV, 5)->status, -ETIMEDOUT);
    EXPECT_EQ(p.done(HOST_RECV, 6)->status, -ETIMEDOUT);
}

TEST(Proof, ABlindPeerCannotCloseInOrder)
{
    Blind p;

    p.post_recv(kLen, 5);
    p.post_send(200, 7);
    p.run(10000);
    p.shutdown(8);
    p.all_data();
    p.posted = p.host_initial + 1;
    p.tell(0);
    p.ack = pos_make(p.host_initial + 1, 0);
    p.tell(WIRE_WCLOSE | WIRE_RCLOSE);
    p.run(100000000);
    EXPECT_EQ(p.completions(false), 0u);
    p.tell(WIRE_WCLOSE | WIRE_RCLOSE | WIRE_END);
    p.run(100000000);
    EXPECT_EQ(p.completions(false), 3u);
    EXPECT_EQ(p.completions(true), 0u);
}

TEST(Proof, EndBehindEarlyDataFailsThem)
{
    Blind p;

    p.post_recv(kLen, 5);
    p.all_data();
    wire_cntl v = p.state(WIRE_END);
    v.end = WIRE_END_ABORT;
    p.say(v);
    p.run(100000000);
    ASSERT_NE(p.done(HOST_RECV, 5), nullptr);
    EXPECT_EQ(p.done(HOST_RECV, 5)->status, -ECONNRESET);
    EXPECT_EQ(p.done(HOST_RECV, 5)->len, 0u);
}

// The host gives up a blind peer in time, however often the peer sends.
TEST(Proof, ABlindPeerIsGivenUpInTime)
{
    Blind p;

    p.post_recv(kLen, 5);
    for (int i = 0; i < 15; i++) {
        p.run(100000000);
        p.deaf();
        p.say_data(p.initial, 0, kLen, kUnit);
        p.tell(WIRE_SREQ);
    }
    ASSERT_NE(p.done(HOST_RECV, 5), nullptr) << "it keeps a connection for ever";
    EXPECT_EQ(p.done(HOST_RECV, 5)->status, -ETIMEDOUT);
}

// The first packet with the host's key is enough, and the receive completes with it.
void proved_by(bool go_back_n, const std::function<void(Peer &, uint64_t key)> &prove)
{
    PeerOptions o;
    o.go_back_n = go_back_n;
    Blind p(o);

    p.post_recv(kLen, 5);
    p.run(10000);
    uint64_t key = p.host_key;
    ASSERT_NE(key, 0u);
    p.deaf();
    p.all_data();
    p.run(50000000);
    EXPECT_EQ(p.completions(false), 0u);
    prove(p, key);
    p.run(10000);
    ASSERT_NE(p.done(HOST_RECV, 5), nullptr);
    EXPECT_EQ(p.done(HOST_RECV, 5)->status, 0);
    EXPECT_EQ(p.done(HOST_RECV, 5)->len, kLen);
    for (uint64_t i = 0; i < kLen; i++)
        ASSERT_EQ(p.buffers.back()[i], pattern(p.initial, i));
}

TEST(Proof, CntlWithTheKeyProves)
{
    auto cntl = [](Peer &p, uint64_t key) {
        p.host_key = key;
        p.say(p.state());
    };
    proved_by(false, cntl);
    proved_by(true, cntl);
}

TEST(Proof, DataWithTheKeyProves)
{
    auto data = [](Peer &p, uint64_t key) {
        p.host_key = key;
        p.say_data(p.initial, 0, kLen, kUnit);
    };
    proved_by(false, data);
    proved_by(true, data);
}

// The peer gives up in the packet with the key. The data that came before still complete.
TEST(Proof, EndWithTheKeyProves)
{
    auto end = [](Peer &p, uint64_t key) {
        p.host_key = key;
        wire_cntl v = p.state(WIRE_END);
        v.end = WIRE_END_ABORT;
        p.say(v);
    };
    proved_by(false, end);
    proved_by(true, end);
}

// Both directions are over before the proof comes.
TEST(Proof, ClosingInOrderWaitsForTheProof)
{
    Blind p;

    p.post_recv(kLen, 5);
    p.post_recv(kLen, 6);
    p.shutdown(8);
    p.run(10000);
    uint64_t key = p.host_key;
    p.deaf();
    p.all_data();
    p.ack = pos_make(p.host_initial, 0);
    p.tell(WIRE_WCLOSE | WIRE_RCLOSE);
    EXPECT_EQ(p.completions(false), 0u);
    p.host_key = key;
    p.say(p.state(WIRE_WCLOSE | WIRE_RCLOSE));
    p.run(10000);
    ASSERT_EQ(p.completions(false), 3u);
    EXPECT_EQ(p.done(HOST_RECV, 5)->status, 0);
    EXPECT_EQ(p.done(HOST_RECV, 6)->status, -ENODATA);
    EXPECT_EQ(p.done(HOST_SHUTDOWN, 8)->status, 0);
}

// Early data of an honest peer: the question for the MAC address takes a round trip, FIRST half of
// one, and the proof another one. Nothing else delays the completion.
TEST(Proof, EarlyDataOfAnHonestPeerWaitForOneRoundTrip)
{
    constexpr uint64_t kDelay = 20000000;
    for (bool go_back_n : {false, true}) {
        PairOptions o;
        o.delay_ns = kDelay;
        o.go_back_n = go_back_n;
        Pair p(o);

        p.open();
        p.recv(kLen);
        p.send(kLen);
        p.shutdown(0);
        ASSERT_TRUE(p.run([&] { return p.recvs[1][0].done; }));
        EXPECT_EQ(p.recvs[1][0].status, 0);
        EXPECT_GE(world_now(p.w), 5 * kDelay);
        EXPECT_LE(world_now(p.w), 5 * kDelay + 1000000);
        EXPECT_TRUE(p.finish()) << p.state();
    }
}

} // namespace
