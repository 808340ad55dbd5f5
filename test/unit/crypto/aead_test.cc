/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each cipher by each library that this CPU has: published vectors, pieces, packets in place, every
 * changed bit; then the libraries against each other.
 */
#include <gtest/gtest.h>

#include <functional>

#include "bytes.hh"

extern "C" {
#include "crypto/aead.h"
}

namespace
{

struct Sealed {
    Bytes text, tag;
};

/* A piece of a packet ends after each of these lengths; the last one ends with the packet. */
using Pieces = std::vector<size_t>;

/* Calls f(offset, length) for each piece of a packet. */
void for_pieces(const Pieces &pieces, size_t whole,
                const std::function<void(size_t at, uint32_t len)> &f)
{
    size_t at = 0;

    for (size_t len : pieces) {
        f(at, static_cast<uint32_t>(len));
        at += len;
    }
    f(at, static_cast<uint32_t>(whole - at));
}

/* An expanded key. */
class Cipher
{
  public:
    Cipher(enum aead_library library, enum aead_cipher cipher, const Bytes &key)
        : aead(aead_create(library, cipher, key.data()), aead_destroy)
    {
    }
    Sealed seal(const Bytes &nonce, const Bytes &associated, const Bytes &text,
                const Pieces &pieces = {}, bool in_place = false)
    {
        Exact in(text), out(Bytes(text.size(), 0xa5)), a(associated), n(nonce), tag(Bytes(16));
        uint8_t *to = in_place ? in.data() : out.data();

        aead_seal_begin(aead.get(), n.data(), a.data(), static_cast<uint32_t>(associated.size()));
        for_pieces(pieces, text.size(), [&](size_t at, uint32_t len) {
            aead_seal(aead.get(), to + at, in.data() + at, len);
        });
        aead_seal_end(aead.get(), tag.data());
        return {Bytes(to, to + text.size()), Bytes(tag.data(), tag.data() + 16)};
    }
    /* True: what was sealed is in `text`. */
    bool open(const Bytes &nonce, const Bytes &associated, const Sealed &s, Bytes *text = nullptr,
              const Pieces &pieces = {}, bool in_place = false)
    {
        Exact in(s.text), out(Bytes(s.text.size(), 0xa5)), a(associated), n(nonce), tag(s.tag);
        uint8_t *to = in_place ? in.data() : out.data();

        aead_open_begin(aead.get(), n.data(), a.data(), static_cast<uint32_t>(associated.size()));
        for_pieces(pieces, s.text.size(), [&](size_t at, uint32_t len) {
            aead_open(aead.get(), to + at, in.data() + at, len);
        });
        bool right = aead_open_end(aead.get(), tag.data());

        if (text != nullptr)
            *text = Bytes(to, to + s.text.size());
        return right;
    }

