// SPDX-License-Identifier: BSD-3-Clause
// Sealed packets: what opens, and that nothing else does: each bit changed, packets of other
// associations, directions, paths and numbers. Which FIRST are new.
#include <gtest/gtest.h>

#include <rte_mbuf.h>

#include "bytes.hh"

extern "C" {
#include "assoc/number.h"
#include "assoc/seal.h"
#include "assoc/table.h"
}

namespace
{

const uint32_t kPeer = 0;

// One end of an association: a table with one entry.
struct End {
    struct table t;
    struct table_entry *e;
    struct table_firsts firsts = {};

    End(aead_library library, aead_cipher cipher, bool outgoing, uint8_t key, uint8_t worker = 0)
    {
        uint8_t there[AEAD_KEY_MAX] = {key, 1}, back[AEAD_KEY_MAX] = {key, 2};
        struct assoc_keys k = {};

        EXPECT_EQ(table_init(&t, 1, worker), 0);
        k.slot = 3;
        k.number = 3 + 16 * 77;
        k.remote = 3 + 16 * 77;
        k.peer = kPeer;
        k.outgoing = outgoing;
        table_install(&t, &k, aead_create(library, cipher, outgoing ? there : back),
                      aead_create(library, cipher, outgoing ? back : there), &firsts, 1000);
        e = table_find(&t, k.number);
    }
    ~End()
    {
        table_fini(&t);
    }
    End(const End &) = delete;
};

struct Way {
    struct addr src, dst;
    struct seal_path path;

    explicit Way(uint16_t sport = 4000)
    {
        addr_parse("10.0.0.1", &src);
        addr_parse("fd00::2", &dst);
        path = {&src, &dst, sport, 47800};
    }
};

Bytes first_packet(uint32_t association)
{
    struct wire_first v = {};
    Bytes b(WIRE_FIRST_BYTES + WIRE_TRAILER_BYTES);

    v.h = {WIRE_FIRST, WIRE_EARLY, 0, association, 0x1234};
    v.unit_max = 1400;
    v.service = 7;
    wire_put_first(b.data(), &v);
    return b;
}

Bytes cntl_packet(uint32_t association)
{
    struct wire_cntl v = {};
    Bytes b(WIRE_CNTL_BYTES + WIRE_SPAN_BYTES + WIRE_TRAILER_BYTES);

    v.h = {WIRE_CNTL, 0, 0, association, 0x1234};
    v.own_key = 5;
    v.seq = 6;
    v.unit_max = 1400;
    v.span_count = 1;
    v.spans[0] = {1, 2};
    wire_put_cntl(b.data(), &v);
    return b;
}

// An mbuf without a pool: the packet's bytes, in segments of at most `segment` bytes.
struct Chain {
    std::vector<struct rte_mbuf> m;
    std::vector<Bytes> data;

