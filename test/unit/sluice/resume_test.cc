/* SPDX-License-Identifier: BSD-3-Clause */
/* What an interrupted transfer has left: a later one finds it, trusts nothing in it, and no other
 * file, process or sender gets in its way. */
#include <atomic>
#include <cstring>
#include <fcntl.h>
#include <random>
#include <string>
#include <sys/file.h>
#include <thread>
#include <vector>

#include "unit/base/seed.h"
#include "unit/sluice/content.h"
#include "unit/sluice/folder.h"

extern "C" {
#include "sluice/files/part_file.h"
}

namespace
{

constexpr uint64_t CHUNK = RECORD_CHUNK_BYTES;

using Hash = std::string; // RECORD_HASH_BYTES

Hash hash_of(const std::string &content)
{
    uint8_t hash[RECORD_HASH_BYTES];

    content_hash(content, hash);
    return Hash((const char *)hash, sizeof hash);
}

class Resume : public testing::Test
{
  protected:
    Resume() : rng(test_seed())
    {
        destination.kind = DESTINATION_DIR;
        destination.dir_fd = folder.fd;
        destination.stream_fd = -1;
        destination.keep_s = 3600;
        content = content_random(rng, 5 * CHUNK + 1234);
        offer.type = RECORD_OFFER;
        offer.file = 1;
        offer.mode = 0640;
        offer.mtime_s = 981173106;
        offer.mtime_ns = 789000000;
        offer.size = content.size();
        EXPECT_EQ(part_file_init(&part), 0);
        strcpy(part.owner, "peer b");
    }
    ~Resume() override
    {
        part_file_fini(&part);
    }

    enum record_code open(bool resume)
    {
        offer.flags = resume ? RECORD_RESUME : 0;
        return part_file_open(&part, &destination, "x", &offer);
    }
    enum record_code write(uint64_t offset, uint64_t len)
    {
        EXPECT_EQ(part.at_bytes, offset);
        return part_file_write(&part, (const uint8_t *)content.data() + offset, (uint32_t)len);
    }
    /* A transfer that is cut off after so many bytes. */
    void interrupted(uint64_t bytes)
    {
        ASSERT_EQ(open(false), RECORD_OK);
        ASSERT_EQ(write(0, bytes), RECORD_OK);
        EXPECT_EQ(part_file_leave(&part), bytes >= CHUNK);
    }
    uint64_t asked(bool *whole)
    {
        struct record ask = offer;

        ask.type = RECORD_ASK;
        ask.flags = 0;
        int basis_fd;
        uint64_t bytes = part_file_ask(&part, &destination, "x", &ask, nullptr, whole, &basis_fd);

        EXPECT_EQ(basis_fd, -1) << "only a sync looks at what is to be replaced";
        return bytes;
    }
    uint64_t asked()
    {
        bool whole;
        uint64_t bytes = asked(&whole);

        EXPECT_FALSE(whole);
        return bytes;
    }
    /* Compares as a sender does: keeps what is right, and writes the rest. Returns the kept bytes.
     */
    uint64_t complete()
    {
        std::vector<Hash> have;
        uint8_t hashes[8 * RECORD_HASH_BYTES];
        uint64_t at, first;

        while (!part_file_hashed(&part)) {
            uint32_t n = part_file_hash(&part, hashes, 1 + (uint32_t)(rng() % 8), &first);

            EXPECT_EQ(first, std::max(have.size() * CHUNK, part.at_bytes));
            have.resize(first / CHUNK);
            for (uint32_t i = 0; i < n; i++)
                have.emplace_back((const char *)hashes + i * RECORD_HASH_BYTES, RECORD_HASH_BYTES);
        }
        for (at = part.at_bytes; at < content.size(); at = part.at_bytes) {
            uint64_t len = std::min(CHUNK, content.size() - at);
            bool same =
                at / CHUNK < have.size() && have[at / CHUNK] == hash_of(content.substr(at, len));

            EXPECT_EQ(same ? part_file_keep(&part, len) : write(at, len), RECORD_OK);
        }
        struct record end = {};
        end.type = RECORD_END_FILE;
        end.size = content.size();
        content_hash(content, end.hash);
        uint64_t kept = part.kept_bytes;
        EXPECT_EQ(part_file_finish(&part, &end), RECORD_OK);
        EXPECT_TRUE(folder.read("x") == content);
        EXPECT_EQ(folder.count(), 1u);
        return kept;
    }
    std::string only() const
    {
        for (auto &e : std::filesystem::directory_iterator(folder.path))
            return e.path().filename();
        return "";
    }

