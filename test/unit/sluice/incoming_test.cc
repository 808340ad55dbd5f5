/* SPDX-License-Identifier: BSD-3-Clause */
/* Records at the receiver: their order, the effect of each, and that none writes outside of the
 * folder. */
#include <cerrno>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "unit/base/seed.h"
#include "unit/sluice/content.h"
#include "unit/sluice/folder.h"
#include "unit/sluice/receiver.h"

extern "C" {
#include "sluice/loop.h"
#include "sluice/say.h"
#include "sluice/transfer/incoming.h"
}

class Incoming : public testing::Test
{
  protected:
    void SetUp() override
    {
        destination.kind = DESTINATION_DIR;
        destination.dir_fd = folder.fd;
        destination.stream_fd = -1;
        ASSERT_EQ(incoming_init(&in, nullptr, &destination, 1), 0);
        ASSERT_EQ(summary_init(&in.summary, false), 0);
        strcpy(in.part.owner, "peer b");
    }
    void TearDown() override
    {
        incoming_fini(&in);
    }

    /* Passes the record on as it would arrive. */
    int give(struct record r, const std::string &data = "")
    {
        std::vector<uint8_t> bytes(RECORD_HEADER_BYTES + data.size());
        struct record back;

        r.len_bytes = (uint32_t)data.size();
        record_encode(bytes.data(), &r);
        memcpy(bytes.data() + RECORD_HEADER_BYTES, data.data(), data.size());
        EXPECT_EQ(record_decode(bytes.data(), bytes.size(), &back, &why), 0) << why;
        return incoming_record(&in, &back, bytes.data() + RECORD_HEADER_BYTES, &why);
    }
    static struct record make(enum record_type type, uint64_t file, uint64_t size = 0,
                              uint64_t offset = 0)
    {
        struct record r = {};

        r.type = (uint8_t)type;
        r.file = file;
        r.size = size;
        r.offset = offset;
        r.mode = type == RECORD_OFFER || type == RECORD_DIR ? 0644 : 0;
        return r;
    }
    struct record end(uint64_t file, const std::string &content)
    {
        struct record r = make(RECORD_END_FILE, file, content.size());

        content_hash(content, r.hash);
        return r;
    }
    /* The RESULT codes queued so far. */
    std::vector<uint32_t> results()
    {
        std::vector<uint32_t> out;

        for (const struct record &r : receiver_answers(&in)) {
            EXPECT_EQ(r.type, RECORD_RESULT);
            EXPECT_EQ(r.file, out.size() + 1);
            out.push_back(r.mode);
        }
        return out;
    }

    Folder folder;
    struct destination destination = {};
    struct incoming in = {};
    const char *why = nullptr;
};

using Codes = std::vector<uint32_t>;

TEST_F(Incoming, AFileAndADirectory)
{
    EXPECT_EQ(give(make(RECORD_OFFER, 1, 6), "d/x"), 0);
    EXPECT_EQ(give(make(RECORD_DATA, 1, 0, 0), "abc"), 0);
    EXPECT_EQ(give(make(RECORD_DATA, 1, 0, 3), "def"), 0);
    EXPECT_EQ(give(end(1, "abcdef")), 0);
    EXPECT_EQ(give(make(RECORD_DIR, 2), "d"), 0);
    EXPECT_EQ(give(make(RECORD_END_ALL, 0, 2)), 0);
    EXPECT_EQ(folder.read("d/x"), "abcdef");
    EXPECT_EQ(results(), (Codes{RECORD_OK, RECORD_OK}));
    EXPECT_TRUE(in.end_all);
    EXPECT_EQ(in.code, SAY_OK);
    EXPECT_EQ(in.summary.files, 1u);
    EXPECT_EQ(in.summary.bytes, 6u);
}

