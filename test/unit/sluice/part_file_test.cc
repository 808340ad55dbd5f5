/* SPDX-License-Identifier: BSD-3-Clause */
/* Incoming files: they appear whole, with mode, time and holes, or not at all. */
#include <csignal>
#include <cstring>
#include <linux/magic.h>
#include <string>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <vector>

#include "unit/base/seed.h"
#include "unit/sluice/content.h"
#include "unit/sluice/folder.h"

extern "C" {
#include "sluice/files/part_file.h"
}

class Part : public testing::Test
{
  protected:
    void SetUp() override
    {
        ASSERT_EQ(part_file_init(&part), 0);
        destination.kind = DESTINATION_DIR;
        destination.dir_fd = folder.fd;
        destination.stream_fd = -1;
        offer.type = RECORD_OFFER;
        offer.file = 1;
        offer.mode = 0640;
        offer.mtime_s = 981173106;
        offer.mtime_ns = 789000000;
    }
    void TearDown() override
    {
        part_file_fini(&part);
    }
    /* The END_FILE that matches the content. */
    struct record end(const std::string &content)
    {
        struct record r = {};

        content_hash(content, r.hash);
        r.type = RECORD_END_FILE;
        r.size = content.size();
        return r;
    }
    enum record_code put(const std::string &name, const std::string &content)
    {
        offer.size = content.size();
        enum record_code code = part_file_open(&part, &destination, name.c_str(), &offer);
        if (code == RECORD_OK && !content.empty())
            code =
                part_file_write(&part, (const uint8_t *)content.data(), (uint32_t)content.size());
        struct record e = end(content);
        return code == RECORD_OK ? part_file_finish(&part, &e) : code;
    }

    Folder folder;
    struct destination destination = {};
    struct part_file part = {};
    struct record offer = {};
};

TEST_F(Part, WholeFile)
{
    struct stat st;

    ASSERT_EQ(put("a/b/file", "content"), RECORD_OK);
    EXPECT_EQ(folder.read("a/b/file"), "content");
    EXPECT_EQ(folder.count(), 3u);
    ASSERT_EQ(stat(folder.at("a/b/file").c_str(), &st), 0);
    EXPECT_EQ(st.st_mode & 07777, 0640u);
    EXPECT_EQ(st.st_mtim.tv_sec, 981173106);
    EXPECT_EQ(st.st_mtim.tv_nsec, 789000000);
    EXPECT_FALSE(part.open);
}

// A file without holes has room from its beginning. What an interrupted transfer leaves of it has
// no more than has come.
TEST_F(Part, RoomIsKeptForAFileWithoutHoles)
{
    const std::string chunk(RECORD_CHUNK_BYTES, 'c');
    struct stat st;

    destination.keep_s = 60;
    strcpy(part.owner, "peer b");
    for (uint16_t flags : {0, (int)RECORD_COPIES | RECORD_SOLID, (int)RECORD_SOLID}) {
        bool room = flags == RECORD_SOLID;

        offer.size = 8 * RECORD_CHUNK_BYTES;
        offer.flags = flags;
        ASSERT_EQ(part_file_open(&part, &destination, "f", &offer), RECORD_OK);
        if (!room) {
            ASSERT_EQ(fstat(part.fd, &st), 0);
            EXPECT_EQ(st.st_blocks, 0);
            part_file_discard(&part);
            continue;
        }
        if (part.room_bytes == DESTINATION_NO_ROOM ||
            fallocate(part.fd, FALLOC_FL_KEEP_SIZE, 0, 4096) < 0)
            GTEST_SKIP() << "no file system that keeps room";
        ASSERT_EQ(fstat(part.fd, &st), 0);
        EXPECT_GE(st.st_blocks * 512, (blkcnt_t)offer.size);
        EXPECT_EQ(st.st_size, 0);
        EXPECT_EQ(part_file_write(&part, (const uint8_t *)chunk.data(), RECORD_CHUNK_BYTES),
                  RECORD_OK);
        EXPECT_TRUE(part_file_leave(&part));
    }
    for (auto &e : std::filesystem::directory_iterator(folder.path)) {
        ASSERT_EQ(stat(e.path().c_str(), &st), 0);
        EXPECT_EQ(st.st_size, (off_t)RECORD_CHUNK_BYTES);
        EXPECT_LT(st.st_blocks * 512, 2 * (blkcnt_t)RECORD_CHUNK_BYTES);
    }
}