    std::mt19937_64 rng;
    Folder folder;
    std::string content;
    struct destination destination = {};
    struct part_file part = {};
    struct record offer = {};
};

} // namespace

TEST_F(Resume, WholeChunksAreKept)
{
    for (uint64_t bytes : {CHUNK, 2 * CHUNK - 1, 4 * CHUNK + 7, (uint64_t)content.size()}) {
        interrupted(bytes);
        EXPECT_EQ(asked(), bytes - bytes % CHUNK);
        ASSERT_EQ(open(true), RECORD_OK);
        EXPECT_EQ(complete(), bytes - bytes % CHUNK);
        unlink(folder.at("x").c_str());
    }
}

TEST_F(Resume, LessThanAChunkIsNotLeft)
{
    interrupted(CHUNK - 1);
    EXPECT_EQ(folder.count(), 0u);
    EXPECT_EQ(asked(), 0u);
}

/* After a power failure, a part file may have anything in it. */
TEST_F(Resume, WhatDiffersIsWrittenAgain)
{
    interrupted(5 * CHUNK);
    std::string left = folder.read(only()), name = only();
    left[CHUNK + rng() % CHUNK] ^= 1;
    left[3 * CHUNK] ^= 1;
    folder.write(name, left);
    ASSERT_EQ(open(true), RECORD_OK);
    EXPECT_EQ(complete(), 3 * CHUNK);
}

TEST_F(Resume, AShrunkenPartIsReadAsFarAsItGoes)
{
    interrupted(5 * CHUNK);
    ASSERT_EQ(open(true), RECORD_OK);
    ASSERT_EQ(truncate(folder.at(only()).c_str(), 2 * CHUNK + 9), 0);
    EXPECT_EQ(complete(), 2 * CHUNK);
}

/* The sender has room for 64 hashes. */
TEST_F(Resume, HashesWaitUntilTheSenderHasCompared)
{
    constexpr uint32_t MOST = PART_FILE_AHEAD / CHUNK;
    std::vector<uint8_t> hashes(100 * RECORD_HASH_BYTES);
    uint64_t first;

    interrupted(2 * CHUNK);
    part_file_discard(&part);
    ASSERT_EQ(truncate(folder.at(only()).c_str(), 0), 0);
    offer.size = 90 * CHUNK;
    ASSERT_EQ(open(false), RECORD_OK);
    ASSERT_EQ(ftruncate(part.fd, 90 * CHUNK), 0);
    part.at_bytes = CHUNK;
    ASSERT_TRUE(part_file_leave(&part));
    ASSERT_EQ(open(true), RECORD_OK);
    EXPECT_EQ(part_file_hash(&part, hashes.data(), 100, &first), MOST);
    EXPECT_EQ(part_file_hash(&part, hashes.data(), 100, &first), 0u);
    ASSERT_EQ(part_file_keep(&part, 3 * CHUNK), RECORD_OK);
    EXPECT_EQ(part_file_hash(&part, hashes.data(), 100, &first), 3u);
    EXPECT_EQ(first, MOST * CHUNK);
    part_file_discard(&part);
}