TEST_F(Incoming, OrderIsKept)
{
    EXPECT_LT(give(make(RECORD_DATA, 1), "abc"), 0);
    EXPECT_LT(give(end(1, "")), 0);
    EXPECT_LT(give(make(RECORD_DROP_FILE, 1)), 0);
    EXPECT_LT(give(make(RECORD_OFFER, 2), "x"), 0);
    EXPECT_LT(give(make(RECORD_DIR, 7), "x"), 0);
    EXPECT_LT(give(make(RECORD_END_ALL, 0, 1)), 0);
    EXPECT_LT(give(make(RECORD_RESULT, 1)), 0);
    EXPECT_EQ(folder.count(), 0u);
    EXPECT_EQ(give(make(RECORD_OFFER, 1, 3), "x"), 0);
    EXPECT_LT(give(make(RECORD_OFFER, 2, 3), "y"), 0);
    EXPECT_LT(give(make(RECORD_DIR, 2), "y"), 0);
    EXPECT_LT(give(make(RECORD_END_ALL, 0, 1)), 0);
    EXPECT_LT(give(make(RECORD_DATA, 2), "abc"), 0);
    EXPECT_LT(give(make(RECORD_DATA, 1, 0, 1), "abc"), 0);
    EXPECT_STREQ(why, "a piece does not begin where the previous one ended");
    EXPECT_EQ(give(make(RECORD_DATA, 1, 0, 0), "abc"), 0);
    EXPECT_LT(give(make(RECORD_HOLE, 1, 5, 0)), 0);
    EXPECT_EQ(give(end(1, "abc")), 0);
    EXPECT_EQ(give(make(RECORD_END_ALL, 0, 1)), 0);
    EXPECT_LT(give(make(RECORD_OFFER, 2, 0), "late"), 0);
    EXPECT_EQ(folder.count(), 1u);
}

// A hole of 64 MiB costs its sender 64 bytes, and the receiver the hashing. No more holes are taken
// than the offer has bytes, and none for a file whose size is not known.
TEST_F(Incoming, HolesEndAtTheSizeThatWasOffered)
{
    constexpr uint64_t kHoles = 65536;

    EXPECT_EQ(give(make(RECORD_OFFER, 1, RECORD_HOLE_MAX + 1), "x"), 0);
    EXPECT_EQ(give(make(RECORD_HOLE, 1, RECORD_HOLE_MAX, 0)), 0);
    for (uint64_t i = 1; i < kHoles; i++) {
        ASSERT_LT(give(make(RECORD_HOLE, 1, RECORD_HOLE_MAX, RECORD_HOLE_MAX)), 0) << i;
        ASSERT_STREQ(why, "a piece beyond the size that was offered");
    }
    EXPECT_LT(give(make(RECORD_DATA, 1, 0, RECORD_HOLE_MAX), "ab"), 0);
    EXPECT_EQ(in.part.at_bytes, RECORD_HOLE_MAX);
    EXPECT_EQ(give(make(RECORD_DATA, 1, 0, RECORD_HOLE_MAX), "a"), 0);
    EXPECT_EQ(give(make(RECORD_DROP_FILE, 1)), 0);
    struct record stream = make(RECORD_OFFER, 2);
    stream.flags = RECORD_SIZE_UNKNOWN;
    EXPECT_EQ(give(stream, "y"), 0);
    EXPECT_LT(give(make(RECORD_HOLE, 2, 1, 0)), 0);
    EXPECT_STREQ(why, "a hole in a stream");
}

TEST_F(Incoming, AFileWithoutHolesHasNone)
{
    struct record offer = make(RECORD_OFFER, 1, 4096);

    offer.flags = RECORD_SOLID;
    EXPECT_EQ(give(offer, "x"), 0);
    EXPECT_LT(give(make(RECORD_HOLE, 1, 4096, 0)), 0);
    EXPECT_STREQ(why, "a hole in a file without holes");
}

