// SPDX-License-Identifier: BSD-3-Clause
#include "user.hh"

#include <algorithm>
#include <cerrno>
#include <cstring>

extern "C" {
#include "base/clock.h"
}

namespace
{

constexpr uint64_t kGuard = 64;
constexpr uint8_t kBlank = 0xee;
constexpr uint8_t kVoid = 0x55; // the memory of a send after its completion

uint64_t word(uint64_t seed, uint64_t k)
{
    uint64_t x = (seed + 1) * 0x9e3779b97f4a7c15ull + k * 0xbf58476d1ce4e5b9ull;

    return x ^ x >> 29;
}

bool blank(const uint8_t *p, uint64_t len)
{
    for (; len > 0 && reinterpret_cast<uintptr_t>(p) % 8 != 0; p++, len--)
        if (*p != kBlank)
            return false;
    for (; len >= 8; p += 8, len -= 8) {
        uint64_t v;

        std::memcpy(&v, p, 8);
        if (v != 0x0101010101010101ull * kBlank)
            return false;
    }
    for (; len > 0; p++, len--)
        if (*p != kBlank)
            return false;
    return true;
}

} // namespace

uint64_t payload_seed(uint32_t talk, uint32_t side, size_t r)
{
    return (static_cast<uint64_t>(talk) * 2 + side) * 1000003 + r;
}

void payload_fill(uint64_t seed, uint8_t *p, uint64_t len)
{
    uint64_t k = 0, v;

    for (; 8 * k + 8 <= len; k++) {
        v = word(seed, k);
        std::memcpy(p + 8 * k, &v, 8);
    }
    v = word(seed, k);
    if (len > 8 * k)
        std::memcpy(p + 8 * k, &v, len - 8 * k);
}

uint64_t payload_differs(uint64_t seed, const uint8_t *p, uint64_t len)
{
    for (uint64_t k = 0; 8 * k < len; k++) {
        uint64_t v = word(seed, k), n = std::min<uint64_t>(8, len - 8 * k);

        if (std::memcmp(p + 8 * k, &v, n) != 0)
            for (uint64_t i = 0; i < n; i++)
                if (p[8 * k + i] != static_cast<uint8_t>(v >> (8 * i)))
                    return 8 * k + i;
    }
    return len;
}

Users::Users(const Plan &p, world *world, Verdict *v) : plan(p), w(world), verdict(v)
{
    rng_init(&rng, ~p.seed);
    desks.resize(plan.hosts.size());
    ends.resize(2 * plan.talks.size());
    left = ends.size();
    for (uint32_t t = 0; t < plan.talks.size(); t++)
        for (uint32_t side = 0; side < 2; side++) {
            End &e = end(t, side);

            e.plan = &plan.talks[t].end[side];
            e.talk = t;
            e.side = side;
            build(e);
            desks[e.plan->host].ends.push_back(2 * t + side);
        }
}

void Users::build(End &e)
{
    uint64_t off = kGuard;

    for (uint64_t len : e.plan->buffers) {
        Block b;

        b.off = off;
        b.len = len;
        off += len + kGuard;
        e.blocks.push_back(b);
    }
    e.arena.assign(off, kBlank);
}

void Users::inspect(End &e)
{
    uint64_t at = 0; // all bytes before it have been inspected

    for (size_t r = 0; r < e.blocks.size(); r++) {
        const Block &b = e.blocks[r];
        const uint8_t *p = e.arena.data();
        uint64_t filled = b.state == Block::DONE ? b.filled : 0;
        uint64_t seed = payload_seed(e.talk, 1 - e.side, r);

        if (!blank(p + at, b.off - at))
            verdict->fault(ORACLE_PLACE, "talk %u side %u: bytes before buffer %zu were written",
                           e.talk, e.side, r);
        if (b.state == Block::FRESH && !blank(p + b.off, b.len))
            verdict->fault(ORACLE_PLACE, "talk %u side %u: buffer %zu was written, but not posted",
                           e.talk, e.side, r);
        if (payload_differs(seed, p + b.off, filled) != filled)
            verdict->fault(ORACLE_PLACE, "talk %u side %u: buffer %zu was written when complete",
                           e.talk, e.side, r);
        at = b.off + b.len;
    }
    if (!blank(e.arena.data() + at, e.arena.size() - at))
        verdict->fault(ORACLE_PLACE, "talk %u side %u: bytes behind all buffers were written",
                       e.talk, e.side);
}

