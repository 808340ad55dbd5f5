/* SPDX-License-Identifier: BSD-3-Clause */
/* The files below a path, and their names on the other side. */
#include <cstring>
#include <string>
#include <vector>

#include "unit/sluice/folder.h"

extern "C" {
#include <dirent.h>

#include "sluice/files/tree.h"

struct dirent *__wrap_readdir64(DIR *dir);
struct dirent *__real_readdir64(DIR *dir);
}

static int good_names =
    -1; // of a disk: it fails after so many; -1: never. (readdir() is readdir64())

struct dirent *__wrap_readdir64(DIR *dir)
{
    if (good_names < 0)
        return __real_readdir64(dir);
    if (good_names-- > 0)
        return __real_readdir64(dir);
    good_names = -1;
    errno = EIO;
    return nullptr;
}

constexpr char KINDS[] = "FDELSX"; // enum tree_kind

/* The entries in the order of the walk, as "F name", "D name" and so on. */
static std::vector<std::string> walk(const std::string &path, struct tree_rules rules = {})
{
    std::vector<std::string> out;
    struct tree *t = tree_open(path.c_str(), rules);
    struct tree_entry e;

    if (t == nullptr)
        return {"none"};
    while (tree_next(t, &e))
        out.push_back(std::string(1, KINDS[e.kind]) + " " + e.name);
    tree_close(t);
    return out;
}

using Names = std::vector<std::string>;

static struct tree_rules as_sync()
{
    struct tree_rules rules = {};

    rules.sync = true;
    return rules;
}

static struct tree_rules as_sync();

/* Every way in which a file may have become another one since it was seen. */
TEST(Tree, AFileIsTheSameUntilItChanges)
{
    const struct timespec later[2] = {{0, UTIME_OMIT}, {981173106, 1}};

    for (const char *below : {"", "top/d/"})
        for (int change = 0; change < 6; change++) {
            Folder f;
            std::string name = std::string(below) + "f";
            struct tree_entry e;

            std::filesystem::create_directories(f.at(below));
            f.write(name, "content");
            f.write("other", "another");
            struct tree *t = tree_open(f.at(*below != 0 ? "top" : "f").c_str(), as_sync());

            do
                ASSERT_TRUE(tree_next(t, &e));
            while (e.kind != TREE_FILE);
            EXPECT_TRUE(tree_is_same(&e));
            if (change == 0) {
                f.write(name, "longer content");
            } else if (change == 1) {
                std::filesystem::rename(f.at("other"), f.at(name));
            } else if (change == 2) {
                ASSERT_EQ(utimensat(AT_FDCWD, f.at(name).c_str(), later, 0), 0);
            } else if (change == 3) {
                std::filesystem::remove(f.at(name));
            } else if (change == 4) {
                std::filesystem::rename(f.at(name), f.at("moved"));
                std::filesystem::create_symlink(f.at("moved"), f.at(name));
            }
            EXPECT_EQ(tree_is_same(&e), change == 5 || (change == 4 && *below == 0)) << change;
            tree_close(t);
        }
}

static void make(const Folder &f)
{
    ASSERT_EQ(mkdir(f.at("t").c_str(), 0755), 0);
    ASSERT_EQ(mkdir(f.at("t/b").c_str(), 0755), 0);
    ASSERT_EQ(mkdir(f.at("t/empty").c_str(), 0755), 0);
    f.write("t/a", "1");
    f.write("t/b/x", "2");
    f.write("t/b/.hidden", "3");
    f.write("t/z", "4");
}

TEST(Tree, DirectoriesComeAfterWhatIsInThem)
{
    Folder f;

    make(f);
    Names expected = {"F t/a", "F t/b/.hidden", "F t/b/x", "D t/b", "D t/empty", "F t/z", "D t"};
    EXPECT_EQ(walk(f.at("t")), expected);
    EXPECT_EQ(walk(f.at("t/")), expected);
    EXPECT_EQ(walk(f.at("t///")), expected);
}

