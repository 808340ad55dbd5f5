/* SPDX-License-Identifier: BSD-3-Clause */
/* What the receiver tells of its file, and how the sender finds it in its own. */
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <random>
#include <string>
#include <vector>

#include "unit/base/seed.h"
#include "unit/sluice/content.h"
#include "unit/sluice/folder.h"

extern "C" {
#include "sluice/delta/basis.h"
#include "sluice/delta/block_list.h"
#include "sluice/delta/rolling.h"
}

namespace
{

class Delta : public testing::Test
{
  protected:
    ~Delta() override
    {
        block_list_free(&list);
        basis_fini(&basis);
    }
    /* Has the list say what a file of this content has. Returns the number of records. */
    int told(const std::string &name)
    {
        uint8_t data[RECORD_BLOCKS_MAX * RECORD_BLOCK_BYTES], header[RECORD_HEADER_BYTES];
        const char *why = nullptr;
        struct record r, back;
        int records = 0;

        EXPECT_EQ(basis_open(&basis, open(folder.at(name).c_str(), O_RDONLY | O_CLOEXEC), 9), 0);
        while (basis_is_open(&basis)) {
            EXPECT_GT(basis_tell(&basis, &r, data), 0u);
            std::vector<uint8_t> bytes(RECORD_HEADER_BYTES + r.len_bytes);
            record_encode(header, &r);
            memcpy(bytes.data(), header, sizeof header);
            memcpy(bytes.data() + RECORD_HEADER_BYTES, data, r.len_bytes);
            EXPECT_EQ(record_decode(bytes.data(), bytes.size(), &back, &why), 0) << why;
            EXPECT_EQ(back.file, 9u);
            EXPECT_STREQ(block_list_add(&list, &back, data), nullptr);
            EXPECT_EQ(list.whole, !basis_is_open(&basis));
            records++;
        }
        return records;
    }
    const struct block *find(const std::string &block) const
    {
        struct rolling sums;

        rolling_begin(&sums, (const uint8_t *)block.data(), list.block);
        return find(rolling_weak(&sums), (const uint8_t *)block.data());
    }
    const struct block *find(uint64_t weak, const uint8_t *data) const
    {
        bool hashed;

        return block_list_may(&list, weak) ? block_list_find(&list, weak, data, &hashed) : nullptr;
    }
    /* Whether a block has this weak sum. */
    bool has(uint64_t weak) const
    {
        std::vector<uint8_t> data(list.block);
        bool hashed;

        block_list_find(&list, weak, data.data(), &hashed);
        return hashed;
    }
    /* Blocks with these weak sums, and hashes that count from 0. */
    const char *add(uint64_t offset, std::vector<uint64_t> weak, uint16_t flags = 0,
                    uint64_t block = 512, uint64_t seed = 1)
    {
        std::vector<uint8_t> data(weak.size() * RECORD_BLOCK_BYTES);
        struct record r = {};

        r.offset = offset;
        r.size = block;
        r.from = seed;
        r.flags = flags;
        r.len_bytes = (uint32_t)data.size();
        for (size_t i = 0; i < weak.size(); i++) {
            uint8_t *p = &data[i * RECORD_BLOCK_BYTES];
            for (int byte = 0; byte < 5; byte++)
                p[byte] = (uint8_t)(weak[i] >> (32 - 8 * byte));
            p[9] = (uint8_t)(i >> 8);
            p[10] = (uint8_t)i;
        }
        return block_list_add(&list, &r, data.data());
    }

    Folder folder;
    struct basis basis = [] {
        struct basis b;
        basis_init(&b);
        return b;
    }();
    struct block_list list = {};
};

} // namespace

TEST(Rolling, LengthOfABlock)
{
    EXPECT_EQ(rolling_block(0), RECORD_BLOCK_MIN);
    EXPECT_EQ(rolling_block(INT64_MAX), RECORD_BLOCK_MAX);
    for (uint64_t size = 1 << 20; size < 1ull << 40; size *= 3) {
        double best = sqrt((double)size * RECORD_BLOCK_BYTES / 20);

        EXPECT_EQ(rolling_block(size) % RECORD_BLOCK_MIN, 0u);
        EXPECT_GE(rolling_block(size), best - 1) << size;
        EXPECT_LT(rolling_block(size), best + RECORD_BLOCK_MIN) << size;
    }
}

/* Both ends must have the same sums, whatever machine and compiler they have. The content is that
 * of doc/file-protocol.md. */
