// SPDX-License-Identifier: BSD-3-Clause
// The sender, against sets of single units. The peer loses packets, asks again, refuses and posts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "../base/seed.h"
#include "sender_model.h"

extern "C" {
#include "base/clock.h"
#include "base/rng.h"
#include "vt/sender.h"
}

namespace
{
constexpr uint64_t ASK = 100, ASK_MAX = 5000;

/* A packet on its way. It keeps a reference to its memory. */
struct Packet {
    uint64_t pos;
    struct vt_request *request;
    bool part[2], lost;
};

struct Kind {
    bool go_back_n;
    uint32_t early, ahead;
    uint64_t lost_of_64;
};

struct World : SenderModel {
    struct rng *r;
    Kind kind;
    std::vector<uint8_t> memory = std::vector<uint8_t>(1 << 16);
    std::vector<struct vt_request> ring;
    std::vector<struct span> spans;
    std::vector<struct unit_set_page> pages = std::vector<struct unit_set_page>(4096);
    struct vt_sender s;
    uint64_t now = 1, ask_at = TIME_NEVER;
    uint32_t backoff = 0, wanted;
    std::vector<Packet> network;
    uint64_t restarts = 0, provisionals = 0, refusals = 0;

    World(struct rng *rng, const Kind &k, uint32_t first_request)
        : SenderModel(k.go_back_n, first_request, k.early, 64 + (uint32_t)rng_below(rng, 64)),
          r(rng), kind(k), ring(1ull << rng_below(rng, 5)), wanted(1 + (uint32_t)rng_below(rng, 30))
    {
        struct vt_sender_config cfg = {};

        spans.resize(rng_below(r, 2) ? 4096 : 2 + rng_below(r, 8));
        cfg.pages = pages.data();
        cfg.page_count = (uint32_t)pages.size();
        cfg.ring = ring.data();
        cfg.depth = (uint32_t)ring.size();
        cfg.spans = spans.data();
        cfg.gaps = (uint32_t)spans.size();
        cfg.initial_request = (uint32_t)rng_u64(r);
        cfg.unit_bytes = unit;
        cfg.early = k.early;
        cfg.ask_max_tsc = ASK_MAX;
        cfg.go_back_n = k.go_back_n;
        vt_sender_init(&s, &cfg);
        for (uint64_t n = rng_below(r, 3); n > 0; n--)
            post();
        vt_sender_set_initial(&s, first);
    }

    uint64_t real(uint64_t pos) const
    {
        return pos + pos_make(first, 0);
    }

    void arm()
    {
        ask_at = now + std::min(ASK << backoff, ASK_MAX);
    }

    uint8_t *piece(uint32_t k, int i)
    {
        return memory.data() + (k * 1777 + (uint32_t)i * 911) % 40000;
    }

    void post()
    {
        uint64_t small = rng_below(r, 8);
        SentRequest q = {};
        struct vt_send op = {};

        q.head = small < 3 ? small : rng_below(r, 900);
        q.tail = rng_below(r, 2) ? rng_below(r, 200) : 0;
        q.provisional = q.tail > 0 && rng_below(r, 2);
        op.pieces[0] = {piece(tail(), 0), q.head};
        op.pieces[1] = {piece(tail(), 1), q.tail};
        op.provisional = q.provisional;
        op.user = 500 + tail();
        if (closing || tail() - base == ring.size()) {
            ASSERT_EQ(vt_sender_post(&s, &op), closing ? -EPIPE : -ENOBUFS);
            return;
        }
        ASSERT_EQ(vt_sender_post(&s, &op), 0);
        q.reported = !q.provisional;
        requests.push_back(q);
    }

    void check_unit(const struct vt_unit &u, uint64_t pos, uint8_t flags)
    {
        uint32_t k = pos_request(pos);
        const SentRequest &q = requests[k];
        uint64_t start = pos_unit(pos) * uint64_t(q.unit), len = 0;

        ASSERT_EQ(u.pos, real(pos));
        ASSERT_EQ(u.len, q.unit_len(pos_unit(pos)));
        ASSERT_EQ(u.request->len, q.len());
        ASSERT_EQ(u.request->unit_bytes, q.unit);
        ASSERT_EQ(u.flags, flags);
        for (uint64_t i = 0; i < u.len; i++, len++) {
            uint64_t at = start + i;
            const uint8_t *byte = at < q.head ? piece(k, 0) + at : piece(k, 1) + (at - q.head);
            const uint8_t *seen = i < u.pieces[0].len ? u.pieces[0].data + i
                                                      : u.pieces[1].data + (i - u.pieces[0].len);

            ASSERT_EQ(seen, byte);
        }
        ASSERT_EQ(u.pieces[0].len + u.pieces[1].len, len);
    }

