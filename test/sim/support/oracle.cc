// SPDX-License-Identifier: BSD-3-Clause
#include "oracle.hh"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

#include "whole.hh"

namespace
{

constexpr size_t kFaultsMax = 10;
constexpr __int128 kSecond = 1000000000;

} // namespace

void Oracle::fault(const char *format, ...)
{
    char buf[300];
    va_list args;

    if (faults.size() >= kFaultsMax)
        return;
    va_start(args, format);
    std::vsnprintf(buf, sizeof buf, format, args);
    va_end(args);
    faults.push_back(buf);
}

void Oracle::sent(uint32_t from, const rte_mbuf *m, uint64_t now)
{
    WholeFrame whole(m);
    const uint8_t *p = whole.data();
    struct frame f;
    wire_header h;

    pending_bytes = 0;
    pending_proof = false;
    frame_kind kind = frame_parse(p, whole.size(), whole.size(), &f);

    if (kind != FRAME_UDP) {
        if (kind != FRAME_ARP && kind != FRAME_ICMP4 && kind != FRAME_ICMP6)
            fault("host %u sends a frame of kind %d", from, kind);
        return;
    }
    const uint8_t *payload = p + f.payload_off;

    if (rules.sums &&
        (f.udp_sum == 0 || !frame_udp_sum_ok(p, &f, frame_sum(payload, f.payload_len))))
        fault("host %u sends a wrong checksum", from);
    wire_verdict v = wire_parse_header(payload, f.payload_len, &h);

    if (v != WIRE_OK) {
        fault("host %u sends %s", from, wire_verdict_name(v));
        return;
    }
    if (wire_is_handshake(h.type))
        return;
    packets[h.type]++;
    flags[h.type] |= h.flags == 0 ? 0x100 : h.flags;
    if (h.association != 0)
        f.payload_len -= WIRE_TRAILER_BYTES;
    if (h.type == WIRE_FIRST)
        first(from, payload, f.payload_len);
    else if (h.type == WIRE_DATA)
        data(from, payload, f.payload_len, now);
    else if (h.type == WIRE_CNTL)
        cntl(from, payload, f.payload_len, now);
    if (h.type != WIRE_RCNTL)
        amount(from, !(h.flags & WIRE_EARLY) || h.association != 0, f.payload_len);
}

// Limits the bytes sent to an address that has not answered yet. A sealed packet proves its
// address. Lost packets do not count as heard.
void Oracle::amount(uint32_t from, bool proves, uint32_t len)
{
    if (opener < 0)
        return;
    if (from == static_cast<uint32_t>(opener)) {
        pending_bytes = len;
        pending_proof = proves;
    } else if (!proven) {
        if (len > allowance)
            fault("host %u answers %u bytes to %lu", from, len, allowance);
        allowance -= std::min<uint64_t>(allowance, len);
    }
}

void Oracle::fate(uint32_t copies)
{
    allowance += pending_bytes * copies;
    proven = proven || (pending_proof && copies > 0);
    pending_bytes = 0;
}

void Oracle::first(uint32_t from, const uint8_t *p, uint32_t len)
{
    wire_first v;

    if (wire_parse_first(p, len, &v) != WIRE_OK) {
        fault("host %u: bad FIRST", from);
        return;
    }
    if (opener_key == v.h.key)
        return;
    opener = static_cast<int>(from);
    opener_key = v.h.key;
    proven = false;
    allowance = 0;
    for (uint32_t i = 0; i < 2; i++) {
        side[i] = Side();
        key_of[i] = 0;
    }
    for (uint32_t i = 0; i < 2; i++) { // host i numbers its requests from here
        uint32_t initial = i == from ? v.initial_request : v.answer_request;

        side[1 - i].posted = initial;
        side[1 - i].ack = side[i].sent_end = pos_make(initial, 0);
    }
}

void Oracle::pace(uint32_t from, uint64_t len, uint64_t now)
{
    Side &s = side[from];
    Grant g = rules.grant(from);

    if (g.rate_Bps != s.grant.rate_Bps || g.burst_bytes != s.grant.burst_bytes) {
        s.grant = g;
        s.bytes = 0;
        s.least = -static_cast<__int128>(g.rate_Bps) * now;
        s.largest = 0;
    }
    if (g.burst_bytes == 0)
        return;
    if (g.rate_Bps == 0)
        fault("host %u sends DATA at rate 0", from);
    // the window is [t, now]: bytes before t are not in it
    s.least = std::min(s.least, s.bytes * kSecond - static_cast<__int128>(g.rate_Bps) * now);
    s.bytes += len;
    s.largest = std::max(s.largest, len);
    __int128 used = s.bytes * kSecond - static_cast<__int128>(g.rate_Bps) * (now + 1) - s.least;

    if (used > static_cast<__int128>(2 * g.burst_bytes + s.largest) * kSecond)
        fault("host %u at %lu ns: %ld bytes over rate * W (rate %lu burst %lu)", from, now,
              static_cast<long>(used / kSecond), g.rate_Bps, g.burst_bytes);
}