TEST(Tree, ContentOfADot)
{
    Folder f;

    make(f);
    EXPECT_EQ(walk(f.at("t/.")),
              (Names{"F a", "F b/.hidden", "F b/x", "D b", "D empty", "F z", "D "}));
    EXPECT_EQ(walk(f.at("t/b/..")),
              (Names{"F a", "F b/.hidden", "F b/x", "D b", "D empty", "F z", "D "}));
}

TEST(Tree, ASingleFile)
{
    Folder f;

    make(f);
    EXPECT_EQ(walk(f.at("t/b/x")), Names{"F x"});
}

TEST(Tree, LinksAndPipes)
{
    Folder f;

    make(f);
    ASSERT_EQ(symlink("a", f.at("t/link").c_str()), 0);
    ASSERT_EQ(symlink(".", f.at("t/loop").c_str()), 0);
    ASSERT_EQ(symlink("nowhere", f.at("t/broken").c_str()), 0);
    ASSERT_EQ(mkfifo(f.at("t/pipe").c_str(), 0600), 0);
    EXPECT_EQ(walk(f.at("t")),
              (Names{"F t/a", "F t/b/.hidden", "F t/b/x", "D t/b", "S t/broken", "D t/empty",
                     "S t/link", "S t/loop", "S t/pipe", "F t/z", "D t"}));
    /* If the user names them, they are followed and opened. */
    EXPECT_EQ(walk(f.at("t/link")), Names{"F link"});
    EXPECT_EQ(walk(f.at("t/pipe")), Names{"F pipe"});
    EXPECT_EQ(walk(f.at("t/broken")), Names{"X broken"});
}

/* In a sync, directories come twice, links are named, and a slash stands for what is inside. */
TEST(Tree, AsASyncSeesIt)
{
    const struct tree_rules sync = as_sync();
    Folder f;

    make(f);
    ASSERT_EQ(symlink("t", f.at("link").c_str()), 0);
    ASSERT_EQ(symlink("nowhere", f.at("t/broken").c_str()), 0);
    ASSERT_EQ(symlink("b", f.at("t/link").c_str()), 0);
    ASSERT_EQ(mkfifo(f.at("t/pipe").c_str(), 0600), 0);
    const Names inside = {"E ",      "F a",     "E b",    "F b/.hidden", "F b/x", "D b", "L broken",
                          "E empty", "D empty", "L link", "S pipe",      "F z",   "D "};
    for (const char *path : {"t/", "t//", "t/.", "link/", "link/.", "t/b/.."})
        EXPECT_EQ(walk(f.at(path), sync), inside) << path;
    EXPECT_EQ(walk(f.at("t/empty"), sync), (Names{"E empty", "D empty"}));
    EXPECT_EQ(walk(f.at("link"), sync), Names{"L link"});
    EXPECT_EQ(walk(f.at("t/broken"), sync), Names{"L broken"});
    EXPECT_EQ(walk(f.at("t/pipe"), sync), Names{"S pipe"}) << "a pipe has no content to compare";
}

/* Of a directory that is left out, nothing is looked at. */
TEST(Tree, WhatIsLeftOut)
{
    struct tree_rules rules = as_sync();
    Folder f;
    Names asked;

    make(f);
    rules.context = &asked;
    rules.leave_out = [](void *context, const char *name, bool directory) {
        ((Names *)context)->push_back(name + std::string(directory ? "/" : ""));
        return strcmp(name, "b") == 0 || strcmp(name, "z") == 0;
    };
    EXPECT_EQ(walk(f.at("t/"), rules), (Names{"E ", "F a", "E empty", "D empty", "D "}));
    for (auto &name : asked)
        EXPECT_NE(name.substr(0, 2), "b/x") << name;
    rules.leave_out = [](void *, const char *name, bool) { return strcmp(name, "t") == 0; };
    EXPECT_EQ(walk(f.at("t"), rules), Names{}) << "also what the user names";
    rules.leave_out = nullptr;
    rules.contents = true;
    EXPECT_EQ(walk(f.at("t/b"), rules), (Names{"E ", "F .hidden", "F x", "D "}));
}

