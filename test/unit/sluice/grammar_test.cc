/* SPDX-License-Identifier: BSD-3-Clause */
/* The console's grammar: its table, the lines that it reads, and the errors of those that it cannot
 * read. */
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

extern "C" {
#include "base/rng.h"
#include "console/grammar.h"
#include "console/words.h"
}

namespace
{

const grammar daemon_grammar = {words_commands, words_kinds, WORDS_DAEMON};
const grammar box_grammar = {words_commands, words_kinds, WORDS_BOX};

std::vector<std::string> split(const std::string &text, char by)
{
    std::vector<std::string> parts;
    std::stringstream s(text);

    for (std::string part; std::getline(s, part, by);)
        parts.push_back(part);
    return parts;
}

bool is_kind(const std::string &word)
{
    for (const grammar_kind *k = words_kinds; k->name != nullptr; k++)
        if (word == k->name)
            return true;
    return false;
}

const char *example(const std::string &kind)
{
    if (kind == "RATE")
        return "2.5Gbit";
    if (kind == "SIZE")
        return "64k";
    if (kind == "WEIGHT")
        return "3";
    if (kind == "CONN")
        return "3@net_memif0/1";
    return kind == "PORT" ? "net_memif0" : kind == "TOPIC" ? "show port" : "some text";
}

/* All lines that match a pattern. */
void expand(const std::vector<std::string> &words, size_t i, const std::string &line,
            const std::function<void(const std::string &)> &each)
{
    if (i == words.size()) {
        each(line);
        return;
    }
    std::string word = words[i];
    if (word[0] == '[') {
        each(line);
        word = word.substr(1, word.size() - 2);
    }
    for (const std::string &one : split(word, '|'))
        expand(words, i + 1, line + (i > 0 ? " " : "") + (is_kind(one) ? example(one) : one), each);
}

/* Returns "" if the line is read, else the error. */
std::string read(const std::string &line, grammar_line *l, const grammar *g = &daemon_grammar)
{
    char err[GRAMMAR_ERROR_MAX] = "";

    return grammar_parse(g, line.c_str(), l, err, sizeof err) == 0 ? "" : err;
}

std::string error_of(const std::string &line)
{
    grammar_line l;

    return read(line, &l);
}

void collect(void *ctx, const char *word, const grammar_kind *kind)
{
    static_cast<std::set<std::string> *>(ctx)->insert(
        kind != nullptr ? "<" + std::string(word) + ">" : word);
}

std::set<std::string> expected(const std::string &line, size_t begun)
{
    std::set<std::string> words;

    EXPECT_EQ(grammar_expect(&daemon_grammar, line.c_str(), collect, &words), begun) << line;
    return words;
}

using Words = std::set<std::string>;

} // namespace

TEST(Grammar, TheTableIsWhole)
{
    for (const grammar_command *c = words_commands; c->pattern != nullptr; c++) {
        std::vector<std::string> words = split(c->pattern, ' ');

        EXPECT_GT(strlen(c->help), 10u) << c->pattern;
        EXPECT_NE(c->in & (WORDS_DAEMON | WORDS_BOX), 0u) << c->pattern;
        ASSERT_LE(words.size(), (size_t)GRAMMAR_WORDS_MAX);
        for (size_t i = 0; i < words.size(); i++) {
            if (words[i][0] == '[') {
                EXPECT_EQ(i + 1, words.size()) << c->pattern;
                words[i] = words[i].substr(1, words[i].size() - 2);
            }
            for (const std::string &one : split(words[i], '|'))
                EXPECT_TRUE(!isupper((unsigned char)one[0]) || is_kind(one)) << one;
        }
    }
}

TEST(Grammar, JoinsWords)
{
    const char *const words[] = {"set", "capacity", "5Gbit"};
    char line[18];

    EXPECT_TRUE(grammar_join(line, sizeof line, words, 2));
    EXPECT_STREQ(line, "set capacity");
    EXPECT_FALSE(grammar_join(line, sizeof line, words, 3)); // no room for the final 0
    EXPECT_TRUE(grammar_join(line, sizeof line, words, 0));
    EXPECT_STREQ(line, "");
}