/* The second transfer is cut off, too, before it comes as far as the first one. */
TEST_F(Resume, TwoInterruptions)
{
    interrupted(4 * CHUNK);
    ASSERT_EQ(open(true), RECORD_OK);
    ASSERT_EQ(write(0, CHUNK / 2), RECORD_OK);
    EXPECT_TRUE(part_file_leave(&part));
    EXPECT_EQ(asked(), 4 * CHUNK);
    ASSERT_EQ(open(true), RECORD_OK);
    EXPECT_EQ(complete(), 4 * CHUNK);
}

/* A hole of the file replaces what is there. */
TEST_F(Resume, HolesReplaceWhatIsThere)
{
    interrupted(4 * CHUNK);
    memset(&content[CHUNK], 0, 2 * CHUNK);
    ASSERT_EQ(open(true), RECORD_OK);
    ASSERT_EQ(write(0, CHUNK), RECORD_OK);
    ASSERT_EQ(part_file_hole(&part, 2 * CHUNK), RECORD_OK);
    EXPECT_EQ(part.at_bytes, 3 * CHUNK);
    EXPECT_EQ(complete(), CHUNK);
}

TEST_F(Resume, OnlyThisFileOfThisSenderIsResumed)
{
    interrupted(3 * CHUNK);
    EXPECT_EQ(asked(), 3 * CHUNK);
    part.owner[0] = 0;
    EXPECT_EQ(asked(), 0u) << "a sender that is not known";
    strcpy(part.owner, "peer c");
    EXPECT_EQ(asked(), 0u);
    strcpy(part.owner, "peer b");
    offer.mtime_ns++;
    EXPECT_EQ(asked(), 0u);
    offer.mtime_ns--;
    offer.size++;
    EXPECT_EQ(asked(), 0u);
    offer.size--;
    EXPECT_EQ(asked(), 3 * CHUNK);
}

/* Without RESUME, the same part file is used from its beginning. */
TEST_F(Resume, ANewTransferBeginsAnew)
{
    interrupted(3 * CHUNK);
    ASSERT_EQ(open(false), RECORD_OK);
    EXPECT_EQ(part.part_bytes, 0u);
    EXPECT_EQ(folder.count(), 1u);
    EXPECT_EQ(complete(), 0u);
}

TEST_F(Resume, APartThatIsBeingWrittenIsLeftAlone)
{
    interrupted(3 * CHUNK);
    std::string name = only(), left = folder.read(name);
    int fd = ::open(folder.at(name).c_str(), O_RDONLY);
    ASSERT_EQ(flock(fd, LOCK_EX), 0);
    EXPECT_EQ(asked(), 0u);
    ASSERT_EQ(open(true), RECORD_OK);
    EXPECT_EQ(part.part_bytes, 0u);
    EXPECT_STRNE(part.temporary.text, name.c_str());
    ASSERT_EQ(write(0, 2 * CHUNK), RECORD_OK);
    EXPECT_FALSE(part_file_leave(&part)) << "nobody would find it";
    EXPECT_EQ(folder.count(), 1u);
    EXPECT_TRUE(folder.read(name) == left);
    close(fd);
    EXPECT_EQ(asked(), 3 * CHUNK);
}

/* Somebody else may write to the directory: what is no part file of ours is not written to. */
TEST_F(Resume, NothingOfOthersIsWrittenTo)
{
    Folder other;

    interrupted(3 * CHUNK);
    std::string name = only();
    other.write("secret", std::string(3 * CHUNK, 's'));
    for (int kind = 0; kind < 4; kind++) {
        const std::string path = folder.at(name), secret = other.at("secret");

        ASSERT_EQ(unlink(path.c_str()), 0) << kind;
        switch (kind) {
        case 0:
            ASSERT_EQ(symlink(secret.c_str(), path.c_str()), 0);
            break;
        case 1:
            ASSERT_EQ(link(secret.c_str(), path.c_str()), 0);
            break;
        case 2:
            ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
            break;
        case 3:
            folder.write(name, std::string(3 * CHUNK, 's'));
            ASSERT_EQ(chmod(path.c_str(), 0622), 0);
            break;
        }
        EXPECT_EQ(asked(), 0u) << kind;
        ASSERT_EQ(open(true), RECORD_OK) << kind;
        EXPECT_STRNE(part.temporary.text, name.c_str()) << kind;
        EXPECT_EQ(part.part_bytes, 0u) << kind;
        part_file_discard(&part);
        EXPECT_EQ(only(), name) << kind;
        EXPECT_TRUE(other.read("secret") == std::string(3 * CHUNK, 's')) << kind;
    }
}

