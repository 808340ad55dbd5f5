/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of the file protocol: golden bytes (the same as in doc/file-protocol.md), round trips,
 * and the records that are refused. */
#include <cstring>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "bytes.hh"
#include "unit/base/seed.h"

extern "C" {
#include "sluice/files/record.h"
}

static std::string hex(const uint8_t *bytes, size_t len)
{
    return to_hex(Bytes(bytes, bytes + len));
}

static std::string encoded(const struct record &r)
{
    uint8_t header[RECORD_HEADER_BYTES];

    record_encode(header, &r);
    return hex(header, sizeof header);
}

static struct record offer()
{
    struct record r = {};

    r.type = RECORD_OFFER;
    r.len_bytes = 9;
    r.mode = 0640;
    r.file = 3;
    r.size = 0x0102030405;
    r.mtime_s = -2;
    r.mtime_ns = 999999999;
    return r;
}

static struct record end_file()
{
    struct record r = {};

    r.type = RECORD_END_FILE;
    r.file = 3;
    r.size = 7;
    for (int i = 0; i < RECORD_HASH_BYTES; i++)
        r.hash[i] = (uint8_t)(0xa0 + i);
    return r;
}

TEST(Record, Golden)
{
    struct record r = offer();

    EXPECT_EQ(encoded(r), "534c55460201000000000009000001a0"
                          "00000000000000030000000000000000"
                          "0000000102030405fffffffffffffffe"
                          "3b9ac9ff000000000000000000000000");
    r = {};
    r.type = RECORD_DATA;
    r.len_bytes = RECORD_DATA_MAX;
    r.file = 3;
    r.offset = 0x400000;
    EXPECT_EQ(encoded(r), "534c5546020200000040000000000000"
                          "00000000000000030000000000400000"
                          "00000000000000000000000000000000"
                          "00000000000000000000000000000000");
    r = {};
    r.type = RECORD_HOLE;
    r.file = 3;
    r.offset = 0x800000;
    r.size = RECORD_HOLE_MAX;
    EXPECT_EQ(encoded(r), "534c5546020300000000000000000000"
                          "00000000000000030000000000800000"
                          "00000000040000000000000000000000"
                          "00000000000000000000000000000000");
    EXPECT_EQ(encoded(end_file()), "534c5546020400000000000000000000"
                                   "00000000000000030000000000000000"
                                   "0000000000000007a0a1a2a3a4a5a6a7"
                                   "a8a9aaabacadaeaf0000000000000000");
    r = {};
    r.type = RECORD_RESULT;
    r.len_bytes = 5;
    r.mode = RECORD_NO_SPACE;
    r.file = 3;
    EXPECT_EQ(encoded(r), "534c5546020800000000000500000004"
                          "00000000000000030000000000000000"
                          "00000000000000000000000000000000"
                          "00000000000000000000000000000000");
    r = {};
    r.type = RECORD_END_ALL;
    r.size = 3;
    EXPECT_EQ(encoded(r), "534c5546020700000000000000000000"
                          "00000000000000000000000000000000"
                          "00000000000000030000000000000000"
                          "00000000000000000000000000000000");
    r = end_file();
    r.type = RECORD_TOKEN;
    r.file = r.size = 0;
    EXPECT_EQ(encoded(r), "534c5546020900000000000000000000"
                          "00000000000000000000000000000000"
                          "0000000000000000a0a1a2a3a4a5a6a7"
                          "a8a9aaabacadaeaf0000000000000000");
}

TEST(Record, GoldenOfStreams)
{
    struct record r = end_file();
    uint8_t header[RECORD_HEADER_BYTES];

    r.type = RECORD_STREAMS;
    r.size = 16;
    EXPECT_EQ(encoded(r), "534c5546021500000000000000000000"
                          "00000000000000000000000000000000"
                          "0000000000000010a0a1a2a3a4a5a6a7"
                          "a8a9aaabacadaeaf0000000000000000");
    r.type = RECORD_JOIN;
    r.size = 2;
    EXPECT_EQ(encoded(r), "534c5546021600000000000000000000"
                          "00000000000000000000000000000000"
                          "0000000000000002a0a1a2a3a4a5a6a7"
                          "a8a9aaabacadaeaf0000000000000000");
    r = {};
    r.type = RECORD_END_ALL;
    record_encode(header, &r);
    record_number(header, 0x0102030405060708);
    EXPECT_EQ(hex(header, sizeof header), "534c5546020700000000000000000000"
                                          "00000000000000000000000000000000"
                                          "00000000000000000000000000000000"
                                          "00000000000000000102030405060708");
    EXPECT_EQ(record_number_of(header, sizeof header), 0x0102030405060708u);
    EXPECT_EQ(record_number_of(header, sizeof header - 1), 0u);
}

