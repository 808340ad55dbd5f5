// SPDX-License-Identifier: BSD-3-Clause
// Error-recovery runs: when one begins and ends, and which packets arrive outside of runs.
#include <gtest/gtest.h>

extern "C" {
#include "vt/receiver.h"
}

namespace
{

class ReceiverRuns : public testing::TestWithParam<bool> // parameter: go-back-N
{
  protected:
    void SetUp() override
    {
        struct vt_receiver_config cfg = {};
        bool ask;

        cfg.ring = ring;
        cfg.depth = 2;
        cfg.spans = spans;
        cfg.gaps = 8;
        cfg.go_back_n = GetParam();
        vt_receiver_init(&r, &cfg);
        ASSERT_EQ(vt_receiver_post(&r, memory, sizeof memory, 1, &ask), 0);
    }

    void unit(uint32_t number)
    {
        struct wire_data d = {};
        uint8_t *dst;

        d.packet = packet++;
        d.unit = number;
        d.request_len = sizeof memory;
        d.unit_bytes = d.payload_len = 10;
        enum vt_verdict v = vt_receiver_check(&r, &d, &dst);

        if (v == VT_PLACE)
            vt_receiver_commit(&r, &d, 1);
        else
            vt_receiver_note(&r, &d, v);
    }

    void lose(uint64_t packets)
    {
        packet += packets;
    }

    // CNTL with number seq is sent.
    void say(uint32_t seq)
    {
        struct wire_refused refused[WIRE_REFUSED_MAX];

        vt_receiver_refused(&r, seq, refused);
    }

    struct vt_buffer ring[2];
    struct span spans[8];
    uint8_t memory[1000];
    struct vt_receiver r;
    uint64_t packet = 0;
};

} // namespace

TEST_P(ReceiverRuns, EndsWhenNothingIsMissing)
{
    for (uint32_t u = 0; u < 5; u++)
        unit(u);
    EXPECT_EQ(r.clean, 5u);
    EXPECT_EQ(r.loss_runs, 0u);
    lose(1);
    unit(6);
    lose(1);
    unit(8);
    EXPECT_EQ(r.loss_runs, 1u) << "the second loss belongs to the same run";
    for (uint32_t u = 5; u < 9; u++)
        unit(u); // without go-back-N two of them are doubled
    uint64_t clean = r.clean;

    EXPECT_FALSE(r.recovering);
    unit(9);
    EXPECT_EQ(r.clean, clean + 1);
    lose(3);
    unit(13);
    EXPECT_EQ(r.loss_runs, 2u);
    EXPECT_EQ(r.clean, clean + 1);
}

// Once the peer has heard of the loss, the buffers have room again for what it sends.
TEST_P(ReceiverRuns, EndsWhenThePeerHasHeard)
{
    unit(0);
    say(6);
    lose(1);
    unit(2);
    vt_receiver_confirm(&r, 6);
    unit(3);
    EXPECT_TRUE(r.recovering) << "that CNTL was sent before the loss";
    say(7);
    say(8);
    vt_receiver_confirm(&r, 6);
    EXPECT_TRUE(r.recovering);
    vt_receiver_confirm(&r, 7);
    EXPECT_FALSE(r.recovering);
    EXPECT_EQ(r.clean, 1u);
    unit(4);
    EXPECT_EQ(r.clean, 2u);
    lose(1);
    unit(6);
    EXPECT_EQ(r.loss_runs, 2u);
    vt_receiver_confirm(&r, 8);
    EXPECT_TRUE(r.recovering) << "no CNTL has told of this loss yet";
}

// The lost packet held a unit that came in another packet, too. Nothing needs repair.
TEST_P(ReceiverRuns, NothingWasMissing)
{
    unit(0);
    lose(1);
    unit(1);
    EXPECT_EQ(r.loss_runs, 1u);
    EXPECT_FALSE(r.recovering);
}

INSTANTIATE_TEST_SUITE_P(Modes, ReceiverRuns, testing::Bool());