// It is refused before anything of it has come, and nothing is left.
TEST_F(Part, AFileThatHasNoRoomIsRefusedAtOnce)
{
    struct statfs fs;

    ASSERT_EQ(fstatfs(folder.fd, &fs), 0);
    if (fs.f_type == BTRFS_SUPER_MAGIC || fs.f_bavail * (uint64_t)fs.f_bsize > 1ull << 42)
        GTEST_SKIP() << "no file system that is full";
    offer.size = 1ull << 42;
    offer.flags = RECORD_SOLID;
    EXPECT_EQ(part_file_open(&part, &destination, "f", &offer), RECORD_NO_SPACE);
    EXPECT_STREQ(part.why, "no room for its 4398046511104 bytes: No space left on device");
    EXPECT_FALSE(part.open);
    EXPECT_EQ(folder.count(), 0u);
}

// A sender that names a large file and sends nothing has little of the disk. What a killed receiver
// has left counts as room that is there.
TEST_F(Part, RoomIsKeptLittleByLittle)
{
    struct stat st;
    uint64_t room;
    int fd = open(folder.at("f").c_str(), O_RDWR | O_CREAT, 0600);
    const uint64_t size = 3ull << 30;

    ASSERT_GE(fd, 0);
    if (destination_room(fd, 0, size, &room) != 0 || room == DESTINATION_NO_ROOM)
        GTEST_SKIP() << "no file system that keeps room, or no room";
    destination_room_keep(fd, 0, size, &room);
    ASSERT_EQ(fstat(fd, &st), 0);
    EXPECT_LE(st.st_blocks * 512, 257 << 20);
    EXPECT_EQ(room, 256u << 20);
    destination_room_keep(fd, 100 << 20, size, &room);
    EXPECT_EQ(room, 256u << 20);
    destination_room_keep(fd, 129 << 20, size, &room);
    EXPECT_EQ(room, 512u << 20);
    struct statfs fs;
    ASSERT_EQ(fstatfs(fd, &fs), 0);
    uint64_t free_bytes = (uint64_t)fs.f_bfree * (uint64_t)fs.f_bsize, held = 512u << 20;
    EXPECT_EQ(destination_room(fd, 0, free_bytes + held / 2, &room), 0);
    EXPECT_EQ(destination_room(fd, 0, free_bytes + 2 * held, &room), -ENOSPC);
    close(fd);
}

TEST_F(Part, SeveralPieces)
{
    std::mt19937_64 rng(test_seed());
    size_t len = 3 * DIGEST_PIECE_BYTES + rng() % DIGEST_PIECE_BYTES;
    std::string content = content_random(rng, len);

    ASSERT_EQ(put("file", content), RECORD_OK);
    EXPECT_TRUE(folder.read("file") == content);
}

TEST_F(Part, EmptyFile)
{
    ASSERT_EQ(put("empty", ""), RECORD_OK);
    EXPECT_EQ(folder.count(), 1u);
    EXPECT_EQ(folder.read("empty"), "");
}

TEST_F(Part, AStrangersSetuidIsNotKept)
{
    struct stat st;

    offer.mode = 07755;
    ASSERT_EQ(put("x", "x"), RECORD_OK);
    ASSERT_EQ(stat(folder.at("x").c_str(), &st), 0);
    EXPECT_EQ(st.st_mode & 07777, 0755u);
}

TEST_F(Part, NothingHasTheNameBeforeItIsWhole)
{
    folder.write("x", "old");
    destination.overwrite = true;
    offer.size = 3;
    ASSERT_EQ(part_file_open(&part, &destination, "x", &offer), RECORD_OK);
    ASSERT_EQ(part_file_write(&part, (const uint8_t *)"new", 3), RECORD_OK);
    EXPECT_EQ(folder.read("x"), "old");
    EXPECT_EQ(folder.count(), 2u);
    EXPECT_EQ(std::string(part.temporary.text).rfind(".x.part-", 0), 0u) << part.temporary.text;
    struct record e = end("new");
    ASSERT_EQ(part_file_finish(&part, &e), RECORD_OK);
    EXPECT_EQ(folder.read("x"), "new");
    EXPECT_EQ(folder.count(), 1u);
}

/* What may lie around for long is its owner's only. A short file has its mode at once, but nobody
 * else may write to it before it is whole. */
