/* SPDX-License-Identifier: BSD-3-Clause */
/* Attributes of files: their items as bytes, names and numbers, ACLs, hard links; and what a
 * receiver makes of them. */
#include <cerrno>
#include <cstring>
#include <random>
#include <string>
#include <sys/xattr.h>
#include <vector>

#include "unit/base/seed.h"
#include "unit/sluice/content.h"
#include "unit/sluice/folder.h"
#include "unit/sluice/receiver.h"

extern "C" {
#include "sluice/attributes/ids.h"
#include "sluice/attributes/inspect.h"
#include "sluice/attributes/link_table.h"
#include "sluice/attributes/xattr.h"
#include "sluice/say.h"
#include "sluice/transfer/incoming.h"
}

using namespace std::string_literals;

namespace
{

std::string number(uint64_t n, int bytes)
{
    std::string out;

    for (int i = bytes - 1; i >= 0; i--)
        out += (char)(n >> (8 * i));
    return out;
}

std::string item(int kind, const std::string &name, const std::string &value)
{
    return std::string(1, (char)kind) + (char)name.size() + "\0\0"s + number(value.size(), 4) +
           name + value;
}

std::string entry(int tag, int perm, uint32_t id = 0, int kind = ATTRIBUTE_ACL)
{
    return item(kind, "", number((uint64_t)tag, 2) + number((uint64_t)perm, 2) + number(id, 4));
}

std::string a_link(uint64_t n)
{
    return item(ATTRIBUTE_LINK, "", number(n, 8));
}

std::string owned(uint32_t uid, uint32_t gid)
{
    return item(ATTRIBUTE_OWNER, "", number(uid, 4)) + item(ATTRIBUTE_GROUP, "", number(gid, 4));
}

std::string fault(const std::string &items, uint32_t chosen = ATTRIBUTES_ALL)
{
    std::vector<uint8_t> exact(items.begin(), items.end());
    const char *why = attributes_check(exact.data(), (uint32_t)exact.size(), chosen);

    return why == nullptr ? "right" : why;
}

const std::string ACL = entry(1, 6) + entry(2, 7, 5) + entry(4, 4) + entry(16, 7) + entry(32, 0);
const std::string XATTR = item(ATTRIBUTE_XATTR, "user.a", "v");

} // namespace

TEST(Attributes, Golden)
{
    struct attribute_list l = {};
    struct attribute a = {ATTRIBUTE_XATTR, 6, 1, (const uint8_t *)"user.a", (const uint8_t *)"v"};

    l.max_bytes = 31;
    attribute_put_number(&l, ATTRIBUTE_OWNER, "root", 0);
    attribute_put(&l, &a);
    EXPECT_EQ(std::string((char *)l.data, l.len_bytes),
              "\x02\x04\0\0\0\0\0\x04root\0\0\0\0\x06\x06\0\0\0\0\0\x01user.av"s);
    EXPECT_FALSE(l.full);
    attribute_put(&l, &a);
    EXPECT_TRUE(l.full) << "no more than what an ATTR holds";
    EXPECT_EQ(l.len_bytes, 31u);
    attribute_list_fini(&l);
}

TEST(Attributes, WhatIsRight)
{
    EXPECT_EQ(fault(""), "right");
    EXPECT_EQ(fault(a_link(1) + owned(0, 7) + ACL + XATTR), "right");
    EXPECT_EQ(fault(item(ATTRIBUTE_XATTR, "user.a", std::string(ATTRIBUTE_VALUE_MAX, 'x'))),
              "right");
}