    void transmit()
    {
        struct vt_unit u, again;
        uint64_t pos;
        uint8_t flags;
        bool may = expect(&pos, &flags);

        ASSERT_EQ(vt_sender_peek(&s, &u), may);
        ASSERT_EQ(vt_sender_limit(&s), may                          ? VT_LIMIT_RATE
                                       : pos_request(next) < tail() ? VT_LIMIT_PEER
                                                                    : VT_LIMIT_APP);
        if (!may)
            return;
        check_unit(u, pos, flags);
        if (rng_below(r, 8) == 0) { /* the host does not send it now */
            ASSERT_TRUE(vt_sender_peek(&s, &again));
            ASSERT_EQ(again.pos, u.pos);
            return;
        }
        Packet p = {pos,
                    u.request,
                    {u.pieces[0].len > 0, u.pieces[1].len > 0},
                    rng_below(r, 64) < kind.lost_of_64};

        for (int i = 0; i < 2; i++) {
            rte_mbuf_ext_refcnt_update(&u.request->shared[i], p.part[i]);
            requests[pos_request(pos)].refs[i] += p.part[i];
        }
        network.push_back(p);
        vt_sender_take(&s, &u, now, ASK);
        taken++;
        repeats += pos < sent;
        if (repeat.erase(pos) == 0) {
            next = after(pos);
            sent = std::max(sent, next);
        }
        arm();
    }

    /* The oldest packet arrives or is lost. Either way its mbuf returns. */
    void arrive()
    {
        if (network.empty())
            return;
        Packet p = network[0];

        network.erase(network.begin());
        for (int i = 0; i < 2; i++) {
            rte_mbuf_ext_refcnt_update(&p.request->shared[i], (int16_t)-p.part[i]);
            requests[pos_request(p.pos)].refs[i] -= p.part[i];
        }
        if (!p.lost && pos_request(p.pos) < posted && (!go_back_n || p.pos == peer_ack()))
            got.insert(p.pos);
    }

    /* Refuses a request that was sent whole. Sender.RefusedWhileItIsSent tests the others. */
    void refuse(struct wire_cntl *c)
    {
        uint32_t k = pos_request(peer_ack());

        if (k >= posted || k >= pos_request(sent) || requests[k].refused)
            return;
        c->refused[c->refused_count++] = {first + k, WIRE_REFUSED_TOO_LONG};
        c->refused[c->refused_count++] = {first + una - 1, WIRE_REFUSED_TOO_LONG}; /* long gone */
        c->refused[c->refused_count++] = {first + tail(), WIRE_REFUSED_TOO_LONG};  /* nonsense */
        requests[k].refused = true;
        refusals++;
    }

    /* Spans of missing units. As the wire allows, one ends at a unit or at the next request. */
    void ask_missing(struct wire_cntl *c)
    {
        uint64_t pos = peer_ack();

        if (rng_below(r, 8) == 0 && pos > 0) /* units that have arrived are not sent again */
            c->spans[c->span_count++] = {real(0), real(pos)};
        while (pos < sent && pos_request(pos) < posted && c->span_count < WIRE_SPANS_MAX) {
            uint64_t begin = pos, end = pos;

            while (pos < sent && !peer_has(pos) && rng_below(r, 8) != 0) {
                end = rng_below(r, 2) ? after(pos) : pos + 1;
                pos = after(pos);
            }
            if (end == begin) {
                pos = after(pos);
                continue;
            }
            if (pos == sent && rng_below(r, 4) == 0)
                end = sent + 5; /* beyond what was ever sent */
            c->spans[c->span_count++] = {real(begin), real(end)};
        }
    }

    void control()
    {
        struct wire_cntl c = {};
        struct vt_sender before = s;
        uint32_t more = rng_below(r, 2) ? (uint32_t)rng_below(r, 3) : 0;

        posted = std::max(posted, std::min(posted + more, tail() + 2));
        if (rng_below(r, 8) == 0)
            refuse(&c);
        c.ack = real(sent + 1 + rng_below(r, 100));
        ASSERT_FALSE(vt_sender_control(&s, &c, now, ASK)) << "this was never sent";
        ASSERT_EQ(memcmp(&before, &s, sizeof s), 0);
        c.posted = first + posted;
        c.ack = real(peer_ack());
        ask_missing(&c);
        bool news = posted != s.posted - first || peer_ack() != ack;

        s.ahead = limit_ahead = kind.ahead;
        ASSERT_TRUE(vt_sender_control(&s, &c, now, ASK));
        model_ack(peer_ack());
        model_naks(c);
        if (news || c.span_count > 0)
            backoff = 0;
        if (!unconfirmed())
            ask_at = TIME_NEVER;
        else if (news || c.span_count > 0 || ask_at == TIME_NEVER)
            arm();
    }

    void ask()
    {
        bool due = now >= ask_at && unconfirmed();

        ASSERT_EQ(vt_sender_ask(&s, now, ASK), due);
        if (due) {
            backoff = std::min(backoff + 1, 16u);
            arm();
        }
    }

