// SPDX-License-Identifier: BSD-3-Clause
#include "watch.hh"

#include <algorithm>

namespace
{

constexpr __int128 kSecond = 1000000000;

// True for answers without a connection: an END that is a refusal, and a cookie.
bool is_refusal(const wire_cntl &v)
{
    return v.own_key == v.h.key && !(v.h.flags & WIRE_EARLY) &&
           (v.cookie != 0 || (v.h.flags & WIRE_END));
}

} // namespace

Seen Watch::see(const uint8_t *p, uint32_t head_len, uint32_t len, bool whole) const
{
    Seen s = {};

    if (frame_parse(p, head_len, len, &s.frame) != FRAME_UDP)
        return s;
    s.payload = p + s.frame.payload_off;
    s.len = s.frame.payload_len;
    s.head_len = std::min<uint32_t>(s.len, head_len - s.frame.payload_off);
    s.sluice = wire_parse_header(s.payload, s.head_len, &s.h) == WIRE_OK;
    s.valid = s.sluice;
    if (s.sluice && whole && plan.sums)
        s.valid =
            s.frame.udp_sum != 0 && frame_udp_sum_ok(p, &s.frame, frame_sum(s.payload, s.len));
    if (s.sluice && s.h.association != 0 && s.len >= WIRE_HEADER_BYTES + WIRE_TRAILER_BYTES) {
        s.len -= WIRE_TRAILER_BYTES;
        s.head_len = std::min(s.head_len, s.len);
    }
    return s;
}

Watch::Conn *Watch::find(uint32_t i, const Seen &s, uint32_t *side)
{
    uint32_t other = host_of(s.frame.src);
    bool early = s.h.flags & WIRE_EARLY;
    auto p = places.find(place_key(early ? other : i, s.h.key));

    if (p == places.end() || s.frame.sport != WIRE_UDP_PORT)
        return nullptr;
    Conn &c = conns[p->second.conn];
    uint32_t to = early ? 1 - p->second.side : p->second.side;

    if (c.side[to].host != i || c.side[1 - to].host != other)
        return nullptr;
    *side = to;
    return &c;
}

const Watch::Conn *Watch::of_talk(uint32_t talk) const
{
    auto t = talks.find(talk);

    return t == talks.end() ? nullptr : &conns[t->second];
}

// ---- frames that hosts make --------------------------------------------------------------------

void Watch::first_made(uint32_t i, const Seen &s)
{
    wire_first v;

    if (wire_parse_first(s.payload, s.len, &v) != WIRE_OK) {
        verdict->fault(ORACLE_WIRE, "host %u makes a bad FIRST", i);
        return;
    }
    if (places.count(place_key(i, v.h.key)) != 0)
        return;
    Conn c = {};
    const uint32_t initial[2] = {v.initial_request, v.answer_request};

    c.talk = v.service - kServiceFirst;
    c.proven = plan.sealed;
    c.side[0].host = i;
    c.side[0].key = v.h.key;
    c.side[1].host = host_of(s.frame.dst);
    for (uint32_t k = 0; k < 2; k++) {
        c.side[k].initial = initial[k];
        c.side[k].posted = initial[1 - k];
        c.side[k].ack = pos_make(initial[1 - k], 0);
        c.side[k].sent_end = c.side[k].passed = pos_make(initial[k], 0);
    }
    const host_config &acceptor = plan.hosts[c.side[1].host].cfg;

    grant(c.side[0], v.rate_req_Bps, v.burst_req_bytes, 0);
    grant(c.side[1], acceptor.first_rate_Bps, acceptor.first_burst_bytes, 0);
    c.number = static_cast<uint32_t>(conns.size());
    places[place_key(i, v.h.key)] = {c.number, 0};
    talks[c.talk] = c.number;
    conns.push_back(std::move(c));
}