TEST(Attributes, WhatIsWrong)
{
    EXPECT_EQ(fault(XATTR.substr(0, 7)), "half an attribute");
    EXPECT_EQ(fault(XATTR.substr(0, XATTR.size() - 1)), "half an attribute");
    EXPECT_EQ(fault(XATTR + "\6"), "half an attribute");
    EXPECT_EQ(fault("\6\1\0\0\xff\xff\xff\xffx"s), "half an attribute");
    EXPECT_EQ(fault(item(0, "", "")), "unknown attribute");
    EXPECT_EQ(fault(item(ATTRIBUTE_KINDS, "", "")), "unknown attribute");
    EXPECT_EQ(fault("\6\1\0\1\0\0\0\0x"s), "unknown attribute");
    EXPECT_EQ(fault(owned(0, 0), ATTRIBUTES_OWNERS), "an attribute that was not asked for");
    EXPECT_EQ(fault(XATTR, ATTRIBUTES_ALL & ~ATTRIBUTES_XATTRS),
              "an attribute that was not asked for");
    EXPECT_EQ(fault(item(ATTRIBUTE_OWNER, "", "123")), "length of an attribute out of range");
    EXPECT_EQ(fault(item(ATTRIBUTE_LINK, "x", number(1, 8))),
              "length of an attribute out of range");
    EXPECT_EQ(fault(item(ATTRIBUTE_XATTR, "", "v")), "length of an attribute out of range");
    EXPECT_EQ(fault(item(ATTRIBUTE_XATTR, "user.a", std::string(ATTRIBUTE_VALUE_MAX + 1, 'x'))),
              "length of an attribute out of range");
    EXPECT_EQ(fault(item(ATTRIBUTE_OWNER, "a\0b"s, number(1, 4))),
              "a zero byte in the name of an attribute");
    EXPECT_EQ(fault(XATTR + owned(0, 0)), "an attribute out of order");
    EXPECT_EQ(fault(owned(0, 0) + item(ATTRIBUTE_GROUP, "", number(1, 4))),
              "an attribute out of order");
    EXPECT_EQ(fault(a_link(0)), "a link without a number");
    EXPECT_EQ(fault(owned(UINT32_MAX, 0)), "an owner or group without a number");
    EXPECT_EQ(fault(owned(0, UINT32_MAX)), "an owner or group without a number");
    EXPECT_EQ(fault(item(ATTRIBUTE_XATTR, "system.posix_acl_access", "")),
              "an attribute of the system");
    for (const char *second : {"user.a", "user.", "trusted.z"})
        EXPECT_EQ(fault(XATTR + item(ATTRIBUTE_XATTR, second, "")),
                  "extended attributes out of order");
}

TEST(Attributes, Ids)
{
    struct ids users = {}, groups = {};

    groups.groups = true;
    EXPECT_STREQ(ids_name(&users, 0), "root");
    EXPECT_STREQ(ids_name(&groups, 0), "root");
    EXPECT_STREQ(ids_name(&users, 3999999999u), "");
    ids_fini(&users);
    EXPECT_EQ(ids_number(&users, "root", 4, 77), 0u) << "by name";
    EXPECT_EQ(ids_number(&users, "root", 4, 77), 0u);
    EXPECT_EQ(ids_number(&users, "daemon", 6, 0), 0u) << "number 0 is 0 everywhere";
    EXPECT_EQ(ids_number(&users, "rootless-nobody-has-it", 22, 77), 77u);
    EXPECT_EQ(ids_number(&users, "rootless-nobody-has-it", 22, 78), 78u);
    EXPECT_EQ(ids_number(&users, "", 0, 79), 79u);
    for (uint32_t i = 0; i < IDS_MAX + 10; i++) {
        std::string name = "sluice-test-" + std::to_string(i);

        EXPECT_EQ(ids_number(&groups, name.data(), (uint32_t)name.size(), 5), 5u);
        ASSERT_LE(groups.n, (uint32_t)IDS_MAX) << "no sender fills the memory";
    }
    ids_fini(&users);
    ids_fini(&groups);
}

