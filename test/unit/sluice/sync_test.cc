/* SPDX-License-Identifier: BSD-3-Clause */
/* A sync at the receiver: what there is serves as a basis, what is in the way is removed, and what
 * the sender does not have is deleted; nothing outside of the target is touched. */
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

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
#include "sluice/say.h"
#include "sluice/sync/prune.h"
#include "sluice/transfer/incoming.h"
}

namespace
{

constexpr uint64_t CHUNK = RECORD_CHUNK_BYTES;
using Lines = std::vector<std::string>;

class Sync : public testing::Test
{
  protected:
    void SetUp() override
    {
        ASSERT_EQ(mkdir(folder.at("outside").c_str(), 0700), 0);
        ASSERT_EQ(mkdir(folder.at("in").c_str(), 0755), 0);
        folder.write("outside/f", "safe");
        destination.kind = DESTINATION_DIR;
        destination.dir_fd = open(folder.at("in").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        destination.stream_fd = -1;
        destination.sync = destination.overwrite = true;
        destination.keep_s = 3600;
        options.itemize = true;
        options.context = &lines;
        options.say = [](void *context, const char *line) { ((Lines *)context)->push_back(line); };
        ASSERT_EQ(incoming_init(&in, nullptr, &destination, 1), 0);
        ASSERT_EQ(summary_init(&in.summary, false), 0);
        strcpy(in.part.owner, "copy b");
        in.sync.options = &options;
        say_divert([](void *, bool, const char *) {}, nullptr);
    }
    void TearDown() override
    {
        say_divert(nullptr, nullptr);
        incoming_fini(&in);
        close(destination.dir_fd);
        EXPECT_EQ(folder.read("outside/f"), "safe");
        EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.at("outside")), {}), 1);
    }
    /* Removes also what is in the way. */
    void prunes()
    {
        options.prune = true;
        clear = prune_rules(&options);
        destination.clear = &clear;
    }
    std::string at(const std::string &name) const
    {
        return folder.at("in/" + name);
    }

    int give(enum record_type type, const std::string &data, uint16_t flags = 0, uint64_t size = 0,
             uint64_t offset = 0)
    {
        std::vector<uint8_t> bytes(RECORD_HEADER_BYTES + data.size());
        struct record r = {}, back;

        r.type = (uint8_t)type;
        r.flags = flags;
        r.len_bytes = (uint32_t)data.size();
        if (type == RECORD_OFFER || type == RECORD_DIR || type == RECORD_LINK)
            number++;
        bool alone = type == RECORD_NAME || type == RECORD_NAMED || type == RECORD_END_ALL;
        r.file = type == RECORD_ASK ? ++asked : alone ? 0 : number;
        r.mode = type == RECORD_OFFER || type == RECORD_DIR || type == RECORD_ASK ? 0755 : 0;
        r.mtime_s = r.mode != 0 || type == RECORD_LINK ? 7 : 0;
        r.size = type == RECORD_END_ALL ? number : size;
        r.offset = offset;
        r.from = copied;
        if (type == RECORD_END_FILE)
            content_hash(content, r.hash);
        record_encode(bytes.data(), &r);
        memcpy(bytes.data() + RECORD_HEADER_BYTES, data.data(), data.size());
        EXPECT_EQ(record_decode(bytes.data(), bytes.size(), &back, &why), 0) << why;
        return incoming_record(&in, &back, bytes.data() + RECORD_HEADER_BYTES, &why);
    }
    int give_copy(uint64_t offset, uint64_t from, uint64_t size)
    {
        copied = from;
        int err = give(RECORD_COPY, "", 0, size, offset);
        copied = 0;
        return err;
    }
    int give_link(const std::string &name, const std::string &target)
    {
        return give(RECORD_LINK, name + '\0' + target);
    }
    int give_file(const std::string &name, const std::string &text)
    {
        content = text;
        int err = give(RECORD_OFFER, name, 0, text.size());

        if (err == 0)
            err = give(RECORD_DATA, text);
        return err == 0 ? give(RECORD_END_FILE, "", 0, text.size()) : err;
    }
    /* The newest record for the sender. */
    struct record answer()
    {
        return receiver_answer(&in);
    }
    uint32_t result()
    {
        struct record r = answer();

        EXPECT_EQ(r.type, RECORD_RESULT);
        return r.mode;
    }

    Folder folder;
    struct destination destination = {};
    struct remove_rules clear = {};
    struct sync_options options = {};
    struct incoming in = {};
    Lines lines;
    std::string content;
    uint64_t number = 0, asked = 0, copied = 0;
    const char *why = nullptr;
};

} // namespace