uint64_t Users::pause(uint64_t gap)
{
    return gap == 0 || hurried ? 0 : rng_below(&rng, gap);
}

// The number of requests that the peer has to send.
uint64_t Users::wanted(const End &e) const
{
    return plan.talks[e.talk].end[1 - e.side].sends.size();
}

// ---- completions -------------------------------------------------------------------------------

void Users::fail(End &e, int status, uint64_t now)
{
    if (e.error != 0)
        return;
    e.error = status;
    e.failed_at = now;
    failed++;
    timed_out += status == -ETIMEDOUT;
    refused += status == -ECONNREFUSED;
}

void Users::complete_recv(End &e, const host_completion &c)
{
    if (c.user != e.received || c.user >= e.posted) {
        verdict->fault(ORACLE_ORDER, "talk %u side %u: buffer %lu completes after %zu of %zu",
                       e.talk, e.side, c.user, e.received, e.posted);
        return;
    }
    Block &b = e.blocks[e.received++];
    bool too_short =
        c.user < wanted(e) && plan.talks[e.talk].end[1 - e.side].sends[c.user].len > b.len;
    const uint8_t *p = e.arena.data() + b.off;

    b.state = Block::DONE;
    if (c.status == -EMSGSIZE && too_short) {
        short_buffers++;
        return;
    }
    if (c.status == -ENODATA && c.user >= wanted(e) && e.error == 0) {
        if (!blank(p, b.len))
            verdict->fault(ORACLE_PLACE, "talk %u side %u: surplus buffer %lu was written", e.talk,
                           e.side, c.user);
        return;
    }
    if (c.status != 0) {
        fail(e, c.status, world_now(w));
        return;
    }
    if (c.user >= wanted(e) || too_short ||
        c.len != plan.talks[e.talk].end[1 - e.side].sends[c.user].len) {
        verdict->fault(ORACLE_BYTES, "talk %u side %u: request %lu has %lu bytes", e.talk, e.side,
                       c.user, c.len);
        return;
    }
    b.filled = c.len;
    bytes += c.len;
    uint64_t wrong = payload_differs(payload_seed(e.talk, 1 - e.side, c.user), p, c.len);

    if (wrong != c.len)
        verdict->fault(ORACLE_BYTES, "talk %u side %u: request %lu, byte %lu of %lu is wrong",
                       e.talk, e.side, c.user, wrong, c.len);
    if (!blank(p + c.len, b.len - c.len))
        verdict->fault(ORACLE_PLACE, "talk %u side %u: request %lu: bytes beyond its end", e.talk,
                       e.side, c.user);
}

void Users::complete_send(End &e, const host_completion &c)
{
    if (c.user != e.completed || c.user >= e.sent) {
        verdict->fault(ORACLE_ORDER, "talk %u side %u: request %lu completes after %zu of %zu",
                       e.talk, e.side, c.user, e.completed, e.sent);
        return;
    }
    const SendPlan &s = e.plan->sends[c.user];
    std::vector<uint8_t> &m = e.memory.front();

    if (c.provisional) {
        if (!s.provisional || e.provisional > e.completed)
            verdict->fault(ORACLE_ORDER, "talk %u side %u: request %lu: a provisional completion",
                           e.talk, e.side, c.user);
        e.provisional = e.completed + 1;
        std::fill(m.begin(), m.begin() + static_cast<long>(s.len - s.tail), kVoid);
        return;
    }
    if (s.provisional && c.status == 0 && e.provisional <= e.completed)
        verdict->fault(ORACLE_ORDER, "talk %u side %u: request %lu: no provisional completion",
                       e.talk, e.side, c.user);
    std::fill(m.begin(), m.end(), kVoid);
    e.memory.pop_front();
    e.completed++;
    bool too_short = plan.talks[e.talk].end[1 - e.side].buffers[c.user] < s.len;

    if (c.status == -EMSGSIZE && too_short)
        return;
    if (c.status != 0)
        fail(e, c.status, world_now(w));
    else if (too_short || c.len != s.len)
        verdict->fault(ORACLE_BYTES, "talk %u side %u: request %lu is done, %lu bytes", e.talk,
                       e.side, c.user, c.len);
}

