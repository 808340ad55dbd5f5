/* SPDX-License-Identifier: BSD-3-Clause */
/* What a run lists in its manifest, and what a check against it finds. */
#include <csignal>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "unit/base/seed.h"
#include "unit/sluice/content.h"
#include "unit/sluice/folder.h"

extern "C" {
#include "sluice/manifest/check.h"
#include "sluice/manifest/hasher.h"
#include "sluice/manifest/reader.h"
#include "sluice/manifest/writer.h"
#include "sluice/say.h"
}

namespace
{

using Lines = std::vector<std::string>;

class Verify : public testing::Test
{
  protected:
    Verify()
    {
        say_divert(
            [](void *context, bool, const char *text) { ((Lines *)context)->push_back(text); },
            &said);
        EXPECT_EQ(mkdir(in("").c_str(), 0755), 0);
        root_fd = open(in("").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        EXPECT_EQ(writer_open(&w, folder.at("m").c_str()), SAY_OK);
    }
    ~Verify() override
    {
        EXPECT_EQ(writer_close(&w, SAY_TRANSFER, true), SAY_TRANSFER);
        say_divert(nullptr, nullptr);
        manifest_fini(&m);
        close(root_fd);
    }
    std::string in(const std::string &name) const
    {
        return folder.at("in/" + name);
    }
    /* A file that a run has moved. */
    void moved(const std::string &name, const std::string &content)
    {
        uint8_t hash[RECORD_HASH_BYTES];
        size_t slash = ("in/" + name).rfind('/');

        std::filesystem::create_directories(folder.at(("in/" + name).substr(0, slash)));
        folder.write("in/" + name, content);
        content_hash(content, hash);
        writer_file(&w, name.c_str(), hash, content.size());
    }
    int close_writer(int code = SAY_OK)
    {
        said.clear();
        return writer_close(&w, code, true);
    }
    /* The lines that the check prints. */
    Lines checked(int code, bool extra = false, bool verbose = false)
    {
        struct check c = {};
        char *text = nullptr;
        size_t size = 0;
        Lines lines;

        said.clear();
        manifest_fini(&m);
        EXPECT_EQ(reader_read(&m, folder.at("m").c_str(), anywhere), SAY_OK);
        std::string dir = in("");

        c.manifest = &m;
        c.dir = dir.c_str();
        c.extra = extra;
        c.verbose = verbose;
        c.anywhere = anywhere;
        c.quiet = true;
        c.out = open_memstream(&text, &size);
        EXPECT_EQ(check_run(&c), code);
        fclose(c.out);
        for (char *line = strtok(text, "\n"); line != nullptr; line = strtok(nullptr, "\n"))
            lines.push_back(line);
        free(text);
        right = c.right;
        bytes = c.bytes;
        return lines;
    }

    Folder folder;
    Lines said;
    struct writer w;
    struct manifest m = {};
    int root_fd;
    bool anywhere = false;
    uint64_t right = 0, bytes = 0;
};

} // namespace

TEST_F(Verify, FindsEachFlaw)
{
    moved("a", "alpha");
    moved("d/b", std::string(300000, 'b'));
    moved("d/e/c", "");
    ASSERT_EQ(symlink("d/b", in("l").c_str()), 0);
    writer_link(&w, "l", "d/b");
    ASSERT_EQ(close_writer(), SAY_OK);
    EXPECT_EQ(checked(SAY_OK, true, true),
              (Lines{"ok       a", "ok       d/b", "ok       d/e/c", "ok       l"}));
    EXPECT_EQ(bytes, 300005u);

    folder.write("in/a", "alphb");
    EXPECT_EQ(checked(SAY_TRANSFER), Lines{"differs  a"});
    EXPECT_EQ(right, 3u);
    folder.write("in/a", "alpha");
    folder.write("in/d/b", std::string(300001, 'b'));
    EXPECT_EQ(checked(SAY_TRANSFER), Lines{"differs  d/b"});
    folder.write("in/d/b", std::string(300000, 'b'));
    ASSERT_EQ(unlink(in("d/e/c").c_str()), 0);
    EXPECT_EQ(checked(SAY_TRANSFER), Lines{"missing  d/e/c"});
    folder.write("in/d/e/c", "");
    EXPECT_EQ(checked(SAY_OK), Lines{});

    ASSERT_EQ(unlink(in("l").c_str()), 0);
    EXPECT_EQ(checked(SAY_TRANSFER), Lines{"missing  l"});
    ASSERT_EQ(symlink("d/c", in("l").c_str()), 0);
    EXPECT_EQ(checked(SAY_TRANSFER), Lines{"differs  l"});
    ASSERT_EQ(unlink(in("l").c_str()), 0);
    folder.write("in/l", "d/b");
    EXPECT_EQ(checked(SAY_TRANSFER), Lines{"differs  l"}) << "a file is no link";
}

TEST_F(Verify, FindsWhatIsExtra)
{
    moved("a", "alpha");
    ASSERT_EQ(close_writer(), SAY_OK);
    ASSERT_EQ(mkdir(in("d").c_str(), 0755), 0);
    folder.write("in/d/x\ny", "x");
    ASSERT_EQ(symlink("a", in("l").c_str()), 0);
    EXPECT_EQ(checked(SAY_OK), Lines{});
    EXPECT_EQ(checked(SAY_TRANSFER, true), (Lines{"\\extra    d/x\\ny", "extra    l"}));
}

/* A file behind a link is another file, also if its content is right. */
TEST_F(Verify, FollowsNoLink)
{
    moved("a", "alpha");
    moved("d/b", "beta");
    ASSERT_EQ(close_writer(), SAY_OK);
    std::filesystem::rename(in("d"), folder.at("away"));
    std::filesystem::rename(in("a"), folder.at("a"));
    ASSERT_EQ(symlink("../away", in("d").c_str()), 0);
    ASSERT_EQ(symlink("../a", in("a").c_str()), 0);
    EXPECT_EQ(checked(SAY_TRANSFER), (Lines{"differs  a", "missing  d/b"}));
    anywhere = true;
    EXPECT_EQ(checked(SAY_OK), Lines{});
}

TEST_F(Verify, WhatIsNoFileDiffers)
{
    for (const char *name : {"directory", "pipe", "d/b"})
        moved(name, "x");
    ASSERT_EQ(close_writer(), SAY_OK);
    std::filesystem::remove_all(in("d"));
    folder.write("in/d", "a file has the name of its directory");
    ASSERT_EQ(unlink(in("directory").c_str()), 0);
    ASSERT_EQ(mkdir(in("directory").c_str(), 0755), 0);
    ASSERT_EQ(unlink(in("pipe").c_str()), 0);
    ASSERT_EQ(mkfifo(in("pipe").c_str(), 0600), 0);
    EXPECT_EQ(checked(SAY_TRANSFER),
              (Lines{"missing  d/b", "differs  directory", "differs  pipe"}));
}

/* What nobody can read is no difference: its content is not known. No program can read byte 0 of
 * its own memory, also if root runs it. */
TEST_F(Verify, SaysWhatCannotBeRead)
{
    moved("a", "alpha");
    ASSERT_EQ(close_writer(), SAY_OK);
    folder.write("m", std::string(32, '0') + "  /proc/self/mem\n");
    anywhere = true;
    EXPECT_EQ(checked(SAY_LOCAL), Lines{"unread   /proc/self/mem"});
    ASSERT_EQ(said.size(), 1u);
    EXPECT_NE(said[0].find("/proc/self/mem: "), std::string::npos);
    /* It says that it has no bytes, and has some: as a file that grows while it is read. */
    folder.write("m", std::string(32, '0') + "  /proc/self/cmdline\n");
    EXPECT_EQ(checked(SAY_LOCAL), Lines{"unread   /proc/self/cmdline"});
    EXPECT_NE(said[0].find("it changed while it was read"), std::string::npos);
    folder.write("m", folder.read("m") + std::string(32, '0') + "  a\n");
    EXPECT_EQ(checked(SAY_TRANSFER).size(), 2u) << "a difference counts more";
}

TEST_F(Verify, ManyDrawnFilesByManyThreads)
{
    std::mt19937_64 rng(test_seed());
    std::map<std::string, std::string> contents;
    Lines due;

    for (int i = 0; i < 400; i++) {
        std::string name = "d" + std::to_string(rng() % 7) + "/";

        for (size_t n = 1 + rng() % 5; n > 0; n--)
            name += "a\nb\\ \r\xff-"[rng() % 8];
        contents[name + "."] = content_random(rng, rng() % 20 == 0 ? rng() % 600000 : rng() % 3000);
    }
    for (auto &[name, content] : contents)
        moved(name, content);
    ASSERT_EQ(close_writer(), SAY_OK);
    EXPECT_EQ(checked(SAY_OK, true), Lines{});
    EXPECT_EQ(right, contents.size());
    size_t wrong = 0;

    for (auto &[name, content] : contents) {
        if (rng() % 9 != 0 || content.empty())
            continue;
        wrong++;
        std::string changed = content;

        changed[rng() % changed.size()] ^= (char)(1 << rng() % 8);
        folder.write("in/" + name, changed);
    }
    EXPECT_EQ(checked(SAY_TRANSFER).size(), wrong);
    EXPECT_EQ(right, contents.size() - wrong);
}

/* A hole counts as zeros, and is not read. */
TEST_F(Verify, Holes)
{
    const size_t before = 5 << 20, behind = (70 << 20) + 123;
    const std::string data(70000, 'x');

    moved("f", std::string(before, 0) + data + std::string(behind, 0));
    ASSERT_EQ(unlink(in("f").c_str()), 0);
    int fd = open(in("f").c_str(), O_WRONLY | O_CREAT, 0600);

    ASSERT_EQ(pwrite(fd, data.data(), data.size(), before), (ssize_t)data.size());
    ASSERT_EQ(ftruncate(fd, (off_t)(before + data.size() + behind)), 0);
    ASSERT_EQ(close_writer(), SAY_OK);
    EXPECT_EQ(checked(SAY_OK), Lines{});
    EXPECT_EQ(bytes, before + data.size() + behind);
    ASSERT_EQ(pwrite(fd, "x", 1, before - 1), 1);
    EXPECT_EQ(checked(SAY_TRANSFER), Lines{"differs  f"});
    close(fd);
}

TEST_F(Verify, AManifestIsWholeOrNotThere)
{
    struct stat st;

    moved("a", "alpha");
    EXPECT_EQ(access(folder.at("m").c_str(), F_OK), -1) << "before the end";
    ASSERT_EQ(close_writer(), SAY_OK);
    const std::string first = folder.read("m");

    EXPECT_EQ(first, "# sluice-manifest 1\n"
                     "# XXH3-128 of files. Check: sluice verify FILE [DIR], or xxhsum -c FILE\n" +
                         first.substr(first.find("\n", 30) + 1, 32) + "  a\n" +
                         "# complete: files 1, links 0, bytes 5\n");
    ASSERT_EQ(stat(folder.at("m").c_str(), &st), 0);
    mode_t mask = umask(0);

    umask(mask);
    EXPECT_EQ(st.st_mode & 0777, 0666 & ~mask);

    ASSERT_EQ(writer_open(&w, folder.at("m").c_str()), SAY_OK);
    moved("b", "beta");
    writer_link(&w, "l", "b");
    writer_there(&w, "a", root_fd);
    ASSERT_EQ(close_writer(SAY_REMOTE), SAY_REMOTE);
    EXPECT_EQ(folder.read("m"), first) << "a run that failed replaces no manifest";
    std::string part = folder.read("m.incomplete");

    EXPECT_NE(part.find("  b\n# incomplete: files 1, links 0, bytes 4\n"), std::string::npos)
        << part;
    folder.write("n.incomplete", "a file of another program");
    for (const char *name : {"m", "n"}) {
        ASSERT_EQ(writer_open(&w, folder.at(name).c_str()), SAY_OK);
        ASSERT_EQ(close_writer(), SAY_OK);
    }
    EXPECT_EQ(access(folder.at("m.incomplete").c_str(), F_OK), -1) << "it is superseded";
    EXPECT_EQ(folder.read("n.incomplete"), "a file of another program");
    ASSERT_EQ(writer_open(&w, folder.at("m").c_str()), SAY_OK);
    ASSERT_EQ(close_writer(SAY_REMOTE), SAY_REMOTE);
    EXPECT_EQ(access(folder.at("m.incomplete").c_str(), F_OK), -1) << "nothing was moved";
    EXPECT_EQ(folder.count(), 6u) << "in, in/a, in/b, m, n and n.incomplete";
}

TEST_F(Verify, TheLastFileOfANameCounts)
{
    moved("a", "first");
    moved("b", "beta");
    moved("a", "second");
    ASSERT_EQ(close_writer(), SAY_OK);
    EXPECT_EQ(checked(SAY_OK), Lines{});
    EXPECT_EQ(right, 2u);
}

/* What was in its place is read, and must still be what it was. */
TEST_F(Verify, ReadsWhatWasThere)
{
    struct stat st;

    folder.write("in/there", "in the target");
    folder.write("source", "at the sender");
    folder.write("in/there2", "at the sender");
    ASSERT_EQ(stat(folder.at("source").c_str(), &st), 0);
    writer_there(&w, "there", root_fd);
    writer_source(&w, "there2", folder.at("source").c_str(), &st);
    ASSERT_EQ(close_writer(), SAY_OK);
    EXPECT_EQ(checked(SAY_OK), Lines{});
    EXPECT_EQ(right, 2u);
    EXPECT_EQ(m.bytes, 26u);

    ASSERT_EQ(writer_open(&w, folder.at("n").c_str()), SAY_OK);
    st.st_mtim.tv_nsec ^= 1;
    writer_source(&w, "there2", folder.at("source").c_str(), &st);
    writer_there(&w, "gone", root_fd);
    moved("a", "alpha");
    ASSERT_EQ(close_writer(), SAY_LOCAL);
    EXPECT_EQ(said.size(), 2u);
    EXPECT_EQ(access(folder.at("n").c_str(), F_OK), -1);
    EXPECT_NE(folder.read("n.incomplete").find("incomplete: files 1,"), std::string::npos);
}

TEST_F(Verify, PathsThatNoManifestCanHave)
{
    struct writer other;

    for (const std::string &path :
         {folder.at("none/m"), folder.path, folder.at("in/"), std::string("-"),
          std::string("/dev/null"), folder.at(std::string(250, 'x'))}) {
        EXPECT_NE(writer_open(&other, path.c_str()), SAY_OK) << path;
        EXPECT_EQ(writer_close(&other, SAY_LOCAL, true), SAY_LOCAL);
    }
    EXPECT_EQ(writer_open(&other, nullptr), SAY_OK);
    writer_file(&other, "a", (const uint8_t *)"0123456789abcdef", 1);
    writer_there(&other, "a", root_fd);
    EXPECT_EQ(other.root_fd, -1);
    EXPECT_EQ(writer_close(&other, SAY_PEER, true), SAY_PEER);
    writer_file(nullptr, "a", (const uint8_t *)"0123456789abcdef", 1);
    /* A link is followed: what it points to is replaced. */
    folder.write("real", "old");
    ASSERT_EQ(symlink("real", folder.at("link").c_str()), 0);
    ASSERT_EQ(writer_open(&other, folder.at("link").c_str()), SAY_OK);
    EXPECT_EQ(writer_close(&other, SAY_OK, true), SAY_OK);
    EXPECT_TRUE(std::filesystem::is_symlink(folder.at("link")));
    EXPECT_NE(folder.read("real"), "old");
}
