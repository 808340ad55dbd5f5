// SPDX-License-Identifier: BSD-3-Clause
// What a peer can do with packet numbers and unit sizes that no honest one sends.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

extern "C" {
#include "vt/receiver.h"
}

namespace
{
constexpr uint32_t R0 = UINT32_MAX; /* the second request is number 0 */

class ReceiverBounds : public testing::Test
{
  protected:
    void start(struct vt_buffer *ring, uint32_t depth)
    {
        struct vt_receiver_config cfg = {};
        bool ask;

        cfg.ring = ring;
        cfg.depth = depth;
        cfg.spans = spans.data();
        cfg.gaps = static_cast<uint32_t>(spans.size());
        cfg.initial_request = R0;
        vt_receiver_init(&r, &cfg);
        for (uint32_t i = 0; i < depth; i++)
            EXPECT_EQ(vt_receiver_post(&r, memory, 1000, i, &ask), 0);
    }
    void SetUp() override
    {
        start(few.data(), static_cast<uint32_t>(few.size()));
    }
    enum vt_verdict unit(uint32_t request, uint32_t number, uint32_t bytes = 100)
    {
        struct wire_data d = {};
        uint8_t *dst = nullptr;

        d.packet = packet++;
        d.request = R0 + request;
        d.unit = number;
        d.request_len = 1000;
        d.unit_bytes = bytes;
        d.payload_len = std::min(bytes, 1000 - number * bytes);
        enum vt_verdict v = vt_receiver_check(&r, &d, &dst);

        if (v == VT_PLACE)
            vt_receiver_commit(&r, &d, 1);
        else
            vt_receiver_note(&r, &d, v);
        return v;
    }
    // Units shrink with each packet, in the first requests and the last one. Then a new
    // attempt begins at request 0. Returns an exit status.
    int shrink(const struct vt_buffer *ring, uint32_t depth)
    {
        for (uint32_t bytes = 100; bytes > 50; bytes--) {
            unit(1, 1, bytes);
            unit(depth - 1, 0, bytes);
            if (ring[depth - 1].unit_bytes != bytes || ring[1].unit_bytes != bytes)
                return 2;
        }
        unit(0, 1);
        unit(0, 1, 99); /* a new attempt at request 0, and at all after it */
        return ring[1].unit_bytes == 0 && ring[depth - 1].unit_bytes == 0 ? 0 : 3;
    }

    uint8_t memory[1000];
    std::vector<struct vt_buffer> few{8};
    std::vector<struct span> spans{16};
    struct vt_receiver r;
    uint64_t packet = 0;
};
} // namespace

// A peer cannot have sent so many packets. If their numbers counted, all later ones would be lost,
// or the count of losses would wrap.
TEST_F(ReceiverBounds, AnAbsurdPacketNumberDoesNotCount)
{
    EXPECT_EQ(unit(0, 0), VT_PLACE);
    for (uint64_t number : {~0ull, ~0ull - 1, 1ull << 63, (1ull << 32) + 2}) {
        EXPECT_EQ(vt_receiver_number(&r, number), VT_NUMBER_ABSURD);
        packet = number;
        unit(0, 1);
        EXPECT_EQ(r.packets, 1u) << number;
        EXPECT_EQ(r.lost, 0u) << number;
        EXPECT_EQ(r.packet_end, 1u) << number;
    }
    packet = (1ull << 32) + 1;
    EXPECT_EQ(unit(0, 2), VT_PLACE) << "minutes without a packet";
    EXPECT_EQ(r.lost, 1ull << 32);
    EXPECT_EQ(r.packets + r.lost, r.packet_end);
}

TEST_F(ReceiverBounds, ANumberTellsWhetherItsPacketHasCome)
{
    packet = 10;
    unit(0, 0);
    EXPECT_EQ(vt_receiver_number(&r, 10), VT_NUMBER_CAME);
    EXPECT_EQ(vt_receiver_number(&r, 9), VT_NUMBER_NEW);
    EXPECT_EQ(vt_receiver_number(&r, 11), VT_NUMBER_NEW);
    packet = 10 + VT_WINDOW;
    unit(0, 1);
    EXPECT_EQ(vt_receiver_number(&r, 11), VT_NUMBER_NEW);
    EXPECT_EQ(vt_receiver_number(&r, 10), VT_NUMBER_LATE);
    EXPECT_EQ(vt_receiver_number(&r, 0), VT_NUMBER_LATE);
}

// A peer may have units shrink with each packet, and each time a new attempt begins. That looks at
// buffers in which something has come, and not at all that are posted: the test takes away the
// memory of the others.
TEST_F(ReceiverBounds, ANewAttemptCostsNoWalkThroughAllBuffers)
{
    constexpr uint32_t kDepth = 65536;
    constexpr size_t kBytes = kDepth * sizeof(struct vt_buffer), kPage = 4096;
    void *ring = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    ASSERT_NE(ring, MAP_FAILED);
    auto *buffers = static_cast<struct vt_buffer *>(ring);
    start(buffers, kDepth);
    auto run = [&] {
        _exit(mprotect(static_cast<char *>(ring) + kPage, kBytes - 2 * kPage, PROT_NONE) != 0
                  ? 1
                  : shrink(buffers, kDepth));
    };
    EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
    munmap(ring, kBytes);
}
