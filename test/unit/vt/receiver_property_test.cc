// SPDX-License-Identifier: BSD-3-Clause
// Units that are lost, doubled and reordered, against a record of every single unit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "../base/seed.h"
#include "receiver_model.h"

extern "C" {
#include "base/rng.h"
}

namespace
{
constexpr uint32_t UNIT = 64;
constexpr uint64_t AGAIN = 1000, WAIT = 250;

struct Packet {
    uint64_t pos, number;
};

struct Weather {
    bool go_back_n = false;
    uint32_t gaps = 4096, pages = 0;
    uint64_t lost_of_64 = 0, doubled_of_64 = 0, shuffle = 1; /* shuffle: how many may overtake */
};

std::vector<uint64_t> random_lens(struct rng *r)
{
    std::vector<uint64_t> lens(1 + rng_below(r, 12));

    for (uint64_t &len : lens) {
        uint64_t kind = rng_below(r, 8);

        len = kind < 3 ? kind : kind == 3 ? UNIT * rng_below(r, 10) : rng_below(r, UNIT * 14);
    }
    return lens;
}

struct World {
    struct rng *r;
    Weather weather;
    bool strict; /* gaps always have room, so every answer must be the model's */
    uint32_t first;
    ReceiverModel m;
    std::vector<struct vt_buffer> ring;
    std::vector<struct span> spans;
    std::vector<struct unit_set_page> pages;
    struct vt_receiver rx;
    std::vector<std::unique_ptr<uint8_t[]>> buffers;
    std::deque<uint64_t> resend;
    std::vector<Packet> network;
    uint64_t cursor = 0, packet = 0, now = 1, completed = 0;
    uint32_t cntl = 10;
    uint64_t seen[VT_VERDICTS] = {}, asked = 0, refused = 0, tolerance = 0;

    World(struct rng *rng, const Weather &w, uint32_t first_request)
        : r(rng), weather(w), strict(w.gaps > 100), first(first_request),
          m(random_lens(rng), UNIT, w.go_back_n), ring(1ull << rng_below(rng, 4)), spans(w.gaps),
          pages(w.pages)
    {
        uint32_t early = (uint32_t)rng_u64(r);
        struct vt_receiver_config cfg = {};

        cfg.ring = ring.data();
        cfg.depth = (uint32_t)ring.size();
        cfg.spans = spans.data();
        cfg.gaps = w.gaps;
        cfg.pages = pages.data();
        cfg.page_count = w.pages;
        cfg.initial_request = early;
        cfg.go_back_n = w.go_back_n;
        vt_receiver_init(&rx, &cfg);
        while (rng_below(r, 3) == 0 && m.tail < m.requests.size() && !HasFailed())
            post(); /* before the peer has told its first request */
        vt_receiver_set_initial(&rx, first);
    }

    static bool HasFailed()
    {
        return ::testing::Test::HasFatalFailure();
    }

    uint64_t real(uint64_t pos) const
    {
        return pos + pos_make(first, 0);
    }

    void post()
    {
        const ModelRequest &q = m.requests[m.tail];
        uint64_t kind = rng_below(r, 8), len = q.len;
        bool ask = false;

        if (kind == 0 && len > 0)
            len = rng_below(r, len);
        else if (kind < 3)
            len += rng_below(r, 100);
        if (m.tail - completed == ring.size()) {
            ASSERT_EQ(vt_receiver_post(&rx, nullptr, len, 0, &ask), -ENOBUFS);
            return;
        }
        buffers.emplace_back(new uint8_t[len]());
        ASSERT_EQ(vt_receiver_post(&rx, buffers.back().get(), len, 1000 + m.tail, &ask), 0);
        bool expect = m.post(len);

        ASSERT_EQ(ask, strict ? expect : ask);
    }

    void send(uint64_t pos)
    {
        uint64_t number = packet++;

        if (rng_below(r, 64) < weather.lost_of_64)
            return;
        network.push_back({pos, number});
        if (rng_below(r, 64) < weather.doubled_of_64)
            network.push_back({pos, number});
    }

    void send_next()
    {
        if (!resend.empty()) {
            send(resend.front());
            resend.pop_front();
        } else if (cursor < m.stream_end()) {
            send(cursor);
            cursor = m.after(cursor);
        }
    }

