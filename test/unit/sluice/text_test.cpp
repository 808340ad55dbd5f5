/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers and names as people write and read them. */
#include <cerrno>
#include <cinttypes>
#include <string>

#include <gtest/gtest.h>

extern "C" {
#include "sluice/text.h"
}

TEST(Text, Sizes)
{
    const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {
        {"0", 0},
        {"1", 1},
        {"1B", 1},
        {"4k", 4096},
        {"4K", 4096},
        {"4kB", 4096},
        {"4KiB", 4096},
        {"16M", 16u << 20},
        {"16mib", 16u << 20},
        {"1G", 1ull << 30},
        {"4G", 1ull << 32},
        {"2T", 2ull << 40},
        {"18446744073709551615", UINT64_MAX},
        {"16777215T", 16777215ull << 40},
    };

    for (auto &g : good) {
        uint64_t bytes = 1234;

        EXPECT_EQ(text_size(g.text, &bytes), 0) << g.text;
        EXPECT_EQ(bytes, g.bytes) << g.text;
    }
    for (const char *bad : {"", " ", "-1", "+1", "1 ", " 1", "1.5G", "K", "1X", "1KK", "1Kib2",
                            "0x10", "1e3", "1iB", "1BB", "\xff"}) {
        uint64_t bytes;

        EXPECT_EQ(text_size(bad, &bytes), -EINVAL) << bad;
    }
    for (const char *large : {"18446744073709551616", "16777216T", "99999999999999999999999"}) {
        uint64_t bytes;

        EXPECT_EQ(text_size(large, &bytes), -ERANGE) << large;
    }
}

TEST(Text, Durations)
{
    uint64_t ns;

    EXPECT_EQ(text_duration("10", &ns), 0);
    EXPECT_EQ(ns, 10000000000u);
    EXPECT_EQ(text_duration("10s", &ns), 0);
    EXPECT_EQ(ns, 10000000000u);
    EXPECT_EQ(text_duration("500ms", &ns), 0);
    EXPECT_EQ(ns, 500000000u);
    EXPECT_EQ(text_duration("2m", &ns), 0);
    EXPECT_EQ(ns, 120000000000u);
    EXPECT_EQ(text_duration("1h", &ns), 0);
    EXPECT_EQ(ns, 3600000000000u);
    for (const char *bad : {"", "s", "-1", "1 s", "1d", "1.5", "1sm"})
        EXPECT_EQ(text_duration(bad, &ns), -EINVAL) << bad;
    EXPECT_EQ(text_duration("99999999999h", &ns), -ERANGE);
}

TEST(Text, Numbers)
{
    uint64_t v = 7;

    EXPECT_EQ(text_number("1", 1, 65535, &v), 0);
    EXPECT_EQ(v, 1u);
    EXPECT_EQ(text_number("65535", 1, 65535, &v), 0);
    EXPECT_EQ(v, 65535u);
    EXPECT_EQ(text_number("0", 1, 65535, &v), -ERANGE);
    EXPECT_EQ(text_number("65536", 1, 65535, &v), -ERANGE);
    EXPECT_EQ(text_number("1k", 1, 65535, &v), -EINVAL);
    EXPECT_EQ(v, 65535u);
}

TEST(Text, Written)
{
    char s[32];

    EXPECT_STREQ(text_bytes(s, sizeof s, 0), "0 B");
    EXPECT_STREQ(text_bytes(s, sizeof s, 1023), "1023 B");
    EXPECT_STREQ(text_bytes(s, sizeof s, 1024), "1.00 KiB");
    EXPECT_STREQ(text_bytes(s, sizeof s, 1536), "1.50 KiB");
    EXPECT_STREQ(text_bytes(s, sizeof s, 10.0 * (1 << 20)), "10.0 MiB");
    EXPECT_STREQ(text_bytes(s, sizeof s, 300.0 * (1 << 30)), "300 GiB");
    EXPECT_STREQ(text_rate(s, sizeof s, 0), "0 b/s");
    EXPECT_STREQ(text_rate(s, sizeof s, 125e6), "1.00 Gb/s");
    EXPECT_STREQ(text_rate(s, sizeof s, 1e9 / 8 * 0.9999), "1.00 Gb/s");
    EXPECT_STREQ(text_rate(s, sizeof s, 125), "1.00 kb/s");
    EXPECT_STREQ(text_time(s, sizeof s, 999), "999 ns");
    EXPECT_STREQ(text_time(s, sizeof s, 1500), "1.5 us");
    EXPECT_STREQ(text_time(s, sizeof s, 12345678), "12.35 ms");
    EXPECT_STREQ(text_time(s, sizeof s, 2000000000), "2.00 s");
}

static std::string safe(const std::string &name, size_t room = 256)
{
    std::string out(room, 'X');

    text_safe(&out[0], room, name.c_str());
    return out.c_str();
}

TEST(Text, Safe)
{
    EXPECT_EQ(safe("plain name.txt"), "plain name.txt");
    EXPECT_EQ(safe("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"), "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
    EXPECT_EQ(safe("a\x1b[2Jb"), "a?[2Jb"); /* an escape sequence */
    EXPECT_EQ(safe("a\nsluice: b\r\t\x7f"), "a?sluice: b???");
    EXPECT_EQ(safe("\xc2\x9b"), "??"); /* C1: also starts one */
    EXPECT_EQ(safe("\xff\xfe\x80"), "???");
    EXPECT_EQ(safe("\xc0\xaf"), "??"); /* overlong / */
    EXPECT_EQ(safe("\xe0\x80\xaf"), "???");
    EXPECT_EQ(safe("\xed\xa0\x80"), "???");      /* a surrogate */
    EXPECT_EQ(safe("\xf4\x90\x80\x80"), "????"); /* beyond Unicode */
    EXPECT_EQ(safe("\xe2\x80\xae"
                   "cod"),
              "???cod");               /* right to left from here */
    EXPECT_EQ(safe("\xe2\x82"), "??"); /* ends too early */
    EXPECT_EQ(safe("abcdef", 4), "abc");
    EXPECT_EQ(safe("ab\xc3\xa4", 4), "ab"); /* no half characters */
    EXPECT_EQ(safe("", 1), "");
}