TEST_F(Resume, AFileThatIsThereIsWhole)
{
    bool whole;

    ASSERT_EQ(open(false), RECORD_OK);
    complete();
    EXPECT_EQ(asked(&whole), 0u);
    EXPECT_TRUE(whole);
    offer.mtime_ns++;
    asked(&whole);
    EXPECT_FALSE(whole);
    offer.mtime_ns--;
    offer.mtime_s++;
    asked(&whole);
    EXPECT_FALSE(whole);
    offer.mtime_s--;
    offer.size--;
    asked(&whole);
    EXPECT_FALSE(whole);
    offer.size++;
    ASSERT_EQ(rename(folder.at("x").c_str(), folder.at("y").c_str()), 0);
    ASSERT_EQ(symlink("y", folder.at("x").c_str()), 0);
    asked(&whole);
    EXPECT_FALSE(whole) << "a link";
}

/* Asking makes nothing, not even directories. */
TEST_F(Resume, AskingChangesNothing)
{
    struct record ask = offer;
    int basis_fd;
    bool whole;

    EXPECT_EQ(part_file_ask(&part, &destination, "a/b/x", &ask, nullptr, &whole, &basis_fd), 0u);
    EXPECT_FALSE(whole);
    EXPECT_EQ(folder.count(), 0u);
}

/* Such a file would be taken for an old part, and removed. */
TEST_F(Resume, NoFileIsReceivedUnderTheNameOfAPart)
{
    offer.flags = 0;
    for (const char *name : {".x.part-0123456789abcdef", "a/.x.part-0123456789abcdef"}) {
        EXPECT_EQ(part_file_open(&part, &destination, name, &offer), RECORD_BAD_NAME) << name;
        EXPECT_STREQ(part.why, "its name is that of an incomplete file");
    }
    ASSERT_EQ(part_file_open(&part, &destination, ".x.part-0123456789abcdeg", &offer), RECORD_OK);
    part_file_discard(&part);
}

TEST_F(Resume, NothingIsLeftIfNothingIsToBeKept)
{
    destination.keep_s = 0;
    ASSERT_EQ(open(false), RECORD_OK);
    ASSERT_EQ(write(0, 3 * CHUNK), RECORD_OK);
    EXPECT_FALSE(part_file_leave(&part));
    EXPECT_EQ(folder.count(), 0u);
}

/* The next large file that comes into the directory takes away what nobody has come back for. */
TEST_F(Resume, OldPartsGo)
{
    interrupted(3 * CHUNK);
    const std::string old = only();
    const char *const not_ours[] = {".x.part-", ".x.part-0123456789abcdeg",
                                    "x.part-0123456789abcdef", ".part-0123456789abcdef",
                                    ".y.part-0123456789abcdef0"};
    for (const char *name : not_ours)
        folder.write(name, "keep");
    folder.write(".locked.part-0123456789abcdef", "keep");
    int fd = ::open(folder.at(".locked.part-0123456789abcdef").c_str(), O_RDONLY);
    ASSERT_EQ(flock(fd, LOCK_EX), 0);
    for (int age_s : {3500, 3700}) {
        for (auto &e : std::filesystem::directory_iterator(folder.path)) {
            struct timespec times[2] = {{time(nullptr) - age_s, 0}, {time(nullptr) - age_s, 0}};
            ASSERT_EQ(utimensat(AT_FDCWD, e.path().c_str(), times, 0), 0);
        }
        part.cleaned = {};
        offer.mtime_s++;
        ASSERT_EQ(open(false), RECORD_OK);
        part_file_discard(&part);
        EXPECT_EQ(access(folder.at(old).c_str(), F_OK) == 0, age_s < 3600) << age_s;
        EXPECT_EQ(folder.count(), 6u + (age_s < 3600)) << age_s;
    }
    close(fd);
}

