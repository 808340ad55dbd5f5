// SPDX-License-Identifier: BSD-3-Clause
// The keys that a configuration names: read from their files, checked against each other, compared
// with those before, and kept out of core dumps.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "file.h"

extern "C" {
#include "common/key_memory.h"
#include "sluiced/config/config_diff.h"
#include "sluiced/config/config_keys.h"
}

namespace
{

// The keys of Alice and Bob in RFC 7748, section 6.1, and a key that two hosts share.
const char ALICE[] = "dwdtCnMYpX08FsFyUbJmRd9ML4frwJkqsXf7pR25LCo=";
const char ALICE_PUBLIC[] = "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo=";
const char BOB[] = "XasIfmJKikt54X+Lg4AO5m87sSkmGLb9HC+LJ/+I4Os=";
const char BOB_PUBLIC[] = "3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08=";
const char SHARED[] = "AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=";
const char OTHER[] = "AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM=";

std::string text_of(const uint8_t key[KEY_BYTES])
{
    char text[KEY_TEXT_BYTES];

    key_format(key, text);
    return text;
}

/* A host with a NIC whose private key is Alice's, and the peers that `more` describes. */
class Host
{
  public:
    explicit Host(const std::string &more, const std::string &private_key = ALICE)
        : key(private_key + "\n"), text("[daemon]\nprivate_key_file = " + key.path +
                                        "\n[port p0]\naddress = 10.0.0.1/24\n" + more)
    {
    }
    ~Host()
    {
        config_keys_free(&c);
    }
    int load(enum config_keys_use use = CONFIG_KEYS_START)
    {
        File f(text);

        path = f.path;
        config_keys_free(&c);
        EXPECT_EQ(config_load(&c, f.path.c_str(), err, sizeof err), 0) << err;
        return config_keys_load(&c, f.path.c_str(), use, err, sizeof err);
    }

