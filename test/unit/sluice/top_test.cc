// SPDX-License-Identifier: BSD-3-Clause
// sluice top: rates from a daemon's counters, the last minute, order, filters, and pages that fit.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

extern "C" {
#include "sluice/view/sparkline.h"
#include "sluice/view/top_view.h"
}

namespace
{

const uint64_t S = 1000000000;

std::string bars(const struct sparkline &s, unsigned columns, double most, bool utf8 = false)
{
    char out[SPARKLINE_TEXT_MAX];

    return sparkline_text(&s, columns, most, utf8, out);
}

TEST(Spark, NothingIsKnownAtFirst)
{
    struct sparkline s = {};

    EXPECT_EQ(bars(s, 12, 100), std::string(12, ' '));
    EXPECT_EQ(sparkline_max(&s, 12), 0);
}

TEST(Spark, EverySecondGetsItsPart)
{
    struct sparkline s = {};

    sparkline_add(&s, 100 * S + S / 2, 103 * S, 250); // half a second, then two seconds
    sparkline_add(&s, 103 * S, 105 * S, 800);         // 400 a second; second 105 is not over
    EXPECT_DOUBLE_EQ(s.bytes[100 % SPARKLINE_BINS], 50);
    EXPECT_DOUBLE_EQ(s.bytes[102 % SPARKLINE_BINS], 100);
    EXPECT_DOUBLE_EQ(s.bytes[104 % SPARKLINE_BINS], 400);
    EXPECT_DOUBLE_EQ(sparkline_max(&s, 60), 400);
    EXPECT_EQ(bars(s, 60, 400).substr(55), ":--##");
    EXPECT_EQ(bars(s, 60, 400, true).substr(55), "\u2582\u2583\u2583\u2588\u2588");
    // A bar of 5 seconds shows the mean of the known ones.
    EXPECT_DOUBLE_EQ(sparkline_max(&s, 12), (50 + 100 + 100 + 400 + 400) / 5.0);
}

TEST(Spark, AMinuteLaterItIsForgotten)
{
    struct sparkline s = {};

    sparkline_add(&s, 100 * S, 101 * S, 1000);
    sparkline_add(&s, 101 * S, 160 * S, 0);
    EXPECT_DOUBLE_EQ(sparkline_max(&s, 60), 1000);
    EXPECT_EQ(bars(s, 60, 1000)[0], '#');
    sparkline_add(&s, 160 * S, 161 * S, 0);
    EXPECT_DOUBLE_EQ(sparkline_max(&s, 60), 0);
    sparkline_add(&s, 161 * S, 500 * S, 339 * 8.0); // five minutes between two looks
    EXPECT_DOUBLE_EQ(sparkline_max(&s, 60), 8);
    EXPECT_EQ(bars(s, 12, 8), std::string(12, '#'));
    sparkline_add(&s, 499 * S, 499 * S, 5); // no time has passed, so it does not count
    EXPECT_DOUBLE_EQ(sparkline_max(&s, 60), 8);
}

struct Conn {
    int number;
    std::string peer;
    uint64_t rx, tx, grant;
    std::string state = "open";
    uint64_t owner = 1;
};

std::string conns_text(const std::vector<Conn> &all)
{
    std::ostringstream o;
    const char *between = "";

    o << "{\"uptime_ns\":3723000000000,\"conns\":[";
    for (const Conn &c : all) {
        o << between << "{\"port\":\"p0\",\"worker\":0,\"conn\":" << c.number << ",\"state\":\""
          << c.state << "\",\"peer\":\"" << c.peer << "\",\"service\":7000,\"owner\":" << c.owner
          << ",\"tx_rate_Bps\":125000000,\"rx_rate_Bps\":" << c.grant
          << ",\"rx_why\":\"capacity\",\"rtt_ns\":50000,\"tx_bytes\":" << c.tx
          << ",\"tx_repeats\":2,\"rx_bytes\":" << c.rx << ",\"rx_lost\":" << c.number << "}";
        between = ",";
    }
    o << "]}";
    return o.str();
}

std::string ports_text(uint64_t rx, const char *name = "p0")
{
    return std::string("{\"ports\":[{\"name\":\"") + name +
           "\",\"link\":\"up\",\"rx_missed\":7,\"rx_bytes\":" + std::to_string(rx) +
           ",\"tx_bytes\":10}]}";
}

const char capacity_text[] =
    "{\"capacity\":[{\"port\":\"p0\",\"shared_Bps\":1250000000,\"measured_why\":\"measured\","
    "\"granted_Bps\":1000000000,\"open_conns\":2}]}";

class Top : public testing::Test
{
  protected:
    struct top t = {};
    ~Top() override
    {
        top_free(&t);
    }
    bool take(uint64_t second, uint64_t port_rx, const std::vector<Conn> &conns)
    {
        return top_take(&t, ports_text(port_rx).c_str(), capacity_text, conns_text(conns).c_str(),
                        second * S);
    }
    std::string page(struct top_view v)
    {
        char *text = nullptr;
        size_t len;
        FILE *f = open_memstream(&text, &len);

        top_view(&t, &v, f);
        fclose(f);
        std::string out(text, len);
        free(text);
        return out;
    }
    const struct top_flow *flow(int conn, bool outward)
    {
        for (size_t i = 0; i < t.n_flows; i++)
            if (t.flows[i].conn == (uint64_t)conn && t.flows[i].outward == outward)
                return &t.flows[i];
        return nullptr;
    }
};

TEST_F(Top, RatesAreDifferences)
{
    ASSERT_TRUE(take(10, 5000, {{1, "10.0.0.1", 1000, 0, 99}, {2, "", 0, 0, 0, "waiting"}}));
    EXPECT_EQ(t.open, 1u);
    EXPECT_EQ(t.waiting, 1u);
    ASSERT_EQ(t.n_flows, 1u);
    EXPECT_EQ(t.flows[0].rate_Bps, 0);
    ASSERT_TRUE(take(12, 9000, {{1, "10.0.0.1", 3000, 500, 77}}));
    ASSERT_EQ(t.n_flows, 2u);
    EXPECT_EQ(flow(1, false)->rate_Bps, 1000);
    EXPECT_EQ(flow(1, false)->grant_Bps, 77u);
    EXPECT_STREQ(flow(1, false)->why, "capacity");
    EXPECT_EQ(flow(1, true)->rate_Bps, 0) << "the flow is new";
    EXPECT_STREQ(flow(1, true)->why, "peer");
    EXPECT_EQ(t.ports[0].rx_Bps, 2000);
    EXPECT_EQ(t.ports[0].capacity_Bps, 1250000000u);
    EXPECT_EQ(t.ports[0].granted_Bps, 1000000000u);
}

TEST_F(Top, ANumberThatIsUsedAgainStartsAnew)
{
    ASSERT_TRUE(take(10, 0, {{1, "10.0.0.1", 5000, 0, 1}, {2, "10.0.0.1", 5000, 0, 1}}));
    ASSERT_TRUE(take(11, 0, {{1, "10.0.0.2", 9000, 0, 1}, {2, "10.0.0.1", 100, 0, 1}}));
    ASSERT_EQ(t.n_flows, 2u);
    EXPECT_EQ(flow(1, false)->rate_Bps, 0) << "another peer";
    EXPECT_EQ(flow(2, false)->rate_Bps, 0) << "the counter went down";
    ASSERT_TRUE(take(12, 0, {{1, "10.0.0.2", 9500, 0, 1, "open", 2}}));
    ASSERT_EQ(t.n_flows, 1u);
    EXPECT_EQ(t.flows[0].rate_Bps, 0) << "another owner";
    ASSERT_TRUE(take(13, 0, {}));
    EXPECT_EQ(t.n_flows, 0u);
}

TEST_F(Top, AnswersThatMakeNoSense)
{
    EXPECT_FALSE(top_take(&t, "", capacity_text, "{\"conns\":[]}", S));
    EXPECT_FALSE(top_take(&t, ports_text(1).c_str(), "[]", "{\"conns\":[]}", S));
    EXPECT_FALSE(top_take(&t, ports_text(1).c_str(), capacity_text, "{\"conns\":5}", S));
    EXPECT_TRUE(top_take(&t, "{\"ports\":[{}]}", "{\"capacity\":[{}]}", "{\"conns\":[{}]}", 2 * S));
}

TEST_F(Top, Orders)
{
    std::string got;

    ASSERT_TRUE(take(1, 0, {{1, "b", 1, 0, 5}, {2, "c", 1, 0, 9}, {3, "a", 1, 0, 7}}));
    ASSERT_TRUE(take(2, 0, {{1, "b", 20, 0, 5}, {2, "c", 11, 0, 9}, {3, "a", 31, 0, 7}}));
    const char *const due[] = {"312", "312", "123", "231", "312", "321"};
    for (unsigned order = 0; order < TOP_ORDERS; order++) {
        for (bool backward : {false, true}) {
            top_sort(&t, (enum top_order)order, backward);
            got = "";
            for (size_t i = 0; i < t.n_flows; i++)
                got += std::to_string(t.flows[i].conn);
            std::string want = due[order];
            if (backward)
                want = std::string(want.rbegin(), want.rend());
            EXPECT_EQ(got, want) << top_order_name((enum top_order)order);
        }
    }
    EXPECT_EQ(top_order_name(TOP_ORDERS), nullptr);
}

TEST_F(Top, Filters)
{
    ASSERT_TRUE(take(1, 0, {{1, "10.0.0.1", 1, 0, 5}}));
    for (const char *good : {"", "10.0", "P0", "7000", "CAPA", "in", "open"})
        EXPECT_TRUE(top_fits(&t.flows[0], good)) << good;
    for (const char *bad : {"out", "10.1", "7001", "peer"})
        EXPECT_FALSE(top_fits(&t.flows[0], bad)) << bad;
}

/* A page without colours has these rows, and no row is wider. */
void expect_fits(const std::string &text, unsigned rows, unsigned columns)
{
    size_t lines = 1, wide = 0;

    for (unsigned char c : text) {
        if (c == '\n') {
            lines++;
            wide = 0;
            continue;
        }
        EXPECT_GE(c, 0x20) << "a control byte in " << rows << " x " << columns;
        wide += (c & 0xc0) != 0x80;
        EXPECT_LE(wide, columns);
    }
    EXPECT_EQ(lines, rows);
}

TEST_F(Top, EveryPageFits)
{
    std::vector<Conn> all;

    for (int i = 0; i < 300; i++)
        all.push_back({i, "fd00:1234:5678:9abc:def0:1234:5678:" + std::to_string(i), 1, 1, 1u << 31,
                       i % 7 == 0 ? "opening" : "open"});
    all[5].peer = "\\u001b[2J\\u202eevil\\u0007";
    ASSERT_TRUE(take(1, 1, all));
    for (Conn &c : all)
        c.rx += 1ull << 40;
    ASSERT_TRUE(take(2, 1ull << 50, all));
    for (unsigned rows : {1, 2, 3, 5, 6, 7, 10, 24, 60, 400})
        for (unsigned columns : {1, 2, 5, 10, 40, 63, 64, 77, 80, 100, 132, 200, 500})
            for (bool utf8 : {false, true})
                for (bool help : {false, true}) {
                    struct top_view v = {};

                    v.rows = rows, v.columns = columns, v.utf8 = utf8, v.help = help;
                    v.first = SIZE_MAX / 2;
                    expect_fits(page(v), rows, columns);
                }
}

TEST_F(Top, EightyByTwentyFourHasAllThatCounts)
{
    struct top_view v = {};

    ASSERT_TRUE(take(1, 0, {{18, "192.168.100.200", 1, 0, 125000000}}));
    ASSERT_TRUE(take(2, 1, {{18, "192.168.100.200", 125000001, 0, 125000000}}));
    v.rows = 24, v.columns = 80;
    std::string text = page(v);
    for (const char *part :
         {"up 1:02:03", "1 open", "p0", "10.0 Gb/s", "8.00 Gb/s", "in  0.18", "192.168.100.200",
          "1.00 Gb/s", "LAST MINUTE", "capacity", "sort: rate"})
        EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
    EXPECT_EQ(text.find('\033'), std::string::npos) << "colours although they are off";
    v.colours = true;
    EXPECT_NE(page(v).find("\033[7m"), std::string::npos);
    snprintf(v.filter, sizeof v.filter, "nobody");
    EXPECT_NE(page(v).find("no connection fits the filter"), std::string::npos);
}

} // namespace
