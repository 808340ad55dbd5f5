/* SPDX-License-Identifier: BSD-3-Clause */
/* What a far end reports of a copy between two other hosts (golden bytes as in
 * doc/file-protocol.md). What is impossible is refused, whatever bytes come. */
#include <cstring>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "unit/base/seed.h"
#include "unit/sluice/cp/messages.h"

extern "C" {
#include "sluice/cp/message_report.h"
}

/* A message that message_decode() has accepted. */
struct Came {
    std::string bytes;
    struct message m = {};
    bool accepted;

    Came(enum message_type type, const std::string &data) : bytes(encoded(type, data))
    {
        uint8_t version;
        const char *why;

        accepted = message_decode(&m, (const uint8_t *)bytes.data(), bytes.size(), &version,
                                  &why) == (int)bytes.size();
    }
};

static std::string progress_data(const struct message_progress &p)
{
    uint8_t out[MESSAGE_DATA_MAX];

    return std::string((char *)out, message_progress_encode(out, &p));
}

static std::string file_data(const std::string &name, uint64_t bytes)
{
    uint8_t out[MESSAGE_DATA_MAX];

    return std::string((char *)out, message_file_encode(out, name.c_str(), bytes));
}

static std::string failed_data(uint8_t code, const std::string &name, const std::string &cause)
{
    uint8_t out[MESSAGE_DATA_MAX];

    return std::string((char *)out, message_failed_encode(out, code, name.c_str(), cause.c_str()));
}

static std::string summary_data(const struct summary &s)
{
    uint8_t out[MESSAGE_DATA_MAX];

    return std::string((char *)out, message_summary_encode(out, &s));
}

/* "" or what is wrong with the data. */
template <typename Told>
static std::string fault(enum message_type type, const std::string &data,
                         const char *(*decode)(Told *, const struct message *))
{
    static Told told;
    const Came came(type, data);

    if (!came.accepted)
        return "no message";
    const char *why = decode(&told, &came.m);
    return why == nullptr ? "" : why;
}

static struct message_progress a_progress()
{
    struct message_progress p = {};

    p.done_bytes = 0x0102030405;
    p.total_bytes = 0x0202030405;
    p.repeats = 7;
    p.limit = LIMIT_PATH;
    strcpy(p.name, "a/b");
    return p;
}

static struct summary a_summary()
{
    struct summary s = {};

    s.files = 1, s.failed = 2, s.bytes = 3, s.hole_bytes = 4, s.kept_bytes = 5;
    s.there_files = 6, s.there_bytes = 7, s.start_ns = 1000, s.end_ns = 1008, s.cpu_ns = 9;
    s.stats.tx_units = 10, s.stats.tx_repeats = 11, s.stats.tx_rate_Bps = 12, s.stats.rtt_ns = 13;
    s.stats.unit_bytes = 14;
    for (int i = 0; i < RECORD_HASH_BYTES; i++)
        s.hash[i] = (uint8_t)(0xa0 + i);
    for (int i = 0; i < LIMITS; i++)
        s.limit_ns[i] = (uint64_t)(100 + i);
    strcpy(s.stats.peer, "10.0.0.1:7");
    strcpy(s.peer, "b");
    strcpy(s.stats.tx_why, "loss");
    return s;
}

TEST(MessageReport, Golden)
{
    EXPECT_EQ(hex(encoded(MESSAGE_PROGRESS, progress_data(a_progress()))),
              "534c43500310001c"
              "000000010203040500000002020304050000000000000007"
              "08612f62");
    EXPECT_EQ(hex(encoded(MESSAGE_FILE, file_data("f", 5))), "534c435003110009000000000000000566");
    EXPECT_EQ(hex(encoded(MESSAGE_FAILED, failed_data(RECORD_EXISTS, "f", "no"))),
              "534c435003120006"
              "090001666e6f");
    const std::string summary = hex(encoded(MESSAGE_SUMMARY, summary_data(a_summary())));
    EXPECT_EQ(summary.substr(0, 16 + 16 + 16), "534c4350031300ee00000000000000010000000000000002");
    EXPECT_EQ(summary.substr(16 + 2 * 104, 40), "0000000ea0a1a2a3a4a5a6a7a8a9aaabacadaeaf");
    EXPECT_EQ(summary.substr(summary.size() - 36), "0a31302e302e302e313a370162046c6f7373");
}

TEST(MessageReport, WhatIsToldIsHeard)
{
    struct message_progress p = {};
    struct message_file f = {};
    struct message_failed bad = {};
    struct summary s = {};
    const Came a(MESSAGE_PROGRESS, progress_data(a_progress())),
        b(MESSAGE_FILE, file_data(std::string(5000, 'n'), INT64_MAX)),
        c(MESSAGE_FAILED, failed_data(0, std::string(5000, 'n'), std::string(600, 'c'))),
        d(MESSAGE_SUMMARY, summary_data(a_summary()));

    ASSERT_TRUE(a.accepted && b.accepted && c.accepted && d.accepted);
    ASSERT_EQ(message_progress_decode(&p, &a.m), nullptr);
    EXPECT_EQ(progress_data(p), progress_data(a_progress()));
    ASSERT_EQ(message_file_decode(&f, &b.m), nullptr);
    EXPECT_EQ(f.bytes, (uint64_t)INT64_MAX);
    EXPECT_EQ(f.name, std::string(RECORD_NAME_MAX, 'n'));
    ASSERT_EQ(message_failed_decode(&bad, &c.m), nullptr);
    EXPECT_EQ(bad.code, 0);
    EXPECT_EQ(bad.name, std::string(RECORD_NAME_MAX, 'n'));
    EXPECT_EQ(bad.cause, std::string(RECORD_MESSAGE_MAX, 'c'));
    ASSERT_EQ(message_summary_decode(&s, &d.m), nullptr);
    EXPECT_EQ(s.end_ns - s.start_ns, 8u);
    EXPECT_EQ(summary_data(s), summary_data(a_summary()));
    p.limit = LIMITS;
    const Came unknown(MESSAGE_PROGRESS, progress_data(p));
    ASSERT_EQ(message_progress_decode(&p, &unknown.m), nullptr);
    EXPECT_EQ(p.limit, LIMITS);
}

