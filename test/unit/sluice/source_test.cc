/* SPDX-License-Identifier: BSD-3-Clause */
/* Outgoing files: every byte once, in order, and a digest of exactly those bytes. */
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "unit/base/seed.h"
#include "unit/sluice/content.h"
#include "unit/sluice/folder.h"

extern "C" {
#include "sluice/files/source.h"
#include "sluice/files/tree.h"
}

class Source : public testing::Test
{
  protected:
    void SetUp() override
    {
        ASSERT_EQ(source_init(&source), 0);
        content = content_random(rng, 3 * DIGEST_PIECE_BYTES + rng() % DIGEST_PIECE_BYTES);
    }
    void TearDown() override
    {
        source_fini(&source);
    }
    /* Reads up to `most` bytes at a time, until nothing more comes. */
    std::string read_all(size_t most)
    {
        std::string all;
        std::vector<char> room(most);
        uint64_t len;
        bool hole;

        while (source_next(&source, &len, &hole) == 0 && len > 0) {
            int64_t n = source_read(&source, room.data(), std::min<uint64_t>(len, most));

            if (n == -EAGAIN)
                continue;
            if (n <= 0)
                break;
            all.append(room.data(), (size_t)n);
        }
        return all;
    }
    /* The digest is that of `content`. */
    void expect_digest()
    {
        uint8_t expected[RECORD_HASH_BYTES], hash[RECORD_HASH_BYTES];

        content_hash(content, expected);
        digest_value(source.digest, hash);
        EXPECT_TRUE(std::equal(hash, hash + sizeof hash, expected));
        EXPECT_EQ(source.at_bytes, content.size());
    }

    Folder folder;
    std::mt19937_64 rng{test_seed()};
    std::string content;
    struct source source = {};
};

TEST_F(Source, AFileWhateverTheRoom)
{
    folder.write("file", content);
    for (size_t room : {4u << 20, DIGEST_PIECE_BYTES, 2 * DIGEST_PIECE_BYTES + 1, 4097u}) {
        ASSERT_EQ(source_open(&source, folder.at("file").c_str()), 0);
        EXPECT_TRUE(read_all(room) == content) << room;
        expect_digest();
    }
}

TEST_F(Source, AFileThatShrinks)
{
    char room[4096];

    folder.write("file", content);
    ASSERT_EQ(source_open(&source, folder.at("file").c_str()), 0);
    ASSERT_EQ(truncate(folder.at("file").c_str(), 100), 0);
    EXPECT_EQ(source_read(&source, room, sizeof room), -ENODATA);
}

/* Its end is not taken for a hole. */
TEST_F(Source, AFileWithHolesThatShrinks)
{
    const std::string path = folder.at("file");
    uint64_t len;
    bool hole;

    for (off_t to : {0, 100, 1 << 20, (9 << 20) - 1}) {
        folder.write("file", content);
        ASSERT_EQ(truncate(path.c_str(), 9 << 20), 0);
        ASSERT_EQ(source_open(&source, path.c_str()), 0);
        ASSERT_EQ(truncate(path.c_str(), to), 0);
        int err = source_next(&source, &len, &hole);

        while (err == 0 && len > 0) {
            std::vector<char> room(len);

            if (hole)
                source_skip(&source, len);
            else
                err = std::min((int)source_read(&source, room.data(), len), 0);
            if (err == 0)
                err = source_next(&source, &len, &hole);
        }
        EXPECT_EQ(err, -ENODATA) << to;
    }
}

TEST_F(Source, APipeEndsWhereItEnds)
{
    std::string path = folder.at("pipe");

    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    std::thread writer([&] { folder.write("pipe", content); });
    ASSERT_EQ(source_open(&source, path.c_str()), 0);
    EXPECT_TRUE(read_all(1u << 20) == content);
    writer.join();
    expect_digest();
}