    struct wire_data data_of(const Packet &p) const
    {
        const ModelRequest &q = m.requests[pos_request(p.pos)];
        struct wire_data d = {};

        d.packet = p.number;
        d.request = first + pos_request(p.pos);
        d.unit = pos_unit(p.pos);
        d.request_len = q.len;
        d.unit_bytes = UNIT;
        d.payload_len =
            (uint32_t)std::min<uint64_t>(UNIT, q.len - pos_unit(p.pos) * uint64_t(UNIT));
        return d;
    }

    void place(const Packet &p, const struct wire_data &d, uint8_t *dst)
    {
        uint64_t offset = pos_unit(p.pos) * uint64_t(UNIT);

        ASSERT_EQ(dst, buffers[pos_request(p.pos)].get() + offset);
        ASSERT_LE(offset + d.payload_len, m.requests[pos_request(p.pos)].buffer);
        for (uint32_t i = 0; i < d.payload_len; i++)
            dst[i] = content(pos_request(p.pos), offset + i);
    }

    /* Would the unit need another gap? */
    bool splits(uint64_t pos)
    {
        const struct span *gap = span_find(&rx.gaps, real(pos));

        return real(pos) != rx.edge && (gap == nullptr || gap->first != real(pos));
    }

    void arrive(const Packet &p)
    {
        struct wire_data d = data_of(p);
        struct vt_receiver before = rx;
        uint8_t *dst = nullptr;
        enum vt_verdict expect = m.verdict(p.pos), v = vt_receiver_check(&rx, &d, &dst);
        bool full = rx.gaps.count + 1 >= rx.gaps.capacity, tell;

        ASSERT_EQ(memcmp(&before, &rx, sizeof rx), 0) << "a check must change nothing";
        if (v == VT_NO_ROOM && full && !strict && splits(p.pos))
            expect = VT_NO_ROOM;
        ASSERT_EQ(v, expect) << std::hex << p.pos;
        seen[v]++;
        if (v == VT_PLACE && rng_below(r, 40) == 0)
            return; /* after a wrong checksum nothing changes */
        if (v == VT_PLACE) {
            place(p, d, dst);
            tell = vt_receiver_commit(&rx, &d, now);
        } else {
            tell = vt_receiver_note(&rx, &d, v);
        }
        bool expect_tell = m.deliver(p.pos, p.number, v, now);

        if (strict) {
            ASSERT_EQ(tell, expect_tell) << "verdict " << v;
        }
    }

    void deliver()
    {
        if (network.empty())
            return;
        size_t i = rng_below(r, std::min<uint64_t>(network.size(), weather.shuffle));
        Packet p = network[i];

        network.erase(network.begin() + (long)i);
        arrive(p);
    }

    void naks(bool force)
    {
        struct wire_span out[WIRE_SPANS_MAX];
        uint32_t max = rng_below(r, 4) ? WIRE_SPANS_MAX : (uint32_t)rng_below(r, 4);
        std::vector<uint64_t> due = m.due(now, AGAIN, force), got;
        uint32_t n = vt_receiver_naks(&rx, now, AGAIN, force, out, max);

        ASSERT_LE(n, max);
        for (uint32_t i = 0; i < n; i++) {
            uint64_t end = out[i].end - pos_make(first, 0);
            size_t had = got.size();

            ASSERT_TRUE(seq64_before(out[i].first, out[i].end));
            ASSERT_TRUE(i == 0 || !seq64_before(out[i].first, out[i - 1].end));
            m.each(out[i].first - pos_make(first, 0), end,
                   [&](uint64_t pos, ModelUnit &) { got.push_back(pos); });
            ASSERT_GT(got.size(), had) << "an empty span";
        }
        for (uint64_t pos : got) {
            ASSERT_LT(pos_request(pos), m.tail) << "it has no buffer";
            if (!m.go_back_n) {
                ASSERT_FALSE(m.at(pos).got);
                ASSERT_TRUE(m.at(pos).asked == 0 || now - m.at(pos).asked >= AGAIN) << "too soon";
            }
        }
        if (strict) { /* the first of the units that are due, or all of them */
            ASSERT_LE(got.size(), due.size());
            ASSERT_TRUE(std::equal(got.begin(), got.end(), due.begin()));
            ASSERT_TRUE(n == max || got.size() == due.size());
        }
        m.ask(got, now);
        asked += got.size();
        if (m.go_back_n && !got.empty())
            cursor = std::min(cursor, got[0]);
        else
            resend.insert(resend.end(), got.begin(), got.end());
    }

