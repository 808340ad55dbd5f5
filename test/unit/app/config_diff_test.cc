// SPDX-License-Identifier: BSD-3-Clause
// Differences between two configurations, and which of them a running daemon takes over.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "load.h"

extern "C" {
#include "sluiced/config/config_diff.h"
}

namespace
{

const char base[] = "[port p0]\naddress = 10.9.0.1/24\n"
                    "[port p1]\naddress = 10.9.1.1/24\n"
                    "[peer a]\naddress = 10.9.0.7/32\n"
                    "[peer b]\naddress = 10.9.0.0/24\n"
                    "[service 7]\nusers = 1001\n";

typedef std::vector<std::pair<std::string, bool>> Changes;

Changes diff(const struct config &now, const struct config &next)
{
    Changes all;

    config_diff(
        &now, &next,
        [](void *ctx, const char *what, bool live) {
            static_cast<Changes *>(ctx)->emplace_back(what, live);
        },
        &all);
    return all;
}

TEST(ConfigDiff, TheSameIsTheSame)
{
    EXPECT_EQ(diff(load(base), load(base)), Changes());
    EXPECT_EQ(diff(load(base), load(std::string("# other lines\n\n") + base)), Changes());
}

/* Each key of the tables in turn gets another value. Only that key is reported as different. */
TEST(ConfigDiff, EveryKey)
{
    struct config now = load(base), next;
    const struct {
        const struct config_key *keys;
        void *fields;
        const char *section;
    } all[] = {{config_daemon_keys, &next.daemon, "[daemon] "},
               {config_port_keys, &next.ports[1], "[port p1] "},
               {config_peer_keys, &next.peers[0], "[peer a] "},
               {config_service_keys, &next.services[0], "[service 7] "}};
    unsigned int live = 0, keys = 0;

    for (const auto &a : all)
        for (const struct config_key *k = a.keys; k->name != nullptr; k++) {
            next = now;
            ((char *)a.fields)[k->offset] ^= 1;
            Changes due = {{a.section + std::string(k->name), config_key_live(a.keys, k->name)}};
            EXPECT_EQ(diff(now, next), due) << k->name;
            struct config taken = now;
            config_take_live(&taken, &next);
            EXPECT_EQ(diff(now, taken).size(), due[0].second ? 1u : 0u) << k->name;
            EXPECT_EQ(diff(taken, next).size(), due[0].second ? 0u : 1u) << k->name;
            live += due[0].second;
            keys++;
        }
    EXPECT_GE(live, 11u);
    EXPECT_GT(keys, 2 * live);
}

TEST(ConfigDiff, SectionsThatComeAndGo)
{
    struct config now = load(base);
    std::string text = base;

    EXPECT_EQ(diff(now, load(text + "[port p2]\naddress = 10.9.2.1/24\n")),
              Changes({{"[port p2], which is new", false}}));
    EXPECT_EQ(diff(load(text + "[port p2]\naddress = 10.9.2.1/24\n"), now),
              Changes({{"[port p2], which is gone", false}}));
    EXPECT_EQ(diff(now, load(text + "[peer c]\naddress = 10.9.1.0/24\n")),
              Changes({{"[peer c], which is new", true}}));
    EXPECT_EQ(diff(load(text + "[peer c]\naddress = 10.9.1.0/24\n"), now),
              Changes({{"[peer c], which is gone", true}}));
    EXPECT_EQ(diff(now, load(text + "[service *]\nusers = root\n")),
              Changes({{"[service *], which is new", true}}));
    EXPECT_EQ(diff(load(text + "[service 9]\nusers = root\n"), now),
              Changes({{"[service 9], which is gone", true}}));
    // Ports are matched by name, so their order makes no difference. The order of peers does.
    struct config turned = now;
    std::swap(turned.ports[0], turned.ports[1]);
    EXPECT_EQ(diff(now, turned), Changes());
    turned.ports[0].capacity_Bps = 5000;
    config_take_live(&now, &turned);
    EXPECT_EQ(now.ports[1].capacity_Bps, 5000u);
    EXPECT_STREQ(now.ports[1].name, "p1");
    std::swap(turned.peers[0], turned.peers[1]);
    EXPECT_EQ(diff(now, turned), Changes({{"order of the [peer] sections", true}}));
    config_take_live(&now, &turned);
    EXPECT_EQ(diff(now, turned), Changes());
    EXPECT_STREQ(now.peers[0].name, "b");
}

/* The words in backquotes that follow `begin`, on the line that starts with it. */
std::set<std::string> quoted(const std::string &text, const std::string &begin)
{
    size_t at = text.find("\n" + begin);
    std::set<std::string> words;

    EXPECT_NE(at, std::string::npos) << begin;
    std::string line = text.substr(at + 1 + begin.size());
    line.resize(line.find('\n'));
    for (size_t from = 0; (from = line.find('`', from)) != std::string::npos;) {
        size_t to = line.find('`', from + 1);
        words.insert(line.substr(from + 1, to - from - 1));
        from = to + 1;
    }
    return words;
}

/* The documentation lists exactly the keys that are live and exactly those that need a restart. */
TEST(ConfigDiff, Documented)
{
    std::ifstream in(SOURCE_ROOT "/doc/configuration.md");
    std::stringstream all;
    const struct {
        const struct config_key *keys;
        std::string section;
    } kinds[] = {{config_daemon_keys, "`[daemon]`"},
                 {config_port_keys, "`[port NAME]`"},
                 {config_peer_keys, "`[peer NAME]`"},
                 {config_service_keys, "`[service N]`"}};

    all << in.rdbuf();
    std::string doc = all.str();
    size_t begin = doc.find("## Changing it live"), end = doc.find("\n## ", begin + 5);
    size_t restart = doc.find("needs a restart", begin);
    ASSERT_NE(begin, std::string::npos);
    ASSERT_LT(restart, end);
    std::string live = doc.substr(begin, restart - begin);
    std::string not_live = doc.substr(restart, end - restart);
    for (const auto &kind : kinds) {
        std::set<std::string> said[2], due[2];

        for (const struct config_key *k = kind.keys; k->name != nullptr; k++)
            due[config_key_live(kind.keys, k->name)].insert(k->name);
        if (!due[0].empty())
            said[0] = quoted(not_live, "- " + kind.section + ":");
        for (size_t at = 0; (at = live.find("\n| " + kind.section, at)) != std::string::npos; at++)
            for (const std::string &word : quoted(live.substr(at), "| " + kind.section + " |"))
                said[1].insert(word);
        EXPECT_EQ(said[0], due[0]) << kind.section << " needs a restart";
        EXPECT_EQ(said[1], due[1]) << kind.section << " is live";
    }
}

} // namespace
