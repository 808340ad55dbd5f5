/* SPDX-License-Identifier: BSD-3-Clause */
/* Pieces that are read and written behind: every byte at its place, the hash in order, errors that
 * stop a file and no other one, and nothing touched after a cancel. */
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "unit/base/seed.h"
#include "unit/sluice/content.h"
#include "unit/sluice/folder.h"
#include "unit/sluice/storage/fixture.h"

extern "C" {
#include "sluice/storage/piece.h"
#include "sluice/storage/ring.h"
#include "sluice/storage/storage.h"
}

namespace
{

constexpr uint32_t kPiece = 4 << 20;

/* A file, its pieces, and page-aligned memory for them. */
struct File {
    File(const std::string &path, size_t size, bool direct) : size(size)
    {
        fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (direct)
            direct_fd = open(path.c_str(), O_RDWR | O_DIRECT | O_CLOEXEC);
        digest = digest_create();
        if (posix_memalign((void **)&memory, PIECE_ALIGN, size + PIECE_ALIGN) != 0)
            abort();
        pieces.resize((size + kPiece - 1) / kPiece);
        storage_begin(&file, fd, direct_fd, digest);
    }
    ~File()
    {
        close(fd);
        if (direct_fd >= 0)
            close(direct_fd);
        digest_destroy(digest);
        free(memory);
    }
    void put(struct storage *s, bool write, size_t shift = 0)
    {
        for (size_t i = 0; i < pieces.size(); i++) {
            struct storage_piece *p = &pieces[i];

            p->file = &file;
            p->owner = this;
            p->offset = i * kPiece;
            p->data = memory + p->offset + shift;
            p->len_bytes = (uint32_t)std::min<size_t>(kPiece, size - p->offset);
            p->write = write;
            ASSERT_EQ(storage_put(s, p), 0);
        }
    }
    /* What is in the file. */
    std::string first(size_t len_bytes) const
    {
        std::string content(len_bytes, 0);

        EXPECT_EQ(pread(fd, content.data(), len_bytes, 0), (ssize_t)len_bytes);
        return content;
    }
    std::string content() const
    {
        return first(size);
    }
    void expect_digest(const std::string &content)
    {
        uint8_t expected[RECORD_HASH_BYTES], hash[RECORD_HASH_BYTES];

        content_hash(content, expected);
        digest_value(digest, hash);
        EXPECT_TRUE(std::equal(hash, hash + sizeof hash, expected));
    }
    size_t size;
    int fd, direct_fd = -1;
    struct digest *digest;
    uint8_t *memory = nullptr;
    std::vector<struct storage_piece> pieces;
    struct storage_file file;
};

class Storage : public WithStorage, public testing::WithParamInterface<bool>
{
  protected:
    Storage() : WithStorage(4)
    {
    }
    struct storage_piece *take()
    {
        for (;;) {
            bool some = storage_wait(storage);
            struct storage_piece *piece = storage_take(storage);

            if (piece != nullptr || !some)
                return piece;
        }
    }
    /* Takes all pieces of the files, which must be in order for each. */
    void take_all(std::vector<std::unique_ptr<File>> &files, int err = 0)
    {
        size_t left = 0;
        std::vector<size_t> next(files.size());

        for (auto &f : files)
            left += f->pieces.size();
        for (; left > 0; left--) {
            struct storage_piece *p = take();

            ASSERT_NE(p, nullptr);
            for (size_t i = 0; i < files.size(); i++) {
                if (files[i].get() == p->owner) {
                    EXPECT_EQ(p, &files[i]->pieces[next[i]++]);
                }
            }
            EXPECT_EQ(p->err, err);
            EXPECT_FALSE(p->busy);
        }
        EXPECT_EQ(storage_take(storage), nullptr);
    }
    std::string path(int i)
    {
        return folder.at(std::to_string(i));
    }
    std::mt19937_64 rng{test_seed()};
    Folder folder;
};

} // namespace