TEST_F(Sync, RecordsThatOnlyASyncHas)
{
    in.sync.options = nullptr;
    for (auto type : {RECORD_LINK, RECORD_NAME}) {
        EXPECT_EQ(give(type, std::string("a\0b", 3)), -EPROTO);
        number = 0;
        EXPECT_STREQ(why, "a record that only sluice sync takes");
    }
    EXPECT_EQ(give(RECORD_DIR, "d", RECORD_BEGIN), -EPROTO);
    number = 0;
    EXPECT_EQ(give(RECORD_ASK, std::string(16, 'h') + "f", RECORD_HASHED), -EPROTO);
    EXPECT_EQ(give(RECORD_END_ALL, "", RECORD_UNREAD), -EPROTO);
    EXPECT_EQ(give(RECORD_NAMED, ""), -EPROTO);
    EXPECT_STREQ(why, "a record that only sluice sync takes");
    EXPECT_EQ(give(RECORD_DIR, "."), 0);
    EXPECT_EQ(result(), (uint32_t)RECORD_BAD_NAME);
}

TEST_F(Sync, ATree)
{
    struct stat st;

    EXPECT_EQ(give(RECORD_DIR, ".", RECORD_BEGIN), 0);
    EXPECT_EQ(give(RECORD_DIR, "d", RECORD_BEGIN), 0);
    EXPECT_EQ(give_file("d/f", "content"), 0);
    EXPECT_EQ(give_link("d/l", "../../outside"), 0);
    EXPECT_EQ(give(RECORD_DIR, "d"), 0);
    EXPECT_EQ(give(RECORD_DIR, "."), 0);
    EXPECT_EQ(give(RECORD_END_ALL, ""), 0);
    EXPECT_EQ(lines, (Lines{".d..t...... ./", "cd+++++++++ d/", ">f+++++++++ d/f",
                            "cL+++++++++ d/l -> ../../outside"}));
    for (const char *name : {"", "d", "d/l"}) {
        ASSERT_EQ(lstat(at(name).c_str(), &st), 0) << name;
        EXPECT_EQ(st.st_mtim.tv_sec, 7) << name;
    }
    EXPECT_EQ(folder.read("in/d/f"), "content");
}

/* A sender may make a link, and then name what is behind it; or somebody puts one there. */
TEST_F(Sync, NothingGoesThroughLinks)
{
    EXPECT_EQ(give_link("l", folder.at("outside")), 0);
    EXPECT_EQ(give_file("l/f", "evil"), 0);
    EXPECT_EQ(result(), (uint32_t)RECORD_IN_THE_WAY);
    EXPECT_EQ(give(RECORD_DIR, "l"), 0);
    EXPECT_EQ(result(), (uint32_t)RECORD_IN_THE_WAY);
    EXPECT_EQ(give_link("l/l", "x"), 0);
    EXPECT_EQ(result(), (uint32_t)RECORD_IN_THE_WAY);
    EXPECT_EQ(give(RECORD_DIR, "l/d", RECORD_BEGIN), 0);
    EXPECT_EQ(result(), (uint32_t)RECORD_IN_THE_WAY);
    EXPECT_EQ(give(RECORD_ASK, "l/f", 0, 4), 0);
    EXPECT_EQ(answer().flags, 0);
    EXPECT_EQ(give(RECORD_DIR, "d", RECORD_BEGIN), 0);
    EXPECT_EQ(result(), (uint32_t)RECORD_OK);
    ASSERT_EQ(rename(at("d").c_str(), at("old").c_str()), 0);
    ASSERT_EQ(symlink("../outside", at("d").c_str()), 0);
    EXPECT_EQ(give_file("d/f", "evil"), 0);
    EXPECT_EQ(result(), (uint32_t)RECORD_IN_THE_WAY);
    EXPECT_EQ(give(RECORD_DIR, "d"), 0);
    EXPECT_EQ(result(), (uint32_t)RECORD_IN_THE_WAY);
    EXPECT_EQ(give(RECORD_DIR, "d", RECORD_BEGIN), 0) << "a directory takes the place of a link";
    EXPECT_EQ(result(), (uint32_t)RECORD_OK);
    for (const char *name : {"..", "../x", "/x", "a/../x", "a//b", "."}) {
        EXPECT_EQ(give_link(name, "x"), 0) << name;
        EXPECT_EQ(result(), (uint32_t)RECORD_BAD_NAME) << name;
    }
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path), {}), 2);
}

TEST_F(Sync, TheTargetOfALink)
{
    for (const std::string &data :
         {std::string("abc"), std::string("ab\0", 3), std::string("\0bc", 3),
          std::string("a\0b\0c", 5), "a" + std::string(1, 0) + std::string(4096, 't')}) {
        EXPECT_EQ(give(RECORD_LINK, data), -EPROTO);
        number = 0;
    }
    const std::string longest(4095, 't');
    EXPECT_EQ(give_link("l", longest), 0);
    EXPECT_EQ(result(), (uint32_t)RECORD_OK);
    EXPECT_EQ(std::filesystem::read_symlink(at("l")), longest);
    EXPECT_EQ(give_link("l", "short"), 0);
    EXPECT_EQ(std::filesystem::read_symlink(at("l")), "short");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(at("")), {}), 1);
    EXPECT_EQ(lines.back(), "cLc........ l -> short");
}