  private:
    std::unique_ptr<struct aead, void (*)(struct aead *)> aead;
};

/* A published example. */
struct Vector {
    enum aead_cipher cipher;
    const char *key, *nonce, *associated, *text, *sealed, *tag;
};

#define GCM_KEY "feffe9928665731c6d6a8f9467308308"
#define GCM_TEXT                                                                                   \
    "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6" \
    "b525b16aedf5aa0de657ba637b39"
#define GCM_128                                                                                    \
    "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84" \
    "aa051ba30b396a0aac973d58e091"
#define GCM_256                                                                                    \
    "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b105682" \
    "8838c5f61e6393ba7a0abcc9f662"
#define ZEROS "00000000000000000000000000000000"

/* Test cases 1 to 4 and 13 to 16 of [GCM], and RFC 8439, section 2.8.2 and appendix A.5. */
const Vector vectors[] = {
    {AEAD_AES_128_GCM, ZEROS, "000000000000000000000000", "", "", "",
     "58e2fccefa7e3061367f1d57a4e7455a"},
    {AEAD_AES_128_GCM, ZEROS, "000000000000000000000000", "", ZEROS,
     "0388dace60b6a392f328c2b971b2fe78", "ab6e47d42cec13bdf53a67b21257bddf"},
    {AEAD_AES_128_GCM, GCM_KEY, "cafebabefacedbaddecaf888", "", GCM_TEXT "1aafd255",
     GCM_128 "473f5985", "4d5c2af327cd64a62cf35abd2ba6fab4"},
    {AEAD_AES_128_GCM, GCM_KEY, "cafebabefacedbaddecaf888",
     "feedfacedeadbeeffeedfacedeadbeefabaddad2", GCM_TEXT, GCM_128,
     "5bc94fbc3221a5db94fae95ae7121a47"},
    {AEAD_AES_256_GCM, ZEROS ZEROS, "000000000000000000000000", "", "", "",
     "530f8afbc74536b9a963b4f1c4cb738b"},
    {AEAD_AES_256_GCM, ZEROS ZEROS, "000000000000000000000000", "", ZEROS,
     "cea7403d4d606b6e074ec5d3baf39d18", "d0d1c8a799996bf0265b98b5d48ab919"},
    {AEAD_AES_256_GCM, GCM_KEY GCM_KEY, "cafebabefacedbaddecaf888", "", GCM_TEXT "1aafd255",
     GCM_256 "898015ad", "b094dac5d93471bdec1a502270e3cc6c"},
    {AEAD_AES_256_GCM, GCM_KEY GCM_KEY, "cafebabefacedbaddecaf888",
     "feedfacedeadbeeffeedfacedeadbeefabaddad2", GCM_TEXT, GCM_256,
     "76fc6ece0f4e1768cddf8853bb2d551b"},
    {AEAD_CHACHA20_POLY1305, "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f",
     "070000004041424344454647", "50515253c0c1c2c3c4c5c6c7",
     "4c616469657320616e642047656e746c656d656e206f662074686520636c617373206f66202739393a20496620"
     "4920636f756c64206f6666657220796f75206f6e6c79206f6e652074697020666f7220746865206675747572652c"
     "2073756e73637265656e20776f756c642062652069742e",
     "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d63dbea45e8ca9671282fafb69da"
     "92728b1a71de0a9e060b2905d6a5b67ecd3b3692ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585"
     "808b4831d7bc3ff4def08e4b7a9de576d26586cec64b6116",
     "1ae10b594f09e26a7e902ecbd0600691"},
    {AEAD_CHACHA20_POLY1305, "1c9240a5eb55d38af333888604f6b5f0473917c1402b80099dca5cbc207075c0",
     "000000000102030405060708", "f33388860000000000004e91",
     "496e7465726e65742d4472616674732061726520647261667420646f63756d656e74732076616c696420666f7220"
     "61206d6178696d756d206f6620736978206d6f6e74687320616e64206d617920626520757064617465642c207265"
     "706c616365642c206f72206f62736f6c65746564206279206f7468657220646f63756d656e747320617420616e79"
     "2074696d652e20497420697320696e617070726f70726961746520746f2075736520496e7465726e65742d447261"
     "667473206173207265666572656e6365206d6174657269616c206f7220746f2063697465207468656d206f746865"
     "72207468616e206173202fe2809c776f726b20696e2070726f67726573732e2fe2809d",
     "64a0861575861af460f062c79be643bd5e805cfd345cf389f108670ac76c8cb24c6cfc18755d43eea09ee94e382d"
     "26b0bdb7b73c321b0100d4f03b7f355894cf332f830e710b97ce98c8a84abd0b948114ad176e008d33bd60f982b1"
     "ff37c8559797a06ef4f0ef61c186324e2b3506383606907b6a7c02b0f9f6157b53c867e4b9166c767b804d46a59b"
     "5216cde7a4e99040c5a40433225ee282a1b0a06c523eaf4534d7f83fa1155b0047718cbc546a0d072b04b3564eea"
     "1b422273f548271a0bb2316053fa76991955ebd63159434ecebb4e466dae5a1073a6727627097a1049e617d91d36"
     "1094fa68f0ff77987130305beaba2eda04df997b714d6c6f2c29a6ad5cb4022b02709b",
     "eead9d67890cbb22392336fea1851f38"},
};

Pieces random_pieces(Random *r, size_t whole)
{
    Pieces pieces;

    for (size_t at = 0, len; at < whole && r->below(8) > 0; at += len) {
        size_t max = r->below(2) ? 70 : whole;

        len = std::min<size_t>(r->below(max + 1), whole - at);
        pieces.push_back(len);
    }
    return pieces;
}

using What = std::tuple<enum aead_library, enum aead_cipher>;

class Aead : public testing::TestWithParam<What>
{
  protected:
    void SetUp() override
    {
        if (!aead_has(library))
            GTEST_SKIP() << "no " << aead_library_name(library)
                         << " here: install libipsec-mb-dev (x86 only), and configure again";
    }
    Cipher make(const Bytes &key) const
    {
        return Cipher(library, cipher, key);
    }
    Bytes random_key(Random *r) const
    {
        return r->bytes(aead_key_bytes(cipher));
    }

