/* SPDX-License-Identifier: BSD-3-Clause */
/* Echo over IPv4 and IPv6: golden frames, and all frames that must not be answered. */
#include "support.h"

#include <functional>

#include <rte_ip.h>

namespace
{

const char *echo4_request = "020000000002 020000000001 0800 45bb0021 beef 0000 32 01 b52f"
                            "0a000001 0a000002 08 00 bbfd 1234 0007 6162636465";
const char *echo4_reply = "020000000001 020000000002 0800 45b80021 0000 4000 40 01 2622"
                          "0a000002 0a000001 00 00 c3fd 1234 0007 6162636465";
const char *echo6_request = "020000000002 020000000001 8100 202a 86dd 60100000 000d 3a 21"
                            "fd000000000000000000000000000001 fd000000000000000000000000123456"
                            "80 00 154b 1234 0007 6162636465";
const char *echo6_reply = "020000000001 020000000002 8100 202a 86dd 60000000 000d 3a 40"
                          "fd000000000000000000000000123456 fd000000000000000000000000000001"
                          "81 00 144b 1234 0007 6162636465";

using Change = std::function<void(Bytes &)>;

void resum4(Bytes &b)
{
    uint16_t sum;

    std::memset(&b[24], 0, 2);
    sum = static_cast<uint16_t>(~rte_raw_cksum(&b[14], (b[14] & 15) * 4u));
    std::memcpy(&b[24], &sum, 2);
}

/* The frame that neigh_echo() makes. If it refuses, returns "", and the frame must be unchanged. */
std::string echo(const Bytes &b)
{
    uint32_t len = static_cast<uint32_t>(b.size());
    struct rte_ether_addr mac = mac_of("020000000002");
    struct frame f;
    Exact e(b);
    Bytes after;
    bool turned;

    frame_parse(e.data(), len, len, &f);
    turned = neigh_echo(e.data(), len, &f, &mac);
    after.assign(e.data(), e.data() + len);
    if (turned)
        return to_hex(after);
    EXPECT_EQ(to_hex(after), to_hex(b));
    return "";
}

std::string echo_changed(const char *hex, const Change &change)
{
    Bytes b = from_hex(hex);

    change(b);
    return echo(b);
}

void flip_bits(const char *hex, size_t from, const std::function<void(Bytes &)> &check)
{
    Bytes good = from_hex(hex);

    for (size_t bit = from * 8; bit < good.size() * 8; bit++) {
        Bytes b = good;

        flip(b, bit);
        check(b);
    }
}

} // namespace

TEST(Echo, Golden)
{
    EXPECT_EQ(echo(from_hex(echo4_request)), to_hex(from_hex(echo4_reply)));
    EXPECT_EQ(echo(from_hex(echo6_request)), to_hex(from_hex(echo6_reply)));
}

TEST(Echo, DscpIsKept)
{
    Bytes expect = from_hex(echo6_reply);

    expect[18] = 0x6b; /* DSCP 46, no ECN */
    expect[19] = 0x80;
    EXPECT_EQ(echo_changed(echo6_request,
                           [](Bytes &b) {
                               b[18] = 0x6b;
                               b[19] = 0xb7; /* CE and a flow label, which are not copied */
                           }),
              to_hex(expect));
}

TEST(Echo, PaddingStaysOutside)
{
    std::string padded = to_hex(from_hex(echo4_reply)) + "000000000000";

    EXPECT_EQ(echo_changed(echo4_request, [](Bytes &b) { b.resize(b.size() + 6); }), padded);
}

TEST(Echo, ReplyIsNotAnsweredAgain)
{
    EXPECT_EQ(echo(from_hex(echo4_reply)), "");
    EXPECT_EQ(echo(from_hex(echo6_reply)), "");
}

TEST(Echo, EveryFlippedBitOfTheMessageIsFound)
{
    flip_bits(echo4_request, 34, [](Bytes &b) { EXPECT_EQ(echo(b), ""); });
    flip_bits(echo6_request, 58, [](Bytes &b) { EXPECT_EQ(echo(b), ""); });
}

