/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers and names in the form in which people read them. */
#include <cerrno>
#include <cinttypes>
#include <string>

#include <gtest/gtest.h>

extern "C" {
#include "console/text.h"
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
    EXPECT_EQ(safe("\xc2\x9b"), "??"); /* C1, which also starts one */
    EXPECT_EQ(safe("\xff\xfe\x80"), "???");
    EXPECT_EQ(safe("\xc0\xaf"), "??"); /* overlong slash */
    EXPECT_EQ(safe("\xe0\x80\xaf"), "???");
    EXPECT_EQ(safe("\xed\xa0\x80"), "???");      /* a surrogate */
    EXPECT_EQ(safe("\xf4\x90\x80\x80"), "????"); /* beyond Unicode */
    EXPECT_EQ(safe("\xe2\x80\xae"
                   "cod"),
              "???cod");               /* right to left from here on */
    EXPECT_EQ(safe("\xe2\x82"), "??"); /* incomplete */
    EXPECT_EQ(safe("abcdef", 4), "abc");
    EXPECT_EQ(safe("ab\xc3\xa4", 4), "ab"); /* no half characters */
    EXPECT_EQ(safe("", 1), "");
}