// Replaces the sent units of a request by `parts` smaller ones each.
void Oracle::split(Side &s, const wire_data &d, uint32_t parts)
{
    std::vector<uint32_t> units;

    for (auto i = s.positions.begin(); i != s.positions.end();)
        if (pos_request(*i) == d.request) {
            units.push_back(pos_unit(*i));
            i = s.positions.erase(i);
        } else {
            ++i;
        }
    for (uint32_t u : units)
        for (uint32_t k = 0; k < parts; k++)
            if (u * parts + k < wire_units(d.request_len, d.unit_bytes))
                s.positions.insert(pos_make(d.request, u * parts + k));
}

void Oracle::data(uint32_t from, const uint8_t *p, uint32_t len, uint64_t now)
{
    Side &s = side[from];
    const Side &peer = side[1 - from];
    wire_data d;

    if (wire_parse_data(p, len, len, &d) != WIRE_OK) {
        fault("host %u: bad DATA", from);
        return;
    }
    uint64_t pos = pos_make(d.request, d.unit);

    if (d.packet != s.packet)
        fault("host %u: packet %lu after %lu", from, d.packet, s.packet - 1);
    s.packet = d.packet + 1;
    if (!(d.h.flags & WIRE_EARLY))
        key_of[1 - from] = d.h.key;
    if (d.cntl_seen != 0 && !seq32_before(d.request, peer.posted + rules.ahead))
        fault("host %u: request %u, but only those before %u are posted", from, d.request,
              peer.posted);
    uint32_t &unit_bytes = s.unit_bytes.emplace(d.request, d.unit_bytes).first->second;
    if (d.unit_bytes < unit_bytes && unit_bytes % d.unit_bytes == 0)
        split(s, d, unit_bytes / d.unit_bytes);
    else if (d.unit_bytes < unit_bytes) { // a new attempt with smaller units starts over
        s.positions.clear();
        s.unit_bytes.clear();
    }
    s.unit_bytes[d.request] = d.unit_bytes;
    bool again = !s.positions.insert(pos).second;

    if (again != ((d.h.flags & WIRE_REPEAT) != 0))
        fault("host %u: request %u unit %u %s REPEAT", from, d.request, d.unit,
              again ? "again without" : "new with");
    bool last = d.unit + 1 == wire_units(d.request_len, d.unit_bytes);

    s.sent_end = seq64_max(s.sent_end, last ? pos_make(d.request + 1, 0) : pos + 1);
    pace(from, d.payload_len, now);
}

void Oracle::spans(uint32_t from, const wire_cntl &v, uint64_t now)
{
    Side &s = side[from];

    while (!s.asked.empty() && now - s.asked.front().at >= 2 * rules.delay_ns)
        s.asked.pop_front();
    size_t before = s.asked.size();

    for (uint32_t i = 0; i < v.span_count; i++) {
        const wire_span &n = v.spans[i];

        if (seq64_before(n.first, v.ack) || seq64_before(pos_make(v.posted, 0), n.end))
            fault("host %u asks for %lx-%lx, ack %lx posted %x", from, n.first, n.end, v.ack,
                  v.posted);
        for (size_t k = 0; k < before; k++)
            if (seq64_before(n.first, s.asked[k].end) && seq64_before(s.asked[k].first, n.end))
                fault("host %u at %lu asks for %lx-%lx, as %lx-%lx at %lu", from, now, n.first,
                      n.end, s.asked[k].first, s.asked[k].end, s.asked[k].at);
        s.asked.push_back({n.first, n.end, now});
        asked_units += n.end - n.first;
    }
}

void Oracle::cntl(uint32_t from, const uint8_t *p, uint32_t len, uint64_t now)
{
    Side &s = side[from];
    Side &peer = side[1 - from];
    wire_cntl v;

    if (wire_parse_cntl(p, len, &v) != WIRE_OK) {
        fault("host %u: bad CNTL", from);
        return;
    }
    if (v.h.flags & WIRE_EARLY) {
        if (static_cast<int>(from) != opener)
            fault("host %u does not know its opener's key", from);
    } else {
        key_of[1 - from] = v.h.key;
    }
    if (v.own_key == v.h.key && v.end != WIRE_END_NONE && !(v.h.flags & WIRE_EARLY))
        return; // a refusal belongs to no connection
    if (s.has_cntl && v.seq != s.cntl + 1)
        fault("host %u: CNTL %u after %u", from, v.seq, s.cntl);
    s.has_cntl = true;
    s.cntl = v.seq;
    if (seq64_before(v.ack, s.ack))
        fault("host %u takes its ACK %lx back to %lx", from, s.ack, v.ack);
    // an ACK passes all of a refused request, sent or not
    for (uint32_t i = 0; i < v.refused_count; i++)
        if (v.refused[i].request == pos_request(peer.sent_end) &&
            v.ack == pos_make(v.refused[i].request + 1, 0))
            peer.sent_end = v.ack;
    if (seq64_before(peer.sent_end, v.ack))
        fault("host %u acknowledges %lx, sent is %lx", from, v.ack, peer.sent_end);
    if (seq32_before(v.posted, s.posted))
        fault("host %u takes back posted %u to %u", from, s.posted, v.posted);
    s.ack = v.ack;
    s.posted = v.posted;
    spans(from, v, now);
}