TEST(Echo, OnlyFromOneHostToOneHost)
{
    const Change changes4[] = {
        [](Bytes &b) { b[6] = 1; }, /* the source MAC address is a group's */
        [](Bytes &b) {
            b[26] = 0xe0;
            resum4(b);
        },
        [](Bytes &b) {
            std::fill_n(b.begin() + 26, 4, 0);
            resum4(b);
        },
        [](Bytes &b) {
            std::fill_n(b.begin() + 26, 4, 0xff);
            resum4(b);
        },
        [](Bytes &b) {
            b[30] = 0xe0;
            resum4(b);
        },
        [](Bytes &b) {
            std::fill_n(b.begin() + 30, 4, 0xff);
            resum4(b);
        },
    };
    int i = 0;

    for (const auto &change : changes4)
        EXPECT_EQ(echo_changed(echo4_request, change), "") << i++;
    EXPECT_EQ(echo_changed(echo6_request, [](Bytes &b) { b[6] = 1; }), "");
    /* ff00... differs from fd00...: the complement of the first word makes the sum right again. */
    for (size_t at : {26, 42})
        EXPECT_EQ(echo_changed(echo6_request,
                               [&](Bytes &b) {
                                   b[at] = 0xff;
                                   b[60] = 0x13; /* 154b minus 0200 */
                               }),
                  "");
}

TEST(Echo, MulticastIsRefusedForItsAddressAlone)
{
    /* The same trick gives a right sum for a unicast address. */
    EXPECT_NE(echo_changed(echo6_request,
                           [](Bytes &b) {
                               b[26] = 0xfb;
                               b[60] = 0x17;
                           }),
              "");
}

TEST(Echo, CodeMustBeZero)
{
    EXPECT_EQ(echo_changed(echo4_request,
                           [](Bytes &b) {
                               b[35] = 1;
                               b[37] = 0xfc;
                           }),
              "");
}

TEST(Echo, OptionsAreNotTurned)
{
    Bytes b = from_hex("020000000002 020000000001 0800 46000020 0000 4000 40 01 0000"
                       "0a000001 0a000002 01010100 08 00 f7ff 00000000");

    resum4(b);
    EXPECT_EQ(echo(b), "");
}

TEST(Echo, EveryTruncation)
{
    struct rte_ether_addr mac = mac_of("020000000002");

    for (const char *hex : {echo4_request, echo6_request}) {
        Bytes b = from_hex(hex);
        uint32_t whole = static_cast<uint32_t>(b.size());
        struct frame f;

        frame_parse(b.data(), whole, whole, &f);
        for (uint32_t len = 0; len < whole; len++) {
            EXPECT_EQ(echo(Bytes(b.begin(), b.begin() + len)), "");
            EXPECT_FALSE(neigh_echo(Exact(b.data(), len).data(), len, &f, &mac));
        }
    }
}

TEST(Echo, RandomPayloadsKeepRightSums)
{
    Random r;

    for (size_t len = 0; len < 200; len++) {
        Bytes b = from_hex(echo6_request), data = r.bytes(len);
        uint32_t total = 8 + static_cast<uint32_t>(len);
        struct rte_ether_addr mac = mac_of("020000000002");
        struct rte_ipv6_hdr ip;
        struct frame f;
        uint16_t sum;

        b.resize(66);
        b.insert(b.end(), data.begin(), data.end());
        b[22] = static_cast<uint8_t>(total >> 8);
        b[23] = static_cast<uint8_t>(total);
        std::memset(&b[60], 0, 2);
        std::memcpy(&ip, &b[18], sizeof ip);
        sum = rte_ipv6_udptcp_cksum(&ip, &b[58]);
        std::memcpy(&b[60], &sum, 2);
        frame_parse(b.data(), static_cast<uint32_t>(b.size()), static_cast<uint32_t>(b.size()), &f);
        ASSERT_TRUE(neigh_echo(b.data(), static_cast<uint32_t>(b.size()), &f, &mac));
        std::memcpy(&sum, &b[60], 2);
        std::memset(&b[60], 0, 2);
        std::memcpy(&ip, &b[18], sizeof ip);
        ASSERT_EQ(sum, rte_ipv6_udptcp_cksum(&ip, &b[58]));
        ASSERT_EQ(to_hex(Bytes(b.begin() + 66, b.end())), to_hex(data));
    }
}

/* An ICMPv6 header has 4 bytes; that of an echo request has 8. */
TEST(Echo, ShorterThanItsHeader)
{
    const size_t l3 = 18, l4 = l3 + 40;

    for (size_t len = 4; len <= 8; len++) {
        std::string answer = echo_changed(echo6_request, [&](Bytes &b) {
            struct rte_ipv6_hdr ip;
            uint16_t sum;

            b[l3 + 4] = 0;
            b[l3 + 5] = static_cast<uint8_t>(len);
            b.resize(l4 + len);
            std::memset(&b[l4 + 2], 0, 2);
            std::memcpy(&ip, &b[l3], sizeof ip);
            sum = static_cast<uint16_t>(
                ~frame_sum_fold(rte_ipv6_phdr_cksum(&ip, 0) + frame_sum(&b[l4], (uint32_t)len)));
            std::memcpy(&b[l4 + 2], &sum, 2);
        });
        EXPECT_EQ(answer.empty(), len < 8) << len;
    }
}
