// SPDX-License-Identifier: BSD-3-Clause
#include "forger.hh"

#include <cstring>

#include "framed.hh"

void Forger::fill(uint8_t *p, size_t len)
{
    for (size_t i = 0; i < len; i += 8) {
        uint64_t v = rng_u64(&rng);

        std::memcpy(p + i, &v, len - i < 8 ? len - i : 8);
    }
}

frame_route Forger::route_from(const Target &t, const addr &source, uint16_t port)
{
    frame_route r = {};

    r.src_mac = {{2, 0, 0, 0, 0, 0x55}};
    r.dst_mac = t.mac;
    r.vlan = FRAME_VLAN_NONE;
    r.src = source;
    r.dst = t.address;
    r.sport = port;
    r.dport = WIRE_UDP_PORT;
    return r;
}

std::vector<uint8_t> Forger::packet(const Target &, const frame_route &route,
                                    const std::vector<uint8_t> &payload)
{
    return framed(route, payload.data(), static_cast<uint32_t>(payload.size()));
}

// Noise, or noise behind the right MAC address.
std::vector<uint8_t> Forger::random_frame(const Target &t)
{
    std::vector<uint8_t> f(1 + below(400));

    fill(f.data(), f.size());
    if (below(2) && f.size() >= 14) {
        std::memcpy(f.data(), &t.mac, 6);
        f[12] = 0x08;
        f[13] = 0x00;
    }
    return f;
}

// A correct packet of no connection, with one layer broken.
std::vector<uint8_t> Forger::broken_layers(const Target &t)
{
    frame_route r = route_from(t, t.peer, static_cast<uint16_t>(1 + below(60000)));
    std::vector<uint8_t> payload = random_packet(1 + rng_u64(&rng) / 2);
    uint64_t kind = below(7);

    if (kind == 0)
        r.dport = static_cast<uint16_t>(WIRE_UDP_PORT + 1 + below(1000));
    if (kind == 1)
        r.dst.b[15] ^= 0x80;
    if (kind == 2)
        r.vlan = static_cast<uint16_t>(1 + below(4094));
    std::vector<uint8_t> f = packet(t, r, payload);

    if (kind == 3) // no checksum
        f[40] = f[41] = 0;
    if (kind == 4) // IPv4 checksum
        f[24] ^= static_cast<uint8_t>(1u << below(8));
    if (kind == 5) { // UDP length; the checksum need not follow: lengths are verified first
        f[39] ^= 1;
    }
    if (kind == 6) { // more fragments: flags change by 0x2000 - 0x4000 (DF)
        uint32_t sum = (uint32_t)(f[24] << 8 | f[25]) + 0x2000;

        sum = (sum & 0xffff) + (sum >> 16);
        f[20] = 0x20;
        f[24] = static_cast<uint8_t>(sum >> 8);
        f[25] = static_cast<uint8_t>(sum);
    }
    return f;
}

// A well-formed packet with random contents.
std::vector<uint8_t> Forger::random_packet(uint64_t key)
{
    std::vector<uint8_t> p(2048);
    uint8_t early = below(3) == 0 ? WIRE_EARLY : 0;
    uint64_t kind = below(4);

    if (kind == 0) {
        wire_first v = {};
        v.h = {WIRE_FIRST, WIRE_EARLY, 0, 0, key};
        v.unit_max = 1408;
        v.service = static_cast<uint16_t>(1 + below(20));
        v.initial_request = static_cast<uint32_t>(rng_u64(&rng));
        p.resize(wire_put_first(p.data(), &v));
    } else if (kind == 1) {
        wire_data d = {};
        d.h = {WIRE_DATA, early, 0, 0, key};
        d.packet = below(1000);
        d.request = static_cast<uint32_t>(rng_u64(&rng));
        d.request_len = 64 + below(1000);
        d.unit_bytes = 64;
        fill(p.data() + WIRE_DATA_BYTES, 64);
        wire_put_data(p.data(), &d);
        p.resize(WIRE_DATA_BYTES + 64);
    } else if (kind == 2) {
        wire_cntl v = {};
        v.h = {WIRE_CNTL, static_cast<uint8_t>(early | (below(2) ? WIRE_END : WIRE_SREQ)), 0, 0,
               key};
        v.own_key = 1 + below(1000);
        v.seq = 1 + static_cast<uint32_t>(below(1u << 31));
        v.ack = rng_u64(&rng);
        v.posted = static_cast<uint32_t>(rng_u64(&rng));
        v.unit_max = 64 + static_cast<uint32_t>(below(1000));
        p.resize(wire_put_cntl(p.data(), &v));
    } else {
        wire_rcntl v = {};
        v.h = {WIRE_RCNTL, 0, 0, 0, key};
        v.expiry_ms = 1000;
        p.resize(wire_put_rcntl(p.data(), &v));
    }
    return p;
}

// A packet that the parser rejects, for any of its reasons; or noise as a payload.
std::vector<uint8_t> Forger::broken_packet()
{
    std::vector<uint8_t> p = random_packet(1 + rng_u64(&rng) / 2);

    switch (below(8)) {
    case 0:
        p[0] = static_cast<uint8_t>((below(2) ? 0x00 : 0x20) | (p[0] & 15));
        break;
    case 1:
        p[0] = static_cast<uint8_t>(0x10 | (5 + below(11)));
        break;
    case 2:
        p[4 + below(4)] = static_cast<uint8_t>(1 + below(255));
        break;
    case 3:
        p[1] = (p[0] & 15) == WIRE_DATA ? WIRE_RCLOSE : WIRE_REPEAT;
        break;
    case 4:
        p.resize(below(p.size()));
        break;
    case 5:
        p.resize(p.size() + 1 + below(50), 7);
        break;
    case 6:
        std::memset(p.data() + 8, 0, 8); // key 0
        break;
    default:
        fill(p.data(), p.size());
        p[0] |= 0xe0; // never a valid version by chance
    }
    return p;
}

std::vector<uint8_t> Forger::frame(const Target &t)
{
    // drawn here, since compilers evaluate arguments in any order
    uint16_t port = static_cast<uint16_t>(1 + below(40000)); // never the peer's
    bool at_home = below(2);
    uint64_t key = rng_u64(&rng) | 1;
    addr other = t.peer;

    other.b[15] ^= static_cast<uint8_t>(0x10 | below(16));
    switch (below(8)) {
    case 0:
        return random_frame(t);
    case 1:
        return broken_layers(t);
    case 2:
        return packet(t, route_from(t, t.peer, WIRE_UDP_PORT), broken_packet());
    case 3: // a packet of no connection
        return packet(t, route_from(t, at_home ? t.peer : other, WIRE_UDP_PORT),
                      random_packet(key));
    case 4: { // a packet of a live connection, from another place
        bool place = below(2);
        return packet(t, route_from(t, place ? other : t.peer, place ? WIRE_UDP_PORT : port),
                      random_packet(t.key));
    }
    default:
        break;
    }
    if (t.heard.empty())
        return random_frame(t);
    std::vector<uint8_t> f = t.heard[below(t.heard.size())];

    if (below(2)) { // a replay with one bit flipped
        uint64_t bit = 14 * 8 + below((f.size() - 14) * 8);

        f[bit / 8] ^= static_cast<uint8_t>(1u << (bit % 8));
    }
    return f;
}
