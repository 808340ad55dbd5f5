/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The handshake: golden messages and keys (by test/interop/noise.py, which a test there compares
 * with this code on random input, too), every changed byte, wrong keys, answers that come again.
 */
#include <gtest/gtest.h>

#include <cerrno>
#include <optional>

#include "bytes.hh"

extern "C" {
#include "crypto/noise.h"
}

namespace
{

const char *const kPrologue = "Sluice 2";

/* The bytes n, n + 1, ... n + 31. */
Bytes counting(uint8_t n)
{
    Bytes b(32);

    for (auto &x : b)
        x = n++;
    return b;
}

struct noise_self self_of(const Bytes &private_key)
{
    struct noise_self self;

    std::memcpy(self.private_key, private_key.data(), DH_BYTES);
    dh_public(self.private_key, self.public_key);
    return self;
}

Bytes text_bytes(const char *text)
{
    return Bytes(text, text + std::strlen(text));
}

std::string hex(const uint8_t (&key)[32])
{
    return to_hex(Bytes(key, key + 32));
}

bool all_zero(const struct noise &n)
{
    Bytes b(sizeof n);

    std::memcpy(b.data(), &n, sizeof n);
    return b == Bytes(sizeof n);
}

/* Of a message that was refused, nothing is written, or what was is wiped. */
bool unseen(const Bytes &payload)
{
    return payload == Bytes(payload.size()) || payload == Bytes(payload.size(), 0xa5);
}

/* An answer as one party takes it: the payload and the keys. */
struct Result {
    Bytes payload;
    struct noise_keys keys;
};

/* Two parties, their keys, and the messages of one handshake. */
struct Pair {
    Bytes psk = counting(0xd0);
    struct noise_self a = self_of(counting(0x10)), b = self_of(counting(0x40));
    struct noise initiator, responder;

    Bytes init(const Bytes &payload)
    {
        Exact out(Bytes(NOISE_INIT_BYTES + payload.size())), in(payload);

        EXPECT_EQ(noise_init_write(&initiator, &a, b.public_key, counting(0x70).data(), kPrologue,
                                   in.data(), static_cast<uint32_t>(payload.size()), out.data()),
                  0);
        return Bytes(out.data(), out.data() + NOISE_INIT_BYTES + payload.size());
    }
    std::optional<Bytes> read_init(const Bytes &message, const char *prologue = kPrologue)
    {
        return read_init_by(b, message, prologue);
    }
    std::optional<Bytes> read_init_by(const struct noise_self &self, const Bytes &message,
                                      const char *prologue = kPrologue)
    {
        size_t len = message.size() - NOISE_INIT_BYTES;
        Exact in(message), out(Bytes(len, 0xa5));
        int rc = noise_init_read(&responder, &self, prologue, in.data(), static_cast<uint32_t>(len),
                                 out.data());

        if (rc != 0) {
            EXPECT_EQ(rc, -EBADMSG);
            EXPECT_TRUE(all_zero(responder));
            EXPECT_TRUE(unseen(Bytes(out.data(), out.data() + len)));
            return std::nullopt;
        }
        return Bytes(out.data(), out.data() + len);
    }
    Bytes response(const Bytes &payload, struct noise_keys *keys)
    {
        Exact out(Bytes(NOISE_RESPONSE_BYTES + payload.size())), in(payload);

        EXPECT_EQ(noise_response_write(&responder, psk.data(), counting(0xa0).data(), in.data(),
                                       static_cast<uint32_t>(payload.size()), out.data(), keys),
                  0);
        EXPECT_TRUE(all_zero(responder));
        return Bytes(out.data(), out.data() + NOISE_RESPONSE_BYTES + payload.size());
    }
    std::optional<Result> read_response(const Bytes &message)
    {
        size_t len = message.size() - NOISE_RESPONSE_BYTES;
        Exact in(message), out(Bytes(len, 0xa5));
        struct noise before = initiator;
        Result r = {};
        int rc = noise_response_read(&initiator, psk.data(), in.data(), static_cast<uint32_t>(len),
                                     out.data(), &r.keys);

        r.payload = Bytes(out.data(), out.data() + len);
        if (rc != 0) {
            /* Nothing of it is left, and the handshake goes on. */
            EXPECT_EQ(rc, -EBADMSG);
            EXPECT_TRUE(unseen(r.payload));
            EXPECT_EQ(std::memcmp(&before, &initiator, sizeof before), 0);
            EXPECT_EQ(hex(r.keys.seal) + hex(r.keys.open), std::string(128, '0'));
            return std::nullopt;
        }
        EXPECT_TRUE(all_zero(initiator));
        return r;
    }
    /* Does the true response still end the handshake? */
    void expect_response(const Bytes &message, const Bytes &payload, const struct noise_keys &keys)
    {
        std::optional<Result> r = read_response(message);

        ASSERT_TRUE(r);
        EXPECT_EQ(r->payload, payload);
        EXPECT_EQ(hex(r->keys.seal), hex(keys.open));
        EXPECT_EQ(hex(r->keys.open), hex(keys.seal));
    }
};

const Bytes kIn = text_bytes("sixteen bytes in"), kOut = text_bytes("sixteen back out");

} // namespace