void Watch::grant(Side &s, uint64_t rate_Bps, uint64_t burst_bytes, uint64_t now)
{
    s.rate_Bps = rate_Bps;
    s.burst_bytes = burst_bytes;
    s.bytes = 0;
    s.least = -static_cast<__int128>(rate_Bps) * now;
    s.largest = 0;
}

void Watch::pace(const Conn &c, Side &s, uint64_t len, uint64_t now)
{
    if (s.burst_bytes == 0)
        return;
    paced++;
    // the window is [t, now]: bytes before t are not in it
    s.least = std::min(s.least, s.bytes * kSecond - static_cast<__int128>(s.rate_Bps) * now);
    s.bytes += len;
    s.largest = std::max(s.largest, len);
    __int128 used = s.bytes * kSecond - static_cast<__int128>(s.rate_Bps) * (now + 1) - s.least;

    if (s.rate_Bps == 0 || used > static_cast<__int128>(2 * s.burst_bytes + s.largest) * kSecond)
        verdict->fault(
            ORACLE_PACE, "talk %u, host %u: %ld bytes over rate * W (rate %lu B/s, burst %lu)",
            c.talk, s.host, static_cast<long>(used / kSecond), s.rate_Bps, s.burst_bytes);
}

// A position after each unit of its request was split into `parts` smaller ones.
static uint64_t split(uint64_t pos, const wire_data &d, uint32_t parts)
{
    uint64_t unit = uint64_t(pos_unit(pos)) * parts;

    return unit < wire_units(d.request_len, d.unit_bytes)
               ? pos_make(d.request, static_cast<uint32_t>(unit))
               : pos_make(d.request + 1, 0);
}

void Watch::data_made(Conn &c, uint32_t from, const Seen &s, uint64_t now)
{
    Side &me = c.side[from];
    const Side &peer = c.side[1 - from];
    wire_data d;

    if (wire_parse_data(s.payload, s.head_len, s.len, &d) != WIRE_OK || d.time_ns != now) {
        verdict->fault(ORACLE_WIRE, "host %u makes a bad DATA", me.host);
        return;
    }
    uint64_t pos = pos_make(d.request, d.unit);

    if (d.packet != me.packet)
        verdict->fault(ORACLE_WIRE, "host %u: packet %lu after %lu", me.host, d.packet,
                       me.packet - 1);
    me.packet = d.packet + 1;
    uint32_t ahead = plan.hosts[me.host].cfg.ahead;

    if (d.cntl_seen != 0 && !seq32_before(d.request, peer.posted + ahead))
        verdict->fault(ORACLE_WIRE, "host %u: request %u, but only those before %u are posted",
                       me.host, d.request, peer.posted);
    if (d.unit_bytes < me.unit_bytes && me.unit_bytes % d.unit_bytes != 0) // a new attempt
        me.sent_end = seq64_min(me.sent_end, pos_make(d.request, 0));
    else if (d.request == pos_request(me.sent_end) && me.end_unit_bytes > d.unit_bytes)
        me.sent_end = split(me.sent_end, d, me.end_unit_bytes / d.unit_bytes);
    me.unit_bytes = d.unit_bytes;
    bool again = seq64_before(pos, me.sent_end),
         last = d.unit + 1 == wire_units(d.request_len, d.unit_bytes);

    if (again != ((d.h.flags & WIRE_REPEAT) != 0))
        verdict->fault(ORACLE_WIRE, "host %u: request %u unit %u %s REPEAT", me.host, d.request,
                       d.unit, again ? "again without" : "new with");
    me.sent_end = seq64_max(me.sent_end, last ? pos_make(d.request + 1, 0) : pos + 1);
    if (pos_request(me.sent_end) == d.request)
        me.end_unit_bytes = d.unit_bytes;
    me.passed = seq64_max(me.passed, me.sent_end);
    units++;
    repeats += again;
    pace(c, me, d.payload_len, now);
}