// A larger file is refused when it is offered, or, if its size is not known, once it is larger. The
// records that follow cost nothing, and the next file is received.
TEST_F(Incoming, FilesBeyondTheLimitAreRefused)
{
    constexpr uint64_t kHuge = 65536ull * RECORD_HOLE_MAX;

    destination.max_bytes = 5;
    EXPECT_EQ(give(make(RECORD_OFFER, 1, kHuge), "x"), 0);
    for (uint64_t at = 0; at < kHuge; at += RECORD_HOLE_MAX)
        ASSERT_EQ(give(make(RECORD_HOLE, 1, RECORD_HOLE_MAX, at)), 0);
    EXPECT_EQ(in.part.hole_bytes, 0u);
    EXPECT_EQ(give(make(RECORD_DROP_FILE, 1)), 0);
    struct record stream = make(RECORD_OFFER, 2);
    stream.flags = RECORD_SIZE_UNKNOWN;
    EXPECT_EQ(give(stream, "y"), 0);
    EXPECT_EQ(give(make(RECORD_DATA, 2, 0, 0), "abcde"), 0);
    EXPECT_EQ(results(), (Codes{RECORD_TOO_LARGE}));
    EXPECT_EQ(give(make(RECORD_DATA, 2, 0, 5), "f"), 0);
    EXPECT_EQ(give(make(RECORD_DROP_FILE, 2)), 0);
    EXPECT_EQ(give(make(RECORD_OFFER, 3, 5), "z"), 0);
    EXPECT_EQ(give(make(RECORD_DATA, 3, 0, 0), "abcde"), 0);
    EXPECT_EQ(give(end(3, "abcde")), 0);
    EXPECT_EQ(results(), (Codes{RECORD_TOO_LARGE, RECORD_TOO_LARGE, RECORD_OK}));
    EXPECT_EQ(folder.count(), 1u);
    EXPECT_EQ(in.code, SAY_LOCAL);
}

// What is there of a file is told only before it is sent, and kept only once it was told.
TEST_F(Incoming, WhatIsThereIsAskedAndKeptInOrder)
{
    const std::string chunk(RECORD_CHUNK_BYTES, 'c');
    struct record offer = make(RECORD_OFFER, 1, 3 * RECORD_CHUNK_BYTES);
    uint64_t bytes;

    destination.keep_s = 60;
    EXPECT_LT(give(make(RECORD_ASK, 2, 5), "x"), 0);
    EXPECT_EQ(give(make(RECORD_ASK, 1, 5), "x"), 0);
    EXPECT_LT(give(make(RECORD_ASK, 1, 5), "x"), 0);
    EXPECT_LT(give(make(RECORD_ANSWER, 1)), 0);
    EXPECT_LT(give(make(RECORD_HAVE, 1)), 0);
    EXPECT_STREQ(why, "a record that only receivers send");
    EXPECT_LT(give(make(RECORD_KEEP, 1, RECORD_CHUNK_BYTES)), 0);
    // An interrupted transfer.
    EXPECT_EQ(give(offer, "x"), 0);
    EXPECT_LT(give(make(RECORD_KEEP, 1, RECORD_CHUNK_BYTES)), 0);
    EXPECT_STREQ(why, "chunks are kept that the receiver has not named");
    for (uint64_t at = 0; at < 2; at++)
        EXPECT_EQ(give(make(RECORD_DATA, 1, 0, at * RECORD_CHUNK_BYTES), chunk), 0);
    EXPECT_LT(give(make(RECORD_ASK, 2, 5), "y"), 0);
    EXPECT_STREQ(why, "a record out of order");
    EXPECT_TRUE(part_file_leave(&in.part));
    in.in_file = false;
    in.file = 0;
    in.results.len = 0;
    // It is resumed.
    EXPECT_EQ(give(make(RECORD_ASK, 2, offer.size), "x"), 0);
    offer.flags = RECORD_RESUME;
    EXPECT_EQ(give(offer, "x"), 0);
    EXPECT_LT(give(make(RECORD_KEEP, 1, RECORD_CHUNK_BYTES)), 0);
    EXPECT_EQ(incoming_tell(&in, &bytes), 0);
    EXPECT_GT(bytes, 2 * RECORD_CHUNK_BYTES);
    EXPECT_EQ(incoming_tell(&in, &bytes), 0);
    EXPECT_EQ(bytes, 0u) << "all was told";
    EXPECT_LT(give(make(RECORD_KEEP, 1, 3 * RECORD_CHUNK_BYTES)), 0);
    EXPECT_LT(give(make(RECORD_KEEP, 1, RECORD_CHUNK_BYTES, RECORD_CHUNK_BYTES)), 0);
    EXPECT_EQ(give(make(RECORD_KEEP, 1, 2 * RECORD_CHUNK_BYTES)), 0);
    EXPECT_EQ(give(make(RECORD_DATA, 1, 0, 2 * RECORD_CHUNK_BYTES), chunk), 0);
    EXPECT_EQ(give(end(1, chunk + chunk + chunk)), 0);
    EXPECT_EQ(in.summary.kept_bytes, 2 * RECORD_CHUNK_BYTES);
    EXPECT_TRUE(folder.read("x") == chunk + chunk + chunk);
    // ANSWER: two chunks; HAVE: both hashes, and no more; RESULT.
    struct record r;
    ASSERT_EQ(record_decode(in.results.queue, in.results.len, &r, &why), 0);
    EXPECT_EQ(r.type, RECORD_ANSWER);
    EXPECT_EQ(r.size, 2 * RECORD_CHUNK_BYTES);
    ASSERT_EQ(record_decode(in.results.queue + RECORD_HEADER_BYTES,
                            in.results.len - RECORD_HEADER_BYTES, &r, &why),
              0);
    EXPECT_EQ(r.type, RECORD_HAVE);
    EXPECT_EQ(r.flags, RECORD_LAST);
    EXPECT_EQ(r.len_bytes, 2u * RECORD_HASH_BYTES);
}

