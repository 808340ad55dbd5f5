/* SPDX-License-Identifier: BSD-3-Clause */
/* The file of a capture: whole blocks, whatever happens, and for nobody else. */
#include <cerrno>
#include <csignal>
#include <cstring>
#include <cstdlib>
#include <fcntl.h>
#include <map>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <vector>

#include "unit/sluice/folder.h"

extern "C" {
#include "sluice/capture/capture_file.h"
}

namespace
{

/* A block of one frame of len bytes. */
std::vector<uint8_t> frame(uint32_t len)
{
    uint32_t total = 32 + (len + 3) / 4 * 4;
    std::vector<uint8_t> block(total, 0);
    capture_block b = {CAPTURE_PACKET, total, 0, 0, 0, len, len};

    memcpy(block.data(), &b, sizeof b);
    memcpy(block.data() + total - 4, &total, 4);
    return block;
}

void put(struct capture_file *f, const std::vector<uint8_t> &block, uint32_t interface = 0)
{
    capture_file_frame(f, block.data(), static_cast<uint32_t>(block.size()), interface);
}

/* The types of the blocks in a file, which must be whole. frames: of each interface. */
std::vector<uint32_t> types(const std::string &file, std::map<uint32_t, uint64_t> *frames = nullptr)
{
    std::vector<uint32_t> found;
    size_t at = 0;

    while (at < file.size()) {
        uint32_t head[3], last;

        EXPECT_LE(at + 12, file.size());
        memcpy(head, file.data() + at, sizeof head);
        EXPECT_LE(at + head[1], file.size());
        if (head[1] < 12 || at + head[1] > file.size())
            break;
        memcpy(&last, file.data() + at + head[1] - 4, 4);
        EXPECT_EQ(last, head[1]);
        found.push_back(head[0]);
        if (frames != nullptr && head[0] == CAPTURE_PACKET)
            ++(*frames)[head[2]];
        at += head[1];
    }
    return found;
}

} // namespace

TEST(CaptureFile, HasABeginningFramesAndAnEnd)
{
    Folder folder;
    struct capture_file f;
    struct capture_stats stats = {0, 1, 2, 1, 5};
    struct stat st;
    auto one = frame(5);

    mode_t mask = umask(0);
    int status = capture_file_open(&f, folder.at("x").c_str(), false);
    umask(mask);
    ASSERT_EQ(status, 0);
    capture_file_begin(&f, std::string(1000, 'n').c_str());
    capture_file_interface(&f, std::string(1000, 'n').c_str(), "", 65536);
    put(&f, one);
    capture_file_stats(&f, &stats);
    EXPECT_EQ(folder.read("x"), "") << "blocks are collected";
    ASSERT_EQ(capture_file_close(&f), 0);
    EXPECT_EQ(f.frames, 1u);
    EXPECT_EQ(types(folder.read("x")), (std::vector<uint32_t>{0x0a0d0d0a, 1, 6, 5}));
    ASSERT_EQ(stat(folder.at("x").c_str(), &st), 0);
    EXPECT_EQ(st.st_mode & 07777, 0600u);
}

/* A block lies in memory that the daemon writes; it cannot damage the file by changing its ends. */
TEST(CaptureFile, BelievesNoLengthOfABlock)
{
    Folder folder;
    struct capture_file f;
    auto one = frame(5);
    std::map<uint32_t, uint64_t> frames;

    ASSERT_EQ(capture_file_open(&f, folder.at("x").c_str(), false), 0);
    for (size_t at : {size_t{0}, size_t{4}, size_t{8}, one.size() - 4}) {
        auto lies = one;

        memset(lies.data() + at, 0xff, 4);
        put(&f, lies, 2);
    }
    ASSERT_EQ(capture_file_close(&f), 0);
    EXPECT_EQ(types(folder.read("x"), &frames), (std::vector<uint32_t>(4, CAPTURE_PACKET)));
    EXPECT_EQ(frames[2], 4u);
}

TEST(CaptureFile, LeavesOldFilesAndFollowsNoLink)
{
    Folder folder;
    struct capture_file f;
    struct stat st;

    folder.write("old", "precious");
    ASSERT_EQ(chmod(folder.at("old").c_str(), 0644), 0);
    ASSERT_EQ(symlink("old", folder.at("link").c_str()), 0);
    ASSERT_EQ(symlink("nothing", folder.at("broken").c_str()), 0);
    for (const char *name : {"old", "link", "broken"})
        EXPECT_NE(capture_file_open(&f, folder.at(name).c_str(), false), 0) << name;
    EXPECT_EQ(folder.count(), 3u);
    EXPECT_EQ(folder.read("old"), "precious");

    /* The link is replaced, not what it names; and a new file is as private as any. */
    ASSERT_EQ(capture_file_open(&f, folder.at("link").c_str(), true), 0);
    EXPECT_EQ(capture_file_close(&f), 0);
    EXPECT_EQ(folder.read("old"), "precious");
    ASSERT_EQ(capture_file_open(&f, folder.at("old").c_str(), true), 0);
    EXPECT_EQ(capture_file_close(&f), 0);
    ASSERT_EQ(stat(folder.at("old").c_str(), &st), 0);
    EXPECT_EQ(st.st_mode & 07777, 0600u);
    EXPECT_EQ(folder.read("old"), "");
}