/* Nothing that has such a name is deleted, so it would stay for ever. */
TEST_F(Sync, NoLinkHasTheNameOfAPart)
{
    EXPECT_EQ(give_link(".x.part-0123456789abcdef", "x"), 0);
    EXPECT_EQ(result(), (uint32_t)RECORD_BAD_NAME);
    EXPECT_STREQ(in.part.why, "its name is that of an incomplete file");
    EXPECT_EQ(give_link(".x.part-0123456789abcdeg", "x"), 0);
    EXPECT_EQ(result(), (uint32_t)RECORD_OK);
}

TEST_F(Sync, ADryRunChangesNothing)
{
    options.dry_run = destination.dry_run = true;
    prunes();
    folder.write("in/f", "old");
    ASSERT_EQ(mkdir(at("gone").c_str(), 0755), 0);
    folder.write("in/gone/x", "old");
    EXPECT_EQ(give(RECORD_DIR, ".", RECORD_BEGIN), 0);
    EXPECT_EQ(give(RECORD_ASK, "f", 0, 4), 0);
    EXPECT_EQ(give(RECORD_ASK, "gone", 0, 4), 0);
    EXPECT_EQ(give_link("l", "x"), 0);
    EXPECT_EQ(give(RECORD_DIR, "d", RECORD_BEGIN), 0);
    EXPECT_EQ(give(RECORD_ASK, "d/f", 0, 4), 0);
    EXPECT_EQ(give(RECORD_DIR, "d"), 0);
    EXPECT_EQ(give(RECORD_DIR, "."), 0);
    EXPECT_EQ(give(RECORD_OFFER, "f", 0, 4), -EPROTO);
    number--;
    EXPECT_EQ(give(RECORD_END_ALL, ""), 0);
    EXPECT_EQ(lines,
              (Lines{".d..t...... ./", ">f.stp..... f", "*deleting   gone/x", ">f+++++++++ gone",
                     "cL+++++++++ l -> x", "cd+++++++++ d/", ">f+++++++++ d/f"}));
    EXPECT_EQ(folder.count(), 6u);
    EXPECT_EQ(folder.read("in/f"), "old");
}

/* A file that is there gets the mode and time of the sender's. */
TEST_F(Sync, AFileThatIsThere)
{
    const struct timespec times[2] = {{1, 0}, {7, 0}};
    struct stat st;

    folder.write("in/f", "text");
    ASSERT_EQ(chmod(at("f").c_str(), 0000), 0);
    ASSERT_EQ(utimensat(AT_FDCWD, at("f").c_str(), times, 0), 0);
    EXPECT_EQ(give(RECORD_ASK, "f", 0, 4), 0);
    EXPECT_EQ(answer().flags, RECORD_WHOLE);
    ASSERT_EQ(stat(at("f").c_str(), &st), 0);
    EXPECT_EQ(st.st_mode & 07777, 0755u);
    EXPECT_EQ(lines, Lines{".f...p..... f"});
    EXPECT_EQ(give(RECORD_ASK, "f", 0, 5), 0);
    EXPECT_EQ(answer().flags, 0);
    /* by its content */
    uint8_t hash[RECORD_HASH_BYTES];
    destination.checksum = options.checksum = true;
    content_hash("text", hash);
    folder.write("in/g", "text");
    EXPECT_EQ(give(RECORD_ASK, std::string((char *)hash, sizeof hash) + "g", RECORD_HASHED, 4), 0);
    EXPECT_EQ(answer().flags, RECORD_WHOLE);
    ASSERT_EQ(stat(at("g").c_str(), &st), 0);
    EXPECT_EQ(st.st_mtim.tv_sec, 7);
    folder.write("in/g", "TEXT");
    EXPECT_EQ(give(RECORD_ASK, std::string((char *)hash, sizeof hash) + "g", RECORD_HASHED, 4), 0);
    EXPECT_EQ(answer().flags, 0);
    EXPECT_EQ(give(RECORD_ASK, "f", 0, 4), 0);
    EXPECT_EQ(answer().flags, 0) << "the sender could not read it";
}

/* The first chunks come from what an interrupted transfer has left, others from the file that is
 * replaced, from wherever it has them. */