// A name that is refused has nothing, wherever it leads. A copy refuses what it has not asked for.
TEST_F(Incoming, NothingIsToldOfRefusedNames)
{
    char asked_for[] = "y", *paths[] = {asked_for};
    struct copy copy = {};
    struct record r;
    struct stat st;

    folder.write("x", "abc");
    ASSERT_EQ(stat(folder.at("x").c_str(), &st), 0);
    copy.host = "far";
    copy.paths = paths;
    copy.n_paths = 1;
    for (const char *name : {"x", "../x", "a/../x", "x"}) {
        struct record ask = make(RECORD_ASK, in.asked + 1, 3);

        ask.mtime_s = st.st_mtim.tv_sec;
        ask.mtime_ns = (uint32_t)st.st_mtim.tv_nsec;
        in.results.len = in.results.head = 0;
        ASSERT_EQ(give(ask, name), 0);
        ASSERT_EQ(record_decode(in.results.queue, in.results.len, &r, &why), 0);
        EXPECT_EQ(r.flags, in.asked == 1 ? RECORD_WHOLE : 0) << name;
        if (in.asked == 3)
            in.copy = &copy;
    }
}

TEST_F(Incoming, HostileNames)
{
    const std::string outside = folder.path + "-outside"; // no other process has it
    const std::string up = "../" + outside.substr(outside.rfind('/') + 1);
    const std::string names[] = {up, outside, "a/../" + up, "..", ".", "a//b", "x/"};
    uint64_t file = 0;

    for (const std::string &name : names) {
        EXPECT_EQ(give(make(RECORD_OFFER, ++file, 3), name), 0);
        EXPECT_EQ(give(make(RECORD_DATA, file), "abc"), 0);
        EXPECT_EQ(give(end(file, "abc")), 0);
        EXPECT_EQ(give(make(RECORD_DIR, ++file), name), 0);
    }
    EXPECT_EQ(results(), Codes(file, RECORD_BAD_NAME));
    EXPECT_EQ(folder.count(), 0u);
    EXPECT_EQ(in.summary.failed, file);
    EXPECT_EQ(in.code, SAY_TRANSFER);
    EXPECT_NE(access(outside.c_str(), F_OK), 0);
}

TEST_F(Incoming, AZeroByteInAName)
{
    EXPECT_EQ(give(make(RECORD_OFFER, 1), std::string("a\0b", 3)), 0);
    EXPECT_EQ(results(), Codes{RECORD_BAD_NAME});
    EXPECT_EQ(folder.count(), 0u);
}