/* No room after any number of bytes: the file ends with a whole block, and the count is right. */
TEST(CaptureFile, IsWholeWhereTheDiskIsFull)
{
    auto one = frame(100), two = frame(3);
    struct rlimit before, limit;

    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    for (rlim_t bytes : {1, 11, 300, 500, 1000, 1001, 1003, 1500, 40000, 1048577, 1100001}) {
        Folder folder;
        struct capture_file f;
        struct capture_stats stats = {0, 1, 2, 1, 5};

        ASSERT_EQ(capture_file_open(&f, folder.at("x").c_str(), false), 0);
        limit = {bytes, before.rlim_max};
        ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
        capture_file_begin(&f, "port");
        capture_file_interface(&f, "port", "driver", 65536);
        for (int i = 0; i < 20000; i++) {
            put(&f, one, 3);
            put(&f, two, 15);
            if (i % 100 == 99)
                capture_file_flush(&f);
        }
        capture_file_stats(&f, &stats);
        EXPECT_EQ(capture_file_close(&f), -EFBIG) << bytes;
        ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
        std::string file = folder.read("x");
        std::map<uint32_t, uint64_t> frames;
        types(file, &frames);
        for (uint32_t i = 0; i < CAPTURE_PORTS_MAX; i++)
            EXPECT_EQ(frames[i], f.interface_frames[i]) << bytes << ", interface " << i;
        EXPECT_EQ(frames[3] + frames[15], f.frames) << bytes;
        EXPECT_GT(file.size() + one.size() + 400, bytes) << "no block that has room is missing";
    }
    signal(SIGXFSZ, SIG_DFL);
}

/* Standard output while it is replaced by another descriptor. */
class Output
{
  public:
    explicit Output(int fd) : before(dup(STDOUT_FILENO))
    {
        fflush(stdout);
        dup2(fd, STDOUT_FILENO);
    }
    ~Output()
    {
        dup2(before, STDOUT_FILENO);
        close(before);
    }

  private:
    int before;
};

/* Writes frames to standard output, which is fd, a file in which only 1000 bytes have room. Returns
 * how many it has whole. */
uint64_t output_fill(int fd, const std::vector<uint8_t> &one)
{
    struct capture_file f;
    struct rlimit before, limit;
    int opened, closed;

    EXPECT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    limit = {1000, before.rlim_max};
    {
        Output output(fd);

        opened = capture_file_open(&f, "-", false);
        setrlimit(RLIMIT_FSIZE, &limit);
        for (int i = 0; opened == 0 && i < 20; i++)
            put(&f, one);
        closed = opened == 0 ? capture_file_close(&f) : opened;
        setrlimit(RLIMIT_FSIZE, &before);
    }
    signal(SIGXFSZ, SIG_DFL);
    EXPECT_EQ(opened, 0);
    EXPECT_EQ(closed, -EFBIG);
    return f.frames;
}

/* As of `(echo before; sluice capture; echo after) > x` on a full disk. */
TEST(CaptureFile, IsWholeOnStandardOutput)
{
    Folder folder;
    auto one = frame(100);
    int fd = open(folder.at("x").c_str(), O_RDWR | O_CREAT, 0600);

    ASSERT_GE(fd, 0);
    ASSERT_EQ(write(fd, "before", 6), 6);
    uint64_t frames = output_fill(fd, one);
    ASSERT_EQ(write(fd, "after", 5), 5);
    close(fd);
    std::string file = folder.read("x");
    EXPECT_EQ(frames, (1000 - 6) / one.size());
    ASSERT_EQ(file.size(), 6 + frames * one.size() + 5);
    EXPECT_EQ(file.substr(0, 6) + file.substr(file.size() - 5), "beforeafter");
    EXPECT_EQ(types(file.substr(6, file.size() - 11)).size(), frames);
}

/* As of `sluice capture 1<>x`. */
TEST(CaptureFile, LeavesWhatIsBehindItInStandardOutput)
{
    Folder folder;
    int fd = open(folder.at("x").c_str(), O_RDWR | O_CREAT, 0600);

    ASSERT_GE(fd, 0);
    ASSERT_EQ(pwrite(fd, "behind", 6, 2000), 6);
    output_fill(fd, frame(100));
    close(fd);
    EXPECT_EQ(folder.read("x").substr(2000), "behind");
}

TEST(CaptureFile, RefusesATerminal)
{
    struct capture_file f;
    int terminal = posix_openpt(O_RDWR | O_NOCTTY), side, status;

    ASSERT_GE(terminal, 0);
    ASSERT_EQ(unlockpt(terminal), 0);
    side = open(ptsname(terminal), O_RDWR | O_NOCTTY);
    ASSERT_GE(side, 0);
    {
        Output output(side);

        status = capture_file_open(&f, "-", false);
    }
    close(side);
    close(terminal);
    EXPECT_EQ(status, -ENOTTY);
}

TEST(CaptureFile, WritesToAPipe)
{
    Folder folder;
    std::string path = folder.at("pipe");
    struct capture_file f;
    std::string got;

    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    std::thread reader([&] { got = folder.read("pipe"); });
    ASSERT_EQ(capture_file_open(&f, path.c_str(), false), 0);
    EXPECT_TRUE(f.is_pipe);
    capture_file_begin(&f, "port");
    EXPECT_EQ(capture_file_close(&f), 0);
    reader.join();
    EXPECT_EQ(types(got), std::vector<uint32_t>{0x0a0d0d0a});
}