TEST_P(Storage, SeveralFilesAreWrittenAndReadAtTheSameTime)
{
    std::vector<std::unique_ptr<File>> files;
    std::vector<std::string> contents;

    for (int i = 0; i < 5; i++) {
        files.push_back(std::make_unique<File>(path(i), 1 + rng() % (6 * kPiece), GetParam()));
        contents.push_back(content_large(rng, files[i]->size));
        std::copy(contents[i].begin(), contents[i].end(), files[i]->memory);
        files[i]->put(storage, true);
    }
    take_all(files);
    for (int i = 0; i < 5; i++) {
        EXPECT_EQ(files[i]->file.done_bytes, files[i]->size);
        EXPECT_FALSE(storage_busy(&files[i]->file));
        files[i]->expect_digest(contents[i]);
        EXPECT_TRUE(files[i]->content() == contents[i]);
        digest_reset(files[i]->digest);
        std::fill_n(files[i]->memory, files[i]->size, 0);
        storage_begin(&files[i]->file, files[i]->fd, files[i]->direct_fd, files[i]->digest);
        files[i]->put(storage, false, i == 4 ? 1 : 0); /* one into memory that is not aligned */
    }
    take_all(files);
    for (int i = 0; i < 5; i++) {
        files[i]->expect_digest(contents[i]);
        EXPECT_EQ(memcmp(contents[i].data(), files[i]->memory + (i == 4 ? 1 : 0), files[i]->size),
                  0);
    }
    EXPECT_GT(storage_cpu_ns(storage), 0u);
}

TEST_P(Storage, ACancelLeavesNothingUnderWay)
{
    for (int round = 0; round < 6; round++) {
        std::vector<std::unique_ptr<File>> files;
        std::string content = content_large(rng, 4 * kPiece);

        for (int i = 0; i < 2; i++) {
            files.push_back(std::make_unique<File>(path(i), content.size(), GetParam()));
            std::copy(content.begin(), content.end(), files[i]->memory);
            files[i]->put(storage, true);
        }
        usleep((useconds_t)(rng() % 3000));
        storage_cancel(storage, &files[0]->file);
        EXPECT_FALSE(storage_busy(&files[0]->file));
        if (GetParam()) {
            EXPECT_EQ(files[0]->file.done_bytes % kPiece, 0u);
        }
        /* What is written now is not ours any more. */
        std::fill_n(files[0]->memory, content.size(), 0);
        std::string now = files[0]->first(files[0]->file.done_bytes);
        EXPECT_TRUE(now == content.substr(0, now.size()));
        files.erase(files.begin());
        take_all(files);
        files[0]->expect_digest(content);
    }
}

TEST_P(Storage, AnErrorStopsTheFileAndNoOtherOne)
{
    std::vector<std::unique_ptr<File>> bad, good;
    std::string content = content_large(rng, 3 * kPiece);
    int n = 0;

    bad.push_back(std::make_unique<File>(path(0), content.size(), GetParam()));
    good.push_back(std::make_unique<File>(path(1), content.size(), GetParam()));
    std::copy(content.begin(), content.end(), good[0]->memory);
    good[0]->put(storage, true);
    /* It is shorter than it was. */
    ASSERT_EQ(ftruncate(bad[0]->fd, kPiece + 5), 0);
    bad[0]->put(storage, false);
    for (int i = 0; i < 6; i++) {
        struct storage_piece *p = take();

        ASSERT_NE(p, nullptr);
        if (p->owner == good[0].get()) {
            EXPECT_EQ(p->err, 0);
            continue;
        }
        EXPECT_EQ(p->err, n == 0 ? 0 : n == 1 ? -ENODATA : -ECANCELED);
        n++;
    }
    EXPECT_EQ(n, 3);
    EXPECT_EQ(bad[0]->file.done_bytes, kPiece);
    good[0]->expect_digest(content);
}