// Positions count from the initial one here, so they do not wrap.
void Watch::spans_made(Conn &c, uint32_t from, const wire_cntl &v, uint64_t now)
{
    Side &me = c.side[from];
    uint64_t zero = pos_make(c.side[1 - from].initial, 0);

    while (!me.asked.empty() && me.asked.begin()->second.end <= v.ack - zero)
        me.asked.erase(me.asked.begin());
    for (uint32_t i = 0; i < v.span_count; i++) {
        uint64_t first = v.spans[i].first - zero, end = v.spans[i].end - zero;

        naks++;
        if (seq64_before(v.spans[i].first, v.ack) ||
            seq64_before(pos_make(v.posted, 0), v.spans[i].end))
            verdict->fault(ORACLE_NAK, "host %u asks for %lx-%lx, ack %lx posted %x", me.host,
                           v.spans[i].first, v.spans[i].end, v.ack, v.posted);
        auto k = me.asked.upper_bound(first);

        if (k != me.asked.begin() && std::prev(k)->second.end > first)
            --k;
        while (k != me.asked.end() && k->first < end) {
            Side::Asked old = k->second;
            uint64_t old_first = k->first;

            if (now - old.at < min_round_trip())
                verdict->fault(ORACLE_NAK,
                               "talk %u, host %u: %lx-%lx is asked for %lu ns after %lx-%lx",
                               c.talk, me.host, first, end, now - old.at, old_first, old.end);
            k = me.asked.erase(k);
            if (old_first < first)
                me.asked[old_first] = {first, old.at};
            if (old.end > end)
                k = me.asked.insert({end, {old.end, old.at}}).first;
        }
        me.asked[first] = {end, now};
    }
}

void Watch::cntl_made(Conn &c, uint32_t from, const Seen &s, const wire_cntl &v, uint64_t now)
{
    Side &me = c.side[from], &peer = c.side[1 - from];

    if ((v.h.flags & WIRE_EARLY) && from != 0)
        verdict->fault(ORACLE_WIRE, "host %u does not know its opener's key", me.host);
    if (me.key != v.own_key) {
        me.key = v.own_key;
        places[place_key(me.host, v.own_key)] = {c.number, from};
    }
    if (me.has_cntl && v.seq != me.cntl + 1)
        verdict->fault(ORACLE_WIRE, "host %u: CNTL %u after %u", me.host, v.seq, me.cntl);
    me.has_cntl = true;
    me.cntl = v.seq;
    if (seq64_before(v.ack, me.ack))
        verdict->fault(ORACLE_WIRE, "host %u takes its ACK %lx back to %lx", me.host, me.ack,
                       v.ack);
    // an ACK passes all of a refused request, sent or not
    for (uint32_t i = 0; i < v.refused_count; i++)
        peer.refused.insert(v.refused[i].request);
    if (v.ack == pos_make(pos_request(peer.passed) + 1, 0) &&
        peer.refused.count(pos_request(peer.passed)) != 0)
        peer.passed = v.ack;
    if (seq64_before(peer.passed, v.ack))
        verdict->fault(ORACLE_WIRE, "host %u acknowledges %lx, sent is %lx", me.host, v.ack,
                       peer.passed);
    if (seq32_before(v.posted, me.posted))
        verdict->fault(ORACLE_WIRE, "host %u takes back posted %u to %u", me.host, me.posted,
                       v.posted);
    me.ack = v.ack;
    me.posted = v.posted;
    spans_made(c, from, v, now);
}

// Limits the bytes sent to an address that has not answered yet.
void Watch::amount_made(Conn &c, uint32_t from, const Seen &s)
{
    if (from == 0 || c.proven)
        return;
    if (s.len > c.allowance)
        verdict->fault(ORACLE_WIRE, "talk %u, host %u says %u bytes to who said %lu", c.talk,
                       c.side[1].host, s.len, c.allowance);
    c.allowance -= std::min<uint64_t>(c.allowance, s.len);
}