TEST(Tree, TargetsOfLinks)
{
    Folder f;
    struct tree_entry e;
    char target[16];

    ASSERT_EQ(mkdir(f.at("t").c_str(), 0755), 0);
    ASSERT_EQ(symlink("to somewhere", f.at("t/l").c_str()), 0);
    for (const char *path : {"t", "t/l"}) {
        struct tree *t = tree_open(f.at(path).c_str(), as_sync());

        do
            ASSERT_TRUE(tree_next(t, &e));
        while (e.kind != TREE_LINK);
        EXPECT_EQ(tree_link(&e, target, sizeof target), 12);
        EXPECT_EQ(std::string(target, 12), "to somewhere");
        tree_close(t);
    }
}

/* If the directory that was named has become a link, what is behind it was not named. */
TEST(Tree, ALinkIsNoDirectoryUnlessASlashIsBehindIt)
{
    Folder f;
    struct tree_entry e;

    ASSERT_EQ(mkdir(f.at("d").c_str(), 0755), 0);
    ASSERT_EQ(symlink("d", f.at("l").c_str()), 0);
    for (const char *path : {"l", "l/"}) {
        struct tree *t = tree_open(f.at(path).c_str(), as_sync());

        ASSERT_TRUE(tree_next(t, &e));
        EXPECT_EQ(e.dir->root_fd >= 0, path[1] != 0) << path;
        tree_close(t);
    }
}

TEST(Tree, Missing)
{
    EXPECT_EQ(walk("/nonexistent/sluice"), Names{"X sluice"});
}

TEST(Tree, Base)
{
    const struct {
        const char *path, *base;
    } cases[] = {{"a", "a"},  {"a/b", "b"}, {"/a/b/", "b"}, {"/", ""},    {".", ""},    {"..", ""},
                 {"a/.", ""}, {"a/..", ""}, {"...", "..."}, {"./a", "a"}, {"a//", "a"}, {"", ""}};

    for (auto &c : cases) {
        const char *base;
        int len;

        tree_base(c.path, &base, &len);
        EXPECT_EQ(std::string(base, (size_t)len), c.base) << c.path;
    }
}

/* The tree is closed before, during and after the walk. */
// The content of a directory that fails in the midst is not known: it must not pass for a short
// one.
TEST(Tree, ADiskThatFailsIsSeen)
{
    for (int good = 0; good < 6; good++) {
        Folder f;

        make(f);
        good_names = good;
        EXPECT_EQ(walk(f.at("t")), Names{"X t"}) << good;
        EXPECT_EQ(good_names, -1);
        EXPECT_EQ(walk(f.at("t")).size(), 7u);
    }
}

// Whatever becomes of a directory while the tree is walked, no link is followed.
TEST(Tree, ADirectoryThatBecomesALinkIsNotFollowed)
{
    Folder f;
    struct tree_entry e;
    std::vector<std::string> seen;

    make(f);
    struct tree *t = tree_open(f.at("t").c_str(), as_sync());
    ASSERT_NE(t, nullptr);
    while (tree_next(t, &e)) {
        seen.push_back(std::string(1, KINDS[e.kind]) + " " + e.name);
        if (seen.back() == "E t/b") {
            ASSERT_EQ(rename(f.at("t/b").c_str(), f.at("hidden").c_str()), 0);
            ASSERT_EQ(symlink("../hidden", f.at("t/b").c_str()), 0);
        }
    }
    tree_close(t);
    EXPECT_EQ(seen,
              (Names{"E t", "F t/a", "E t/b", "X t/b", "E t/empty", "D t/empty", "F t/z", "D t"}));
}

TEST(Tree, ClosedEarly)
{
    Folder f;
    struct tree_entry e;

    make(f);
    for (int reads = 0; reads < 10; reads++) {
        struct tree *t = tree_open(f.at("t").c_str(), {});

        ASSERT_NE(t, nullptr);
        for (int i = 0; i < reads; i++)
            tree_next(t, &e);
        tree_close(t);
    }
}
