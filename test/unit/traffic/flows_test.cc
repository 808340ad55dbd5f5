// SPDX-License-Identifier: BSD-3-Clause
// Flows count up, and all differ.
#include "support.hh"

#include <set>
#include <tuple>

namespace
{

std::string error_of(const flows &f)
{
    char err[200] = "";

    EXPECT_EQ(flows_check(&f, err, sizeof err), -EINVAL);
    return err;
}

} // namespace

TEST(Flows, CountLikeDigits)
{
    flows f = flows_of(5000);
    std::vector<stamp_flow> list(5000);

    ASSERT_EQ(flows_list(&f, 0, 1, list.data()), 5000u);
    EXPECT_EQ(list[0].sport, 1000);
    EXPECT_EQ(list[0].src, 0xc6120001u);
    EXPECT_EQ(list[999].sport, 1999);
    EXPECT_EQ(list[1000].sport, 1000);
    EXPECT_EQ(list[1000].src, 0xc6120002u);
    EXPECT_EQ(list[4999].src, 0xc6120005u);
    std::set<std::tuple<uint32_t, uint32_t, uint16_t, uint16_t>> all;
    for (uint32_t i = 0; i < 5000; i++) {
        EXPECT_EQ(list[i].flow, i);
        all.insert({list[i].src, list[i].dst, list[i].sport, list[i].dport});
    }
    EXPECT_EQ(all.size(), 5000u);
}

TEST(Flows, SendersShareThem)
{
    flows f = flows_of(10);
    std::vector<stamp_flow> list(10);

    ASSERT_EQ(flows_list(&f, 1, 4, list.data()), 3u); // 1, 5, 9
    EXPECT_EQ(list[0].sport, 1001);
    EXPECT_EQ(list[2].sport, 1009);
    EXPECT_EQ(list[2].flow, 2u);
}

TEST(Flows, BackAndBackAgain)
{
    flows f = flows_of(10), back = flows_back(&f), again = flows_back(&back);

    EXPECT_TRUE(addr_equal(&back.route.src, &f.route.dst));
    EXPECT_EQ(back.route.dport, 1000);
    EXPECT_EQ(back.span[FLOWS_DPORT], 1000u);
    EXPECT_EQ(back.span[FLOWS_DST], 256u);
    EXPECT_TRUE(addr_equal(&again.route.src, &f.route.src));
    EXPECT_EQ(again.span[FLOWS_SPORT], 1000u);
}

TEST(Flows, MistakesAreNamed)
{
    flows f = flows_of(256001);

    EXPECT_NE(error_of(f).find("256000"), std::string::npos);
    f = flows_of(1);
    f.route.sport = 65000;
    EXPECT_NE(error_of(f).find("sport"), std::string::npos);
    f = flows_of(1);
    addr_parse("255.255.255.1", &f.route.src);
    EXPECT_NE(error_of(f).find("src"), std::string::npos);
    f = flows_of(1);
    addr_parse("fd00::1", &f.route.dst);
    EXPECT_NE(error_of(f).find("famil"), std::string::npos);
}
