/* SPDX-License-Identifier: BSD-3-Clause */
/* Manifests: each line is read as it was written, and every wrong line is refused. */
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "unit/base/seed.h"
#include "unit/sluice/content.h"
#include "unit/sluice/folder.h"

extern "C" {
#include "sluice/manifest/entry.h"
#include "sluice/manifest/reader.h"
#include "sluice/say.h"
}

namespace
{

using Lines = std::vector<std::string>;

std::string written(const struct entry &e)
{
    std::string text(ENTRY_TEXT_MAX, 0);

    text.resize(entry_write(&e, text.data()));
    EXPECT_EQ(text.back(), '\n');
    text.pop_back();
    return text;
}

/* A line as it was read, with memory of its own. */
struct Read {
    explicit Read(const std::string &line, bool ours = true) : text(line)
    {
        const char *why = entry_parse(&e, text.data(), text.size(), ours);

        wrong = why == nullptr ? "" : why;
    }
    std::string text, wrong;
    struct entry e;
};

struct entry file_entry(const char *name)
{
    struct entry e = {};

    e.kind = ENTRY_FILE;
    e.name = name;
    for (int i = 0; i < RECORD_HASH_BYTES; i++)
        e.hash[i] = (uint8_t)(i * 17);
    return e;
}

const char HASH[] = "00112233445566778899aabbccddeeff";

std::string line_of(const std::string &name)
{
    return std::string(HASH) + "  " + name;
}

/* Names of bytes that mean something to somebody, more often than others. */
std::string drawn_name(std::mt19937_64 &rng, size_t max)
{
    static const char odd[] = "\n\r\\ >-n/().#=*\t\xff\xc3\xa4";
    std::string name(1 + rng() % max, 0);

    for (auto &c : name) {
        c = rng() % 2 ? odd[rng() % (sizeof odd - 1)] : (char)(1 + rng() % 255);
    }
    return name;
}

class Manifest : public testing::Test
{
  protected:
    Manifest()
    {
        say_divert(
            [](void *context, bool, const char *text) { ((Lines *)context)->push_back(text); },
            &said);
    }
    ~Manifest() override
    {
        say_divert(nullptr, nullptr);
        manifest_fini(&m);
    }
    int read(const std::string &text, bool anywhere = false)
    {
        manifest_fini(&m);
        said.clear();
        folder.write("m", text);
        return reader_read(&m, folder.at("m").c_str(), anywhere);
    }
    /* The only error has these words. */
    bool said_only(const std::string &words) const
    {
        return said.size() == 1 && said[0].find(words) != std::string::npos;
    }
    Lines names() const
    {
        Lines list;

        for (size_t i = 0; i < m.n; i++)
            list.push_back(m.items[i].name);
        return list;
    }

    Folder folder;
    Lines said;
    struct manifest m = {};
};

} // namespace

TEST(ManifestEntry, LinesAreThoseOfXxhsum)
{
    EXPECT_EQ(written(file_entry("a b")), line_of("a b"));
    EXPECT_EQ(written(file_entry("a\\b")), line_of("a\\b")) << "old versions know no escapes";
    EXPECT_EQ(written(file_entry("a\nb\\c\r")), "\\" + line_of("a\\nb\\\\c\\r"));
    EXPECT_STREQ(Read(line_of("a\\nb")).e.name, "a\\nb");
    EXPECT_STREQ(Read("\\" + line_of("a\\nb\\\\")).e.name, "a\nb\\");
    EXPECT_STREQ(Read(std::string(HASH) + " *a").e.name, "a");
    EXPECT_STREQ(Read(line_of("  a ")).e.name, "  a ");
    EXPECT_STREQ(Read("00112233445566778899AABBCCDDEEFF  a").e.name, "a");
    for (const char *name : {"a", "x) = y", ") = ", " (a) "}) {
        Read tagged("XXH128 (" + std::string(name) + ") = " + HASH);

        EXPECT_EQ(tagged.wrong, "");
        EXPECT_STREQ(tagged.e.name, name);
        EXPECT_EQ(memcmp(tagged.e.hash, file_entry("").hash, RECORD_HASH_BYTES), 0);
    }
    EXPECT_STREQ(Read("\\XXH128 (a\\nb) = " + std::string(HASH)).e.name, "a\nb");
}