TEST_P(Storage, ThreadsTakeNoSignals)
{
    static volatile sig_atomic_t caught_by;
    std::vector<std::unique_ptr<File>> files;
    pid_t owner = gettid();

    caught_by = 0;

    files.push_back(std::make_unique<File>(path(0), 2 * kPiece, GetParam()));
    files[0]->put(storage, true);
    take_all(files);
    ASSERT_EQ(signal(SIGUSR1, [](int) { caught_by = (sig_atomic_t)gettid(); }), SIG_DFL);
    sigset_t block, before;
    sigemptyset(&block);
    sigaddset(&block, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &block, &before);
    kill(getpid(), SIGUSR1); /* would go to any thread that takes it */
    usleep(20000);
    EXPECT_EQ(caught_by, 0);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    EXPECT_EQ(caught_by, owner);
    signal(SIGUSR1, SIG_DFL);
}

INSTANTIATE_TEST_SUITE_P(Of, Storage, testing::Bool(), [](const auto &i) {
    return std::string(i.param ? "DirectFiles" : "Files");
});

// A file system may say only when it is written to that it has no direct I/O.
TEST_P(Storage, WhatIsRefusedDirectlyGoesThroughThePageCache)
{
    std::vector<std::unique_ptr<File>> files;
    std::string content = content_large(rng, 3 * kPiece + 77);

    files.push_back(std::make_unique<File>(path(0), content.size(), false));
    std::copy(content.begin(), content.end(), files[0]->memory);
    if (GetParam()) /* refuses what is written anywhere but at its beginning, or is long */
        files[0]->file.direct_fd = open("/proc/self/setgroups", O_WRONLY | O_CLOEXEC);
    files[0]->put(storage, true);
    take_all(files);
    files[0]->expect_digest(content);
    EXPECT_TRUE(files[0]->content() == content);
    EXPECT_EQ(storage_refused(&files[0]->file), GetParam());
    if (GetParam())
        close(files[0]->file.direct_fd);
}

/* Data of several records in one request are not aligned, and such a piece is hashed last. */
TEST_P(Storage, TheHashIsInOrderWhateverGoesPastTheCache)
{
    constexpr uint32_t kPart = 64 << 10, kParts = 16;
    std::string content = content_large(rng, kPart * kParts),
                shifted = std::string(64, 0) + content;

    for (int run = 0; run < 40; run++) {
        std::vector<std::unique_ptr<File>> files;

        files.push_back(std::make_unique<File>(path(run), content.size(), GetParam()));
        File &f = *files[0];
        std::copy(content.begin(), content.end(), f.memory);
        f.pieces.resize(kParts);
        for (uint32_t i = 0; i < kParts; i++) {
            bool aligned = rng() % 2 == 0;
            uint8_t *data = aligned ? f.memory : (uint8_t *)shifted.data() + 64;

            f.pieces[i] = {};
            f.pieces[i].file = &f.file;
            f.pieces[i].owner = &f;
            f.pieces[i].offset = i * kPart;
            f.pieces[i].data = data + i * kPart;
            f.pieces[i].len_bytes = kPart;
            f.pieces[i].write = true;
            ASSERT_EQ(storage_put(storage, &f.pieces[i]), 0);
        }
        take_all(files);
        f.expect_digest(content);
        EXPECT_TRUE(f.content() == content);
    }
}

TEST(StorageRing, SeveralPiecesAreUnderWay)
{
    std::mt19937_64 rng{test_seed()};
    Folder folder;
    int err = 0;
    struct ring *r = ring_open(&err);

    if (r == nullptr)
        GTEST_SKIP() << "no io_uring here: " << strerror(-err);
    std::string content = content_large(rng, RING_DEPTH * kPiece);
    File f(folder.at("file"), content.size(), true);
    std::copy(content.begin(), content.end(), f.memory);
    if (f.direct_fd < 0)
        GTEST_SKIP() << "no direct I/O here";
    for (uint32_t i = 0; i < RING_DEPTH; i++) {
        f.pieces[i].data = f.memory + i * kPiece;
        f.pieces[i].offset = i * kPiece;
        f.pieces[i].write = true;
        ASSERT_EQ(ring_submit(r, i, &f.file, &f.pieces[i], kPiece), 0);
    }
    for (uint32_t i = 0; i < RING_DEPTH; i++)
        EXPECT_EQ(ring_wait(r, i), (int64_t)kPiece);
    EXPECT_TRUE(f.content() == content);
    ring_close(r);
}