TEST_F(Part, ModeUntilItIsWhole)
{
    struct stat st;

    strcpy(part.owner, "peer b");
    offer.mode = 0666;
    for (uint64_t size :
         {(uint64_t)0, (uint64_t)RECORD_CHUNK_BYTES - 1, (uint64_t)RECORD_CHUNK_BYTES}) {
        for (uint16_t flags : {(uint16_t)0, (uint16_t)RECORD_SIZE_UNKNOWN}) {
            bool brief = size < RECORD_CHUNK_BYTES && flags == 0;

            offer.size = size;
            offer.flags = flags;
            ASSERT_EQ(part_file_open(&part, &destination, "x", &offer), RECORD_OK);
            ASSERT_EQ(fstat(part.fd, &st), 0);
            EXPECT_EQ(st.st_mode & 07777, brief ? 0644u : 0600u) << size << " " << flags;
            EXPECT_EQ(part.temporary.lasting, !brief && flags == 0);
            part_file_discard(&part);
            EXPECT_EQ(folder.count(), 0u);
        }
    }
}

/* A program that watches a directory knows by a rename that a file is whole. */
TEST_F(Part, WatchersAreToldThatAFileIsWhole)
{
    alignas(struct inotify_event) char events[8192];
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    std::vector<std::string> moved;

    ASSERT_GE(inotify_add_watch(fd, folder.path.c_str(), IN_MOVED_TO), 0);
    ASSERT_EQ(put("short", "x"), RECORD_OK);
    ASSERT_EQ(put("long", std::string(RECORD_CHUNK_BYTES, 'x')), RECORD_OK);
    ssize_t n = read(fd, events, sizeof events);
    for (ssize_t at = 0; at < n;) {
        const struct inotify_event *e = (const struct inotify_event *)(events + at);

        moved.push_back(e->name);
        at += (ssize_t)sizeof *e + e->len;
    }
    close(fd);
    EXPECT_EQ(moved, (std::vector<std::string>{"short", "long"}));
}

/* What appears while a short file is received stays, unless it may be replaced. */
TEST_F(Part, ShortFilesReplaceOnlyWhatTheyMay)
{
    for (bool overwrite : {false, true}) {
        destination.overwrite = overwrite;
        offer.size = 3;
        ASSERT_EQ(part_file_open(&part, &destination, "x", &offer), RECORD_OK);
        ASSERT_EQ(part_file_write(&part, (const uint8_t *)"new", 3), RECORD_OK);
        folder.write("x", "other");
        struct record e = end("new");
        EXPECT_EQ(part_file_finish(&part, &e), overwrite ? RECORD_OK : RECORD_EXISTS);
        EXPECT_EQ(folder.read("x"), overwrite ? "new" : "other");
        EXPECT_EQ(folder.count(), 1u);
        unlink(folder.at("x").c_str());
    }
}

/* A directory of which files were received, and that something else has replaced since. */
TEST_F(Part, TheDirectoryIsLookedUpAgainAfterARest)
{
    Folder outside;

    ASSERT_EQ(put("d/a", "a"), RECORD_OK);
    std::filesystem::rename(folder.at("d"), folder.at("moved"));
    ASSERT_EQ(symlink(outside.path.c_str(), folder.at("d").c_str()), 0);
    ASSERT_EQ(put("d/b", "b"), RECORD_OK);
    EXPECT_EQ(folder.read("moved/b"), "b") << "the directory is the one that was opened";
    part_file_rest(&part);
    EXPECT_EQ(put("d/c", "c"), RECORD_IN_THE_WAY);
    EXPECT_EQ(outside.count(), 0u);
}

TEST_F(Part, WrongHashLeavesNothing)
{
    offer.size = 3;
    ASSERT_EQ(part_file_open(&part, &destination, "x", &offer), RECORD_OK);
    ASSERT_EQ(part_file_write(&part, (const uint8_t *)"new", 3), RECORD_OK);
    struct record e = end("neW");
    EXPECT_EQ(part_file_finish(&part, &e), RECORD_CORRUPT);
    EXPECT_EQ(folder.count(), 0u);
}