TEST_F(Sync, ABasisAndAPart)
{
    std::mt19937_64 rng(test_seed());
    const std::string old = content_random(rng, 5 * CHUNK + 9);
    uint8_t hashes[8 * RECORD_HASH_BYTES];
    uint64_t first;

    folder.write("in/f", old);
    content = old.substr(CHUNK, 2 * CHUNK) + "new" + old.substr(7, 3 * CHUNK);
    ASSERT_EQ(give(RECORD_OFFER, "f", 0, content.size()), 0);
    ASSERT_EQ(give(RECORD_DATA, content.substr(0, 2 * CHUNK)), 0);
    EXPECT_TRUE(part_file_leave(&in.part));
    in.in_file = false;
    EXPECT_EQ(give(RECORD_ASK, "f", 0, content.size()), 0);
    EXPECT_EQ(answer().size, 2 * CHUNK);
    EXPECT_EQ(answer().flags, RECORD_LISTED);
    ASSERT_EQ(give(RECORD_OFFER, "f", RECORD_RESUME | RECORD_COPIES, content.size()), 0);
    ASSERT_EQ(part_file_hash(&in.part, hashes, 8, &first), 2u);
    EXPECT_EQ(give(RECORD_KEEP, "", 0, CHUNK, 0), 0);
    EXPECT_EQ(give_copy(CHUNK, 2 * CHUNK, CHUNK), 0);
    EXPECT_EQ(give(RECORD_DATA, "new", 0, 0, 2 * CHUNK), 0);
    EXPECT_EQ(folder.read("in/f"), old) << "nothing half-written under its name";
    EXPECT_EQ(give_copy(2 * CHUNK + 3, 7, 3 * CHUNK), 0);
    EXPECT_EQ(in.part.kept_bytes, content.size() - 3);
    EXPECT_EQ(give(RECORD_END_FILE, "", 0, content.size()), 0);
    EXPECT_EQ(result(), (uint32_t)RECORD_OK);
    EXPECT_TRUE(folder.read("in/f") == content);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(at("")), {}), 1);
}

/* Which files are looked at for what they share with the new one. */
TEST_F(Sync, WhatIsNoBasis)
{
    folder.write("in/f", std::string(8192, 'a'));
    folder.write("in/small", std::string(4095, 'a'));
    ASSERT_EQ(symlink("f", at("l").c_str()), 0);
    ASSERT_EQ(link(at("f").c_str(), at("g").c_str()), 0);
    for (const char *name : {"f", "g"}) {
        EXPECT_EQ(give(RECORD_ASK, name, 0, 4096), 0);
        EXPECT_EQ(answer().flags, RECORD_LISTED) << name;
        EXPECT_TRUE(basis_is_open(&in.basis));
        basis_close(&in.basis);
    }
    for (const char *name : {"small", "l", "none", "x/f"}) {
        EXPECT_EQ(give(RECORD_ASK, name, 0, 8192), 0);
        EXPECT_EQ(answer().flags, 0) << name;
        EXPECT_FALSE(basis_is_open(&in.basis));
    }
    EXPECT_EQ(give(RECORD_ASK, "f", 0, 4095), 0);
    EXPECT_EQ(answer().flags, 0);
    destination.whole_files = true;
    EXPECT_EQ(give(RECORD_ASK, "f", 0, 4096), 0);
    EXPECT_EQ(answer().flags, 0);
    destination.whole_files = false;
    destination.dry_run = options.dry_run = true;
    EXPECT_EQ(give(RECORD_ASK, "f", 0, 4096), 0);
    EXPECT_EQ(answer().flags, 0);
}

/* A program changes, shortens or removes the basis after its blocks were told. */
TEST_F(Sync, ABasisThatChanges)
{
    const uint32_t code[] = {RECORD_CORRUPT, RECORD_IO, RECORD_IO};

    for (int i = 0; i < 3; i++) {
        content = std::string(3 * CHUNK, 'a');
        folder.write("in/f", content);
        ASSERT_EQ(give(RECORD_ASK, "f", 0, content.size() - 1), 0);
        basis_close(&in.basis);
        content.pop_back();
        if (i == 2)
            unlink(at("f").c_str());
        ASSERT_EQ(give(RECORD_OFFER, "f", RECORD_COPIES, content.size()), 0);
        if (i == 0)
            folder.write("in/f", std::string(3 * CHUNK, 'b'));
        EXPECT_TRUE(i != 1 || truncate(at("f").c_str(), CHUNK) == 0);
        EXPECT_EQ(give_copy(0, 0, content.size()), 0);
        EXPECT_EQ(give(RECORD_END_FILE, "", 0, content.size()), 0);
        EXPECT_EQ(result(), code[i]);
        EXPECT_EQ(std::distance(std::filesystem::directory_iterator(at("")), {}), i < 2);
    }
}

TEST_F(Sync, CopiesThatAreWrong)
{
    folder.write("in/f", std::string(8192, 'a'));
    ASSERT_EQ(give(RECORD_OFFER, "f", 0, 8192), 0);
    EXPECT_EQ(give_copy(0, 0, 4096), -EPROTO);
    EXPECT_STREQ(why, "a copy of a file that nothing was to be copied from");
    part_file_discard(&in.part);
    in.in_file = false;
    ASSERT_EQ(give(RECORD_OFFER, "f", RECORD_COPIES, 8192), 0);
    EXPECT_EQ(give_copy(1, 0, 4096), -EPROTO);
    EXPECT_EQ(give_copy(0, 0, 8193), -EPROTO);
    EXPECT_EQ(give_copy(0, 4097, 4096), 0) << "beyond the end of the file: this one fails";
    EXPECT_EQ(result(), (uint32_t)RECORD_IO);
    EXPECT_EQ(give(RECORD_BLOCKS, "", RECORD_LAST, 512), -EPROTO);
}