/* Every line of the table is read as its command, and is offered word by word. */
TEST(Grammar, EveryLineOfTheTableIsRead)
{
    unsigned lines = 0;

    for (const grammar_command *c = words_commands; c->pattern != nullptr; c++)
        expand(split(c->pattern, ' '), 0, "", [&](const std::string &line) {
            const grammar *g = (c->in & WORDS_DAEMON) != 0 ? &daemon_grammar : &box_grammar;
            grammar_line l;

            lines++;
            ASSERT_EQ(read("  " + line + " \t", &l, g), "") << line;
            EXPECT_EQ(l.command, c) << line << " is read as " << l.command->pattern;
            if ((c->in & WORDS_DAEMON) == 0) {
                EXPECT_NE(read(line, &l), "") << line << " is not a command of the daemon";
                return;
            }
            for (unsigned i = 0; i < l.n; i++) {
                std::string before;

                for (unsigned k = 0; k < i; k++)
                    before += std::string(l.word[k]) + " ";
                Words words = expected(before, 0);
                bool value = false;

                for (const std::string &w : words)
                    value = value || w[0] == '<';
                EXPECT_TRUE(value || words.count(l.word[i]) == 1) << line << ", word " << i;
            }
        });
    EXPECT_GT(lines, 30u);
}

TEST(Grammar, EmptyLinesAndCommentsAreNothing)
{
    grammar_line l;

    for (const char *line : {"", "   ", "\t", "\n", "# show conns", "  # x"}) {
        EXPECT_EQ(read(line, &l), "");
        EXPECT_EQ(l.command, nullptr);
    }
}

TEST(Grammar, ErrorsNameTheWordAndTheNearest)
{
    static const struct {
        const char *line, *says;
    } wrong[] = {
        {"shwo conns", "word 1, \"shwo\": not known here; did you mean \"show\"?"},
        {"show cons", "did you mean \"conn"},
        {"show prot info all", "word 2, \"prot\": not known here; did you mean \"port\"?"},
        {"show port nfo all", "did you mean \"info\"?"},
        {"show port zzzzzz all", "write one of: info, stats, xstats"},
        {"show conns all", "word 3, \"all\": the command ends before it"},
        {"show", "not complete; go on with one of: conns, conn, grants"},
        {"show port", "go on with one of: info, stats, xstats"},
        {"set conn 3 rate", "go on with one of: RATE, auto"},
        {"set conn x rate 1Gbit", "word 3, \"x\""},
        {"set conn 3@/1 rate 1Gbit", "the name of a port comes after the @"},
        {"set conn 3@p/x rate 1Gbit", "word 3"},
        {"set conn 99999999999999 rate 1Gbit", "too large"},
        {"set conn 3 rate 1Gfoo", "word 5, \"1Gfoo\": its unit"},
        {"set conn 3 rate 0", "8kbit"},
        {"set conn 3 burst 2G", "it is not in 1 to 1G"},
        {"set conn 3 weight 0", "it is not in 1 to 65535"},
        {"set conn 3 weigth 2", "did you mean \"weight\"?"},
        {"set capacity 5 net", "word 3"},
        {"set path 0 forwards delay 1ms", "did you mean \"forward\"?"},
        {"set path 0 forward", "go on with: SPEC"},
        {"start perf", "not complete; go on with one of: server, PEER"},
        {"start perf -t 5 a", "word 3, \"-t\": options come after the peer; write it like 192"},
        {"stop perf all", "word 3, \"all\": the command ends before it"},
        {"quit now", "word 2, \"now\": the command ends before it"},
        {"\x1b[2J", "word 1, \"?[2J\""},
    };

    for (const auto &w : wrong)
        EXPECT_NE(error_of(w.line).find(w.says), std::string::npos)
            << w.line << " gives: " << error_of(w.line);
    EXPECT_NE(error_of(std::string(GRAMMAR_LINE_MAX + 1, 'x')).find("longer than"),
              std::string::npos);
}

TEST(Grammar, SomeValuesTakeTheRest)
{
    grammar_line l;

    ASSERT_EQ(read("set path 0 both rate 1gbit  delay 5ms loss 1% \n", &l), "");
    EXPECT_STREQ(l.word[4], "rate 1gbit  delay 5ms loss 1%");
    EXPECT_EQ(l.n, 5u);
    ASSERT_EQ(read("start perf host:7001 -t 5  -P 4", &l), "");
    EXPECT_STREQ(l.word[2], "host:7001");
    EXPECT_STREQ(l.word[3], "-t 5  -P 4");
    ASSERT_EQ(read("load /tmp/a file", &l), "");
    EXPECT_STREQ(l.word[1], "/tmp/a file");
    ASSERT_EQ(read("help", &l), "");
    EXPECT_EQ(l.n, 1u);
}

