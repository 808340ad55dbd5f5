// SPDX-License-Identifier: BSD-3-Clause
// A daemon that dies reports what happened before: all of it to a file, the latest to standard
// error.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

extern "C" {
#include "base/check.h"
#include "sluiced/observe/crash.h"
}

namespace
{

class CrashTest : public testing::Test
{
  protected:
    CrashTest() : ring(std::make_unique<struct trace>())
    {
        testing::FLAGS_gtest_death_test_style = "fast"; // the child dies in our folder
        EXPECT_NE(mkdtemp(folder), nullptr);
        path = std::string(folder) + "/crash";
    }

    ~CrashTest() override
    {
        unlink(path.c_str());
        rmdir(folder);
    }

    // Called only in the child that dies, so the handlers of the test program itself stay.
    void guard(uint64_t events)
    {
        struct rlimit none = {0, 0};

        setrlimit(RLIMIT_CORE, &none);
        for (int n : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL})
            signal(n, SIG_DFL); // removes the handlers of a sanitizer
        for (uint64_t i = 0; i < events; i++)
            trace_add(ring.get(), i, TRACE_GRANT, 7, 4, 1000 + i, 64);
        crash_add("net_test0/0", ring.get());
        crash_start(path.c_str(), 1000000000);
    }

    char folder[32] = "/tmp/sluice-crash.XXXXXX";
    std::string path;
    std::unique_ptr<struct trace> ring;
};

using CrashDeathTest = CrashTest;

TEST_F(CrashDeathTest, BrokenInvariant)
{
    EXPECT_EXIT(
        {
            guard(3);
            CHECK(ring->count == 4);
        },
        testing::KilledBySignal(SIGABRT),
        "broken invariant: ring->count == 4\n"
        "sluiced: error: killed by signal 6; the latest events are in .*/crash\n"
        "sluiced: trace net_test0/0: [0-9]+\\.[0-9]{9} s ago: conn 7 grant reason=probe "
        "rate_Bps=1000 "
        "burst_bytes=64\n(.*\n)*.*rate_Bps=1002 ");
}

TEST_F(CrashDeathTest, BadPointerOnAnyThread)
{
    EXPECT_EXIT(
        {
            guard(1);
            std::thread([] {
                volatile uintptr_t nowhere = 8;
                *reinterpret_cast<volatile int *>(nowhere) = 1;
            }).join();
        },
        testing::KilledBySignal(SIGSEGV), "killed by signal 11; (.*\n)+.*rate_Bps=1000 ");
}

TEST_F(CrashDeathTest, ThreadsThatDieTogetherSayItOnce)
{
    EXPECT_EXIT(
        {
            guard(1);
            std::thread others[4];
            for (auto &t : others)
                t = std::thread([] { abort(); });
            for (auto &t : others)
                t.join();
        },
        testing::KilledBySignal(SIGABRT),
        "^sluiced: error: killed by[^\n]*\nsluiced: trace[^\n]*\n$");
}

// The file has all events of the ring. Standard error has only the latest.
TEST_F(CrashDeathTest, FileHasAll)
{
    EXPECT_EXIT(
        {
            guard(TRACE_EVENTS + 500);
            abort();
        },
        testing::KilledBySignal(SIGABRT),
        "^sluiced: error: killed by[^\n]*\nsluiced: trace [^\n]*rate_Bps=2492 "
        "(.*\n)*.*rate_Bps=2523 ");
    std::ifstream file(path);
    struct stat st;
    std::string line, first, last;
    uint64_t lines = 0;

    while (std::getline(file, line)) {
        first = lines++ == 0 ? line : first;
        last = line;
    }
    EXPECT_EQ(lines, TRACE_EVENTS - 1u);
    EXPECT_NE(first.find(" conn 7 grant reason=probe rate_Bps=1501 "), std::string::npos) << first;
    EXPECT_NE(last.find(" rate_Bps=2523 "), std::string::npos) << last;
    ASSERT_EQ(stat(path.c_str(), &st), 0);
    EXPECT_EQ(st.st_mode & 0777, 0600u);
}

TEST_F(CrashDeathTest, WithoutAFile)
{
    path = "/nowhere/at/all";
    EXPECT_EXIT(
        {
            guard(2);
            abort();
        },
        testing::KilledBySignal(SIGABRT), "written to /nowhere/at/all\n(.*\n)*.*rate_Bps=1001 ");
}

TEST_F(CrashDeathTest, StoppedItSaysNothing)
{
    EXPECT_EXIT(
        {
            guard(2);
            crash_stop();
            abort();
        },
        testing::KilledBySignal(SIGABRT), "^$");
}

} // namespace
