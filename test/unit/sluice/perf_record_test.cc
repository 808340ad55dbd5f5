/* SPDX-License-Identifier: BSD-3-Clause */
/* Control records of `sluice perf`: golden bytes, and the records that a server refuses. */
#include <cstring>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "unit/base/seed.h"

extern "C" {
#include "sluice/perf/perf_record.h"
}

static struct perf_record start()
{
    struct perf_record r = {};

    r.type = PERF_START;
    r.u.start.test = 0x1122334455667788;
    r.u.start.stream = 1;
    r.u.start.streams = 2;
    r.u.start.flags = PERF_CLIENT_SENDS | PERF_CHECK;
    r.u.start.request_bytes = 16 << 20;
    r.u.start.outstanding = 4;
    r.u.start.duration_ns = 10000000000;
    r.u.start.memory_bytes = 1 << 30;
    r.u.start.slices = 64;
    return r;
}

static const char *refused(const struct perf_record &r)
{
    uint8_t bytes[PERF_RECORD_BYTES];
    struct perf_record back;
    const char *why = "";

    perf_encode(bytes, &r);
    return perf_decode(bytes, sizeof bytes, PERF_START, &back, &why) < 0 ? why : nullptr;
}

TEST(PerfRecord, Golden)
{
    static const uint8_t head[] = {0x53, 0x4c, 0x55, 0x50, 1, 1, 0, 0, 0x11, 0x22, 0x33, 0x44, 0x55,
                                   0x66, 0x77, 0x88, 0,    0, 0, 0, 0, 0,    0,    1,    0,    0,
                                   0,    0,    0,    0,    0, 2, 0, 0, 0,    0,    0,    0,    0,
                                   5,    0,    0,    0,    0, 1, 0, 0, 0,    0,    0,    0,    0,
                                   0,    0,    0,    4,    0, 0, 0, 2, 0x54, 0x0b, 0xe4, 0};
    uint8_t bytes[PERF_RECORD_BYTES];
    struct perf_record r = start(), back;
    const char *why;

    ASSERT_EQ(sizeof bytes, 192u);
    perf_encode(bytes, &r);
    EXPECT_EQ(memcmp(bytes, head, sizeof head), 0);
    ASSERT_EQ(perf_decode(bytes, sizeof bytes, PERF_START, &back, &why), 0) << why;
    EXPECT_EQ(memcmp(&back.u, &r.u, sizeof r.u), 0);
    for (size_t len : {(size_t)0, (size_t)8, sizeof bytes - 1, sizeof bytes + 1})
        EXPECT_LT(perf_decode(bytes, len, PERF_START, &back, &why), 0);
    EXPECT_LT(perf_decode(bytes, sizeof bytes, PERF_GO, &back, &why), 0);
    for (size_t at = 0; at < 8; at++) {
        bytes[at] ^= 0x40;
        EXPECT_LT(perf_decode(bytes, sizeof bytes, PERF_START, &back, &why), 0) << at;
        bytes[at] ^= 0x40;
    }
}

TEST(PerfRecord, WhatAServerRefuses)
{
    struct perf_record r = start();

    EXPECT_EQ(refused(r), nullptr);
    r.u.start.streams = 0;
    EXPECT_NE(refused(r), nullptr);
    r.u.start.streams = PERF_STREAMS_MAX + 1;
    EXPECT_NE(refused(r), nullptr);
    r = start();
    r.u.start.stream = 2;
    EXPECT_NE(refused(r), nullptr);
    r = start();
    r.u.start.flags = 0;
    EXPECT_NE(refused(r), nullptr);
    r.u.start.flags = PERF_CLIENT_SENDS | 8;
    EXPECT_NE(refused(r), nullptr);
    r = start();
    r.u.start.request_bytes = (1ull << 32) + 1;
    EXPECT_NE(refused(r), nullptr);
    r = start();
    r.u.start.outstanding = 0;
    EXPECT_NE(refused(r), nullptr);
    r.u.start.outstanding = PERF_OUTSTANDING_MAX + 1;
    EXPECT_NE(refused(r), nullptr);
    r = start();
    r.u.start.duration_ns = 0;
    EXPECT_NE(refused(r), nullptr); /* without an end */
    r.u.start.limit_bytes = 1;
    EXPECT_EQ(refused(r), nullptr);
    r.u.start.request_bytes = 0;
    EXPECT_NE(refused(r), nullptr); /* it would never reach the limit */
    r = start();
    r.u.start.memory_bytes = PERF_MEMORY_MAX + 1;
    EXPECT_NE(refused(r), nullptr);
    r = start();
    r.u.start.slices = 0;
    EXPECT_NE(refused(r), nullptr); /* it is a divisor */
}

/* If random words are accepted, they are within the limits. */
TEST(PerfRecord, RandomWords)
{
    std::mt19937_64 rng(test_seed());
    int accepted = 0;

    for (int i = 0; i < 20000; i++) {
        struct perf_record r = start();

        for (uint64_t n = rng() % 3; n > 0; n--)
            r.u.words[rng() % 10] = rng() >> (rng() % 64);
        if (refused(r) != nullptr)
            continue;
        accepted++;
        EXPECT_LE(r.u.start.request_bytes, 1ull << 32);
        EXPECT_LT(r.u.start.stream, r.u.start.streams);
        EXPECT_LE(r.u.start.outstanding, (uint64_t)PERF_OUTSTANDING_MAX);
        EXPECT_LE(r.u.start.memory_bytes, PERF_MEMORY_MAX);
    }
    EXPECT_GT(accepted, 1000);
}