void Users::complete(End &e, const host_completion &c, uint64_t now)
{
    e.progress = now;
    if (c.conn != e.conn)
        verdict->fault(ORACLE_ORDER, "talk %u side %u: a completion of connection %u", e.talk,
                       e.side, c.conn);
    switch (c.op) {
    case HOST_CONNECT:
    case HOST_ACCEPT:
        if (e.opened || c.op != (e.side == 0 ? HOST_CONNECT : HOST_ACCEPT))
            verdict->fault(ORACLE_ORDER, "talk %u side %u: opened twice", e.talk, e.side);
        e.opened = true;
        e.opened_at = now;
        if (c.status != 0)
            fail(e, c.status, now);
        break;
    case HOST_SEND:
        complete_send(e, c);
        break;
    case HOST_RECV:
        complete_recv(e, c);
        break;
    default:
        if (!e.asked || e.shut)
            verdict->fault(ORACLE_ORDER, "talk %u side %u: shut down unasked", e.talk, e.side);
        e.shut = true;
        if (c.status != 0)
            fail(e, c.status, now);
    }
}

// ---- actions -----------------------------------------------------------------------------------

void Users::start(End &e, host *h, uint64_t now)
{
    const TalkPlan &t = plan.talks[e.talk];
    uint16_t service = static_cast<uint16_t>(kServiceFirst + e.talk);
    int64_t conn;

    e.started = true;
    e.progress = now;
    if (e.side == 0) {
        const host_config &peer = plan.hosts[t.end[1].host].cfg;
        struct host_connect op = {};

        op.peer = peer.address[plan.ipv6];
        op.service = service;
        op.go_back_n = t.go_back_n;
        op.owner = 2 * e.talk + e.side;
        conn = ::host_connect(h, &op, now);
    } else {
        conn = host_accept(h, service, 2 * e.talk + e.side, 0);
    }
    if (conn < 0)
        verdict->fault(ORACLE_ORDER, "talk %u side %u: cannot open: %ld", e.talk, e.side, conn);
    e.conn = static_cast<uint32_t>(conn);
}

void Users::send_one(End &e, host *h, uint64_t now)
{
    const SendPlan &s = e.plan->sends[e.sent];
    struct host_send op = {};

    e.memory.emplace_back(s.len);
    uint8_t *p = e.memory.back().data();

    payload_fill(payload_seed(e.talk, e.side, e.sent), p, s.len);
    op.pieces[0] = {p, s.len - s.tail};
    op.pieces[1] = {p + (s.len - s.tail), s.tail};
    op.provisional = s.provisional;
    op.user = e.sent;
    int rc = ::host_send(h, e.conn, &op, now);

    if (rc == 0) {
        e.sent++;
        return;
    }
    e.memory.pop_back();
    if (rc != -ENOBUFS && rc != -EMSGSIZE) // the reason for which the connection ended
        fail(e, rc, now);
    else
        verdict->fault(ORACLE_ORDER, "talk %u side %u: send refused: %d", e.talk, e.side, rc);
}

void Users::recv_one(End &e, host *h, uint64_t now)
{
    Block &b = e.blocks[e.posted];
    uint8_t *p = e.arena.data() + b.off;

    if (!blank(p - kGuard, b.len + 2 * kGuard))
        verdict->fault(ORACLE_PLACE, "talk %u side %u: buffer %zu was written, but not posted",
                       e.talk, e.side, e.posted);
    int rc = host_recv(h, e.conn, p, b.len, e.posted, now);

    if (rc != 0) {
        verdict->fault(ORACLE_ORDER, "talk %u side %u: recv refused: %d", e.talk, e.side, rc);
        return;
    }
    b.state = Block::POSTED;
    e.posted++;
}

