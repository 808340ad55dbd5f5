// SPDX-License-Identifier: BSD-3-Clause
// What is asked of sluice-load: keys of a window, lines, the command line, and their mistakes.
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

extern "C" {
#include "load/options.h"
#include "load/plan.h"
}

namespace
{

struct Plan : plan {
    Plan()
    {
        plan_init(this);
    }

    std::string set(const char *key, const char *value)
    {
        char err[PLAN_ERROR_MAX] = "";

        return plan_set(this, key, value, err, sizeof err) == 0 ? "" : err;
    }

    std::string line(std::string text)
    {
        char err[PLAN_ERROR_MAX] = "";

        return plan_line(this, text.data(), err, sizeof err) == 0 ? "" : err;
    }

    std::string check(uint64_t mtu)
    {
        char err[PLAN_ERROR_MAX] = "";

        return plan_check(this, mtu, err, sizeof err) == 0 ? "" : err;
    }
};

struct Parsed {
    int rc;
    options o;
    std::string err;
};

Parsed parse(std::vector<const char *> args)
{
    auto p = std::make_unique<Parsed>();
    char err[512] = "";

    args.insert(args.begin(), {"sluice-load", "-l", "0", "--"});
    int argc = static_cast<int>(args.size());
    args.push_back(nullptr);
    p->rc = options_parse(&p->o, argc, const_cast<char **>(args.data()), err, sizeof err);
    p->err = err;
    return *p;
}

} // namespace

TEST(LoadPlan, RatesAndTheirLayers)
{
    Plan p;

    EXPECT_EQ(plan_pps(&p, 0), 0); // as fast as it can
    EXPECT_EQ(p.set("rate", "2.5Mpps"), "");
    EXPECT_DOUBLE_EQ(plan_pps(&p, 0), 2.5e6);
    EXPECT_EQ(p.set("rate", "1000pps"), "");
    EXPECT_DOUBLE_EQ(plan_pps(&p, 0), 1000);
    EXPECT_EQ(p.set("rate", "0.5pps"), "");
    EXPECT_DOUBLE_EQ(plan_pps(&p, 0), 0.5);
    // 10 Gbit/s of 64 B frames with CRC are the well-known 14.88 Mpps
    EXPECT_EQ(p.set("rate", "10Gbit/line"), "");
    EXPECT_NEAR(plan_pps(&p, 0), 14880952.38, 0.01);
    EXPECT_EQ(p.set("rate", "10Gbit/l2"), "");
    EXPECT_NEAR(plan_pps(&p, 0), 1e10 / 480, 0.01);
    EXPECT_EQ(p.set("rate", "50%"), "");
    EXPECT_NEAR(plan_pps(&p, 1e10), 14880952.38 / 2, 0.01);
    EXPECT_LT(plan_pps(&p, 0), 0);
    EXPECT_EQ(p.set("size", "60+1514"), ""); // a mix counts by its mean
    EXPECT_EQ(p.set("rate", "1Gbit/line"), "");
    EXPECT_NEAR(plan_pps(&p, 0), 1e9 / 8 / (787 + 24), 0.01);
}

TEST(LoadPlan, WrongValuesNameKeyAndCure)
{
    Plan p;
    const char *bad[][2] = {
        {"rate", "1Gbit"},    {"rate", "10"},       {"rate", "0pps"},     {"rate", "-1pps"},
        {"rate", "101%"},     {"rate", "0%"},       {"rate", "1Gbit/l3"}, {"rate", "nanpps"},
        {"rate", "infpps"},   {"rate", "1e3pps"},   {"rate", ""},         {"rate", "0x10pps"},
        {"seconds", "0"},     {"seconds", "-1"},    {"seconds", "1s"},    {"seconds", ""},
        {"warmup", "x"},      {"wait", "1e9"},      {"burst", "0"},       {"burst", "5000"},
        {"flows", "0"},       {"flows", "2000000"}, {"src", "10.0.0"},    {"src", "10.0.0.1+0"},
        {"src", "224.0.0.1"}, {"dst", "::"},        {"sport", "0"},       {"dport", "65536"},
        {"sport", "1+x"},     {"vlan", "4095"},     {"src-mac", "02:00"}, {"dst-mac", ""},
        {"size", "9601"},     {"frob", "1"},
    };

    for (auto &b : bad) {
        std::string err = p.set(b[0], b[1]);

        EXPECT_EQ(err.find(std::string(b[0]) + "=" + b[1] + ": "), 0u) << b[0] << " " << err;
        EXPECT_TRUE(std::regex_search(err, std::regex("write |no such key"))) << err;
    }
}

TEST(LoadPlan, ALineSetsAllOrNothing)
{
    Plan p;

    EXPECT_EQ(p.line("size=imix rate=1kpps  seconds=0.25\tflows=12\n"), "");
    EXPECT_EQ(p.mix.count, 12u);
    EXPECT_EQ(p.seconds, 0.25);
    EXPECT_EQ(p.flows.count, 12u);
    EXPECT_NE(p.line("seconds=3 rate=fast").find("rate=fast: write max"), std::string::npos);
    EXPECT_EQ(p.seconds, 0.25);
    EXPECT_NE(p.line("hello").find("\"hello\": write KEY=VALUE"), std::string::npos);
    EXPECT_EQ(p.line(""), "");
}

