// SPDX-License-Identifier: BSD-3-Clause
// The command line.
#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <vector>

extern "C" {
#include "sluiced/config/config.h"
#include "sluiced/options.h"
}

namespace
{

struct Parsed {
    int rc;
    struct options o;
    std::string err;
};

Parsed parse(std::vector<const char *> args)
{
    Parsed p{};
    char err[CONFIG_ERROR_MAX] = "";

    args.insert(args.begin(), "sluiced");
    int argc = (int)args.size();
    args.push_back(nullptr);
    p.rc = options_parse(&p.o, argc, const_cast<char **>(args.data()), err, sizeof err);
    p.err = err;
    return p;
}

TEST(Options, NothingMeansDefaults)
{
    Parsed p = parse({});

    ASSERT_EQ(p.rc, 0) << p.err;
    EXPECT_STREQ(p.o.config_path, CONFIG_FILE_DEFAULT);
    EXPECT_EQ(p.o.socket_path, nullptr);
    EXPECT_EQ(p.o.eal_argc, 1);
    EXPECT_FALSE(p.o.check || p.o.help || p.o.version);
}

TEST(Options, EalArgumentsEndAtTwoDashes)
{
    Parsed p = parse({"-l", "0,1", "-c", "3", "--", "-c", "x.conf", "--socket=/tmp/s"});

    ASSERT_EQ(p.rc, 0) << p.err;
    EXPECT_EQ(p.o.eal_argc, 5); // -c belongs to the EAL here
    EXPECT_STREQ(p.o.config_path, "x.conf");
    EXPECT_STREQ(p.o.socket_path, "/tmp/s");

    p = parse({"-l", "0,1", "--"});
    ASSERT_EQ(p.rc, 0) << p.err;
    EXPECT_EQ(p.o.eal_argc, 3);
    p = parse({"-l", "0,1"});
    ASSERT_EQ(p.rc, 0) << p.err;
    EXPECT_EQ(p.o.eal_argc, 3);
}

TEST(Options, OwnWordsNeedNoDashes)
{
    EXPECT_TRUE(parse({"--help"}).o.help);
    EXPECT_TRUE(parse({"-h"}).o.help);
    EXPECT_TRUE(parse({"--version"}).o.version);
    EXPECT_TRUE(parse({"--", "--help"}).o.help);
    EXPECT_EQ(parse({"--help"}).o.eal_argc, 1);

    Parsed p = parse({"--check", "x.conf"});
    EXPECT_TRUE(p.o.check);
    EXPECT_STREQ(p.o.config_path, "x.conf");
    p = parse({"--", "-c", "y.conf", "--check"});
    EXPECT_TRUE(p.o.check);
    EXPECT_STREQ(p.o.config_path, "y.conf");
}

TEST(Options, ConfigNeedsNoDashes)
{
    Parsed p = parse({"--config", "x.conf", "--socket", "/tmp/s"});

    ASSERT_EQ(p.rc, 0) << p.err;
    EXPECT_STREQ(p.o.config_path, "x.conf");
    EXPECT_STREQ(p.o.socket_path, "/tmp/s");
    EXPECT_EQ(p.o.eal_argc, 1);
    p = parse({"-c", "3"}); // a mask of cores
    ASSERT_EQ(p.rc, 0) << p.err;
    EXPECT_EQ(p.o.eal_argc, 3);
    EXPECT_STREQ(p.o.config_path, CONFIG_FILE_DEFAULT);
    p = parse({"-c", "x.conf", "--socket", "/tmp/s"}); // none
    ASSERT_EQ(p.rc, 0) << p.err;
    EXPECT_EQ(p.o.eal_argc, 1);
    EXPECT_STREQ(p.o.config_path, "x.conf");
    EXPECT_STREQ(p.o.socket_path, "/tmp/s");
    p = parse({"-c", "ff", "--", "-c", "y.conf"});
    ASSERT_EQ(p.rc, 0) << p.err;
    EXPECT_EQ(p.o.eal_argc, 3);
    EXPECT_STREQ(p.o.config_path, "y.conf");
}

TEST(Options, EalArgumentsOfTheConfigurationAreWords)
{
    char name[] = "sluiced", text[] = "  -l 0,1\t--in-memory  -m 512 ", none[] = "", *argv[7];
    const char *words[] = {"sluiced", "-l", "0,1", "--in-memory", "-m", "512"};

    ASSERT_EQ(options_eal(text, name, argv, 7), 6);
    for (int i = 0; i < 6; i++)
        EXPECT_STREQ(argv[i], words[i]);
    EXPECT_EQ(argv[6], nullptr);
    char again[] = "-l 0,1 --in-memory -m 512";
    EXPECT_EQ(options_eal(again, name, argv, 6), -E2BIG);
    EXPECT_EQ(options_eal(none, name, argv, 2), 1);
    EXPECT_EQ(argv[1], nullptr);
}

TEST(Options, LogFormat)
{
    EXPECT_EQ(parse({}).o.log_format, nullptr);
    EXPECT_STREQ(parse({"--", "--log-format", "json"}).o.log_format, "json");
    EXPECT_STREQ(parse({"--", "--log-format=text"}).o.log_format, "text");
    // What stands before a mistake counts, so that the message has the format that was asked for.
    Parsed p = parse({"--", "--log-format", "json", "--sockt"});
    EXPECT_NE(p.rc, 0);
    EXPECT_STREQ(p.o.log_format, "json");
}

TEST(Options, MistakesNameTheCure)
{
    const struct {
        std::vector<const char *> args;
        const char *parts[2];
    } cases[] = {
        {{"--", "-c"}, {"-c needs a value", "write -c FILE"}},
        {{"--", "--socket"}, {"--socket needs a value", "PATH"}},
        {{"--", "--socket="}, {"--socket needs a value", "PATH"}},
        {{"--", "--log-format", "jsn"}, {"--log-format jsn", "write text or json"}},
        {{"--", "--sockt", "x"}, {"--sockt", "did you mean --socket?"}},
        {{"--", "--vdev", "x"}, {"--vdev", "EAL arguments stand before --"}},
        {{"--", "file.conf"}, {"file.conf", "unknown argument"}},
        {{"file.conf"}, {"unknown argument file.conf", "--config file.conf"}},
    };
    for (const auto &c : cases) {
        Parsed p = parse(c.args);

        EXPECT_NE(p.rc, 0) << p.err;
        for (const char *part : c.parts)
            EXPECT_NE(p.err.find(part), std::string::npos) << p.err << " lacks " << part;
    }
    std::string longest = "--socket=/" + std::string(120, 's');
    EXPECT_NE(parse({"--", longest.c_str()}).err.find("107 bytes"), std::string::npos);
}

TEST(Options, HelpIsOneScreen)
{
    std::string text = options_help, line;
    size_t lines = 0, at = 0;

    for (size_t end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
        EXPECT_LE(end - at, 80u);
        lines++;
    }
    EXPECT_EQ(at, text.size());
    EXPECT_LE(lines, 30u);
}

} // namespace