TEST_F(Sync, HolesOfABasisStayHoles)
{
    struct stat st;

    folder.write("in/f", "x");
    ASSERT_EQ(truncate(at("f").c_str(), 8 * CHUNK), 0);
    content = folder.read("in/f");
    ASSERT_EQ(give(RECORD_OFFER, "f", RECORD_COPIES, content.size()), 0);
    EXPECT_EQ(give_copy(0, 0, 8 * CHUNK), 0);
    EXPECT_EQ(give(RECORD_END_FILE, "", 0, content.size()), 0);
    EXPECT_EQ(result(), (uint32_t)RECORD_OK);
    ASSERT_EQ(stat(at("f").c_str(), &st), 0);
    EXPECT_EQ((uint64_t)st.st_size, 8 * CHUNK);
    EXPECT_LT((uint64_t)st.st_blocks * 512, CHUNK);
}

TEST_F(Sync, WhatIsInTheWay)
{
    for (bool clears : {false, true}) {
        for (const char *name : {"f", "l"}) {
            mkdir(at(name).c_str(), 0755);
            folder.write(std::string("in/") + name + "/x", "old");
        }
        if (clears)
            prunes();
        EXPECT_EQ(give(RECORD_OFFER, "f", 0, 0), 0);
        content = "";
        EXPECT_EQ(give(RECORD_END_FILE, ""), 0);
        EXPECT_EQ(result(), (uint32_t)(clears ? RECORD_OK : RECORD_IN_THE_WAY));
        EXPECT_EQ(give_link("l", "x"), 0);
        EXPECT_EQ(result(), (uint32_t)(clears ? RECORD_OK : RECORD_IN_THE_WAY));
        EXPECT_EQ(std::filesystem::is_directory(at("f")), !clears);
        EXPECT_EQ(std::filesystem::is_symlink(at("l")), clears);
    }
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(at("")), {}), 2);
}

/* The sender names "." and "kept"; of "kept", it has "f" and something that it does not send. */
TEST_F(Sync, Pruning)
{
    struct stat before, after;

    for (const char *name : {"kept", "kept/old", "beside", "kept/old/deep"})
        ASSERT_EQ(mkdir(at(name).c_str(), 0755), 0);
    for (const char *name :
         {"kept/f", "kept/pipe", "kept/old/deep/x", "beside/x", "x", ".x.part-0123456789abcdef"})
        folder.write(std::string("in/") + name, "");
    ASSERT_EQ(symlink("../../outside", at("kept/l").c_str()), 0);
    prunes();
    EXPECT_EQ(give(RECORD_DIR, ".", RECORD_BEGIN), 0);
    EXPECT_EQ(give(RECORD_DIR, "kept", RECORD_BEGIN), 0);
    EXPECT_EQ(give(RECORD_ASK, "kept/f", 0, 0), 0);
    EXPECT_EQ(give(RECORD_NAME, "kept/pipe"), 0);
    EXPECT_EQ(give(RECORD_DIR, "kept"), 0);
    EXPECT_EQ(give(RECORD_DIR, "."), 0);
    stat(at("kept").c_str(), &before);
    lines.clear();
    EXPECT_EQ(give(RECORD_END_ALL, "", RECORD_UNREAD), 0);
    EXPECT_EQ(lines, Lines{}) << "the sender could not read all";
    in.end_all = false;
    EXPECT_EQ(give(RECORD_END_ALL, ""), 0);
    EXPECT_EQ(in.code, SAY_OK);
    EXPECT_EQ(lines, (Lines{"*deleting   beside/x", "*deleting   beside/", "*deleting   kept/l",
                            "*deleting   kept/old/deep/x", "*deleting   kept/old/deep/",
                            "*deleting   kept/old/", "*deleting   x"}));
    stat(at("kept").c_str(), &after);
    EXPECT_EQ(after.st_mtim.tv_sec, before.st_mtim.tv_sec);
    EXPECT_EQ(std::distance(std::filesystem::recursive_directory_iterator(at("")), {}), 4);
}

