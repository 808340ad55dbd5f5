// SPDX-License-Identifier: BSD-3-Clause
// Files that hold a key: what is read, what is refused and why, and that none is replaced.
#include <cerrno>
#include <cstring>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "folder.h"

extern "C" {
#include "crypto/dh.h"
#include "sluice/key/key_file.h"
#include "sluice/key/memory_port.h"
}

namespace
{

// The private and the public key of Alice in RFC 7748, section 6.1.
const char ALICE[] = "dwdtCnMYpX08FsFyUbJmRd9ML4frwJkqsXf7pR25LCo=";
const char ALICE_PUBLIC[] = "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo=";

class KeyFile : public testing::Test
{
  protected:
    std::string path(const std::string &name) const
    {
        return folder.at(name);
    }
    std::string made(const std::string &text, unsigned int mode = 0600) const
    {
        folder.write("k", text);
        chmod(path("k").c_str(), mode);
        return path("k");
    }
    int read(const std::string &name, enum key_file_owner owner = KEY_FILE_TRUSTED)
    {
        err[0] = '\0';
        memset(key, 0xaa, sizeof key);
        return key_file_read(name.c_str(), owner, key, err, sizeof err);
    }
    void refused(const std::string &name, int rc, const std::string &said)
    {
        EXPECT_EQ(read(name), rc) << said;
        EXPECT_NE(std::string(err).find(said), std::string::npos) << err << " lacks " << said;
        EXPECT_EQ(std::string(err).find('\n'), std::string::npos) << err;
        EXPECT_EQ(std::string(err).substr(0, name.size()), name) << err;
        EXPECT_NE(std::string(err).find("; "), std::string::npos) << err << " has no cure";
    }

