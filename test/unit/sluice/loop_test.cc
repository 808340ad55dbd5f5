// SPDX-License-Identifier: BSD-3-Clause
// The sleep of the commands.
#include <gtest/gtest.h>

#include <cstdint>
#include <unistd.h>

extern "C" {
#include "sluice/loop.h"
}

struct Watched {
    int fds[2] = {-1, -1};
    Watched *ends = nullptr; // whose watch this one ends when it is heard
    int heard = 0;

    Watched()
    {
        EXPECT_EQ(pipe(fds), 0);
    }
    ~Watched()
    {
        loop_unwatch(fds[0]);
        close(fds[0]);
        close(fds[1]);
    }
    void watch()
    {
        loop_watch(fds[0], hear, this);
    }
    void say() const
    {
        EXPECT_EQ(write(fds[1], "x", 1), 1);
    }
    static void hear(void *context)
    {
        auto *w = (Watched *)context;
        char c;

        w->heard++;
        EXPECT_EQ(read(w->fds[0], &c, 1), 1);
        if (w->ends != nullptr)
            loop_unwatch(w->ends->fds[0]);
    }
};

TEST(Loop, TwoDescriptorsAreHeard)
{
    struct loop l = {nullptr, -1};
    Watched a, b;

    a.watch();
    b.watch();
    b.say();
    loop_wait(&l, -1, UINT64_MAX);
    EXPECT_EQ(a.heard, 0);
    EXPECT_EQ(b.heard, 1);
    a.say();
    b.say();
    loop_wait(&l, -1, UINT64_MAX);
    EXPECT_EQ(a.heard, 1);
    EXPECT_EQ(b.heard, 2);
    loop_unwatch(b.fds[0]);
    loop_unwatch(-1);
    b.say();
    loop_wait(&l, -1, 0);
    EXPECT_EQ(b.heard, 2);
}

// The other one has something to say, too, but what it belongs to may be gone.
TEST(Loop, WhatOneHearsMayEndTheWatchOfTheOther)
{
    struct loop l = {nullptr, -1};
    Watched a, b;

    a.ends = &b;
    a.watch();
    b.watch();
    a.say();
    b.say();
    loop_wait(&l, -1, UINT64_MAX);
    EXPECT_EQ(a.heard, 1);
    EXPECT_EQ(b.heard, 0);
}

// The time may pass while the caller still compares it.
TEST(Loop, AnEndThatIsOverIsNotWaitedFor)
{
    struct loop l = {nullptr, -1};
    uint64_t begin = loop_now(), end = begin + 20 * CLOCK_NS_PER_S / 1000;

    for (uint64_t over : {uint64_t{0}, begin - 1, begin})
        EXPECT_FALSE(loop_wait_until(&l, -1, over));
    EXPECT_FALSE(loop_wait_until(&l, -1, end));
    EXPECT_GE(loop_now(), end);
    EXPECT_LT(loop_now(), begin + 10 * CLOCK_NS_PER_S);
}