TEST(MessageReport, Wrong)
{
    const std::string p = progress_data(a_progress()), s = summary_data(a_summary());
    auto with = [](std::string data, size_t at, char byte) { return data.replace(at, 1, 1, byte); };
    auto progress = [](const std::string &data) {
        return fault(MESSAGE_PROGRESS, data, message_progress_decode);
    };
    auto file = [](const std::string &data) {
        return fault(MESSAGE_FILE, data, message_file_decode);
    };
    auto failed = [](const std::string &data) {
        return fault(MESSAGE_FAILED, data, message_failed_decode);
    };
    auto summary = [](const std::string &data) {
        return fault(MESSAGE_SUMMARY, data, message_summary_decode);
    };

    EXPECT_EQ(progress(p), "");
    for (size_t at : {0, 8, 16})
        EXPECT_EQ(progress(with(p, at, (char)0x80)), "a number out of range");
    EXPECT_EQ(progress(with(p, 24, LIMITS)), "unknown limit");
    EXPECT_EQ(progress(with(p, 26, 0)), "a zero byte in a text");
    EXPECT_EQ(progress(p.substr(0, 24)), "no message");
    EXPECT_EQ(progress(p + std::string(253, 'x')), "no message");

    EXPECT_EQ(file(file_data("f", 1)), "");
    EXPECT_EQ(file(with(file_data("f", 1), 0, (char)0xff)), "a number out of range");
    EXPECT_EQ(file(with(file_data("f", 1), 8, 0)), "a zero byte in a text");
    EXPECT_EQ(file(std::string(8, 0)), "no message");

    EXPECT_EQ(failed(failed_data(1, "f", "no")), "");
    EXPECT_EQ(failed(failed_data(RECORD_CODES, "f", "no")), "unknown code");
    EXPECT_EQ(failed(failed_data(1, "", "no")), "length out of range");
    EXPECT_EQ(failed(failed_data(1, "fo", "")), "length out of range");
    EXPECT_EQ(failed(with(failed_data(1, "f", "no"), 1, 1)), "length out of range");
    EXPECT_EQ(failed(with(failed_data(1, "f", "no"), 2, 3)), "length out of range");
    EXPECT_EQ(failed(failed_data(1, "f", std::string(512, 'x')) + "x"), "length out of range");
    EXPECT_EQ(failed(with(failed_data(1, "f", "no"), 3, 0)), "a zero byte in a text");
    EXPECT_EQ(failed(with(failed_data(1, "f", "no"), 4, 0)), "a zero byte in a text");

    EXPECT_EQ(summary(s), "");
    EXPECT_EQ(summary(with(s, 0, (char)0x80)), "a number out of range");
    EXPECT_EQ(summary(with(s, 124, (char)0x80)), "a number out of range");
    EXPECT_EQ(summary(with(s, 105, 16)), "");
    EXPECT_EQ(summary(with(s, 105, 17)), "number of connections out of range");
    EXPECT_EQ(summary(s + "x"), "length out of range");
    EXPECT_EQ(summary(s.substr(0, s.size() - 1)), "length out of range");
    EXPECT_EQ(summary(with(s, s.size() - 1, 0)), "a zero byte in a text");
    EXPECT_EQ(summary(s.substr(0, s.size() - 5) + "\20" + std::string(16, 'w')),
              "length out of range"); /* more than the field holds */
    EXPECT_EQ(summary(std::string(100, 0)), "no message");
}

/* What is accepted would be told with the same bytes. */
template <typename Told>
static void scramble(enum message_type type, const std::string &right,
                     const char *(*decode)(Told *, const struct message *),
                     std::string (*encode)(const Told &))
{
    std::mt19937_64 rng(test_seed());
    int accepted = 0, refused = 0;

    for (int i = 0; i < 20000; i++) {
        std::string data = right;

        for (uint64_t n = 1 + rng() % 3; n > 0; n--)
            data[rng() % data.size()] = (char)rng();
        if (rng() % 4 == 0)
            data.resize(rng() % (data.size() + 3), 'x');
        const Came came(type, data);
        static Told told;
        told = {};
        if (!came.accepted || decode(&told, &came.m) != nullptr) {
            refused++;
            continue;
        }
        accepted++;
        EXPECT_EQ(hex(encode(told)), hex(data));
    }
    EXPECT_GT(accepted, 100);
    EXPECT_GT(refused, 100);
}

TEST(MessageReport, ChangedBytesAreRefusedOrMeanWhatTheySay)
{
    scramble<struct message_progress>(MESSAGE_PROGRESS, progress_data(a_progress()),
                                      message_progress_decode, progress_data);
    scramble<struct message_file>(
        MESSAGE_FILE, file_data("a name", 5), message_file_decode,
        [](const struct message_file &f) { return file_data(f.name, f.bytes); });
    scramble<struct message_failed>(
        MESSAGE_FAILED, failed_data(3, "a name", "a cause"), message_failed_decode,
        [](const struct message_failed &f) { return failed_data(f.code, f.name, f.cause); });
    /* CPU time 0 would be told as that of this process. */
    struct summary s = a_summary();
    s.cpu_ns = 0x0101010101010101;
    scramble<struct summary>(MESSAGE_SUMMARY, summary_data(s), message_summary_decode,
                             summary_data);
}
