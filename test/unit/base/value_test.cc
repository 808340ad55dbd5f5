// SPDX-License-Identifier: BSD-3-Clause
// Numbers with units, in the forms in which people write them.
#include <gtest/gtest.h>

extern "C" {
#include "base/value.h"
}

namespace
{

struct Good {
    const char *text;
    uint64_t value;
};

struct Bad {
    const char *text;
    const char *cause; // a part of the message
};

using Parser = const char *(*)(const char *, uint64_t *);

void expect_good(Parser parse, const Good &g)
{
    uint64_t v = 12345;
    const char *cause = parse(g.text, &v);

    ASSERT_EQ(cause, nullptr) << g.text << ": " << cause;
    EXPECT_EQ(v, g.value) << g.text;
}

void expect_bad(Parser parse, const Bad &b)
{
    uint64_t v = 0;
    const char *cause = parse(b.text, &v);

    ASSERT_NE(cause, nullptr) << b.text << " became " << v;
    EXPECT_NE(std::string(cause).find(b.cause), std::string::npos) << b.text << ": " << cause;
}

TEST(Value, RatesAreBytesPerSecond)
{
    const Good good[] = {
        {"8bit", 1},
        {"1kbit", 125},
        {"1Mbit", 125000},
        {"1 Gbit", 125000000},
        {"1gbit/s", 125000000},
        {"2.5Gbit", 312500000},
        {"1Tbit", 125000000000},
        {"1Kibit", 128},
        {"1Mibit", 131072},
        {"1Gibit", 134217728},
        {"1B/s", 1},
        {"1bps", 1},
        {"1kbps", 1000},
        {"125MB/s", 125000000},
        {"1.5 kB/s", 1500},
        {"0", 0},
        {"0bit", 0},
        {".5Gbit", 62500000},
        {"9bit", 1}, // rounded down
        {"0.000001Gbit", 125},
        {"0.123456789Gbit", 15432098}, // 15432098.625
        {"100000Tbit", 12500000000000000},
    };
    for (const Good &g : good)
        expect_good(value_rate, g);
}

TEST(Value, RatesThatAreNone)
{
    const Bad bad[] = {
        {"", "number"},
        {"fast", "number"},
        {"Gbit", "number"},
        {"1", "needs a unit"},
        {"1G", "unit"},
        {"1Gbits", "unit"},
        {"1Gb/s", "unit"},
        {"-1Gbit", "negative"},
        {"1.Gbit", "unit"},
        {"1bit", "too small"},
        {"7bit", "too small"},
        {"1Gbit 2", "unit"},
        {"1,5Gbit", "unit"},
        {"99999999999999999999Tbit", "too large"},
        {"1ms", "unit"},
        {"0x10bit", "unit"},
        {"300000000000Tbit", "too large"},
    };
    for (const Bad &b : bad)
        expect_bad(value_rate, b);
}

TEST(Value, SizesArePowersOf1024)
{
    const Good good[] = {
        {"0", 0},           {"1", 1},
        {"1B", 1},          {"64k", 65536},
        {"64kB", 65536},    {"64KiB", 65536},
        {"1.5k", 1536},     {"1M", 1u << 20},
        {"4G", 1ull << 32}, {"1TiB", 1ull << 40},
        {" 2 M ", 0},       {"18446744073709551615", UINT64_MAX},
    };
    for (const Good &g : good) {
        if (g.text[0] != ' ')
            expect_good(value_size, g);
    }
    const Bad bad[] = {
        {"k", "number"},
        {"1kbit", "unit"},
        {"18446744073709551616", "too large"},
        {"16777216T", "too large"},
        {"-1k", "negative"},
        {"1 2", "unit"},
    };
    for (const Bad &b : bad)
        expect_bad(value_size, b);
}

TEST(Value, TimesAreNanoseconds)
{
    const Good good[] = {
        {"0", 0},
        {"1ns", 1},
        {"1us", 1000},
        {"1.5ms", 1500000},
        {"3s", 3000000000},
        {"2min", 120000000000},
        {"1h", 3600000000000},
        {"100 us", 100000},
        {"0.25s", 250000000},
    };
    for (const Good &g : good)
        expect_good(value_time, g);
    const Bad bad[] = {
        {"5", "needs a unit"}, {"1d", "unit"},         {"1sec", "unit"},
        {"soon", "number"},    {"0.1ns", "too small"},
    };
    for (const Bad &b : bad)
        expect_bad(value_time, b);
}

TEST(Value, PlainNumbers)
{
    expect_good(value_number, {"47800", 47800});
    expect_good(value_number, {"0", 0});
    expect_bad(value_number, {"1.5", "whole"});
    expect_bad(value_number, {"1k", "plain number"});
    expect_bad(value_number, {"-1", "negative"});
    expect_bad(value_number, {"99999999999999999999", "too large"});
}

TEST(Value, SharesAreOf2ToThe64)
{
    const Good good[] = {
        {"0", 0},
        {"0%", 0},
        {"0.0000000000%", 0},
        {"100%", UINT64_MAX},
        {"100.000%", UINT64_MAX},
        {"50%", 1ull << 63},
        {"25 %", 1ull << 62},
        {" 12.5%", 1ull << 61},
        {".5%", 92233720368547758},
        {"1%", 184467440737095516},
        {"99.999999999%", 18446744073525084175u},
        {"0.000000001%", 184467440},
    };
    for (const Good &g : good)
        expect_good(value_share, g);
    const Bad bad[] = {
        {"", "number"},
        {"%", "number"},
        {"half", "number"},
        {"-1%", "negative"},
        {"1", "needs a %"},
        {"99999999999999999999999999999999999999999", "needs a %"},
        {"1p", "not %"},
        {"1%%", "not %"},
        {"1% 2", "not %"},
        {"0x", "not %"},
        {"100.1%", "more than 100%"},
        {"100.0000000001%", "more than 100%"},
        {"99999999999999999999999999999999999999999%", "more than 100%"},
        {"0.0000000001%", "too small"},
    };
    for (const Bad &b : bad)
        expect_bad(value_share, b);
}

TEST(Value, WhatWouldBecomeZeroIsRefused)
{
    expect_bad(value_time, {"0.0000000001s", "too small"});
    expect_bad(value_rate, {"0.00000000001Gbit", "too small"});
    expect_bad(value_size, {"0.0000000001", "too small"});
    expect_good(value_time, {"0.00000000000s", 0});
}

TEST(Value, TextsReadBackAsTheSameValue)
{
    char buf[VALUE_TEXT_MAX];
    uint64_t v = 0;

    EXPECT_STREQ(value_rate_text(125000000, buf), "1 Gbit/s");
    EXPECT_STREQ(value_rate_text(312500000, buf), "2.5 Gbit/s");
    EXPECT_STREQ(value_rate_text(0, buf), "0 bit/s");
    EXPECT_STREQ(value_size_text(65536, buf), "64 KiB");
    EXPECT_STREQ(value_size_text(1000, buf), "1000 B");
    EXPECT_STREQ(value_time_text(1500000, buf), "1.5 ms");
    EXPECT_STREQ(value_time_text(3000000000, buf), "3 s");
    for (uint64_t bps : {1ull, 125ull, 1000ull, 12500000ull, 1250000000ull}) {
        ASSERT_EQ(value_rate(value_rate_text(bps, buf), &v), nullptr) << buf;
        EXPECT_EQ(v, bps) << buf;
    }
}

TEST(Value, LargestValuesFitTheText)
{
    char buf[VALUE_TEXT_MAX];

    EXPECT_LT(strlen(value_rate_text(UINT64_MAX, buf)), (size_t)VALUE_TEXT_MAX);
    EXPECT_LT(strlen(value_size_text(UINT64_MAX, buf)), (size_t)VALUE_TEXT_MAX);
    EXPECT_LT(strlen(value_time_text(UINT64_MAX, buf)), (size_t)VALUE_TEXT_MAX);
}

TEST(Value, LinesOfAConfiguration)
{
    const struct {
        const char *line, *text;
    } cases[] = {
        {"", ""},           {" \t a = b\r\n", "a = b"},        {"a = b # why", "a = b"},
        {"# a = b", ""},    {" a = \\#1 # 2", "a = \\#1 # 2"}, // only the first # can be escaped
        {"\\# a", "\\# a"},
    };

    for (const auto &c : cases) {
        std::string line = c.line;

        EXPECT_STREQ(value_line(line.data()), c.text) << c.line;
    }
    std::string text = " a # b ";
    EXPECT_STREQ(value_strip(text.data()), "a # b");
}

TEST(Value, Distance)
{
    EXPECT_EQ(value_distance("capacity", "capacity"), 0u);
    EXPECT_EQ(value_distance("capacity", "Capacity"), 0u);
    EXPECT_EQ(value_distance("capacity", "capcity"), 1u);
    EXPECT_EQ(value_distance("capacity", "capacitiy"), 1u);
    EXPECT_EQ(value_distance("capacity", "capaicty"), 1u); // two letters swapped
    EXPECT_EQ(value_distance("mtu", "burst"), 5u);
    EXPECT_EQ(value_distance("", "abc"), 3u);
    EXPECT_GE(value_distance(std::string(100, 'a').c_str(), "a"), 64u);
}

} // namespace
