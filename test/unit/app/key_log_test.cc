// SPDX-License-Identifier: BSD-3-Clause
// The key log: what stands in it, which files are refused, and what is said of a full disk.
#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <regex>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "../sluice/folder.h"

extern "C" {
#include "common/say.h"
#include "sluiced/control/key_log.h"
}

namespace
{

std::vector<std::string> lines_said;

} // namespace

extern "C" void say_line(enum say_level, const struct say_fields *, const char *format, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    lines_said.emplace_back(text);
}

namespace
{

const char HEADER[] = "# Sluice key log, version 1: anyone with this file can read the packets\n";
const char TIME[] = R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)";

struct assoc_keys keys_of(enum aead_cipher cipher, bool outgoing)
{
    struct assoc_keys k = {};

    k.number = 0xa1;
    k.remote = 0xfedcba98;
    k.outgoing = outgoing;
    k.cipher = cipher;
    for (int i = 0; i < NOISE_KEY_BYTES; i++) {
        k.keys.seal[i] = (uint8_t)i;
        k.keys.open[i] = (uint8_t)(0xf0 - i);
    }
    return k;
}

class KeyLog : public testing::Test
{
  protected:
    void SetUp() override
    {
        lines_said.clear();
    }
    void TearDown() override
    {
        key_log_close(&log);
    }
    int open_at(const std::string &name)
    {
        path = folder.at(name);
        return key_log_open(&log, path.c_str(), err, sizeof err);
    }
    void add(enum aead_cipher cipher = AEAD_AES_128_GCM, bool outgoing = true)
    {
        struct assoc_keys k = keys_of(cipher, outgoing);

        key_log_add(&log, &k);
    }
    /* Both the start and the check refuse the file, in one line that names it, cause and cure. */
    void refused(const std::string &name, int rc, const std::string &cause, const std::string &cure)
    {
        const std::string before =
            std::filesystem::is_regular_file(folder.at(name)) ? folder.read(name) : std::string();

        for (bool start : {true, false}) {
            err[0] = '\0';
            path = folder.at(name);
            EXPECT_EQ(start ? open_at(name) : key_log_check(path.c_str(), err, sizeof err), rc)
                << cause << " start " << start;
            const std::string told = err;
            EXPECT_EQ(told.substr(0, path.size() + 2), path + ": ") << told;
            EXPECT_NE(told.find(cause), std::string::npos) << told << " lacks " << cause;
            EXPECT_NE(told.find("; " + cure), std::string::npos) << told << " lacks " << cure;
            EXPECT_FALSE(log.on);
        }
        if (std::filesystem::is_regular_file(folder.at(name))) {
            EXPECT_EQ(folder.read(name), before) << "a refused file was changed";
        }
    }

    Folder folder;
    struct key_log log = {};
    std::string path;
    char err[512] = "";
};

TEST_F(KeyLog, HasALineForEachDirection)
{
    ASSERT_EQ(open_at("log"), 0) << err;
    add(AEAD_AES_128_GCM, true);
    add(AEAD_CHACHA20_POLY1305, false);
    const std::string ours = "000102030405060708090a0b0c0d0e0f",
                      theirs = "f0efeeedecebeae9e8e7e6e5e4e3e2e1";
    const std::regex want(std::string(HEADER) + "KEY " + TIME +
                          " fedcba98 AES-128-GCM initiator sent " + ours + "\nKEY " + TIME +
                          " 000000a1 AES-128-GCM responder received " + theirs + "\nKEY " + TIME +
                          " fedcba98 ChaCha20-Poly1305 responder sent " + ours +
                          "101112131415161718191a1b1c1d1e1f\nKEY " + TIME +
                          " 000000a1 ChaCha20-Poly1305 initiator received " + theirs +
                          "e0dfdedddcdbdad9d8d7d6d5d4d3d2d1\n");
    EXPECT_TRUE(std::regex_match(folder.read("log"), want)) << folder.read("log");
    EXPECT_TRUE(lines_said.empty());
}

TEST_F(KeyLog, HasTheTimeOfDay)
{
    struct tm day = {};
    struct timespec before, after;
    unsigned int ms = 0;

    ASSERT_EQ(open_at("log"), 0) << err;
    clock_gettime(CLOCK_REALTIME, &before);
    add();
    clock_gettime(CLOCK_REALTIME, &after);
    std::string text = folder.read("log").substr(strlen(HEADER));
    ASSERT_EQ(sscanf(text.c_str(), "KEY %d-%d-%dT%d:%d:%d.%3uZ", &day.tm_year, &day.tm_mon,
                     &day.tm_mday, &day.tm_hour, &day.tm_min, &day.tm_sec, &ms),
              7)
        << text;
    day.tm_year -= 1900;
    day.tm_mon--;
    int64_t now_ms = timegm(&day) * 1000 + ms;
    EXPECT_GE(now_ms, before.tv_sec * 1000 + before.tv_nsec / 1000000);
    EXPECT_LE(now_ms, after.tv_sec * 1000 + after.tv_nsec / 1000000);
}

TEST_F(KeyLog, OnlyItsUserMayReadIt)
{
    mode_t before = umask(0);
    struct stat st;

    EXPECT_EQ(open_at("log"), 0) << err;
    umask(before);
    ASSERT_EQ(stat(path.c_str(), &st), 0);
    EXPECT_EQ(st.st_mode, (mode_t)(S_IFREG | 0600));
    EXPECT_EQ(st.st_uid, geteuid());
}