TEST(LoadPlan, PartsMustFit)
{
    Plan p;

    EXPECT_EQ(p.check(1500), "");
    EXPECT_EQ(p.set("vlan", "5"), "");
    EXPECT_NE(p.check(1500).find("send 64 or more"), std::string::npos);
    EXPECT_EQ(p.set("size", "1518"), ""); // with a tag, 1500 B of IP
    EXPECT_EQ(p.check(1500), "");
    EXPECT_EQ(p.set("vlan", "none"), "");
    EXPECT_NE(p.check(1500).find("--mtu 1504"), std::string::npos);
    EXPECT_EQ(p.set("size", "60"), "");
    EXPECT_EQ(p.set("src", "fd00::1+10"), "");
    EXPECT_NE(p.check(1500).find("famil"), std::string::npos);
    EXPECT_EQ(p.set("dst", "fd01::1"), "");
    EXPECT_NE(p.check(1500).find("send 80 or more"), std::string::npos);
}

TEST(LoadOptions, ListsMakeWindows)
{
    Parsed p = parse({"--size", "rfc2544", "--rate", "10%,50%,max", "--max-loss", "0.1%"});

    ASSERT_EQ(p.rc, 0) << p.err;
    EXPECT_EQ(p.o.n_sizes, 7u);
    EXPECT_STREQ(p.o.sizes[6], "1514");
    EXPECT_EQ(p.o.n_rates, 3u);
    EXPECT_EQ(p.o.mtu, 1500u);
    EXPECT_NEAR(p.o.max_loss, 0.001, 1e-9);
    p = parse({"--size=60,9014", "--max-loss=0"});
    ASSERT_EQ(p.rc, 0) << p.err;
    EXPECT_EQ(p.o.mtu, 9000u);
    EXPECT_EQ(p.o.max_loss, 0);
    // in whatever order
    for (const char *mode : {"--listen", "--reflect"}) {
        EXPECT_EQ(parse({"--seconds", "10", mode}).o.plan.seconds, 10) << mode;
        EXPECT_EQ(parse({mode, "--seconds=10"}).o.plan.seconds, 10) << mode;
        EXPECT_EQ(parse({mode}).o.plan.seconds, 0) << mode;
    }
    p = parse({"--interactive", "--size", "512", "--rate", "1kpps"});
    EXPECT_EQ(p.err, "");
    EXPECT_EQ(p.o.plan.mix.bytes_max, 512u);
    EXPECT_EQ(p.o.plan.kind, PLAN_PPS);
    EXPECT_LT(parse({}).o.max_loss, 0);
}

TEST(LoadOptions, MistakesAreNamed)
{
    EXPECT_NE(parse({"--rate", "1Mpps,2"}).err.find("--rate=2: write"), std::string::npos);
    EXPECT_NE(parse({"--sise", "60"}).err.find("did you mean --size"), std::string::npos);
    EXPECT_NE(parse({"--flows"}).err.find("--flows needs a value"), std::string::npos);
    EXPECT_NE(parse({"--listen", "--reflect"}).err.find("one of them"), std::string::npos);
    EXPECT_NE(parse({"--listen", "--interactive"}).err.find("exclude"), std::string::npos);
    EXPECT_NE(parse({"--listen", "--queues", "2"}).err.find("leave --queues out"),
              std::string::npos);
    for (const char *key : {"--size=60,90", "--rate=1kpps,2kpps"})
        EXPECT_NE(parse({"--interactive", key}).err.find("a list of"), std::string::npos) << key;
    EXPECT_NE(parse({"--count", "--max-loss", "0"}).err.find("leave one out"), std::string::npos);
    EXPECT_NE(parse({"--count", "--csv"}).err.find("leave one out"), std::string::npos);
    EXPECT_TRUE(parse({"--count", "--interactive"}).o.count);
    EXPECT_NE(parse({"--queues", "9"}).err.find("1 to 8"), std::string::npos);
    EXPECT_NE(parse({"--ports", "a,"}).err.find("--ports"), std::string::npos);
    EXPECT_NE(parse({"--max-loss", "2"}).err.find("--max-loss"), std::string::npos);
}

// The man page has each option of --help, and no other; the same goes for the keys of a line.
TEST(LoadOptions, TheManPageHasThemAll)
{
    std::ifstream f(SOURCE_ROOT "/doc/man/sluice-load.8");
    std::stringstream man;
    auto names = [](const std::string &text, const std::regex &pattern) {
        std::set<std::string> out;
        for (std::sregex_iterator i(text.begin(), text.end(), pattern), end; i != end; ++i)
            out.insert((*i)[1]);
        return out;
    };

    man << f.rdbuf();
    auto in_help = names(options_help, std::regex("\n  (?:-h, )?--([a-z0-9-]+)"));
    in_help.insert("csv"); // shares a line with --json
    EXPECT_EQ(names(man.str(), std::regex("\n\\.It (?:Fl h , )?Fl -([a-z0-9-]+)")), in_help);
}
