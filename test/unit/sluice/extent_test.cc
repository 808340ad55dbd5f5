/* SPDX-License-Identifier: BSD-3-Clause */
/* Holes: extent_find() agrees with the contents that were written, and covers the whole file. */
#include <map>
#include <random>
#include <vector>

#include "unit/base/seed.h"
#include "unit/sluice/folder.h"

extern "C" {
#include "sluice/files/extent.h"
}

static std::vector<struct extent> extents(int fd, uint64_t size)
{
    std::vector<struct extent> out;
    struct extent e;
    uint64_t at = 0;

    for (;;) {
        EXPECT_EQ(extent_find(fd, at, size, &e), 0);
        EXPECT_EQ(e.offset, at);
        if (e.len == 0)
            break;
        out.push_back(e);
        at += e.len;
        if (at > size)
            break;
    }
    EXPECT_EQ(at, size);
    return out;
}

TEST(Extent, Empty)
{
    Folder f;
    int fd = open(f.at("x").c_str(), O_RDWR | O_CREAT, 0600);

    EXPECT_TRUE(extents(fd, 0).empty());
    close(fd);
}

TEST(Extent, NothingButHole)
{
    Folder f;
    int fd = open(f.at("x").c_str(), O_RDWR | O_CREAT, 0600);
    ASSERT_EQ(ftruncate(fd, 10000001), 0);

    auto e = extents(fd, 10000001);
    ASSERT_EQ(e.size(), 1u);
    EXPECT_TRUE(e[0].hole);
    close(fd);
}

TEST(Extent, DataInTheMiddle)
{
    Folder f;
    int fd = open(f.at("x").c_str(), O_RDWR | O_CREAT, 0600);
    ASSERT_EQ(ftruncate(fd, 3 << 20), 0);
    ASSERT_EQ(pwrite(fd, "x", 1, 1 << 20), 1);

    auto e = extents(fd, 3 << 20);
    ASSERT_EQ(e.size(), 3u);
    EXPECT_TRUE(e[0].hole && !e[1].hole && e[2].hole);
    EXPECT_EQ(e[0].len, 1u << 20);
    close(fd);
}

/* A device has no known holes, so all of it is data. */
TEST(Extent, WithoutHoles)
{
    int fd = open("/proc/self/status", O_RDONLY);
    struct extent e;

    ASSERT_GE(fd, 0);
    ASSERT_EQ(extent_find(fd, 0, 100, &e), 0);
    EXPECT_EQ(e.len, 100u);
    EXPECT_FALSE(e.hole);
    close(fd);
}

/* Random files: no byte that was written lies in a hole, and data and holes alternate. */
TEST(Extent, Random)
{
    std::mt19937_64 rng(test_seed());
    Folder f;

    for (int round = 0; round < 30; round++) {
        std::string name = f.at("r" + std::to_string(round));
        int fd = open(name.c_str(), O_RDWR | O_CREAT, 0600);
        uint64_t size = 1 + rng() % (8 << 20);
        std::vector<uint64_t> written;

        ASSERT_EQ(ftruncate(fd, (off_t)size), 0);
        for (uint64_t n = rng() % 20; n > 0; n--) {
            uint64_t at = rng() % size;

            ASSERT_EQ(pwrite(fd, "y", 1, (off_t)at), 1);
            written.push_back(at);
        }
        auto all = extents(fd, size);
        for (size_t i = 1; i < all.size(); i++)
            EXPECT_NE(all[i].hole, all[i - 1].hole);
        for (uint64_t at : written)
            for (auto &e : all)
                EXPECT_FALSE(e.hole && at >= e.offset && at < e.offset + e.len) << at;
        close(fd);
    }
}