TEST_F(Part, WrongSizeLeavesNothing)
{
    offer.size = 4;
    ASSERT_EQ(part_file_open(&part, &destination, "x", &offer), RECORD_OK);
    ASSERT_EQ(part_file_write(&part, (const uint8_t *)"new", 3), RECORD_OK);
    struct record e = end("new");
    EXPECT_EQ(part_file_finish(&part, &e), RECORD_CORRUPT);
    EXPECT_EQ(folder.count(), 0u);
    offer.size = 0;
    offer.flags = RECORD_SIZE_UNKNOWN;
    ASSERT_EQ(part_file_open(&part, &destination, "x", &offer), RECORD_OK);
    ASSERT_EQ(part_file_write(&part, (const uint8_t *)"new", 3), RECORD_OK);
    EXPECT_EQ(part_file_finish(&part, &e), RECORD_OK);
}

TEST_F(Part, DiscardedLeavesNothing)
{
    offer.size = RECORD_CHUNK_BYTES;
    ASSERT_EQ(part_file_open(&part, &destination, "x", &offer), RECORD_OK);
    EXPECT_EQ(folder.count(), 1u);
    part_file_discard(&part);
    EXPECT_EQ(folder.count(), 0u);
    part_file_discard(&part);
}

TEST_F(Part, Holes)
{
    struct stat st;
    const uint64_t mib = 1 << 20;
    std::string content = std::string(4 * mib, '\0') + "data" + std::string(2 * mib, '\0');

    offer.size = content.size();
    ASSERT_EQ(part_file_open(&part, &destination, "sparse", &offer), RECORD_OK);
    EXPECT_EQ(part_file_hole(&part, 4 * mib), RECORD_OK);
    EXPECT_EQ(part_file_write(&part, (const uint8_t *)"data", 4), RECORD_OK);
    EXPECT_EQ(part_file_hole(&part, 2 * mib), RECORD_OK);
    struct record e = end(content);
    ASSERT_EQ(part_file_finish(&part, &e), RECORD_OK);
    EXPECT_EQ(folder.read("sparse"), content);
    ASSERT_EQ(stat(folder.at("sparse").c_str(), &st), 0);
    EXPECT_LT(st.st_blocks * 512, 1 << 16);
    EXPECT_EQ(part.hole_bytes, 6 * mib);
}

TEST_F(Part, InTheWay)
{
    Folder outside;

    ASSERT_EQ(mkdir(folder.at("dir").c_str(), 0777), 0);
    EXPECT_EQ(put("dir", "x"), RECORD_IN_THE_WAY);
    folder.write("file", "old");
    EXPECT_EQ(put("file/x", "x"), RECORD_IN_THE_WAY);
    EXPECT_EQ(folder.read("file"), "old");
    ASSERT_EQ(symlink(outside.path.c_str(), folder.at("link").c_str()), 0);
    EXPECT_EQ(put("link/x", "x"), RECORD_IN_THE_WAY);
    EXPECT_EQ(outside.count(), 0u);
    EXPECT_EQ(folder.count(), 3u);
}

/* A link under the file's own name is replaced. Its target does not change. */
TEST_F(Part, LinkIsReplaced)
{
    Folder outside;
    struct stat st;

    outside.write("target", "precious");
    destination.overwrite = true;
    ASSERT_EQ(symlink(outside.at("target").c_str(), folder.at("x").c_str()), 0);
    ASSERT_EQ(put("x", "new"), RECORD_OK);
    EXPECT_EQ(outside.read("target"), "precious");
    ASSERT_EQ(lstat(folder.at("x").c_str(), &st), 0);
    EXPECT_TRUE(S_ISREG(st.st_mode));
}

TEST_F(Part, AFileThatIsThereStays)
{
    folder.write("x", "old");
    ASSERT_EQ(symlink("nowhere", folder.at("link").c_str()), 0);
    EXPECT_EQ(put("x", "new"), RECORD_EXISTS);
    EXPECT_EQ(put("link", "new"), RECORD_EXISTS);
    EXPECT_EQ(folder.read("x"), "old");
    EXPECT_EQ(folder.count(), 2u);
}

/* Another file appears under the name while this one arrives. */
TEST_F(Part, AFileThatComesMeanwhileStays)
{
    offer.size = 3;
    ASSERT_EQ(part_file_open(&part, &destination, "x", &offer), RECORD_OK);
    ASSERT_EQ(part_file_write(&part, (const uint8_t *)"new", 3), RECORD_OK);
    folder.write("x", "old");
    struct record e = end("new");
    EXPECT_EQ(part_file_finish(&part, &e), RECORD_EXISTS);
    EXPECT_EQ(folder.read("x"), "old");
    EXPECT_EQ(folder.count(), 1u);
}