/* All goes before anything comes, in the directories whose content the sender has named. */
TEST_F(Sync, PruningBefore)
{
    struct stat before, after;

    for (const char *name : {"kept", "kept/old", "beside", "closed", "was-a-file"})
        ASSERT_EQ(mkdir(at(name).c_str(), 0755), 0);
    for (const char *name : {"kept/f", "kept/pipe", "kept/old/x", "x", ".x.part-0123456789abcdef",
                             "was-a-dir", "was-a-file/x"})
        folder.write(std::string("in/") + name, "");
    ASSERT_EQ(symlink("../outside", at("linked").c_str()), 0);
    stat(at("kept").c_str(), &before);
    prunes();
    options.prune_before = true;
    for (const char *name : {".", "kept", "was-a-dir", "linked", "not-there"})
        EXPECT_EQ(give(RECORD_NAME, name, RECORD_BEGIN), 0);
    for (const char *name : {"kept/f", "kept/pipe", "closed", "was-a-file"})
        EXPECT_EQ(give(RECORD_NAME, name), 0);
    EXPECT_EQ(lines, Lines{});
    EXPECT_EQ(give(RECORD_NAMED, ""), 0);
    const Lines deleted = {"*deleting   beside/", "*deleting   kept/old/x", "*deleting   kept/old/",
                           "*deleting   x"};
    EXPECT_EQ(lines, deleted);
    EXPECT_EQ(in.code, SAY_OK) << "what is in the way of a directory goes when that comes";
    stat(at("kept").c_str(), &after);
    EXPECT_EQ(after.st_mtim.tv_sec, before.st_mtim.tv_sec);
    /* What appears here meanwhile stays. */
    folder.write("in/new", "");
    EXPECT_EQ(give(RECORD_DIR, ".", RECORD_BEGIN), 0);
    EXPECT_EQ(give(RECORD_DIR, "was-a-dir", RECORD_BEGIN), 0);
    EXPECT_EQ(result(), (uint32_t)RECORD_OK);
    EXPECT_EQ(give_file("was-a-file", "now"), 0);
    EXPECT_EQ(result(), (uint32_t)RECORD_OK);
    EXPECT_EQ(give(RECORD_DIR, "."), 0);
    EXPECT_EQ(give(RECORD_END_ALL, ""), 0);
    EXPECT_TRUE(std::filesystem::exists(at("new")));
    EXPECT_TRUE(std::filesystem::exists(at("closed")));
    EXPECT_TRUE(std::filesystem::is_symlink(at("linked")));
    EXPECT_TRUE(std::filesystem::exists(at(".x.part-0123456789abcdef")));
}

TEST_F(Sync, PruningBeforeInADryRun)
{
    folder.write("in/x", "");
    prunes();
    options.prune_before = options.dry_run = destination.dry_run = true;
    clear = prune_rules(&options);
    EXPECT_EQ(give(RECORD_NAME, ".", RECORD_BEGIN), 0);
    EXPECT_EQ(give(RECORD_NAMED, ""), 0);
    EXPECT_EQ(lines, Lines{"*deleting   x"});
    EXPECT_TRUE(std::filesystem::exists(at("x")));
}

TEST_F(Sync, NothingIsPrunedBeforeIfNotAllCanBeRead)
{
    folder.write("in/x", "");
    prunes();
    options.prune_before = true;
    EXPECT_EQ(give(RECORD_NAME, ".", RECORD_BEGIN), 0);
    EXPECT_EQ(give(RECORD_NAMED, "", RECORD_UNREAD), 0);
    EXPECT_EQ(give(RECORD_DIR, ".", RECORD_BEGIN), 0);
    EXPECT_EQ(give(RECORD_DIR, "."), 0);
    EXPECT_EQ(give(RECORD_END_ALL, ""), 0);
    EXPECT_TRUE(std::filesystem::exists(at("x")));
}

TEST_F(Sync, NamesAreToldOnceAndFirst)
{
    prunes();
    EXPECT_EQ(give(RECORD_NAMED, ""), -EPROTO);
    EXPECT_STREQ(why, "names that are not told beforehand");
    EXPECT_EQ(give(RECORD_NAME, "d", RECORD_BEGIN), -EPROTO);
    options.prune_before = true;
    folder.write("in/x", "");
    EXPECT_EQ(give(RECORD_ASK, "x"), -EPROTO);
    EXPECT_STREQ(why, "a record before all names");
    EXPECT_EQ(give(RECORD_END_ALL, ""), -EPROTO);
    EXPECT_TRUE(std::filesystem::exists(at("x")));
    EXPECT_EQ(give(RECORD_NAMED, ""), 0);
    EXPECT_EQ(give(RECORD_NAMED, ""), -EPROTO);
    EXPECT_EQ(give(RECORD_NAME, "d", RECORD_BEGIN), -EPROTO);
    EXPECT_EQ(give(RECORD_NAME, "pipe"), 0) << "what is not sent is named when its turn comes";
    EXPECT_TRUE(std::filesystem::exists(at("x"))) << "no directory was named";
}

/* A dishonest sender names what the rules protect. */
TEST_F(Sync, WhatIsExcludedIsNotPrunedBefore)
{
    struct filter f = {};

    for (const char *rule : {"- *.o", "- own/"})
        ASSERT_EQ(filter_add(&f, rule), nullptr);
    options.filter = &f;
    prunes();
    options.prune_before = true;
    ASSERT_EQ(mkdir(at("own").c_str(), 0755), 0);
    for (const char *name : {"a.o", "own/f", "b"})
        folder.write(std::string("in/") + name, "");
    for (const char *name : {".", "own"})
        EXPECT_EQ(give(RECORD_NAME, name, RECORD_BEGIN), 0);
    EXPECT_EQ(give(RECORD_NAMED, ""), 0);
    EXPECT_EQ(lines, Lines{"*deleting   b"});
    EXPECT_TRUE(std::filesystem::exists(at("own/f")));
    options.filter = nullptr;
    filter_fini(&f);
}