TEST(Rolling, Golden)
{
    struct rolling sums;
    std::string content;
    uint64_t state = 1;

    for (int i = 0; i < 70001; i++) {
        uint64_t z = state += 0x9e3779b97f4a7c15;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
        z = (z ^ z >> 27) * 0x94d049bb133111eb;
        content += (char)(z ^ z >> 31);
    }
    rolling_begin(&sums, (const uint8_t *)content.data(), 512);
    EXPECT_EQ(rolling_weak(&sums), 57751178700u);
    EXPECT_EQ(rolling_strong((const uint8_t *)content.data(), 512, 7), 51263378125867u);
    rolling_begin(&sums, (const uint8_t *)content.data(), 70001);
    EXPECT_EQ(rolling_weak(&sums), 990301369262u);
}

/* The sums, as rolling.h defines them; and moved on, they are those of the new place. */
TEST(Rolling, MovesAsDefined)
{
    std::mt19937_64 rng(test_seed());

    for (int round = 0; round < 100; round++) {
        uint32_t block = round % 10 == 0 ? 200000 : 1 + (uint32_t)(rng() % 3000);
        std::string content = content_random(rng, block + 50);
        const uint8_t *data = (const uint8_t *)content.data();
        struct rolling sums;

        if (round % 3 == 0)
            content.assign(content.size(), (char)0xff); /* the largest sums */
        rolling_begin(&sums, data, block);
        for (uint32_t at = 0; at < 50; at++) {
            uint64_t a = 0, b = 0;
            for (uint32_t i = 0; i < block; i++) {
                a += data[at + i];
                b += (uint64_t)(block - i) * data[at + i];
            }
            ASSERT_EQ(sums.a, a) << block << " at " << at;
            ASSERT_EQ(sums.b, b) << block << " at " << at;
            EXPECT_LE(rolling_weak(&sums), ROLLING_MASK);
            rolling_move(&sums, block, data[at], data[at + block]);
        }
    }
}

TEST_F(Delta, AllBlocksOfAFileAreFound)
{
    std::mt19937_64 rng(test_seed());

    for (int round = 0; round < 8; round++) {
        std::string content = content_random(rng, 1 + rng() % (12u << 20));
        uint64_t at, block;

        folder.write("f", content);
        block_list_free(&list);
        told("f");
        block = list.block;
        ASSERT_EQ(block, rolling_block(content.size()));
        ASSERT_EQ(list.n, content.size() / block);
        for (at = 0; at + block <= content.size(); at += block) {
            const struct block *b = find(content.substr(at, block));
            ASSERT_NE(b, nullptr) << at << " of " << content.size();
            EXPECT_EQ(b->from, at);
            EXPECT_EQ(block_list_at(&list, at), b);
        }
        if (list.n == 0)
            continue;
        EXPECT_EQ(block_list_at(&list, at), nullptr);
        EXPECT_EQ(block_list_at(&list, 1), nullptr);
        /* no block, at any place but those of the blocks, seems to be one */
        struct rolling sums;
        uint64_t filtered = 0, looked = std::min<uint64_t>(content.size() - block, 200000);
        const uint8_t *data = (const uint8_t *)content.data();
        rolling_begin(&sums, data, (uint32_t)block);
        for (at = 0; at < looked; at++) {
            uint64_t weak = rolling_weak(&sums);
            filtered += !block_list_may(&list, weak);
            EXPECT_EQ(find(weak, data + at) != nullptr, at % block == 0) << at;
            rolling_move(&sums, (uint32_t)block, data[at], data[at + block]);
        }
        EXPECT_GE(filtered, looked - looked / 20 - 100) << "the filter spares most look-ups";
    }
}