    const enum aead_library library = std::get<0>(GetParam());
    const enum aead_cipher cipher = std::get<1>(GetParam());
};

std::string name_of(const testing::TestParamInfo<What> &info)
{
    std::string name = std::string(aead_library_name(std::get<0>(info.param))) + "_" +
                       aead_cipher_name(std::get<1>(info.param));

    for (char &c : name)
        c = c == '-' ? '_' : c;
    return name;
}

} // namespace

INSTANTIATE_TEST_SUITE_P(, Aead,
                         testing::Combine(testing::Values(AEAD_IPSEC_MB, AEAD_LIBCRYPTO),
                                          testing::Values(AEAD_AES_128_GCM, AEAD_AES_256_GCM,
                                                          AEAD_CHACHA20_POLY1305)),
                         name_of);

TEST_P(Aead, PublishedVectors)
{
    unsigned run = 0;

    for (const Vector &v : vectors) {
        if (v.cipher != cipher)
            continue;
        Cipher c = make(from_hex(v.key));
        Sealed s = c.seal(from_hex(v.nonce), from_hex(v.associated), from_hex(v.text));
        Bytes text;

        EXPECT_EQ(to_hex(s.text), v.sealed);
        EXPECT_EQ(to_hex(s.tag), v.tag);
        EXPECT_TRUE(c.open(from_hex(v.nonce), from_hex(v.associated), s, &text));
        EXPECT_EQ(to_hex(text), v.text);
        run++;
    }
    EXPECT_GE(run, 2u);
}

/* Two pieces of a packet, cut anywhere, and each packet byte by byte: the same bytes and tag. */
TEST_P(Aead, EveryCut)
{
    Random r;
    Cipher c = make(random_key(&r));

    for (size_t len : {1, 15, 16, 17, 63, 64, 65, 127, 128, 129, 300}) {
        Bytes nonce = r.bytes(12), associated = r.bytes(56), text = r.bytes(len), out;
        Sealed whole = c.seal(nonce, associated, text);
        std::vector<Pieces> cuts = {Pieces(len, 1)};

        for (size_t cut = 0; cut <= len; cut++)
            cuts.push_back({cut});
        for (const Pieces &pieces : cuts) {
            Sealed s = c.seal(nonce, associated, text, pieces);

            ASSERT_EQ(s.text, whole.text) << len << " " << pieces[0];
            ASSERT_EQ(s.tag, whole.tag) << len << " " << pieces[0];
            ASSERT_TRUE(c.open(nonce, associated, whole, &out, pieces)) << len << " " << pieces[0];
            ASSERT_EQ(out, text) << len << " " << pieces[0];
        }
    }
}

TEST_P(Aead, RandomPiecesInPlaceAndApart)
{
    Random r;
    Cipher c = make(random_key(&r));

    for (int i = 0; i < 300; i++) {
        Bytes nonce = r.bytes(12), associated = r.bytes(r.below(200)),
              text = r.bytes(r.below(9001));
        Sealed whole = c.seal(nonce, associated, text);

        for (bool in_place : {false, true}) {
            Sealed s = c.seal(nonce, associated, text, random_pieces(&r, text.size()), in_place);
            Bytes out;

            ASSERT_EQ(s.text, whole.text);
            ASSERT_EQ(s.tag, whole.tag);
            ASSERT_TRUE(
                c.open(nonce, associated, s, &out, random_pieces(&r, text.size()), in_place));
            ASSERT_EQ(out, text);
        }
    }
}

