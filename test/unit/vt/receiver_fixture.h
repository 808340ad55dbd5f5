/* SPDX-License-Identifier: BSD-3-Clause */
/* A receiver with requests of ten units, to which a test gives units one by one. */
#ifndef SLUICE_TEST_RECEIVER_FIXTURE_H
#define SLUICE_TEST_RECEIVER_FIXTURE_H

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

extern "C" {
#include "base/clock.h"
#include "vt/receiver.h"
}

constexpr uint32_t R0 = UINT32_MAX; /* the second request is number 0 */
constexpr uint32_t UNIT = 100;
constexpr uint64_t AGAIN = 1000;

struct Received {
    uint64_t user, len;
    int32_t status;
    bool operator==(const Received &o) const
    {
        return user == o.user && len == o.len && status == o.status;
    }
};

class Receiver : public testing::Test
{
  protected:
    void start(uint32_t depth = 8, uint32_t gaps = 16, bool go_back_n = false,
               uint32_t page_count = 0)
    {
        struct vt_receiver_config cfg = {};

        ring.resize(depth);
        spans.resize(gaps);
        cfg.ring = ring.data();
        cfg.depth = depth;
        cfg.spans = spans.data();
        cfg.gaps = gaps;
        pages.resize(page_count);
        cfg.pages = pages.data();
        cfg.page_count = page_count;
        cfg.initial_request = R0;
        cfg.go_back_n = go_back_n;
        vt_receiver_init(&r, &cfg);
    }

    void SetUp() override
    {
        start();
    }

    bool post(uint64_t len = 1000)
    {
        bool ask;

        EXPECT_EQ(vt_receiver_post(&r, memory, len, user++, &ask), 0);
        return ask;
    }

    struct wire_data data(uint32_t request, uint32_t unit, uint64_t request_len = 1000,
                          uint32_t unit_bytes = UNIT)
    {
        struct wire_data d = {};

        d.packet = packet++;
        d.request = R0 + request;
        d.unit = unit;
        d.request_len = request_len;
        d.unit_bytes = unit_bytes;
        d.payload_len = (uint32_t)std::min<uint64_t>(unit_bytes, request_len - unit * unit_bytes);
        return d;
    }

    uint64_t now = 1; /* when units arrive */
    /* Handles the unit fully. tell: the peer must hear at once. */
    enum vt_verdict take(const struct wire_data &d)
    {
        uint8_t *dst = nullptr;
        enum vt_verdict v = vt_receiver_check(&r, &d, &dst);

        if (v == VT_PLACE) {
            EXPECT_EQ(dst, memory + (uint64_t)d.unit * d.unit_bytes);
            tell = vt_receiver_commit(&r, &d, now);
        } else {
            tell = vt_receiver_note(&r, &d, v);
        }
        return v;
    }

    enum vt_verdict unit(uint32_t request, uint32_t unit_number, uint64_t request_len = 1000,
                         uint32_t unit_bytes = UNIT)
    {
        return take(data(request, unit_number, request_len, unit_bytes));
    }

    void whole(uint32_t request)
    {
        for (uint32_t u = 0; u < 10; u++)
            EXPECT_EQ(unit(request, u), VT_PLACE);
    }

    std::vector<Received> completions()
    {
        std::vector<Received> out;
        struct vt_received c;

        while (vt_receiver_complete(&r, &c))
            out.push_back({c.user, c.len, c.status});
        return out;
    }

    uint32_t naks(uint64_t now, bool force = false)
    {
        return vt_receiver_naks(&r, now, AGAIN, force, nak, WIRE_SPANS_MAX);
    }

    static uint64_t pos(uint32_t request, uint32_t unit_number)
    {
        return pos_make(R0 + request, unit_number);
    }

    uint8_t memory[4096];
    std::vector<struct vt_buffer> ring;
    std::vector<struct span> spans;
    std::vector<struct unit_set_page> pages;
    struct vt_receiver r;
    struct wire_span nak[WIRE_SPANS_MAX];
    uint64_t user = 0, packet = 0;
    bool tell = false;
};

#endif