/* The pipe is waited for where everything else is, so that signals and the other end are heard. */
TEST_F(Source, APipeWithoutAWriterIsNotWaitedFor)
{
    std::string path = folder.at("pipe");
    std::atomic<bool> writing = false;
    char room[4096];

    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    std::thread writer([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        writing = true;
        folder.write("pipe", content);
    });
    ASSERT_EQ(source_open(&source, path.c_str()), 0);
    EXPECT_FALSE(writing);
    EXPECT_EQ(source_read(&source, room, sizeof room), -EAGAIN);
    EXPECT_TRUE(read_all(1u << 20) == content);
    writer.join();
    expect_digest();
}

/* Also in the place of a file that was named itself. */
TEST_F(Source, NoLinkOrPipeIsOpenedWhereAFileWasSeen)
{
    folder.write("file", content);
    EXPECT_EQ(source_open_itself(&source, folder.at("file").c_str()), 0);
    EXPECT_TRUE(read_all(1u << 20) == content);
    ASSERT_EQ(symlink("file", folder.at("link").c_str()), 0);
    EXPECT_EQ(source_open_itself(&source, folder.at("link").c_str()), -ELOOP);
    ASSERT_EQ(mkfifo(folder.at("pipe").c_str(), 0600), 0);
    EXPECT_EQ(source_open_itself(&source, folder.at("pipe").c_str()), -ESTALE);
}

/* Whoever may write in a tree can put a link in the place of a directory while it is being sent.
 * The link must not lead to files that only the sender may read. */
TEST_F(Source, NoLinkIsFollowedBelowTheDirectoryThatWasNamed)
{
    folder.write("secret", content);
    ASSERT_EQ(mkdir(folder.at("tree").c_str(), 0755), 0);
    ASSERT_EQ(mkdir(folder.at("tree/dir").c_str(), 0755), 0);
    folder.write("tree/dir/secret", content);
    struct tree *tree = tree_open(folder.at("tree").c_str(), {});
    struct tree_entry e;
    ASSERT_TRUE(tree_next(tree, &e));
    ASSERT_STREQ(e.name, "tree/dir/secret");
    EXPECT_EQ(source_open_below(&source, e.dir, e.below), 0);
    EXPECT_TRUE(read_all(4u << 20) == content);
    expect_digest();
    std::filesystem::rename(folder.at("tree/dir"), folder.at("tree/moved"));
    ASSERT_EQ(symlink("..", folder.at("tree/dir").c_str()), 0);
    folder.write("tree/secret", "another");
    folder.write("tree/moved/secret", "still mine");
    EXPECT_EQ(source_open_below(&source, e.dir, e.below), 0);
    EXPECT_EQ(source.size, 10u) << "of the directory that the walk has found";
    name_dir_close(e.dir);
    int err = source_open_below(&source, e.dir, e.below);
    EXPECT_TRUE(err == -ENOTDIR || err == -ELOOP) << err;
    EXPECT_EQ(unlink(folder.at("tree/dir").c_str()), 0);
    EXPECT_EQ(source_open_below(&source, e.dir, e.below), -ENOENT); /* and none is made */
    EXPECT_FALSE(std::filesystem::exists(folder.at("tree/dir")));
    tree_close(tree);
}

/* Nor the file itself, and a pipe in its place is not waited for. */
TEST_F(Source, WhatAWalkFoundMustStillBeAFile)
{
    folder.write("file", content);
    ASSERT_EQ(symlink("file", folder.at("link").c_str()), 0);
    ASSERT_EQ(mkfifo(folder.at("pipe").c_str(), 0600), 0);
    ASSERT_EQ(mkdir(folder.at("dir").c_str(), 0755), 0);
    struct name_dir dir = {};
    dir.root_fd = folder.fd;
    dir.fd = -1;
    EXPECT_EQ(source_open_below(&source, &dir, "file"), 0);
    EXPECT_EQ(source_open_below(&source, &dir, "link"), -ELOOP);
    EXPECT_EQ(source_open_below(&source, &dir, "pipe"), -ESTALE);
    EXPECT_EQ(source_open_below(&source, &dir, "dir"), -EISDIR);
}