TEST_F(Part, TheUmaskHoldsForFiles)
{
    struct stat st;

    destination.mask = 077;
    offer.mode = 0775;
    ASSERT_EQ(put("x", "x"), RECORD_OK);
    ASSERT_EQ(stat(folder.at("x").c_str(), &st), 0);
    EXPECT_EQ(st.st_mode & 07777, 0700u);
}

TEST_F(Part, TheUmaskHoldsForDirectories)
{
    struct record r = offer;
    struct stat st;
    mode_t before = umask(077);

    destination.mask = 077;
    r.type = RECORD_DIR;
    r.mode = 0755;
    EXPECT_EQ(put("a/b/x", "x"), RECORD_OK);
    EXPECT_EQ(part_file_directory(&part, &destination, "a/b", &r), RECORD_OK);
    umask(before);
    for (const char *name : {"a", "a/b"}) {
        ASSERT_EQ(stat(folder.at(name).c_str(), &st), 0);
        EXPECT_EQ(st.st_mode & 07777, 0700u) << name;
    }
}

/* A directory that existed before keeps the mode and time that its owner gave it, also if a file
 * was put in it. */
TEST_F(Part, ADirectoryThatWasThereStaysAsItIs)
{
    struct record r = offer;
    struct stat st;

    ASSERT_EQ(mkdir(folder.at(".ssh").c_str(), 0700), 0);
    r.type = RECORD_DIR;
    r.mode = 0777;
    ASSERT_EQ(put(".ssh/new/x", "x"), RECORD_OK);
    ASSERT_EQ(part_file_directory(&part, &destination, ".ssh/new", &r), RECORD_OK);
    ASSERT_EQ(part_file_directory(&part, &destination, ".ssh", &r), RECORD_OK);
    ASSERT_EQ(stat(folder.at(".ssh").c_str(), &st), 0);
    EXPECT_EQ(st.st_mode & 07777, 0700u);
    EXPECT_NE(st.st_mtim.tv_sec, 981173106);
    ASSERT_EQ(stat(folder.at(".ssh/new").c_str(), &st), 0);
    EXPECT_EQ(st.st_mode & 07777, 0777u) << "this sender made it";
    r.mode = 0700;
    ASSERT_EQ(part_file_directory(&part, &destination, ".ssh/new", &r), RECORD_OK);
    ASSERT_EQ(stat(folder.at(".ssh/new").c_str(), &st), 0);
    EXPECT_EQ(st.st_mode & 07777, 0777u) << "the first mode counts";
}

/* For a name of the greatest depth, each new directory gets its mode. More are not remembered. */
TEST_F(Part, AsManyDirectoriesAsANameHasAreRemembered)
{
    struct made_dirs m = {};
    Folder many;

    for (uint32_t i = 0; i < MADE_DIRS_MAX + 1; i++) {
        std::string name = many.at(std::to_string(i));
        ASSERT_EQ(mkdir(name.c_str(), 0777), 0);
        int fd = open(name.c_str(), O_RDONLY | O_DIRECTORY);
        made_dirs_add(&m, fd);
        close(fd);
    }
    EXPECT_EQ(m.n, MADE_DIRS_MAX);
    for (uint32_t i = MADE_DIRS_MAX + 1; i-- > 0;) {
        int fd = open(many.at(std::to_string(i)).c_str(), O_RDONLY | O_DIRECTORY);
        EXPECT_EQ(made_dirs_take(&m, fd), i != 0) << i;
        EXPECT_FALSE(made_dirs_take(&m, fd)) << i;
        close(fd);
    }
}

TEST_F(Part, LongestName)
{
    std::string longest(255, 'n');

    ASSERT_EQ(put(longest, "x"), RECORD_OK);
    EXPECT_EQ(folder.read(longest), "x");
    EXPECT_EQ(folder.count(), 1u);
}

/* That says nothing about the next file, as a full disk does. */
TEST_F(Part, TooLargeForTheFileSystem)
{
    struct rlimit before, small;

    signal(SIGXFSZ, SIG_IGN);
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 4096;
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    EXPECT_EQ(put("large", std::string(100000, 'x')), RECORD_IO);
    EXPECT_STREQ(part.why, "writing: File too large");
    setrlimit(RLIMIT_FSIZE, &before);
    part_file_discard(&part);
    EXPECT_EQ(folder.count(), 0u);
}