TEST(Record, GoldenOfResuming)
{
    struct record r = {};

    r.type = RECORD_ANSWER;
    r.file = 3;
    r.size = 2 * RECORD_CHUNK_BYTES;
    EXPECT_EQ(encoded(r), "534c5546020b00000000000000000000"
                          "00000000000000030000000000000000"
                          "00000000002000000000000000000000"
                          "00000000000000000000000000000000");
    r = {};
    r.type = RECORD_HAVE;
    r.file = 3;
    r.flags = RECORD_LAST;
    r.len_bytes = 2 * RECORD_HASH_BYTES;
    r.offset = RECORD_CHUNK_BYTES;
    EXPECT_EQ(encoded(r), "534c5546020c00010000002000000000"
                          "00000000000000030000000000100000"
                          "00000000000000000000000000000000"
                          "00000000000000000000000000000000");
    r = {};
    r.type = RECORD_KEEP;
    r.file = 3;
    r.offset = RECORD_CHUNK_BYTES;
    r.size = RECORD_CHUNK_BYTES;
    EXPECT_EQ(encoded(r), "534c5546020d00000000000000000000"
                          "00000000000000030000000000100000"
                          "00000000001000000000000000000000"
                          "00000000000000000000000000000000");
}

TEST(Record, GoldenOfASync)
{
    struct record r = {};

    r.type = RECORD_LINK;
    r.file = 3;
    r.len_bytes = 7;
    r.mtime_s = -2;
    r.mtime_ns = 999999999;
    EXPECT_EQ(encoded(r), "534c5546020e00000000000700000000"
                          "00000000000000030000000000000000"
                          "0000000000000000fffffffffffffffe"
                          "3b9ac9ff000000000000000000000000");
    r = {};
    r.type = RECORD_NAME;
    r.len_bytes = 9;
    EXPECT_EQ(encoded(r), "534c5546020f00000000000900000000"
                          "00000000000000000000000000000000"
                          "00000000000000000000000000000000"
                          "00000000000000000000000000000000");
    r.flags = RECORD_BEGIN;
    EXPECT_EQ(encoded(r), "534c5546020f00010000000900000000"
                          "00000000000000000000000000000000"
                          "00000000000000000000000000000000"
                          "00000000000000000000000000000000");
    r = {};
    r.type = RECORD_NAMED;
    r.flags = RECORD_UNREAD;
    EXPECT_EQ(encoded(r), "534c5546021400010000000000000000"
                          "00000000000000000000000000000000"
                          "00000000000000000000000000000000"
                          "00000000000000000000000000000000");
    r = {};
    r.type = RECORD_DIR;
    r.file = 3;
    r.flags = RECORD_BEGIN;
    r.len_bytes = 1;
    r.mode = 0755;
    EXPECT_EQ(encoded(r), "534c55460206000100000001000001ed"
                          "00000000000000030000000000000000"
                          "00000000000000000000000000000000"
                          "00000000000000000000000000000000");
    r = {};
    r.type = RECORD_ATTR;
    r.flags = RECORD_ALL_XATTRS;
    r.len_bytes = 31;
    EXPECT_EQ(encoded(r), "534c5546021200020000001f00000000"
                          "00000000000000000000000000000000"
                          "00000000000000000000000000000000"
                          "00000000000000000000000000000000");
    r = offer();
    r.type = RECORD_HARD;
    r.offset = 2;
    EXPECT_EQ(encoded(r), "534c55460213000000000009000001a0"
                          "00000000000000030000000000000002"
                          "0000000102030405fffffffffffffffe"
                          "3b9ac9ff000000000000000000000000");
}