    /* Larger units apply to later requests. Smaller units also apply to requests that began with
     * larger ones. */
    void set_unit()
    {
        uint32_t to = 64 + (uint32_t)rng_below(r, 64), k = una;

        while (k < tail() && requests[k].unit <= to)
            k++;
        uint64_t start = pos_make(k, 0);
        bool taken_some = got.lower_bound(start) != got.end();

        for (uint32_t i = k; i < tail(); i++)
            taken_some = taken_some || requests[i].refused;
        if (taken_some)
            return; /* impossible: those units were too large for the peer */
        vt_sender_set_unit(&s, to);
        unit = to;
        if (k == tail())
            return;
        restarts += start < sent;
        for (uint32_t i = k; i < tail(); i++)
            requests[i].unit = 0;
        for (Packet &p : network)
            p.lost = p.lost || p.pos >= start;
        repeat.erase(repeat.lower_bound(start), repeat.end());
        sent = std::min(sent, start);
        next = std::min(next, start);
    }

    void complete()
    {
        struct vt_sent c;
        bool waits = false;

        while (base < tail()) {
            SentRequest &q = requests[base];
            bool early = !q.reported, done = early ? provisional_arrived(q) : base < una;

            waits = done && (q.refs[0] > 0 || (!early && q.refs[1] > 0));
            if (!done || waits)
                break;
            ASSERT_TRUE(vt_sender_complete(&s, &c));
            ASSERT_EQ(c.user, 500 + base);
            ASSERT_EQ(c.provisional, early);
            ASSERT_EQ(c.len, early ? q.head : q.len());
            ASSERT_EQ(c.status, q.refused ? -EMSGSIZE : 0);
            provisionals += early;
            q.reported = true;
            base += !early;
        }
        ASSERT_FALSE(vt_sender_complete(&s, &c));
        ASSERT_EQ(vt_sender_lingers(&s), waits);
    }

    void compare() const
    {
        uint64_t backlog = 0;
        bool quiet = true;

        for (uint32_t k = pos_request(sent); k < tail(); k++)
            backlog += requests[k].len();
        if (pos_unit(sent) != 0)
            backlog -= pos_unit(sent) * uint64_t(requests[pos_request(sent)].unit);
        for (uint32_t k = base; k < tail(); k++)
            quiet = quiet && requests[k].refs[0] + requests[k].refs[1] == 0;
        ASSERT_EQ(s.sent, real(sent));
        ASSERT_EQ(s.ack, real(ack));
        ASSERT_EQ(s.backlog_bytes, backlog);
        ASSERT_EQ(s.acked_bytes, acked_bytes);
        ASSERT_EQ(s.repeats, repeats);
        ASSERT_EQ(s.packet, taken) << "no packet number is used twice";
        ASSERT_EQ(s.ask_at, ask_at);
        ASSERT_EQ(vt_sender_all_acked(&s), una == tail());
        ASSERT_EQ(vt_sender_idle(&s), una == tail() && quiet);
    }

    void step()
    {
        now += rng_below(r, 50);
        switch (rng_below(r, 16)) {
        case 0:
        case 1:
            if (tail() < wanted)
                post();
            else if (rng_below(r, 4) == 0)
                s.closing = closing = true;
            break;
        case 2:
        case 3:
            control();
            break;
        case 4:
            ask();
            break;
        case 5:
            if (rng_below(r, 4) == 0)
                set_unit();
            break;
        case 6:
        case 7:
        case 8:
        case 9:
            arrive();
            break;
        default:
            transmit();
        }
    }

    void run()
    {
        for (int i = 0; base < tail() || tail() < wanted || !closing; i++) {
            ASSERT_LT(i, 200000) << "stuck at request " << base;
            step();
            if (!::testing::Test::HasFatalFailure())
                complete();
            if (!::testing::Test::HasFatalFailure())
                compare();
            ASSERT_FALSE(::testing::Test::HasFatalFailure()) << "step " << i;
        }
        ASSERT_TRUE(vt_sender_idle(&s));
        ASSERT_EQ(s.backlog_bytes, 0u);
        post();
    }
};

void worlds(int n, bool go_back_n)
{
    struct rng r;
    uint64_t repeats = 0, restarts = 0, provisionals = 0, refusals = 0;

    rng_init(&r, test_seed());
    for (int i = 0; i < n; i++) {
        Kind k = {go_back_n, (uint32_t)rng_below(&r, 3), (uint32_t)rng_below(&r, 3),
                  rng_below(&r, 24)};
        uint32_t first = rng_below(&r, 2) ? 0 - (uint32_t)rng_below(&r, 30) : (uint32_t)rng_u64(&r);
        World w(&r, k, first);

        SCOPED_TRACE("world " + std::to_string(i));
        w.run();
        if (::testing::Test::HasFatalFailure())
            return;
        repeats += w.repeats;
        restarts += w.restarts;
        provisionals += w.provisionals;
        refusals += w.refusals;
    }
    EXPECT_GT(repeats, 1000u);
    EXPECT_GT(restarts, 100u);
    EXPECT_GT(provisionals, 1000u);
    EXPECT_GT(refusals, 100u);
}
} // namespace

TEST(SenderProperty, MatchesSetsOfUnits)
{
    worlds(1000, false);
}

TEST(SenderProperty, GoesBackN)
{
    worlds(1000, true);
}