TEST(Attributes, ListsThatTheKernelTakes)
{
    const struct acl_entry base[] = {
        {ACL_OTHER, 0, 0}, {ACL_USER_OBJ, 7, 0}, {ACL_GROUP_OBJ, 5, 0}};
    const struct {
        std::vector<struct acl_entry> more;
        bool right;
    } lists[] = {
        {{}, true},
        {{{ACL_USER, 7, 5}}, false},
        {{{ACL_USER, 7, 5}, {ACL_MASK, 7, 0}}, true},
        {{{ACL_USER, 7, 5}, {ACL_USER, 6, 5}, {ACL_MASK, 7, 0}}, false},
        {{{ACL_USER, 7, 6}, {ACL_USER, 6, 5}, {ACL_GROUP, 6, 5}, {ACL_MASK, 7, 0}}, true},
        {{{ACL_USER, 7, UINT32_MAX}, {ACL_MASK, 7, 0}}, false},
        {{{ACL_MASK, 8, 0}}, false},
        {{{ACL_MASK, 7, 1}}, false},
        {{{ACL_OTHER, 7, 0}}, false},
        {{{64, 7, 0}}, false},
        {{{0, 7, 0}}, false},
        {{{ACL_USER | ACL_GROUP, 7, 0}, {ACL_MASK, 7, 0}}, false},
    };
    struct acl a = {};

    for (const auto &l : lists) {
        a.n = 0;
        for (const auto &e : base)
            ASSERT_EQ(acl_add(&a, e), 0);
        for (const auto &e : l.more)
            ASSERT_EQ(acl_add(&a, e), 0);
        EXPECT_EQ(acl_order(&a), l.right) << &l - lists;
    }
    a.n = 0;
    for (uint32_t i = 0; i < ACL_ENTRIES_MAX; i++)
        ASSERT_EQ(acl_add(&a, {ACL_USER, 7, i}), 0);
    EXPECT_EQ(acl_add(&a, {ACL_USER, 7, 0}), -E2BIG);
    acl_fini(&a);
}

TEST(Attributes, NumbersOfLinks)
{
    std::mt19937_64 rng(test_seed());
    struct link_table t = {};
    struct link_files l = {};
    struct stat st = {};

    EXPECT_EQ(link_table_find(&t, &st), 0u);
    for (uint64_t i = 1; i <= 5000; i++) {
        st.st_ino = i / 2;
        st.st_dev = 1 + i % 2;
        EXPECT_EQ(link_table_find(&t, &st), 0u);
        ASSERT_EQ(link_table_add(&t, &st, i), 0);
    }
    for (uint64_t i = 1; i <= 5000; i++) {
        st.st_ino = i / 2;
        st.st_dev = 1 + i % 2;
        EXPECT_EQ(link_table_find(&t, &st), i);
    }
    link_table_fini(&t);
    EXPECT_EQ(link_files_number(&l, 0), -EPROTO);
    EXPECT_EQ(link_files_number(&l, 2), -EPROTO);
    for (uint64_t i = 1; i <= 1000; i++) {
        EXPECT_EQ(link_files_number(&l, i), 0);
        EXPECT_EQ(link_files_number(&l, 1 + rng() % i), 0);
        EXPECT_EQ(link_files_number(&l, i + 2), -EPROTO);
        EXPECT_EQ(link_files_find(&l, i), nullptr) << "not placed yet";
    }
    EXPECT_EQ(link_files_place(&l, 7, "x", &st), 0);
    EXPECT_EQ(link_files_place(&l, 7, "d/y", &st), 0);
    EXPECT_STREQ(link_files_find(&l, 7)->name, "d/y");
    EXPECT_EQ(link_files_find(&l, 1001), nullptr);
    EXPECT_EQ(link_files_find(&l, 0), nullptr);
    link_files_fini(&l);
}

TEST(Attributes, NamesThatAreMoved)
{
    EXPECT_TRUE(xattr_taken("user.x", false));
    EXPECT_FALSE(xattr_taken("trusted.x", false));
    EXPECT_FALSE(xattr_taken("security.capability", false));
    EXPECT_TRUE(xattr_taken("security.capability", true));
    EXPECT_FALSE(xattr_taken("security.selinux", true));
    EXPECT_FALSE(xattr_taken("system.posix_acl_access", true));
}

