/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A model of the VT receiver, with one record for every single unit of a flow. All units are known
 * beforehand. Positions are relative to the first request, so they never wrap.
 */
#ifndef SLUICE_TEST_RECEIVER_MODEL_H
#define SLUICE_TEST_RECEIVER_MODEL_H

#include <algorithm>
#include <cstdint>
#include <vector>

extern "C" {
#include "base/clock.h"
#include "base/seq.h"
#include "vt/receiver.h"
}

/* The bytes of the requests of a test. */
inline uint8_t content(uint32_t request, uint64_t offset)
{
    return (uint8_t)((request * 31 + offset) * 167 >> 2);
}

struct ModelUnit {
    bool got = false, known = false; /* known: it is missing, or may be */
    uint64_t asked = 0, mark = 0;    /* when it was last asked for; the next packet then */
};

struct ModelRequest {
    uint64_t len, buffer = 0;
    std::vector<ModelUnit> units;
    bool refused = false;

    bool whole() const
    {
        return std::all_of(units.begin(), units.end(), [](const ModelUnit &u) { return u.got; });
    }
};

struct ReceiverModel {
    std::vector<ModelRequest> requests;
    uint32_t unit_bytes;
    bool go_back_n;
    uint32_t tail = 0;              /* requests with a buffer */
    std::vector<uint32_t> refusals; /* each: number of the first CNTL that said so; 0: none yet */
    uint64_t edge = 0, announced = 0, packet_end = 0, tolerance = 0;
    uint64_t reached = 0, repairs = 0, repair_end = 0; /* for the fall of tolerance */
    uint64_t settled = 0, settles = 0, settles_at = 0; /* a gap before packet settled is late */
    uint64_t asked_at = 0, asked_end = 0;              /* for go-back-N */
    uint64_t repeat_pos = 0, repeat_at = 0;
    uint64_t bytes = 0, placed = 0;

    ReceiverModel(const std::vector<uint64_t> &lens, uint32_t unit, bool gbn)
        : unit_bytes(unit), go_back_n(gbn)
    {
        for (uint64_t len : lens) {
            ModelRequest q;

            q.len = len;
            q.units.resize(len == 0 ? 1 : (len + unit - 1) / unit);
            requests.push_back(q);
        }
    }

    ModelUnit &at(uint64_t pos)
    {
        return requests[pos_request(pos)].units[pos_unit(pos)];
    }

    bool last(uint64_t pos) const
    {
        return pos_unit(pos) + 1 == requests[pos_request(pos)].units.size();
    }

    uint64_t after(uint64_t pos) const
    {
        return last(pos) ? pos_make(pos_request(pos) + 1, 0) : pos + 1;
    }

    uint64_t stream_end() const
    {
        return pos_make((uint32_t)requests.size(), 0);
    }

    /* Calls f for every unit that exists in [first, end). */
    template <typename F> void each(uint64_t first, uint64_t end, F f)
    {
        for (uint32_t k = 0; k < requests.size(); k++)
            for (uint32_t u = 0; u < requests[k].units.size(); u++)
                if (pos_make(k, u) >= first && pos_make(k, u) < end)
                    f(pos_make(k, u), requests[k].units[u]);
    }

    /* The first missing unit. */
    uint64_t ack() const
    {
        for (uint32_t k = 0; k < requests.size(); k++)
            for (uint32_t u = 0; u < requests[k].units.size(); u++)
                if (!requests[k].units[u].got)
                    return pos_make(k, u);
        return stream_end();
    }

    bool advance(uint64_t to, uint64_t mark)
    {
        to = std::min(to, pos_make(tail, 0));
        if (go_back_n || to <= edge)
            return false;
        each(edge, to, [&](uint64_t, ModelUnit &u) {
            u.known = true;
            u.mark = mark;
        });
        edge = to;
        return true;
    }

    /* The verdict of vt_receiver_check() if gaps always have room. */
    enum vt_verdict verdict(uint64_t pos)
    {
        const ModelRequest &q = requests[pos_request(pos)];
        bool next = pos == ack();

        if (at(pos).got)
            return VT_DUPLICATE;
        if (go_back_n && !next)
            return VT_OUT_OF_ORDER;
        if (pos_request(pos) >= tail)
            return VT_UNPOSTED;
        if (q.len > q.buffer)
            return refusals.size() < WIRE_REFUSED_MAX ? VT_TOO_LONG : VT_NO_ROOM;
        return VT_PLACE;
    }

    void learn(uint64_t pos, uint64_t packet, uint64_t now)
    {
        const ModelUnit &u = at(pos);

        if (!u.known || u.got)
            return;
        if (packet < u.mark) {
            uint64_t distance = packet_end - 1 - packet;

            reached = std::max(reached, distance);
            if (u.asked != 0 && distance > tolerance) {
                tolerance = distance;
                repairs = 0;
            }
        } else if (u.asked != 0) {
            repeat_pos = pos;
            repeat_at = now;
            repaired(u.mark);
        }
    }

