// SPDX-License-Identifier: BSD-3-Clause
// The long-run rate, from 1 kb/s to 400 Gb/s, is exact to far better than 1 ppm.
#include <gtest/gtest.h>

#include "credit_model.h"

namespace
{
struct Sent {
    uint64_t bytes = 0;       /* after the first packet */
    uint64_t first = 0;       /* time of the first packet */
    uint64_t last = 0;        /* time of the last packet */
    int64_t credit_first = 0; /* credit after the first and the last packet */
    int64_t credit_last = 0;
};

/* Sends packet after packet as soon as it may, from a steady state. */
Sent send_greedy(struct credit *c, uint64_t start, uint64_t len_bytes, int packets)
{
    Sent s;
    uint64_t now = start;

    while (credit_open(c, now))
        credit_take(c, len_bytes);
    for (int i = 0; i < packets; i++) {
        now = credit_next(c, now);
        if (!credit_open(c, now))
            ADD_FAILURE() << "shut at the time that it gave";
        credit_take(c, len_bytes);
        if (i == 0) {
            s.first = now;
            s.credit_first = c->credit_bytes;
        } else {
            s.bytes += len_bytes;
        }
    }
    s.last = now;
    s.credit_last = c->credit_bytes;
    return s;
}

struct Case {
    uint64_t rate_Bps, burst_bytes;
};

const Case CASES[] = {
    {125, 1454},           {125, 1},           {1000, 14540},        {12500, 1454},
    {123457, 43620},       {1250000, 9000},    {8675309, 4321},      {125000000, 65536},
    {1250000000, 8192},    {1234567891, 9001}, {12500000000, 65536}, {50000000000, 65536},
    {50000000000, 1 << 20}};
const uint64_t HZ[] = {1000000000, 2100000000, 2999999999};
} // namespace

/* Packets of one burst: each refresh sends one, so N of them take N periods, to the cycle. */
TEST(CreditRate, BurstSizedPacketsAreExact)
{
    const int packets = 100000;

    for (uint64_t hz : HZ) {
        for (const Case &k : CASES) {
            struct credit c;
            Sent s;
            __int128 error;

            credit_init(&c, hz, k.rate_Bps, k.burst_bytes, 12345);
            s = send_greedy(&c, 12345, k.burst_bytes, packets);
            ASSERT_EQ(s.bytes, k.burst_bytes * (packets - 1));
            error = (__int128)s.bytes * hz - (__int128)k.rate_Bps * (s.last - s.first);
            EXPECT_LT(error < 0 ? -error : error, (__int128)k.rate_Bps) /* one cycle in all */
                << "hz " << hz << " rate " << k.rate_Bps << " burst " << k.burst_bytes;
        }
    }
}

/*
 * Packets that do not divide the burst leave debt, which later refreshes pay. The bytes sent, minus
 * the difference of credit, are whole bursts. The rate is right within 1 ppm.
 */
TEST(CreditRate, OddPacketsWithinOnePpm)
{
    for (const Case &k : CASES) {
        const uint64_t hz = 2100000000;
        const uint64_t len_bytes = k.burst_bytes / 3 + 7;
        struct credit c;
        Sent s;
        __int128 error, due;

        credit_init(&c, hz, k.rate_Bps, k.burst_bytes, 999);
        s = send_greedy(&c, 999, len_bytes, 1000000);
        due = (__int128)s.bytes + s.credit_last - s.credit_first;
        EXPECT_EQ(due % k.burst_bytes, 0);
        error = (due * hz - (__int128)k.rate_Bps * (s.last - s.first)) * 1000000;
        EXPECT_LT(error < 0 ? -error : error, (__int128)k.rate_Bps * (s.last - s.first))
            << "rate " << k.rate_Bps << " burst " << k.burst_bytes;
    }
}