/* No bytes at all, and only associated data, as CNTL has it: nothing is called in between. */
TEST_P(Aead, NothingToSeal)
{
    Random r;
    Bytes key = random_key(&r);
    struct aead *a = aead_create(library, cipher, key.data());

    for (uint32_t len : {0, 1, 16, 160, 700}) {
        Bytes nonce = r.bytes(12), associated = r.bytes(len), tag(16);

        aead_seal_begin(a, nonce.data(), len > 0 ? associated.data() : nullptr, len);
        aead_seal_end(a, tag.data());
        aead_open_begin(a, nonce.data(), len > 0 ? associated.data() : nullptr, len);
        aead_open(a, nullptr, nullptr, 0);
        EXPECT_TRUE(aead_open_end(a, tag.data())) << len;
        tag[r.below(16)] ^= 1;
        aead_open_begin(a, nonce.data(), len > 0 ? associated.data() : nullptr, len);
        EXPECT_FALSE(aead_open_end(a, tag.data())) << len;
    }
    aead_destroy(a);
}

/* Each bit of the nonce, of the associated data, of the bytes and of the tag. After each forgery
 * the true packet opens: it leaves nothing behind. */
TEST_P(Aead, EveryChangedBit)
{
    Random r;
    Cipher c = make(random_key(&r));
    const Bytes nonce = r.bytes(12), associated = r.bytes(56), text = r.bytes(150);
    const Sealed whole = c.seal(nonce, associated, text);
    Bytes n = nonce, a = associated, out;
    Sealed s = whole;

    for (Bytes *part : {&n, &a, &s.text, &s.tag}) {
        for (size_t bit = 0; bit < 8 * part->size(); bit++) {
            uint8_t mask = static_cast<uint8_t>(1 << bit % 8);

            (*part)[bit / 8] ^= mask;
            ASSERT_FALSE(c.open(n, a, s)) << bit;
            (*part)[bit / 8] ^= mask;
            ASSERT_TRUE(c.open(n, a, s, &out)) << bit;
            ASSERT_EQ(out, text);
        }
    }
}

/* Bytes that move from the associated data to the packet or back, are left out, or are added. */
TEST_P(Aead, MovedBytes)
{
    Random r;
    Cipher c = make(random_key(&r));
    const Bytes nonce = r.bytes(12), associated = r.bytes(48), text = r.bytes(64);
    const Sealed whole = c.seal(nonce, associated, text);
    Bytes a = associated;
    Sealed s = whole;

    for (size_t n = 1; n <= 48; n++) {
        s.text.insert(s.text.begin(), a.back());
        a.pop_back();
        EXPECT_FALSE(c.open(nonce, a, s)) << n;
        EXPECT_FALSE(c.open(nonce, a, whole)) << n;
    }
    s = whole;
    for (size_t n = 1; n <= 64; n++) {
        s.text.pop_back();
        EXPECT_FALSE(c.open(nonce, associated, s)) << n;
    }
    s = whole;
    for (size_t n = 1; n <= 64; n++) {
        s.text.push_back(0);
        EXPECT_FALSE(c.open(nonce, associated, s)) << n;
    }
}

/* Each bit of the key counts, and a packet of one key is none of another. */
TEST_P(Aead, OtherKeys)
{
    Random r;
    const Bytes key = random_key(&r), nonce = r.bytes(12), text = r.bytes(40);
    const Sealed s = make(key).seal(nonce, {}, text);

    for (size_t bit = 0; bit < 8 * key.size(); bit++) {
        Bytes other = key;

        flip(other, bit);
        Cipher c = make(other);
        EXPECT_FALSE(c.open(nonce, {}, s)) << bit;
        EXPECT_NE(c.seal(nonce, {}, text).text, s.text) << bit;
    }
}

