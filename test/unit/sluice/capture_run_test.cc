/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames of several rings, on their way to the file of a capture. */
#include <cstring>
#include <initializer_list>
#include <memory>
#include <vector>

#include "unit/sluice/folder.h"

extern "C" {
#include "sluice/capture/capture_run.h"
}

namespace
{

class CaptureRun : public testing::Test
{
  protected:
    void SetUp() override
    {
        ASSERT_EQ(capture_file_open(&c->file, folder.at("x").c_str(), false), 0);
        c->n_ports = 2;
        c->count_max = UINT64_MAX;
    }
    /* Adds a ring that holds frames of these times. */
    void ring(std::initializer_list<uint64_t> times_ns)
    {
        struct capture_reader *r = &c->readers[c->n_readers];

        rings.emplace_back(CAPTURE_RING_MIN);
        capture_reader_init(r, rings.back().data(), CAPTURE_RING_MIN);
        for (uint64_t t : times_ns)
            write(c->n_readers, t);
        c->n_readers++;
    }
    void write(uint32_t i, uint64_t time_ns)
    {
        struct capture_reader *r = &c->readers[i];
        capture_block b = {CAPTURE_PACKET,    32, i, (uint32_t)(time_ns >> 32),
                           (uint32_t)time_ns, 0,  0};
        uint8_t *at = (uint8_t *)r->ring + sizeof *r->ring + r->ring->tail;

        memcpy(at, &b, sizeof b);
        memcpy(at + 28, &b.len_bytes, 4);
        r->ring->tail += 32;
    }
    /* The times of the frames in the file. */
    std::vector<uint64_t> times()
    {
        std::vector<uint64_t> found;

        EXPECT_EQ(capture_file_flush(&c->file), 0);
        std::string file = folder.read("x");
        for (size_t at = 0; at < file.size(); at += 32) {
            capture_block b;

            memcpy(&b, file.data() + at, sizeof b);
            found.push_back(capture_block_time_ns(&b));
        }
        return found;
    }
    void TearDown() override
    {
        capture_file_close(&c->file);
    }

    Folder folder;
    std::unique_ptr<struct capture> c = std::make_unique<struct capture>();
    std::vector<std::vector<uint8_t>> rings;
};

using Times = std::vector<uint64_t>;
constexpr uint64_t kDay = 1ull << 40;

} // namespace

TEST_F(CaptureRun, WritesTheOldestFirstAndWaitsForTheOthers)
{
    rings.reserve(3);
    ring({1, 4, kDay + 6});
    ring({2, 3, 3, 5, kDay + 9});
    ring({});
    EXPECT_EQ(capture_move(c.get(), 5), 6u);
    EXPECT_EQ(times(), (Times{1, 2, 3, 3, 4, 5}));
    write(2, kDay + 7); /* came later, but is older than the last of ring 1 */
    EXPECT_EQ(capture_move(c.get(), UINT64_MAX), 3u);
    EXPECT_EQ(times(), (Times{1, 2, 3, 3, 4, 5, kDay + 6, kDay + 7, kDay + 9}));
    EXPECT_EQ(c->ports[0].written, 3u);
    EXPECT_EQ(c->ports[1].written, 5u);
    EXPECT_EQ(c->readers[1].ring->head, 5u * 32) << "the worker may use the place again";
}

TEST_F(CaptureRun, StopsAtItsCount)
{
    rings.reserve(2);
    ring({1, 4});
    ring({2, 3});
    c->count_max = 3;
    EXPECT_EQ(capture_move(c.get(), UINT64_MAX), 3u);
    EXPECT_EQ(times(), (Times{1, 2, 3}));
    EXPECT_EQ(capture_move(c.get(), UINT64_MAX), 0u);
}

TEST_F(CaptureRun, HoldsYoungFramesBackIfThereAreSeveralRings)
{
    rings.reserve(2);
    ring({});
    EXPECT_EQ(capture_until_ns(c.get(), false, kDay), UINT64_MAX);
    ring({});
    EXPECT_EQ(capture_until_ns(c.get(), false, kDay), kDay - CAPTURE_LATE_NS);
    EXPECT_EQ(capture_until_ns(c.get(), true, kDay), UINT64_MAX);
}