/* Only "d" was synced: what is beside it is none of the sender's business. */
TEST_F(Sync, NothingBesideIsPruned)
{
    ASSERT_EQ(mkdir(at("d").c_str(), 0755), 0);
    folder.write("in/d/old", "");
    folder.write("in/beside", "");
    prunes();
    EXPECT_EQ(give(RECORD_DIR, "d", RECORD_BEGIN), 0);
    EXPECT_EQ(give(RECORD_DIR, "d"), 0);
    EXPECT_EQ(give(RECORD_END_ALL, ""), 0);
    EXPECT_EQ(lines.back(), "*deleting   d/old");
    EXPECT_TRUE(std::filesystem::exists(at("beside")));
    EXPECT_FALSE(std::filesystem::exists(at("d/old")));
}

TEST_F(Sync, WhatIsExcludedIsNotPruned)
{
    struct filter f = {};

    ASSERT_EQ(filter_add(&f, "- *.o"), nullptr);
    options.filter = &f;
    prunes();
    for (const char *name : {"d", "e"})
        ASSERT_EQ(mkdir(at(name).c_str(), 0755), 0);
    for (const char *name : {"a.o", "b", "d/a.o", "d/b", "e/b"})
        folder.write(std::string("in/") + name, "");
    EXPECT_EQ(give(RECORD_DIR, ".", RECORD_BEGIN), 0);
    EXPECT_EQ(give(RECORD_DIR, "."), 0);
    lines.clear();
    EXPECT_EQ(give(RECORD_END_ALL, ""), 0);
    EXPECT_EQ(lines,
              (Lines{"*deleting   b", "*deleting   d/b", "*deleting   e/b", "*deleting   e/"}));
    EXPECT_EQ(in.code, SAY_OK);
    EXPECT_TRUE(std::filesystem::exists(at("d/a.o")));
    options.filter = nullptr;
    filter_fini(&f);
}

/* The receiver has the rules, too: a dishonest sender could otherwise replace what they protect. */
TEST_F(Sync, WhatIsExcludedIsNotTaken)
{
    struct filter f = {};

    for (const char *rule : {"- *.o", "- /own/", "+ *.c"})
        ASSERT_EQ(filter_add(&f, rule), nullptr);
    options.filter = &f;
    ASSERT_EQ(mkdir(at("own").c_str(), 0755), 0);
    for (const char *name : {"a.o", "own/f"})
        folder.write(std::string("in/") + name, "mine");
    EXPECT_EQ(give(RECORD_DIR, ".", RECORD_BEGIN), 0);
    EXPECT_EQ(result(), (uint32_t)RECORD_OK);
    for (const char *name : {"a.o", "own/f", "own/new", "own/d/f"}) {
        EXPECT_EQ(give(RECORD_ASK, name, 0, 4), 0);
        EXPECT_EQ(answer().flags, 0) << name;
        EXPECT_EQ(give_file(name, "other"), 0);
        EXPECT_EQ(result(), (uint32_t)RECORD_BAD_NAME) << name;
        EXPECT_EQ(give_link(name, "/etc"), 0);
        EXPECT_EQ(result(), (uint32_t)RECORD_BAD_NAME) << name;
    }
    for (const char *name : {"own", "own/d", "d.o"}) {
        EXPECT_EQ(give(RECORD_DIR, name, RECORD_BEGIN), 0);
        EXPECT_EQ(result(), (uint32_t)RECORD_BAD_NAME) << name;
    }
    EXPECT_EQ(folder.read("in/a.o"), "mine");
    EXPECT_EQ(folder.read("in/own/f"), "mine");
    EXPECT_EQ(std::distance(std::filesystem::recursive_directory_iterator(at("")), {}), 3);
    EXPECT_EQ(give_file("a.c", "other"), 0);
    EXPECT_EQ(result(), (uint32_t)RECORD_OK);
    options.filter = nullptr;
    filter_fini(&f);
}

/* Of --files-from, only these names are taken. */
TEST_F(Sync, OnlyWhatIsChosenIsTaken)
{
    struct chosen c = {};

    ASSERT_EQ(chosen_add(&c, "d/f"), nullptr);
    options.chosen = &c;
    folder.write("in/other", "mine");
    EXPECT_EQ(give(RECORD_DIR, "d", RECORD_BEGIN), 0);
    EXPECT_EQ(result(), (uint32_t)RECORD_OK);
    EXPECT_EQ(give_file("d/f", "theirs"), 0);
    EXPECT_EQ(result(), (uint32_t)RECORD_OK);
    for (const char *name : {"other", "d/g", "d/f/x"}) {
        EXPECT_EQ(give_file(name, "theirs"), 0);
        EXPECT_EQ(result(), (uint32_t)RECORD_BAD_NAME) << name;
    }
    for (const char *name : {".", "e", "d/e"}) {
        EXPECT_EQ(give(RECORD_DIR, name), 0);
        EXPECT_EQ(result(), (uint32_t)RECORD_BAD_NAME) << name;
    }
    EXPECT_EQ(folder.read("in/other"), "mine");
    options.chosen = nullptr;
    chosen_fini(&c);
}

/* An excluded directory stays, though its rule says nothing of what is in it. So does an excluded
 * file whose name a directory has that is not. */
