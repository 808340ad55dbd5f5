/* SPDX-License-Identifier: BSD-3-Clause */
/* The sender's reaction to RESULT records, right and wrong ones. */
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "unit/sluice/folder.h"

extern "C" {
#include "sluice/say.h"
#include "sluice/sender/sender.h"
}

class Result : public testing::Test
{
  protected:
    void SetUp() override
    {
        options.host = "peer";
        s.options = &options;
        ASSERT_EQ(summary_init(&s.summary, true), 0);
    }
    void TearDown() override
    {
        sender_forget(&s);
        summary_fini(&s.summary);
    }
    void expect(const char *name, bool directory = false)
    {
        s.file++;
        ASSERT_TRUE(sender_expect(&s, name, directory));
    }
    static std::string result(uint64_t file, uint32_t code, const std::string &message = "")
    {
        struct record r = {};
        std::string out(RECORD_HEADER_BYTES, '\0');

        r.type = RECORD_RESULT;
        r.file = file;
        r.mode = code;
        r.len_bytes = (uint32_t)message.size();
        record_encode((uint8_t *)&out[0], &r);
        return out + message;
    }
    void give(const std::string &bytes)
    {
        sender_results(&s, (const uint8_t *)bytes.data(), bytes.size());
    }

    struct sender_options options = {};
    struct sender s = {};
};

TEST_F(Result, SeveralInOneRequest)
{
    expect("a");
    expect("d", true);
    expect("b");
    s.first->bytes = 10;
    give(result(1, RECORD_OK) + result(2, RECORD_OK) + result(3, RECORD_OK));
    EXPECT_EQ(s.first, nullptr);
    EXPECT_EQ(s.code, SAY_OK);
    EXPECT_EQ(s.summary.files, 2u);
    EXPECT_EQ(s.summary.bytes, 10u);
}

TEST_F(Result, AFileIsRefusedWhileItIsSent)
{
    expect("a");
    s.in_file = true;
    give(result(1, RECORD_DENIED, "cannot be made: \x1b[31mno"));
    EXPECT_TRUE(s.refused);
    EXPECT_FALSE(s.giving_up);
    EXPECT_EQ(s.code, SAY_REMOTE);
    EXPECT_EQ(s.summary.failed, 1u);
}

TEST_F(Result, FullDiskEndsItAll)
{
    expect("a");
    expect("b");
    give(result(1, RECORD_NO_SPACE));
    EXPECT_TRUE(s.giving_up);
    EXPECT_EQ(s.code, SAY_REMOTE);
    EXPECT_EQ(s.status, 0);
}

TEST_F(Result, DroppedBySenderIsSaidOnce)
{
    expect("a");
    s.last->dropped = true;
    s.code = SAY_LOCAL;
    give(result(1, RECORD_DROPPED));
    EXPECT_EQ(s.code, SAY_LOCAL);
    EXPECT_EQ(s.summary.failed, 1u);
}

TEST_F(Result, Nonsense)
{
    give(result(1, RECORD_OK)); /* no file is waiting */
    EXPECT_NE(s.status, 0);
    EXPECT_EQ(s.code, SAY_TRANSFER);

    s.status = s.code = 0;
    expect("a");
    expect("b");
    give(result(2, RECORD_OK)); /* not in order */
    EXPECT_NE(s.status, 0);

    s.status = s.code = 0;
    s.file = 1;
    s.in_file = true;
    give(result(1, RECORD_OK)); /* before the file has ended */
    EXPECT_NE(s.status, 0);

    s.status = s.code = 0;
    s.in_file = false;
    s.first->dropped = true;
    give(result(1, RECORD_OK)); /* although the file was dropped */
    EXPECT_NE(s.status, 0);

    s.status = s.code = 0;
    give(result(1, RECORD_IO).substr(0, 63));
    EXPECT_NE(s.status, 0);

    s.status = s.code = 0;
    give(std::string(1000, 'x'));
    EXPECT_NE(s.status, 0);
    EXPECT_EQ(s.code, SAY_TRANSFER);
}

/* What a receiver says that the sender resumes with. */
class Told : public Result
{
  protected:
    void SetUp() override
    {
        Result::SetUp();
        ASSERT_EQ(sender_resume_init(&s), 0);
        expect("a");
        s.in_file = true;
        s.resume.comparing = true;
    }
    void TearDown() override
    {
        sender_resume_fini(&s);
        Result::TearDown();
    }
    static std::string have(uint64_t file, uint64_t chunk, uint32_t n, bool last = false)
    {
        struct record r = {};
        std::string out(RECORD_HEADER_BYTES, '\0');

        r.type = RECORD_HAVE;
        r.file = file;
        r.flags = last ? RECORD_LAST : 0;
        r.offset = chunk * RECORD_CHUNK_BYTES;
        r.len_bytes = n * RECORD_HASH_BYTES;
        record_encode((uint8_t *)&out[0], &r);
        return out + std::string(r.len_bytes, 'h');
    }
    static std::string answer(uint64_t number, bool whole = false)
    {
        struct record r = {};
        std::string out(RECORD_HEADER_BYTES, '\0');

        r.type = RECORD_ANSWER;
        r.file = number;
        r.flags = whole ? RECORD_WHOLE : 0;
        record_encode((uint8_t *)&out[0], &r);
        return out;
    }
    bool right(const std::string &bytes)
    {
        s.status = s.code = 0;
        give(bytes);
        return s.status == 0;
    }
};