    void refusals()
    {
        struct wire_refused out[WIRE_REFUSED_MAX];
        uint32_t n = vt_receiver_refused(&rx, ++cntl, out);

        ASSERT_EQ(n, m.refusals.size());
        for (uint32_t i = 0; i < n; i++) {
            ASSERT_TRUE(m.requests[out[i].request - first].refused);
            ASSERT_EQ(out[i].reason, WIRE_REFUSED_TOO_LONG);
        }
        for (uint32_t &seq : m.refusals)
            seq = seq == 0 ? cntl : seq;
        uint32_t peer_saw = cntl - (uint32_t)rng_below(r, 4);
        auto known = std::remove_if(m.refusals.begin(), m.refusals.end(),
                                    [&](uint32_t seq) { return seq <= peer_saw; });

        vt_receiver_confirm(&rx, peer_saw);
        refused += (uint64_t)(m.refusals.end() - known);
        m.refusals.erase(known, m.refusals.end());
    }

    /* Completions come in order, each once, and only for whole requests. */
    void complete()
    {
        struct vt_received c;

        while (completed < m.tail && m.requests[completed].whole()) {
            const ModelRequest &q = m.requests[completed];

            ASSERT_TRUE(vt_receiver_complete(&rx, &c));
            ASSERT_EQ(c.user, 1000 + completed);
            ASSERT_EQ(c.status, q.refused ? -EMSGSIZE : 0);
            ASSERT_EQ(c.len, q.refused ? 0 : q.len);
            for (uint64_t i = 0; i < q.buffer; i++)
                ASSERT_EQ(buffers[completed][i], i < c.len ? content((uint32_t)completed, i) : 0);
            completed++;
        }
        ASSERT_FALSE(vt_receiver_complete(&rx, &c));
    }

    void compare()
    {
        ASSERT_EQ(vt_receiver_ack(&rx), real(m.ack()));
        ASSERT_EQ(rx.bytes, m.bytes);
        ASSERT_EQ(rx.units, m.placed);
        ASSERT_FALSE(vt_receiver_all_done(&rx));
        if (weather.doubled_of_64 == 0) { /* a doubled packet would count as late */
            ASSERT_EQ(rx.lost, rx.packet_end - rx.packets);
        }
        if (!strict)
            return;
        ASSERT_EQ(rx.edge, real(m.edge));
        ASSERT_EQ(rx.announced, real(m.announced));
        ASSERT_EQ(rx.tolerance, m.tolerance);
        ASSERT_EQ(vt_receiver_next(&rx, now, AGAIN, WAIT), m.next(now, AGAIN, WAIT));
    }

    void step()
    {
        now += rng_below(r, 60);
        switch (rng_below(r, 8)) {
        case 0:
            if (m.tail < m.requests.size())
                post();
            break;
        case 1:
        case 2:
            send_next();
            break;
        case 3:
            naks(rng_below(r, 2));
            break;
        case 4:
            if (rng_below(r, 4) == 0)
                refusals();
            if (rng_below(r, 8) == 0 || network.empty()) {
                bool gap = vt_receiver_heard(&rx, real(cursor)), expect = m.heard(cursor);

                ASSERT_EQ(gap, strict ? expect : gap);
            }
            break;
        default:
            deliver();
        }
    }