    /* All gaps that were asked for in one round trip are one recovery. */
    void repaired(uint64_t mark)
    {
        if (mark < repair_end)
            return;
        repair_end = packet_end;
        if (++repairs == 16) {
            tolerance = reached;
            reached = repairs = 0;
        }
    }

    /* Repeats arrive in order, so later gaps count from the newest repeat at the earliest. */
    uint64_t late_since(uint64_t pos, const ModelUnit &u) const
    {
        return pos > repeat_pos ? std::max(u.asked, repeat_at) : u.asked;
    }

    /* The receiver has handled this unit and packet number as v says. True if the peer must hear
     * now. */
    bool deliver(uint64_t pos, uint64_t packet, enum vt_verdict v, uint64_t now)
    {
        ModelRequest &q = requests[pos_request(pos)];
        bool gap = false;

        packet_end = std::max(packet_end, packet + 1);
        switch (v) {
        case VT_PLACE:
            learn(pos, packet, now);
            gap = advance(pos, packet_end);
            take(pos, pos + 1, after(pos));
            placed++;
            bytes += std::min<uint64_t>(unit_bytes, q.len - pos_unit(pos) * uint64_t(unit_bytes));
            return gap && tolerance == 0;
        case VT_TOO_LONG:
            advance(pos_make(pos_request(pos), 0), packet_end);
            take(pos_make(pos_request(pos), 0), after(pos_make(pos_request(pos), ~0u - 1)),
                 pos_make(pos_request(pos) + 1, 0));
            q.refused = true;
            refusals.push_back(0);
            return true;
        case VT_UNPOSTED:
            gap = advance(pos_make(tail, 0), packet_end);
            announced = std::max(announced, after(pos));
            return gap && tolerance == 0;
        case VT_OUT_OF_ORDER:
            announced = std::max(announced, after(pos));
            return asked_at == 0 || ack() >= asked_end;
        default:
            return false;
        }
    }

    void take(uint64_t first, uint64_t end, uint64_t next)
    {
        each(first, end, [](uint64_t, ModelUnit &u) { u.got = true; });
        edge = std::max(edge, next);
        announced = std::max(announced, edge);
    }

    /* True if missing units, which are known, now have a buffer. */
    bool post(uint64_t buffer)
    {
        requests[tail++].buffer = buffer;
        if (edge >= announced)
            return false;
        advance(announced, 0);
        return true;
    }

    bool heard(uint64_t sent)
    {
        announced = std::max(announced, sent);
        if (go_back_n)
            return (asked_at == 0 || edge >= asked_end) &&
                   edge < std::min(announced, pos_make(tail, 0));
        return advance(announced, packet_end);
    }

    /* The units to ask for now, in order. */
    std::vector<uint64_t> due(uint64_t now, uint64_t again, bool force)
    {
        std::vector<uint64_t> out;
        uint64_t end = std::min(announced, pos_make(tail, 0));

        if (go_back_n && asked_at != 0 && edge < asked_end && now - asked_at < again)
            return out;
        if (now - settles_at >= again) {
            settled = settles;
            settles = packet_end;
            settles_at = now;
        }
        if (tolerance == 0)
            settled = settles = packet_end;
        each(go_back_n ? edge : 0, go_back_n ? end : edge, [&](uint64_t pos, ModelUnit &u) {
            bool is = u.asked != 0
                          ? now - late_since(pos, u) >= again
                          : (force && u.mark <= settled) || packet_end >= u.mark + tolerance;

            if (go_back_n || (u.known && !u.got && is))
                out.push_back(pos);
        });
        return out;
    }

    void ask(const std::vector<uint64_t> &units, uint64_t now)
    {
        for (uint64_t pos : units) {
            at(pos).asked = now;
            at(pos).mark = packet_end;
        }
        if (go_back_n && !units.empty()) {
            asked_at = now;
            asked_end = after(units.back());
        }
    }

    uint64_t next(uint64_t now, uint64_t again, uint64_t wait)
    {
        uint64_t when = TIME_NEVER;

        if (go_back_n) {
            if (edge >= std::min(announced, pos_make(tail, 0)))
                return TIME_NEVER;
            return asked_at != 0 && edge < asked_end ? asked_at + again : now + wait;
        }
        wait = tolerance > 0 ? again : wait;
        each(0, edge, [&](uint64_t pos, ModelUnit &u) {
            if (u.known && !u.got)
                when = std::min(when, u.asked != 0 ? late_since(pos, u) + again : now + wait);
        });
        return when;
    }
};

#endif