/* A receiver was killed when it had set the mode of the file, and before it gave it its name. */
TEST_F(Resume, AnOldPartThatIsOnlyReadGoes)
{
    const struct timespec times[2] = {{0, 0}, {0, 0}};

    if (geteuid() != 0)
        GTEST_SKIP() << "only root can become another user, whom modes bind";
    ASSERT_EQ(fchown(folder.fd, 65534, 65534), 0);
    ASSERT_EQ(seteuid(65534), 0);
    interrupted(3 * CHUNK);
    const std::string old = folder.at(only());

    EXPECT_EQ(chmod(old.c_str(), 0400), 0);
    EXPECT_EQ(utimensat(AT_FDCWD, old.c_str(), times, 0), 0);
    EXPECT_EQ(asked(), 0u) << "it cannot be written";
    part_name_clean(folder.fd, 3600, time(nullptr));
    EXPECT_EQ(seteuid(0), 0);
    EXPECT_EQ(folder.count(), 0u);
}

/* The user comes back after that time: what is there still serves. */
TEST_F(Resume, AnOldPartThatIsResumedStays)
{
    interrupted(3 * CHUNK);
    struct timespec times[2] = {{time(nullptr) - 7200, 0}, {time(nullptr) - 7200, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, folder.at(only()).c_str(), times, 0), 0);
    EXPECT_EQ(asked(), 3 * CHUNK);
    part.cleaned = {}; /* another transfer */
    ASSERT_EQ(open(true), RECORD_OK);
    EXPECT_EQ(complete(), 3 * CHUNK);
}

/* Somebody removes the part file, and another transfer of the same file makes a new one. */
TEST_F(Resume, ThePartOfAnotherTransferDoesNotGetTheName)
{
    struct record end = {};

    end.type = RECORD_END_FILE;
    end.size = content.size();
    content_hash(content, end.hash);
    for (int how = 0; how < 3; how++) {
        ASSERT_EQ(open(false), RECORD_OK);
        ASSERT_EQ(write(0, content.size()), RECORD_OK);
        const std::string name = only();
        ASSERT_EQ(unlink(folder.at(name).c_str()), 0);
        folder.write(name, "half");
        if (how == 0)
            EXPECT_EQ(part_file_finish(&part, &end), RECORD_IO);
        else if (how == 1)
            EXPECT_FALSE(part_file_leave(&part));
        else
            part_file_discard(&part);
        EXPECT_EQ(folder.count(), 1u) << how;
        EXPECT_EQ(folder.read(name), "half") << how;
        EXPECT_EQ(part.fd, -1);
        unlink(folder.at(name).c_str());
    }
}

/* Another process looks through the directory, and keeps nothing that may go. */
TEST_F(Resume, ANewPartIsNotTakenAwayBeforeItIsLocked)
{
    std::atomic<bool> over{false};
    std::thread other([&] {
        while (!over)
            part_name_clean(folder.fd, 0, time(nullptr));
    });
    uint32_t lost = 0, i;

    for (i = 0; i < 5000; i++) {
        struct part_name name;
        int fd;

        part_name_make(&name, "peer b", "x", &offer);
        fd = part_name_open(&name, folder.fd, "x", false);
        if (fd < 0)
            break;
        lost += !part_name_holds(&name, folder.fd, fd);
        unlink(folder.at(name.text).c_str());
        close(fd);
    }
    over = true;
    other.join();
    EXPECT_EQ(i, 5000u);
    EXPECT_EQ(lost, 0u);
}