    void run()
    {
        for (int i = 0; completed < m.requests.size(); i++) {
            ASSERT_LT(i, 100000) << "stuck at request " << completed;
            step();
            if (!HasFailed())
                complete();
            if (!HasFailed())
                compare();
            ASSERT_FALSE(HasFailed()) << "step " << i;
        }
        ASSERT_TRUE(vt_receiver_close(&rx, first + (uint32_t)completed));
        ASSERT_TRUE(vt_receiver_all_done(&rx));
        tolerance = rx.tolerance;
    }
};

struct Seen {
    uint64_t verdict[VT_VERDICTS] = {}, asked = 0, refused = 0, tolerant = 0;
};

Seen worlds(int n, Weather (*weather)(struct rng *))
{
    Seen seen;
    struct rng r;

    rng_init(&r, test_seed());
    for (int i = 0; i < n; i++) {
        uint32_t first = rng_below(&r, 2) ? 0 - (uint32_t)rng_below(&r, 14) : (uint32_t)rng_u64(&r);
        World w(&r, weather(&r), first);

        SCOPED_TRACE("world " + std::to_string(i) + " of " + std::to_string(w.m.requests.size()));
        w.run();
        if (World::HasFailed())
            return seen;
        for (int v = 0; v < VT_VERDICTS; v++)
            seen.verdict[v] += w.seen[v];
        seen.asked += w.asked;
        seen.refused += w.refused;
        seen.tolerant += w.tolerance > 0;
    }
    return seen;
}
} // namespace

TEST(ReceiverProperty, InOrderAndWholeAsksForNothingThatIsPosted)
{
    Seen seen = worlds(300, [](struct rng *) { return Weather(); });

    EXPECT_GT(seen.verdict[VT_PLACE], 1000u);
    EXPECT_GT(seen.verdict[VT_UNPOSTED], 100u);
}

TEST(ReceiverProperty, MatchesARecordOfEveryUnit)
{
    Seen seen = worlds(4000, [](struct rng *r) {
        Weather w;

        w.lost_of_64 = rng_below(r, 24);
        w.doubled_of_64 = rng_below(r, 2) ? rng_below(r, 24) : 0;
        w.shuffle = 1 + rng_below(r, rng_below(r, 2) ? 2 : 20);
        return w;
    });

    EXPECT_GT(seen.verdict[VT_PLACE], 10000u);
    EXPECT_GT(seen.verdict[VT_DUPLICATE], 1000u);
    EXPECT_GT(seen.verdict[VT_UNPOSTED], 1000u);
    EXPECT_GT(seen.verdict[VT_TOO_LONG], 100u);
    EXPECT_GT(seen.asked, 1000u);
    EXPECT_GT(seen.refused, 100u);
    EXPECT_GT(seen.tolerant, 100u);
}

TEST(ReceiverProperty, FewGapsAreEnoughInTheEnd)
{
    Seen seen = worlds(4000, [](struct rng *r) {
        Weather w;

        w.gaps = 2 + (uint32_t)rng_below(r, 4);
        w.lost_of_64 = rng_below(r, 24);
        w.doubled_of_64 = rng_below(r, 24);
        w.shuffle = 1 + rng_below(r, 20);
        return w;
    });

    EXPECT_GT(seen.verdict[VT_NO_ROOM], 1000u);
}

Weather many_gaps(struct rng *r)
{
    Weather w;

    w.gaps = 5;
    w.lost_of_64 = rng_below(r, 40);
    w.doubled_of_64 = rng_below(r, 24);
    w.shuffle = 1 + rng_below(r, 60);
    return w;
}

/* With pages, gaps beyond the spans are joined. No arriving unit is thrown away because of them. */
TEST(ReceiverProperty, JoinedGapsKeepWhatCame)
{
    Seen few = worlds(4000, many_gaps);
    Seen many = worlds(4000, [](struct rng *r) {
        Weather w = many_gaps(r);

        w.pages = 64;
        return w;
    });

    EXPECT_GT(few.verdict[VT_NO_ROOM], 2 * many.verdict[VT_NO_ROOM] + 100);
}

TEST(ReceiverProperty, GoesBackN)
{
    Seen seen = worlds(4000, [](struct rng *r) {
        Weather w;

        w.go_back_n = true;
        w.lost_of_64 = rng_below(r, 12);
        w.doubled_of_64 = rng_below(r, 24);
        w.shuffle = 1 + rng_below(r, 3);
        return w;
    });

    EXPECT_GT(seen.verdict[VT_OUT_OF_ORDER], 1000u);
    EXPECT_GT(seen.verdict[VT_DUPLICATE], 1000u);
    EXPECT_GT(seen.asked, 1000u);
}
