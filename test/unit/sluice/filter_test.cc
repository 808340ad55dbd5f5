/* SPDX-License-Identifier: BSD-3-Clause */
/* What takes part in a sync: wildcards, rules and lists of names. filter_test.py compares with the
 * real rsync. */
#include <string>
#include <vector>

#include "unit/sluice/folder.h"

extern "C" {
#include "sluice/say.h"
#include "sluice/sync/chosen.h"
#include "sluice/sync/filter.h"
#include "sluice/sync/pattern.h"
}

TEST(SyncPattern, Wildcards)
{
    const struct {
        const char *pattern, *yes, *no;
    } cases[] = {
        {"abc", "abc", "abcd"},
        {"a?c", "abc", "a/c"},
        {"a*", "a", "a/b"},
        {"a*c", "abbc", "abb"},
        {"*.o", "x.o", "x.oo"},
        {"a/*/c", "a/b/c", "a/b/b/c"},
        {"a/**/c", "a/b/b/c", "a/c"},
        {"**c", "a/b/c", "a/b/d"},
        {"**/c", "/a/c", "c"},
        {"*a*b*", "xxaxxbxx", "xxbxxaxx"},
        {"[a-c]x", "bx", "dx"},
        {"[!a-c]x", "dx", "bx"},
        {"[^a]", "b", "a"},
        {"[]a]", "]", "b"},
        {"[a-]", "-", "b"},
        {"[[:digit:]]", "7", "x"},
        {"[![:digit:]]", "x", "7"},
        {"[!a]", "b", "/"},
        {"[[:none:]a]", nullptr, "a"},
        {"[a", nullptr, "[a"},
        {"\\*", "*", "a"},
        {"a\\", nullptr, "a"},
        {"[\\]]", "]", "\\"},
        {"*/b", "a/b", "a/a/b"},
        {"**/*.c", "/a/b.c", "/a/b.d"},
        {"a**", "a/b/c", "b/a"},
    };

    for (auto &c : cases) {
        if (c.yes != nullptr) {
            EXPECT_TRUE(pattern_matches(c.pattern, c.yes)) << c.pattern << " " << c.yes;
        }
        EXPECT_FALSE(pattern_matches(c.pattern, c.no)) << c.pattern << " " << c.no;
    }
}

/* Each star may try each byte, but not each combination of them. */
TEST(SyncPattern, ManyStarsAreNoTrap)
{
    std::string pattern, text(4000, 'a');

    for (int i = 0; i < 500; i++)
        pattern += i % 7 == 0 ? "**a" : "*a";
    EXPECT_FALSE(pattern_matches((pattern + "b").c_str(), text.c_str()));
    EXPECT_TRUE(pattern_matches((pattern + "*").c_str(), text.c_str()));
}

class SyncFilter : public testing::Test
{
  protected:
    ~SyncFilter() override
    {
        filter_fini(&f);
    }
    void rules(const std::vector<std::string> &list)
    {
        for (auto &rule : list)
            EXPECT_EQ(filter_option(&f, rule.c_str(), false), nullptr) << rule;
    }
    /* Names that are excluded, of those given; a slash at the end: a directory. */
    std::vector<std::string> excluded(const std::vector<std::string> &names)
    {
        std::vector<std::string> out;

        for (auto &name : names) {
            bool directory = name.back() == '/';
            std::string bare = directory ? name.substr(0, name.size() - 1) : name;

            if (filter_excludes(&f, bare.c_str(), directory))
                out.push_back(name);
        }
        return out;
    }

    struct filter f = {};
};

using Names = std::vector<std::string>;

TEST_F(SyncFilter, TheFirstRuleThatMatchesDecides)
{
    EXPECT_EQ(excluded({"a", "b/"}), Names{});
    rules({"+ a.o", "*.o", "- a.o", "+ *"});
    EXPECT_EQ(excluded({"a.o", "b.o", "d/a.o", "d/b.o", "c"}), (Names{"b.o", "d/b.o"}));
    rules({"!", "c"});
    EXPECT_EQ(excluded({"b.o", "c", "d/c"}), (Names{"c", "d/c"}));
}

