// SPDX-License-Identifier: BSD-3-Clause
#include "placement.hh"

#include <cstring>

void Placement::before(uint32_t i, const Seen &s)
{
    uint32_t to;
    wire_data d;

    if (!s.sluice || s.h.type != WIRE_DATA ||
        wire_parse_data(s.payload, s.head_len, s.len, &d) != WIRE_OK || d.payload_len == 0 ||
        s.h.association != 0) // what a sealed unit holds is seen when its request is complete
        return;
    Watch::Conn *c = watch->find(i, s, &to);

    if (c == nullptr)
        return;
    End &e = users->end(c->talk, to);
    size_t request = d.request - c->side[1 - to].initial;

    if (request >= e.posted)
        return; // a buffer that is not posted is inspected when it is posted
    Block &b = e.blocks[request];
    uint64_t off = static_cast<uint64_t>(d.unit) * d.unit_bytes;

    if (off + d.payload_len > b.len)
        return;
    uint8_t *p = e.arena.data() + b.off + off;
    const uint8_t *payload = s.payload + WIRE_DATA_BYTES;
    bool overlaps = false;

    for (size_t k = 0; k < count; k++) {
        Spot &o = spots[k];

        if (o.p == p && o.len == d.payload_len && o.unit_bytes == d.unit_bytes) {
            if (s.valid && !o.valid)
                o.payload.assign(payload, payload + d.payload_len);
            o.valid = o.valid || s.valid;
            o.unsure = o.unsure || !s.valid;
            return;
        }
        if (p < o.p + o.len && o.p < p + d.payload_len)
            overlaps = o.unsure = true; // a unit of another attempt, whose units end elsewhere
    }
    if (overlaps)
        return; // each place is watched once, as the first attempt divides it
    if (count == spots.size())
        spots.emplace_back();
    Spot &o = spots[count++];

    o.end = &e;
    o.request = request;
    o.unit = d.unit;
    o.unit_bytes = d.unit_bytes;
    o.len = d.payload_len;
    o.p = p;
    o.valid = s.valid;
    o.unsure = !s.valid;
    o.was.assign(p, p + o.len);
    o.payload.assign(payload, payload + o.len);
    o.mask = 0xff;
    bool same = true; // the mask may turn the old bytes of a short unit into its payload

    for (uint32_t k = 0; k < o.len && same; k++)
        same = o.payload[k] == (p[k] ^ o.mask);
    if (same)
        o.mask = 0x55;
    for (uint32_t k = 0; k < o.len; k++)
        p[k] ^= o.mask;
}

// A frame with a correct checksum has written the unit, so the unit is received.
void Placement::take(Spot &s, Block &b)
{
    if (b.unit_bytes != s.unit_bytes) { // a new attempt of this request and of those after it
        for (size_t r = s.request; r < s.end->blocks.size(); r++) {
            Block &later = s.end->blocks[r];

            if (r > s.request && later.state != Block::DONE)
                later.unit_bytes = 0;
            if (later.state != Block::DONE)
                later.got.clear();
        }
        b.unit_bytes = s.unit_bytes;
    }
    if (b.got.size() <= s.unit)
        b.got.resize(s.unit + 1);
    b.got[s.unit] = true;
    placed++;
}

// A frame of another shape wrote the unit, or only a part of it: restores the other bytes.
void Placement::turn_back(Spot &s)
{
    for (uint32_t k = 0; k < s.len; k++)
        if (s.p[k] == (s.was[k] ^ s.mask) && s.p[k] != s.payload[k])
            s.p[k] = s.was[k];
}

void Placement::judge(Spot &s)
{
    Block &b = s.end->blocks[s.request];
    bool touched = false;

    for (uint32_t k = 0; k < s.len && !touched; k++)
        touched = s.p[k] != (s.was[k] ^ s.mask);
    bool had = b.unit_bytes == s.unit_bytes && s.unit < b.got.size() && b.got[s.unit];

    again += had;
    if (!touched) {
        std::memcpy(s.p, s.was.data(), s.len);
        return;
    }
    if (had || b.state == Block::DONE) {
        verdict->fault(ORACLE_PLACE, "talk %u side %u: request %zu unit %u is written again",
                       s.end->talk, s.end->side, s.request, s.unit);
    } else if (s.valid && std::memcmp(s.p, s.payload.data(), s.len) != 0) {
        if (s.unsure)
            turn_back(s);
        else
            verdict->fault(ORACLE_BYTES, "talk %u side %u: request %zu unit %u is not what came",
                           s.end->talk, s.end->side, s.request, s.unit);
    } else if (s.valid) {
        take(s, b);
    } else {
        turn_back(s);
    }
}

void Placement::after()
{
    for (size_t k = 0; k < count; k++)
        judge(spots[k]);
    count = 0;
}
