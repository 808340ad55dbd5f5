// SPDX-License-Identifier: BSD-3-Clause
// The share of one user in what all users need: connections, UDP ports and memory.
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "unit/client/fixture.h"

extern "C" {
#include "host/host.h"
}

namespace
{

class QuotaTest : public DaemonTest
{
  protected:
    void SetUp() override
    {
        DaemonTest::SetUp();
        if (geteuid() != 0)
            GTEST_SKIP() << "needs root to change the user";
        config.max_sessions = 32;
        config.host.services_max = HOST_SERVICES_MAX;
        config.quota_bytes = 64 << 20;
        config.quota_total_bytes = 160 << 20;
        config.socket_group = "4711";
        start();
        ASSERT_EQ(chmod(path.c_str(), 0666), 0);
    }

    // Opens a session as another user. The daemon looks at the user that connects. The system call
    // changes this thread only, so the threads of the daemon stay root.
    struct sluice *open_as(uid_t uid)
    {
        EXPECT_EQ(syscall(SYS_setresuid, -1, uid, -1), 0);
        struct sluice *s = open();
        EXPECT_EQ(syscall(SYS_setresuid, -1, 0, -1), 0);
        return s;
    }
};

TEST_F(QuotaTest, ConnectionsOfAUser)
{
    struct sluice *s = open_as(12345), *other = open_as(12346), *same = open_as(12345);
    struct sluice_conn *c;

    ASSERT_EQ(sluice_listen(s, 7000), 0) << sluice_error(s);
    for (uint32_t i = 0; i < config.host.conns * 3 / 4; i++)
        ASSERT_EQ(sluice_accept(s, 7000, 0, 1, &c), 0);
    ASSERT_EQ(sluice_accept(s, 7000, 0, 2, &c), 0);
    struct sluice_completion refused = take(s, 1)[0];
    EXPECT_EQ(refused.status, -EUSERS);
    EXPECT_EQ(refused.user, 2u);
    ASSERT_EQ(sluice_listen(same, 7002), 0) << sluice_error(same);
    ASSERT_EQ(sluice_accept(same, 7002, 0, 3, &c), 0);
    EXPECT_EQ(take(same, 1)[0].status, -EUSERS) << "all sessions of a user count together";
    ASSERT_EQ(sluice_listen(other, 7001), 0) << sluice_error(other);
    ASSERT_EQ(sluice_accept(other, 7001, 0, 4, &c), 0);
    struct sluice_completion d;
    EXPECT_EQ(sluice_poll(other, &d, 1, 100), 0) << "the accept did not wait: " << d.status;
    for (struct sluice *x : {s, other, same})
        sluice_close(x);
}

// Each of three users stays within the quota. All together they want more than quota_total.
TEST_F(QuotaTest, MemoryOfAllUsers)
{
    constexpr uint64_t kPiece = 4 << 20;
    struct sluice *s[3];
    size_t pieces[3] = {0, 0, 0};

    for (uint32_t i = 0; i < 3; i++)
        s[i] = open_as(12345 + i);
    for (uint32_t i = 0; i < 3; i++)
        while (sluice_alloc(s[i], kPiece) != nullptr)
            pieces[i]++;
    EXPECT_LE(fake_daemon_mapped_bytes(daemon), config.quota_total_bytes);
    EXPECT_GE(pieces[0], 13u); // the session itself counts, too
    EXPECT_EQ(pieces[1], pieces[0]);
    EXPECT_LT(pieces[2], pieces[0]);
    EXPECT_GT(pieces[2], 0u);
    EXPECT_NE(strstr(sluice_error(s[0]), "user 12345"), nullptr) << sluice_error(s[0]);
    EXPECT_NE(strstr(sluice_error(s[2]), "all users together"), nullptr) << sluice_error(s[2]);
    EXPECT_NE(strstr(sluice_error(s[2]), "quota_total"), nullptr) << sluice_error(s[2]);
    // A sixteenth is left to root, and no more.
    struct sluice *root = open();
    size_t rest = 0;
    while (sluice_alloc(root, kPiece) != nullptr)
        rest++;
    EXPECT_GE(rest, 1u);
    EXPECT_LE(fake_daemon_mapped_bytes(daemon), config.quota_total_bytes);
    sluice_close(root);
    sluice_close(s[0]);
    EXPECT_NE(sluice_alloc(s[2], kPiece), nullptr) << "the memory of the first user is free";
    for (uint32_t i = 1; i < 3; i++)
        sluice_close(s[i]);
}

TEST_F(QuotaTest, TheSocketIsItsGroups)
{
    struct stat st;

    ASSERT_EQ(stat(path.c_str(), &st), 0);
    EXPECT_EQ(st.st_gid, 4711u);
    EXPECT_EQ(st.st_uid, geteuid());
}

TEST_F(QuotaTest, PortsOfAUser)
{
    std::vector<struct sluice *> sessions;
    uint16_t port = 8000;
    int got = 0, err = 0;

    while (err == 0) {
        sessions.push_back(open_as(12345));
        for (int i = 0; i < 16 && err == 0; i++)
            got += (err = sluice_listen(sessions.back(), port++)) == 0;
        ASSERT_LT(sessions.size(), 20u);
    }
    EXPECT_EQ(err, -EUSERS) << sluice_error(sessions.back());
    EXPECT_EQ(got, HOST_SERVICES_MAX * 3 / 4);
    struct sluice *root = open();
    EXPECT_EQ(sluice_listen(root, port), 0) << sluice_error(root);
    sluice_close(root);
    for (struct sluice *s : sessions)
        sluice_close(s);
}

} // namespace