TEST(Record, GoldenOfBlocks)
{
    struct record r = {};

    r.type = RECORD_BLOCKS;
    r.file = 3;
    r.flags = RECORD_LAST;
    r.len_bytes = 2 * RECORD_BLOCK_BYTES;
    r.offset = 31 * 33792;
    r.size = 33792;
    r.from = 0xa0a1a2a3a4a5a6a7;
    EXPECT_EQ(encoded(r), "534c5546021000010000001600000000"
                          "000000000000000300000000000ffc00"
                          "0000000000008400a0a1a2a3a4a5a6a7"
                          "00000000000000000000000000000000");
    r = {};
    r.type = RECORD_COPY;
    r.file = 3;
    r.offset = 0x100003;
    r.size = 70000;
    r.from = 0x100000;
    EXPECT_EQ(encoded(r), "534c5546021100000000000000000000"
                          "00000000000000030000000000100003"
                          "00000000000111700000000000100000"
                          "00000000000000000000000000000000");
}

/* Decodes a header, followed by as many bytes of data as it states. */
static int decoded(const uint8_t *header, struct record *r, const char **why)
{
    static uint8_t request[RECORD_REQUEST_MAX];

    memcpy(request, header, RECORD_HEADER_BYTES);
    return record_decode(request, sizeof request, r, why);
}

static bool has_file(const struct record &r)
{
    return r.type != RECORD_END_ALL && r.type != RECORD_TOKEN && r.type != RECORD_NAME &&
           r.type != RECORD_NAMED && r.type != RECORD_ATTR && r.type != RECORD_STREAMS &&
           r.type != RECORD_JOIN;
}

/* Whether it may begin a request that has a number. */
static bool has_number(const struct record &r)
{
    return r.type != RECORD_RESULT && r.type != RECORD_ANSWER && r.type != RECORD_HAVE &&
           r.type != RECORD_BLOCKS && r.type != RECORD_JOIN;
}

/* What a HAVE or KEEP says. */
static void random_chunks(struct record &r, std::mt19937_64 &rng)
{
    r.offset = (rng() >> 2) / RECORD_CHUNK_BYTES * RECORD_CHUNK_BYTES;
    if (r.type == RECORD_KEEP) {
        r.size = (1 + rng() % RECORD_HASHES_MAX) * RECORD_CHUNK_BYTES;
        return;
    }
    r.flags = (uint16_t)(rng() % 2);
    r.len_bytes = (uint32_t)(rng() % (RECORD_HASHES_MAX + 1)) * RECORD_HASH_BYTES;
}

/* What a BLOCKS or COPY says. */
static void random_blocks(struct record &r, std::mt19937_64 &rng)
{
    r.offset = rng() >> 2;
    r.from = r.type == RECORD_COPY ? rng() >> 2 : rng();
    if (r.type == RECORD_COPY) {
        r.size = 1 + rng() % RECORD_COPY_MAX;
        return;
    }
    r.size = RECORD_BLOCK_MIN * (1 + rng() % (RECORD_BLOCK_MAX / RECORD_BLOCK_MIN));
    r.offset -= r.offset % r.size;
    r.flags = (uint16_t)(rng() % 2);
    r.len_bytes = (uint32_t)(!r.flags + rng() % RECORD_BLOCKS_MAX) * RECORD_BLOCK_BYTES;
}

/* What an OFFER, ASK or DIR says. */
static void random_named(struct record &r, std::mt19937_64 &rng)
{
    const uint16_t offer[] = {0, RECORD_SIZE_UNKNOWN, RECORD_RESUME, RECORD_COPIES,
                              RECORD_RESUME | RECORD_COPIES};
    const uint16_t solid = rng() % 2 ? RECORD_SOLID : 0;

    r.flags = r.type == RECORD_OFFER ? offer[rng() % 5] : (uint16_t)(rng() % 2);
    if (r.type == RECORD_OFFER && r.flags != RECORD_SIZE_UNKNOWN)
        r.flags |= solid;
    if (r.type != RECORD_DIR && !(r.type == RECORD_OFFER && r.flags == RECORD_SIZE_UNKNOWN))
        r.size = rng() >> 2;
    r.len_bytes = 1 + (uint32_t)(rng() % RECORD_NAME_MAX);
    if (r.type == RECORD_ASK && r.flags == RECORD_HASHED)
        r.len_bytes += RECORD_HASH_BYTES;
    r.mode = rng() % 010000;
    r.mtime_s = (int64_t)rng();
    r.mtime_ns = (uint32_t)(rng() % 1000000000);
}

