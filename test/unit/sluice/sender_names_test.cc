/* SPDX-License-Identifier: BSD-3-Clause */
/* The names that a sender tells before anything else, so that the receiver can delete first. */
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "unit/sluice/folder.h"

extern "C" {
#include "sluice/sender/sender.h"
}

namespace
{

using Lines = std::vector<std::string>;

class Names : public testing::Test
{
  protected:
    void SetUp() override
    {
        ASSERT_EQ(chmod(folder.at("").c_str(), 0755), 0);
        for (const char *name : {"top", "top/d", "top/empty"})
            ASSERT_EQ(mkdir(folder.at(name).c_str(), 0755), 0);
        for (const char *name : {"top/d/f", "top/a.o", "top/.x.part-0123456789abcdef", "one"})
            folder.write(name, "content");
        ASSERT_EQ(symlink("nowhere", folder.at("top/link").c_str()), 0);
        ASSERT_EQ(mkfifo(folder.at("top/pipe").c_str(), 0600), 0);
        sync.prune = sync.prune_before = true;
        options.sync = &sync;
        options.resume = true;
        s.options = &options;
        memory.resize(PACK_BYTES);
        s.pack.memory = memory.data();
    }
    void TearDown() override
    {
        sender_names_fini(&s);
    }
    /* What is told of these: names, those of directories with a slash; at the end "." or, if not
     * all can be read, "?". */
    Lines told(const Lines &sources)
    {
        std::vector<std::string> paths;
        std::vector<char *> words;
        struct record r;
        const char *why;
        Lines all;

        for (const std::string &source : sources)
            paths.push_back(folder.at(source));
        for (std::string &path : paths)
            words.push_back(&path[0]);
        options.paths = words.data();
        options.n_paths = (int)words.size();
        s.names = {};
        s.pack.used_bytes = 0;
        while (sender_names_due(&s))
            sender_names(&s);
        EXPECT_EQ(s.names.tree, nullptr);
        const uint8_t *at = s.pack.memory + PACK_FIRST, *end = at + s.pack.used_bytes;
        for (; at < end; at += RECORD_HEADER_BYTES + r.len_bytes) {
            EXPECT_EQ(record_decode(at, (size_t)(end - at), &r, &why), 0) << why;
            if (r.type == RECORD_NAMED)
                all.push_back((r.flags & RECORD_UNREAD) != 0 ? "?" : ".");
            else
                all.push_back(std::string((const char *)at + RECORD_HEADER_BYTES, r.len_bytes) +
                              ((r.flags & RECORD_BEGIN) != 0 ? "/" : ""));
        }
        return all;
    }

    Folder folder;
    struct sync_options sync = {};
    struct sender_options options = {};
    struct sender s = {};
    std::vector<uint8_t> memory;
};

} // namespace

TEST_F(Names, AllThatIsSent)
{
    EXPECT_EQ(told({"top/"}), (Lines{"./", "a.o", "d/", "d/f", "empty/", "link", "pipe", "."}));
    EXPECT_EQ(told({"top", "one"}), (Lines{"top/", "top/a.o", "top/d/", "top/d/f", "top/empty/",
                                           "top/link", "top/pipe", "one", "."}));
    sync.prune_before = false;
    EXPECT_EQ(told({"top"}), Lines{});
}

TEST_F(Names, WhatIsExcludedHasNone)
{
    struct filter f = {};

    for (const char *rule : {"- *.o", "- /d/"})
        ASSERT_EQ(filter_add(&f, rule), nullptr);
    sync.filter = &f;
    EXPECT_EQ(told({"top/"}), (Lines{"./", "empty/", "link", "pipe", "."}));
    filter_fini(&f);
}

TEST_F(Names, WhatIsNotThereKeepsTheReceiverFromDeleting)
{
    EXPECT_EQ(told({"top/empty/", "missing"}), (Lines{"./", "?"}));
    EXPECT_EQ(told({"missing", "one"}), (Lines{"one", "?"}));
}

/* A file that nobody may read has a name, but will not be sent. */
TEST_F(Names, WhatCannotBeReadKeepsTheReceiverFromDeleting)
{
    const std::string file = folder.at("one"), dir = folder.at("top/d");
    const bool root = geteuid() == 0;

    for (const std::string &path : {file, dir}) {
        ASSERT_EQ(chmod(path.c_str(), 0), 0);
        ASSERT_EQ(root ? seteuid(65534) : 0, 0); /* root may read all */
        Lines names = told(path == file ? Lines{"one"} : Lines{"top/d"});
        ASSERT_EQ(root ? seteuid(0) : 0, 0);
        EXPECT_EQ(names.back(), "?") << path;
        EXPECT_EQ(names[0], path == file ? "one" : "d/");
        ASSERT_EQ(chmod(path.c_str(), 0755), 0);
    }
    EXPECT_EQ(told({"one"}).back(), ".");
}