TEST(ManifestEntry, WrongLines)
{
    std::string zero = line_of("ab");

    zero[zero.size() - 1] = 0;
    for (const std::string &line : {
             std::string("x"),
             std::string("  ") + HASH + "  a",
             std::string(HASH),
             std::string(HASH) + " a",
             std::string(HASH) + "  ",
             std::string(HASH) + "\ta",
             std::string(HASH).substr(1) + "  a",
             std::string(HASH) + "0  a",
             std::string("b5e9c1ad071b3e7f  a"), /* XXH64 */
             "\\" + line_of("a\\tb"),
             "\\" + line_of("a\\"),
             "\\\\" + line_of("a"),
             line_of("a\r"),
             zero,
             std::string("XXH128 (a) = 00"),
             std::string("XXH128 (a) = ") + HASH + "0",
             std::string("XXH128 () = ") + HASH,
             std::string("XXH3 (a) = b5e9c1ad071b3e7f"),
             std::string("MD5 (a) = ") + HASH,
             std::string("# link: a"),
             std::string("# link:  -> b"),
             std::string("# link: a -> "),
             std::string("# link: a\\t -> b"),
         }) {
        EXPECT_NE(Read(line).wrong, "") << line;
    }
    EXPECT_NE(Read("# sluice-manifest 2", false).wrong, "");
    EXPECT_NE(Read("# sluice-manifest 1\r", false).wrong, "");
    EXPECT_NE(Read("# sluice-manifest 1x", false).wrong, "");
    EXPECT_EQ(Read("# sluice-manifest 1", false).e.kind, ENTRY_BEGIN);
    for (const char *comment :
         {"", "#", "# x", "# links: a", "# complete", "# complete: files 1",
          "# complete: files 01, links 0, bytes 0", "# complete: files -1, links 0, bytes 0",
          "# complete: files 1, links 0, bytes 0 "}) {
        EXPECT_EQ(Read(comment).wrong, "");
        EXPECT_EQ(Read(comment).e.kind, ENTRY_COMMENT) << comment;
    }
    EXPECT_EQ(Read("# link: a", false).e.kind, ENTRY_COMMENT) << "of another program";
}

TEST(ManifestEntry, WhatIsWrittenIsRead)
{
    std::mt19937_64 rng(test_seed());

    for (int i = 0; i < 20000; i++) {
        std::string name = drawn_name(rng, i % 100 == 0 ? ENTRY_NAME_MAX : 20);
        std::string target = drawn_name(rng, i % 100 == 0 ? RECORD_TARGET_MAX : 20);
        struct entry e = file_entry(name.c_str());

        for (auto &byte : e.hash)
            byte = (uint8_t)rng();
        Read file(written(e));

        ASSERT_EQ(file.wrong, "");
        ASSERT_EQ(file.e.kind, ENTRY_FILE);
        ASSERT_EQ(file.e.name, name);
        ASSERT_EQ(memcmp(file.e.hash, e.hash, sizeof e.hash), 0);
        e.kind = ENTRY_LINK;
        e.target = target.c_str();

        Read link(written(e));

        ASSERT_EQ(link.wrong, "");
        ASSERT_EQ(link.e.kind, ENTRY_LINK);
        ASSERT_EQ(link.e.name, name);
        ASSERT_EQ(link.e.target, target);
        e.kind = i % 2 ? ENTRY_COMPLETE : ENTRY_INCOMPLETE;
        e.files = rng() >> rng() % 64;
        e.links = rng() >> rng() % 64;
        e.bytes = rng() >> rng() % 64;

        Read end(written(e));

        ASSERT_EQ(end.e.kind, e.kind);
        ASSERT_TRUE(end.e.files == e.files && end.e.links == e.links && end.e.bytes == e.bytes);
    }
}

/* Whatever a line is, it is refused, or says the same when it is written again. */
TEST(ManifestEntry, AnyBytes)
{
    std::mt19937_64 rng(test_seed());
    int taken = 0;

    for (int i = 0; i < 100000; i++) {
        static const char *const parts[] = {HASH,
                                            "  ",
                                            " *",
                                            "\\",
                                            "XXH128 (",
                                            ") = ",
                                            "# link: ",
                                            " -> ",
                                            "# complete: files 1, links 2, bytes 3",
                                            "\\n",
                                            "# sluice-manifest 1",
                                            "a",
                                            "\r",
                                            "#",
                                            ">",
                                            "\\>"};
        std::string line;
        bool ours = rng() % 2;

        for (size_t n = rng() % 7; n > 0; n--)
            line += rng() % 8 ? parts[rng() % (sizeof parts / sizeof *parts)] : drawn_name(rng, 9);
        if (rng() % 4 == 0 && !line.empty())
            line[rng() % line.size()] = (char)rng();

        Read first(line, ours);

        if (first.wrong != "" || first.e.kind == ENTRY_COMMENT)
            continue;
        taken++;
        Read second(written(first.e), ours);

        ASSERT_EQ(second.wrong, "") << line;
        ASSERT_EQ(second.e.kind, first.e.kind);
        if (first.e.kind == ENTRY_FILE || first.e.kind == ENTRY_LINK) {
            ASSERT_STREQ(second.e.name, first.e.name);
        }
    }
    EXPECT_GT(taken, 100);
}