/* What only a sync has. */
static void random_of_sync(struct record &r, std::mt19937_64 &rng)
{
    if (r.type == RECORD_ATTR) {
        r.flags = (uint16_t)(rng() % 4);
        r.len_bytes = (uint32_t)(rng() % (RECORD_ATTR_MAX + 1));
        return;
    }
    r.len_bytes = 1 + (uint32_t)(rng() % RECORD_NAME_MAX);
    if (r.type == RECORD_NAME) {
        r.flags = (uint16_t)(rng() % 2);
        return;
    }
    r.mtime_s = (int64_t)rng();
    r.mtime_ns = (uint32_t)(rng() % 1000000000);
    if (r.type == RECORD_LINK) {
        r.len_bytes = 3 + (uint32_t)(rng() % (RECORD_LINK_MAX - 2));
        return;
    }
    r.mode = rng() % 010000;
    r.size = rng() >> 2;
    r.offset = 1 + (rng() >> 2);
}

static struct record random_record(std::mt19937_64 &rng)
{
    struct record r = {};

    r.type = (uint8_t)(RECORD_OFFER + rng() % (RECORD_TYPES - RECORD_OFFER));
    if (has_file(r))
        r.file = 1 + rng();
    if (has_number(r) && rng() % 2 == 0)
        r.request = rng();
    switch (r.type) {
    case RECORD_OFFER:
    case RECORD_ASK:
    case RECORD_DIR:
        random_named(r, rng);
        break;
    case RECORD_DATA:
        r.len_bytes = 1 + (uint32_t)(rng() % RECORD_DATA_MAX);
        r.offset = rng() >> 2;
        break;
    case RECORD_HOLE:
        r.offset = rng() >> 2;
        r.size = 1 + rng() % RECORD_HOLE_MAX;
        break;
    case RECORD_ANSWER:
        r.flags = (uint16_t)(rng() % 3);
        r.size = rng() >> 1;
        break;
    case RECORD_HAVE:
    case RECORD_KEEP:
        random_chunks(r, rng);
        break;
    case RECORD_BLOCKS:
    case RECORD_COPY:
        random_blocks(r, rng);
        break;
    case RECORD_END_FILE:
        for (uint8_t &b : r.hash)
            b = (uint8_t)rng();
        r.size = rng() >> 1;
        break;
    case RECORD_NAMED:
        r.flags = (uint16_t)(rng() % 2);
        break;
    case RECORD_LINK:
    case RECORD_NAME:
    case RECORD_ATTR:
    case RECORD_HARD:
        random_of_sync(r, rng);
        break;
    case RECORD_END_ALL:
        r.flags = (uint16_t)(rng() % 2);
        r.size = rng() >> 1;
        break;
    case RECORD_STREAMS:
    case RECORD_JOIN:
        r.size = 2 + rng() % (RECORD_STREAMS_MAX - 1);
        [[fallthrough]];
    case RECORD_TOKEN:
        for (uint8_t &b : r.hash)
            b = (uint8_t)rng();
        break;
    case RECORD_RESULT:
        r.mode = rng() % RECORD_CODES;
        r.len_bytes = (uint32_t)(rng() % (RECORD_MESSAGE_MAX + 1));
        r.size = rng() >> 1;
        break;
    }
    return r;
}