TEST_F(Incoming, LinksInTheDestination)
{
    Folder outside;

    ASSERT_EQ(symlink(outside.path.c_str(), folder.at("link").c_str()), 0);
    EXPECT_EQ(give(make(RECORD_OFFER, 1, 3), "link/x"), 0);
    EXPECT_EQ(give(make(RECORD_DATA, 1), "abc"), 0);
    EXPECT_EQ(give(end(1, "abc")), 0);
    EXPECT_EQ(results(), Codes{RECORD_IN_THE_WAY});
    EXPECT_EQ(outside.count(), 0u);
}

TEST_F(Incoming, OneFileFailsTheNextSucceeds)
{
    ASSERT_EQ(mkdir(folder.at("x").c_str(), 0777), 0);
    EXPECT_EQ(give(make(RECORD_OFFER, 1, 3), "x"), 0);
    EXPECT_EQ(give(make(RECORD_DATA, 1), "abc"), 0);
    EXPECT_EQ(give(make(RECORD_HOLE, 1, 77, 1000)), 0); /* skipped without being read */
    EXPECT_EQ(give(end(1, "abc")), 0);
    EXPECT_EQ(give(make(RECORD_OFFER, 2, 0), "y"), 0);
    EXPECT_EQ(give(end(2, "")), 0);
    EXPECT_EQ(results(), (Codes{RECORD_IN_THE_WAY, RECORD_OK}));
    EXPECT_EQ(in.code, SAY_LOCAL);
}

TEST_F(Incoming, DroppedFilesLeaveNothing)
{
    EXPECT_EQ(give(make(RECORD_OFFER, 1, 3), "x"), 0);
    EXPECT_EQ(give(make(RECORD_DATA, 1), "ab"), 0);
    EXPECT_EQ(give(make(RECORD_DROP_FILE, 1)), 0);
    EXPECT_EQ(folder.count(), 0u);
    EXPECT_EQ(results(), Codes{RECORD_DROPPED});
    EXPECT_EQ(in.code, SAY_TRANSFER);
}

TEST_F(Incoming, WrongHash)
{
    EXPECT_EQ(give(make(RECORD_OFFER, 1, 3), "x"), 0);
    EXPECT_EQ(give(make(RECORD_DATA, 1), "abc"), 0);
    EXPECT_EQ(give(end(1, "abd")), 0);
    EXPECT_EQ(folder.count(), 0u);
    EXPECT_EQ(results(), Codes{RECORD_CORRUPT});
}

// The far end of a copy may send what the near end has asked for, and nothing else.
TEST_F(Incoming, NamesThatWereNotAskedFor)
{
    const char *paths[] = {"/far/x", "d"};
    struct copy copy = {};

    copy.host = "far";
    copy.paths = (char *const *)paths;
    copy.n_paths = 2;
    copy.recursive = true;
    in.copy = &copy;
    EXPECT_EQ(give(make(RECORD_OFFER, 1, 3), ".bash_login"), 0);
    EXPECT_EQ(give(make(RECORD_DATA, 1), "abc"), 0);
    EXPECT_EQ(give(end(1, "abc")), 0);
    EXPECT_EQ(give(make(RECORD_DIR, 2), "far"), 0);
    EXPECT_EQ(give(make(RECORD_OFFER, 3, 0), "x"), 0);
    EXPECT_EQ(give(end(3, "")), 0);
    EXPECT_EQ(give(make(RECORD_OFFER, 4, 0), "d/y"), 0);
    EXPECT_EQ(give(end(4, "")), 0);
    EXPECT_EQ(give(make(RECORD_OFFER, 5, 0), "d/../.bash_login"), 0);
    EXPECT_EQ(results(),
              (Codes{RECORD_BAD_NAME, RECORD_BAD_NAME, RECORD_OK, RECORD_OK, RECORD_BAD_NAME}));
    EXPECT_EQ(folder.count(), 3u); /* d, d/y, x */
    EXPECT_EQ(in.code, SAY_TRANSFER);
    in.copy = nullptr;
}