TEST(Noise, Golden)
{
    struct noise_keys keys;
    Pair p;

    EXPECT_EQ(hex(p.a.public_key),
              "d89e3bad79437dbed9f843418304f460ff05c7fe81fe4a9577a804cb9367ff66");
    EXPECT_EQ(hex(p.b.public_key),
              "79a631eede1bf9c98f12032cdeadd0e7a079398fc786b88cc846ec89af85a51a");
    Bytes init = p.init(kIn);
    EXPECT_EQ(to_hex(init),
              "23b7bb8c91ae008711fb12846780bcdf1e065f821bdfec49f57e7c7dcd4c48234e401f355854397519"
              "32c0c2801cff6d74a3b510276dcb61ab647e1346ebf73f9919ecfb41c266fa82b0fe5f7db2c3fb149f"
              "577e9a2f3daeb7b35a5cacaa8d2b84b04a122b88ef1658f63b552073c2a7");
    EXPECT_EQ(p.read_init(init), kIn);
    EXPECT_EQ(hex(p.responder.peer_public), hex(p.a.public_key));
    Bytes response = p.response(kOut, &keys);
    EXPECT_EQ(to_hex(response),
              "605a725d2a4adfeeb1a29e17edd621c1b7593ee8cdbc44ac6c4ab6e2f805d23cf47144b11ee351393a"
              "379aa05bf893fe373d8f7c78c3c523fec32173b84f2acf");
    EXPECT_EQ(hex(keys.open), "9ceeab286f907a0b5484476a89290020998eab0185f5abacb1b403c180311983");
    EXPECT_EQ(hex(keys.seal), "48a2e1fadad809cbe099c5e33294a3a97ec3ebe1fa66a1388bbaec05545698a2");
    p.expect_response(response, kOut, keys);
}

/* All zero is the key of those that share none. */
TEST(Noise, GoldenWithoutASharedKey)
{
    struct noise_keys keys;
    Pair p;

    p.psk = Bytes(NOISE_KEY_BYTES);
    EXPECT_EQ(p.read_init(p.init(kIn)), kIn);
    Bytes response = p.response(kOut, &keys);
    EXPECT_EQ(to_hex(response),
              "605a725d2a4adfeeb1a29e17edd621c1b7593ee8cdbc44ac6c4ab6e2f805d23c55d3a316ab42375404"
              "4fbe7cc68f2d4a994b8df302173f6e89a97f47fce40d28");
    EXPECT_EQ(hex(keys.open), "77afd3a5691af337aa8d04c464ad7c1322a63e575089d1ce2b207b5472933811");
    EXPECT_EQ(hex(keys.seal), "db12274dc52c0dba05907a19750c9a517c6e936e18172ac750ed23bef2f51234");
    p.expect_response(response, kOut, keys);
}

TEST(Noise, PayloadsOfAnyLength)
{
    Random r;

    for (size_t len : {0, 1, 15, 16, 17, 31, 100, 1000}) {
        struct noise_keys keys;
        Pair p;
        Bytes in = r.bytes(len), out = r.bytes(len);

        ASSERT_EQ(p.read_init(p.init(in)), in) << len;
        p.expect_response(p.response(out, &keys), out, keys);
    }
}

/* Each bit of the first message. The highest bit of the ephemeral key means nothing to X25519, but
 * is hashed. */
TEST(Noise, EveryChangedBitOfInit)
{
    Pair p;
    Bytes init = p.init(kIn);

    for (size_t bit = 0; bit < 8 * init.size(); bit++) {
        flip(init, bit);
        ASSERT_FALSE(p.read_init(init)) << bit;
        flip(init, bit);
    }
    EXPECT_EQ(p.read_init(init), kIn);
}

TEST(Noise, EveryChangedBitOfResponse)
{
    struct noise_keys keys;
    Pair p;

    ASSERT_TRUE(p.read_init(p.init(kIn)));
    Bytes response = p.response(kOut, &keys);
    for (size_t bit = 0; bit < 8 * response.size(); bit++) {
        flip(response, bit);
        ASSERT_FALSE(p.read_response(response)) << bit;
        flip(response, bit);
    }
    p.expect_response(response, kOut, keys);
}

TEST(Noise, OtherPrologue)
{
    Pair p;
    Bytes init = p.init(kIn);

    for (const char *other : {"", "Sluice 1", "Sluice 22", "Sluice "})
        EXPECT_FALSE(p.read_init(init, other)) << other;
    EXPECT_TRUE(p.read_init(init));
}

TEST(Noise, InitForAnother)
{
    Pair p;
    Bytes init = p.init(kIn);

    EXPECT_FALSE(p.read_init_by(self_of(counting(0x41)), init));
    EXPECT_FALSE(p.read_init_by(p.a, init));
}