TEST(Record, RoundTrip)
{
    std::mt19937_64 rng(test_seed());

    for (int i = 0; i < 2000; i++) {
        struct record r = random_record(rng), back;
        uint8_t header[RECORD_HEADER_BYTES];
        const char *why;

        if (r.file == 0 && has_file(r))
            r.file = 1;
        record_encode(header, &r);
        ASSERT_EQ(decoded(header, &back, &why), 0) << why << " type " << (int)r.type;
        EXPECT_EQ(why, nullptr);
        EXPECT_EQ(encoded(back), encoded(r));
        EXPECT_EQ(back.len_bytes, r.len_bytes);
        EXPECT_EQ(back.file, r.file);
        EXPECT_EQ(back.offset, r.offset);
        EXPECT_EQ(back.size, r.size);
        EXPECT_EQ(back.mode, r.mode);
        EXPECT_EQ(back.mtime_s, r.mtime_s);
        EXPECT_EQ(back.request, r.request);
        EXPECT_EQ(record_number_of(header, sizeof header), r.request);
        EXPECT_EQ(memcmp(back.hash, r.hash, sizeof r.hash), 0);
    }
}

/* Only records that could have been made are accepted: encoding them again gives the same bytes. */
TEST(Record, ChangedBytesAreRefusedOrMeanWhatTheySay)
{
    std::mt19937_64 rng(test_seed());
    int accepted = 0, refused = 0;

    for (int i = 0; i < 20000; i++) {
        struct record r = random_record(rng), back;
        uint8_t header[RECORD_HEADER_BYTES], again[RECORD_HEADER_BYTES];
        const char *why;

        record_encode(header, &r);
        for (uint64_t n = 1 + rng() % 3; n > 0; n--)
            header[rng() % sizeof header] = (uint8_t)rng();
        if (decoded(header, &back, &why) < 0) {
            EXPECT_NE(why, nullptr);
            refused++;
            continue;
        }
        accepted++;
        record_encode(again, &back);
        ASSERT_EQ(hex(again, sizeof again), hex(header, sizeof header));
    }
    EXPECT_GT(accepted, 100);
    EXPECT_GT(refused, 100);
}

static void expect_refused(const struct record &r, const char *expected)
{
    uint8_t header[RECORD_HEADER_BYTES];
    struct record back;
    const char *why = nullptr;

    record_encode(header, &r);
    EXPECT_LT(decoded(header, &back, &why), 0) << expected;
    EXPECT_STREQ(why, expected);
}

TEST(Record, LimitsOfStreams)
{
    const char *const range = "number of connections out of range";
    struct record r = end_file();

    r.type = RECORD_STREAMS;
    for (uint64_t n : {0u, RECORD_STREAMS_MAX + 1}) {
        r.size = n;
        expect_refused(r, range);
    }
    r.type = RECORD_JOIN;
    for (uint64_t n : {0u, 1u, RECORD_STREAMS_MAX + 1}) {
        r.size = n;
        expect_refused(r, range);
    }
    for (uint8_t type : {RECORD_JOIN, RECORD_RESULT, RECORD_ANSWER}) {
        uint8_t header[RECORD_HEADER_BYTES];
        const char *why = nullptr;
        struct record back;

        r = {};
        r.type = type;
        r.file = type != RECORD_JOIN;
        r.size = 2;
        record_encode(header, &r);
        record_number(header, 1);
        EXPECT_LT(decoded(header, &back, &why), 0);
        EXPECT_STREQ(why, "an unused field is not zero");
    }
}

TEST(Record, Limits)
{
    struct record r = offer();

    r.len_bytes = 0;
    expect_refused(r, "length out of range");
    r.len_bytes = RECORD_NAME_MAX + 1;
    expect_refused(r, "length out of range");
    r = offer();
    r.file = 0;
    expect_refused(r, "no file number");
    r = offer();
    r.flags = 16;
    expect_refused(r, "unknown flag");
    r = offer();
    r.flags = RECORD_SIZE_UNKNOWN;
    expect_refused(r, "size both known and unknown");
    r.size = 0;
    for (uint16_t flag : {RECORD_RESUME, RECORD_COPIES, RECORD_SOLID}) {
        r.flags = RECORD_SIZE_UNKNOWN | flag;
        expect_refused(r, "size both known and unknown");
    }
    r = offer();
    r.mode = 010000;
    expect_refused(r, "mode out of range");
    r = offer();
    r.mtime_ns = 1000000000;
    expect_refused(r, "time out of range");
    r = offer();
    r.size = (uint64_t)INT64_MAX + 1;
    expect_refused(r, "size out of range");
    r = {};
    r.type = RECORD_DATA;
    r.file = 1;
    r.len_bytes = 8;
    r.offset = INT64_MAX - 7;
    expect_refused(r, "end out of range");
    r.offset = INT64_MAX - 8;
    r.len_bytes = RECORD_DATA_MAX + 1;
    expect_refused(r, "length out of range");
    r = {};
    r.type = RECORD_HOLE;
    r.file = 1;
    expect_refused(r, "hole out of range");
    r.size = RECORD_HOLE_MAX + 1;
    expect_refused(r, "hole out of range");
    r = {};
    r.type = RECORD_RESULT;
    r.file = 1;
    r.mode = RECORD_CODES;
    expect_refused(r, "unknown result");
    r.mode = RECORD_IO;
    r.len_bytes = RECORD_MESSAGE_MAX + 1;
    expect_refused(r, "length out of range");
}