    File key;
    std::string text, path;
    struct config c = {};
    char err[CONFIG_ERROR_MAX];
};

std::string peer(const std::string &name, const std::string &address, const std::string &key)
{
    return "[peer " + name + "]\naddress = " + address + "\npublic_key = " + key + "\n";
}

TEST(ConfigKeys, ReachTheAssociations)
{
    File shared(SHARED);
    Host h("[peer plain]\naddress = 10.0.0.9/32\n" +
           peer("b", "10.0.0.7/32",
                std::string(BOB_PUBLIC) + "\naddress6 = fd00::7/128" +
                    "\nshared_key_file = " + shared.path));

    ASSERT_EQ(h.load(), 0) << h.err;
    ASSERT_NE(h.c.secrets, nullptr);
    const struct config_secrets &s = *h.c.secrets;
    EXPECT_EQ(text_of(s.self.private_key), ALICE);
    EXPECT_EQ(text_of(s.self.public_key), ALICE_PUBLIC);
    ASSERT_EQ(s.n_peers, 1u);
    EXPECT_EQ(s.section[0], 1u);
    EXPECT_EQ(text_of(s.peers[0].public_key), BOB_PUBLIC);
    EXPECT_EQ(text_of(s.peers[0].shared_key), SHARED);
    EXPECT_TRUE(addr_is_v4(&s.peers[0].address[0]));
    EXPECT_EQ(s.peers[0].prefix_len[0], 32);
    EXPECT_FALSE(addr_is_v4(&s.peers[0].address[1]));
    EXPECT_EQ(s.peers[0].prefix_len[1], 128);
    EXPECT_EQ(config_keys_count(&h.c), 1u);
    EXPECT_EQ(config_keys_shared(&h.c, 0), nullptr);
    EXPECT_EQ(config_keys_shared(&h.c, 1), s.peers[0].shared_key);
}

TEST(ConfigKeys, ASharedKeyAndASecondAddressAreOptional)
{
    Host h(peer("b", "10.0.0.0/24", BOB_PUBLIC));

    ASSERT_EQ(h.load(), 0) << h.err;
    EXPECT_EQ(h.c.secrets->peers[0].prefix_len[1], 0);
    EXPECT_EQ(config_keys_shared(&h.c, 0), nullptr);
}

/* What workers have to know of a peer comes with its key. */
TEST(ConfigKeys, NameAndServicesGoWithTheKey)
{
    Host h(peer("b", "10.0.0.7/32", BOB_PUBLIC) + "services = 7000, 7100-7199\n");

    ASSERT_EQ(h.load(), 0) << h.err;
    const struct assoc_rights *r = &h.c.secrets->peers[0].rights;
    EXPECT_STREQ(r->name, "b");
    for (uint16_t yes : {7000, 7100, 7150, 7199})
        EXPECT_TRUE(assoc_rights_allow(r, yes)) << yes;
    for (uint16_t no : {1, 6999, 7001, 7099, 7200, 65535})
        EXPECT_FALSE(assoc_rights_allow(r, no)) << no;
    Host none(peer("b", "10.0.0.7/32", BOB_PUBLIC) + "services = none\n");
    ASSERT_EQ(none.load(), 0) << none.err;
    for (uint16_t no : {1, 7000, 65535})
        EXPECT_FALSE(assoc_rights_allow(&none.c.secrets->peers[0].rights, no)) << no;
    Host all(peer("b", "10.0.0.7/32", BOB_PUBLIC));
    ASSERT_EQ(all.load(), 0) << all.err;
    for (uint16_t yes : {1, 7000, 65535})
        EXPECT_TRUE(assoc_rights_allow(&all.c.secrets->peers[0].rights, yes)) << yes;
}

TEST(ConfigKeys, WithoutAPrivateKeyThereAreNone)
{
    Host h("");

    h.text = "[port p0]\naddress = 10.0.0.1/24\n";
    EXPECT_EQ(h.load(), 0);
    EXPECT_EQ(h.c.secrets, nullptr);
}

/* The error is one line that names the line and key, the file, the cause and the cure, but no key.
 */
void refused(Host &h, int rc, const std::string &about, const std::string &cause,
             enum config_keys_use use = CONFIG_KEYS_START)
{
    EXPECT_EQ(h.load(use), rc) << cause;
    std::string err = h.err;
    EXPECT_EQ(h.c.secrets, nullptr);
    EXPECT_EQ(err.substr(0, h.path.size() + about.size() + 1), h.path + ":" + about) << err;
    EXPECT_NE(err.find(cause), std::string::npos) << err << " lacks " << cause;
    EXPECT_NE(err.find("; "), std::string::npos) << err << " has no cure";
    for (const char *key : {ALICE, BOB, SHARED})
        EXPECT_EQ(err.find(std::string(key).substr(0, 8)), std::string::npos) << err;
}

TEST(ConfigKeys, FilesThatAreRefused)
{
    const std::string b = peer("b", "10.0.0.7/32", BOB_PUBLIC);
    File open_file(SHARED), wrong(std::string(SHARED) + "\nmore\n"),
        zero(std::string(43, 'A') + "=");

    ASSERT_EQ(chmod(open_file.path.c_str(), 0644), 0);
    Host mode(b + "shared_key_file = " + open_file.path + "\n");
    refused(mode, -EPERM, "8: [peer b] shared_key_file: " + open_file.path,
            "mode 0644 lets other users at the key; chmod 600 " + open_file.path);
    Host two(b + "shared_key_file = " + wrong.path + "\n");
    refused(two, -EINVAL, "8: [peer b] shared_key_file: " + wrong.path + ":2:", "follows the key");
    Host none(b + "shared_key_file = " + zero.path + "\n");
    refused(none, -EINVAL, "8: [peer b] shared_key_file: " + zero.path + ":1:", "all zero");
    Host gone(b + "shared_key_file = /nowhere/k\n");
    refused(gone, -ENOENT, "8: [peer b] shared_key_file: /nowhere/k:", "No such file");
    Host ours(b, "not a key");
    refused(ours, -EINVAL, "2: [daemon] private_key_file: " + ours.key.path + ":1:", "not a key");
}

TEST(ConfigKeys, FilesOfOtherUsers)
{
    if (geteuid() != 0)
        GTEST_SKIP() << "only root can give a file away";
    Host h(peer("b", "10.0.0.7/32", BOB_PUBLIC));
    ASSERT_EQ(chown(h.key.path.c_str(), 65534, 65534), 0);
    refused(h, -EPERM, "2: [daemon] private_key_file: ", "belongs to user ");
    refused(h, -EPERM, "2: [daemon] private_key_file: ", "belongs to user ", CONFIG_KEYS_RELOAD);
    EXPECT_EQ(h.load(CONFIG_KEYS_CHECK), 0) << h.err; // the daemon may run as that user
}

TEST(ConfigKeys, KeysThatNoPeerHas)
{
    Host own(peer("me", "10.0.0.7/32", ALICE_PUBLIC));
    refused(own, -EINVAL, "7: [peer me] public_key: ", "is that of this host");
    // The point with u = 1 has a small order: every private key shares zero with it.
    Host weak(peer("b", "10.0.0.7/32", "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="));
    refused(weak, -EINVAL, "7: [peer b] public_key: ", "anybody has the private key");
}

/* The file of the private key has a new key, and the old one has moved to another host. */
TEST(ConfigKeys, NoPeerHasTheKeyThatIsInForce)
{
    Host now(peer("b", "10.0.0.2/32", BOB_PUBLIC));
    Host next(peer("b", "10.0.0.2/32", BOB_PUBLIC) + peer("old", "10.0.0.3/32", ALICE_PUBLIC),
              SHARED);

    ASSERT_EQ(now.load(), 0) << now.err;
    ASSERT_EQ(next.load(CONFIG_KEYS_RELOAD), 0) << next.err;
    EXPECT_EQ(config_keys_check(&now.c, &next.c, next.path.c_str(), next.err, sizeof next.err),
              -EINVAL);
    EXPECT_NE(strstr(next.err, "[peer old] public_key: is the key of this host"), nullptr)
        << next.err;
    EXPECT_EQ(config_keys_check(&now.c, &now.c, now.path.c_str(), now.err, sizeof now.err), 0);
}

TEST(ConfigKeys, SecurityWithoutAnybody)
{
    Host required(""), offered("security = offered\n"), none("security = none\n");

    refused(required, -EINVAL,
            "2: [daemon] private_key_file: ", "nobody can connect through port p0");
    refused(required, -EINVAL, "2: [daemon] private_key_file: ", "add public_key",
            CONFIG_KEYS_CHECK);
    refused(offered, -EINVAL, "2: [daemon] private_key_file: ", "nothing is secured on port p0");
    EXPECT_EQ(none.load(), 0) << none.err;
    // A reload that takes the last peer must work: this is how access is taken away.
    EXPECT_EQ(required.load(CONFIG_KEYS_RELOAD), 0) << required.err;
    EXPECT_NE(std::string(required.err).find("nobody can connect"), std::string::npos);
    EXPECT_EQ(required.c.secrets->n_peers, 0u);
    EXPECT_EQ(none.load(CONFIG_KEYS_RELOAD), 0);
    EXPECT_STREQ(none.err, "");
}

typedef std::vector<std::pair<std::string, bool>> Changes;

Changes diff(const Host &now, const Host &next)
{
    Changes all;

    config_diff(
        &now.c, &next.c,
        [](void *ctx, const char *what, bool live) {
            static_cast<Changes *>(ctx)->emplace_back(what, live);
        },
        &all);
    return all;
}

TEST(ConfigKeys, WhatAFileHoldsChangesLive)
{
    File shared(SHARED);
    const std::string peers =
        peer("b", "10.0.0.7/32", std::string(BOB_PUBLIC) + "\nshared_key_file = " + shared.path);
    Host now(peers), next(peers);

    next.text = now.text;
    ASSERT_EQ(now.load(), 0) << now.err;
    ASSERT_EQ(next.load(), 0) << next.err;
    EXPECT_EQ(diff(now, next), Changes());
    std::ofstream(shared.path) << OTHER;
    ASSERT_EQ(next.load(CONFIG_KEYS_RELOAD), 0) << next.err;
    EXPECT_EQ(diff(now, next), Changes({{"[peer b] the key in shared_key_file", true}}));
    config_take_live(&now.c, &next.c);
    EXPECT_EQ(diff(now, next), Changes());
    EXPECT_EQ(text_of(now.c.secrets->peers[0].shared_key), OTHER);
    // Our own key needs a restart.
    std::ofstream(now.key.path) << BOB;
    next.text.replace(next.text.find(BOB_PUBLIC), strlen(BOB_PUBLIC), ALICE_PUBLIC);
    ASSERT_EQ(next.load(CONFIG_KEYS_RELOAD), 0) << next.err;
    EXPECT_EQ(diff(now, next), Changes({{"[daemon] the key in private_key_file", false},
                                        {"[peer b] public_key", true}}));
    config_take_live(&now.c, &next.c);
    EXPECT_EQ(text_of(now.c.secrets->self.private_key), ALICE);
    EXPECT_EQ(text_of(now.c.secrets->peers[0].public_key), ALICE_PUBLIC);
    EXPECT_EQ(diff(now, next), Changes({{"[daemon] the key in private_key_file", false}}));
}

TEST(ConfigKeys, PeersComeAndGoLive)
{
    Host now(peer("b", "10.0.0.7/32", BOB_PUBLIC)), next("");

    next.text = now.text.substr(0, now.text.find("[peer"));
    ASSERT_EQ(now.load(), 0) << now.err;
    ASSERT_EQ(next.load(CONFIG_KEYS_RELOAD), 0) << next.err;
    config_take_live(&now.c, &next.c);
    EXPECT_EQ(now.c.secrets->n_peers, 0u);
    EXPECT_EQ(now.c.n_peers, 0u);
    next.text += peer("c", "10.0.0.8/32", OTHER) + peer("b", "10.0.0.7/32", BOB_PUBLIC);
    ASSERT_EQ(next.load(CONFIG_KEYS_RELOAD), 0) << next.err;
    config_take_live(&now.c, &next.c);
    ASSERT_EQ(now.c.secrets->n_peers, 2u);
    EXPECT_EQ(text_of(now.c.secrets->peers[0].public_key), OTHER);
    EXPECT_EQ(text_of(now.c.secrets->self.public_key), ALICE_PUBLIC);
}

/* A daemon that was started without a key gets one at its next start, not at a reload. */
TEST(ConfigKeys, AKeyThatComesLaterNeedsARestart)
{
    Host now(""), next(peer("b", "10.0.0.7/32", BOB_PUBLIC));

    now.text = "[port p0]\naddress = 10.0.0.1/24\n";
    ASSERT_EQ(now.load(), 0) << now.err;
    ASSERT_EQ(next.load(CONFIG_KEYS_RELOAD), 0) << next.err;
    Changes due = {{"[daemon] private_key_file", false},
                   {"[port p0] security", false},
                   {"[peer b], which is new", true}};
    EXPECT_EQ(diff(now, next), due);
    config_take_live(&now.c, &next.c);
    EXPECT_EQ(now.c.secrets, nullptr);
}

/* The flags of the mapping that holds p, as the kernel shows them. */
std::string flags_of(const void *p)
{
    std::ifstream in("/proc/self/smaps");
    std::string line;
    bool here = false;

    while (std::getline(in, line)) {
        unsigned long first, last;

        if (sscanf(line.c_str(), "%lx-%lx ", &first, &last) == 2)
            here = first <= (unsigned long)p && (unsigned long)p < last;
        else if (here && line.compare(0, 8, "VmFlags:") == 0)
            return line.substr(8) + " ";
    }
    return "";
}

TEST(KeyMemory, StaysOutOfCoreDumps)
{
    Host h(peer("b", "10.0.0.7/32", BOB_PUBLIC));
    void *p = key_memory_new(5000);

    ASSERT_NE(p, nullptr);
    EXPECT_NE(flags_of(p).find(" dd "), std::string::npos) << flags_of(p);
    key_memory_free(p, 5000);
    key_memory_free(nullptr, 5000);
    ASSERT_EQ(h.load(), 0) << h.err;
    EXPECT_NE(flags_of(h.c.secrets).find(" dd "), std::string::npos) << flags_of(h.c.secrets);
    EXPECT_EQ(flags_of(&h.c).find(" dd "), std::string::npos) << "the flag is one of all memory";
}

} // namespace