    Chain(const Bytes &packet, size_t segment = SIZE_MAX)
    {
        for (size_t at = 0; at < packet.size(); at += data.back().size())
            data.emplace_back(packet.begin() + at,
                              packet.begin() + at + std::min(segment, packet.size() - at));
        m.resize(data.size());
        for (size_t i = 0; i < m.size(); i++) {
            m[i] = {};
            m[i].buf_addr = data[i].data();
            m[i].data_len = static_cast<uint16_t>(data[i].size());
            m[i].pkt_len = static_cast<uint32_t>(packet.size());
            m[i].next = i + 1 < m.size() ? &m[i + 1] : nullptr;
        }
    }
};

// A sealed DATA packet, whose payload counts up.
Bytes data_packet(End *from, uint32_t payload, size_t piece = SIZE_MAX)
{
    struct wire_data d = {};
    Bytes b(WIRE_DATA_BYTES + payload + WIRE_TRAILER_BYTES), clear(payload);

    d.h = {WIRE_DATA, 0, 0, from->e->remote, 0x1234};
    d.request_len = payload;
    d.unit_bytes = 65000;
    wire_put_data(b.data(), &d);
    for (uint32_t i = 0; i < payload; i++)
        clear[i] = static_cast<uint8_t>(i * 7);
    seal_data(&from->t, from->e, b.data());
    for (size_t at = 0; at < payload; at += piece)
        seal_data_bytes(from->e, b.data() + WIRE_DATA_BYTES + at, clear.data() + at,
                        static_cast<uint32_t>(std::min<size_t>(piece, payload - at)));
    seal_data_end(&from->t, from->e, b.data() + WIRE_DATA_BYTES + payload);
    return b;
}

bool opens(End *to, const Bytes &packet, size_t segment = SIZE_MAX)
{
    uint32_t payload = static_cast<uint32_t>(packet.size()) - WIRE_DATA_BYTES - WIRE_TRAILER_BYTES;
    Chain c(packet, segment);
    const uint8_t *clear = seal_data_open(&to->t, to->e, packet.data(), c.m.data(), 0, payload);

    for (uint32_t i = 0; clear != nullptr && i < payload; i++)
        if (clear[i] != static_cast<uint8_t>(i * 7)) {
            ADD_FAILURE() << "byte " << i << " is wrong";
            return true;
        }
    return clear != nullptr;
}

class Seal : public testing::TestWithParam<std::tuple<aead_library, aead_cipher>>
{
  protected:
    void SetUp() override
    {
        if (!aead_has(std::get<0>(GetParam())))
            GTEST_SKIP() << "no " << aead_library_name(std::get<0>(GetParam()))
                         << " here: install libipsec-mb-dev (x86 only), and configure again";
    }
    End end(bool outgoing, uint8_t key = 9)
    {
        return End(std::get<0>(GetParam()), std::get<1>(GetParam()), outgoing, key);
    }
};

TEST_P(Seal, DataOfAllLengthsAndPieces)
{
    End a = end(true), b = end(false);

    for (uint32_t payload : {0u, 1u, 63u, 64u, 1408u, 2047u, 2048u, 2049u, 8832u, 65471u})
        for (size_t piece : {SIZE_MAX, size_t(1000)})
            for (size_t segment : {SIZE_MAX, size_t(9000), size_t(56), size_t(600)}) {
                if (payload > 60000 && segment == SIZE_MAX)
                    segment = 65000; // an mbuf counts its bytes in 16 bits
                EXPECT_TRUE(opens(&b, data_packet(&a, payload, piece), segment)) << payload;
            }
}

// Each bit of a packet with 8832 bytes of payload, and of its trailer.
TEST_P(Seal, EachBitOfData)
{
    End a = end(true), b = end(false);
    const Bytes good = data_packet(&a, 8832);
    Chain c(good);
    uint64_t wrong = 0;

    for (size_t bit = 0; bit < good.size() * 8; bit++) {
        flip(c.data[0], bit);
        wrong += seal_data_open(&b.t, b.e, c.data[0].data(), c.m.data(), 0, 8832) != nullptr;
        flip(c.data[0], bit);
    }
    EXPECT_EQ(wrong, 0u);
    EXPECT_TRUE(opens(&b, good));
}

// Each bit of FIRST and CNTL, on many packets; only the bytes of CNTL that routers may write are
// free.
TEST_P(Seal, EachBitOfState)
{
    End a = end(true), b = end(false);
    Way way;
    uint64_t wrong = 0, free = 0;

    for (int round = 0; round < 30; round++)
        for (bool cntl : {false, true}) {
            Bytes p = cntl ? cntl_packet(a.e->remote) : first_packet(a.e->remote);
            uint32_t len = static_cast<uint32_t>(p.size()) - WIRE_TRAILER_BYTES;

            EXPECT_EQ(seal_state(&a.t, a.e, &way.path, p.data(), len), p.size());
            EXPECT_TRUE(seal_state_right(b.e, &way.path, p.data(), len));
            for (size_t bit = 0; bit < p.size() * 8; bit++) {
                flip(p, bit);
                bool right = seal_state_right(b.e, &way.path, p.data(), len);

                if (cntl && bit / 8 >= 160 && bit / 8 < 176)
                    free += right;
                else
                    wrong += right;
                flip(p, bit);
            }
        }
    EXPECT_EQ(wrong, 0u);
    EXPECT_EQ(free, 30u * 16 * 8);
}

// What one association, direction or path has sealed opens nowhere else.
TEST_P(Seal, Splices)
{
    End a = end(true), b = end(false), other = end(false, 10);
    Way way, elsewhere(4001), back;
    Bytes data = data_packet(&a, 500), first = first_packet(a.e->remote);

    back.path = {&back.dst, &back.src, 47800, 4000};
    seal_state(&a.t, a.e, &way.path, first.data(), WIRE_FIRST_BYTES);
    EXPECT_FALSE(opens(&a, data)) << "the other direction";
    EXPECT_FALSE(opens(&other, data)) << "another association";
    EXPECT_FALSE(seal_state_right(a.e, &way.path, first.data(), WIRE_FIRST_BYTES));
    EXPECT_FALSE(seal_state_right(other.e, &way.path, first.data(), WIRE_FIRST_BYTES));
    EXPECT_FALSE(seal_state_right(b.e, &elsewhere.path, first.data(), WIRE_FIRST_BYTES));
    EXPECT_FALSE(seal_state_right(b.e, &back.path, first.data(), WIRE_FIRST_BYTES));
    Bytes again = data_packet(&a, 500); // the same payload, another number

    EXPECT_NE(data, again);
    std::copy(again.end() - WIRE_TRAILER_BYTES, again.end(), data.end() - WIRE_TRAILER_BYTES);
    EXPECT_FALSE(opens(&b, data)) << "another packet's trailer";
    EXPECT_TRUE(opens(&b, again));
    EXPECT_FALSE(seal_state_right(b.e, &way.path, first.data(), WIRE_CNTL_MAX_BYTES + 1));
}

INSTANTIATE_TEST_SUITE_P(All, Seal,
                         testing::Combine(testing::Values(AEAD_IPSEC_MB, AEAD_LIBCRYPTO),
                                          testing::Values(AEAD_AES_128_GCM, AEAD_AES_256_GCM,
                                                          AEAD_CHACHA20_POLY1305)));

// A known packet, which was computed from doc/protocol.md alone, by another library.
TEST(SealGolden, EmptyData)
{
    End a(AEAD_LIBCRYPTO, AEAD_AES_128_GCM, true, 9, 2);
    Bytes p = data_packet(&a, 0);

    EXPECT_EQ(number_worker(wire_parse_trailer(p.data() + WIRE_DATA_BYTES)), 2u);
    EXPECT_EQ(number_count(wire_parse_trailer(p.data() + WIRE_DATA_BYTES)), 1u);
    EXPECT_EQ(to_hex(p),
              "12000000000004d300000000000012340000000000000000000000000000000000000000000000000000"
              "0000000000000000fde8000000000200000000000001621a7f4d7cc571c0470549fcd40e180e");
}

// Against a model that remembers all of them.
TEST(Firsts, NewOnce)
{
    End a(AEAD_LIBCRYPTO, AEAD_AES_128_GCM, false, 9);
    Random r;
    std::set<uint64_t> came;
    uint64_t newest[TABLE_WORKERS_MAX] = {}, taken = 0;

    for (int i = 0; i < 100000; i++) {
        uint8_t worker = static_cast<uint8_t>(r.below(3));
        uint64_t jump = r.below(20) == 0 ? r.below(200) : r.below(4);
        uint64_t count =
            newest[worker] + jump > 70 ? newest[worker] + jump - r.below(70) : 1 + jump;
        uint64_t number = number_make(worker, true, count);
        bool is_new = came.count(number) == 0 && count + FIRSTS_SEEN > newest[worker];

        ASSERT_EQ(table_first_new(a.e, number), is_new) << worker << " " << count;
        came.insert(number);
        newest[worker] = std::max(newest[worker], count);
        taken += is_new;
    }
    EXPECT_GT(taken, 10000u);
    EXPECT_FALSE(table_first_new(a.e, number_make(0, false, 1u << 30))) << "not a FIRST";
    EXPECT_FALSE(table_first_new(a.e, number_make(TABLE_WORKERS_MAX, true, 1)));
    EXPECT_FALSE(table_first_new(a.e, number_make(5, true, 0)));
    EXPECT_FALSE(table_first_new(a.e, number_make(5, true, 1ull << 40))) << "no word holds it";
    EXPECT_TRUE(table_first_new(a.e, number_make(5, true, (1ull << 40) - 1)));
}

// What is current, and for how long.
TEST(Table, Ages)
{
    End a(AEAD_LIBCRYPTO, AEAD_AES_128_GCM, true, 9);
    uint32_t number = a.e->number;
    struct aead *seal, *open;

    EXPECT_EQ(table_current(&a.t, kPeer, 1000), a.e);
    EXPECT_EQ(table_current(&a.t, kPeer, 999 + ASSOC_REJECT_NS), a.e);
    EXPECT_EQ(table_current(&a.t, kPeer, 1000 + ASSOC_REJECT_NS), nullptr);
    EXPECT_EQ(table_young(&a.t, number, 999 + ASSOC_REJECT_NS), a.e);
    EXPECT_EQ(table_young(&a.t, number, 1000 + ASSOC_REJECT_NS), nullptr);
    EXPECT_EQ(table_current(&a.t, kPeer + 1, 1000), nullptr);
    EXPECT_EQ(table_current(&a.t, ASSOC_PEER_NONE, 1000), nullptr);
    EXPECT_EQ(table_find(&a.t, number + 1), nullptr);
    EXPECT_EQ(table_find(&a.t, 0), nullptr);
    table_remove(&a.t, 3, &seal, &open);
    EXPECT_NE(seal, nullptr);
    aead_destroy(seal);
    aead_destroy(open);
    EXPECT_EQ(table_current(&a.t, kPeer, 1000), nullptr);
    EXPECT_EQ(table_find(&a.t, number), nullptr);
    EXPECT_EQ(table_young(&a.t, number, 1000), nullptr);
    table_remove(&a.t, 3, &seal, &open);
    EXPECT_EQ(seal, nullptr);
}

} // namespace
