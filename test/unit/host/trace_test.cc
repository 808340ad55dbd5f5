// SPDX-License-Identifier: BSD-3-Clause
// The ring of events. It keeps the newest ones, and any thread reads an event whole or not at all.
// And the text of events.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>

extern "C" {
#include "host/trace.h"
}

namespace
{

std::string text(enum trace_what what, uint32_t conn, uint16_t why, uint64_t a, uint64_t b,
                 size_t size = TRACE_TEXT_MAX)
{
    struct trace_event e = {0, conn, static_cast<uint16_t>(what), why, a, b};
    std::string out(size, '#');
    size_t n = trace_text(&e, out.data(), size);

    EXPECT_LT(n, size);
    EXPECT_EQ(out[n], '\0');
    return out.substr(0, n);
}

TEST(Trace, EmptyKnowsNothing)
{
    auto t = std::make_unique<struct trace>();
    struct trace_event e;

    EXPECT_EQ(trace_count(t.get()), 0u);
    EXPECT_EQ(trace_first(t.get()), 0u);
    EXPECT_FALSE(trace_read(t.get(), 0, &e));
    EXPECT_FALSE(trace_read(t.get(), UINT64_MAX, &e));
}

TEST(Trace, AllFieldsComeBackAndTheOldestAreForgotten)
{
    auto t = std::make_unique<struct trace>();
    const uint64_t n = 3 * TRACE_EVENTS + 7;
    struct trace_event e;

    for (uint64_t i = 0; i < n; i++)
        trace_add(t.get(), i * 3, static_cast<enum trace_what>(i % TRACE_WHATS),
                  static_cast<uint32_t>(UINT32_MAX - i), static_cast<uint16_t>(i * 7), ~i, i << 20);
    EXPECT_EQ(trace_count(t.get()), n);
    EXPECT_EQ(trace_first(t.get()), n - TRACE_EVENTS + 1);
    for (uint64_t i = 0; i < n + 5; i++) {
        bool known = i >= trace_first(t.get()) && i < n;

        ASSERT_EQ(trace_read(t.get(), i, &e), known) << i;
        if (!known)
            continue;
        ASSERT_EQ(e.time, i * 3);
        ASSERT_EQ(e.what, i % TRACE_WHATS);
        ASSERT_EQ(e.conn, static_cast<uint32_t>(UINT32_MAX - i));
        ASSERT_EQ(e.why, static_cast<uint16_t>(i * 7));
        ASSERT_EQ(e.a, ~i);
        ASSERT_EQ(e.b, i << 20);
    }
}

// Another thread reads whole events, with the numbers that it asked for.
TEST(Trace, ReadersSeeWholeEvents)
{
    auto t = std::make_unique<struct trace>();
    std::atomic<bool> over{false};
    uint64_t seen = 0;

    std::thread writer([&] {
        for (uint64_t i = 0; i < 300000; i++)
            trace_add(t.get(), i, TRACE_GRANT, static_cast<uint32_t>(i), static_cast<uint16_t>(i),
                      i * 3, i * 5);
        over = true;
    });
    while (!over || seen == 0) {
        struct trace_event e;
        uint64_t first = trace_first(t.get()), count = trace_count(t.get());

        for (uint64_t n = first; n < count; n += 1 + n % 13) {
            if (!trace_read(t.get(), n, &e))
                continue; // it was overwritten meanwhile
            seen++;
            ASSERT_EQ(e.time, n);
            ASSERT_EQ(e.conn, static_cast<uint32_t>(n));
            ASSERT_EQ(e.why, static_cast<uint16_t>(n));
            ASSERT_EQ(e.a, n * 3);
            ASSERT_EQ(e.b, n * 5);
        }
    }
    writer.join();
    EXPECT_GT(seen, 0u);
}

TEST(Trace, Text)
{
    uint64_t peer[2];
    const uint8_t v4[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 255, 1};
    const uint8_t v6[16] = {0xfd, 0x90, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x2a};

    memcpy(peer, v4, sizeof peer);
    EXPECT_EQ(text(TRACE_OPENED, 3, 7000, peer[0], peer[1]),
              "conn 3 opened service=7000 peer=10.0.255.1");
    memcpy(peer, v6, sizeof peer);
    EXPECT_EQ(text(TRACE_OPENED, 0, 1, peer[0], peer[1]),
              "conn 0 opened service=1 peer=fd90:0000:0000:0000:0000:0000:0000:002a");
    EXPECT_EQ(text(TRACE_GRANT, 9, 4, UINT64_MAX, 0),
              "conn 9 grant reason=probe rate_Bps=18446744073709551615 burst_bytes=0");
    EXPECT_EQ(text(TRACE_ENDED, 9, 3, 110, 5), "conn 9 ended end=silence errno=110 rx_bytes=5");
    EXPECT_EQ(text(TRACE_STALL, TRACE_NO_CONN, 0, 16000000, 0), "control-stalls quiet_ns=16000000");
    EXPECT_EQ(text(TRACE_RUNS, TRACE_NO_CONN, 0, 0, 0), "control-runs");
    EXPECT_EQ(text(TRACE_OVERRUN, TRACE_NO_CONN, 0, 2, 3), "overrun packets=2 capacity_Bps=3");
}

TEST(Trace, TextIsCutToItsRoom)
{
    std::string whole = text(TRACE_GRANT, UINT32_MAX - 1, 0xffff, UINT64_MAX, UINT64_MAX);

    EXPECT_LT(whole.size() + 1, static_cast<size_t>(TRACE_TEXT_MAX));
    for (size_t size = 1; size <= whole.size() + 1; size++)
        EXPECT_EQ(text(TRACE_GRANT, UINT32_MAX - 1, 0xffff, UINT64_MAX, UINT64_MAX, size),
                  whole.substr(0, size - 1));
}

} // namespace