/* Blocks that lie in a hole are not told; one that is in part in a hole is. */
TEST_F(Delta, HolesAreNotTold)
{
    std::mt19937_64 rng(test_seed());
    const uint64_t far = 4097 * 4096;
    std::string end = content_random(rng, 50000), content;
    int fd = open(folder.at("f").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    ASSERT_EQ(pwrite(fd, end.data(), end.size(), far), (ssize_t)end.size());
    ASSERT_EQ(ftruncate(fd, 1 << 30), 0);
    close(fd);
    EXPECT_LE(told("f"), 3);
    content = std::string(far, 0) + end + std::string(100000, 0);
    EXPECT_EQ(list.block, rolling_block(1 << 30));
    ASSERT_GE(list.n, 1u);
    ASSERT_LE(list.n, 5u);
    for (uint32_t i = 0; i < list.n; i++)
        EXPECT_EQ(find(content.substr(list.blocks[i].from, list.block)), &list.blocks[i]);
    EXPECT_LE(list.blocks[0].from, far);
    EXPECT_GT(list.blocks[0].from + list.block, far);
}

TEST_F(Delta, AFileThatShrinksIsToldAsFarAsItGoes)
{
    std::mt19937_64 rng(test_seed());
    uint8_t data[RECORD_BLOCKS_MAX * RECORD_BLOCK_BYTES];
    struct record r;

    folder.write("f", content_random(rng, 1u << 20));
    int fd = open(folder.at("f").c_str(), O_RDONLY | O_CLOEXEC);
    ASSERT_EQ(basis_open(&basis, fd, 1), 0);
    ASSERT_EQ(truncate(folder.at("f").c_str(), 100), 0);
    basis_tell(&basis, &r, data);
    EXPECT_EQ(r.flags, RECORD_LAST);
    EXPECT_EQ(r.len_bytes, 0u);
    EXPECT_FALSE(basis_is_open(&basis));
}

/* A program has punched a hole where the receiver saw data: a hole behind a hole. What is told must
 * be a record. */
TEST_F(Delta, AHoleThatGrowsMeanwhileIsPassedOver)
{
    uint8_t data[RECORD_BLOCKS_MAX * RECORD_BLOCK_BYTES], header[RECORD_HEADER_BYTES];
    struct record r, again;
    const char *why;

    folder.write("f", "");
    int fd = open(folder.at("f").c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_EQ(ftruncate(fd, 2u << 20), 0);
    ASSERT_EQ(pwrite(fd, "x", 1, (2u << 20) - 1), 1);
    ASSERT_EQ(basis_open(&basis, fd, 1), 0);
    if (!basis.sparse)
        GTEST_SKIP() << "no holes here";
    basis.extent = {.offset = 0, .len = 2 * basis.block, .hole = true};
    basis_tell(&basis, &r, data);
    record_encode(header, &r);
    std::vector<uint8_t> bytes(header, header + sizeof header);
    bytes.insert(bytes.end(), data, data + r.len_bytes);
    EXPECT_EQ(record_decode(bytes.data(), bytes.size(), &again, &why), 0) << why;
}

TEST_F(Delta, TwoListsHaveTwoSeeds)
{
    folder.write("f", std::string(5000, 'x'));
    told("f");
    uint64_t seed = list.seed;
    EXPECT_EQ(find(std::string(512, 'x'))->from, 0u) << "of equal blocks the first one";
    block_list_free(&list);
    told("f");
    EXPECT_NE(list.seed, seed);
}

TEST_F(Delta, ListsThatAreWrong)
{
    EXPECT_EQ(add(0, {600, 2048}), nullptr);
    EXPECT_STREQ(add(1023, {600}), "blocks out of order");
    EXPECT_STREQ(add(1024, {600}, 0, 1024), "blocks of two kinds");
    EXPECT_STREQ(add(1024, {600}, 0, 512, 2), "blocks of two kinds");
    EXPECT_STREQ(add(INT64_MAX - 511, {600}), "too many blocks");
    EXPECT_EQ(add(INT64_MAX - 512, {600}, RECORD_LAST), nullptr);
    EXPECT_EQ(list.n, 3u);
    EXPECT_STREQ(add(INT64_MAX, {}), "blocks behind the last ones");
    block_list_free(&list);
    for (uint64_t n = 0; n < RECORD_LIST_MAX; n += RECORD_BLOCKS_MAX) {
        std::vector<uint64_t> weak(RECORD_BLOCKS_MAX);
        for (size_t i = 0; i < weak.size(); i++)
            weak[i] = (n + i) * 12345;
        ASSERT_EQ(add(n * 512, weak), nullptr);
    }
    EXPECT_STREQ(add(RECORD_LIST_MAX * 512ull, {1}), "too many blocks");
}

/* A receiver that tells a million blocks of one weak sum does not have us look through them. */
TEST_F(Delta, TwinsAreFew)
{
    for (uint64_t n = 0; n < 64; n++)
        ASSERT_EQ(add(n * 512 * RECORD_BLOCKS_MAX, std::vector<uint64_t>(RECORD_BLOCKS_MAX, 77)),
                  nullptr);
    uint64_t places = 0;
    for (uint32_t i = 0; i < 1u << list.bits; i++)
        places += list.table[i] != 0;
    EXPECT_LE(places, 16u);
    EXPECT_GE(places, 2u);
    EXPECT_TRUE(has(77));
    EXPECT_FALSE(has(78));
}