    Folder folder;
    uint8_t key[KEY_BYTES];
    char err[512];
};

TEST_F(KeyFile, OneKeyWithOrWithoutNewline)
{
    char text[KEY_TEXT_BYTES];
    uint8_t public_key[DH_BYTES];

    for (const char *end : {"", "\n"}) {
        ASSERT_EQ(read(made(std::string(ALICE) + end)), 0) << err;
        key_format(key, text);
        EXPECT_STREQ(text, ALICE);
        dh_public(key, public_key);
        key_format(public_key, text);
        EXPECT_STREQ(text, ALICE_PUBLIC);
    }
}

TEST_F(KeyFile, WhatIsNoKeyIsRefusedByLine)
{
    const std::string key_text = ALICE;

    refused(made(""), -EINVAL, ": is empty; make a key");
    refused(made("\n"), -EINVAL, ":1: is not a key");
    refused(made("\n" + key_text), -EINVAL, ":1: is not a key");
    refused(made(key_text.substr(1)), -EINVAL, ":1: is not a key");
    refused(made(key_text + "\r\n"), -EINVAL, ":1: is not a key");
    refused(made(" " + key_text), -EINVAL, ":1: is not a key");
    refused(made(key_text + "="), -EINVAL, ":1: is not a key");
    refused(made(std::string(44, 'A')), -EINVAL, ":1: is not a key");
    refused(made(key_text + "\n\n"), -EINVAL, ":2: follows the key");
    refused(made(key_text + "\n" + ALICE_PUBLIC + "\n"), -EINVAL, ":2: follows the key");
    refused(made(key_text + std::string(1, '\0') + "\n"), -EINVAL, ":1: is not a key");
    refused(made(std::string(100000, 'x')), -EINVAL, ":1: is not a key");
}

/* The error does not have what the file holds, and the caller's memory does not have a key that was
 * refused. */
TEST_F(KeyFile, ErrorsShowNoKey)
{
    const uint8_t zero[KEY_BYTES] = {};

    for (const std::string &text : {std::string(ALICE) + "\nx", std::string(ALICE) + "x"}) {
        EXPECT_EQ(read(made(text)), -EINVAL);
        EXPECT_EQ(std::string(err).find(std::string(ALICE).substr(0, 6)), std::string::npos) << err;
        EXPECT_EQ(memcmp(key, zero, sizeof key), 0);
    }
}

TEST_F(KeyFile, ModesThatLetOthersIn)
{
    for (unsigned int mode : {0640u, 0604u, 0660u, 0601u, 0777u}) {
        std::string file = made(ALICE, mode);
        char said[64];

        snprintf(said, sizeof said, "its mode %04o lets", mode);
        refused(file, -EPERM, said);
        EXPECT_NE(std::string(err).find("chmod 600 " + file), std::string::npos) << err;
    }
    for (unsigned int mode : {0600u, 0400u, 0700u})
        EXPECT_EQ(read(made(ALICE, mode)), 0) << err;
}

TEST_F(KeyFile, KindsOfFiles)
{
    refused(path("none"), -ENOENT, "No such file");
    ASSERT_EQ(mkdir(path("d").c_str(), 0700), 0);
    refused(path("d"), -EINVAL, "no regular file");
    ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
    refused(path("pipe"), -EINVAL, "no regular file"); // and does not wait for a writer
    ASSERT_EQ(symlink(made(ALICE).c_str(), path("link").c_str()), 0);
    EXPECT_EQ(read(path("link")), 0) << err;
}

TEST_F(KeyFile, OwnersThatAreTrusted)
{
    if (geteuid() != 0)
        GTEST_SKIP() << "only root can give a file away";
    std::string file = made(ALICE);
    ASSERT_EQ(chown(file.c_str(), 65534, 65534), 0);
    refused(file, -EPERM, "belongs to user ");
    EXPECT_NE(std::string(err).find(", not to root; chown root " + file), std::string::npos) << err;
    EXPECT_EQ(read(file, KEY_FILE_ANYONE), 0) << err;
}

TEST_F(KeyFile, MadeWithItsModeWhateverTheMask)
{
    for (mode_t mask : {0000, 0777}) {
        std::string file = path("made" + std::to_string(mask));
        const uint8_t mine[KEY_BYTES] = {1, 2, 3};
        mode_t before = umask(mask);
        struct stat st;

        EXPECT_EQ(key_file_make(file.c_str(), mine, (uid_t)-1, err, sizeof err), 0) << err;
        umask(before);
        ASSERT_EQ(stat(file.c_str(), &st), 0);
        EXPECT_EQ(st.st_mode & 07777, 0600u);
        EXPECT_EQ(st.st_size, KEY_TEXT_BYTES);
        ASSERT_EQ(read(file), 0) << err;
        EXPECT_EQ(memcmp(key, mine, sizeof key), 0);
    }
}

TEST_F(KeyFile, NeverReplacesAFile)
{
    const uint8_t mine[KEY_BYTES] = {1};

    made("precious");
    EXPECT_EQ(key_file_make(path("k").c_str(), mine, (uid_t)-1, err, sizeof err), -EEXIST);
    EXPECT_NE(std::string(err).find("never replaced"), std::string::npos) << err;
    EXPECT_EQ(folder.read("k"), "precious");
    // A link that leads nowhere is a file, too: its target must not appear.
    ASSERT_EQ(symlink(path("target").c_str(), path("link").c_str()), 0);
    EXPECT_EQ(key_file_make(path("link").c_str(), mine, (uid_t)-1, err, sizeof err), -EEXIST);
    EXPECT_NE(access(path("target").c_str(), F_OK), 0);
    EXPECT_EQ(key_file_make(path("no/k").c_str(), mine, (uid_t)-1, err, sizeof err), -ENOENT);
}

TEST(MemoryPort, ByDriver)
{
    EXPECT_TRUE(memory_port("net_memif0", ""));
    EXPECT_TRUE(memory_port("net_vhost1", "net_vhost1,iface=/run/v.sock"));
    EXPECT_TRUE(memory_port("net_virtio_user0", "net_virtio_user0,path=/run/v.sock"));
    EXPECT_FALSE(memory_port("net_virtio_user0", "net_virtio_user0,path=/dev/vhost-net"));
    EXPECT_FALSE(memory_port("net_af_packet0", ""));
    EXPECT_FALSE(memory_port("0000:01:00.0", ""));
}

} // namespace