TEST_F(Sync, WhatIsExcludedIsNotInTheWay)
{
    struct filter f = {};

    for (const char *rule : {"- own/", "+ d/", "- d"})
        ASSERT_EQ(filter_add(&f, rule), nullptr);
    options.filter = &f;
    ASSERT_EQ(mkdir(at("own").c_str(), 0755), 0);
    for (const char *name : {"own/f", "d"})
        folder.write(std::string("in/") + name, "mine");
    prunes();
    EXPECT_EQ(give_file("own", "a file"), 0);
    EXPECT_EQ(result(), (uint32_t)RECORD_IN_THE_WAY);
    EXPECT_EQ(give_link("own", "/etc"), 0);
    EXPECT_EQ(result(), (uint32_t)RECORD_IN_THE_WAY);
    EXPECT_EQ(give(RECORD_DIR, "d", RECORD_BEGIN), 0);
    EXPECT_EQ(result(), (uint32_t)RECORD_IN_THE_WAY);
    EXPECT_EQ(folder.read("in/own/f"), "mine");
    EXPECT_EQ(folder.read("in/d"), "mine");
    EXPECT_EQ(std::distance(std::filesystem::recursive_directory_iterator(at("")), {}), 3);
    options.filter = nullptr;
    filter_fini(&f);
}

/* The sender found it after it had asked about the files of its directory. */
TEST_F(Sync, WhatHasJustComeIsNotPruned)
{
    prunes();
    folder.write("in/f", "old");
    EXPECT_EQ(give(RECORD_DIR, ".", RECORD_BEGIN), 0);
    EXPECT_EQ(give_file("f", "new"), 0);
    EXPECT_EQ(result(), (uint32_t)RECORD_OK);
    EXPECT_EQ(give(RECORD_OFFER, "g", RECORD_SIZE_UNKNOWN), 0);
    EXPECT_EQ(give(RECORD_DROP_FILE, ""), 0);
    EXPECT_EQ(give(RECORD_DIR, "."), 0);
    EXPECT_EQ(give(RECORD_END_ALL, ""), 0);
    EXPECT_EQ(in.code, SAY_TRANSFER) << "a file was dropped";
    ASSERT_TRUE(std::filesystem::exists(at("f")));
    EXPECT_EQ(folder.read("in/f"), "new");
}

/* A link that takes the place of a directory after that was looked at. */
TEST_F(Sync, NoLinkIsOpenedToRemoveWhatIsBehind)
{
    const struct remove_rules rules = {};
    struct stat st;

    ASSERT_EQ(symlink("../outside", at("l").c_str()), 0);
    EXPECT_LT(remove_open(destination.dir_fd, "l", true, &st), 0);
    EXPECT_LT(remove_directory(&rules, destination.dir_fd, "l", "l"), 0);
    EXPECT_EQ(remove_entry(&rules, destination.dir_fd, "l", "l"), 0);
    EXPECT_FALSE(std::filesystem::is_symlink(at("l")));
}

/* A directory that is mounted in the target as well has the same device, and its content is not the
 * target's. */
TEST_F(Sync, NothingThatIsMountedIsRemoved)
{
    auto mounted = [this] {
        const struct remove_rules rules = {};

        if (unshare(CLONE_NEWNS) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
            exit(77);
        if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) < 0 ||
            mount(folder.at("outside").c_str(), at("d/m").c_str(), nullptr, MS_BIND, nullptr) < 0)
            exit(77);
        int fd = open(folder.at("in").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (remove_entry(&rules, fd, "d", "d") != -EXDEV)
            exit(1);
        exit(std::filesystem::exists(at("d/m/f")) && !std::filesystem::exists(at("d/x")) ? 0 : 2);
    };
    int status;

    for (const char *name : {"d", "d/m"})
        ASSERT_EQ(mkdir(at(name).c_str(), 0755), 0);
    folder.write("in/d/x", "");
    pid_t child = fork();
    if (child == 0)
        mounted();
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        GTEST_SKIP() << "no right to mount";
    EXPECT_EQ(WEXITSTATUS(status), 0) << "1: another error; 2: something else was removed";
}

TEST(NameSet, AgainstASetOfStrings)
{
    std::mt19937_64 rng(test_seed());
    struct name_set s = {};
    std::vector<std::string> names;

    EXPECT_FALSE(name_set_has(&s, 'a', ""));
    for (int i = 0; i < 5000; i++)
        names.push_back(std::to_string(i) + "/" + std::to_string(rng()));
    for (auto &name : names)
        ASSERT_EQ(name_set_add(&s, 'a', name.c_str()), 1);
    for (auto &name : names) {
        EXPECT_EQ(name_set_add(&s, 'a', name.c_str()), 0);
        EXPECT_TRUE(name_set_has(&s, 'a', name.c_str()));
        EXPECT_FALSE(name_set_has(&s, 'b', name.c_str()));
        EXPECT_FALSE(name_set_has(&s, 'a', (name + "x").c_str()));
    }
    EXPECT_EQ(s.n, names.size());
    name_set_fini(&s);
}