/* A short part is not locked, and has the sender's time before it has its name. */
TEST_F(Resume, AShortPartIsNotTakenAwayBeforeItHasItsName)
{
    std::atomic<bool> over{false};
    std::thread other([&] {
        while (!over)
            part_name_clean(folder.fd, 0, time(nullptr));
    });
    uint32_t i;

    content.resize(10);
    offer.size = content.size();
    destination.overwrite = true;
    for (i = 0; i < 2000 && !HasFailure(); i++) {
        ASSERT_EQ(open(false), RECORD_OK);
        ASSERT_EQ(write(0, content.size()), RECORD_OK);
        complete();
    }
    over = true;
    other.join();
    EXPECT_EQ(i, 2000u);
}

TEST_F(Resume, ShortPartsGoLater)
{
    const int64_t now = time(nullptr);

    folder.write(".x.part-0123456789abcdef", "short");
    folder.write(".y.part-0123456789abcdef", std::string(CHUNK, 'y'));
    part_name_clean(folder.fd, 0, now + 1);
    EXPECT_EQ(only(), ".x.part-0123456789abcdef");
    part_name_clean(folder.fd, 0, now + PART_NAME_BRIEF_S - 60);
    EXPECT_EQ(only(), ".x.part-0123456789abcdef");
    part_name_clean(folder.fd, 2 * PART_NAME_BRIEF_S, now + PART_NAME_BRIEF_S + 60);
    EXPECT_EQ(only(), ".x.part-0123456789abcdef");
    part_name_clean(folder.fd, 0, now + PART_NAME_BRIEF_S + 60);
    EXPECT_EQ(folder.count(), 0u);
}

/* A receiver that is killed before it gives a link its name leaves it under a part's. */
TEST_F(Resume, LinksWithThePartsNameGoLater)
{
    const std::string link = ".l.part-0123456789abcdef", hard = ".h.part-0123456789abcdef";
    const int64_t now = time(nullptr);

    folder.write("file", "x");
    folder.write("other", "x");
    ASSERT_EQ(symlink("nowhere", folder.at(link).c_str()), 0);
    ASSERT_EQ(::link(folder.at("file").c_str(), folder.at(hard).c_str()), 0);
    ASSERT_EQ(symlink("nowhere", folder.at("l").c_str()), 0);
    part_name_clean(folder.fd, 0, now + 30);
    part_name_clean(folder.fd, 3600, now + 3000);
    EXPECT_EQ(folder.count(), 5u);
    part_name_clean(folder.fd, 0, now + 90);
    EXPECT_EQ(folder.count(), 3u);
    EXPECT_EQ(folder.read("file"), "x");
    EXPECT_EQ(access(folder.at("other").c_str(), F_OK), 0);
}

/* A receiver of one file has it: no other one replaces it. */
TEST_F(Resume, TheOneFileIsThere)
{
    bool whole;

    ASSERT_EQ(open(false), RECORD_OK);
    complete();
    destination.kind = DESTINATION_FILE;
    destination.overwrite = true;
    strcpy(destination.base, "x");
    asked(&whole);
    EXPECT_TRUE(whole);
    offer.size = 7;
    EXPECT_EQ(open(false), RECORD_ONE_FILE);
    EXPECT_TRUE(folder.read("x") == content);
}

/* The name follows from a hash that a sender cannot steer by size and time: SHA-256, as Python has
 * it. */
TEST_F(Resume, TheNameIsThatOfTheProtocol)
{
    struct part_name name;

    offer.size = 5 * CHUNK + 1234;
    part_name_make(&name, "peer b", "x", &offer);
    EXPECT_STREQ(name.text, ".x.part-c4f13a4832b1c4bf");
    EXPECT_TRUE(name.lasting);
}
