// SPDX-License-Identifier: BSD-3-Clause
// Sizes with weights.
#include "support.hh"

#include <map>

#include "../base/seed.h"

extern "C" {
#include "base/rng.h"
}

namespace
{

std::map<uint32_t, uint32_t> counts(const mix &m)
{
    std::map<uint32_t, uint32_t> n;

    for (uint32_t i = 0; i < m.count; i++)
        n[m.bytes[m.order[i]]]++;
    return n;
}

std::string error_of(const std::string &text)
{
    mix m;
    char err[200] = "";

    EXPECT_EQ(mix_parse(&m, text.c_str(), err, sizeof err), -EINVAL) << text;
    return err;
}

} // namespace

TEST(Mix, OneSize)
{
    mix m = mix_of("1514");

    EXPECT_EQ(m.count, 1u);
    EXPECT_EQ(m.bytes[m.order[0]], 1514u);
    EXPECT_EQ(m.bytes_sum, 1514u);
}

TEST(Mix, Imix)
{
    mix m = mix_of("imix");
    const std::map<uint32_t, uint32_t> is = {{60, 7}, {590, 4}, {1514, 1}};

    EXPECT_EQ(counts(m), is);
    EXPECT_EQ(m.bytes_sum, 60u * 7 + 590 * 4 + 1514);
    EXPECT_EQ(m.bytes_min, 60u);
    EXPECT_EQ(m.bytes_max, 1514u);
    for (uint32_t i = 0; i + 1 < m.count; i++) // spread, not one after the other
        EXPECT_FALSE(m.bytes[m.order[i]] == 590 && m.bytes[m.order[i + 1]] == 590) << i;
}

TEST(Mix, WeightsAreReduced)
{
    EXPECT_EQ(mix_of("60:500+1514:250").count, 3u);
}

// Any part of a period has each size as often as its weight says, to within a frame per size.
TEST(Mix, EveryPartIsInProportion)
{
    rng r;

    rng_init(&r, test_seed());
    for (int turn = 0; turn < 500; turn++) {
        std::string text;
        uint32_t sizes = 1 + static_cast<uint32_t>(rng_below(&r, 6));

        for (uint32_t i = 0; i < sizes; i++)
            text += (i ? "+" : "") + std::to_string(100 + 10 * i) + ":" +
                    std::to_string(1 + rng_below(&r, 40));
        mix m = mix_of(text);
        std::vector<uint32_t> seen(sizes);

        for (uint32_t k = 0; k < m.count; k++) {
            seen[m.order[k]]++;
            for (uint32_t i = 0; i < sizes; i++)
                ASSERT_LE(std::abs(seen[i] - (k + 1.0) * m.weight[i] / m.count), sizes) << text;
        }
        for (uint32_t i = 0; i < sizes; i++)
            ASSERT_EQ(seen[i], m.weight[i]) << text;
    }
}

TEST(Mix, MistakesAreNamed)
{
    EXPECT_NE(error_of("59").find("\"59\""), std::string::npos);
    EXPECT_NE(error_of("9601").find("9600"), std::string::npos);
    EXPECT_NE(error_of("60:0").find("60:0"), std::string::npos);
    EXPECT_NE(error_of("60+").find("\"\""), std::string::npos);
    EXPECT_NE(error_of("60x").find("60x"), std::string::npos);
    EXPECT_NE(error_of("").find("BYTES"), std::string::npos);
    EXPECT_NE(error_of("60:200+61:199").find("399"), std::string::npos);
    EXPECT_NE(error_of("60+60+60+60+60+60+60+60+60+60+60+60+60+60+60+60+60").find("16"),
              std::string::npos);
}