TEST(Record, LimitsOfChunks)
{
    struct record r = {};

    r.type = RECORD_KEEP;
    r.file = 1;
    expect_refused(r, "no whole number of chunks");
    r.size = RECORD_CHUNK_BYTES + 1;
    expect_refused(r, "no whole number of chunks");
    r.size = (RECORD_HASHES_MAX + 1) * RECORD_CHUNK_BYTES;
    expect_refused(r, "no whole number of chunks");
    r.size = RECORD_CHUNK_BYTES;
    r.offset = RECORD_CHUNK_BYTES - 1;
    expect_refused(r, "a chunk out of place");
    r.offset = (uint64_t)INT64_MAX + 1 - RECORD_CHUNK_BYTES;
    expect_refused(r, "end out of range");
    r = {};
    r.type = RECORD_HAVE;
    r.file = 1;
    r.len_bytes = RECORD_HASH_BYTES - 1;
    expect_refused(r, "half a hash");
    r.len_bytes = (RECORD_HASHES_MAX + 1) * RECORD_HASH_BYTES;
    expect_refused(r, "length out of range");
    r.len_bytes = 0;
    r.flags = 2;
    expect_refused(r, "unknown flag");
    r.flags = 0;
    r.offset = (uint64_t)INT64_MAX + 1 - RECORD_CHUNK_BYTES;
    expect_refused(r, "end out of range");
}

TEST(Record, LimitsOfBlocks)
{
    struct record r = {};

    r.type = RECORD_COPY;
    r.file = 1;
    expect_refused(r, "copy out of range");
    r.size = RECORD_COPY_MAX + 1;
    expect_refused(r, "copy out of range");
    r.size = 1;
    r.from = INT64_MAX;
    expect_refused(r, "end out of range");
    r.from = UINT64_MAX;
    expect_refused(r, "end out of range");
    r.from = 0;
    r.offset = INT64_MAX;
    expect_refused(r, "end out of range");
    r = {};
    r.type = RECORD_BLOCKS;
    r.file = 1;
    r.size = RECORD_BLOCK_MIN;
    expect_refused(r, "no blocks");
    r.len_bytes = RECORD_BLOCK_BYTES + 1;
    expect_refused(r, "half a block");
    r.len_bytes = (RECORD_BLOCKS_MAX + 1) * RECORD_BLOCK_BYTES;
    expect_refused(r, "length out of range");
    r.len_bytes = RECORD_BLOCK_BYTES;
    for (uint64_t size :
         {RECORD_BLOCK_MIN / 2, RECORD_BLOCK_MIN + 1, RECORD_BLOCK_MAX + RECORD_BLOCK_MIN}) {
        r.size = size;
        expect_refused(r, "length of blocks out of range");
    }
    r.size = RECORD_BLOCK_MIN;
    r.offset = RECORD_BLOCK_MIN - 1;
    expect_refused(r, "a block out of place");
    r = {};
    r.type = RECORD_ANSWER;
    r.file = 1;
    r.flags = RECORD_WHOLE | RECORD_LISTED;
    expect_refused(r, "a list of a file that is whole");
}