namespace
{

class Attributed : public testing::Test
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
        say_divert([](void *, bool, const char *) {}, nullptr);
        ASSERT_EQ(incoming_init(&in, nullptr, &destination, 1), 0);
        ASSERT_EQ(summary_init(&in.summary, false), 0);
        strcpy(in.part.owner, "copy b");
        in.sync.options = &options;
        begin(ATTRIBUTES_ALL);
    }
    void TearDown() override
    {
        say_divert(nullptr, nullptr);
        incoming_fini(&in);
        close(destination.dir_fd);
        struct stat st;
        ASSERT_EQ(stat(folder.at("outside/f").c_str(), &st), 0);
        EXPECT_EQ(folder.read("outside/f"), "safe");
        EXPECT_EQ(st.st_nlink, 1u);
    }
    void begin(uint32_t attributes)
    {
        options.attributes = attributes;
        incoming_sync_begin(&in);
    }
    std::string at(const std::string &name) const
    {
        return folder.at("in/" + name);
    }
    int give(struct record r, const std::string &data)
    {
        std::vector<uint8_t> bytes(RECORD_HEADER_BYTES + data.size());
        struct record back;

        r.len_bytes = (uint32_t)data.size();
        record_encode(bytes.data(), &r);
        memcpy(bytes.data() + RECORD_HEADER_BYTES, data.data(), data.size());
        EXPECT_EQ(record_decode(bytes.data(), bytes.size(), &back, &why), 0) << why;
        return incoming_record(&in, &back, bytes.data() + RECORD_HEADER_BYTES, &why);
    }
    int give(enum record_type type, const std::string &data, uint32_t mode = 0, uint64_t size = 0,
             uint64_t offset = 0)
    {
        struct record r = {};

        r.type = (uint8_t)type;
        r.file = type == RECORD_ASK ? in.asked + 1 : type == RECORD_DATA ? in.file : in.file + 1;
        r.mode = mode;
        r.size = size;
        r.offset = offset;
        r.mtime_s = type == RECORD_DATA ? 0 : 7;
        return give(r, data);
    }
    int give_attributes(const std::string &items, uint16_t flags = 0)
    {
        struct record r = {};

        r.type = RECORD_ATTR;
        r.flags = flags;
        return give(r, items);
    }
    int give_file(const std::string &name, uint32_t mode = 0644)
    {
        struct record end = {};
        int err = give(RECORD_OFFER, name, mode, 1);

        if (err == 0)
            err = give(RECORD_DATA, "x");
        end.type = RECORD_END_FILE;
        end.file = in.file;
        end.size = 1;
        content_hash("x", end.hash);
        return err == 0 ? give(end, "") : err;
    }
    int give_hard(const std::string &name, uint64_t link)
    {
        return give(RECORD_HARD, name, 0644, 1, link);
    }
    uint32_t result()
    {
        struct record r = receiver_answer(&in);

        EXPECT_EQ(r.type, RECORD_RESULT);
        return r.mode;
    }
    struct stat look(const std::string &name) const
    {
        struct stat st = {};

        EXPECT_EQ(lstat(at(name).c_str(), &st), 0) << name;
        return st;
    }
    uint64_t lost(enum loss_kind kind) const
    {
        return in.sync.settle.losses.of[kind].n;
    }

    Folder folder;
    struct destination destination = {};
    struct sync_options options = {};
    struct incoming in = {};
    const char *why = nullptr;
};

} // namespace

TEST_F(Attributed, TheOrderOfRecords)
{
    EXPECT_EQ(give_attributes(owned(0, 0)), 0);
    EXPECT_EQ(give_attributes(owned(0, 0)), -EPROTO);
    EXPECT_STREQ(why, "attributes of nothing");
    struct record end = {};
    end.type = RECORD_END_ALL;
    EXPECT_EQ(give(end, ""), -EPROTO);
    EXPECT_STREQ(why, "attributes of nothing");
    EXPECT_EQ(give(RECORD_DIR, "d", 0755), 0) << "what they belong to";
    EXPECT_EQ(give_attributes(a_link(2)), -EPROTO);
    EXPECT_STREQ(why, "a number of a link out of order");
    EXPECT_EQ(give_attributes(a_link(1)), 0);
    EXPECT_EQ(give(RECORD_DIR, "d", 0755), -EPROTO);
    EXPECT_STREQ(why, "a number of a link at what has no content");
    EXPECT_EQ(give(RECORD_ASK, "f", 0644, 1), 0);
    EXPECT_EQ(give_hard("h", 2), -EPROTO);
    EXPECT_STREQ(why, "a further name of a file that has not come");
    EXPECT_EQ(give_hard("h", 1), 0);
    EXPECT_EQ(result(), (uint32_t)RECORD_IO) << "it has been asked about, and is not there";
    EXPECT_EQ(give_attributes("x"), -EPROTO);
    EXPECT_STREQ(why, "half an attribute");
    EXPECT_EQ(give_attributes(entry(1, 7)), -EPROTO);
    EXPECT_STREQ(why, "an ACL that cannot be");
    EXPECT_EQ(give(RECORD_OFFER, "f", 0644, 1), 0);
    EXPECT_EQ(give_attributes(owned(0, 0)), -EPROTO);
    EXPECT_STREQ(why, "a record out of order");
}