TEST_F(Told, HashesInOrderAndNoMoreThanThereIsRoomFor)
{
    EXPECT_TRUE(right(have(1, 0, 40)));
    EXPECT_FALSE(right(have(1, 39, 1))) << "again";
    EXPECT_FALSE(right(have(1, 41, 1))) << "a gap";
    EXPECT_FALSE(right(have(1, 40, RECORD_HASHES_MAX - 39))) << "more than there is room for";
    EXPECT_TRUE(right(have(1, 40, RECORD_HASHES_MAX - 40)));
    s.resume.from += RECORD_CHUNK_BYTES;
    EXPECT_TRUE(right(have(1, RECORD_HASHES_MAX, 1, true)));
    EXPECT_FALSE(right(have(1, RECORD_HASHES_MAX + 1, 0, true))) << "after the last";
}

TEST_F(Told, HashesOfOtherFiles)
{
    EXPECT_FALSE(right(have(2, 0, 1))) << "of a file to come";
    s.in_file = false;
    EXPECT_TRUE(right(have(1, 0, 1))) << "late";
    s.in_file = true;
    s.resume.comparing = false;
    EXPECT_FALSE(right(have(1, 0, 1))) << "nobody asked";
}

TEST_F(Told, AnswersThatNobodyAskedFor)
{
    EXPECT_FALSE(right(answer(1)));
    s.resume.asks[1] = (struct sender_ask *)calloc(1, sizeof(struct sender_ask) + 1);
    s.resume.last = 1;
    EXPECT_FALSE(right(answer(2)));
    EXPECT_TRUE(right(answer(1)));
    EXPECT_TRUE(s.resume.asks[1]->answered);
    EXPECT_FALSE(right(answer(1))) << "twice";
}

/* Files of one name, from two folders: the receiver was asked about both before one was sent. */
class SameName : public Told
{
  protected:
    void SetUp() override
    {
        Told::SetUp();
        for (const char *dir : {"a", "b"}) {
            ASSERT_EQ(mkdir(folder.at(dir).c_str(), 0777), 0);
            folder.write(std::string(dir) + "/f", dir);
            paths.push_back(folder.at(std::string(dir) + "/f"));
        }
        for (std::string &path : paths)
            words.push_back(&path[0]);
        options.resume = true;
        options.paths = words.data();
        options.n_paths = (int)words.size();
        memory.resize(PACK_BYTES);
        s.pack.memory = memory.data();
        s.in_file = false;
        while (sender_walks(&s))
            ;
        ASSERT_EQ(s.walk.n, 2u);
        ASSERT_EQ(s.resume.last, 2u);
    }
    void TearDown() override
    {
        sender_walk_fini(&s);
        Told::TearDown();
    }
    /* Of the file that is next. */
    enum sender_has has()
    {
        uint64_t link;

        return sender_receiver_has(&s, s.walk.first, &link);
    }

    Folder folder;
    std::vector<std::string> paths;
    std::vector<char *> words;
    std::vector<uint8_t> memory;
};

TEST_F(SameName, AnAnswerIsAboutOneFile)
{
    EXPECT_EQ(has(), SENDER_HAS_UNKNOWN);
    ASSERT_TRUE(right(answer(1, true) + answer(2)));
    EXPECT_EQ(has(), SENDER_HAS_ALL);
    EXPECT_EQ(has(), SENDER_HAS_NOTHING) << "once";
    sender_walked(&s);
    EXPECT_EQ(has(), SENDER_HAS_NOTHING);
}

/* A file is looked at once more if others took their time since the ASK, and only then. */
TEST_F(SameName, AnAnswerIsAboutAFileAsItIs)
{
    for (const char *changed : {"", "a/f", "b/f"}) {
        sender_walk_fini(&s);
        sender_resume_fini(&s);
        ASSERT_EQ(sender_resume_init(&s), 0);
        while (sender_walks(&s))
            ;
        ASSERT_TRUE(right(answer(1, true) + answer(2, true)));
        if (*changed != 0)
            folder.write(changed, "changed since");
        EXPECT_EQ(has(), SENDER_HAS_ALL) << changed << ": nothing was sent";
        sender_walked(&s);
        s.resume.offers++;
        EXPECT_EQ(has(), strcmp(changed, "b/f") == 0 ? SENDER_HAS_NOTHING : SENDER_HAS_ALL)
            << changed;
    }
}