TEST_F(Manifest, ReadsThoseOfOthers)
{
    EXPECT_EQ(read("# by hand\n\n" + line_of("./b//c") + "\n" + line_of("a")), SAY_OK);
    EXPECT_EQ(names(), (Lines{"a", "b/c"})) << "sorted, and cleaned";
    EXPECT_FALSE(m.ours);
    EXPECT_EQ(read(line_of("a") + "\n" + line_of("a") + "\n"), SAY_OK) << "twice the same";
    EXPECT_EQ(m.n, 1u);
    EXPECT_EQ(read(""), SAY_LOCAL);
    EXPECT_TRUE(said_only("has no hash"));
    EXPECT_EQ(reader_read(&m, folder.at("none").c_str(), false), SAY_LOCAL);
    EXPECT_EQ(reader_read(&m, folder.path.c_str(), false), SAY_LOCAL) << "a directory";
}

TEST_F(Manifest, NamesTheLineThatIsWrong)
{
    EXPECT_EQ(read(line_of("a") + "\nx\n" + line_of("b") + "\n"), SAY_LOCAL);
    EXPECT_TRUE(said_only("line 2 is no hash and name"));
    EXPECT_EQ(read(line_of("b") + "\n" + line_of("a") + "\nffffffffffffffff0123456789abcdef  b\n"),
              SAY_LOCAL);
    EXPECT_TRUE(said_only("line 3 says something else than line 1"));
    std::string many;

    for (int i = 0; i < 30; i++)
        many += "x\n";
    EXPECT_EQ(read(many), SAY_LOCAL);
    EXPECT_EQ(said.size(), 11u) << "ten lines, and how many more";
}

TEST_F(Manifest, NamesThatLeadAwayAreRefused)
{
    for (const char *name : {"/etc/passwd", "../a", "a/../../b", "a/.."}) {
        EXPECT_EQ(read(line_of(name)), SAY_LOCAL) << name;
        EXPECT_TRUE(said_only("line 1 has a name that is refused")) << name;
        EXPECT_NE(said[0].find("--anywhere"), std::string::npos);
        EXPECT_EQ(read(line_of(name), true), SAY_OK) << name;
        EXPECT_EQ(names(), Lines{name});
    }
    EXPECT_EQ(read(line_of("./"), true), SAY_LOCAL) << "no name is left";
    EXPECT_EQ(read(line_of(std::string(4097, 'a')), true), SAY_LOCAL);
}

TEST_F(Manifest, OursHasAnEnd)
{
    const std::string begin = "# sluice-manifest 1\n", file = line_of("a") + "\n";
    const std::string end = "# complete: files 1, links 1, bytes 7\n";
    const std::string link = "# link: l -> a\n";

    EXPECT_EQ(read(begin + file + link + end), SAY_OK);
    EXPECT_TRUE(m.ours && !m.incomplete);
    EXPECT_EQ(m.bytes, 7u);
    EXPECT_EQ(m.n, 2u);
    EXPECT_STREQ(m.items[1].target, "a");
    EXPECT_EQ(read(begin + file + "# incomplete: files 1, links 0, bytes 7\n"), SAY_OK);
    EXPECT_TRUE(m.ours && m.incomplete);
    EXPECT_EQ(read(begin + "# complete: files 0, links 0, bytes 0\n"), SAY_OK) << "of nothing";
    EXPECT_EQ(read(begin + file + link), SAY_LOCAL);
    EXPECT_TRUE(said_only("was cut off"));
    EXPECT_EQ(read(begin + file + end), SAY_LOCAL) << "a line was taken out";
    EXPECT_TRUE(said_only("another number"));
    EXPECT_EQ(read(begin + file + line_of("b") + "\n" + end), SAY_LOCAL) << "a file for a link";
    EXPECT_EQ(read(begin + file + link + end + file), SAY_LOCAL);
    EXPECT_TRUE(said_only("line 5 follows the last line"));
    EXPECT_EQ(read(file + begin), SAY_LOCAL);
    EXPECT_EQ(read(begin + file + "# link: a -> b\n" + end), SAY_LOCAL) << "file and link";
    EXPECT_TRUE(said_only("line 3 says something else than line 2"));
}
