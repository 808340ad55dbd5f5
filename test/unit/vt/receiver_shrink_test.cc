// SPDX-License-Identifier: BSD-3-Clause
// Units that shrink while units are lost and reordered and gaps are few: what is placed counts.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "../base/seed.h"
#include "receiver_model.h"

extern "C" {
#include "base/rng.h"
#include "base/seq.h"
#include "vt/receiver.h"
}

namespace
{
constexpr uint32_t REQUESTS = 4;
constexpr uint32_t LEN_MAX = 2000;

class Shrinking
{
  public:
    explicit Shrinking(struct rng *rng) : r(rng)
    {
        struct vt_receiver_config cfg = {};
        bool ask;

        spans.resize(2 + rng_below(r, 5));
        pages.resize(rng_below(r, 3));
        cfg.ring = ring;
        cfg.depth = REQUESTS;
        cfg.spans = spans.data();
        cfg.gaps = (uint32_t)spans.size();
        cfg.pages = pages.data();
        cfg.page_count = (uint32_t)pages.size();
        cfg.initial_request = first = (uint32_t)rng_u64(r);
        vt_receiver_init(&rx, &cfg);
        for (uint32_t k = 0; k < REQUESTS; k++) {
            len[k] = 1 + (uint32_t)rng_below(r, LEN_MAX);
            size[k] = 16 << rng_below(r, 6);
            EXPECT_EQ(vt_receiver_post(&rx, memory[k], len[k], k, &ask), 0);
        }
    }

    void run()
    {
        for (int i = 0; i < 300 && !testing::Test::HasFailure(); i++) {
            uint32_t k = (uint32_t)rng_below(r, REQUESTS);

            if (rng_below(r, 30) == 0)
                shrink(k);
            send(k, (uint32_t)rng_below(r, units(k)));
            now += rng_below(r, 3);
            if (rng_below(r, 10) == 0) // asks for some of what is missing, at different times
                vt_receiver_naks(&rx, now, 50, rng_below(r, 2) == 0, nak,
                                 1 + (uint32_t)rng_below(r, 4));
            if (rng_below(r, 20) == 0)
                vt_receiver_heard(&rx, pos_make(first + k, (uint32_t)rng_below(r, units(k) + 1)));
        }
        finish();
    }

    uint64_t no_room = 0, split = 0, restarted = 0;

  private:
    uint32_t units(uint32_t k) const
    {
        return (len[k] + size[k] - 1) / size[k];
    }

    // As a sender does it: to a size that does not divide the former one only as a new attempt,
    // and that at all requests that follow.
    void shrink(uint32_t k)
    {
        uint32_t to = size[k] / 2 - (uint32_t)rng_below(r, 2);

        if (to < 4)
            return;
        if (size[k] % to == 0) {
            size[k] = to;
            split++;
        } else if (!seq64_before(pos_make(first + k, 0), vt_receiver_ack(&rx))) {
            for (uint32_t i = k; i < REQUESTS; i++)
                size[i] = std::min(size[i], to);
            restarted++;
        }
    }

    enum vt_verdict send(uint32_t k, uint32_t unit)
    {
        struct wire_data d = {};
        uint8_t *dst = nullptr;

        d.packet = packet++;
        d.request = first + k;
        d.unit = unit;
        d.request_len = len[k];
        d.unit_bytes = size[k];
        d.payload_len = std::min(size[k], len[k] - unit * size[k]);
        enum vt_verdict v = vt_receiver_check(&rx, &d, &dst);
        uint64_t placed = rx.units;

        no_room += v == VT_NO_ROOM;
        if (v == VT_MISMATCH) // what came of it before is acknowledged: it keeps that size
            size[k] = ring[k].unit_bytes;
        if (v != VT_PLACE) {
            vt_receiver_note(&rx, &d, v);
            return v;
        }
        EXPECT_EQ(dst, memory[k] + unit * size[k]);
        for (uint32_t i = 0; i < d.payload_len; i++)
            dst[i] = content(k, unit * size[k] + i);
        vt_receiver_commit(&rx, &d, now);
        EXPECT_EQ(rx.units, placed + 1) << "request " << k << " unit " << unit;
        EXPECT_EQ(vt_receiver_check(&rx, &d, &dst), VT_DUPLICATE)
            << "request " << k << " unit " << unit << " would be written again";
        return v;
    }

    // What is missing first always has room, so few gaps are enough in the end.
    void finish()
    {
        struct vt_received c;

        for (uint32_t i = 0; i < 4 * REQUESTS * LEN_MAX && !testing::Test::HasFailure(); i++) {
            uint64_t ack = vt_receiver_ack(&rx);
            uint32_t k = pos_request(ack) - first;

            if (k == REQUESTS)
                break;
            EXPECT_NE(send(k, std::min(pos_unit(ack), units(k) - 1)), VT_NO_ROOM);
        }
        for (uint32_t k = 0; k < REQUESTS && !testing::Test::HasFailure(); k++) {
            ASSERT_TRUE(vt_receiver_complete(&rx, &c)) << "request " << k;
            ASSERT_EQ(c.len, len[k]);
            for (uint32_t i = 0; i < len[k]; i++)
                ASSERT_EQ(memory[k][i], content(k, i)) << "request " << k << " byte " << i;
        }
    }

    struct rng *r;
    struct vt_buffer ring[REQUESTS];
    std::vector<struct span> spans;
    std::vector<struct unit_set_page> pages;
    struct vt_receiver rx;
    uint32_t first, len[REQUESTS], size[REQUESTS];
    uint8_t memory[REQUESTS][LEN_MAX];
    struct wire_span nak[WIRE_SPANS_MAX];
    uint64_t packet = 0, now = 1;
};
} // namespace

TEST(ReceiverShrink, WhatIsPlacedCounts)
{
    uint64_t no_room = 0, split = 0, restarted = 0;
    struct rng r;

    rng_init(&r, test_seed());
    for (int i = 0; i < 5000 && !HasFailure(); i++) {
        SCOPED_TRACE("world " + std::to_string(i));
        Shrinking w(&r);

        w.run();
        no_room += w.no_room;
        split += w.split;
        restarted += w.restarted;
    }
    if (HasFailure())
        return;
    EXPECT_GT(no_room, 1000u);
    EXPECT_GT(split, 1000u);
    EXPECT_GT(restarted, 1000u);
}