TEST_F(Part, OneFileOnly)
{
    destination.kind = DESTINATION_FILE;
    strcpy(destination.base, "mine");
    ASSERT_EQ(put("theirs", "x"), RECORD_OK);
    EXPECT_EQ(folder.read("mine"), "x");
    EXPECT_EQ(put("second", "x"), RECORD_ONE_FILE);
    struct record dir = offer;
    EXPECT_EQ(part_file_directory(&part, &destination, "d", &dir), RECORD_ONE_FILE);
    EXPECT_EQ(folder.count(), 1u);
}

TEST_F(Part, Stream)
{
    int fds[2];
    char buffer[16] = "";

    ASSERT_EQ(pipe(fds), 0);
    destination.kind = DESTINATION_STREAM;
    destination.stream_fd = fds[1];
    destination.fsync = true; // which means nothing to a pipe
    offer.size = 6;
    ASSERT_EQ(part_file_open(&part, &destination, "x", &offer), RECORD_OK);
    EXPECT_EQ(part_file_write(&part, (const uint8_t *)"ab", 2), RECORD_OK);
    EXPECT_EQ(part_file_hole(&part, 3), RECORD_OK);
    EXPECT_EQ(part_file_write(&part, (const uint8_t *)"c", 1), RECORD_OK);
    struct record e = end(std::string("ab\0\0\0c", 6));
    EXPECT_EQ(part_file_finish(&part, &e), RECORD_OK);
    EXPECT_EQ(read(fds[0], buffer, sizeof buffer), 6);
    EXPECT_EQ(memcmp(buffer, "ab\0\0\0c", 6), 0);
    close(fds[0]);
    close(fds[1]);
}

TEST_F(Part, FullStream)
{
    destination.kind = DESTINATION_STREAM;
    destination.stream_fd = open("/dev/full", O_WRONLY);
    ASSERT_GE(destination.stream_fd, 0);
    EXPECT_EQ(put("x", "content"), RECORD_NO_SPACE);
    EXPECT_NE(strstr(part.why, "No space left"), nullptr) << part.why;
    close(destination.stream_fd);
}

/* Only the end shows it. */
TEST_F(Part, AStreamThatCannotBeStored)
{
    destination.kind = DESTINATION_STREAM;
    destination.fsync = true;
    destination.stream_fd = open(folder.at("disk").c_str(), O_WRONLY | O_CREAT, 0600);
    ASSERT_GE(destination.stream_fd, 0);
    offer.size = 7;
    ASSERT_EQ(part_file_open(&part, &destination, "x", &offer), RECORD_OK);
    EXPECT_EQ(part_file_write(&part, (const uint8_t *)"content", 7), RECORD_OK);
    close(destination.stream_fd);
    struct record e = end("content");
    EXPECT_EQ(part_file_finish(&part, &e), RECORD_IO);
    EXPECT_NE(strstr(part.why, "completing it"), nullptr) << part.why;
    EXPECT_FALSE(part.open);
}

TEST_F(Part, ReaderOfTheStreamIsGone)
{
    int fds[2];

    signal(SIGPIPE, SIG_IGN);
    ASSERT_EQ(pipe(fds), 0);
    close(fds[0]);
    destination.kind = DESTINATION_STREAM;
    destination.stream_fd = fds[1];
    EXPECT_EQ(put("x", "content"), RECORD_IO);
    close(fds[1]);
}

TEST_F(Part, Directories)
{
    struct record r = offer;
    struct stat st;

    r.type = RECORD_DIR;
    r.mode = 04751;
    ASSERT_EQ(part_file_directory(&part, &destination, "a/b", &r), RECORD_OK);
    ASSERT_EQ(stat(folder.at("a/b").c_str(), &st), 0);
    EXPECT_EQ(st.st_mode & 07777, 0751u);
    EXPECT_EQ(st.st_mtim.tv_sec, 981173106);
    folder.write("file", "x");
    EXPECT_EQ(part_file_directory(&part, &destination, "file", &r), RECORD_IN_THE_WAY);
    ASSERT_EQ(symlink("/tmp", folder.at("link").c_str()), 0);
    EXPECT_EQ(part_file_directory(&part, &destination, "link", &r), RECORD_IN_THE_WAY);
}