TEST_F(Attributed, OnlyWhatWasAskedFor)
{
    begin(0);
    EXPECT_EQ(give_attributes(""), -EPROTO);
    EXPECT_STREQ(why, "attributes that were not asked for");
    begin(ATTRIBUTES_GROUPS);
    EXPECT_EQ(give_attributes(owned(0, 0)), -EPROTO);
    EXPECT_EQ(give_attributes("", RECORD_ALL_XATTRS), -EPROTO);
    EXPECT_EQ(give_attributes("", RECORD_ALL_ACLS), -EPROTO);
    EXPECT_STREQ(why, "an attribute that was not asked for");
    in.sync.options = nullptr;
    EXPECT_EQ(give_attributes(""), -EPROTO);
    EXPECT_STREQ(why, "a record that only sluice sync takes");
    EXPECT_EQ(give_hard("h", 1), -EPROTO);
    EXPECT_STREQ(why, "a record that only sluice sync takes");
}

/* A privilege is given only together with the owner whose it is. */
TEST_F(Attributed, SetUserId)
{
    const uint32_t uid = geteuid(), gid = getegid();

    EXPECT_EQ(give_attributes(owned(uid, gid)), 0);
    EXPECT_EQ(give_file("f", 06755), 0);
    EXPECT_EQ(look("f").st_mode & 07777, 06755u);
    EXPECT_EQ(give_file("g", 06755), 0) << "without attributes";
    EXPECT_EQ(look("g").st_mode & 07777, 0755u);
    EXPECT_EQ(give_attributes(item(ATTRIBUTE_OWNER, "", number(uid, 4))), 0);
    EXPECT_EQ(give_file("h", 06755), 0);
    EXPECT_EQ(look("h").st_mode & 07777, 0755u) << "the group is not known";
    for (uid_t *id : {&in.sync.settle.uid, &in.sync.settle.gid}) {
        EXPECT_EQ(give_attributes(owned(uid, gid)), 0);
        *id = UINT32_MAX; /* chown() leaves it as it is, as one that fails does */
        EXPECT_EQ(give_file("u", 07755), 0);
        EXPECT_EQ(look("u").st_mode & 07777, 0755u) << "it did not become what was named";
        EXPECT_EQ(give(RECORD_ASK, "u", 07755, 1), 0);
        EXPECT_EQ(look("u").st_mode & 07777, 0755u);
    }
    in.sync.settle.root = false; /* as if this were an ordinary user */
    EXPECT_EQ(give_attributes(owned(uid + 1, gid)), 0);
    EXPECT_EQ(give_file("i", 07755), 0);
    EXPECT_EQ(look("i").st_mode & 07777, 0755u) << "it would be another user's privilege";
    EXPECT_EQ(look("i").st_uid, uid);
    EXPECT_EQ(lost(LOSS_OWNER), 1u);
    EXPECT_EQ(give_attributes(owned(uid, 3999999999u)), 0);
    EXPECT_EQ(give_file("k", 07755), 0);
    EXPECT_EQ(look("k").st_mode & 07777, 0755u);
    EXPECT_EQ(lost(LOSS_GROUP), 1u);
}

TEST_F(Attributed, OwnersOfRoot)
{
    if (geteuid() != 0)
        GTEST_SKIP() << "only root gives files away";
    EXPECT_EQ(give_attributes(owned(12345, 54321)), 0);
    EXPECT_EQ(give_file("f", 04750), 0);
    EXPECT_EQ(look("f").st_uid, 12345u);
    EXPECT_EQ(look("f").st_gid, 54321u);
    EXPECT_EQ(look("f").st_mode & 07777, 04750u) << "the change of the owner takes it away";
    EXPECT_EQ(give_attributes(owned(0, 54321)), 0);
    EXPECT_EQ(give(RECORD_ASK, "f", 04750, 1), 0);
    EXPECT_EQ(look("f").st_uid, 0u) << "a file in its place gets it, too";
    EXPECT_EQ(look("f").st_mode & 07777, 04750u);
    std::string items = owned(1, 2);
    EXPECT_EQ(give_attributes(items), 0);
    EXPECT_EQ(give(RECORD_LINK, "l\0nowhere"s), 0);
    EXPECT_EQ(look("l").st_uid, 1u);
    EXPECT_EQ(give_attributes(items), 0);
    EXPECT_EQ(give(RECORD_DIR, "d", 0755), 0);
    EXPECT_EQ(lost(LOSS_OWNER) + lost(LOSS_GROUP), 0u);
}

