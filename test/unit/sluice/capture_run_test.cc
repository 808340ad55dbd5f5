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
        c->n_ports = 3;
        c->count_max = UINT64_MAX;
    }
    /* Adds a ring that holds frames of these times. */
    void ring(std::initializer_list<uint64_t> times_ns)
    {
        struct capture_reader *r = &c->readers[c->n_readers];

        rings.emplace_back(CAPTURE_RING_MIN);
        capture_reader_init(r, rings.back().data(), CAPTURE_RING_MIN);
        c->reader_ports[c->n_readers] = c->n_readers;
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
constexpr uint64_t kDay = 1ull << 40, kT = kDay - 4; /* kT + 4 has another upper word */

} // namespace

TEST_F(CaptureRun, WritesTheOldestFirstAndWaitsForTheOthers)
{
    rings.reserve(3);
    ring({kT + 1, kT + 4, kT + 6});
    ring({kT + 2, kT + 3, kT + 3, kT + 5, kT + 9});
    ring({});
    EXPECT_EQ(capture_move(c.get(), kT + 5), 6u);
    EXPECT_EQ(times(), (Times{kT + 1, kT + 2, kT + 3, kT + 3, kT + 4, kT + 5}));
    write(2, kT + 7); /* came later, but is older than the last of ring 1 */
    EXPECT_EQ(capture_move(c.get(), UINT64_MAX), 3u);
    EXPECT_EQ(times(),
              (Times{kT + 1, kT + 2, kT + 3, kT + 3, kT + 4, kT + 5, kT + 6, kT + 7, kT + 9}));
    EXPECT_EQ(c->file.interface_frames[0], 3u);
    EXPECT_EQ(c->file.interface_frames[1], 5u);
    EXPECT_EQ(c->file.interface_frames[2], 1u);
    EXPECT_FALSE(c->broken);
    EXPECT_EQ(c->readers[1].ring->head, 5u * 32) << "the worker may use the place again";
}

/* Port 1 has two rings, the others one each. */
TEST_F(CaptureRun, CountsTheDropsOfEachPort)
{
    const uint32_t first[] = {0, 1, 3}, n[] = {1, 2, 1};

    rings.reserve(4);
    for (uint64_t dropped : {1, 20, 300, 4000}) {
        ring({});
        c->readers[c->n_readers - 1].ring->dropped = dropped;
    }
    for (uint32_t i = 0; i < 3; i++) {
        c->ports[i].first_reader = first[i];
        c->ports[i].rings.rings = n[i];
    }
    capture_move(c.get(), UINT64_MAX);
    EXPECT_EQ(capture_port_dropped(c.get(), 0), 1u);
    EXPECT_EQ(capture_port_dropped(c.get(), 1), 320u);
    EXPECT_EQ(capture_port_dropped(c.get(), 2), 4000u);
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

/* The daemon may have fewer rights than this command, as it has if root captures. */
TEST_F(CaptureRun, EndsWhereTheDaemonWritesNoBlock)
{
    constexpr uint64_t kData = CAPTURE_RING_MIN - sizeof(struct capture_ring);
    const struct {
        const char *what;
        uint32_t type, len_bytes;
        uint64_t tail;
    } wrong[] = {
        {"no length", CAPTURE_PACKET, 0, 32},
        {"a length less than all that a block has", CAPTURE_PACKET, 28, 32},
        {"a length that is not aligned", CAPTURE_PACKET, 34, 64},
        {"a block that is not there yet", CAPTURE_PACKET, 64, 32},
        {"a block that no frame needs", CAPTURE_PACKET, CAPTURE_BLOCK_MAX + 4, kData},
        {"a block longer than the ring", CAPTURE_PACKET, UINT32_MAX - 3, kData},
        {"more than the ring holds", CAPTURE_PACKET, 32, kData + 32},
        {"an index from the past", CAPTURE_PACKET, 32, UINT64_MAX - 31},
        {"a pad that is not there yet", CAPTURE_PAD, 0, 32},
        {"a pad behind more than the ring holds", CAPTURE_PAD, 0, kData + 32},
    };

    rings.reserve(1);
    ring({1});
    for (const auto &w : wrong) {
        struct capture_reader *r = &c->readers[0];
        uint32_t *block = reinterpret_cast<uint32_t *>(rings[0].data() + sizeof *r->ring);

        capture_reader_init(r, rings[0].data(), CAPTURE_RING_MIN);
        block[0] = w.type;
        block[1] = w.len_bytes;
        r->ring->tail = w.tail;
        c->broken = false;
        EXPECT_EQ(capture_move(c.get(), UINT64_MAX), 0u) << w.what;
        EXPECT_TRUE(c->broken) << w.what;
        EXPECT_EQ(r->head, 0u) << w.what;
    }
}

/* The last block may begin so near to the ring's end that only its type and length would fit. */
TEST_F(CaptureRun, ReadsNothingBehindTheRing)
{
    rings.reserve(1);
    ring({});
    struct capture_reader *r = &c->readers[0];
    uint8_t *end = rings[0].data() + CAPTURE_RING_MIN;
    const uint32_t head[] = {CAPTURE_PACKET, 32};

    r->head = r->at_bytes = r->size_bytes - 16;
    memcpy(end - 16, head, sizeof head);
    r->ring->tail = r->head + 32;
    EXPECT_EQ(capture_move(c.get(), UINT64_MAX), 0u);
    EXPECT_TRUE(c->broken);
}

/* Frames that were captured before would otherwise wait until the old time of day comes again. */
TEST_F(CaptureRun, GoesOnWhenTheClockIsSetBack)
{
    constexpr uint64_t kBefore = kDay + 3600ull * 1000000000, kOld = kDay - 2 * CAPTURE_LATE_NS;

    rings.reserve(2);
    ring({kBefore, kBefore + 1, kOld + 1});
    ring({kBefore - 1, kOld, kDay});
    EXPECT_EQ(capture_move(c.get(), capture_until_ns(c.get(), false, kDay + 1)), 5u);
    EXPECT_EQ(times(), (Times{kBefore - 1, kOld, kBefore, kBefore + 1, kOld + 1}))
        << "all but the young one";
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