TEST_F(SyncFilter, WhereAPatternMatches)
{
    const Names names = {"a", "a/", "d/a", "d/a/b", "a/b", "x/a/b", "xa/b"};
    const struct {
        const char *pattern;
        Names excluded;
    } cases[] = {
        {"a", {"a", "a/", "d/a"}},
        {"a/", {"a/"}},
        {"/a", {"a", "a/"}},
        {"a/b", {"d/a/b", "a/b", "x/a/b"}},
        {"/a/b", {"a/b"}},
        {"*/b", {"d/a/b", "a/b", "x/a/b", "xa/b"}},
        {"/*/b", {"a/b", "xa/b"}},
        {"/**/b", {"d/a/b", "a/b", "x/a/b", "xa/b"}},
        {"d/**", {"d/a", "d/a/b"}},
        {"a/***", {"a/", "d/a/b", "a/b", "x/a/b"}},
        {"**/a", {"a", "a/", "d/a"}},
    };

    for (auto &c : cases) {
        rules({"!", c.pattern});
        EXPECT_EQ(excluded(names), c.excluded) << c.pattern;
    }
}

TEST_F(SyncFilter, WrongRules)
{
    EXPECT_STREQ(filter_option(&f, "", false), "no pattern; give one, as *.o");
    EXPECT_STREQ(filter_option(&f, "- ", false), "no pattern; give one, as *.o");
    EXPECT_STREQ(filter_add(&f, "a.o"), "no pattern; give one, as *.o");
    EXPECT_NE(filter_option(&f, std::string(4094, 'x').c_str(), false), nullptr);
    EXPECT_EQ(filter_option(&f, std::string(4093, 'x').c_str(), false), nullptr);
    EXPECT_EQ(f.n, 1u);
    for (size_t i = 1; i < FILTER_RULES_MAX; i++)
        ASSERT_EQ(filter_add(&f, "+ x"), nullptr);
    EXPECT_NE(filter_add(&f, "+ x"), nullptr);
}

TEST_F(SyncFilter, Files)
{
    Folder folder;

    folder.write("rules", "# text\n; text\n\n*.o\r\n+ b\nlast");
    EXPECT_EQ(filter_read(&f, folder.at("rules").c_str(), false), SAY_OK);
    ASSERT_EQ(f.n, 3u);
    EXPECT_STREQ(f.rules[0].text, "- *.o");
    EXPECT_STREQ(f.rules[1].text, "+ b");
    EXPECT_STREQ(f.rules[2].text, "- last");
    EXPECT_EQ(filter_read(&f, folder.at("missing").c_str(), false), SAY_LOCAL);
    EXPECT_EQ(filter_read(&f, folder.path.c_str(), false), SAY_USAGE);
}

TEST(Chosen, NamesAndTheDirectoriesOfThem)
{
    struct chosen c = {};

    for (const char *name : {"./a//b/c/", "/d", "./", "e/./f"})
        EXPECT_EQ(chosen_add(&c, name), nullptr) << name;
    for (const char *name : {"..", "a/../b", "../x"})
        EXPECT_NE(chosen_add(&c, name), nullptr) << name;
    ASSERT_EQ(c.n, 3u);
    EXPECT_STREQ(c.list[0], "a/b/c");
    EXPECT_STREQ(c.list[2], "e/f");
    for (const char *name : {"a", "a/b", "a/b/c", "d", "e", "e/f"})
        EXPECT_TRUE(chosen_has(&c, name, true)) << name;
    EXPECT_FALSE(chosen_has(&c, "a", false)) << "a file where a directory was";
    EXPECT_TRUE(chosen_has(&c, "d", false));
    for (const char *name : {"a/b/c/x", "b", "f", "d/x", "a/c"})
        EXPECT_FALSE(chosen_has(&c, name, true)) << name;
    chosen_fini(&c);
}
