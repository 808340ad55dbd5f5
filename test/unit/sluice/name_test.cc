/* SPDX-License-Identifier: BSD-3-Clause */
/* Names from a stranger: some are refused, and none leads out of the directory. */
#include <cerrno>
#include <string>

#include "unit/sluice/folder.h"

extern "C" {
#include "sluice/files/name.h"
#include "sluice/files/record.h"
}

static const char *check(const std::string &name)
{
    return name_check(name.data(), name.size());
}

TEST(Name, Harmless)
{
    for (const char *name : {"a", "a/b/c", "...", "..a", "a..", ".hidden", "a b", "-rf", "~",
                             "a\\b", "\xc3\xa4", "\xff\xfe", "new\nline", "a/.b/..c/d"})
        EXPECT_EQ(check(name), nullptr) << name;
    EXPECT_EQ(check(std::string(255, 'x')), nullptr);
    std::string deep;
    for (int i = 0; i < 2047; i++)
        deep += "a/";
    EXPECT_EQ(check(deep + "b"), nullptr);
}

TEST(Name, Hostile)
{
    for (const char *name :
         {"", "/", "/etc/passwd", "..", ".", "../x", "a/..", "a/../b", "a/../../b", "./a", "a/.",
          "a/./b", "a//b", "a/", "//a", "a/b//", "../../../../tmp/x"})
        EXPECT_NE(check(name), nullptr) << name;
    EXPECT_NE(check(std::string("a\0b", 3)), nullptr);
    EXPECT_NE(check(std::string("\0", 1)), nullptr);
    EXPECT_NE(check(std::string(256, 'x')), nullptr);
    EXPECT_NE(check("a/" + std::string(256, 'x') + "/b"), nullptr);
    EXPECT_NE(check(std::string(RECORD_NAME_MAX + 1, 'x')), nullptr);
}

TEST(Name, ParentsAreMade)
{
    struct made_dirs made = {};
    Folder f;
    const char *base;
    struct stat a, b;
    int fd = name_parent(f.fd, "x/y/z", &base, &made);

    ASSERT_GE(fd, 0);
    EXPECT_STREQ(base, "z");
    ASSERT_EQ(fstat(fd, &a), 0);
    ASSERT_EQ(stat(f.at("x/y").c_str(), &b), 0);
    EXPECT_EQ(a.st_ino, b.st_ino);
    EXPECT_EQ(made.n, 2u);
    EXPECT_TRUE(made_dirs_take(&made, fd));
    close(fd);
    EXPECT_EQ(f.count(), 2u);
    fd = name_parent(f.fd, "plain", &base, &made);
    ASSERT_GE(fd, 0);
    ASSERT_EQ(fstat(fd, &a), 0);
    ASSERT_EQ(stat(f.path.c_str(), &b), 0);
    EXPECT_EQ(a.st_ino, b.st_ino);
    close(fd);
}

TEST(Name, LinksAreNotFollowed)
{
    struct made_dirs made = {};
    Folder inside, outside;
    const char *base;

    ASSERT_EQ(symlink(outside.path.c_str(), inside.at("link").c_str()), 0);
    ASSERT_EQ(mkdir(inside.at("d").c_str(), 0777), 0);
    ASSERT_EQ(symlink("..", inside.at("d/up").c_str()), 0);
    ASSERT_EQ(symlink(".", inside.at("self").c_str()), 0);
    for (const char *name : {"link/x", "link/a/x", "d/up/x", "d/up/y/x", "self/x"}) {
        int fd = name_parent(inside.fd, name, &base, &made);

        EXPECT_TRUE(fd == -ELOOP || fd == -ENOTDIR) << name << " " << fd;
    }
    EXPECT_EQ(outside.count(), 0u);
}

TEST(Name, AFileInTheWay)
{
    struct made_dirs made = {};
    Folder f;
    const char *base;

    f.write("file", "x");
    EXPECT_EQ(name_parent(f.fd, "file/x", &base, &made), -ENOTDIR);
}

/* A directory stays open for the names that follow each other in it, and for no others. */
TEST(Name, DirectoryOfTheLastName)
{
    struct made_dirs made = {};
    struct name_dir dir = {};
    Folder f;
    const char *base;
    struct stat a, b;

    dir.root_fd = f.fd;
    dir.fd = -1;
    EXPECT_EQ(name_dir_parent(&dir, "plain", &base, nullptr), f.fd);
    EXPECT_STREQ(base, "plain");
    int fd = name_dir_parent(&dir, "x/y/z", &base, &made);
    ASSERT_GE(fd, 0);
    EXPECT_STREQ(base, "z");
    EXPECT_EQ(made.n, 2u);
    std::filesystem::rename(f.at("x"), f.at("moved"));
    EXPECT_EQ(name_dir_parent(&dir, "x/y/other", &base, nullptr), fd);
    EXPECT_STREQ(base, "other");
    for (const char *other : {"y/y/z", "x/yy/z", "x/z", "x/y/z/z"}) {
        ASSERT_GE(name_dir_parent(&dir, "moved/y/z", &base, nullptr), 0);
        EXPECT_EQ(name_dir_parent(&dir, other, &base, nullptr), -ENOENT) << other;
        EXPECT_EQ(name_dir_parent(&dir, "x/y/z", &base, nullptr), -ENOENT) << "it was forgotten";
    }
    ASSERT_GE(name_dir_parent(&dir, "moved/y/z", &base, nullptr), 0);
    EXPECT_EQ(name_dir_parent(&dir, "mowed/y/z", &base, nullptr), -ENOENT);
    ASSERT_GE(name_dir_parent(&dir, "moved/y/z", &base, nullptr), 0);
    ASSERT_EQ(fstat(dir.fd, &a), 0);
    ASSERT_EQ(stat(f.at("moved/y").c_str(), &b), 0);
    EXPECT_EQ(a.st_ino, b.st_ino);
    name_dir_close(&dir);
    EXPECT_EQ(dir.fd, -1);
    EXPECT_EQ(fcntl(fd, F_GETFD), -1) << "a descriptor was left open";
}
