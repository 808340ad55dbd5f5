// SPDX-License-Identifier: BSD-3-Clause
// What flows have in common on a path, and so may not be divided among several paths.
#include <algorithm>

#include "support.h"

namespace
{

/* path_common() of a spec; "" for NULL. */
std::string common(const std::string &spec)
{
    Line l(spec);
    const char *text = path_common(l.p);

    return text != nullptr ? text : "";
}

TEST(Common, NamesTheFirstElement)
{
    EXPECT_EQ(common("delay 1ms rate 10mbit limit 9 loss every 3"), "rate 10mbit limit 9");
}

TEST(Common, EachKindAndOption)
{
    const struct {
        const char *spec, *text;
    } cases[] = {
        {"", ""},
        {"delay 1ms", ""},
        {"delay 1ms 1ms distribution normal", ""},
        {"delay 1ms reorder 25%", ""},
        {"delay 1ms 1ms 20%", "delay 1ms 1ms 20%"},
        {"delay 1ms 1ms order", "delay 1ms 1ms order"},
        {"delay 1ms limit 9", "delay 1ms limit 9"},
        {"delay 1ms limit 9kB", "delay 1ms limit 9kB"},
        {"delay 1ms reorder 25% 10%", "delay 1ms reorder 25% 10%"},
        {"delay 1ms reorder 25% gap 3", "delay 1ms reorder 25% gap 3"},
        {"delay 1ms gap 3", "delay 1ms gap 3"},
        {"loss 1%", ""},
        {"loss 1% ecn", ""},
        {"loss 1% 5%", "loss 1% 5%"},
        {"loss state 1%", "loss state 1%"},
        {"loss gemodel 1%", "loss gemodel 1%"},
        {"loss list 1", "loss list 1"},
        {"loss every 2", "loss every 2"},
        {"loss pattern 01", "loss pattern 01"},
        {"duplicate 1%", ""},
        {"duplicate 1% 5%", "duplicate 1% 5%"},
        {"corrupt 1%", ""},
        {"corrupt 1% 5%", "corrupt 1% 5%"},
        {"rate 1mbit", "rate 1mbit"},
        {"slot 1ms", "slot 1ms"},
        {"police pcr 1mbit", "police pcr 1mbit"},
        {"receiver 1mbit", "receiver 1mbit"},
        {"hop 1mbit", "hop 1mbit"},
        {"match port 80 ( delay 1ms ) else ( loss 1% )", ""},
        {"match port 80 ( delay 1ms ) else ( rate 1mbit )", "rate 1mbit"},
        {"match port 80 ( each flow ( rate 1mbit ) )", ""},
        {"each flow max 9 ( rate 1mbit delay 1ms limit 3 )", ""},
        {"each src ( delay 1ms )", "each src"},
        {"each vlan ( delay 1ms )", "each vlan"},
        {"each flow ( rate 1mbit ) rate 9mbit", "rate 9mbit"},
        {"delay 1ms at 1s delay 2ms", ""},
        {"delay 1ms at 1s delay 2ms limit 3", "delay 1ms"},
        {"loss 1% at 1s loss every 3", "loss 1%"},
    };

    for (const auto &c : cases)
        EXPECT_EQ(common(c.spec), c.text) << c.spec;
}

/* A packet of flow 0 or 1. */
struct rte_mbuf *packet_of(uint32_t flow, uint32_t payload)
{
    struct frame_route r = route_make("10.0.0.1", flow == 0 ? "10.0.1.1" : "10.0.1.2");

    return udp_make(r, payload);
}

/* When each of 400 packets of two flows leaves: through one path, or through one for each flow. */
std::vector<Out> leaves(const std::string &spec, bool divided)
{
    Line a(spec), b(spec);
    std::vector<Out> all;

    for (uint32_t i = 0; i < 400; i++) {
        uint32_t flow = i % 7 % 2;
        Line &l = divided && flow == 1 ? b : a;

        l.pushed = i;
        l.push(i * 1000, packet_of(flow, 58 + i % 5 * 100));
    }
    for (Line *l : {&a, &b}) {
        l->finish();
        all.insert(all.end(), l->out.begin(), l->out.end());
    }
    std::sort(all.begin(), all.end(), [](const Out &x, const Out &y) { return x.id < y.id; });
    return all;
}

TEST(Common, FlowsWithoutItMeetTheSamePathWhenDivided)
{
    for (const char *spec : {"", "delay 3ms", "each flow ( rate 10mbit limit 20 )",
                             "match dst 10.0.1.1 ( delay 1ms ) each flow ( loss every 3 )"}) {
        std::vector<Out> one = leaves(spec, false), two = leaves(spec, true);

        ASSERT_EQ(common(spec), "") << spec;
        EXPECT_EQ(one, two) << spec;
    }
    /* and with it they do not */
    EXPECT_NE(leaves("rate 10mbit limit 20", false), leaves("rate 10mbit limit 20", true));
    EXPECT_NE(leaves("loss every 3", false), leaves("loss every 3", true));
}

} // namespace
