/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands: sluice_command(), and messages that the library would not send. And RING. */
#include <cerrno>

#include "unit/client/fixture.h"
#include "unit/client/raw_client.h"

using CommandTest = DaemonTest;

TEST_F(CommandTest, CommandsAreAnsweredOrRefused)
{
    struct sluice *s;
    char err[256], answer[256], most[PROTOCOL_COMMAND_MAX + 2];

    start();
    ASSERT_EQ(sluice_open(&s, path.c_str(), err, sizeof err), 0) << err;
    EXPECT_EQ(sluice_command(s, "say hello", answer, sizeof answer), 0);
    EXPECT_STREQ(answer, "hello");
    EXPECT_EQ(sluice_command(s, "set x", answer, sizeof answer), -EDOM);
    EXPECT_STREQ(sluice_error(s), "no: set x");
    EXPECT_STREQ(answer, "");
    EXPECT_EQ(sluice_command(s, "", answer, 0), -EDOM);
    memset(most, 'a', sizeof most);
    most[PROTOCOL_COMMAND_MAX] = 0;
    EXPECT_EQ(sluice_command(s, most, answer, sizeof answer), -EDOM);
    most[PROTOCOL_COMMAND_MAX] = 'a';
    most[PROTOCOL_COMMAND_MAX + 1] = 0;
    EXPECT_EQ(sluice_command(s, most, answer, sizeof answer), -EMSGSIZE);
    EXPECT_EQ(sluice_command(s, "say again", answer, sizeof answer), 0) << "the session goes on";
    sluice_close(s);
}

/* A command has exactly as many bytes as it says. */
TEST_F(CommandTest, CommandsAreAsLongAsTheySay)
{
    start();
    for (int more : {-4, -1, 1, 100}) {
        RawClient c;
        char text[sizeof(protocol_request) + 200] = {};
        struct protocol_request q = {};

        ASSERT_TRUE(c.connect(path));
        ASSERT_EQ(c.ask(PROTOCOL_HELLO).status, 0);
        q.magic = PROTOCOL_MAGIC;
        q.version = PROTOCOL_VERSION;
        q.type = PROTOCOL_COMMAND;
        q.u.command_bytes = 5;
        memcpy(text, &q, sizeof q);
        memcpy(text + sizeof q, "say x", 5);
        ASSERT_TRUE(c.send(text, (size_t)((int)sizeof q + 5 + more)));
        struct protocol_reply a = {};
        while (c.receive(&a) && a.type != PROTOCOL_BYE)
            ;
        EXPECT_EQ(a.status, -EPROTO) << more;
    }
    RawClient c;
    struct protocol_request q = {};
    ASSERT_TRUE(c.connect(path));
    ASSERT_EQ(c.ask(PROTOCOL_HELLO).status, 0);
    q.type = PROTOCOL_COMMAND;
    q.u.command_bytes = UINT32_MAX;
    EXPECT_EQ(c.ask(q).type, PROTOCOL_BYE);
}

/* RING has no answer, whatever its channel, and does no harm. */
TEST_F(CommandTest, RingingIsNotAnswered)
{
    struct protocol_request q = {};

    start();
    RawClient c;
    ASSERT_TRUE(c.open(path));
    q.magic = PROTOCOL_MAGIC;
    q.version = PROTOCOL_VERSION;
    q.type = PROTOCOL_RING;
    for (uint32_t channel : {0u, 1u, 2u, 63u, 64u, UINT32_MAX}) {
        q.u.channel = channel;
        ASSERT_TRUE(c.send(&q, sizeof q));
    }
    struct protocol_reply a = c.ask(PROTOCOL_HELLO);
    EXPECT_EQ(a.type, PROTOCOL_HELLO);
    EXPECT_EQ(a.status, 0);
}