TEST_F(KeyLog, GrowsFromStartToStart)
{
    for (int starts = 0; starts < 3; starts++) {
        ASSERT_EQ(open_at("log"), 0) << err;
        EXPECT_EQ(key_log_check(path.c_str(), err, sizeof err), 0) << err;
        add();
        key_log_close(&log);
    }
    std::string text = folder.read("log");
    EXPECT_EQ(text.rfind(HEADER), 0u) << "the header stands once, at the beginning";
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 7);
}

/* Two daemons may have one log: each line is appended, wherever the other one has come to. */
TEST_F(KeyLog, MayHaveTwoWriters)
{
    struct key_log other = {};

    ASSERT_EQ(open_at("log"), 0) << err;
    ASSERT_EQ(key_log_open(&other, path.c_str(), err, sizeof err), 0) << err;
    struct assoc_keys k = keys_of(AEAD_AES_256_GCM, true);
    key_log_add(&other, &k);
    add();
    key_log_add(&other, &k);
    key_log_close(&other);
    std::string text = folder.read("log");
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 7) << text;
}

TEST_F(KeyLog, TheCheckMakesNoFile)
{
    EXPECT_EQ(key_log_check(folder.at("log").c_str(), err, sizeof err), 0) << err;
    EXPECT_EQ(key_log_check(folder.at("no/log").c_str(), err, sizeof err), 0) << err;
    EXPECT_EQ(folder.count(), 0u);
}

TEST_F(KeyLog, FilesThatAreRefused)
{
    folder.write("open", HEADER);
    ASSERT_EQ(chmod(folder.at("open").c_str(), 0640), 0);
    refused("open", -EPERM, "mode 0640 lets other users at the keys",
            "chmod 600 " + folder.at("open"));
    folder.write("other",
                 "something else, which is longer than the header of a key log would be\n");
    folder.write("short", "# Sluice");
    for (const char *name : {"other", "short"}) {
        ASSERT_EQ(chmod(folder.at(name).c_str(), 0600), 0);
        refused(name, -EINVAL, "that is no key log", "name another file");
    }
    ASSERT_EQ(mkfifo(folder.at("pipe").c_str(), 0600), 0);
    refused("pipe", -EINVAL, "no regular file", "name one");
}

TEST_F(KeyLog, LinksAreNotFollowed)
{
    folder.write("true", HEADER);
    ASSERT_EQ(chmod(folder.at("true").c_str(), 0600), 0);
    std::filesystem::create_symlink(folder.at("true"), folder.at("soft"));
    std::filesystem::create_symlink(folder.at("nowhere"), folder.at("dangling"));
    std::filesystem::create_directory(folder.at("dir"));
    std::filesystem::create_symlink("dir", folder.at("to-dir"));
    for (const char *name : {"soft", "dangling", "to-dir/log"})
        refused(name, -ELOOP, "symbolic link", "write the path");
    EXPECT_FALSE(std::filesystem::exists(folder.at("nowhere")));
    EXPECT_FALSE(std::filesystem::exists(folder.at("dir/log")));
    std::filesystem::create_hard_link(folder.at("true"), folder.at("hard"));
    for (const char *name : {"hard", "true"})
        refused(name, -EPERM, "has another name", "remove it");
}

TEST_F(KeyLog, AFolderThatIsMissing)
{
    EXPECT_EQ(open_at("no/log"), -ENOENT);
    EXPECT_NE(std::string(err).find("No such file"), std::string::npos) << err;
}

TEST_F(KeyLog, FilesOfOtherUsers)
{
    if (geteuid() != 0)
        GTEST_SKIP() << "only root can give a file away";
    folder.write("log", HEADER);
    ASSERT_EQ(chmod(folder.at("log").c_str(), 0600), 0);
    ASSERT_EQ(chown(folder.at("log").c_str(), 65534, 65534), 0);
    EXPECT_EQ(open_at("log"), -EPERM);
    EXPECT_NE(std::string(err).find("belongs to user "), std::string::npos) << err;
    EXPECT_EQ(key_log_check(path.c_str(), err, sizeof err), 0) << "the daemon may be that user's";
}

/* A disk that is full is no reason to stop. What was cut short is not mixed with what follows. */
TEST_F(KeyLog, AFullDiskIsSaidOnce)
{
    ASSERT_EQ(open_at("log"), 0) << err;
    int file = log.fd, full = open("/dev/full", O_WRONLY | O_CLOEXEC);

    ASSERT_GE(full, 0);
    log.fd = full;
    add();
    add();
    ASSERT_EQ(lines_said.size(), 1u);
    EXPECT_NE(lines_said[0].find("key log " + path + ": cannot be written: No space left"),
              std::string::npos)
        << lines_said[0];
    EXPECT_EQ(lines_said[0].find("000102"), std::string::npos) << "a key was said";
    log.fd = file;
    add();
    add();
    close(full);
    ASSERT_EQ(lines_said.size(), 2u);
    EXPECT_NE(lines_said[1].find("is written again"), std::string::npos);
    std::string text = folder.read("log");
    EXPECT_EQ(text.substr(0, strlen(HEADER) + 5), std::string(HEADER) + "\nKEY ");
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 6);
}

} // namespace