TEST(Grammar, WhatMayComeIsOffered)
{
    EXPECT_EQ(expected("", 0),
              (Words{"show", "dump", "start", "stop", "clear", "set", "load", "help", "quit"}));
    EXPECT_EQ(expected("s", 1), (Words{"show", "start", "stop", "set"}));
    EXPECT_EQ(expected("start perf ", 0), (Words{"server", "<PEER>"}));
    EXPECT_EQ(expected("start perf server ", 0), (Words{"<OPTIONS>"}));
    EXPECT_EQ(expected("show co", 2), (Words{"conns", "conn"}));
    EXPECT_EQ(expected("show conn", 4), (Words{"conns", "conn"}));
    EXPECT_EQ(expected("show conn ", 0), (Words{"<CONN>"}));
    EXPECT_EQ(expected("show port stats ", 0), (Words{"all", "<PORT>"}));
    EXPECT_EQ(expected("show port stats net", 3), (Words{"<PORT>"}));
    EXPECT_EQ(expected("set conn 3 rate ", 0), (Words{"auto", "<RATE>"}));
    EXPECT_EQ(expected("load /tmp/a b", 8), (Words{"<FILE>"}));
    EXPECT_EQ(expected("foo ", 0), Words{});
    EXPECT_EQ(expected("show conns ", 0), Words{});
}

TEST(Grammar, HelpListsWhatBeginsSo)
{
    EXPECT_EQ(grammar_help(&daemon_grammar, "set conn", nullptr, nullptr), 4u);
    EXPECT_EQ(grammar_help(&daemon_grammar, "show port", nullptr, nullptr), 1u);
    EXPECT_EQ(grammar_help(&daemon_grammar, "nonsense", nullptr, nullptr), 0u);
    EXPECT_EQ(grammar_help(&box_grammar, "show", nullptr, nullptr), 2u);
}

/* sluice-console(7) has exactly the same commands and words. */
TEST(Grammar, TheManPageHasTheTable)
{
    std::ifstream f(SOURCE_ROOT "/doc/man/sluice-console.7");
    std::set<std::string> page, table;
    bool in = false;

    ASSERT_TRUE(f.good());
    for (std::string line; std::getline(f, line);) {
        if (line.rfind(".Sh ", 0) == 0)
            in = line == ".Sh COMMANDS";
        if (in && line.rfind(".It Li ", 0) == 0) {
            std::string pattern = line.substr(7), plain;

            for (char ch : pattern)
                if (ch != '"')
                    plain += ch;
            page.insert(plain);
        }
    }
    for (const grammar_command *c = words_commands; c->pattern != nullptr; c++)
        table.insert(c->pattern);
    EXPECT_EQ(page, table);
}

/* Lines from words of the table, broken lines, and random bytes. Each is read, or refused with one
 * line. */
TEST(Grammar, RandomLinesAreReadOrRefused)
{
    const char *given = getenv("SLUICE_SEED");
    uint64_t seed = given != nullptr ? strtoull(given, nullptr, 0) : 20261122;
    std::vector<std::string> words = {"1Gbit", "64k", "3", "0@a/1", "@", "/", "-1", "#", "[", "|"};
    unsigned good = 0;
    struct rng r;

    for (const grammar_command *c = words_commands; c->pattern != nullptr; c++)
        for (const std::string &w : split(c->pattern, ' '))
            for (const std::string &one : split(w, '|'))
                words.push_back(one);
    rng_init(&r, seed);
    for (unsigned k = 0; k < 100000; k++) {
        char err[GRAMMAR_ERROR_MAX];
        std::string line;
        grammar_line l;
        Words offered;

        for (uint64_t n = rng_below(&r, 8); n > 0; n--) {
            line += words[rng_below(&r, words.size())];
            if (rng_below(&r, 12) != 0)
                line += ' ';
        }
        for (uint64_t n = rng_below(&r, 4) == 0 ? rng_below(&r, 60) : 0; n > 0; n--)
            line.insert(rng_below(&r, line.size() + 1), 1, (char)(1 + rng_below(&r, 255)));
        if (rng_below(&r, 500) == 0)
            line += std::string(rng_below(&r, 5000), 'a');
        err[0] = 0;
        if (grammar_parse(&daemon_grammar, line.c_str(), &l, err, sizeof err) == 0) {
            EXPECT_EQ(err[0], 0);
            good += l.command != nullptr;
        } else {
            ASSERT_NE(err[0], 0) << "seed " << seed << ", line " << k;
            for (const char *p = err; *p != 0; p++)
                ASSERT_GE((unsigned char)*p, ' ') << "seed " << seed << ", line " << k;
        }
        ASSERT_LE(grammar_expect(&daemon_grammar, line.c_str(), collect, &offered), line.size());
        grammar_help(&daemon_grammar, line.c_str(), nullptr, nullptr);
    }
    EXPECT_GT(good, 100u) << "seed " << seed;
    RecordProperty("seed", std::to_string(seed));
    printf("100000 lines, seed %llu: %u commands\n", (unsigned long long)seed, good);
}
