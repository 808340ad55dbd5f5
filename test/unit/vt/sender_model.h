/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A model of the VT sender, with sets of single units. Positions are relative to the first request,
 * so they never wrap. It also has the units that the peer has, which the peer reports in CNTL.
 */
#ifndef SLUICE_TEST_SENDER_MODEL_H
#define SLUICE_TEST_SENDER_MODEL_H

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

extern "C" {
#include "base/seq.h"
#include "vt/sender.h"
}

struct SentRequest {
    uint64_t head, tail; /* bytes of the two pieces */
    bool provisional, reported = false, refused = false;
    uint32_t unit = 0; /* 0: not begun */
    uint32_t refs[2] = {0, 0};

    uint64_t len() const
    {
        return head + tail;
    }

    uint32_t units() const
    {
        return len() == 0 ? 1 : (uint32_t)((len() + unit - 1) / unit);
    }

    uint32_t unit_len(uint32_t u) const
    {
        return (uint32_t)std::min<uint64_t>(unit, len() - u * uint64_t(unit));
    }
};

struct SenderModel {
    bool go_back_n;
    uint32_t first; /* number of the first request */
    std::vector<SentRequest> requests;
    std::set<uint64_t> repeat, got; /* units to send again; units that the peer has */
    uint64_t next = 0, sent = 0, ack = 0;
    uint64_t acked_bytes = 0, repeats = 0, taken = 0;
    uint32_t base = 0, una = 0, posted = 0, limit_ahead, unit;
    bool closing = false;

    SenderModel(bool gbn, uint32_t first_request, uint32_t ahead, uint32_t unit_bytes)
        : go_back_n(gbn), first(first_request), limit_ahead(ahead), unit(unit_bytes)
    {
    }

    uint32_t tail() const
    {
        return (uint32_t)requests.size();
    }

    uint64_t after(uint64_t pos) const
    {
        uint32_t k = pos_request(pos);

        return pos_unit(pos) + 1 >= requests[k].units() ? pos_make(k + 1, 0) : pos + 1;
    }

    uint32_t limit() const
    {
        return std::min(posted + limit_ahead, tail());
    }

    bool unconfirmed() const
    {
        return ack != pos_make(tail(), 0) || closing;
    }

    bool flagged(uint64_t pos) const
    {
        const SentRequest &q = requests[pos_request(pos)];

        return q.provisional && q.head > 0 && pos_unit(pos) == (q.head - 1) / q.unit;
    }

    /* The unit that must be sent next. False: none. */
    bool expect(uint64_t *pos, uint8_t *flags)
    {
        *flags = 0;
        if (!repeat.empty()) {
            *pos = *repeat.begin();
            *flags = WIRE_REPEAT;
            if (repeat.size() == 1 && pos_request(next) >= limit())
                *flags |= WIRE_DREQ;
        } else {
            if (pos_request(next) >= limit())
                return false;
            SentRequest &q = requests[pos_request(next)];

            q.unit = q.unit == 0 ? unit : q.unit;
            *pos = next;
            *flags = next < sent ? WIRE_REPEAT : 0;
            if (pos_request(after(next)) >= limit())
                *flags |= WIRE_DREQ;
        }
        if (closing && after(*pos) == pos_make(tail(), 0))
            *flags |= WIRE_WCLOSE;
        if (flagged(*pos) && !requests[pos_request(*pos)].reported)
            *flags |= WIRE_PACK;
        return true;
    }

    /* The first position that the peer does not have. */
    uint64_t peer_ack() const
    {
        for (uint32_t k = una; k < tail() && requests[k].unit != 0; k++)
            for (uint32_t u = 0; u < requests[k].units(); u++)
                if (got.count(pos_make(k, u)) == 0 && !requests[k].refused)
                    return pos_make(k, u);
        uint32_t k = una;

        while (k < tail() && requests[k].unit != 0)
            k++;
        return pos_make(k, 0);
    }

    bool peer_has(uint64_t pos) const
    {
        return got.count(pos) != 0 || requests[pos_request(pos)].refused;
    }

    void model_naks(const struct wire_cntl &c)
    {
        for (uint32_t i = 0; i < c.span_count; i++) {
            uint64_t begin = std::max(c.spans[i].first - pos_make(first, 0), ack);
            uint64_t end = std::min(c.spans[i].end - pos_make(first, 0), sent);

            if (begin >= end)
                continue;
            if (go_back_n) {
                next = std::min(next, begin);
                return;
            }
            for (uint64_t pos = begin; pos < end; pos = after(pos))
                repeat.insert(pos);
        }
    }

    void model_ack(uint64_t to)
    {
        ack = to;
        next = std::max(next, ack);
        repeat.erase(repeat.begin(), repeat.lower_bound(ack));
        for (; una < pos_request(ack); una++)
            acked_bytes += requests[una].refused ? 0 : requests[una].len();
    }

    bool provisional_arrived(const SentRequest &q) const
    {
        return base < una || q.head == 0 ||
               (q.unit != 0 && pos_make(base, (uint32_t)((q.head - 1) / q.unit)) < ack);
    }
};

#endif