/* A packet that was begun and never ended does not reach into the next one. */
TEST_P(Aead, GivenUp)
{
    Random r;
    Bytes key = random_key(&r), nonce = r.bytes(12), text = r.bytes(100), out(100), tag(16);
    const Sealed whole = make(key).seal(nonce, text, text);
    struct aead *a = aead_create(library, cipher, key.data());

    for (bool seal : {true, false}) {
        Bytes other = r.bytes(12);

        if (seal) {
            aead_seal_begin(a, other.data(), text.data(), 33);
            aead_seal(a, out.data(), text.data(), 77);
        } else {
            aead_open_begin(a, other.data(), text.data(), 33);
            aead_open(a, out.data(), text.data(), 77);
        }
        aead_seal_begin(a, nonce.data(), text.data(), 100);
        aead_seal(a, out.data(), text.data(), 100);
        aead_seal_end(a, tag.data());
        EXPECT_EQ(out, whole.text);
        EXPECT_EQ(tag, whole.tag);
    }
    aead_destroy(a);
}

TEST(AeadLibraries, AgainstEachOther)
{
    if (!aead_has(AEAD_IPSEC_MB))
        GTEST_SKIP()
            << "no libipsec-mb here: install libipsec-mb-dev (x86 only), and configure again";
    Random r;

    for (int i = 0; i < 1500; i++) {
        auto cipher = static_cast<enum aead_cipher>(r.below(AEAD_CIPHERS));
        Bytes key = r.bytes(aead_key_bytes(cipher)), nonce = r.bytes(12), out;
        Bytes associated = r.bytes(r.below(300)), text = r.bytes(r.below(9001));
        Cipher one(AEAD_IPSEC_MB, cipher, key), other(AEAD_LIBCRYPTO, cipher, key);
        Sealed a = one.seal(nonce, associated, text, random_pieces(&r, text.size()));
        Sealed b = other.seal(nonce, associated, text, random_pieces(&r, text.size()));

        ASSERT_EQ(a.text, b.text) << aead_cipher_name(cipher) << " " << text.size();
        ASSERT_EQ(a.tag, b.tag) << aead_cipher_name(cipher) << " " << text.size();
        ASSERT_TRUE(one.open(nonce, associated, b, &out, random_pieces(&r, text.size())));
        ASSERT_EQ(out, text);
        ASSERT_TRUE(other.open(nonce, associated, a, &out, random_pieces(&r, text.size())));
        ASSERT_EQ(out, text);
    }
}

TEST(AeadLibraries, Names)
{
    EXPECT_TRUE(aead_has(AEAD_LIBCRYPTO));
    EXPECT_TRUE(aead_has(aead_best()));
    EXPECT_EQ(aead_best(), aead_has(AEAD_IPSEC_MB) ? AEAD_IPSEC_MB : AEAD_LIBCRYPTO);
    EXPECT_STREQ(aead_library_name(AEAD_IPSEC_MB), "libipsec-mb");
    EXPECT_STREQ(aead_library_name(AEAD_LIBCRYPTO), "libcrypto");
    EXPECT_STREQ(aead_cipher_name(AEAD_AES_128_GCM), "AES-128-GCM");
    EXPECT_STREQ(aead_cipher_name(AEAD_AES_256_GCM), "AES-256-GCM");
    EXPECT_STREQ(aead_cipher_name(AEAD_CHACHA20_POLY1305), "ChaCha20-Poly1305");
    EXPECT_EQ(aead_key_bytes(AEAD_AES_128_GCM), 16u);
    EXPECT_EQ(aead_key_bytes(AEAD_AES_256_GCM), 32u);
    EXPECT_EQ(aead_key_bytes(AEAD_CHACHA20_POLY1305), 32u);
    aead_destroy(nullptr);
}

TEST(AeadLibraries, NoOthers)
{
    EXPECT_TRUE(aead_has(AEAD_LIBCRYPTO));
    EXPECT_FALSE(aead_has(AEAD_LIBRARIES));
}