/* A public key that does not belong to the private one: the initiator claims to be another. */
TEST(Noise, StolenName)
{
    struct noise_self other = self_of(counting(0x11));
    Pair p;

    std::memcpy(p.a.private_key, other.private_key, DH_BYTES);
    EXPECT_FALSE(p.read_init(p.init(kIn)));
}

/* One that answers with another static key than the initiator asked for. */
TEST(Noise, AnswerByAnother)
{
    struct noise_keys keys, others;
    Pair p, q;

    q.b = self_of(counting(0x41));
    ASSERT_TRUE(p.read_init(p.init(kIn)));
    ASSERT_TRUE(q.read_init(q.init(kIn)));
    EXPECT_FALSE(p.read_response(q.response(kOut, &others)));
    p.expect_response(p.response(kOut, &keys), kOut, keys);
}

TEST(Noise, OtherSharedKey)
{
    for (size_t bit = 0; bit < 8 * NOISE_KEY_BYTES; bit += 5) {
        struct noise_keys keys;
        Pair p;

        ASSERT_TRUE(p.read_init(p.init(kIn)));
        flip(p.psk, bit);
        Bytes response = p.response(kOut, &keys);
        flip(p.psk, bit);
        ASSERT_FALSE(p.read_response(response)) << bit;
        flip(p.psk, bit);
        p.expect_response(response, kOut, keys);
    }
}

/* The response to an earlier handshake of the same two is none to this one. */
TEST(Noise, ResponseAgain)
{
    struct noise_keys keys;
    Random r;
    Pair p;

    ASSERT_TRUE(p.read_init(p.init(kIn)));
    Bytes before = p.response(kOut, &keys), init(NOISE_INIT_BYTES + kIn.size());

    ASSERT_EQ(noise_init_write(&p.initiator, &p.a, p.b.public_key, r.bytes(32).data(), kPrologue,
                               kIn.data(), static_cast<uint32_t>(kIn.size()), init.data()),
              0);
    EXPECT_FALSE(p.read_response(before));
    ASSERT_TRUE(p.read_init(init));
    Bytes now = p.response(kOut, &keys);
    EXPECT_FALSE(p.read_response(before));
    p.expect_response(now, kOut, keys);
}

/* The same first message, answered twice with two ephemeral keys, gives two sets of keys. */
TEST(Noise, EachAnswerHasItsKeys)
{
    struct noise_keys keys, others;
    Bytes other(NOISE_RESPONSE_BYTES);
    Pair p;
    Bytes init = p.init(kIn);

    ASSERT_TRUE(p.read_init(init));
    p.response(kOut, &keys);
    ASSERT_TRUE(p.read_init(init));
    ASSERT_EQ(noise_response_write(&p.responder, p.psk.data(), counting(0xa1).data(), nullptr, 0,
                                   other.data(), &others),
              0);
    std::set<std::string> all = {hex(keys.seal), hex(keys.open), hex(others.seal),
                                 hex(others.open)};
    EXPECT_EQ(all.size(), 4u);
}

/* Points that share the same secret with everybody, in each place of the messages. */
TEST(Noise, PointsOfSmallOrder)
{
    struct noise_keys keys;
    uint8_t none[DH_BYTES] = {};
    Bytes out(NOISE_INIT_BYTES);
    Pair p;

    EXPECT_EQ(noise_init_write(&p.initiator, &p.a, none, counting(0x70).data(), kPrologue, nullptr,
                               0, out.data()),
              -EINVAL);
    EXPECT_TRUE(all_zero(p.initiator));
    Bytes init = p.init(kIn);
    std::fill_n(init.begin(), DH_BYTES, 0);
    EXPECT_FALSE(p.read_init(init));
    ASSERT_TRUE(p.read_init(p.init(kIn)));
    Bytes response = p.response(kOut, &keys), forged = response;
    std::fill_n(forged.begin(), DH_BYTES, 0);
    EXPECT_FALSE(p.read_response(forged));
    p.expect_response(response, kOut, keys);
}

/* An INIT names such a point as its sender's key; a responder that holds one does not answer. */
TEST(Noise, KeysOfSmallOrder)
{
    Bytes out(NOISE_RESPONSE_BYTES + kOut.size());
    struct noise_keys keys;
    Pair p;

    std::memset(p.a.public_key, 0, DH_BYTES);
    EXPECT_FALSE(p.read_init(p.init(kIn)));
    for (bool lasting : {false, true}) {
        Pair q;

        ASSERT_TRUE(q.read_init(q.init(kIn)));
        std::memset(lasting ? q.responder.peer_public : q.responder.peer_ephemeral, 0, DH_BYTES);
        EXPECT_EQ(noise_response_write(&q.responder, q.psk.data(), counting(0xa0).data(),
                                       kOut.data(), static_cast<uint32_t>(kOut.size()), out.data(),
                                       &keys),
                  -EBADMSG);
        EXPECT_TRUE(all_zero(q.responder));
    }
}

TEST(Noise, GivenUp)
{
    Pair p;

    p.init(kIn);
    EXPECT_FALSE(all_zero(p.initiator));
    noise_wipe(&p.initiator);
    EXPECT_TRUE(all_zero(p.initiator));
}