// A user who has asked for a file gets no tree of its name: it would add files to a directory that
// exists here.
TEST_F(Incoming, ATreeWhereAFileWasAskedFor)
{
    const char *paths[] = {"d"};
    struct copy copy = {};

    copy.host = "far";
    copy.paths = (char *const *)paths;
    copy.n_paths = 1;
    in.copy = &copy;
    EXPECT_EQ(give(make(RECORD_OFFER, 1, 0), "d/.bash_login"), 0);
    EXPECT_EQ(give(end(1, "")), 0);
    EXPECT_EQ(give(make(RECORD_DIR, 2), "d"), 0);
    EXPECT_EQ(folder.count(), 0u);
    EXPECT_EQ(give(make(RECORD_OFFER, 3, 0), "d"), 0);
    EXPECT_EQ(give(end(3, "")), 0);
    EXPECT_EQ(results(), (Codes{RECORD_BAD_NAME, RECORD_BAD_NAME, RECORD_OK}));
    EXPECT_EQ(in.code, SAY_TRANSFER);
    in.copy = nullptr;
}

// Only the receiver of a copy reads a token, and only as the first record.
TEST_F(Incoming, ATokenThatNobodyAskedFor)
{
    EXPECT_LT(give(make(RECORD_TOKEN, 0)), 0);
    EXPECT_STREQ(why, "a token, which only sluice cp asks for");
    EXPECT_EQ(give(make(RECORD_OFFER, 1, 3), "x"), 0);
    EXPECT_LT(give(make(RECORD_TOKEN, 0)), 0);
    EXPECT_FALSE(in.end_all);
}

/* Any records in any order are at most refused. They never write outside, and never crash. */
TEST_F(Incoming, RandomRecords)
{
    std::mt19937_64 rng(test_seed());
    const char *names[] = {"a", "b/c", "../up", "a/b", "/abs", "d", "d/..", ".x", "b"};
    Folder parent;

    close(open(parent.at("sentinel").c_str(), O_CREAT | O_WRONLY, 0600));
    ASSERT_EQ(mkdir(parent.at("in").c_str(), 0777), 0);
    destination.dir_fd = open(parent.at("in").c_str(), O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < 5000; i++) {
        uint64_t file = in.file + rng() % 2;
        enum record_type type = (enum record_type)(RECORD_OFFER + rng() % 6);
        struct record r = make(type, file == 0 ? 1 : file);
        std::string data;

        if (type == RECORD_OFFER || type == RECORD_DIR)
            data = names[rng() % (sizeof names / sizeof *names)];
        /* All those names soon become directories, so some files have names of their own. */
        if (type == RECORD_OFFER && rng() % 2)
            data = "own" + std::to_string(i);
        if (type == RECORD_DATA)
            data = std::string(1 + rng() % 5000, 'd');
        if (type == RECORD_HOLE)
            r.size = 1 + rng() % 100000;
        if (type == RECORD_DATA || type == RECORD_HOLE)
            r.offset = rng() % 4 ? in.part.at_bytes : rng() % 100000;
        if (type == RECORD_OFFER)
            r.flags = RECORD_SIZE_UNKNOWN;
        if (type == RECORD_END_FILE && rng() % 2) {
            r.size = in.part.at_bytes;
            digest_value(in.part.digest, r.hash);
        }
        give(r, data);
    }
    EXPECT_GT(in.summary.files, 0u);
    EXPECT_GT(in.summary.failed, 0u);
    part_file_discard(&in.part);
    size_t parts = 0, entries = 0;
    for (auto &e : std::filesystem::recursive_directory_iterator(parent.path))
        parts += e.path().string().find(".part-") != std::string::npos;
    for (auto &e : std::filesystem::directory_iterator(parent.path)) {
        (void)e;
        entries++;
    }
    EXPECT_EQ(parts, 0u);
    EXPECT_EQ(entries, 2u); /* the sentinel and "in" */
    close(destination.dir_fd);
}

// A signal comes while a pipe is full: that is no failure of the file.
TEST_F(Incoming, ASignalDoesNotMakeAFileFail)
{
    auto stopped = [this] {
        std::string much(1u << 20, 'x');
        int ends[2];

        if (pipe2(ends, O_NONBLOCK) < 0)
            exit(1);
        destination.kind = DESTINATION_STREAM;
        destination.stream_fd = ends[1];
        if (give(make(RECORD_OFFER, 1, much.size()), "x") != 0)
            exit(2);
        loop_end(129);
        if (give(make(RECORD_DATA, 1), much) != 0)
            exit(3);
        exit(results().empty() && in.code == SAY_OK && !in.skipping ? 0 : 4);
    };

    EXPECT_EXIT(stopped(), testing::ExitedWithCode(0), "");
}