// No two packets of a host may have the same number under an association.
void Watch::sealed_made(uint32_t i, const Seen &s, const rte_mbuf *m)
{
    uint8_t copy[WIRE_TRAILER_BYTES];
    const void *trailer =
        rte_pktmbuf_read(m, s.frame.payload_off + s.len, WIRE_TRAILER_BYTES, copy);

    if ((s.h.association != 0) != plan.sealed || (plan.sealed && trailer == nullptr))
        verdict->fault(ORACLE_WIRE, "host %u: a packet is %s", i, plan.sealed ? "plain" : "sealed");
    else if (plan.sealed &&
             !ledger
                  .insert({i, s.h.association,
                           wire_parse_trailer(static_cast<const uint8_t *>(trailer))})
                  .second)
        verdict->fault(ORACLE_WIRE, "host %u: two packets have one number", i);
}

void Watch::made(uint32_t i, const rte_mbuf *m, uint64_t now)
{
    Seen s = see(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, m->pkt_len, false);

    if (!s.sluice) {
        frame_kind k = s.frame.kind;

        if (k != FRAME_ARP && k != FRAME_ICMP4 && k != FRAME_ICMP6)
            verdict->fault(ORACLE_WIRE, "host %u makes a frame of kind %d", i, k);
        return;
    }
    if (wire_is_handshake(s.h.type))
        return;
    sealed_made(i, s, m);
    if (s.h.type == WIRE_FIRST) {
        first_made(i, s);
        return;
    }
    wire_cntl v;

    if (s.h.type == WIRE_CNTL) {
        if (wire_parse_cntl(s.payload, s.len, &v) != WIRE_OK) {
            verdict->fault(ORACLE_WIRE, "host %u makes a bad CNTL", i);
            return;
        }
        if (is_refusal(v))
            return;
    }
    // found by its own key, or by the key of the host that it sends to
    bool early = s.h.flags & WIRE_EARLY;
    auto p = places.find(place_key(early ? i : host_of(s.frame.dst), s.h.key));

    if (p == places.end()) {
        verdict->fault(ORACLE_WIRE, "host %u speaks of no connection", i);
        return;
    }
    Conn &c = conns[p->second.conn];
    uint32_t from = early ? p->second.side : 1 - p->second.side;

    if (c.side[from].host != i) {
        verdict->fault(ORACLE_WIRE, "host %u speaks in the name of another", i);
        return;
    }
    if (s.h.type == WIRE_DATA)
        data_made(c, from, s, now);
    else if (s.h.type == WIRE_CNTL)
        cntl_made(c, from, s, v, now);
    amount_made(c, from, s);
}

// ---- frames that hosts are given ---------------------------------------------------------------

void Watch::given(uint32_t i, const rte_mbuf *, const Seen &s, uint64_t now)
{
    uint32_t to;
    Conn *c = s.sluice ? find(i, s, &to) : nullptr;

    if (c == nullptr)
        return;
    Side &me = c->side[to];

    if (to == 1) { // counted before checksums are verified, since any answer goes to the sender
        c->allowance += s.len;
        c->proven = c->proven || !(s.h.flags & WIRE_EARLY);
    }
    if (!s.valid)
        return;
    if (s.h.type == WIRE_DATA || s.h.type == WIRE_CNTL) // routers and old FIRSTs are not the peer
        me.heard_at = now;
    wire_cntl v;

    if (s.h.type != WIRE_CNTL || wire_parse_cntl(s.payload, s.len, &v) != WIRE_OK || is_refusal(v))
        return;
    if (me.granted && !seq32_before(me.grant_seq, v.seq))
        return;
    me.granted = true;
    me.grant_seq = v.seq;
    if (v.rate_Bps != me.rate_Bps || v.burst_bytes != me.burst_bytes)
        grant(me, v.rate_Bps, v.burst_bytes, now);
}