TEST_F(Attributed, ExtendedAttributesAreThoseOfTheSender)
{
    char value[8];

    if (setxattr(at("").c_str(), "user.test", "", 0, 0) < 0)
        GTEST_SKIP() << "no extended attributes in /tmp";
    EXPECT_EQ(give_attributes(XATTR + item(ATTRIBUTE_XATTR, "user.b", ""), RECORD_ALL_XATTRS), 0);
    EXPECT_EQ(give_file("f", 0444), 0);
    EXPECT_EQ(getxattr(at("f").c_str(), "user.a", value, sizeof value), 1);
    EXPECT_EQ(getxattr(at("f").c_str(), "user.b", value, sizeof value), 0);
    EXPECT_EQ(give_attributes(item(ATTRIBUTE_XATTR, "user.c", "new"), RECORD_ALL_XATTRS), 0);
    EXPECT_EQ(give(RECORD_ASK, "f", 0444, 1), 0);
    EXPECT_EQ(getxattr(at("f").c_str(), "user.a", value, sizeof value), -1) << "it goes";
    EXPECT_EQ(getxattr(at("f").c_str(), "user.c", value, sizeof value), 3);
    EXPECT_EQ(look("f").st_mode & 07777, 0444u);
    EXPECT_EQ(give_attributes(""), 0) << "the sender could not read them";
    EXPECT_EQ(give(RECORD_ASK, "f", 0444, 1), 0);
    EXPECT_EQ(getxattr(at("f").c_str(), "user.c", value, sizeof value), 3) << "they stay";
    in.sync.settle.root = false; /* as if this were an ordinary user */
    EXPECT_EQ(give_attributes(item(ATTRIBUTE_XATTR, "trusted.t", "v"), RECORD_ALL_XATTRS), 0);
    EXPECT_EQ(give_file("g"), 0);
    EXPECT_EQ(result(), (uint32_t)RECORD_OK) << "the file itself is there";
    EXPECT_EQ(getxattr(at("g").c_str(), "trusted.t", value, sizeof value), -1);
    EXPECT_EQ(lost(LOSS_XATTR), 1u);
}

TEST_F(Attributed, Acls)
{
    uint8_t blob[64];

    EXPECT_EQ(give_attributes(ACL, RECORD_ALL_ACLS), 0);
    EXPECT_EQ(give_file("f", 0670), 0);
    if (lost(LOSS_ACL) > 0)
        GTEST_SKIP() << "no ACLs in /tmp";
    EXPECT_EQ(getxattr(at("f").c_str(), "system.posix_acl_access", blob, sizeof blob), 4 + 5 * 8);
    EXPECT_EQ(look("f").st_mode & 07777, 0670u) << "the group's bits are those of the mask";
    EXPECT_EQ(give_attributes("", RECORD_ALL_ACLS), 0);
    EXPECT_EQ(give(RECORD_ASK, "f", 0640, 1), 0);
    EXPECT_EQ(getxattr(at("f").c_str(), "system.posix_acl_access", blob, sizeof blob), -1);
    EXPECT_EQ(look("f").st_mode & 07777, 0640u);
    std::string all = entry(1, 7, 0, ATTRIBUTE_DEFAULT_ACL) +
                      entry(4, 5, 0, ATTRIBUTE_DEFAULT_ACL) +
                      entry(32, 0, 0, ATTRIBUTE_DEFAULT_ACL);
    EXPECT_EQ(give(RECORD_DIR, "d", 0755), 0);
    ASSERT_EQ(mkdir(at("d").c_str(), 0755), 0);
    EXPECT_EQ(give_attributes(all, RECORD_ALL_ACLS), 0);
    EXPECT_EQ(give(RECORD_DIR, "d", 0755), 0);
    EXPECT_EQ(getxattr(at("d").c_str(), "system.posix_acl_default", blob, sizeof blob), 4 + 3 * 8);
}

