/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses: kinds, prefixes, text. */
#include "support.h"

TEST(Addr, Ipv4IsMapped)
{
    struct addr a = addr_from_v4(0x0a000102);

    EXPECT_EQ(to_hex(Bytes(a.b, a.b + 16)), "00000000000000000000ffff0a000102");
    EXPECT_EQ(addr_to_v4(&a), 0x0a000102u);
    EXPECT_TRUE(addr_is_v4(&a));
}

TEST(Addr, Kinds)
{
    struct {
        const char *text;
        bool v4, unset, multicast, link_local;
    } cases[] = {
        {"0.0.0.0", true, true, false, false},
        {"10.0.0.1", true, false, false, false},
        {"223.255.255.255", true, false, false, false},
        {"224.0.0.1", true, false, true, false},
        {"239.255.255.255", true, false, true, false},
        {"240.0.0.1", true, false, false, false},
        {"255.255.255.255", true, false, true, false},
        {"169.254.0.1", true, false, false, true},
        {"169.253.0.1", true, false, false, false},
        {"::", false, true, false, false},
        {"::1", false, false, false, false},
        {"::fffe:10.0.0.1", false, false, false, false},
        {"ff02::1", false, false, true, false},
        {"fe80::1", false, false, false, true},
        {"febf::1", false, false, false, true},
        {"fec0::1", false, false, false, false},
        {"fd00::1", false, false, false, false},
    };

    for (const auto &c : cases) {
        struct addr a = addr_of(c.text);

        EXPECT_EQ(addr_is_v4(&a), c.v4) << c.text;
        EXPECT_EQ(addr_is_unset(&a), c.unset) << c.text;
        EXPECT_EQ(addr_is_multicast(&a), c.multicast) << c.text;
        EXPECT_EQ(addr_is_link_local(&a), c.link_local) << c.text;
    }
}

TEST(Addr, TextRoundTrip)
{
    char buf[ADDR_TEXT_MAX];

    for (const char *text : {"0.0.0.0", "10.0.0.1", "255.255.255.255", "::", "::1", "fd00::12:3456",
                             "2001:db8:1:2:3:4:5:6"}) {
        struct addr a = addr_of(text);

        EXPECT_STREQ(addr_format(&a, buf), text);
        EXPECT_EQ(buf, addr_format(&a, buf));
    }
}

TEST(Addr, LongestTextFits)
{
    struct addr a = addr_of("2001:1db8:1111:2222:3333:4444:5555:6666");
    char buf[ADDR_TEXT_MAX];

    EXPECT_STREQ(addr_format(&a, buf), "2001:1db8:1111:2222:3333:4444:5555:6666");
}

TEST(Addr, BadText)
{
    struct addr a;

    for (const char *text : {"", "10.0.0", "10.0.0.256", "10.0.0.1 ", "fd00:::1", "host", "1::g"})
        EXPECT_EQ(addr_parse(text, &a), -EINVAL) << text;
}

TEST(Addr, SamePrefix)
{
    struct {
        const char *a, *b;
        unsigned int min_differing; /* shorter prefixes are equal */
    } cases[] = {
        {"10.0.0.1", "10.0.0.2", 31},   {"10.0.0.0", "138.0.0.0", 1}, {"10.0.0.1", "10.0.0.0", 32},
        {"10.1.0.0", "10.0.0.0", 16},   {"fd00::1", "fd00::2", 127},  {"fd00::", "7d00::", 1},
        {"fd00::", "fd00:0:0:1::", 64},
    };

    for (const auto &c : cases) {
        struct addr a = addr_of(c.a), b = addr_of(c.b);
        unsigned int most = addr_is_v4(&a) ? 32 : 128;

        for (unsigned int len = 0; len <= most; len++) {
            EXPECT_EQ(addr_same_prefix(&a, &b, len), len < c.min_differing) << c.a << "/" << len;
            EXPECT_TRUE(addr_same_prefix(&a, &a, len));
        }
        EXPECT_FALSE(addr_same_prefix(&a, &b, 1000));
        EXPECT_TRUE(addr_same_prefix(&a, &a, 1000));
    }
}

TEST(Addr, FamiliesShareNoPrefix)
{
    struct addr a = addr_of("0.0.0.0"), b = addr_of("::");

    EXPECT_FALSE(addr_same_prefix(&a, &b, 0));
    EXPECT_FALSE(addr_equal(&a, &b));
}