/* The second one was there, but the first one may replace it. */
TEST_F(SameName, AnAnswerIsOutdatedByAnotherFile)
{
    ASSERT_TRUE(right(answer(1) + answer(2, true)));
    EXPECT_EQ(has(), SENDER_HAS_NOTHING);
    sender_outdates(&s, "f");
    sender_walked(&s);
    EXPECT_EQ(has(), SENDER_HAS_NOTHING);
}

/* A file without an answer of its own gets none of another's. */
TEST_F(SameName, AFileThatWasNotAskedAboutIsSent)
{
    ASSERT_TRUE(right(answer(1, true) + answer(2, true)));
    s.walk.first->ask = 0;
    EXPECT_EQ(has(), SENDER_HAS_NOTHING);
    sender_walked(&s);
    EXPECT_EQ(has(), SENDER_HAS_ALL);
}

/* More trees than may be open at the same time, files between them, and an empty one. */
class Walk : public Told
{
  protected:
    void SetUp() override
    {
        Told::SetUp();
        for (int i = 0; i < 3 * SENDER_TREES_MAX; i++) {
            std::string name = "p" + std::to_string(100 + i);

            paths.push_back(folder.at(name));
            if (i % 5 == 1) {
                folder.write(name, "x");
                names.push_back(name);
                continue;
            }
            ASSERT_EQ(mkdir(paths.back().c_str(), 0777), 0);
            for (int k = 0; k < i % 5; k++) {
                std::string file = name + "/f" + std::to_string(k);

                folder.write(file, "x");
                names.push_back(file);
            }
            names.push_back(name);
        }
        for (std::string &path : paths)
            words.push_back(&path[0]);
        options.paths = words.data();
        options.n_paths = (int)words.size();
        memory.resize(PACK_BYTES);
        s.pack.memory = memory.data();
    }
    void TearDown() override
    {
        sender_walk_fini(&s);
        EXPECT_EQ(open_files(), before);
        Told::TearDown();
    }
    static size_t open_files()
    {
        size_t n = 0;

        for (auto &e : std::filesystem::directory_iterator("/proc/self/fd")) {
            (void)e;
            n++;
        }
        return n;
    }
    /* The first one has its turn. */
    std::string take()
    {
        const struct sender_entry *q = s.walk.first;
        std::string name = q->e.name;
        struct source source;

        EXPECT_EQ(source_init(&source), 0);
        if (q->e.walked && q->e.kind == TREE_FILE) {
            EXPECT_EQ(source_open_below(&source, q->e.dir, q->e.below), 0) << q->e.path;
        }
        source_fini(&source);
        sender_walked(&s);
        return name;
    }
    /* Goes through all; `most`: entries that have to wait before one has its turn. */
    std::vector<std::string> found(uint32_t most)
    {
        std::vector<std::string> all;

        while (s.walk.n > 0 || s.walk.path < options.n_paths) {
            while (s.walk.n < most && sender_walks(&s))
                EXPECT_LE(open_files(), before + 2 * SENDER_TREES_MAX + 1);
            for (uint32_t n = (s.walk.n + 1) / 2; n > 0; n--)
                all.push_back(take());
            if (all.size() > names.size())
                break;
        }
        return all;
    }

    Folder folder;
    std::vector<std::string> paths, names;
    std::vector<char *> words;
    std::vector<uint8_t> memory;
    size_t before = open_files();
};

TEST_F(Walk, OneAfterTheOther)
{
    EXPECT_EQ(found(1), names);
    EXPECT_EQ(s.resume.last, 0u) << "nothing was asked";
}

TEST_F(Walk, AheadOfWhatIsSent)
{
    options.resume = true;
    EXPECT_EQ(found(200), names);
    EXPECT_EQ(s.resume.last, (uint64_t)std::count_if(names.begin(), names.end(), [this](auto &n) {
                  return std::filesystem::is_regular_file(folder.at(n));
              }));
}

/* However many files are named one by one, the receiver is asked about all of them at once. */
TEST_F(Walk, FilesNeedNoOpenTree)
{
    char *file = words[1];

    words.assign(4 * SENDER_TREES_MAX, file);
    options.paths = words.data();
    options.n_paths = (int)words.size();
    options.resume = true;
    while (sender_walks(&s))
        EXPECT_LE(open_files(), before + 2);
    EXPECT_EQ(s.resume.last, words.size());
}

TEST_F(Walk, GivenUpInTheMiddle)
{
    options.resume = true;
    while (s.walk.n < 20 && sender_walks(&s))
        ;
    EXPECT_GT(open_files(), before);
}