TEST(Record, LimitsOfASync)
{
    struct record r = {};

    r.type = RECORD_ASK;
    r.file = 1;
    r.len_bytes = RECORD_NAME_MAX + 1;
    expect_refused(r, "length out of range");
    r.flags = RECORD_HASHED;
    r.len_bytes = RECORD_HASH_BYTES;
    expect_refused(r, "length out of range");
    r.len_bytes = RECORD_NAME_MAX + RECORD_HASH_BYTES + 1;
    expect_refused(r, "length out of range");
    r.flags = 2;
    r.len_bytes = 1;
    expect_refused(r, "unknown flag");
    r.type = RECORD_DIR;
    expect_refused(r, "unknown flag");
    r.flags = 0;
    r.type = RECORD_LINK;
    for (uint32_t len : {2u, (uint32_t)RECORD_LINK_MAX + 1}) {
        r.len_bytes = len;
        expect_refused(r, "length out of range");
    }
    r = {};
    r.type = RECORD_NAME;
    expect_refused(r, "length out of range");
    r.len_bytes = 1;
    r.flags = 2;
    expect_refused(r, "unknown flag");
    r = {};
    r.type = RECORD_NAMED;
    r.flags = 2;
    expect_refused(r, "unknown flag");
    r.flags = 0;
    r.len_bytes = 1;
    expect_refused(r, "length out of range");
    r.len_bytes = 0;
    r.type = RECORD_END_ALL;
    r.flags = 2;
    expect_refused(r, "unknown flag");
    r = {};
    r.type = RECORD_ATTR;
    r.flags = 4;
    expect_refused(r, "unknown flag");
    r.flags = 0;
    r.len_bytes = RECORD_ATTR_MAX + 1;
    expect_refused(r, "length out of range");
    r = offer();
    r.type = RECORD_HARD;
    expect_refused(r, "no number of a link");
}

TEST(Record, LengthsBeforeFields)
{
    struct record r = offer(), back;
    uint8_t bytes[RECORD_HEADER_BYTES + 9] = {};
    const char *why;

    record_encode(bytes, &r);
    EXPECT_EQ(record_decode(bytes, sizeof bytes, &back, &why), 0);
    for (size_t len = 0; len < sizeof bytes; len++) {
        /* The copy has exactly that size, so that sanitizers see each access beyond it. */
        std::string copy((const char *)bytes, len);

        EXPECT_LT(record_decode((const uint8_t *)copy.data(), len, &back, &why), 0) << len;
        EXPECT_STREQ(why, len < RECORD_HEADER_BYTES ? "shorter than a header"
                                                    : "longer than its request");
    }
}

TEST(Record, OthersProtocols)
{
    struct record r = offer(), back;
    uint8_t header[RECORD_HEADER_BYTES];
    const char *why;

    record_encode(header, &r);
    header[0] ^= 1;
    EXPECT_LT(decoded(header, &back, &why), 0);
    EXPECT_STREQ(why, "not sluice's file protocol");
    header[0] ^= 1;
    header[4] = RECORD_VERSION + 1;
    EXPECT_LT(decoded(header, &back, &why), 0);
    EXPECT_STREQ(why, "another version of the file protocol");
    header[4] = RECORD_VERSION;
    header[5] = 0;
    EXPECT_LT(decoded(header, &back, &why), 0);
    header[5] = RECORD_TYPES;
    EXPECT_LT(decoded(header, &back, &why), 0);
    EXPECT_STREQ(why, "unknown type");
}

/* A field that the type does not have must be zero. */
TEST(Record, UnusedFieldsAreZero)
{
    struct record r = end_file(), back;
    uint8_t header[RECORD_HEADER_BYTES];
    const char *why;
    /* flags, mode, offset */
    const size_t unused[] = {6, 7, 14, 15, 24, 31};

    for (size_t at : unused) {
        record_encode(header, &r);
        header[at] = 1;
        EXPECT_LT(decoded(header, &back, &why), 0) << at;
    }
}

TEST(Record, EveryCodeHasCauseAndCure)
{
    for (uint32_t c = 0; c < RECORD_CODES; c++) {
        EXPECT_GT(strlen(record_code_cause(c)), 3u);
        EXPECT_GT(strlen(record_code_cure(c)), 3u);
    }
    EXPECT_STREQ(record_code_cause(RECORD_CODES), "unknown result");
}
