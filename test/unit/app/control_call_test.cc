// SPDX-License-Identifier: BSD-3-Clause
// Control calls: control runs each one at most once, on its own thread, and never after the caller
// has given up.
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <thread>
#include <vector>

extern "C" {
#include "sluiced/control/control_call.h"
}

namespace
{

struct ControlCall {
    std::thread::id where;
    uint64_t *sum; // of control; not atomic: ThreadSanitizer sees other accesses
    uint64_t add;
};

void add(void *arg)
{
    auto *e = static_cast<ControlCall *>(arg);

    e->where = std::this_thread::get_id();
    *e->sum += e->add;
}

TEST(ControlCall, NobodyServesBeforeOpenAndAfterClose)
{
    uint64_t sum = 0;
    ControlCall e = {{}, &sum, 1};

    EXPECT_EQ(control_call(add, &e), -ESHUTDOWN);
    control_calls_open();
    control_calls_close();
    EXPECT_EQ(control_call(add, &e), -ESHUTDOWN);
    EXPECT_EQ(sum, 0u);
}

TEST(ControlCall, EachIsDoneOnceByControl)
{
    constexpr uint64_t threads = 4, each = 500;
    std::atomic<bool> over{false};
    uint64_t sum = 0;
    std::vector<std::thread> askers;

    control_calls_open();
    std::thread control([&] {
        while (!over)
            control_calls_serve();
        control_calls_close();
    });
    for (uint64_t t = 0; t < threads; t++)
        askers.emplace_back([&, t] {
            for (uint64_t i = 0; i < each; i++) {
                ControlCall e = {{}, &sum, t * each + i};

                ASSERT_EQ(control_call(add, &e), 0);
                ASSERT_EQ(e.where, control.get_id());
            }
        });
    for (auto &a : askers)
        a.join();
    over = true;
    control.join();
    EXPECT_EQ(sum, threads * each * (threads * each - 1) / 2);
}

TEST(ControlCall, StalledControlIsNotWaitedFor)
{
    uint64_t sum = 0;
    ControlCall e = {{}, &sum, 1};

    control_calls_open();
    EXPECT_EQ(control_call(add, &e), -ETIMEDOUT);
    control_calls_serve(); // too late: the caller has taken it back
    EXPECT_EQ(sum, 0u);
    std::thread asker([&] { EXPECT_EQ(control_call(add, &e), 0); });
    while (e.where == std::thread::id() && sum == 0)
        control_calls_serve();
    asker.join();
    EXPECT_EQ(sum, 1u);
    control_calls_close();
}

// A call that races with closing is either served or refused. It is never left waiting.
TEST(ControlCall, ClosedWhileOthersAsk)
{
    for (int round = 0; round < 200; round++) {
        uint64_t sum = 0;
        ControlCall e = {{}, &sum, 1};
        int rc = 1;

        control_calls_open();
        std::thread asker([&] { rc = control_call(add, &e); });
        if (round % 2)
            std::this_thread::yield();
        control_calls_close();
        asker.join();
        EXPECT_TRUE((rc == 0 && sum == 1) || (rc == -ESHUTDOWN && sum == 0)) << rc << " " << sum;
    }
}

} // namespace