/* A further name is given to the file that came, whatever has its name meanwhile. */
TEST_F(Attributed, HardLinks)
{
    EXPECT_EQ(give_attributes(a_link(1)), 0);
    EXPECT_EQ(give_file("f"), 0);
    folder.write("in/g", "old");
    for (const char *name : {"g", "h", "g"}) {
        EXPECT_EQ(give_hard(name, 1), 0);
        EXPECT_EQ(result(), (uint32_t)RECORD_OK);
        EXPECT_EQ(look(name).st_ino, look("f").st_ino);
    }
    EXPECT_EQ(look("f").st_nlink, 3u);
    for (const char *name : {"../x", "/x", "a/../x", ".f.part-0123456789abcdef"}) {
        EXPECT_EQ(give_hard(name, 1), 0);
        EXPECT_EQ(result(), (uint32_t)RECORD_BAD_NAME) << name;
    }
    ASSERT_EQ(symlink("../outside", at("l").c_str()), 0);
    EXPECT_EQ(give_hard("l/x", 1), 0);
    EXPECT_EQ(result(), (uint32_t)RECORD_IN_THE_WAY);
    ASSERT_EQ(unlink(at("f").c_str()), 0);
    ASSERT_EQ(link(folder.at("outside/f").c_str(), at("f").c_str()), 0);
    EXPECT_EQ(give_hard("i", 1), 0);
    EXPECT_EQ(result(), (uint32_t)RECORD_IO) << "another file has its name";
    ASSERT_EQ(unlink(at("f").c_str()), 0);
    ASSERT_EQ(symlink("../outside/f", at("f").c_str()), 0);
    EXPECT_EQ(give_hard("i", 1), 0);
    EXPECT_NE(result(), (uint32_t)RECORD_OK) << "a link has its name";
    ASSERT_EQ(unlink(at("f").c_str()), 0);
    ASSERT_EQ(symlink("g", at("f").c_str()), 0);
    EXPECT_EQ(give_hard("i", 1), 0);
    EXPECT_EQ(result(), (uint32_t)RECORD_IO) << "a link to the file itself, too";
    EXPECT_NE(access(at("i").c_str(), F_OK), 0);
    ASSERT_EQ(mkdir(at("d").c_str(), 0755), 0);
    EXPECT_EQ(give_attributes(a_link(2)), 0);
    EXPECT_EQ(give_file("d/f"), 0);
    ASSERT_EQ(rename(at("d").c_str(), at("e").c_str()), 0);
    ASSERT_EQ(symlink("../outside", at("d").c_str()), 0);
    EXPECT_EQ(give_hard("i", 2), 0);
    EXPECT_EQ(result(), (uint32_t)RECORD_IN_THE_WAY) << "a link is on the way to it";
}

TEST_F(Attributed, InspectedAndTaken)
{
    std::mt19937_64 rng(test_seed());
    struct inspect i;
    struct stat st;

    for (int round = 0; round < 30; round++) {
        uint32_t chosen = 1 + (uint32_t)(rng() % ATTRIBUTES_ALL);
        std::string path = folder.at("source" + std::to_string(round));
        int n = (int)(rng() % 5), fd = open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);

        ASSERT_GE(fd, 0);
        for (int k = 0; k < n; k++)
            (void)!fsetxattr(fd, ("user." + std::to_string(rng() % 50)).c_str(), "value", rng() % 6,
                             0);
        ASSERT_EQ(fstat(fd, &st), 0);
        inspect_init(&i, chosen);
        inspect_stat(&i, &st, 0);
        EXPECT_EQ(inspect_opens(&i) ? inspect_open(&i, fd, &st) : 0, 0);
        EXPECT_LE(i.list.len_bytes, inspect_max_bytes(&i));
        begin(chosen);
        EXPECT_EQ(give_attributes(std::string((char *)i.list.data, i.list.len_bytes), i.flags), 0)
            << why;
        settle_look(&in.sync.settle, AT_FDCWD, path.c_str(), &st, st.st_mode & 07777);
        EXPECT_EQ(in.sync.settle.differs, 0u) << "it is what it was";
        in.attributed = false;
        inspect_fini(&i);
        close(fd);
    }
}