// Requests that have come, in memory, and a connection that has broken since.
class Broken : public Incoming
{
  protected:
    void SetUp() override
    {
        Incoming::SetUp();
        memory.resize(PACK_BYTES);
        in.buffers.at[0] = memory.data();
        in.buffers.n = 1;
        in.state = INCOMING_OPEN;
        in.served = true;
        in.status = -ECONNRESET;
    }
    void arrives(const std::vector<struct record> &records, const std::string &data = "")
    {
        uint8_t *at = memory.data() + PACK_FIRST;

        for (struct record r : records) {
            if (r.type == RECORD_OFFER || r.type == RECORD_ASK)
                r.len_bytes = (uint32_t)data.size();
            record_encode(at, &r);
            memcpy(at + RECORD_HEADER_BYTES, data.data(), r.len_bytes);
            at += RECORD_HEADER_BYTES + r.len_bytes;
        }
        in.len[0] = (uint64_t)(at - memory.data()) - PACK_FIRST;
        in.n_ready = 1;
    }

    std::vector<uint8_t> memory;
};

// Nobody takes the answers any more. What has come is read nevertheless, and the connection ends.
TEST_F(Broken, AnswersThatNobodyTakesHoldNothingUp)
{
    constexpr uint32_t N = 2 * RESULT_QUEUE_MANY / RECORD_HEADER_BYTES;
    std::vector<struct record> asks;

    for (uint32_t i = 1; i <= N; i++)
        asks.push_back(make(RECORD_ASK, i, 5));
    arrives(asks, "x");
    for (int i = 0; i < 100 && incoming_work(&in, 1u << 20); i++)
        ;
    EXPECT_EQ(in.asked, N);
    EXPECT_EQ(in.state, INCOMING_OVER);
}

// Keeping a chunk is work, for which other senders wait.
TEST_F(Broken, KeptChunksAreWork)
{
    struct record offer = make(RECORD_OFFER, 1, 8 * RECORD_CHUNK_BYTES);
    std::vector<struct record> keeps;

    destination.keep_s = 60;
    ASSERT_EQ(give(offer, "x"), 0);
    ASSERT_EQ(ftruncate(in.part.fd, (off_t)offer.size), 0);
    in.part.at_bytes = offer.size;
    ASSERT_TRUE(part_file_leave(&in.part));
    in.in_file = false;
    in.file = 0;
    offer.flags = RECORD_RESUME;
    ASSERT_EQ(give(offer, "x"), 0);
    in.part.hashed_bytes = offer.size;
    for (uint64_t at = 0; at < 8; at++)
        keeps.push_back(make(RECORD_KEEP, 1, RECORD_CHUNK_BYTES, at * RECORD_CHUNK_BYTES));
    arrives(keeps);
    EXPECT_TRUE(incoming_work(&in, 3 * RECORD_CHUNK_BYTES));
    EXPECT_EQ(in.part.at_bytes, 3 * RECORD_CHUNK_BYTES);
    while (incoming_work(&in, 3 * RECORD_CHUNK_BYTES))
        ;
    EXPECT_EQ(in.part.at_bytes, offer.size);
}

// What has come from one host is told to no other, even if one user copies from both.
TEST_F(Broken, AnotherHostOfACopyIsAnotherSender)
{
    struct sluice_completion accepted = {};
    struct copy copy = {};

    accepted.op = SLUICE_OP_ACCEPT;
    in.copy = &copy;
    for (const char *host : {"far", "me@other", (const char *)nullptr}) {
        in.part.owner[0] = 0;
        copy.host = host;
        incoming_complete(&in, &accepted);
        EXPECT_EQ(std::string(in.part.owner), std::string("copy ") + (host == nullptr ? "" : host));
    }
}