void Users::post(End &e, host *h, uint64_t now)
{
    while (e.error == 0 && e.posted < e.blocks.size() && e.posted - e.received < e.plan->window &&
           now >= e.next_recv) {
        recv_one(e, h, now);
        e.next_recv = now + pause(e.plan->recv_gap_ns);
    }
    while (e.error == 0 && e.sent < e.plan->sends.size() && e.sent - e.completed < e.plan->window &&
           now >= e.next_send) {
        send_one(e, h, now);
        e.next_send = now + pause(e.plan->send_gap_ns);
    }
    if (e.error == 0 && !e.asked && e.sent == e.plan->sends.size()) {
        int rc = host_shutdown(h, e.conn, 0, now);

        if (rc == 0)
            e.asked = true;
        else
            fail(e, rc, now);
    }
}

// Acts for one end. desks[].next is the time of the next call if nothing completes.
void Users::act(End &e, host *h, uint64_t now)
{
    if (e.done())
        return;
    Desk &d = desks[e.plan->host];
    uint64_t start_at = hurried ? 0 : e.plan->start_ns;

    if (!e.started && now < start_at) {
        d.next = std::min(d.next, start_at);
        return;
    }
    if (!e.started && e.side == 1 && plan.talks[e.talk].nobody) {
        e.released = e.gone = true;
        left--;
        return;
    }
    if (!e.started)
        start(e, h, now);
    if (!e.released && e.plan->abort_ns != 0 && now >= e.plan->abort_ns && !hurried) {
        e.aborted = e.released = true;
        aborts++;
        host_close(h, e.conn, WIRE_END_ABORT, now);
    }
    if (!e.released)
        post(e, h, now);
    bool over = e.error == 0 && e.opened && e.shut && e.received == e.blocks.size();
    // a connection that its opener has given up will never open
    const End &other = ends[2 * e.talk + 1 - e.side];
    bool orphan = e.side == 1 && !e.opened && other.done();

    if (!e.released && (over || orphan || (e.error != 0 && e.idle()))) {
        e.released = true;
        host_close(h, e.conn, WIRE_END_ABORT, now);
    }
    struct host_conn_info info;

    if (e.released && e.idle() &&
        (!host_conn_info(h, e.conn, &info) || info.owner != 2 * e.talk + e.side)) {
        e.gone = true;
        left--;
        inspect(e);
        return;
    }
    if (e.released) {
        d.next = std::min(d.next, now + 50000000);
        return;
    }
    if (orphan || (e.side == 1 && !e.opened))
        d.next = std::min(d.next, now + 20000000);
    if (e.posted < e.blocks.size() && e.next_recv > now)
        d.next = std::min(d.next, e.next_recv);
    if (e.sent < e.plan->sends.size() && e.next_send > now)
        d.next = std::min(d.next, e.next_send);
    if (e.plan->abort_ns > now)
        d.next = std::min(d.next, e.plan->abort_ns);
}

void Users::run(uint32_t i, uint64_t now)
{
    Desk &d = desks[i];
    host *h = world_host(w, i);
    host_completion c[32];
    uint32_t n;
    bool news = now >= d.next;

    while ((n = host_completions(h, c, 32)) > 0) {
        news = true;
        for (uint32_t k = 0; k < n; k++) {
            if (c[k].owner >= ends.size())
                verdict->fault(ORACLE_ORDER, "a completion of owner %lu", c[k].owner);
            else
                complete(ends[c[k].owner], c[k], now);
        }
    }
    if (!news)
        return;
    d.next = TIME_NEVER;
    for (uint32_t k : d.ends)
        act(ends[k], h, now);
    if (d.next != TIME_NEVER)
        world_wake(w, i, d.next);
}
